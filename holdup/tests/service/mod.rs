//! A service of somebody else's: takes notes of what it is asked and answers as it is told.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// How many came before it.
    pub(crate) index: usize,
    /// Line and headers.
    pub(crate) head: String,
    /// What came as its body.
    pub(crate) body: String,
}

impl Asked {
    /// Whether it accepts gzip.
    pub(crate) fn accepts_gzip(&self) -> bool {
        let head = self.head.to_ascii_lowercase();
        head.lines().any(|line| line.starts_with("accept-encoding:") && line.contains("gzip"))
    }
}

/// The service. It listens until the test's process ends.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Service {
    /// Answers each request by `answer`, on a thread of its own.
    pub(crate) fn start(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let notes = Arc::clone(&asked);
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (notes, answer) = (Arc::clone(&notes), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream.unwrap(), &notes, &*answer));
            }
        });
        Service { address, asked }
    }

    /// Answers every request with the same bytes.
    pub(crate) fn of(answer: impl Into<String>) -> Self {
        let answer = answer.into();
        Service::start(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    notes: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&Asked, &mut TcpStream),
) {
    stream.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok())
        .unwrap_or(0);
    while bytes.len() < end + length {
        let read = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
    }
    let body = String::from_utf8_lossy(&bytes[end..]).into_owned();
    let asked = {
        let mut notes = notes.lock().unwrap();
        let asked = Asked { index: notes.len(), head, body };
        notes.push(asked.clone());
        asked
    };
    answer(&asked, &mut stream);
}

/// The document that the doctor printed, held against the committed schema.
pub(crate) fn told(output: &Output) -> Value {
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/doctor.schema.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("urn:holdup:doctor:1", schema).unwrap();
    let index = compiler.compile("urn:holdup:doctor:1", &mut schemas).unwrap();
    schemas.validate(&said, index).unwrap_or_else(|error| panic!("{error}: {said:#}"));
    said
}

/// The head of a stream that ends with its connection.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// Writes so many events, so many at a time, each batch after so long.
pub(crate) fn play(stream: &mut TcpStream, events: usize, at_a_time: usize, each: Duration) {
    if stream.write_all(STREAM.as_bytes()).is_err() {
        return;
    }
    for first in (0..events).step_by(at_a_time) {
        if first > 0 {
            std::thread::sleep(each);
        }
        let batch: String = (first..(first + at_a_time).min(events))
            .map(|event| match event + 1 == events {
                true => "data: [DONE]\n\n".to_string(),
                false => format!("data: word {event} of an answer\n\n"),
            })
            .collect();
        if stream.write_all(batch.as_bytes()).is_err() {
            return;
        }
    }
}
