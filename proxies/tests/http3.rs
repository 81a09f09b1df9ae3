//! HTTP/3 at the port of TLS: who speaks it passes a stream on frame by frame.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Buf as _;
use common::{BODY, Origin, PACE, PACED, start, tls};
use proxies::Registry;
use quinn::crypto::rustls::QuicClientConfig;

/// Longer than anything takes that is to come.
const LIMIT: Duration = Duration::from_secs(10);

/// What came of an answer's body, each part with its time.
struct Came {
    headers: http::HeaderMap,
    parts: Vec<(Instant, usize)>,
}

fn get_h3(to: SocketAddr, path: &str) -> Came {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, ask(to, path)).await.expect("an answer") })
}

async fn ask(to: SocketAddr, path: &str) -> Came {
    let config = QuicClientConfig::try_from(tls::client_config(&["h3"])).unwrap();
    let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(config));
    let quic = endpoint.connect_with(config, to, "127.0.0.1").unwrap().await.unwrap();
    let (mut driver, mut requests) =
        h3::client::new(h3_quinn::Connection::new(quic)).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let request = http::Request::get(format!("https://{to}{path}")).body(()).unwrap();
    let mut stream = requests.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    let head = stream.recv_response().await.unwrap();
    assert_eq!(head.status(), http::StatusCode::OK);
    let mut parts = Vec::new();
    while let Some(data) = stream.recv_data().await.unwrap() {
        parts.push((Instant::now(), data.remaining()));
    }
    Came { headers: head.headers().clone(), parts }
}

#[test]
fn frames_come_one_by_one_through_each_that_speaks_it() {
    let registry = Registry::embedded().unwrap();
    let names: Vec<_> = registry.endpoints().filter(|e| e.http3).map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["caddy-tls", "traefik-tls", "envoy-tls"]);
    for name in names {
        let origin = Origin::start();
        let Some(running) = start(name, &origin) else { continue };
        let came = get_h3(running.listen(), "/stream/paced");
        // A browser that was asked to speak one protocol is not to be led to another.
        let over_tcp = tls::get_h1(running.listen(), "/stream").text.to_ascii_lowercase();
        assert!(
            over_tcp.starts_with("http/1.1 200") && !over_tcp.contains("alt-svc"),
            "{over_tcp}"
        );
        assert_eq!(came.headers.get("alt-svc"), None, "{name}");
        // A part that came less than half a frame's time after another one came with it.
        let mut together = vec![];
        for (at, bytes) in came.parts {
            match together.last_mut() {
                Some((last, sum)) if at - *last < PACE / 2 => *sum += bytes,
                _ => together.push((at, bytes)),
            }
        }
        let sizes: Vec<usize> = together.iter().map(|(_, bytes)| *bytes).collect();
        println!("{name}: {sizes:?}");
        assert_eq!(sizes.iter().sum::<usize>(), PACED * BODY.len(), "{name}");
        // A busy machine may bring two together now and then; who holds brings all.
        let alone = sizes.iter().filter(|bytes| **bytes == BODY.len()).count();
        assert!(alone >= PACED * 3 / 4, "{name}: {sizes:?}");
    }
}

#[test]
fn a_port_that_is_taken_over_udp_is_said() {
    let origin = Origin::start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let options =
        proxies::StartOptions { listen: socket.local_addr().unwrap(), ..common::options() };
    match common::PROXIES.start("caddy-tls", origin.address, &options, &mut |_| {}) {
        Err(proxies::ProxyError::Start(error)) => {
            assert!(matches!(error, proxies::StartError::PortLost { .. }), "{error}");
            println!("{error}");
        }
        Err(proxies::ProxyError::Source(why)) => println!("SKIPPED(caddy-tls: {why})"),
        other => panic!("{other:?}"),
    }
}
