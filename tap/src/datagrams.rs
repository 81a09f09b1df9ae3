//! Passes datagrams between clients and an upstream, one by one and untouched: what HTTP/3 goes by.
//!
//! Everything in them is sealed by QUIC, so that nothing tells what they carry or whose it is. What
//! is noted is their sizes and times.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::{Span, Stamp};
use wire::Moment;

/// Largest datagram there is, bytes: what the length in its header can say.
const LARGEST: usize = 65_535;
/// How many clients are served at once. A browser has one address for each origin that it asks, and
/// another after it has changed the connection.
const CLIENTS: usize = 64;
/// A client that is silent for so long, both ways, is gone: QUIC's own limits are 30 s and less.
const SILENT: Span = Span::millis(60_000);
/// How often a waiting thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// How many datagrams are kept: some thousand streams of a headline.
const KEPT: usize = 65_536;
/// Room that is asked of the kernel for datagrams that wait; it may give less.
const KERNEL_BUFFER: usize = 1 << 20;

/// One datagram that was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When it had come.
    pub at: Stamp,
    /// Its payload.
    pub bytes: u32,
    /// Whether it went to the client.
    pub answer: bool,
}

/// What passed, the oldest first. Cloned handles share it.
#[derive(Clone, Debug, Default)]
pub struct Passed(Arc<Mutex<VecDeque<Datagram>>>);

impl Passed {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Datagram>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, datagram: Datagram) {
        let mut passed = self.lock();
        if passed.len() == KEPT {
            passed.pop_front();
        }
        passed.push_back(datagram);
    }

    /// What passed within a time, ends included.
    pub fn between(&self, from: Stamp, to: Stamp) -> Vec<Datagram> {
        self.lock().iter().filter(|own| own.at >= from && own.at <= to).copied().collect()
    }
}

