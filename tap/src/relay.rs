//! Moves bytes between a client and the way to the emitter, one thread a direction.
//!
//! Threads that block in `recv()` and write at once add the least: about the kernel's own
//! wake-up, which the stamps show apart.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::{Arrivals, Delivery, RunId, Stamp};
use nix::sys::socket::{MsgFlags, send};
use std::os::fd::AsRawFd;
use wire::{Moment, Options, RECV_BUFFER, Socket, TcpSocket};

use crate::behaviour::{Behaviour, Hold};
use crate::record::{Answers, Asked, Records, Requests, note_segment};
use crate::sealed::{Direction, Sealed};

/// A listening relay. Dropping it stops accepting; connections end with their peers.
pub struct Tap {
    address: SocketAddr,
    records: Records,
    sealed: Option<Sealed>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tap {
    /// Listens on `listen` and relays to `upstream`; `segment` is the payload of the segments
    /// that the upstream is made to send.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(
        listen: SocketAddr,
        upstream: SocketAddr,
        behaviour: Behaviour,
        segment: Option<u32>,
    ) -> io::Result<Tap> {
        Tap::start_noting(listen, upstream, behaviour, segment, None)
    }

    /// The same before an endpoint that speaks TLS: everything passes as it is, and sizes and
    /// times of the records are noted.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn before_tls(
        listen: SocketAddr,
        upstream: SocketAddr,
        segment: Option<u32>,
    ) -> io::Result<Tap> {
        let sealed = Some(Sealed::default());
        Tap::start_noting(listen, upstream, Behaviour::Honest, segment, sealed)
    }

    fn start_noting(
        listen: SocketAddr,
        upstream: SocketAddr,
        behaviour: Behaviour,
        segment: Option<u32>,
        sealed: Option<Sealed>,
    ) -> io::Result<Tap> {
        let listener = TcpListener::bind(listen).map_err(|error| {
            io::Error::new(error.kind(), format!("the tap cannot listen on {listen}: {error}"))
        })?;
        let address = listener.local_addr()?;
        let records = Records::default();
        let stopping = Arc::new(AtomicBool::new(false));
        let theirs = (records.clone(), sealed.clone(), Arc::clone(&stopping));
        let options = Options { segment, ..Options::default() };
        let thread = std::thread::Builder::new().name("tap".into()).spawn(move || {
            let (records, sealed, stopping) = theirs;
            for client in listener.incoming() {
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(client) = client else {
                    // Out of descriptors: those in use come back when streams end.
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                };
                let (records, sealed) = (records.clone(), sealed.clone());
                let relay = move || match sealed {
                    None => relay(client, upstream, behaviour, &options, &records),
                    Some(sealed) => relay_sealed(client, upstream, &options, &sealed),
                };
                // Without a thread the client sees its connection close.
                let _ = std::thread::Builder::new().name("tap-answer".into()).spawn(relay);
            }
        })?;
        Ok(Tap { address, records, sealed, stopping, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was seen of a run.
    pub fn arrivals(&self, run: RunId) -> Option<Arrivals> {
        self.records.get(run)
    }

    /// What passed under TLS; `None` for a tap that is not before TLS.
    pub fn sealed(&self) -> Option<&Sealed> {
        self.sealed.as_ref()
    }

    /// What was seen of all runs.
    pub fn records(&self) -> &Records {
        &self.records
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Wakes the accept.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stamp(moment: Moment) -> Stamp {
    Stamp(moment.micros())
}

/// One connection: this thread relays the answer, a second one the requests.
fn relay(
    client: TcpStream,
    upstream: SocketAddr,
    behaviour: Behaviour,
    options: &Options,
    records: &Records,
) {
    wire::priority::raise();
    let Ok((mut upstream, _)) = wire::connect(upstream, options) else {
        // The client sees what it would see without the tap: no connection.
        reset(&client);
        return;
    };
    let _ = client.set_nodelay(true);
    let (Ok(mut client), Ok(up)) = (TcpSocket::new(client), upstream.try_clone()) else { return };
    let Ok(from) = client.try_clone() else { return };
    let asked = Arc::new(Asked::default());
    let theirs = Arc::clone(&asked);
    let requests = std::thread::Builder::new()
        .name("tap-request".into())
        .spawn(move || relay_requests(from, up, &theirs));
    relay_answers(&mut upstream, &mut client, behaviour, records, &asked);
    // Whichever side ended, the other one is told.
    let _ = upstream.stream().shutdown(Shutdown::Both);
    let _ = client.stream().shutdown(Shutdown::Both);
    if let Ok(requests) = requests {
        let _ = requests.join();
    }
}

/// The same with what is sealed.
fn relay_sealed(client: TcpStream, upstream: SocketAddr, options: &Options, sealed: &Sealed) {
    wire::priority::raise();
    let Ok((mut upstream, _)) = wire::connect(upstream, options) else {
        reset(&client);
        return;
    };
    let _ = client.set_nodelay(true);
    let (Ok(mut client), Ok(mut up)) = (TcpSocket::new(client), upstream.try_clone()) else {
        return;
    };
    let Ok(mut from) = client.try_clone() else { return };
    let watched = sealed.open(upstream.segment_bytes());
    let mut asking = Direction::new(watched.clone());
    let requests = std::thread::Builder::new().name("tap-request".into()).spawn(move || {
        wire::priority::raise();
        let _ = pass_on(&mut from, &mut up, |bytes, delivery| asking.request(bytes, delivery.at));
    });
    let mut answering = Direction::new(watched);
    let _ = pass_on(&mut upstream, &mut client, |bytes, own| answering.answer(bytes, own));
    let _ = upstream.stream().shutdown(Shutdown::Both);
    let _ = client.stream().shutdown(Shutdown::Both);
    if let Ok(requests) = requests {
        let _ = requests.join();
    }
}

/// Passes every read on at once and tells of it afterwards, until one side ends.
fn pass_on(
    from: &mut TcpSocket,
    to: &mut TcpSocket,
    mut tell: impl FnMut(&[u8], Delivery),
) -> io::Result<()> {
    let mut buffer = vec![0; RECV_BUFFER];
    loop {
        let read = from.recv(&mut buffer)?;
        if read.bytes == 0 {
            return to.finish_writing();
        }
        let bytes = &buffer[..read.bytes];
        let forwarded = to.send_all(bytes)?.after;
        tell(bytes, delivery_of(&read, Some(forwarded)));
    }
}

fn delivery_of(read: &wire::Read, forwarded: Option<Moment>) -> Delivery {
    Delivery {
        entered: Some(stamp(read.entered)),
        kernel: read.kernel.map(stamp),
        forwarded: forwarded.map(stamp),
        ..Delivery::at(stamp(read.at))
    }
}

fn relay_requests(mut from: TcpSocket, mut to: TcpSocket, asked: &Asked) {
    wire::priority::raise();
    let mut buffer = vec![0; RECV_BUFFER];
    let mut requests = Requests::default();
    while let Ok(read) = from.recv(&mut buffer) {
        if read.bytes == 0 {
            let _ = to.finish_writing();
            return;
        }
        if to.send_all(&buffer[..read.bytes]).is_err() {
            return;
        }
        requests.feed(&buffer[..read.bytes], stamp(read.at), asked);
    }
}

fn relay_answers(
    from: &mut TcpSocket,
    to: &mut TcpSocket,
    behaviour: Behaviour,
    records: &Records,
    asked: &Asked,
) {
    let mut buffer = vec![0; RECV_BUFFER];
    let mut answers = Answers::new(records.clone());
    let mut hold = Hold::new(behaviour);
    let segment = from.segment_bytes();
    let mut noted = None;
    while let Ok(read) = from.recv(&mut buffer) {
        let bytes = &buffer[..read.bytes];
        if read.bytes == 0 {
            let _ = to.send_all(&hold.rest());
            answers.close(stamp(read.at));
            return;
        }
        let forwarded = match behaviour {
            // The straight way, with nothing in between.
            Behaviour::Honest => to.send_all(bytes).map(|write| Some(write.after)),
            _ => pass(to, &mut hold, bytes),
        };
        let Ok(forwarded) = forwarded else {
            answers.close(stamp(read.at));
            return;
        };
        let delivery = delivery_of(&read, forwarded);
        let run = answers.run();
        answers.feed(bytes, &delivery, asked);
        if let Some(run) = answers.run().or(run).filter(|run| noted != Some(*run)) {
            note_segment(records, run, segment);
            noted = Some(run);
        }
    }
    answers.close(stamp(Moment::now()));
}

/// Writes what the behaviour lets go; the moment of the last write, if there was one. An error
/// ends the relaying, also the one of a behaviour that cuts.
fn pass(to: &mut TcpSocket, hold: &mut Hold, bytes: &[u8]) -> io::Result<Option<Moment>> {
    let out = hold.take(bytes);
    if out.bytes.is_empty() {
        return Ok(None);
    }
    if out.last {
        to.send_all(&out.bytes)?;
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    if !out.more {
        return to.send_all(&out.bytes).map(|write| Some(write.after));
    }
    let more = MsgFlags::MSG_NOSIGNAL | more_follows();
    let mut sent = 0;
    while sent < out.bytes.len() {
        let fd = to.stream().as_raw_fd();
        match send(fd, &out.bytes[sent..], more) {
            Ok(bytes) => sent += bytes,
            Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Some(Moment::now()))
}

/// Tells the kernel that more bytes follow, so that it keeps a part-filled segment back.
#[cfg(target_os = "linux")]
fn more_follows() -> MsgFlags {
    MsgFlags::from_bits_retain(nix::libc::MSG_MORE)
}

/// Only Linux has the flag: elsewhere a cork passes at once, and the self-test says so.
#[cfg(not(target_os = "linux"))]
fn more_follows() -> MsgFlags {
    MsgFlags::empty()
}

/// Closes with a reset, as a refused connection would feel.
fn reset(client: &TcpStream) {
    let _ = socket2::SockRef::from(client).set_linger(Some(Duration::ZERO));
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
