//! Standard output that a closed pipe does not break: `holdup … | head` is no error. And files
//! that are put in place whole or not at all.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{Exit, Problem};

/// Writes as much as the reader takes.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    // A reader that has seen enough has closed the pipe; there is nobody left to tell.
    let lost = written.err().filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
    if let Some(error) = lost.filter(|_| !LOST.swap(true, Ordering::Relaxed)) {
        eprintln!("holdup: cannot write to standard output: {error}");
    }
}

/// Whether something that was said did not come out.
static LOST: AtomicBool = AtomicBool::new(false);

/// The exit status, or that of nothing measured when what was to be shown is lost.
pub(crate) fn came_out(exit: Exit) -> Exit {
    if LOST.load(Ordering::Relaxed) { Exit::Nothing } else { exit }
}

/// `println!` without its panic.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::out::print(&format!("{}\n", format_args!($($words)*)))
    };
}
pub(crate) use say;

/// Puts a file in place whole or not at all.
pub(crate) fn put(path: &Path, text: &str) -> Result<(), Problem> {
    let mut next = OsString::from(path);
    next.push(".next");
    std::fs::write(&next, text).and_then(|()| std::fs::rename(&next, path)).map_err(|error| {
        let _ = std::fs::remove_file(&next);
        Problem::nothing(format!("cannot write {}: {error}", path.display()))
    })
}
