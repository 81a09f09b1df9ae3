//! Where the page's files come from: `--page DIR`, embedded, beside the binary, or the workspace.

use std::path::{Path, PathBuf};

use emitter::Assets;

use crate::exit::Problem;

const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Finds the page.
pub(crate) fn find(asked: Option<&Path>) -> Result<Assets, Problem> {
    let whole = |folder: &Path| folder.join("index.html").is_file() && folder.join("pkg").is_dir();
    if let Some(folder) = asked {
        return if whole(folder) {
            Ok(Assets::Folder(folder.into()))
        } else {
            Err(Problem::usage(format!(
                "--page {}: it holds no index.html with pkg/ beside it",
                folder.display()
            )))
        };
    }
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_path_buf()));
    if let Some(folder) = beside.filter(|folder| whole(folder)) {
        return Ok(Assets::Folder(folder));
    }
    if !EMBEDDED.is_empty() {
        return Ok(Assets::Embedded(EMBEDDED.iter().copied().collect()));
    }
    let workspace = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if whole(&workspace) {
        return Ok(Assets::Folder(workspace));
    }
    Err(Problem::nothing(
        "the page is not built: run `cargo xtask page` in the workspace, or name its folder with --page DIR",
    ))
}
