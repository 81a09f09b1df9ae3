//! Makes `pkg/` from the pages' cdylibs, with wasm-bindgen as a library: no tool is downloaded.
//!
//! The folder is made whole beside its place and then put there by a rename, so that a build
//! that dies half way leaves the page that was there before, never half of a new one.

mod slim;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use wasm_bindgen_cli_support::Bindgen;

/// The worker's script in the folder, and the module whose page starts it.
const WORKER: &str = "worker.js";
const WITH_WORKER: &str = "web_client";

/// One page's module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The stem of what is generated: `NAME.js` and `NAME_bg.wasm`.
    pub name: String,
    /// The cdylib, as `cargo build -p web-client --target wasm32-unknown-unknown` leaves it.
    pub wasm: PathBuf,
}

impl std::str::FromStr for Module {
    type Err = String;

    fn from_str(text: &str) -> Result<Module, String> {
        let (name, wasm) = text.split_once('=').ok_or("write it as NAME=PATH")?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("{name:?} is no name of a module: letters, digits, underscores"));
        }
        Ok(Module { name: name.into(), wasm: wasm.into() })
    }
}

/// What goes in and where it comes out.
#[derive(Clone, Debug)]
pub struct Build {
    /// The modules.
    pub modules: Vec<Module>,
    /// The folder to make.
    pub out: PathBuf,
    /// The style sheet to put along as `style.css`.
    pub css: Option<PathBuf>,
    /// The worker's script, to be put there as `worker.js`.
    pub worker: Option<PathBuf>,
}

/// One generated file and what it costs to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSize {
    /// Its name in the folder.
    pub name: String,
    /// Bytes on disk.
    pub raw: u64,
    /// Bytes after gzip at its best level.
    pub gzipped: u64,
}

/// Makes the folder; returns its files by name.
///
/// # Errors
/// When the input is missing or was made for another wasm-bindgen, or the folder cannot be
/// written.
pub fn build(build: &Build) -> Result<Vec<FileSize>> {
    for Module { wasm, .. } in &build.modules {
        ensure!(
            wasm.is_file(),
            "{} is not there: build it first with `cargo build -p web-client --target \
             wasm32-unknown-unknown --profile page`",
            wasm.display()
        );
    }
    let fresh = beside(&build.out, "new")?;
    remove(&fresh)?;
    let made = fill(build, &fresh).and_then(|()| sizes(&fresh));
    match made {
        Ok(files) => {
            put(&fresh, &build.out)?;
            Ok(files)
        }
        Err(error) => {
            // The first error is the one to report; what is left is removed at the next build.
            let _ = fs::remove_dir_all(&fresh);
            Err(error)
        }
    }
}

fn fill(build: &Build, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for Module { name, wasm } in &build.modules {
        let bytes = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
        bind(&bytes, folder, name)
            .with_context(|| format!("cannot make bindings from {}", wasm.display()))?;
    }
    if let Some(css) = &build.css {
        let text =
            fs::read_to_string(css).with_context(|| format!("cannot read {}", css.display()))?;
        fs::write(folder.join("style.css"), slim::script(&text))?;
    }
    if let Some(worker) = &build.worker {
        let text = fs::read_to_string(worker)
            .with_context(|| format!("cannot read {}", worker.display()))?;
        fs::write(folder.join(WORKER), slim::script(&text))?;
    }
    Ok(())
}

/// The bindings, with everything taken out that the page need not download.
fn bind(bytes: &[u8], folder: &Path, name: &str) -> Result<()> {
    let script = &folder.join(format!("{name}.js"));
    let mut output = Bindgen::new()
        .input_module(name, slim::module(bytes)?)
        .out_name(name)
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()?;
    output.emit(folder)?;
    let names = output.wasm_mut().imports.iter_mut().map(|import| &mut import.name).collect();
    let text = slim::imports(names, &slim::script(&fs::read_to_string(script)?));
    // Once more, now that the module's imports have their short names.
    output.emit(folder)?;
    fs::write(script, text)?;
    Ok(())
}

/// Puts a finished folder in its place. Between the two renames there is no folder at all,
/// which a reader sees as "not built", and never as half built.
fn put(fresh: &Path, out: &Path) -> Result<()> {
    let old = beside(out, "old")?;
    remove(&old)?;
    if out.exists() {
        fs::rename(out, &old).with_context(|| format!("cannot move {} away", out.display()))?;
    }
    fs::rename(fresh, out).with_context(|| format!("cannot put {} in place", out.display()))?;
    remove(&old)
}

