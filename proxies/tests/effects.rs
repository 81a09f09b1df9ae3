//! What single configurations are there for, seen in a real answer or from outside.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::io::Read;
use std::time::{Duration, Instant};

use common::{BODY, BULK, LONG, Origin, ask, get, start, tls, until};

/// Whether a stream of many small frames comes compressed to a client that accepts gzip.
fn is_compressed(endpoint: &str) -> Option<bool> {
    let origin = Origin::start();
    let running = start(endpoint, &origin)?;
    let answer = get(running.listen(), "/stream/long", "Accept-Encoding: gzip\r\n");
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    Some(head.to_ascii_lowercase().contains("\r\ncontent-encoding: gzip"))
}

#[test]
fn compression_is_where_the_name_says() {
    let expected = [
        ("nginx", false),
        ("nginx-gzip", true),
        ("nginx-gzip-buffering-off", true),
        ("nginx-http10-gzip", true),
        ("nginx-http10-gzip-buffering-off", true),
        ("caddy", false),
        // The first frame is too small for it.
        ("caddy-encode", false),
        ("caddy-encode-all", true),
        ("traefik-compress", true),
        ("traefik-compress-excluded", false),
    ];
    for (endpoint, compressed) in expected {
        let seen = is_compressed(endpoint);
        println!("{endpoint}: {seen:?}");
        assert!(seen.is_none_or(|seen| seen == compressed), "{endpoint}: {seen:?}");
    }
}

/// One stream, one proxy, two answers: which one a client gets is a matter of its protocol.
#[test]
fn the_clients_protocol_decides_what_is_held() {
    // Frames 1 ms apart: held, they come in a few pieces; live, in dozens even on a busy machine.
    let (held, live) = (|pieces| pieces <= 10, |pieces| pieces >= 20);
    for (endpoint, h1_is_live, h2_is_live) in [
        ("haproxy-tls", false, true),
        ("haproxy-no-delay-tls", true, true),
        // Its TLS layer gathers up to 16 KB unless a flush is asked for, and a buffered answer
        // asks for none. HTTP/2 does.
        ("nginx-tls", false, true),
        ("nginx-buffering-off-tls", true, true),
        ("nginx-http10-tls", false, false),
    ] {
        let Some(running) = start(endpoint, &Origin::start()) else { continue };
        let h1 = tls::get_h1(running.listen(), "/stream/long");
        let h2 = tls::get_h2(running.listen(), "/stream/long");
        println!("{endpoint}: {} pieces over HTTP/1.1, {} over HTTP/2", h1.pieces, h2.pieces);
        for (answer, is_live) in [(h1, h1_is_live), (h2, h2_is_live)] {
            assert_eq!(answer.text.matches(BODY).count(), LONG, "{endpoint}");
            let as_expected = if is_live { live(answer.pieces) } else { held(answer.pieces) };
            assert!(as_expected, "{endpoint}: {} pieces", answer.pieces);
        }
    }
}

/// A header of an answer through an endpoint.
fn header(endpoint: &str, name: &str) -> Option<String> {
    header_at(endpoint, "/stream", name)
}

/// The same on any path.
fn header_at(endpoint: &str, path: &str, name: &str) -> Option<String> {
    let running = start(endpoint, &Origin::start())?;
    let answer = get(running.listen(), path, "");
    let line = |line: &str| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then(|| value.to_owned())
    };
    Some(answer.lines().find_map(line).unwrap_or_default())
}

/// The prefix location that looks right never answers until it says `^~`; its cure must
/// not lose the header that the regular expression was there for.
#[test]
fn a_regex_location_shadows_the_prefix_until_it_is_cured() {
    let Some(won) = header("nginx-shadowed", "X-Location") else { return };
    assert_eq!(won, "regex");
    assert_eq!(header("nginx-shadow-cured", "X-Location").unwrap(), "prefix");
    for endpoint in ["nginx-shadowed", "nginx-shadow-cured"] {
        assert_eq!(header(endpoint, "Access-Control-Allow-Origin").unwrap(), "*", "{endpoint}");
    }
    let chat = |endpoint| header_at(endpoint, "/v1/chat/completions", "X-Location").unwrap();
    assert_eq!([chat("nginx-shadowed"), chat("nginx-shadow-cured")], ["regex", "prefix"]);
    assert_eq!(header("nginx", "Access-Control-Allow-Origin").unwrap(), "");
}

/// An answer that its client does not read goes to a file that has no name.
#[cfg(target_os = "linux")]
#[test]
fn the_unlinked_temporary_file_is_seen() {
    let origin = Origin::start();
    let Some(running) = start("nginx", &origin) else { return };
    let probe = running.probe();
    assert_eq!(probe.temp_file_bytes(), Some(0));
    let mut client = ask(running.listen(), "/bulk", "");
    // From a thread, as a sampler does.
    let sampler = std::thread::spawn(move || {
        let mut largest = 0;
        until("nginx buffers on disk", Duration::from_secs(10), || {
            largest = largest.max(probe.temp_file_bytes().unwrap());
            largest > BULK as u64 / 4
        });
        largest
    });
    let largest = sampler.join().unwrap();
    println!("largest temporary file: {largest} bytes");
    assert!(largest <= BULK as u64);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer.len() > BULK, "the whole answer comes, when it is read");
    until("the file is gone", Duration::from_secs(5), || running.temp_file_bytes() == Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn without_temporary_files_none_is_seen() {
    let origin = Origin::start();
    let Some(running) = start("nginx-no-temp-file", &origin) else { return };
    let _client = ask(running.listen(), "/bulk", "");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        assert_eq!(running.temp_file_bytes(), Some(0));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the probe says of a family of two, and what a look costs.
#[cfg(target_os = "linux")]
#[test]
fn processes_and_their_time_are_seen() {
    let origin = Origin::start();
    let Some(running) = start("nginx", &origin) else { return };
    let processes = running.processes();
    assert!(processes.contains(&running.pid()), "{processes:?}");
    assert_eq!(processes.len(), 2, "a master and a worker");
    let before = running.cpu().unwrap();
    let probe = running.probe();
    let began = Instant::now();
    let mut work = 0;
    until("work shows in ticks", Duration::from_secs(10), || {
        work += 1;
        let mut answer = Vec::new();
        ask(running.listen(), "/bulk", "").read_to_end(&mut answer).unwrap();
        probe.cpu().unwrap() > before
    });
    println!("{work} large answers took {:?}", probe.cpu().unwrap() - before);
    assert!(probe.cpu().unwrap() - before <= began.elapsed() * 2, "more than it can have been");

    let looks = 200;
    let began = Instant::now();
    for _ in 0..looks {
        probe.cpu().unwrap();
        probe.temp_file_bytes().unwrap();
    }
    let each = began.elapsed() / looks;
    println!("a look takes {each:?}");
    // Half of what a sampler of every 20 ms has, on a busy machine; 0.5 ms is usual.
    assert!(each < Duration::from_millis(10), "{each:?}");

    running.stop().unwrap();
    assert_eq!(probe.cpu(), None, "there is nobody to ask any more");
}
