//! Builds the pages: a cdylib for wasm32 for each, then `pkg/` from them.

use std::fs;

use anyhow::{Context, Result};

use crate::{cargo, check, tools};

/// Where cargo puts a page's module, whichever it is.
const WASM: &str = "target/wasm32-unknown-unknown/page/web_client.wasm";

/// The pages: the name of each one's module, and the feature of `web-client` that it is.
const PAGES: [(&str, &str); 2] = [("own_client", "own"), ("web_client", "lanes")];

/// Most that a page's scripts and module may weigh gzipped, units of 1,000 bytes: what a slow
/// mobile link brings within half a second.
const MAX_KB: &str = "250";

/// Builds `pkg/`.
pub(crate) fn build() -> Result<()> {
    tools::wasm_target()?;
    let mut modules = Vec::new();
    for (name, feature) in PAGES {
        check(&mut cargo(&[
            "build",
            "--package",
            "web-client",
            "--target",
            "wasm32-unknown-unknown",
            "--profile",
            "page",
            "--no-default-features",
            "--features",
            feature,
        ]))?;
        // The next one has the same name.
        let kept = format!("target/wasm32-unknown-unknown/page/{name}.page.wasm");
        fs::copy(WASM, &kept).with_context(|| format!("cannot copy {WASM} to {kept}"))?;
        modules.push(format!("{name}={kept}"));
    }
    let mut command = cargo(&["run", "--quiet", "--package", "page-builder", "--", "build"]);
    for module in &modules {
        command.args(["--module", module]);
    }
    command.args(["--css", "web-client/style.css", "--worker", "web-client/worker.js"]);
    check(command.args(["--out", "pkg", "--max-gzip-kb", MAX_KB]))
}

/// The page's unit tests in headless Chromium; the output's lines go to `line`.
pub(crate) fn test_command() -> std::process::Command {
    let mut command =
        cargo(&["test", "--package", "web-client", "--target", "wasm32-unknown-unknown"]);
    // Cargo runs it in the crate's own folder.
    let runner = std::env::current_dir().unwrap_or_default().join("target/debug/page-builder");
    command
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", format!("{} test --", runner.display()));
    if let Some(driver) = tools::find("chromedriver") {
        command.env("CHROMEDRIVER", driver);
    }
    command
}