/// A listening pass-through. Dropping it ends it.
pub struct DatagramTap {
    address: SocketAddr,
    passed: Passed,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DatagramTap {
    /// Listens on `listen` and passes on to `upstream`, for each client by a socket of its own.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(listen: SocketAddr, upstream: SocketAddr) -> io::Result<DatagramTap> {
        let named = |error: io::Error| {
            let text = format!("the tap cannot listen on {listen} over UDP: {error}");
            io::Error::new(error.kind(), text)
        };
        let socket = UdpSocket::bind(listen).map_err(named)?;
        let address = socket.local_addr()?;
        make_room(&socket);
        socket.set_read_timeout(Some(LOOK))?;
        let (passed, stopping) = (Passed::default(), Arc::new(AtomicBool::new(false)));
        let way = Way { upstream, passed: passed.clone(), stopping: Arc::clone(&stopping) };
        let thread = std::thread::Builder::new().name("tap-datagrams".into());
        let thread = thread.spawn(move || relay(&Arc::new(socket), &way))?;
        Ok(DatagramTap { address, passed, stopping, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it passed on.
    pub fn passed(&self) -> &Passed {
        &self.passed
    }
}

impl Drop for DatagramTap {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where datagrams go, who notes them, and when it is over.
#[derive(Clone)]
struct Way {
    upstream: SocketAddr,
    passed: Passed,
    stopping: Arc<AtomicBool>,
}

/// A client's way to the upstream.
struct Client {
    socket: Arc<UdpSocket>,
    /// When anything passed last, either way, microseconds.
    last: Arc<AtomicI64>,
    thread: JoinHandle<()>,
}

fn now() -> Stamp {
    Stamp(Moment::now().micros())
}

/// A larger buffer loses less of what comes at once; a smaller one works as well.
fn make_room(socket: &UdpSocket) {
    let _ = socket2::SockRef::from(socket).set_recv_buffer_size(KERNEL_BUFFER);
}

/// What clients send, until it is over.
fn relay(listening: &Arc<UdpSocket>, way: &Way) {
    wire::priority::raise();
    let mut clients: BTreeMap<SocketAddr, Client> = BTreeMap::new();
    let mut buffer = vec![0; LARGEST];
    while !way.stopping.load(Ordering::Relaxed) {
        // A timeout, or what the network said of an earlier datagram: neither ends it.
        let Ok((bytes, from)) = listening.recv_from(&mut buffer) else { continue };
        let at = now();
        clients.retain(|address, client| *address == from || !client.thread.is_finished());
        if clients.get(&from).is_some_and(|client| client.thread.is_finished()) {
            clients.remove(&from);
        }
        if !clients.contains_key(&from) {
            // Beyond that it is as if the network had lost it.
            if clients.len() == CLIENTS {
                continue;
            }
            let Ok(client) = Client::open(listening, from, way) else { continue };
            clients.insert(from, client);
        }
        let Some(client) = clients.get(&from) else { continue };
        client.last.store(at.0, Ordering::Relaxed);
        if client.socket.send(&buffer[..bytes]).is_ok() {
            way.passed.note(Datagram { at, bytes: bytes as u32, answer: false });
        }
    }
    for client in clients.into_values() {
        let _ = client.thread.join();
    }
}

impl Client {
    fn open(listening: &Arc<UdpSocket>, client: SocketAddr, way: &Way) -> io::Result<Client> {
        let any = match way.upstream.ip() {
            IpAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
            IpAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(way.upstream)?;
        make_room(&socket);
        socket.set_read_timeout(Some(LOOK))?;
        let (socket, last) = (Arc::new(socket), Arc::new(AtomicI64::new(now().0)));
        let (from, listening) = (Arc::clone(&socket), Arc::clone(listening));
        let (heard, way) = (Arc::clone(&last), way.clone());
        let thread = std::thread::Builder::new()
            .name("tap-answer".into())
            .spawn(move || answers(&from, &listening, client, &heard, &way))?;
        Ok(Client { socket, last, thread })
    }
}

/// What the upstream answers one client, until both have been silent for long.
fn answers(from: &UdpSocket, to: &UdpSocket, client: SocketAddr, last: &AtomicI64, way: &Way) {
    wire::priority::raise();
    let mut buffer = vec![0; LARGEST];
    while !way.stopping.load(Ordering::Relaxed) {
        let received = from.recv(&mut buffer);
        let at = now();
        match received {
            Ok(bytes) => {
                last.store(at.0, Ordering::Relaxed);
                if to.send_to(&buffer[..bytes], client).is_ok() {
                    way.passed.note(Datagram { at, bytes: bytes as u32, answer: true });
                }
            }
            Err(_) if at - Stamp(last.load(Ordering::Relaxed)) > SILENT => return,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            // Nobody listens there, as the network says. It may be told again at once.
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind(any()).expect("a free port");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        socket
    }

    #[test]
    fn datagrams_pass_untouched_both_ways_and_clients_are_kept_apart() {
        let server = socket();
        let tap = DatagramTap::start(any(), server.local_addr().expect("bound")).expect("a tap");
        let clients = [socket(), socket()];
        let mut buffer = vec![0; LARGEST];
        let mut peers = Vec::new();
        let begun = now();
        // From the empty one to nearly the largest; twice, for a client keeps its own socket.
        for round in 0..2_u8 {
            for (index, client) in clients.iter().enumerate() {
                for size in [0, 1, 1_200, 60_000] {
                    let sent = vec![round * 2 + index as u8; size];
                    client.send_to(&sent, tap.address()).expect("sent");
                    let (bytes, peer) = server.recv_from(&mut buffer).expect("came through");
                    assert_eq!(buffer[..bytes], sent);
                    peers.push((index, peer));
                    server.send_to(&sent[..size / 2], peer).expect("answered");
                    let (bytes, from) = client.recv_from(&mut buffer).expect("came back");
                    assert_eq!((from, bytes), (tap.address(), size / 2));
                    assert_eq!(buffer[..bytes], sent[..size / 2]);
                }
            }
        }
        let of = |wanted: usize| {
            let mut own: Vec<SocketAddr> =
                peers.iter().filter(|(index, _)| *index == wanted).map(|(_, peer)| *peer).collect();
            own.dedup();
            own
        };
        assert_eq!((of(0).len(), of(1).len()), (1, 1), "one socket a client");
        assert_ne!(of(0), of(1));
        let passed = tap.passed().between(begun, now());
        assert_eq!(passed.iter().filter(|own| own.answer).count(), 16);
        let sizes: Vec<u32> =
            passed.iter().filter(|own| !own.answer).map(|own| own.bytes).take(4).collect();
        assert_eq!(sizes, [0, 1, 1_200, 60_000]);
        assert!(tap.passed().between(Stamp(0), begun).is_empty());
    }

    #[test]
    fn no_more_than_so_many_clients_and_so_many_notes_are_kept() {
        let server = socket();
        let tap = DatagramTap::start(any(), server.local_addr().expect("bound")).expect("a tap");
        let clients: Vec<UdpSocket> = (0..CLIENTS + 1).map(|_| socket()).collect();
        let mut buffer = [0; 8];
        for client in &clients[..CLIENTS] {
            client.send_to(b"in", tap.address()).expect("sent");
            server.recv_from(&mut buffer).expect("came through");
        }
        clients[CLIENTS].send_to(b"beyond", tap.address()).expect("sent");
        clients[0].send_to(b"in", tap.address()).expect("sent");
        let (bytes, _) = server.recv_from(&mut buffer).expect("came through");
        assert_eq!(&buffer[..bytes], b"in", "the one beyond is lost, the others go on");
        let passed = Passed::default();
        for at in 0..KEPT as i64 + 10 {
            passed.note(Datagram { at: Stamp(at), bytes: 1, answer: true });
        }
        let kept = passed.between(Stamp(0), Stamp(i64::MAX));
        assert_eq!((kept.len(), kept[0].at), (KEPT, Stamp(10)));
    }

    #[test]
    fn an_upstream_that_is_not_there_ends_nothing() {
        let gone = socket().local_addr().expect("bound");
        let tap = DatagramTap::start(any(), gone).expect("a tap");
        let client = socket();
        client.send_to(b"nobody", tap.address()).expect("sent");
        std::thread::sleep(Duration::from_millis(50));
        let server = UdpSocket::bind(gone).expect("free again");
        server.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut buffer = [0; 8];
        // The first may be answered with what the network said of the one before.
        for _ in 0..3 {
            client.send_to(b"now", tap.address()).expect("sent");
        }
        let (bytes, _) = server.recv_from(&mut buffer).expect("came through");
        assert_eq!(&buffer[..bytes], b"now");
    }
}
