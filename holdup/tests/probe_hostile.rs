//! `holdup probe` and upstreams that mean no good: each ends within its limits, with what had been
//! seen, in little memory. The peak is the process's own (`VmHWM`).

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod probed;
mod service;

use std::io::{Read as _, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::holdup;
use probed::{CHAT, check, event};
use serde_json::Value;
use service::{STREAM, Service};

/// What one upstream does, and what is said of it.
struct Case {
    name: &'static str,
    play: fn(&mut TcpStream),
    kind: &'static str,
    said: &'static str,
}

/// Bytes that are sent at most, so that a reader without a limit would end as well.
const FLOOD: usize = 150 << 20;

fn head(stream: &mut TcpStream, more: &str) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{more}\r\n");
    let _ = stream.write_all(head.as_bytes());
}

/// Writes the same over and over, until it is enough or nobody reads.
fn flood(stream: &mut TcpStream, bytes: &[u8]) {
    let block = bytes.repeat((64 << 10) / bytes.len() + 1);
    let mut left = FLOOD;
    while left > 0 && stream.write_all(&block).is_ok() {
        left = left.saturating_sub(block.len());
    }
}

fn good(stream: &mut TcpStream) {
    let events: String = (0..10).map(|_| event("word ")).collect();
    let _ = stream.write_all(format!("{STREAM}{events}data: [DONE]\n\n").as_bytes());
}

fn reset(stream: &mut TcpStream) {
    head(stream, "");
    let _ = stream.write_all((event("one") + &event("two")).as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    let now = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    nix::sys::socket::setsockopt(stream, nix::sys::socket::sockopt::Linger, &now).unwrap();
}

fn endless(stream: &mut TcpStream) {
    head(stream, "");
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end && stream.write_all(event("one more ").as_bytes()).is_ok() {
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn bomb(stream: &mut TcpStream) {
    head(stream, "Content-Encoding: gzip\r\n");
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    coder.write_all(event("one").as_bytes()).unwrap();
    let block = vec![b'a'; 1 << 20];
    coder.write_all(b"data: ").unwrap();
    for _ in 0..200 {
        coder.write_all(&block).unwrap();
    }
    let _ = stream.write_all(&coder.finish().unwrap());
}

const CASES: [Case; 11] = [
    Case { name: "a good answer", play: good, kind: "complete", said: "" },
    Case { name: "a reset in mid-stream", play: reset, kind: "broken", said: "after 2 events in" },
    Case {
        name: "a stream without end",
        play: endless,
        kind: "left",
        said: "2 s are over (--time-limit)",
    },
    Case {
        name: "a flood of events",
        play: |stream| {
            head(stream, "");
            flood(stream, event("x").as_bytes());
        },
        kind: "left",
        said: "(--max-bytes)",
    },
    Case {
        name: "a flood of empty comments",
        play: |stream| {
            head(stream, "");
            flood(stream, b":\n\n");
        },
        kind: "silent",
        said: "no token came",
    },
    Case {
        name: "a line of 150 MB",
        play: |stream| {
            head(stream, "");
            let _ = stream.write_all(b"data: ");
            flood(stream, b"x");
        },
        kind: "silent",
        said: "(--max-bytes)",
    },
    Case {
        name: "headers without end",
        play: |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            flood(stream, b"X-More: and more\r\n");
        },
        kind: "broken",
        said: "head",
    },
    Case { name: "a gzip bomb", play: bomb, kind: "left", said: "its body has more than" },
    Case {
        name: "a bad chunk size",
        play: |stream| {
            head(stream, "Transfer-Encoding: chunked\r\n");
            let one = event("one");
            let _ = stream.write_all(format!("{:x}\r\n{one}\r\nzz\r\n", one.len()).as_bytes());
        },
        kind: "broken",
        said: "bad chunk size \"zz\"",
    },
    Case {
        name: "no gzip under that name",
        play: |stream| {
            head(stream, "Content-Encoding: gzip\r\n");
            let _ = stream.write_all(b"data: plain\n\ndata: plain\n\n");
        },
        kind: "broken",
        said: "not valid gzip",
    },
    Case {
        name: "silence",
        play: |stream| {
            head(stream, "");
            let _ = stream.read(&mut [0; 16]);
        },
        kind: "silent",
        said: "2 s are over (--time-limit)",
    },
];

/// The document, and the most memory that the process had, KiB.
fn probe(url: &str) -> (Value, u64) {
    let limits = ["--repeat", "1", "--time-limit", "2s", "--json"];
    let mut child = holdup(&[&["probe", url][..], &limits].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).unwrap();
        text
    });
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // It only grows, so that the last look before the end is the one that counts.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let text = reading.join().unwrap();
    let told: Value = serde_json::from_slice(&text).unwrap();
    check(&told);
    (told, peak)
}

/// Above what an ordinary answer takes, MiB: an event of up to 16 MiB is kept whole by two parsers,
/// and a million marks of frames take 60 MiB. 70 MiB were seen.
const MOST_MORE: u64 = 128;

#[test]
fn hostile_upstreams_end_in_one_line_and_little_memory() {
    let mut usual = 0;
    for case in CASES {
        let service = Service::start(move |_, stream| (case.play)(stream));
        let began = Instant::now();
        let (told, peak) = probe(&service.url(CHAT));
        usual = if usual == 0 { peak } else { usual };
        let row = &told["rows"][0];
        let line = row["line"].as_str().unwrap_or_default();
        let more = peak.saturating_sub(usual) >> 10;
        println!("{}: {:.1} s, {more} MiB more; {line}", case.name, began.elapsed().as_secs_f64());
        assert_eq!(row["kind"], case.kind, "{}: {row:#}", case.name);
        assert!(line.contains(case.said) && !line.contains('\n'), "{}: {line}", case.name);
        assert!(began.elapsed() < Duration::from_secs(15), "{}", case.name);
        assert!(peak > 0 && more < MOST_MORE, "{}: {more} MiB", case.name);
        // What was seen is kept and shown, and marked.
        if case.kind == "left" {
            assert!(told["ways"][0]["left"]["ttft_us"]["n"] == 1, "{}: {told:#}", case.name);
        }
        if case.name == "a reset in mid-stream" {
            assert_eq!(row["answer"]["text_events"], 2, "{row:#}");
        }
    }
}
