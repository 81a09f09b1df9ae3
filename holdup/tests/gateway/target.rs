//! A scripted target that keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// What it does: answers, and keeps the requests.
#[derive(Default)]
struct Kept {
    answer: Mutex<String>,
    without_end: Mutex<bool>,
    left: Mutex<bool>,
    leaves: Condvar,
    requests: Mutex<Vec<String>>,
}

/// A server on a free port, which lives as long as the test's process.
pub(crate) struct Target {
    address: SocketAddr,
    kept: Arc<Kept>,
}

impl Target {
    pub(crate) fn start() -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::<Kept>::default();
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let mut reader = BufReader::new(&socket);
                let mut request = String::new();
                while reader.read_line(&mut request).unwrap_or_default() > 2 {}
                let length = request
                    .lines()
                    .find_map(|line| {
                        line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                    })
                    .unwrap_or(0);
                let mut body = vec![0; length];
                let _ = reader.read_exact(&mut body);
                request.push_str(&String::from_utf8_lossy(&body));
                shared.requests.lock().unwrap().push(request);
                let answer = shared.answer.lock().unwrap().clone();
                let _ = (&socket).write_all(answer.as_bytes());
                if *shared.without_end.lock().unwrap() {
                    // Silent from here on; the next byte read is the other side's end.
                    let _ = reader.read(&mut [0; 1]);
                    *shared.left.lock().unwrap() = true;
                    shared.leaves.notify_all();
                }
            }
        });
        Target { address, kept }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it answers from now on.
    pub(crate) fn answer(&self, text: &str) {
        *self.kept.answer.lock().unwrap() = text.to_string();
    }

    /// From now on it answers with one event, and then is silent and keeps the connection.
    pub(crate) fn answer_without_end(&self) {
        self.answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n");
        *self.kept.without_end.lock().unwrap() = true;
    }

    /// Whether the other side closes such a connection within a time.
    pub(crate) fn was_left(&self, within: Duration) -> bool {
        let left = self.kept.left.lock().unwrap();
        *self.kept.leaves.wait_timeout_while(left, within, |left| !*left).unwrap().0
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.kept.requests.lock().unwrap().clone()
    }
}
