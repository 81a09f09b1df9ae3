//! The reading client: one thread, a `recv()` for each readiness, no more work than that.

use std::io::{self, Read, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use measure::RunId;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

/// What the client is asked to read.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Streams at once.
    pub(crate) streams: usize,
    /// Time between a stream's frames, microseconds.
    pub(crate) interval_us: u64,
    /// Frames of a stream.
    pub(crate) frames: u32,
    /// Time over which the streams are opened, evenly but for a random part. Streams that begin
    /// together stay together, and no emitter can write a thousand frames at one instant.
    pub(crate) ramp: Duration,
    /// Run id of the first stream; the others count on from it.
    pub(crate) first_run: u64,
}

impl Load {
    pub(crate) fn arguments(&self) -> [String; 5] {
        [
            self.streams.to_string(),
            self.interval_us.to_string(),
            self.frames.to_string(),
            self.ramp.as_micros().to_string(),
            self.first_run.to_string(),
        ]
    }
}

/// `--role client ADDRESS STREAMS INTERVAL FRAMES RAMP FIRST_RUN`. Prints `open` when all streams
/// are open, and at the end the bytes and reads of all, and how many ended with their last chunk.
///
/// It asks for no priority: what reads in earnest is a proxy or a browser, and has none.
pub(crate) fn run(arguments: &[String]) -> io::Result<()> {
    let bad = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let at = arguments.iter().position(|argument| argument == "client").unwrap_or_default();
    let [address, numbers @ ..] = &arguments[at + 1..] else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let address: SocketAddr = address.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
    let numbers: Vec<u64> =
        numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>().map_err(bad)?;
    let [streams, interval_us, frames, ramp, first_run] = numbers[..] else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    emitter::raise_descriptor_limit()?;
    read_all(
        address,
        &Load {
            streams: streams as usize,
            interval_us,
            frames: frames as u32,
            ramp: Duration::from_micros(ramp),
            first_run,
        },
    )
}

struct Stream {
    socket: TcpStream,
    tail: [u8; 5],
    open: bool,
}

fn read_all(address: SocketAddr, load: &Load) -> io::Result<()> {
    let streams = load.streams;
    let query = format!("frames={}&interval_ms={}", load.frames, load.interval_us as f64 / 1_000.0);
    let mut random = fastrand::Rng::with_seed(7);
    let opens: Vec<Duration> = (0..streams)
        .map(|index| load.ramp.mul_f64((index as f64 + random.f64()) / streams as f64))
        .collect();
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; wire::RECV_BUFFER];
    let mut all: Vec<Stream> = Vec::with_capacity(streams);
    let (mut ended, mut whole, mut reads, mut bytes) = (0, 0, 0_u64, 0_u64);
    let start = Instant::now();
    while ended < streams {
        while opens.get(all.len()).is_some_and(|at| *at <= start.elapsed()) {
            let run = RunId(u128::from(load.first_run) + all.len() as u128);
            let path = format!("/stream?run={run}&{query}");
            all.push(open(&poll, address, Token(all.len()), &path)?);
            if all.len() == streams {
                println!("open");
            }
        }
        let next = opens.get(all.len()).map(|at| at.saturating_sub(start.elapsed()));
        poll.poll(&mut events, next)?;
        for event in &events {
            let stream = &mut all[event.token().0];
            while stream.open {
                match stream.socket.read(&mut buffer) {
                    Ok(0) => {
                        stream.open = false;
                        ended += 1;
                        whole += usize::from(&stream.tail == b"0\r\n\r\n");
                    }
                    Ok(read) => {
                        reads += 1;
                        bytes += read as u64;
                        let tail = &buffer[read.saturating_sub(5)..read];
                        stream.tail.rotate_left(tail.len());
                        stream.tail[5 - tail.len()..].copy_from_slice(tail);
                        // Less than was offered: the socket is empty, and says so when it no
                        // longer is; but an end that had come already says nothing more.
                        if read < buffer.len() && !event.is_read_closed() {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => {
                        stream.open = false;
                        ended += 1;
                    }
                }
            }
        }
    }
    println!("{bytes} {reads} {whole}");
    Ok(())
}

fn open(poll: &Poll, address: SocketAddr, token: Token, path: &str) -> io::Result<Stream> {
    let mut socket = std::net::TcpStream::connect(address)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes())?;
    socket.set_nonblocking(true)?;
    let mut socket = TcpStream::from_std(socket);
    poll.registry().register(&mut socket, token, Interest::READABLE)?;
    Ok(Stream { socket, tail: [0; 5], open: true })
}
