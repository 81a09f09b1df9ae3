//! The parent's side: a command to run under a supervisor, and the handle on it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use super::protocol::{Answer, Job};
use super::{FINALLY_LIMIT, GRACE, SUBCOMMAND, log};

/// How long a supervisor may take to say that its child runs. Milliseconds, unless the
/// machine is drowning.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// How long a supervisor may take to end: the grace, then SIGKILL's own limit, then what is run
/// at the end.
const END_LIMIT: Duration = Duration::from_secs(GRACE.as_secs() + 6 + FINALLY_LIMIT.as_secs());

/// How often an end is looked for.
const END_POLL: Duration = Duration::from_millis(2);

/// A child that cannot be started or ended.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The log cannot be opened.
    #[error("cannot open the log {}: {error}; check that its folder can be written", .path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The supervisor itself cannot be started.
    #[error("cannot start the supervisor {}: {error}; check that it is still there", .path.display())]
    Supervisor {
        /// Its program.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The supervisor's program says something else, or nothing.
    #[error("cannot start {program}: {} did not answer as a supervisor; call supervisor_main in its main", .path.display())]
    NotASupervisor {
        /// What was to be started.
        program: String,
        /// The supervisor's program.
        path: PathBuf,
    },
    /// The program cannot be run.
    #[error("cannot run {program}: {why}; check that it is there and executable")]
    Program {
        /// The program.
        program: String,
        /// What the supervisor says.
        why: String,
    },
    /// The supervisor cannot be waited for.
    #[error("cannot wait for {program}: {error}; look whether it still runs")]
    Wait {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// It has not ended in time.
    #[error("cannot stop {program}: still there after {} s; end process {pid} by hand", END_LIMIT.as_secs())]
    StillThere {
        /// The program.
        program: String,
        /// Its process.
        pid: i32,
    },
}

/// Which program acts as the supervisor.
#[derive(Debug, Clone)]
pub struct Supervisor {
    path: PathBuf,
    shown_as: OsString,
}

impl Supervisor {
    /// This program, executed again.
    pub fn this_program() -> io::Result<Self> {
        let exe = std::env::current_exe()?;
        // The link leads to the running program even when the file has been replaced by
        // a newer build meanwhile.
        let path = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { exe.clone() };
        Ok(Self { path, shown_as: exe.into() })
    }

    /// Another program whose main calls [`supervisor_main`](super::supervisor_main).
    pub fn program(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { shown_as: path.clone().into(), path }
    }
}

/// A program to run under a supervisor.
#[derive(Debug, Clone)]
pub struct Command {
    supervisor: Supervisor,
    job: Job,
}

impl Command {
    /// Runs `program`, which should be a full path, under `supervisor`.
    pub fn new(supervisor: &Supervisor, program: impl Into<OsString>) -> Self {
        let job = Job { program: program.into(), ..Job::default() };
        Self { supervisor: supervisor.clone(), job }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl Into<OsString>) -> &mut Self {
        self.job.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(&mut self, args: impl IntoIterator<Item = A>) -> &mut Self {
        self.job.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment, which is this program's otherwise.
    pub fn env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.job.env.push((name.into(), value.into()));
        self
    }

    /// Starts the child in this folder.
    pub fn cwd(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.job.cwd = Some(folder.into());
        self
    }

    /// Has the supervisor remove this folder after the child has ended because the
    /// parent let go of it or died: nothing is left behind either way.
    pub fn remove_after(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.job.remove_after = Some(folder.into());
        self
    }

    /// Has the supervisor run this command once the child has ended, however it did.
    pub fn finally(&mut self, command: Vec<OsString>) -> &mut Self {
        self.job.finally = command;
        self
    }

    /// Starts the supervisor and the child, whose output is appended to `log`.
    /// Returns once the program has been executed.
    pub fn spawn(&self, log: &Path) -> Result<Supervised, SuperviseError> {
        let program = self.job.program.to_string_lossy().into_owned();
        let output = File::options().create(true).append(true).open(log);
        let output = output.map_err(|error| SuperviseError::Log { path: log.to_owned(), error })?;

        let mut child = std::process::Command::new(&self.supervisor.path)
            .arg0(&self.supervisor.shown_as)
            .arg(SUBCOMMAND)
            .args(self.job.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            // Its own group from the first moment: a terminal's Ctrl-C is the parent's.
            .process_group(0)
            .spawn()
            .map_err(|error| SuperviseError::Supervisor {
                path: PathBuf::from(&self.supervisor.shown_as),
                error,
            })?;

        let line = child.stdout.take().map(read_line).unwrap_or_default();
        let mut supervised = Supervised {
            program,
            log: log.to_owned(),
            pid: None,
            lifeline: child.stdin.take(),
            supervisor: child,
        };
        let program = supervised.program.clone();
        match Answer::from_line(&line) {
            Some(Answer::Started(pid)) => {
                supervised.pid = Some(Pid::from_raw(pid));
                Ok(supervised)
            }
            // The handle goes here, and the supervisor with it.
            Some(Answer::Failed(why)) => Err(SuperviseError::Program { program, why }),
            None => {
                // It is no supervisor, so closing the pipe means nothing to it.
                let _ = supervised.supervisor.kill();
                let path = PathBuf::from(&self.supervisor.shown_as);
                Err(SuperviseError::NotASupervisor { program, path })
            }
        }
    }
}

/// A child under its supervisor. Dropping it ends the child and everything below it, and
/// waits until they have gone: blocking, usually for milliseconds.
#[derive(Debug)]
pub struct Supervised {
    program: String,
    log: PathBuf,
    pid: Option<Pid>,
    /// The pipe whose end tells the supervisor to finish.
    lifeline: Option<ChildStdin>,
    supervisor: Child,
}

impl Supervised {
    /// The child's process.
    pub fn pid(&self) -> i32 {
        self.pid.map_or(0, Pid::as_raw)
    }

    /// The supervisor's process.
    pub fn supervisor_pid(&self) -> u32 {
        self.supervisor.id()
    }

    /// The file the child's output goes to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the child's output.
    pub fn log_tail(&self, lines: usize) -> Vec<String> {
        log::tail(&self.log, lines)
    }

    /// The status if the child has ended. A signal's number has 128 added to it.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, SuperviseError> {
        let program = &self.program;
        self.supervisor
            .try_wait()
            .map_err(|error| SuperviseError::Wait { program: program.clone(), error })
    }

    /// Ends the child and everything below it, and waits until they have gone.
    pub fn stop(mut self) -> Result<(), SuperviseError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), SuperviseError> {
        self.lifeline = None;
        let deadline = Instant::now() + END_LIMIT;
        while self.try_wait()?.is_none() {
            if Instant::now() >= deadline {
                return Err(SuperviseError::StillThere {
                    program: self.program.clone(),
                    pid: self.pid(),
                });
            }
            std::thread::sleep(END_POLL);
        }
        Ok(())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // Whoever wants to know calls `stop`. After `stop` this is one try_wait.
        let _ = self.end();
    }
}

/// The supervisor's one line; what there is of it when time is up.
fn read_line(mut from: ChildStdout) -> String {
    let deadline = Instant::now() + ANSWER_LIMIT;
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let ready = poll(&mut [PollFd::new(from.as_fd(), PollFlags::POLLIN)], timeout);
        match ready {
            Err(nix::errno::Errno::EINTR) => continue,
            Ok(1..) => {}
            Ok(_) | Err(_) => break,
        }
        // A byte at a time: there is one short line, and nothing behind it is wanted.
        match from.read(&mut byte) {
            Ok(1..) => line.extend(byte),
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&line).into_owned()
}
