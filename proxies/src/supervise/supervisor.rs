//! The supervisor's side: one child, one pipe to watch, one way out.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, killpg, sigaction};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};

use super::protocol::{Answer, Job};
use super::{FINALLY_LIMIT, GRACE, descendants};

/// How often the end of a killed process is looked for. Also bounds how long the folder
/// of processes is left unread while new ones may be forked.
const KILL_POLL: Duration = Duration::from_millis(10);

/// After this long SIGKILL has not helped (a process stuck in the kernel): give up.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// What a shell answers when it cannot run a program.
const CANNOT_RUN: u8 = 127;

/// Runs the child that `args` (what follows the subcommand) asks for, and ends it when
/// standard input closes. Returns the child's own status if it ends by itself.
pub fn supervisor_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let answer = |answer: &Answer| {
        let mut out = io::stdout();
        // A parent that has gone shows at standard input; there is nobody to tell.
        let _ = out.write_all(answer.to_line().as_bytes()).and_then(|()| out.flush());
    };
    let started = Job::from_args(args)
        .ok_or_else(|| "the argument list is not a supervisor's".to_owned())
        .and_then(|job| Supervisor::start(&job).map(|supervisor| (job, supervisor)));
    match started {
        Ok((job, mut supervisor)) => {
            answer(&Answer::Started(supervisor.child.as_raw()));
            supervisor.run(&job)
        }
        Err(why) => {
            answer(&Answer::Failed(why));
            ExitCode::from(CANNOT_RUN)
        }
    }
}

struct Supervisor {
    child: Pid,
    /// The child's status once it has been reaped.
    ended: Option<u8>,
    /// The last signal that asked for the end.
    signals: OwnedFd,
}

enum Happened {
    ParentGone,
    Asked,
    ChildEnded,
}

impl Supervisor {
    fn start(job: &Job) -> Result<Self, String> {
        let signals = catch_signals().map_err(|e| format!("cannot catch signals: {e}"))?;
        // What the child leaves behind is re-parented here and cannot get away.
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_child_subreaper(true)
            .map_err(|e| format!("prctl(PR_SET_CHILD_SUBREAPER): {e}"))?;

        // Standard output is the line to the parent, so the child's goes to the log too.
        let log = io::stderr().as_fd().try_clone_to_owned().map_err(|e| format!("dup: {e}"))?;
        let mut command = std::process::Command::new(&job.program);
        command
            .args(&job.args)
            .envs(job.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .process_group(0);
        if let Some(cwd) = &job.cwd {
            command.current_dir(cwd);
        }
        let child = command.spawn().map_err(|e| e.to_string())?;
        Ok(Self { child: Pid::from_raw(child.id().cast_signed()), ended: None, signals })
    }

    fn run(&mut self, job: &Job) -> ExitCode {
        let happened = self.wait();
        self.end();
        finally(&job.finally);
        match happened {
            Happened::ChildEnded => ExitCode::from(self.ended.unwrap_or_default()),
            Happened::Asked => ExitCode::SUCCESS,
            Happened::ParentGone => {
                if let Some(folder) = &job.remove_after {
                    // The parent may have removed it already.
                    let _ = std::fs::remove_dir_all(folder);
                }
                ExitCode::SUCCESS
            }
        }
    }

    fn wait(&mut self) -> Happened {
        loop {
            let (parent, signals) = match self.look(PollTimeout::NONE) {
                Ok(seen) => seen,
                // Without poll nothing can be watched: end rather than run unwatched.
                Err(_) => return Happened::ParentGone,
            };
            if parent && parent_is_gone() {
                return Happened::ParentGone;
            }
            if signals && drain(self.signals.as_fd()) {
                return Happened::Asked;
            }
            self.reap();
            if self.ended.is_some() {
                return Happened::ChildEnded;
            }
        }
    }

    /// Whether the parent's pipe and the signals' pipe have something to say.
    fn look(&self, timeout: PollTimeout) -> nix::Result<(bool, bool)> {
        let stdin = io::stdin();
        let mut watched = [
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut watched, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        let [parent, signals] = watched.map(|fd| fd.any().unwrap_or(false));
        Ok((parent, signals))
    }

    /// Ends the child and everything below: SIGTERM, a grace, SIGKILL until none is left.
    fn end(&mut self) {
        self.signal_all(Signal::SIGTERM);
        if self.gone_within(GRACE, None) {
            return;
        }
        self.gone_within(KILL_LIMIT, Some(Signal::SIGKILL));
    }

    /// Waits until nobody is left, sending `signal` again and again if there is one.
    fn gone_within(&mut self, limit: Duration, signal: Option<Signal>) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(signal) = signal {
                self.signal_all(signal);
            }
            if self.reap() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(KILL_POLL);
        }
    }

