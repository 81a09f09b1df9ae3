//! Children that never outlive the program that started them.
//!
//! A child runs below a *supervisor*: this same program, executed again with a hidden
//! argument list. The supervisor's standard input is a pipe from the parent. When that
//! pipe closes, however the parent died, the supervisor ends the child with everything
//! the child started, and then itself. It holds no other state, so nothing has to be
//! cleaned up by hand after a crash.
//!
//! A program that starts children this way must call [`supervisor_main`] when its first
//! argument is [`SUBCOMMAND`], before it does anything else.

mod child;
mod descendants;
mod log;
mod protocol;
mod supervisor;

pub use child::{Command, SuperviseError, Supervised, Supervisor};
pub(crate) use descendants::descendants;
pub use log::tail as log_tail;
pub use supervisor::supervisor_main;

/// The hidden first argument that makes a program a supervisor.
pub const SUBCOMMAND: &str = "supervise";

/// How long a command that is run at the end may take: removing a container takes well under a
/// second, unless its engine is busy with others.
const FINALLY_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// How long a child may take to end after SIGTERM, before SIGKILL. Proxies end within
/// milliseconds unless they wait for streams that nobody reads any more.
pub const GRACE: std::time::Duration = std::time::Duration::from_secs(2);