/// A name beside the folder, on the same file system so that a rename is atomic.
fn beside(out: &Path, suffix: &str) -> Result<PathBuf> {
    let Some(name) = out.file_name() else {
        bail!("{} names no folder", out.display());
    };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".");
    hidden.push(suffix);
    Ok(out.with_file_name(hidden))
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", folder.display())),
    }
}

/// What a browser downloads before a module's page works: the module and its scripts, gzipped.
pub fn download(files: &[FileSize], module: &str) -> u64 {
    let needed = |file: &&FileSize| {
        let rest = file.name.strip_prefix(module).unwrap_or_default();
        matches!(rest, ".js" | "_bg.wasm") || (module == WITH_WORKER && file.name == WORKER)
    };
    files.iter().filter(needed).map(|file| file.gzipped).sum()
}

/// The files of a folder (and of the folders in it) with their sizes, by name.
fn sizes(folder: &Path) -> Result<Vec<FileSize>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let entries =
            fs::read_dir(&next).with_context(|| format!("cannot list {}", next.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            files.push(FileSize { name, raw: bytes.len() as u64, gzipped: gzipped(&bytes)? });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn gzipped(bytes: &[u8]) -> Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(wasm: PathBuf) -> Module {
        Module { name: "web_client".into(), wasm }
    }

    #[test]
    fn each_page_downloads_its_own_module() {
        let file = |name: &str, gzipped| FileSize { name: name.into(), raw: 0, gzipped };
        let files = [
            file("own_client.js", 1),
            file("own_client_bg.wasm", 2),
            file("style.css", 4),
            file("web_client.js", 8),
            file("web_client_bg.wasm", 16),
            file("worker.js", 32),
        ];
        assert_eq!(download(&files, "own_client"), 3);
        assert_eq!(download(&files, "web_client"), 56);
    }

    #[test]
    fn a_module_is_a_name_and_a_path() {
        let own: Module = "own_client=target/a=b.wasm".parse().unwrap();
        assert_eq!((own.name.as_str(), own.wasm), ("own_client", PathBuf::from("target/a=b.wasm")));
        for wrong in ["target/a.wasm", "=a.wasm", "../x=a.wasm"] {
            assert!(wrong.parse::<Module>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missing_input_says_how_to_make_it_and_leaves_the_old_folder() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("pkg");
        fs::create_dir(&out).unwrap();
        fs::write(out.join("web_client.js"), "old").unwrap();
        let error = build(&Build {
            modules: vec![module(place.path().join("none.wasm"))],
            out: out.clone(),
            css: None,
            worker: None,
        })
        .unwrap_err();
        assert!(error.to_string().contains("--profile page"), "{error}");
        assert_eq!(fs::read_to_string(out.join("web_client.js")).unwrap(), "old");
    }

    #[test]
    fn a_broken_input_leaves_the_old_folder_and_nothing_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let (out, wasm) = (place.path().join("pkg"), place.path().join("broken.wasm"));
        fs::create_dir(&out).unwrap();
        fs::write(out.join("web_client.js"), "old").unwrap();
        fs::write(&wasm, "not wasm").unwrap();
        assert!(
            build(&Build {
                modules: vec![module(wasm)],
                out: out.clone(),
                css: None,
                worker: None
            })
            .is_err()
        );
        assert_eq!(fs::read_to_string(out.join("web_client.js")).unwrap(), "old");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_finished_folder_replaces_the_one_that_was_there() {
        let place = tempfile::tempdir().unwrap();
        let (out, fresh) = (place.path().join("pkg"), place.path().join(".pkg.new"));
        for (folder, text) in [(&out, "old"), (&fresh, "new")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("web_client.js"), text).unwrap();
        }
        put(&fresh, &out).unwrap();
        assert_eq!(fs::read_to_string(out.join("web_client.js")).unwrap(), "new");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn sizes_are_told_raw_and_gzipped() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a.css"), "a".repeat(1_000)).unwrap();
        let files = sizes(place.path()).unwrap();
        assert_eq!((files[0].name.as_str(), files[0].raw), ("a.css", 1_000));
        assert!(files[0].gzipped < 100);
    }
}
