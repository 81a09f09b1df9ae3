//! Standard output that a closed pipe does not break: `holdup … | head` is no error.

use std::io::Write as _;

/// Writes as much as the reader takes.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that has seen enough has closed the pipe; there is nobody left to tell.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `println!` without its panic.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::out::print(&format!("{}\n", format_args!($($words)*)))
    };
}
pub(crate) use say;
