//! Results on disk: runs are appended as they end; the document is derived from them and put
//! in place by a rename, so that an interrupt or a full disk loses nothing that was measured.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use measure::results::RunRecord;
use serde::Serialize;

/// The file of raw runs, one a line.
pub(crate) const RUNS: &str = "runs.ndjson";
/// The document.
pub(crate) const RESULTS: &str = "results.json";

/// A results folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("{0} already holds results: choose another folder for --out, or move it away")]
    Taken(PathBuf),
    #[error("cannot {what} {path}: {source}")]
    Io { what: &'static str, path: PathBuf, source: io::Error },
}

fn named(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::Io { what, path, source }
}

/// A folder being filled.
pub(crate) struct Store {
    folder: PathBuf,
    runs: File,
    runs_name: &'static str,
    document_name: &'static str,
}

impl Store {
    /// Makes the folder and the file of runs.
    pub(crate) fn create(folder: &Path) -> Result<Store, StoreError> {
        Store::create_for(folder, RUNS, RESULTS)
    }

    /// The same with files of other names.
    pub(crate) fn create_for(
        folder: &Path,
        runs_name: &'static str,
        document_name: &'static str,
    ) -> Result<Store, StoreError> {
        fs::create_dir_all(folder).map_err(named("make the folder", folder))?;
        let path = folder.join(runs_name);
        if path.exists() || folder.join(document_name).exists() {
            return Err(StoreError::Taken(folder.into()));
        }
        let runs = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(named("create", &path))?;
        Ok(Store { folder: folder.into(), runs, runs_name, document_name })
    }

    /// Appends one run, whole or not at all.
    pub(crate) fn keep(&mut self, run: &impl Serialize) -> Result<(), StoreError> {
        append(&mut self.runs, &self.folder.join(self.runs_name), run)
    }

    /// Appends one run to a file of another name in the folder: runs that belong to no row.
    pub(crate) fn keep_beside(&self, name: &str, run: &RunRecord) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(named("open", &path))?;
        append(&mut file, &path, run)
    }

    /// Puts the document in place of an earlier one.
    pub(crate) fn replace(&self, document: &impl Serialize) -> Result<(), StoreError> {
        let path = self.folder.join(self.document_name);
        let next = self.folder.join(format!(".{}.next", self.document_name));
        let write = || -> io::Result<()> {
            let mut file = File::create(&next)?;
            serde_json::to_writer_pretty(&mut file, document)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&next, &path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&next);
            named("replace", &path)(error)
        })
    }
}

fn append(file: &mut File, path: &Path, run: &impl Serialize) -> Result<(), StoreError> {
    let mut line =
        serde_json::to_vec(run).map_err(|error| named("write", path)(io::Error::other(error)))?;
    line.push(b'\n');
    let before = file.metadata().map_err(named("look at", path))?.len();
    file.write_all(&line).map_err(|error| {
        // A half-written line would spoil the runs before it for a reader.
        let _ = file.set_len(before);
        named("append to", path)(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::guards::Guards;
    use measure::results::{Document, Machine, SCHEMA};
    use measure::{Arrivals, Reader, RunId, Stamp};

    fn run() -> RunRecord {
        RunRecord {
            cell: "c".into(),
            round: 0,
            position: 0,
            ledger: None,
            arrivals: Arrivals::begin(RunId(1), Reader::Recv, Stamp(0)),
            wire: None,
            wire_unknown: None,
            proxy: None,
        }
    }

    fn document() -> Document {
        Document {
            schema: SCHEMA.into(),
            complete: false,
            command: Vec::new(),
            seed: 0,
            started_at: String::new(),
            machine: Machine::default(),
            guards: Guards::default(),
            endpoints: Vec::new(),
            cells: Vec::new(),
        }
    }

    #[test]
    fn runs_are_lines_and_the_document_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("deep/er");
        let mut store = Store::create(&out).unwrap();
        store.keep(&run()).unwrap();
        store.keep(&run()).unwrap();
        store.replace(&document()).unwrap();
        store.replace(&Document { complete: true, ..document() }).unwrap();
        let lines = fs::read_to_string(out.join(RUNS)).unwrap();
        let runs: Vec<RunRecord> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(runs, [run(), run()]);
        let text = fs::read_to_string(out.join(RESULTS)).unwrap();
        assert!(Document::from_json(&text).unwrap().complete);
        store.keep_beside("others.ndjson", &run()).unwrap();
        store.keep_beside("others.ndjson", &run()).unwrap();
        let others = fs::read_to_string(out.join("others.ndjson")).unwrap();
        assert_eq!(others, lines);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 3, "nothing else is left");
    }

    #[test]
    fn earlier_results_are_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        Store::create(folder.path()).unwrap();
        let error = Store::create(folder.path()).err().unwrap().to_string();
        assert!(error.ends_with("choose another folder for --out, or move it away"), "{error}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::create(&file.join("x")).err().unwrap().to_string();
        assert!(error.starts_with("cannot make the folder "), "{error}");
    }
}
