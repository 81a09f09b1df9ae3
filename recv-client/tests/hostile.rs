//! Answers that are meant to hurt: each ends with a name, and in little memory.
//!
//! The reader is a process of its own, this program started again, so that the kernel's account of
//! its peak memory (`VmHWM`) is the reader's alone.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod server;

use std::io::{Read as _, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use recv_client::{Ask, Http, Limit};
use server::*;

/// What an answer may make the reader hold beyond what a good one does: the parser's event of
/// 16 MiB while its buffer doubles, or a million frames' marks while their list does.
const MOST_KIB: u64 = 96 << 10;

/// Tells the process that it is the reader, and whom to ask how.
const ROLE: &str = "HOLDUP_HOSTILE";

struct Case {
    name: &'static str,
    play: fn(&mut dyn Write) -> std::io::Result<()>,
    http: Http,
    /// What its end must hold.
    end: &'static str,
}

const CASES: &[Case] = &[
    Case { name: "good", play: good, http: Http::One, end: "Closed" },
    Case { name: "line of 100 MB", play: long_line, http: Http::One, end: "Closed" },
    Case {
        name: "head without end",
        play: endless_head,
        http: Http::One,
        end: "the response's head has no end within 65536 bytes",
    },
    Case { name: "stream without end", play: endless, http: Http::One, end: "stopped TimedOut" },
    Case { name: "interim heads", play: interim, http: Http::One, end: "stopped TimedOut" },
    Case {
        name: "gzip bomb of one line",
        play: zeros,
        http: Http::One,
        end: "the body decodes to more than 1073741824 bytes",
    },
    Case {
        name: "gzip bomb of frames",
        play: comments,
        http: Http::One,
        end: "more than 1048576 frames came",
    },
    Case {
        name: "brotli bomb",
        play: brotli_frames,
        http: Http::One,
        end: "more than 1048576 frames came",
    },
    Case { name: "bad chunk", play: bad_chunk, http: Http::One, end: "bad chunk size \"xyz\"" },
    Case { name: "chunk size too large", play: huge_chunk, http: Http::One, end: "bad chunk size" },
    Case {
        name: "chunk line without end",
        play: chunk_line,
        http: Http::One,
        end: "bad chunk size \"1;;;;",
    },
    Case { name: "trailer without end", play: trailer, http: Http::One, end: "stopped TimedOut" },
    Case {
        name: "HTTP/2 fields without end",
        play: continuation,
        http: Http::Two,
        end: "the answer breaks HTTP/2 (ENHANCE_YOUR_CALM)",
    },
    Case { name: "HTTP/2 pings", play: pings, http: Http::Two, end: "stopped TimedOut" },
    Case {
        name: "HTTP/2 frame too large",
        play: large_frame,
        http: Http::Two,
        end: "the answer breaks HTTP/2 (FRAME_SIZE_ERROR)",
    },
];

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\n\n\r\n";

fn over(out: &mut dyn Write, bytes: &[u8], times: usize) -> std::io::Result<()> {
    (0..times).try_for_each(|_| out.write_all(bytes))
}

fn good(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(HEAD)?;
    EVENTS.iter().try_for_each(|event| out.write_all(event))
}

fn long_line(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(HEAD)?;
    out.write_all(b"data: ")?;
    over(out, &[b'a'; 100_000], 1_000)?;
    out.write_all(b"\n\n")
}

fn endless_head(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\n")?;
    over(out, &b"X-More: and more of it\r\n".repeat(1_000), 5_000)
}

fn endless(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(HEAD)?;
    over(out, &[b'.'; 100_000], usize::MAX)
}

fn interim(out: &mut dyn Write) -> std::io::Result<()> {
    over(out, &b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n".repeat(1_000), usize::MAX)
}

fn gzip(out: &mut dyn Write, bytes: &[u8], times: usize) -> std::io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")?;
    let mut coder = flate2::write::GzEncoder::new(out, flate2::Compression::fast());
    over(&mut coder, bytes, times)?;
    coder.finish().map(|_| ())
}

fn zeros(out: &mut dyn Write) -> std::io::Result<()> {
    gzip(out, &[0; 1 << 20], 1_100)
}

fn comments(out: &mut dyn Write) -> std::io::Result<()> {
    gzip(out, &b":\n\n".repeat(100_000), 1_000)
}

fn brotli_frames(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n")?;
    let mut coder = brotli::CompressorWriter::new(out, 4096, 2, 22);
    over(&mut coder, &b":\n\n".repeat(100_000), 100)
}

fn bad_chunk(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(CHUNKED)?;
    out.write_all(b"xyz\r\n")
}

fn huge_chunk(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(CHUNKED)?;
    out.write_all(b"fffffffffffffffff\r\n")
}

fn chunk_line(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(CHUNKED)?;
    out.write_all(b"1")?;
    over(out, &[b';'; 100_000], 1_000)
}

fn trailer(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(CHUNKED)?;
    out.write_all(b"0\r\n")?;
    over(out, &b"X: y\r\n".repeat(10_000), usize::MAX)
}

/// Header of an HTTP/2 frame (RFC 9113, 4.1).
fn frame(length: u32, kind: u8, flags: u8, stream: u8) -> [u8; 9] {
    let [_, a, b, c] = length.to_be_bytes();
    [a, b, c, kind, flags, 0, 0, 0, stream]
}

fn settings(out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(&frame(0, 4, 0, 0))
}

fn continuation(out: &mut dyn Write) -> std::io::Result<()> {
    settings(out)?;
    // `:status: 200` by its index, then literal fields that are never indexed, without END_HEADERS.
    out.write_all(&frame(1, 1, 0, 1))?;
    out.write_all(&[0x88])?;
    let field = [&[0x10, 4][..], b"name", &[100], &[b'v'; 100]].concat();
    let more = [&frame(107 * 100, 9, 0, 1)[..], &field.repeat(100)].concat();
    over(out, &more, usize::MAX)
}

fn pings(out: &mut dyn Write) -> std::io::Result<()> {
    settings(out)?;
    over(out, &[&frame(8, 6, 0, 0)[..], &[7; 8]].concat().repeat(1_000), usize::MAX)
}

fn large_frame(out: &mut dyn Write) -> std::io::Result<()> {
    settings(out)?;
    out.write_all(&frame(0xff_ffff, 0, 0, 1))?;
    over(out, &[0; 100_000], 167)
}

fn play(case: &'static Case) -> SocketAddr {
    raw(move |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        // The reader hangs up on most of them.
        let _ = (case.play)(&mut stream);
    })
}

