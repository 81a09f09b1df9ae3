//! Embeds the page in release builds, so that an installed command works alone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("page.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let mut files = String::new();
    if release {
        println!("cargo::rerun-if-changed=../pkg");
        println!("cargo::rerun-if-changed=../index.html");
        if root.join("pkg").is_dir() {
            add(&mut files, "index.html", &root.join("index.html"))?;
            for entry in fs::read_dir(root.join("pkg"))? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    let name = format!("pkg/{}", entry.file_name().to_string_lossy());
                    add(&mut files, &name, &entry.path())?;
                }
            }
        } else {
            println!("cargo::warning=the page is not embedded: run `cargo xtask page` first");
        }
    }
    fs::write(out, format!("&[{files}]"))
}

fn add(files: &mut String, name: &str, path: &Path) -> io::Result<()> {
    let path = path.canonicalize()?;
    writeln!(files, "({name:?}, include_bytes!({path:?}).as_slice()),").map_err(io::Error::other)
}
