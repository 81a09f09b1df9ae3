//! Traefik with a dynamic file of somebody's, its static half on the command line. It has no way to
//! look at a file without running it, and accepts connections before its routes are there.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use config_reader::secret;
use config_reader::traefik::ENTRY_POINT;
use measure::Span;
use proxies::Program;
use proxies::supervise::{Command, Supervised, Supervisor};
use tempfile::TempDir;

/// How long it may take until its router is there: it takes a fifth of a second.
const READY: Duration = Duration::from_secs(10);

/// Between two looks, and how long one may take.
const POLL: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_secs(1);

/// The answer about one router is less.
const ENOUGH: u64 = 64 * 1024;

/// Lines in which its reason is looked for: it says a few at each start.
const LAST_LINES: usize = 20;

/// A Traefik that serves. Dropping it ends it.
pub(super) struct Started {
    pub(super) address: SocketAddr,
    // The process goes before its folder.
    _process: Supervised,
    _folder: TempDir,
}

/// Starts it. The error is masked.
pub(super) fn start(
    program: &Program,
    dynamic: &str,
    write_timeout: Option<Span>,
) -> Result<Started, String> {
    let told = |error: std::io::Error| error.to_string();
    let folder = tempfile::Builder::new().prefix("holdup-config-").tempdir().map_err(told)?;
    // JSON is YAML. Traefik takes a file for a template of Go, whose functions read the environment
    // and ask name servers: in JSON two braces stand together only in a text, and can be escaped.
    let file = folder.path().join("dynamic.yaml");
    std::fs::write(&file, dynamic.replace("{{", "{\\u007b")).map_err(told)?;
    // Both are held until both are found, so that they differ.
    let free = || TcpListener::bind(crate::rig::any_port());
    let (own, api) = (free().map_err(told)?, free().map_err(told)?);
    let (address, admin) = (own.local_addr().map_err(told)?, api.local_addr().map_err(told)?);
    drop((own, api));
    let supervisor = Supervisor::this_program().map_err(told)?;
    let mut command = Command::new(&supervisor, &program.path);
    command.cwd(folder.path()).remove_after(folder.path());
    for (name, value) in &program.environment {
        command.env(name, value);
    }
    command.args([
        format!("--entryPoints.{ENTRY_POINT}.address={address}"),
        format!("--entryPoints.traefik.address={admin}"),
        format!("--providers.file.filename={}", file.display()),
    ]);
    command.args([
        "--providers.file.watch=false",
        "--api.insecure=true",
        "--api.dashboard=false",
        "--log.level=WARN",
        "--log.noColor=true",
        "--global.checkNewVersion=false",
        "--global.sendAnonymousUsage=false",
    ]);
    if let Some(limit) = write_timeout {
        let timeouts = "transport.respondingTimeouts.writeTimeout";
        command.arg(format!("--entryPoints.{ENTRY_POINT}.{timeouts}={}us", limit.0));
    }
    let mut process =
        command.spawn(&folder.path().join("log")).map_err(|error| error.to_string())?;
    let until = Instant::now() + READY;
    while !serves(admin) {
        let ended = process.try_wait().map_err(|error| error.to_string())?;
        if ended.is_some() || Instant::now() > until {
            let said: String = why(&process.log_tail(LAST_LINES)).chars().take(400).collect();
            let folder = folder.path().display().to_string();
            let said = secret::text(&said.replace(&folder, ""));
            return Err(format!("the pinned Traefik refuses it: {said}"));
        }
        std::thread::sleep(POLL);
    }
    Ok(Started { address, _process: process, _folder: folder })
}

/// What it says of what is wrong: warnings stand between its errors.
fn why(lines: &[String]) -> String {
    let errors: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| line.contains(" ERR ")).collect();
    match errors.as_slice() {
        [] => lines.last().cloned().unwrap_or_default(),
        errors => errors.join("; "),
    }
}

/// Whether its router is there and sound.
fn serves(admin: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&admin, LOOK)?;
        stream.set_read_timeout(Some(LOOK))?;
        let request = format!(
            "GET /api/http/routers/own@file HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(ENOUGH).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().is_ok_and(|answer| answer.contains("\"status\":\"enabled\""))
}
