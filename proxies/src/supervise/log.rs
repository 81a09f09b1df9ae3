//! The last lines of a child's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of the end of a log is looked at: a few lines, however long the log.
const WINDOW: u64 = 64 * 1024;

/// The last `lines` lines of a log that are not empty; none if it cannot be read.
pub fn tail(path: &Path, lines: usize) -> Vec<String> {
    let text = end_of(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut last: Vec<String> = text
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(lines)
        .map(str::to_owned)
        .collect();
    last.reverse();
    last
}

fn end_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WINDOW)))?;
    let mut text = Vec::new();
    file.take(WINDOW).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_in_their_order() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "one\n\ntwo\nthree\n").unwrap();
        assert_eq!(tail(file.path(), 2), ["two", "three"]);
        assert_eq!(tail(file.path(), 9).len(), 3);
        assert!(tail(Path::new("/nonexistent"), 2).is_empty());
    }
}
