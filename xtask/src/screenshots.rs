//! Pictures of the page: every view at three sizes, dark and light, taken by the test that checks
//! their layout.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{cargo, check, page, tools};

/// Where all of them go.
const ALL: &str = "target/pictures";
/// Where those go that the documents show.
const SHOWN: &str = "docs/pictures";
/// What the documents show: each view once or twice, all sizes and both schemes among them.
const CHOSEN: [&str; 10] = [
    "page-1920x1080-light.png",
    "page-1366x768-dark.png",
    "page-390x844-dark.png",
    "running-1366x768-light.png",
    "detail-1366x768-light.png",
    "story-1366x768-light.png",
    "story-390x844-light.png",
    "presenter-1920x1080-dark.png",
    "configuration-1366x768-light.png",
    "configuration-proof-1366x768-dark.png",
];

/// Takes them.
pub(crate) fn take() -> Result<()> {
    page::build()?;
    if !tools::chromium() {
        bail!("pictures need Chromium with its driver: apt-get install chromium chromium-driver");
    }
    fs::create_dir_all(ALL).with_context(|| ALL.to_string())?;
    let folder = fs::canonicalize(ALL).with_context(|| ALL.to_string())?;
    for (test, views) in [
        ("visual", "no_text_overlaps_or_is_cut_in_any_view_at_any_size"),
        ("visual", "no_text_of_a_configurations_way_overlaps_or_is_cut"),
        ("own_page", "no_text_of_it_overlaps_or_is_cut_at_any_size"),
    ] {
        check(
            cargo(&["test", "--package", "holdup", "--test", test, "--", "--exact", views])
                .env("HOLDUP_PICTURES", &folder),
        )?;
    }
    fs::create_dir_all(SHOWN).with_context(|| SHOWN.to_string())?;
    for name in CHOSEN {
        let (from, to) = (Path::new(ALL).join(name), Path::new(SHOWN).join(name));
        fs::copy(&from, &to).with_context(|| from.display().to_string())?;
    }
    eprintln!("{ALL} has every view, {SHOWN} those that the documents show");
    Ok(())
}