    fn signal_all(&self, signal: Signal) {
        // Once the child is reaped its group's number may be another's. On Linux the
        // descendants are complete without it; elsewhere the group is all there is.
        if self.ended.is_none() || !cfg!(target_os = "linux") {
            let _ = killpg(self.child, signal);
        }
        for pid in descendants(getpid()) {
            // It may have ended since; SIGTERM twice to a member of the group does no harm.
            let _ = kill(pid, signal);
        }
    }

    /// Takes in all that have ended; true when no child is left.
    fn reap(&mut self) -> bool {
        loop {
            let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, u8::try_from(code).unwrap_or(1)),
                // As a shell says it.
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, 128 + signal as u8),
                Ok(WaitStatus::StillAlive) => return false,
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return true,
            };
            if pid == self.child {
                self.ended = Some(status);
            }
        }
    }
}

/// Runs what is to be run at the end, as far as it can be: nobody is left to be told.
fn finally(command: &[OsString]) {
    let Some((program, args)) = command.split_first() else { return };
    let mut command = std::process::Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    let deadline = Instant::now() + FINALLY_LIMIT;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(KILL_POLL);
    }
}

/// Reads the parent's pipe, which carries nothing: only its end means something.
fn parent_is_gone() -> bool {
    match io::stdin().lock().read(&mut [0; 64]) {
        Ok(n) => n == 0,
        Err(error) => error.kind() != io::ErrorKind::Interrupted,
    }
}

/// Where the signal handler writes.
static SIGNALLED: OnceLock<OwnedFd> = OnceLock::new();

const ASKED: u8 = b'a';
const CHILD: u8 = b'c';

extern "C" fn on_signal(signal: nix::libc::c_int) {
    let errno = Errno::last_raw();
    let word = if signal == Signal::SIGCHLD as i32 { CHILD } else { ASKED };
    if let Some(pipe) = SIGNALLED.get() {
        // A full pipe has woken the loop already.
        let _ = nix::unistd::write(pipe, &[word]);
    }
    Errno::set_raw(errno);
}

/// Turns signals into bytes of a pipe, so that one `poll` watches everything. Handlers,
/// unlike a blocked mask or an ignored signal, are not inherited by the child.
fn catch_signals() -> nix::Result<OwnedFd> {
    let (reader, writer) = pipe()?;
    let _ = SIGNALLED.set(writer);
    let action =
        SigAction::new(SigHandler::Handler(on_signal), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGCHLD, Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only writes to a pipe and keeps errno: both may be done
        // at any moment. There is no safe wrapper for installing a handler.
        #[allow(unsafe_code)]
        unsafe {
            sigaction(signal, &action)?;
        }
    }
    Ok(reader)
}

/// A pipe that children do not inherit and that never makes its user wait.
fn pipe() -> nix::Result<(OwnedFd, OwnedFd)> {
    use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
    let (reader, writer) = nix::unistd::pipe()?;
    for end in [&reader, &writer] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    Ok((reader, writer))
}

/// Empties the signals' pipe; true if one of them asked for the end.
fn drain(pipe: BorrowedFd<'_>) -> bool {
    let mut asked = false;
    let mut buffer = [0; 64];
    while let Ok(n @ 1..) = nix::unistd::read(pipe, &mut buffer) {
        asked |= buffer[..n].contains(&ASKED);
    }
    asked
}
