//! HTTP/3 against real servers: what is counted, how it ends, and what is said where there is none.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod server;
#[path = "server/http3.rs"]
mod server3;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use h3::error::Code;
use measure::{End, Protocol};
use recv_client::{Ask, Http, Pause};
use server::*;
use server3::*;

async fn play_frames(stream: &mut Stream) {
    stream.send_response(ok()).await.unwrap();
    for event in EVENTS {
        tokio::time::sleep(PAUSE).await;
        stream.send_data(Bytes::from_static(event)).await.unwrap();
    }
    tokio::time::sleep(PAUSE).await;
}

fn ask(authority: &Authority, address: std::net::SocketAddr) -> Ask {
    secure(address, authority.file(), Http::Three)
}

#[test]
fn every_event_belongs_to_the_datagram_that_completed_it() {
    let authority = Authority::new();
    let address = http3(authority.server(&["h3"]), |_, mut stream| async move {
        play_frames(&mut stream).await;
        stream.finish().await.unwrap();
        Then3::Stay
    });
    let seen = observe(&ask(&authority, address));
    assert_eq!(seen.arrivals.end, End::Closed);
    assert_eq!(frames_per_read(&seen), [1, 1, 1]);
    let transport = &seen.transport;
    assert_eq!(transport.protocol, Some(Protocol::Http3));
    let tls = transport.tls.as_ref().unwrap();
    assert_eq!((tls.version.as_str(), tls.alpn.as_deref()), ("TLSv1.3", Some("h3")));
    assert!(tls.handshake_reads > 0 && Some(tls.handshake_done) == seen.arrivals.connected);
    let deliveries = &seen.arrivals.deliveries;
    assert_eq!(transport.datagrams_per_read.len(), deliveries.len());
    assert_eq!(transport.data_frames_per_read.iter().sum::<u32>(), 3);
    assert!(transport.records_per_read.is_empty());
    for (at, delivery) in deliveries.iter().enumerate().filter(|(_, own)| !own.frames.is_empty()) {
        assert_eq!(transport.datagrams_per_read[at], 1, "an event is a datagram here");
        assert_eq!(transport.data_frames_per_read[at], 1);
        assert!(delivery.kernel.is_some() && delivery.entered.unwrap() <= delivery.at);
    }
    let head = seen.head.unwrap();
    assert_eq!((head.status, head.header("Content-Type")), (200, Some("text/event-stream")));
    assert!(seen.arrivals.head_bytes.unwrap() > 9);
}

