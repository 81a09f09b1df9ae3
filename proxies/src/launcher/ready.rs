//! The wait until a proxy is ready, without ever asking the emitter.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::container::{self, Container};
use super::listening::{self, Over, Owner};
use crate::supervise::{SuperviseError, Supervised, descendants};

/// Between two looks. Short beside the 84-190 ms the slowest proxy takes.
const POLL: Duration = Duration::from_millis(10);

/// One look may take this long: a proxy that accepts but does not answer is asked again.
const ONE_LOOK: Duration = Duration::from_secs(2);

/// An answer is read up to here; those asked for are a few hundred bytes.
const ENOUGH: u64 = 256 * 1024;

/// What a system says when a port is another's, whichever program passes it on.
const PORT_TAKEN: &str = "address already in use";

/// How many of the log's last lines may be about a taken port: nginx tries five times.
const PORT_TAKEN_LINES: usize = 20;

/// What makes a proxy ready.
#[derive(Debug, Clone)]
pub(super) enum Check {
    /// It accepts a connection where it listens.
    Connect(SocketAddr),
    /// Its second port answers a request with these words.
    Admin { address: SocketAddr, path: String, contains: String },
}

/// Where it listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) listen: SocketAddr,
    /// Whether over UDP as well.
    pub(super) udp: bool,
}

/// Why it is not.
#[derive(Debug)]
pub(super) enum NotReady {
    /// Another process has its port.
    PortLost,
    /// It ended by itself, with this status.
    Ended(i32),
    /// Time is up; what did not come true.
    Late(String),
    /// It cannot be watched.
    Watch(SuperviseError),
}

/// Looks again and again until the proxy is ready, has ended, or time is up.
pub(super) fn wait(
    check: &Check,
    ports: Ports,
    process: &mut Supervised,
    container: Option<&Container>,
    limit: Duration,
) -> Result<(), NotReady> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = process.try_wait().map_err(NotReady::Watch)? {
            return Err(if port_taken(process) {
                NotReady::PortLost
            } else {
                NotReady::Ended(status.code().unwrap_or(-1))
            });
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let missing = match look(check, left.min(ONE_LOOK)) {
            Ok(()) => match owner(ports, process, container) {
                Owner::Family | Owner::Unknown => return Ok(()),
                Owner::Other => return Err(NotReady::PortLost),
                Owner::Nobody => format!("it has not bound {} over UDP", ports.listen),
            },
            Err(missing) => missing,
        };
        if left.is_zero() {
            let lost = port_taken(process);
            return Err(if lost { NotReady::PortLost } else { NotReady::Late(missing) });
        }
        std::thread::sleep(POLL.min(left));
    }
}

/// Who listens; nobody if that is still to come over UDP, which cannot be asked as TCP can.
fn owner(
    Ports { listen, udp }: Ports,
    process: &Supervised,
    container: Option<&Container>,
) -> Owner {
    // A container's processes are the engine's children, not ours: it says which.
    let family = match container {
        None => descendants(Pid::from_raw(process.supervisor_pid().cast_signed())),
        Some(container) => match container.first() {
            Some(first) => container::family(first),
            None => return Owner::Unknown,
        },
    };
    match listening::owner(Over::Tcp, listen, &family) {
        Owner::Other => Owner::Other,
        _ if udp => listening::owner(Over::Udp, listen, &family),
        // A server on all IPv6 addresses that takes IPv4 connections too.
        Owner::Nobody => Owner::Unknown,
        owner => owner,
    }
}

fn port_taken(process: &Supervised) -> bool {
    let lines = process.log_tail(PORT_TAKEN_LINES);
    lines.iter().any(|line| line.to_ascii_lowercase().contains(PORT_TAKEN))
}

/// One look; what is missing otherwise.
fn look(check: &Check, limit: Duration) -> Result<(), String> {
    // A zero limit is an error to the socket calls; the last look still gets a moment.
    let limit = limit.max(POLL);
    match check {
        Check::Connect(address) => TcpStream::connect_timeout(&reachable(*address), limit)
            .map(drop)
            .map_err(|error| format!("connecting to {address}: {error}")),
        Check::Admin { address, path, contains } => {
            let answer = get(*address, path, limit)
                .map_err(|error| format!("asking http://{address}{path}: {error}"))?;
            let status = answer.lines().next().unwrap_or_default();
            if status.split(' ').nth(1) != Some("200") {
                Err(format!("http://{address}{path} answers `{status}`"))
            } else if !answer.contains(contains) {
                Err(format!("http://{address}{path} does not say `{contains}`"))
            } else {
                Ok(())
            }
        }
    }
}

/// Nobody can connect to "all addresses"; loopback is one of them.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(_) => (Ipv6Addr::LOCALHOST, address.port()).into(),
    }
}

/// A request that ends its connection, so that the end of that is the end of the answer.
/// (HTTP/1.0 would be simpler still, but Envoy refuses it with 426.)
fn get(address: SocketAddr, path: &str, limit: Duration) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    // In one write: formatted straight into the socket it would go out in pieces.
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ENOUGH).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// An admin port that gives one answer.
    fn answering(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let n = stream.read(&mut request).unwrap();
            assert!(request[..n].starts_with(b"GET /ready HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        address
    }

    fn ask(answer: &'static str) -> Result<(), String> {
        let address = answering(answer);
        let check = Check::Admin { address, path: "/ready".into(), contains: "LIVE".into() };
        look(&check, Duration::from_secs(5))
    }

    #[test]
    fn only_the_right_words_under_200_are_ready() {
        assert_eq!(ask("HTTP/1.1 200 OK\r\n\r\nLIVE\n"), Ok(()));
        assert!(ask("HTTP/1.1 503 No\r\n\r\nLIVE\n").unwrap_err().contains("503 No"));
        assert!(ask("HTTP/1.1 200 OK\r\n\r\nPRE\n").unwrap_err().contains("does not say `LIVE`"));
        assert!(ask("").unwrap_err().contains("answers ``"));
    }

    #[test]
    fn all_addresses_are_reached_through_loopback() {
        let all: SocketAddr = "0.0.0.0:80".parse().unwrap();
        assert_eq!(reachable(all).to_string(), "127.0.0.1:80");
        let one: SocketAddr = "10.0.0.1:80".parse().unwrap();
        assert_eq!(reachable(one), one);
    }
}
