//! The demo, and requests to it as exact as they have to be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::holdup;

/// How long an answer may take here: those that stream last some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running demo.
pub(crate) struct Demo {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The page's own.
    pub(crate) origin: String,
    /// What the page of this start holds.
    pub(crate) secret: String,
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

/// An answer that is being read; dropped, its connection is closed.
pub(crate) struct Reading(TcpStream);

impl Reading {
    /// Reads until these words came.
    pub(crate) fn until(&mut self, words: &str) {
        let (mut came, mut buffer) = (String::new(), [0; 4096]);
        while !came.contains(words) {
            let read = self.0.read(&mut buffer).unwrap();
            assert!(read > 0, "it ended: {came}");
            came.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Demo {
    pub(crate) fn start(arguments: &[&str]) -> Demo {
        let mut command = holdup(&["demo", "--no-open", "--listen", "127.0.0.1:0"]);
        command.env("HOLDUP_DATA_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/data"));
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let own = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "the demo ended");
            if let Some(url) = line.strip_prefix("your own endpoint: ") {
                break url.trim().to_string();
            }
        };
        let origin = own.strip_suffix("/own").unwrap().to_string();
        let mut demo = Demo { child, output, origin, secret: String::new() };
        let page = demo.get("/own").body;
        let (_, after) = page.split_once("name=\"holdup-gateway\" content=\"").unwrap();
        demo.secret = after.split('"').next().unwrap().to_string();
        assert_eq!(demo.secret.len(), 32);
        demo
    }

    pub(crate) fn host(&self) -> &str {
        self.origin.strip_prefix("http://").unwrap()
    }

    /// A request as the page makes it; each of `changed` takes a header's place, and an empty
    /// one takes the header away.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        changed: &[(&str, &str)],
    ) -> Answer {
        let mut fields = vec![
            ("host", self.host()),
            ("origin", self.origin.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("holdup-gateway", self.secret.as_str()),
            ("content-type", "application/json"),
            ("connection", "close"),
        ];
        for (name, value) in changed {
            fields.retain(|(own, _)| own != name);
            if !value.is_empty() {
                fields.push((name, value));
            }
        }
        let mut socket = self.send(method, path, body, &fields);
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        Answer {
            status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
            head: head.to_string(),
            body: if chunked { unchunked(body) } else { body.to_string() },
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value, fields: &[(&str, &str)]) -> TcpStream {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let mut socket = TcpStream::connect(self.host()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        // Who refuses a body need not read it.
        let _ = socket.write_all(body.as_bytes());
        socket
    }

    /// A POST whose answer is still to be read.
    pub(crate) fn begin(&self, path: &str, body: &Value) -> Reading {
        let fields = [
            ("host", self.host()),
            ("origin", self.origin.as_str()),
            ("holdup-gateway", self.secret.as_str()),
            ("content-type", "application/json"),
        ];
        Reading(self.send("POST", path, body, &fields))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &Value::Null, &[("origin", ""), ("content-type", "")])
    }

    pub(crate) fn ask(&self, wanted: &Value) -> Answer {
        self.request("POST", "/gateway/ask", wanted, &[])
    }

    pub(crate) fn confirm(&self, url: &str) -> Answer {
        self.request("POST", "/gateway/confirm", &json!({ "url": url }), &[])
    }

    /// What the wire showed of a run, once its reader has noted it.
    pub(crate) fn seen(&self, run: &str) -> Answer {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.get(&format!("/gateway/runs/{run}"));
            if answer.status != 409 || Instant::now() > deadline {
                assert_eq!(answer.status, 200, "{}", answer.body);
                return answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The origin of a lane, by its endpoint.
    pub(crate) fn lane(&self, endpoint: &str) -> String {
        let lanes: Value = serde_json::from_str(&self.get("/lanes").body).unwrap();
        let lanes = lanes["lanes"].as_array().unwrap();
        let lane = lanes.iter().find(|lane| lane["endpoint"]["name"] == endpoint).unwrap();
        let ways = lane["ways"].as_array().unwrap();
        // Through segments as they are on Ethernet.
        let way = ways.iter().find(|way| way["mss"] == 1448).unwrap();
        way["origin"].as_str().unwrap().to_string()
    }

    /// Ends it; returns all that it printed after its address.
    pub(crate) fn stop(mut self) -> String {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let mut printed = String::new();
        let _ = self.output.read_to_string(&mut printed);
        let _ = self.child.stderr.take().unwrap().read_to_string(&mut printed);
        printed
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let _ = self.child.wait();
    }
}

fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        text.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    text
}
