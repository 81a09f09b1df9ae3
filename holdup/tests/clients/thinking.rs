//! A service that thinks before it answers, as every model does.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Stands before a service and keeps the beginning of each answer back for so long; all else passes
/// at once. Its threads end with their connections and with the test.
pub(crate) fn thinking(service: SocketAddr, time: Duration) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let service = TcpStream::connect(service).unwrap();
            for stream in [&client, &service] {
                stream.set_nodelay(true).unwrap();
            }
            let asked = Arc::new(AtomicBool::new(false));
            let (asking, from, to) =
                (Arc::clone(&asked), client.try_clone().unwrap(), service.try_clone().unwrap());
            std::thread::spawn(move || pass(&from, &to, || asking.store(true, Ordering::SeqCst)));
            std::thread::spawn(move || {
                pass(&service, &client, || {
                    if asked.swap(false, Ordering::SeqCst) {
                        std::thread::sleep(time);
                    }
                });
            });
        }
    });
    address
}

/// Passes each read on after `first` had its turn.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut first: impl FnMut()) {
    let mut bytes = vec![0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        first();
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
