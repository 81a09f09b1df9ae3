//! HTTP/2 against real sockets: what is counted, how it ends, and what a request looks like.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod server;

use std::io::Write as _;

use bytes::Bytes;
use h2::Reason;
use measure::{End, Protocol};
use recv_client::{Ask, Http};
use server::*;

async fn play_frames(stream: &mut h2::SendStream<Bytes>) {
    for event in EVENTS {
        tokio::time::sleep(PAUSE).await;
        stream.send_data(Bytes::from_static(event), false).unwrap();
    }
    tokio::time::sleep(PAUSE).await;
}

#[test]
fn every_data_frame_belongs_to_the_read_that_completed_it() {
    let authority = Authority::new();
    for tls in [true, false] {
        let config = tls.then(|| authority.server(&["h2", "http/1.1"]));
        let address = http2(config, |_, mut respond| async move {
            let mut stream = respond.send_response(ok(), false).unwrap();
            play_frames(&mut stream).await;
            stream.send_data(Bytes::new(), true).unwrap();
            Then::Stay
        });
        let ask = if tls {
            secure(address, authority.file(), Http::Negotiated)
        } else {
            Ask { http: Http::Two, ..bounded(address) }
        };
        let seen = observe(&ask);
        assert_eq!(seen.arrivals.end, End::Closed);
        assert_eq!(frames_per_read(&seen), [1, 1, 1]);
        let transport = &seen.transport;
        assert_eq!(transport.protocol, Some(Protocol::Http2));
        let deliveries = &seen.arrivals.deliveries;
        assert_eq!(transport.data_frames_per_read.len(), deliveries.len());
        assert_eq!(transport.data_frames_per_read.iter().sum::<u32>(), 4);
        for (delivery, data) in deliveries.iter().zip(&transport.data_frames_per_read) {
            if !delivery.frames.is_empty() {
                assert_eq!(*data, 1, "an event is a DATA frame here");
            }
        }
        assert_eq!(transport.tls.is_some(), tls);
        assert_eq!(transport.records_per_read.len(), if tls { deliveries.len() } else { 0 });
        let head = seen.head.unwrap();
        assert_eq!((head.status, head.header("Content-Type")), (200, Some("text/event-stream")));
        assert!(seen.arrivals.head_bytes.unwrap() > 9);
    }
}

#[test]
fn a_server_with_a_choice_speaks_what_it_was_asked_for() {
    let authority = Authority::new();
    let address = over_tls(authority.server(&["h2", "http/1.1"]), |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\n\n").unwrap();
        stream.flush().unwrap();
    });
    let seen = observe(&secure(address, authority.file(), Http::One));
    assert_eq!(seen.transport.protocol, Some(Protocol::Http11));
}

#[test]
fn a_request_says_the_same_as_in_http1() {
    let (told, heard) = std::sync::mpsc::channel();
    let address = http2(None, |mut request, mut respond| async move {
        let mut body = Vec::new();
        while let Some(Ok(data)) = request.body_mut().data().await {
            body.extend_from_slice(&data);
            request.body_mut().flow_control().release_capacity(data.len()).unwrap();
        }
        told.send((request.map(|_| ()), body)).unwrap();
        respond.send_response(ok(), true).unwrap();
        Then::Stay
    });
    let mut ask = Ask { http: Http::Two, ..bounded(address) };
    ask.headers = measure::cell::HeaderSet::ChromiumFetch;
    ask.form.method = "POST".into();
    ask.form.fields = vec![("Authorization".into(), "Bearer x".into())];
    // More than a server's first window lets through.
    ask.form.body = vec![b'x'; 200_000];
    let seen = observe(&ask);
    assert_eq!(seen.arrivals.end, End::Closed);
    let (request, body) = heard.recv().unwrap();
    assert_eq!(body, ask.form.body);
    assert_eq!(request.method(), "POST");
    assert_eq!(request.uri().to_string(), format!("http://{address}/stream"));
    let fields = request.headers();
    assert_eq!(fields["accept-encoding"], "gzip, deflate, br, zstd");
    assert_eq!(fields["authorization"], "Bearer x");
    assert_eq!(fields["content-length"], "200000");
    assert!(!fields.contains_key("connection") && !fields.contains_key("host"), "{fields:?}");
    let names: Vec<&str> = fields.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names[..3], ["pragma", "cache-control", "sec-ch-ua-platform"], "in order");
}

