//! Exit statuses, and errors that know theirs.

use std::fmt;
use std::process::ExitCode;

/// The documented exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// An expectation failed, or a cause was found.
    Found,
    /// The command line is wrong.
    Usage,
    /// The guards voided it, or the evidence does not decide.
    Void,
    /// Nothing could be measured.
    Nothing,
    /// Interrupted; what was measured is kept.
    Interrupted,
}

impl Exit {
    /// The number.
    pub(crate) fn status(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Found => 1,
            Exit::Usage => 2,
            Exit::Void => 3,
            Exit::Nothing => 4,
            // 128 and the number of SIGINT, as shells have it.
            Exit::Interrupted => 130,
        }
    }

    /// For `main`.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(self.status())
    }
}

/// One line: what, where, what to do; and the status to end with.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    line: String,
}

impl Problem {
    pub(crate) fn usage(line: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Usage, line: line.to_string() }
    }

    pub(crate) fn nothing(line: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Nothing, line: line.to_string() }
    }

    pub(crate) fn void(line: impl fmt::Display) -> Problem {
        Problem { exit: Exit::Void, line: line.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// What a command comes to.
pub(crate) type Outcome = Result<Exit, Problem>;
