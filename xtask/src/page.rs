//! Builds the page: the cdylib for wasm32, then `pkg/` from it.

use anyhow::Result;

use crate::{cargo, check, tools};

/// Where cargo puts the page's module.
const WASM: &str = "target/wasm32-unknown-unknown/page/web_client.wasm";

/// Most that the page's scripts and module may weigh gzipped, units of 1,000 bytes: what a slow
/// mobile link brings within half a second.
const MAX_KB: &str = "250";

/// Builds `pkg/`.
pub(crate) fn build() -> Result<()> {
    tools::wasm_target()?;
    check(&mut cargo(&[
        "build",
        "--package",
        "web-client",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        "page",
    ]))?;
    check(&mut cargo(&[
        "run",
        "--quiet",
        "--package",
        "page-builder",
        "--",
        "build",
        "--wasm",
        WASM,
        "--css",
        "web-client/style.css",
        "--worker",
        "web-client/worker.js",
        "--out",
        "pkg",
        "--max-gzip-kb",
        MAX_KB,
    ]))
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
