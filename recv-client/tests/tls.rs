//! TLS against real sockets: what is counted, how it ends, and why it is refused.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod server;

use std::io::Write as _;

use measure::{End, Protocol};
use recv_client::{Http, Trust};
use server::*;

#[test]
fn a_stream_by_tls_is_read_as_a_plain_one_is() {
    let authority = Authority::new();
    let address = over_tls(authority.server(&["h2", "http/1.1"]), |mut stream| {
        stream.write_all(HEAD).unwrap();
        play_events(&mut stream);
        std::thread::sleep(PAUSE);
        stream.conn.send_close_notify();
        stream.flush().unwrap();
    });
    let mut given = Vec::new();
    let ask = secure(address, authority.file(), Http::One);
    let seen = recv_client::observe_with(&ask, measure::RunId(7), &mut |at, bytes| {
        given.push((at, bytes.to_vec()));
    });
    assert_eq!(seen.arrivals.end, End::Closed);
    assert_eq!(frames_per_read(&seen), [1, 1, 1]);
    let bodies: Vec<&[u8]> = given.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    assert_eq!(bodies, EVENTS);
    assert_eq!(seen.transport.protocol, Some(Protocol::Http11));
    let tls = seen.transport.tls.as_ref().unwrap();
    assert_eq!((tls.version.as_str(), tls.alpn.as_deref()), ("TLSv1.3", Some("http/1.1")));
    let connected = seen.arrivals.connected.unwrap();
    assert!(tls.handshake_done > connected && tls.handshake_reads > 0);
    assert!(seen.arrivals.deliveries[0].entered.unwrap() >= tls.handshake_done);
    let deliveries = &seen.arrivals.deliveries;
    assert_eq!(seen.transport.records_per_read.len(), deliveries.len());
    assert!(seen.transport.data_frames_per_read.is_empty());
    for (delivery, records) in deliveries.iter().zip(&seen.transport.records_per_read) {
        if !delivery.frames.is_empty() {
            assert_eq!(*records, 1, "an event is a record here");
            // Header of 5, type of 1, tag of 16: what TLS 1.3 adds.
            assert_eq!(delivery.bytes, delivery.body_bytes.map(|bytes| bytes + 22));
        }
    }
}

#[test]
fn several_records_in_one_read_are_several() {
    let authority = Authority::new();
    let address = over_tls(authority.server(&[]), |mut stream| {
        stream.write_all(HEAD).unwrap();
        std::thread::sleep(PAUSE);
        // One write of the socket, four records.
        for event in EVENTS {
            stream.conn.writer().write_all(event).unwrap();
        }
        stream.conn.send_close_notify();
        let mut all = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut all).unwrap();
        }
        stream.sock.write_all(&all).unwrap();
    });
    let seen = observe(&secure(address, authority.file(), Http::Negotiated));
    assert_eq!(seen.arrivals.end, End::Closed);
    assert_eq!(frames_per_read(&seen), [3]);
    assert_eq!(seen.transport.records_per_read.last(), Some(&4));
    assert_eq!(seen.transport.tls.unwrap().alpn, None);
}

#[test]
fn a_close_that_tls_does_not_confirm_is_a_cut() {
    let authority = Authority::new();
    let play = |bytes: &'static [u8]| {
        let address = over_tls(authority.server(&[]), |mut stream| {
            stream.write_all(bytes).unwrap();
            stream.flush().unwrap();
        });
        observe(&secure(address, authority.file(), Http::One)).arrivals
    };
    // The connection's end is the body's end: anyone on the way could have cut it.
    let open = play(b"HTTP/1.1 200 OK\r\n\r\ndata: x\n\n");
    assert_eq!((open.end.clone(), open.frames().count()), (End::Cut, 1));
    // The length says that all is there.
    let whole = play(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata: x\n\n");
    assert_eq!((whole.end.clone(), whole.frames().count()), (End::Closed, 1));
}

#[test]
fn an_older_server_is_read_too() {
    let authority = Authority::new();
    let mut config = authority.server_of(&[&rustls::version::TLS12]);
    std::sync::Arc::make_mut(&mut config).alpn_protocols = vec![b"http/1.1".to_vec()];
    let address = over_tls(config, |mut stream| {
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\ndata: x\n\n").unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
    });
    let seen = observe(&secure(address, authority.file(), Http::Negotiated));
    assert_eq!((seen.arrivals.end, seen.transport.protocol), (End::Closed, Some(Protocol::Http10)));
    assert_eq!(seen.transport.tls.unwrap().version, "TLSv1.2");
}

