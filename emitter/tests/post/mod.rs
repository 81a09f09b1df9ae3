//! Posts to the emitter over a real socket and notes each read.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use emitter::{Emitter, Lookup, now};
use measure::arrivals::{Arrivals, Delivery};
use measure::chat::{ChatReader, ChatRecord, Shape};
use measure::{End, Ledger, Reader, RunId, Stamp};
use wire::http1::{Head, ResponseFramer};
use wire::{Options, Socket};

/// What one read brought of the body.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) at: Stamp,
    pub(crate) bytes: Vec<u8>,
}

/// A response, read by read.
pub(crate) struct Got {
    pub(crate) head: Head,
    pub(crate) call: Stamp,
    pub(crate) reads: Vec<Part>,
}

impl Got {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.reads.iter().flat_map(|read| read.bytes.clone()).collect()
    }

    pub(crate) fn body_bytes(&self) -> u64 {
        self.body().len() as u64
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body()).into_owned()
    }

    /// The answer as a reader of that run notes it.
    pub(crate) fn record(&self, shape: Option<Shape>, run: RunId) -> ChatRecord {
        let run = Some(run).filter(|run| run.0 >= 100);
        let mut reader = ChatReader::new(shape, run);
        for read in &self.reads {
            reader.read(read.at, &read.bytes).unwrap();
        }
        reader.finish()
    }

    /// The same as every other reader notes a stream.
    pub(crate) fn arrivals(&self, record: &ChatRecord, run: RunId) -> Arrivals {
        let mut arrivals = Arrivals::begin(run, Reader::Recv, self.call);
        arrivals.status = Some(self.head.status);
        let with_body = self.reads.iter().filter(|read| !read.bytes.is_empty());
        arrivals.deliveries = with_body
            .zip(0..)
            .map(|(read, index)| Delivery {
                body_bytes: Some(read.bytes.len() as u64),
                frames: record.frames_of_read(index).collect(),
                ..Delivery::at(read.at)
            })
            .collect();
        arrivals.end = End::Closed;
        arrivals
    }
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Got {
    request(address, "POST", path, "", body)
}

pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Got {
    request_with(address, method, path, headers, body, |_| ())
}

/// The same, with somebody who gets each read as it comes.
pub(crate) fn request_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
    mut came: impl FnMut(&Part),
) -> Got {
    let options = Options { read_timeout: Some(Duration::from_secs(10)), ..Options::default() };
    let call = now();
    let (mut socket, _) = wire::connect(address, &options).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n"
    );
    socket.send_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).unwrap();
    let mut framer = ResponseFramer::new();
    let mut reads = Vec::new();
    let mut buffer = vec![0; wire::RECV_BUFFER];
    loop {
        let read = socket.recv(&mut buffer).unwrap();
        let mut bytes = Vec::new();
        framer.feed(&buffer[..read.bytes], |part| bytes.extend_from_slice(part)).unwrap();
        // The kernel's stamp: whoever reads late did not get it late.
        let part = Part { at: Stamp(read.kernel.unwrap_or(read.at).micros()), bytes };
        came(&part);
        reads.push(part);
        if framer.is_done() || read.bytes == 0 {
            break;
        }
    }
    assert!(framer.is_done() || framer.close_is_the_end(), "the response is whole");
    Got { head: framer.head().unwrap().clone(), call, reads }
}

/// The ledger once its last byte has left.
pub(crate) fn ledger(emitter: &Emitter, run: RunId) -> Ledger {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let Lookup::Known(ledger) = emitter.ledgers().lookup(run) else {
            panic!("no ledger of {run}");
        };
        if ledger.done.is_some() || Instant::now() > end {
            return *ledger;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
