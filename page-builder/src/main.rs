//! `page-builder build` makes `pkg/`; `page-builder test` runs the page's unit tests in the
//! installed headless browser, as the runner that cargo calls for wasm32.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use page_builder::{Build, FileSize, Module};

#[derive(Parser)]
#[command(about = "wasm-bindgen as a library: makes pkg/ and runs the page's unit tests")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes pkg/ from the pages' cdylibs and prints what each costs to download
    Build {
        /// A cdylib that `cargo build -p web-client --target wasm32-unknown-unknown` made, and
        /// the name that it gets; more than once for more pages
        #[arg(long, value_name = "NAME=PATH", required = true)]
        module: Vec<Module>,
        /// The folder to make
        #[arg(long, default_value = "pkg")]
        out: PathBuf,
        /// The style sheet to copy along
        #[arg(long)]
        css: Option<PathBuf>,
        /// The worker's script to put there as worker.js
        #[arg(long)]
        worker: Option<PathBuf>,
        /// Fail when a module and its scripts, gzipped, are more than this, in units of 1,000 bytes
        #[arg(long, value_name = "N")]
        max_gzip_kb: Option<u64>,
    },
    /// Runs a test module: set CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER to "page-builder test --"
    Test {
        /// The module and the arguments that cargo passes on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Build { module: modules, out, css, worker, max_gzip_kb } => {
            let files = page_builder::build(&Build { modules: modules.clone(), out, css, worker })?;
            print_sizes(&files);
            let mut too_large = Vec::new();
            for Module { name, .. } in &modules {
                let download = page_builder::download(&files, name);
                let what = format!("{name}: scripts and module");
                println!("{what:<32} {:>21.1} kB gzipped", download as f64 / 1_000.0);
                if max_gzip_kb.is_some_and(|most| download > most * 1_000) {
                    too_large.push(format!("{name} ({download} bytes)"));
                }
            }
            match max_gzip_kb {
                Some(most) if !too_large.is_empty() => bail!(
                    "scripts and module, gzipped, are more than {most} kB: {}",
                    too_large.join(", ")
                ),
                _ => Ok(()),
            }
        }
        Command::Test { arguments } => {
            let name = OsString::from("page-builder test");
            wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(
                std::iter::once(name).chain(arguments),
            )
        }
    }
}

fn print_sizes(files: &[FileSize]) {
    let total = FileSize {
        name: "together".into(),
        raw: files.iter().map(|file| file.raw).sum(),
        gzipped: files.iter().map(|file| file.gzipped).sum(),
    };
    for file in files.iter().chain([&total]) {
        let kilobytes = |bytes: u64| bytes as f64 / 1_000.0;
        println!(
            "{:<22} {:>8.1} kB {:>8.1} kB gzipped",
            file.name,
            kilobytes(file.raw),
            kilobytes(file.gzipped)
        );
    }
}