#[test]
fn what_came_before_tls_broke_is_kept() {
    let authority = Authority::new();
    let breaks = [
        // A record longer than any may be (RFC 8446, 5.2), one that nobody encrypted, and no TLS.
        vec![23, 3, 3, 0xff, 0xff],
        [&[23, 3, 3, 0, 32][..], &[7; 32]].concat(),
        b"HTTP/1.1 502 Bad Gateway\r\n\r\n".to_vec(),
    ];
    for bytes in breaks {
        let address = over_tls(authority.server(&[]), move |mut stream| {
            stream.write_all(HEAD).unwrap();
            play_events(&mut stream);
            stream.sock.write_all(&bytes).unwrap();
            std::thread::sleep(PAUSE);
        });
        let seen = observe(&secure(address, authority.file(), Http::One));
        assert_eq!(seen.arrivals.frames().count(), 3);
        let said = failure(&seen);
        assert!(said.starts_with("TLS with 127.0.0.1 failed: "), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }
}

fn refusal(config: std::sync::Arc<rustls::ServerConfig>, authority: &Authority) -> String {
    let address = over_tls(config, |_| ());
    failure(&observe(&secure(address, authority.file(), Http::Negotiated)))
}

#[test]
fn a_refused_certificate_says_why_and_what_to_do() {
    let authority = Authority::new();
    let expired = authority.server_with(&[], |params| {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    });
    let line = refusal(expired, &authority);
    assert!(line.starts_with("the certificate of 127.0.0.1 has expired "), "{line}");
    assert!(line.ends_with(" days ago"), "{line}");

    let early = authority.server_with(&[], |params| {
        params.not_before = rcgen::date_time_ymd(2201, 1, 1);
        params.not_after = rcgen::date_time_ymd(2202, 1, 1);
    });
    let line = refusal(early, &authority);
    assert!(line.starts_with("the certificate of 127.0.0.1 is not valid yet"), "{line}");

    let other = authority.server_with(&[], |params| {
        *params = rcgen::CertificateParams::new(vec!["a.example".into()]).unwrap();
    });
    assert_eq!(
        refusal(other, &authority),
        "the certificate that 127.0.0.1 shows is for a.example, not for 127.0.0.1"
    );

    let renewed = Authority::new();
    let line = refusal(renewed.server(&[]), &authority);
    assert!(line.contains(" has the name of one that is trusted but another key"), "{line}");

    let stranger = Authority::named("a stranger");
    let line = refusal(stranger.server(&[]), &authority);
    assert!(line.contains(" an authority that this system does not know"), "{line}");
    assert!(line.ends_with(" by --cacert FILE"), "{line}");

    for as_authority in [false, true] {
        let line = refusal(self_signed("127.0.0.1", as_authority).0, &authority);
        assert!(line.contains(" is self-signed; "), "{line}");
        assert!(line.ends_with(" by --cacert FILE"), "{line}");
    }
    let deputy = authority.server_with(&[], |params| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    });
    let line = refusal(deputy, &authority);
    assert!(line.contains(" is an authority's own (CA:TRUE)"), "{line}");
}

#[test]
fn a_self_signed_certificate_that_was_named_is_trusted_for_its_name() {
    for as_authority in [false, true] {
        let ask = |name| {
            let (config, file) = self_signed(name, as_authority);
            let address = over_tls(config, |mut stream| {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\n\n").unwrap();
                stream.flush().unwrap();
            });
            observe(&secure(address, file.path(), Http::One))
        };
        assert_eq!(ask("127.0.0.1").arrivals.end, End::Closed, "CA:{as_authority}");
        let line = failure(&ask("a.example"));
        assert!(line.ends_with(" is for a.example, not for 127.0.0.1"), "{line}");
    }
}

#[test]
fn what_is_no_tls_is_named() {
    let authority = Authority::new();
    let line = |address| failure(&observe(&secure(address, authority.file(), Http::One)));
    let plain = raw(|mut stream| {
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    assert_eq!(line(plain), "127.0.0.1 answers in plain HTTP, not in TLS: ask by http://");
    let shell = raw(|mut stream| {
        stream.write_all(b"SSH-2.0-x\r\n").unwrap();
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
    });
    assert_eq!(line(shell), "127.0.0.1 does not speak TLS (its answer begins \"SSH-2.0-x\\r\\n\")");
    let closed = raw(|mut stream| {
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap();
    });
    assert!(line(closed).starts_with("127.0.0.1 closed the connection during the TLS handshake"));
    // Closed with bytes unread: the kernel resets.
    let reset = raw(|mut stream| {
        let _ = std::io::Read::read(&mut stream, &mut [0; 1]).unwrap();
    });
    assert!(line(reset).starts_with("127.0.0.1 reset the connection during the TLS handshake"));
}

#[test]
fn a_server_without_the_protocol_asked_for_is_named() {
    let authority = Authority::new();
    for alpn in [&["http/1.1"][..], &[]] {
        let address = over_tls(authority.server(alpn), |_| ());
        assert_eq!(
            failure(&observe(&secure(address, authority.file(), Http::Two))),
            "127.0.0.1 does not speak HTTP/2 over TLS: ask with --http 1.1",
            "{alpn:?}"
        );
    }
    let address = over_tls(authority.server(&["h2"]), |_| ());
    let line = failure(&observe(&secure(address, authority.file(), Http::One)));
    assert!(line.starts_with("127.0.0.1 speaks none of what was offered by ALPN"), "{line}");
}

#[test]
fn trust_that_cannot_be_had_says_which_file_and_why() {
    let missing = Trust::of(Some("/nowhere/at-all.pem".as_ref())).unwrap_err().to_string();
    assert!(missing.starts_with("the certificates in /nowhere/at-all.pem: "), "{missing}");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"no PEM").unwrap();
    let empty = Trust::of(Some(file.path())).unwrap_err().to_string();
    assert!(empty.contains("it holds no \"BEGIN CERTIFICATE\""), "{empty}");
    let name = Trust::of(Some(Authority::new().file())).unwrap().secure("a b").unwrap_err();
    assert!(name.to_string().starts_with("\"a b\" is no name"), "{name}");
}
