//! Our count of reads by TLS with HTTP/2, and by HTTP/3, against the system calls themselves.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod server;
#[path = "server/http3.rs"]
mod server3;

use std::process::Command;

use bytes::Bytes;
use recv_client::Http;
use server::*;
use server3::{Then3, http3};

/// Tells this program, started again under `strace`, that it is to read; its output is its count.
const ROLE: &str = "HOLDUP_TRACED";

/// Reads one stream; only the reader calls `recvmsg`, the servers' libraries call others.
fn read() {
    let authority = Authority::new();
    let address = http2(Some(authority.server(&["h2"])), |_, mut respond| async move {
        let mut stream = respond.send_response(ok(), false).unwrap();
        for _ in 0..10 {
            tokio::time::sleep(PAUSE / 3).await;
            stream.send_data(Bytes::from_static(EVENTS[0]), false).unwrap();
        }
        stream.send_data(Bytes::new(), true).unwrap();
        Then::Stay
    });
    tell(&observe(&secure(address, authority.file(), Http::Negotiated)));
}

/// The same by HTTP/3: here each datagram is a call of its own. The server's library calls
/// `recvmmsg`.
fn read_datagrams() {
    let authority = Authority::new();
    let address = http3(authority.server(&["h3"]), |_, mut stream| async move {
        stream.send_response(ok()).await.unwrap();
        for _ in 0..10 {
            tokio::time::sleep(PAUSE / 3).await;
            stream.send_data(Bytes::from_static(EVENTS[0])).await.unwrap();
        }
        // Several datagrams at once.
        stream.send_data(Bytes::from(vec![b'\n'; 8_000])).await.unwrap();
        stream.finish().await.unwrap();
        Then3::Stay
    });
    tell(&observe(&secure(address, authority.file(), Http::Three)));
}

fn tell(seen: &recv_client::Observed) {
    let transport = &seen.transport;
    let handshake = u64::from(transport.tls.as_ref().unwrap().handshake_reads);
    let deliveries = &seen.arrivals.deliveries;
    let bytes: u64 = deliveries.iter().filter_map(|delivery| delivery.bytes).sum();
    let calls = match transport.datagrams_per_read.as_slice() {
        [] => deliveries.len() as u64,
        datagrams => datagrams.iter().map(|count| u64::from(*count)).sum(),
    };
    println!("\nREADS {calls} {handshake} {bytes}");
}

#[test]
fn our_count_of_reads_by_tls_is_the_kernels() {
    compare("our_count_of_reads_by_tls_is_the_kernels", read);
}

#[test]
fn our_count_of_datagrams_is_the_kernels() {
    compare("our_count_of_datagrams_is_the_kernels", read_datagrams);
}

fn compare(own: &str, read: fn()) {
    if std::env::var_os(ROLE).is_some() {
        return read();
    }
    if Command::new("strace").arg("-V").output().is_err() {
        println!("SKIPPED(strace is not installed: apt-get install strace)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let out = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=recvmsg", "-e", "signal=none", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", own, "--nocapture"])
        .env(ROLE, "1")
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    if text.is_empty() {
        let said = String::from_utf8_lossy(&out.stderr);
        println!("SKIPPED(strace may not trace here: {})", said.trim());
        return;
    }
    // A call that is interrupted by another thread's line ends on one that says "resumed".
    let returned: Vec<u64> = text
        .lines()
        .filter(|line| line.contains("recvmsg") && !line.contains("<unfinished"))
        .filter_map(|line| line.rsplit_once(" = ")?.1.split(' ').next()?.parse().ok())
        .filter(|bytes| *bytes > 0)
        .collect();
    let told = String::from_utf8_lossy(&out.stdout);
    let ours = told.lines().find_map(|line| line.strip_prefix("READS ")).unwrap();
    let ours: Vec<u64> = ours.split(' ').map(|number| number.parse().unwrap()).collect();
    let [deliveries, handshake, bytes] = ours[..] else { panic!("{ours:?}") };
    println!("reads: {handshake} + {deliveries} by our count, {} by the kernel", returned.len());
    assert!(deliveries > 10 && handshake > 0, "{ours:?}");
    assert_eq!(deliveries + handshake, returned.len() as u64);
    assert_eq!(bytes, returned[handshake as usize..].iter().sum::<u64>());
}
