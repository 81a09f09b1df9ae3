//! A proxy that runs a configuration of somebody's in a scratch folder.

use std::collections::BTreeSet;
use std::io::{Read, Seek};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};
use std::time::{Duration, Instant};

use proxies::supervise::{Command, Supervised, Supervisor};
use proxies::{Program, Proxies};
use tempfile::TempDir;

/// How long it may take until it accepts: it takes some milliseconds.
const READY: Duration = Duration::from_secs(10);

/// Between two looks.
const POLL: Duration = Duration::from_millis(10);

/// How long a look at a text may take: a second at most on a machine that is busy.
const LOOK: Duration = Duration::from_secs(20);

/// Bytes of what is said: Caddy's own form of a large file has a few million.
const MOST_SAID: u64 = 64 << 20;

/// Lines that the proxy at hand may refuse before it is given up: a module that it lacks has a
/// dozen directives.
const MOST_REFUSED: usize = 60;

/// A proxy that accepts. Dropping it ends it.
pub(super) struct Started {
    pub(super) address: SocketAddr,
    // The process goes before its folder.
    _process: Supervised,
    _folder: TempDir,
}

/// A text to run, and what was changed in it.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) changed: BTreeSet<String>,
}

/// How a kind of proxy is started.
pub(super) struct Kind {
    /// Its file in the scratch folder.
    pub(super) file: &'static str,
    /// Its folders there.
    pub(super) folders: &'static [&'static str],
    /// Arguments that have it look at the file and end.
    pub(super) check: fn(&Path, &Path) -> Vec<String>,
    /// Arguments that run it.
    pub(super) run: fn(&Path, &Path) -> Vec<String>,
    /// The line that a message of the check is about, from 1.
    pub(super) line: fn(&str) -> Option<usize>,
    /// Lines without which the text says something else.
    pub(super) needed: fn(&str) -> bool,
}

/// The pinned program of an engine.
pub(super) fn program(proxies: &Proxies, engine: &str) -> Result<Program, String> {
    let mut fetched = proxies
        .fetch(&[engine], &mut |step| {
            if !matches!(step, proxies::Progress::Ready { .. }) {
                eprintln!("{step}");
            }
        })
        .map_err(|error| error.to_string())?;
    fetched.pop().map_or_else(
        || Err(format!("{engine} is not there")),
        |(_, program)| program.map_err(|error| error.to_string()),
    )
}

/// Starts a text that `write` makes for an address and for the lines that were refused before.
pub(super) fn start(
    kind: &Kind,
    program: &Program,
    write: &dyn Fn(SocketAddr, &BTreeSet<String>) -> Text,
) -> Result<(Started, BTreeSet<String>), String> {
    let mut refused: BTreeSet<String> = BTreeSet::new();
    let folder = tempfile::Builder::new().prefix("holdup-config-").tempdir();
    let folder = folder.map_err(|error| format!("no scratch folder: {error}"))?;
    for name in kind.folders {
        std::fs::create_dir_all(folder.path().join(name)).map_err(|error| error.to_string())?;
    }
    let file = folder.path().join(kind.file);
    loop {
        let address = free().map_err(|error| format!("no free port: {error}"))?;
        let Text { text, mut changed } = write(address, &refused);
        std::fs::write(&file, &text).map_err(|error| error.to_string())?;
        let Err(why) = check(kind, program, folder.path(), &file) else {
            changed.extend(refused.iter().map(|line| {
                format!("{} does not take `{}`: left out", program.engine, name(line))
            }));
            let process = run(kind, program, folder.path(), &file, address)?;
            return Ok((Started { address, _process: process, _folder: folder }, changed));
        };
        let line = (kind.line)(&why).and_then(|line| text.lines().nth(line - 1)).map(str::trim);
        match line.filter(|line| !(kind.needed)(line)) {
            Some(line) if refused.len() < MOST_REFUSED && refused.insert(line.into()) => {}
            _ => return Err(config_reader::secret::text(&why)),
        }
    }
}

/// A refused line's own name: its values may be secret.
fn name(line: &str) -> &str {
    line.split([' ', ';']).next().unwrap_or_default()
}

fn command(program: &Program, arguments: &[String]) -> Process {
    let mut process = Process::new(&program.path);
    process.args(arguments).envs(&program.environment);
    process
}

/// What a program says that looks at a text and ends. It is ended when it does not: a script in a
/// text may run for ever, and a file that it names may be a pipe.
pub(super) fn output(mut process: Process) -> std::io::Result<Output> {
    // Files rather than pipes: nothing that can fill up.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let null = std::process::Stdio::null();
    process.stdin(null).stdout(out.try_clone()?).stderr(err.try_clone()?);
    let mut child = process.spawn()?;
    let until = Instant::now() + LOOK;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() > until => {
                child.kill()?;
                child.wait()?;
                let why = format!("it does not end within {} s", LOOK.as_secs());
                return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, why));
            }
            None => std::thread::sleep(POLL),
        }
    };
    let said = |file: &mut std::fs::File| -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(MOST_SAID).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    Ok(Output { status, stdout: said(&mut out)?, stderr: said(&mut err)? })
}

fn check(kind: &Kind, program: &Program, folder: &Path, file: &Path) -> Result<(), String> {
    let mut process = command(program, &(kind.check)(folder, file));
    process.current_dir(folder);
    let output = output(process)
        .map_err(|error| format!("cannot run {}: {error}", program.path.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // The first line that says where: what follows it only sums up.
    let places = said.lines().filter(|line| (kind.line)(line).is_some());
    let bad = places.filter(|line| !line.contains("[warn]") && !line.contains("[WARNING]"));
    let line = bad.chain(said.lines()).next().unwrap_or("it says nothing").trim();
    Err(line.into())
}

fn run(
    kind: &Kind,
    program: &Program,
    folder: &Path,
    file: &Path,
    address: SocketAddr,
) -> Result<Supervised, String> {
    let supervisor = Supervisor::this_program().map_err(|error| error.to_string())?;
    let mut command = Command::new(&supervisor, PathBuf::from(&program.path));
    command.args((kind.run)(folder, file)).cwd(folder).remove_after(folder);
    for (name, value) in &program.environment {
        command.env(name, value);
    }
    let mut process = command.spawn(&folder.join("log")).map_err(|error| error.to_string())?;
    let until = Instant::now() + READY;
    while TcpStream::connect(address).is_err() {
        let ended = process.try_wait().map_err(|error| error.to_string())?;
        if ended.is_some() || Instant::now() > until {
            let said = process.log_tail(3).join("; ");
            return Err(format!("it does not start: {}", config_reader::secret::text(&said)));
        }
        std::thread::sleep(POLL);
    }
    Ok(process)
}

/// A port that is free at this moment. Who else takes it is found out: the proxy ends then, and
/// the emitter's ledger knows no run that went elsewhere.
fn free() -> std::io::Result<SocketAddr> {
    TcpListener::bind(crate::rig::any_port())?.local_addr()
}