/// As the reader: asks, and prints its end and its peak.
fn ask(role: &str) {
    let (http, address) = role.split_once(' ').unwrap();
    let http = if http == "2" { Http::Two } else { Http::One };
    // Enough of a stream without end to see memory grow. A peer that pings and reads no answer
    // is left at the time limit.
    let time = Duration::from_secs(if http == Http::Two { 3 } else { 20 });
    let limit = Some(Limit { time, bytes: 128 << 20 });
    let seen = observe(&Ask { http, limit, ..bounded(address.parse().unwrap()) });
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let stopped = if seen.stopped { "stopped " } else { "" };
    println!("\nPEAK {} {stopped}{:?}", peak.split_whitespace().next().unwrap(), seen.arrivals.end);
}

#[test]
fn hostile_answers_end_with_a_name_in_little_memory() {
    if let Ok(role) = std::env::var(ROLE) {
        return ask(&role);
    }
    if !std::path::Path::new("/proc/self/status").exists() {
        println!("SKIPPED(this kernel keeps no account of a process's peak memory in /proc)");
        return;
    }
    let mut usual = 0;
    for case in CASES {
        let http = if case.http == Http::Two { 2 } else { 1 };
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hostile_answers_end_with_a_name_in_little_memory", "--nocapture"])
            .env(ROLE, format!("{http} {}", play(case)))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("PEAK "));
        let (peak, end) = line.and_then(|line| line.split_once(' ')).unwrap_or_else(|| {
            panic!("{}: {text}{}", case.name, String::from_utf8_lossy(&out.stderr))
        });
        let peak: u64 = peak.parse().unwrap();
        usual = if case.name == "good" { peak } else { usual };
        println!("{}: {} MiB more than usual; {end}", case.name, peak.saturating_sub(usual) >> 10);
        // Debug writes a quotation mark within a text with a backslash.
        assert!(end.replace('\\', "").contains(case.end), "{}: {end}", case.name);
        assert!(peak < usual + MOST_KIB, "{}: {peak} KiB at most, {usual} usually", case.name);
    }
}

#[test]
fn what_came_before_a_reset_is_kept() {
    let address = raw(|mut stream| {
        // One byte of the request is read: closing with the rest unread resets.
        let _ = stream.read(&mut [0; 1]).unwrap();
        stream.write_all(HEAD).unwrap();
        play_events(&mut stream);
        std::thread::sleep(PAUSE);
    });
    let seen = observe(&bounded(address));
    assert_eq!(frames_per_read(&seen), [1, 1, 1]);
    let line = failure(&seen);
    assert!(line.starts_with("the connection broke while reading: Connection reset"), "{line}");
}

#[test]
fn a_peer_that_reads_nothing_does_not_hold_the_reader() {
    let address = raw(|stream| {
        std::thread::sleep(Duration::from_secs(10));
        drop(stream);
    });
    let limit = Some(Limit { time: Duration::from_millis(300), bytes: 1 << 20 });
    let mut ask = Ask { limit, ..bounded(address) };
    // More than the kernel's buffers of both sides take.
    ask.form.body = vec![b'x'; 64 << 20];
    for http in [Http::One, Http::Two] {
        let before = std::time::Instant::now();
        ask.http = http;
        let seen = observe(&ask);
        assert!(seen.stopped, "{:?}", seen.arrivals.end);
        assert!(before.elapsed() < Duration::from_secs(5));
        if http == Http::One {
            ask.address = raw(|stream| {
                std::thread::sleep(Duration::from_secs(10));
                drop(stream);
            });
        }
    }
}