#[test]
fn a_request_says_the_same_as_in_http2() {
    let authority = Authority::new();
    let (told, heard) = std::sync::mpsc::channel();
    let address = http3(authority.server(&["h3"]), |request, mut stream| async move {
        let mut body = Vec::new();
        while let Some(mut data) = stream.recv_data().await.unwrap() {
            body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        told.send((request, body)).unwrap();
        stream.send_response(ok()).await.unwrap();
        stream.finish().await.unwrap();
        Then3::Stay
    });
    let mut ask = ask(&authority, address);
    ask.headers = measure::cell::HeaderSet::ChromiumFetch;
    ask.form.method = "POST".into();
    ask.form.fields = vec![("Authorization".into(), "Bearer x".into())];
    // More than the server's first window lets through.
    ask.form.body = vec![b'x'; 3_000_000];
    let seen = observe(&ask);
    assert_eq!(seen.arrivals.end, End::Closed, "{:?}", seen.arrivals.end);
    let (request, body) = heard.recv().unwrap();
    assert!(body == ask.form.body);
    assert_eq!(request.method(), "POST");
    assert_eq!(request.uri().to_string(), format!("https://{address}/stream"));
    let fields = request.headers();
    assert_eq!(fields["accept-encoding"], "gzip, deflate, br, zstd");
    assert_eq!(fields["authorization"], "Bearer x");
    assert!(!fields.contains_key("connection") && !fields.contains_key("host"), "{fields:?}");
}

#[test]
fn what_came_before_the_end_is_kept_and_the_end_is_told() {
    let authority = Authority::new();
    let closed = "the server closed the HTTP/3 connection (H3_INTERNAL_ERROR: out of luck)";
    let reset = "the server reset the stream (H3_REQUEST_CANCELLED)";
    for (then, line) in [
        (Some(Code::H3_INTERNAL_ERROR), Some(closed)),
        (Some(Code::H3_NO_ERROR), None),
        (None, Some(reset)),
    ] {
        let address = http3(authority.server(&["h3"]), move |_, mut stream| async move {
            play_frames(&mut stream).await;
            match then {
                Some(code) => Then3::Close(code.value() as u32, "out of luck"),
                None => {
                    stream.stop_stream(Code::H3_REQUEST_CANCELLED);
                    Then3::Stay
                }
            }
        });
        let seen = observe(&ask(&authority, address));
        assert_eq!(frames_per_read(&seen), [1, 1, 1]);
        assert_eq!(seen.arrivals.status, Some(200));
        match line {
            Some(line) => assert_eq!(failure(&seen), line),
            None => assert_eq!(seen.arrivals.end, End::Cut),
        }
    }
}

/// Streams by hand: a control stream of HTTP/3 with these bytes after its SETTINGS, and these as
/// the answer, which may stay open.
fn by_hand(
    authority: &Authority,
    control: &'static [u8],
    answer: Vec<Vec<u8>>,
    end: bool,
) -> std::net::SocketAddr {
    quic(authority.server(&["h3"]), move |connection| async move {
        let mut beside = connection.open_uni().await.unwrap();
        beside.write_all(&[0, 4, 0]).await.unwrap();
        let Ok((mut stream, _request)) = connection.accept_bi().await else { return };
        beside.write_all(control).await.unwrap();
        for part in answer {
            if stream.write_all(&part).await.is_err() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
        if end {
            stream.finish().unwrap();
        }
        connection.closed().await;
        drop((beside, stream));
    })
}

/// HEADERS with `:status: 200` of QPACK's static table, then DATA.
fn whole_answer() -> Vec<Vec<u8>> {
    vec![
        vec![1, 3, 0, 0, 0xd9],
        b"\x00\x0bdata: one\n\n".to_vec(),
        vec![0, 0],
        b"\x00\x02:\n".to_vec(),
    ]
}

#[test]
fn a_server_that_goes_away_may_finish_its_answer() {
    let authority = Authority::new();
    // GOAWAY: nothing after stream 4.
    let address = by_hand(&authority, &[7, 1, 4], whole_answer(), true);
    let seen = observe(&ask(&authority, address));
    assert_eq!(seen.arrivals.end, End::Closed, "an empty DATA frame is no end");
    let bytes: u64 = seen.arrivals.deliveries.iter().filter_map(|own| own.body_bytes).sum();
    assert_eq!(bytes, 13);
    assert_eq!(seen.transport.data_frames_per_read.iter().sum::<u32>(), 3);
}

#[test]
fn a_hostile_server_is_told_and_bounded() {
    let authority = Authority::new();
    let line = |control, answer| {
        failure(&observe(&ask(&authority, by_hand(&authority, control, answer, true))))
    };
    // HEADERS of 2^30 - 1 bytes.
    let endless = line(&[], vec![vec![1, 0xbf, 0xff, 0xff, 0xff], vec![0; 100]]);
    assert_eq!(endless, "the server's head is larger than 262144 bytes");
    // GOAWAY with the number of a stream that is no request's.
    let goaway = line(&[7, 1, 3], vec![vec![1, 3, 0, 0, 0xd9], vec![0, 2, b'x']]);
    assert!(goaway.starts_with("the answer breaks HTTP/3 (H3_ID_ERROR"), "{goaway}");
    let data_first = line(&[], vec![vec![0, 2, b'x', b'y']]);
    assert!(
        data_first.starts_with("the answer breaks HTTP/3 (H3_FRAME_UNEXPECTED"),
        "{data_first}"
    );
    let cut = line(&[], vec![vec![1, 3, 0, 0, 0xd9], vec![0, 9, b'x']]);
    assert!(cut.starts_with("the answer breaks HTTP/3 (H3_FRAME_ERROR"), "{cut}");
}

#[test]
fn where_there_is_no_http3_it_is_said_and_what_to_do() {
    let authority = Authority::new();
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(
        failure(&observe(&ask(&authority, gone))),
        format!("no HTTP/3 at {gone}: nothing listens on that UDP port (--http 2 asks over TCP)")
    );
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut patient = ask(&authority, silent.local_addr().unwrap());
    patient.options.connect_timeout = Duration::from_millis(400);
    let began = Instant::now();
    let line = failure(&observe(&patient));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(
        line,
        format!(
            "no HTTP/3 at {}: nothing answered over UDP within 0.4 s; is UDP blocked on the way? \
             (--http 2 asks over TCP)",
            silent.local_addr().unwrap()
        )
    );
    let other = quic(authority.server(&["doq"]), |_| async {});
    assert_eq!(
        failure(&observe(&ask(&authority, other))),
        "127.0.0.1 speaks QUIC but not HTTP/3 (no h3 by ALPN): ask with --http 2"
    );
    let named = authority.server_with(&["h3"], |params| {
        *params = rcgen::CertificateParams::new(vec!["a.example".into()]).unwrap();
    });
    let refused = observe(&ask(&authority, quic(named, |_| async {})));
    assert!(refused.arrivals.connected.is_some(), "somebody is there");
    assert_eq!(
        failure(&refused),
        "the certificate that 127.0.0.1 shows is for a.example, not for 127.0.0.1"
    );
    let plain = Ask { http: Http::Three, ..bounded(gone) };
    assert_eq!(
        failure(&observe(&plain)),
        "HTTP/3 is always encrypted: ask for an https:// address"
    );
}

#[test]
fn a_reader_that_stops_closes_the_window_and_has_all_of_it_afterwards() {
    const WINDOW: u32 = 40_000;
    let authority = Authority::new();
    let address = http3(authority.server(&["h3"]), |_, mut stream| async move {
        stream.send_response(ok()).await.unwrap();
        for _ in 0..100 {
            stream.send_data(Bytes::from(vec![b'\n'; 2_000])).await.unwrap();
        }
        stream.finish().await.unwrap();
        Then3::Stay
    });
    let mut ask = ask(&authority, address);
    let time = Duration::from_millis(400);
    ask.pause = Some(Pause { after_bytes: 1_000, time, window: Some(WINDOW) });
    let seen = observe(&ask);
    assert_eq!(seen.arrivals.end, End::Closed);
    let (since, until) = seen.transport.paused.unwrap();
    assert!((until - since).as_micros() >= 400_000);
    let deliveries = &seen.arrivals.deliveries;
    let bytes = |own: &&measure::Delivery| own.body_bytes.unwrap_or_default();
    assert_eq!(deliveries.iter().map(|own| bytes(&own)).sum::<u64>(), 200_000);
    let meanwhile = deliveries.iter().filter(|own| own.at > since && own.at < until);
    assert_eq!(meanwhile.map(|own| bytes(&own)).sum::<u64>(), 0);
    // What the window let through lay in the stream, and no more.
    let kept: u64 =
        deliveries.iter().filter(|own| own.bytes == Some(0)).map(|own| bytes(&own)).sum();
    assert!(kept > 0 && kept <= u64::from(WINDOW), "{kept}");
}

#[test]
fn a_stream_that_is_reset_while_the_reader_stops_has_not_ended_well() {
    let authority = Authority::new();
    let address = http3(authority.server(&["h3"]), |_, mut stream| async move {
        stream.send_response(ok()).await.unwrap();
        stream.send_data(Bytes::from(vec![b'\n'; 1_000])).await.unwrap();
        tokio::time::sleep(PAUSE).await;
        stream.stop_stream(Code::H3_REQUEST_CANCELLED);
        Then3::Stay
    });
    let mut ask = ask(&authority, address);
    let time = PAUSE + Duration::from_millis(400);
    ask.pause = Some(Pause { after_bytes: 1_000, time, window: None });
    assert_eq!(failure(&observe(&ask)), "the server reset the stream (H3_REQUEST_CANCELLED)");
}

#[test]
fn a_short_answer_is_fetched_whole_and_a_silent_one_is_left() {
    let authority = Authority::new();
    let address = http3(authority.server(&["h3"]), |_, mut stream| async move {
        stream.send_response(ok()).await.unwrap();
        stream.send_data(Bytes::from_static(b"{\"a\":1}")).await.unwrap();
        stream.finish().await.unwrap();
        Then3::Stay
    });
    let short = ask(&authority, address);
    let page = recv_client::fetch(&short, short.limit.unwrap()).unwrap();
    assert_eq!((page.head.status, page.body.as_slice()), (200, &b"{\"a\":1}"[..]));
    assert!(page.received > page.sent);

    let (told, heard) = std::sync::mpsc::channel();
    let address = quic(authority.server(&["h3"]), move |connection| async move {
        told.send(connection.closed().await.to_string()).unwrap();
    });
    let mut silent = ask(&authority, address);
    silent.options.read_timeout = Some(Duration::from_millis(300));
    let seen = observe(&silent);
    assert_eq!(seen.arrivals.end, End::TimedOut { limit_us: 300_000 });
    let goodbye = heard.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(goodbye, "closed by peer: 256", "the server is told");
}