#[test]
fn what_came_before_a_stream_was_given_up_is_kept() {
    let cases = [
        (
            Some(Reason::INTERNAL_ERROR),
            Then::Stay,
            "the server reset the stream (RST_STREAM INTERNAL_ERROR)",
        ),
        (
            None,
            Then::GoAway(Reason::ENHANCE_YOUR_CALM),
            "the server ended the HTTP/2 connection (GOAWAY ENHANCE_YOUR_CALM)",
        ),
    ];
    for (reset, then, line) in cases {
        let address = http2(None, move |_, mut respond| async move {
            let mut stream = respond.send_response(ok(), false).unwrap();
            play_frames(&mut stream).await;
            if let Some(reason) = reset {
                stream.send_reset(reason);
            } else {
                // Dropped, it would be reset by the library.
                std::mem::drop(tokio::spawn(async move {
                    tokio::time::sleep(PAUSE * 100).await;
                    drop(stream);
                }));
            }
            then
        });
        let seen = observe(&Ask { http: Http::Two, ..bounded(address) });
        assert_eq!(failure(&seen), line);
        assert_eq!(frames_per_read(&seen), [1, 1, 1]);
        assert_eq!(seen.arrivals.status, Some(200));
    }
}

#[test]
fn a_connection_that_ends_within_the_stream_is_a_cut() {
    let address = http2(None, |_, mut respond| async move {
        let mut stream = respond.send_response(ok(), false).unwrap();
        play_frames(&mut stream).await;
        Then::Drop
    });
    let seen = observe(&Ask { http: Http::Two, ..bounded(address) });
    assert_eq!(frames_per_read(&seen), [1, 1, 1]);
    assert!(matches!(&seen.arrivals.end, End::Cut | End::Failed { .. }), "{:?}", seen.arrivals.end);
}

#[test]
fn a_server_that_does_not_speak_it_is_named() {
    let address = raw(|mut stream| {
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
        std::thread::sleep(PAUSE);
    });
    assert_eq!(
        failure(&observe(&Ask { http: Http::Two, ..bounded(address) })),
        "the server answers in HTTP/1, not in HTTP/2: ask with --http 1.1"
    );
    let address = raw(|mut stream| {
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
        stream.write_all(&[0xff; 64]).unwrap();
        std::thread::sleep(PAUSE);
    });
    let line = failure(&observe(&Ask { http: Http::Two, ..bounded(address) }));
    assert!(line.starts_with("the answer breaks HTTP/2 ("), "{line}");
}

#[test]
fn a_server_that_takes_no_stream_or_wants_http1_is_named() {
    for (reason, line) in [
        (Reason::REFUSED_STREAM, "the server reset the stream (RST_STREAM REFUSED_STREAM)"),
        (
            Reason::HTTP_1_1_REQUIRED,
            "the server wants HTTP/1.1 for this (RST_STREAM HTTP_1_1_REQUIRED): --http 1.1",
        ),
    ] {
        let address = raw(move |mut stream| {
            let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
            // SETTINGS with MAX_CONCURRENT_STREAMS 0, then RST_STREAM of stream 1.
            stream.write_all(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]).unwrap();
            stream.write_all(&[0, 0, 4, 3, 0, 0, 0, 0, 1]).unwrap();
            stream.write_all(&u32::from(reason).to_be_bytes()).unwrap();
            std::thread::sleep(PAUSE);
        });
        assert_eq!(failure(&observe(&Ask { http: Http::Two, ..bounded(address) })), line);
    }
}

#[test]
fn a_short_answer_is_fetched_whole() {
    let authority = Authority::new();
    let address = http2(Some(authority.server(&["h2"])), |_, mut respond| async move {
        let mut stream = respond.send_response(ok(), false).unwrap();
        stream.send_data(Bytes::from_static(b"{\"a\":1}"), true).unwrap();
        Then::Stay
    });
    let ask = secure(address, authority.file(), Http::Negotiated);
    let page = recv_client::fetch(&ask, ask.limit.unwrap()).unwrap();
    assert_eq!((page.head.status, page.body.as_slice()), (200, &b"{\"a\":1}"[..]));
    assert!(page.received > page.sent);
}
