//! House rules that no other tool checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Longest Rust file, lines: past it a module has two subjects.
const MAX_LINES: usize = 450;

/// Checks every file that git tracks.
pub(crate) fn check() -> Result<()> {
    let files = tracked()?;
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ext| ext == "rs")) {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        faults.extend(faults_of(file, &text));
    }
    if !files.iter().any(|file| file.ends_with("Cargo.lock")) {
        faults.push("Cargo.lock is not committed".into());
    }
    if files.iter().any(|file| file.starts_with("pkg")) {
        faults.push("pkg/ is generated and must not be committed".into());
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}", faults.join("\n"))
}

fn faults_of(file: &Path, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = file.display();
    if !text.lines().take(5).any(|line| line.starts_with("//!")) {
        faults.push(format!("{name}: it has no //! that says what it is"));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        faults.push(format!("{name}: {lines} lines, at most {MAX_LINES}"));
    }
    faults
}

fn tracked() -> Result<Vec<PathBuf>> {
    let listed = Command::new("git").args(["ls-files", "-z"]).output().context("cannot run git")?;
    Ok(String::from_utf8_lossy(&listed.stdout)
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        // A file that is deleted but not yet committed.
        .filter(|path| path.exists())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_word_on_itself_is_a_fault() {
        let file = Path::new("a.rs");
        assert_eq!(faults_of(file, "//! A.\nfn a() {}"), Vec::<String>::new());
        assert_eq!(faults_of(file, "fn a() {}").len(), 1);
        assert_eq!(faults_of(file, &format!("//! A.\n{}", "\n".repeat(500))).len(), 1);
    }
}
