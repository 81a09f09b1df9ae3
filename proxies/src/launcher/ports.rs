//! Free ports: asked of the kernel, let go again, and never handed out twice.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Mutex, PoisonError};

/// Ports this process has handed out. A proxy that shares its port (`SO_REUSEPORT`) would
/// not notice that another of ours was given the same.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// How often the kernel may offer a port that was handed out before.
const OFFERS: usize = 64;

/// A port as it is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Its address; port 0 is a free one.
    pub(super) address: SocketAddr,
    /// Whether it must be free over UDP as well.
    pub(super) udp: bool,
}

/// Fills in a free port wherever port 0 stands. All are held until all are found, so that
/// they differ; then they are let go for the proxy to take.
pub(super) fn choose<const N: usize>(
    wanted: [Wanted; N],
) -> Result<[SocketAddr; N], (SocketAddr, io::Error)> {
    let mut held = Vec::new();
    let mut chosen = wanted.map(|wanted| wanted.address);
    for (address, wanted) in chosen.iter_mut().zip(wanted) {
        if address.port() == 0 {
            *address = free(wanted, &mut held).map_err(|error| (wanted.address, error))?;
        }
    }
    Ok(chosen)
}

fn free(
    wanted: Wanted,
    held: &mut Vec<(TcpListener, Option<UdpSocket>)>,
) -> io::Result<SocketAddr> {
    for _ in 0..OFFERS {
        let listener = TcpListener::bind(wanted.address)?;
        let address = listener.local_addr()?;
        let datagrams = if wanted.udp { Some(UdpSocket::bind(address)) } else { None };
        let taken = matches!(datagrams, Some(Err(_)));
        // Held even if refused: the kernel would offer the same one again.
        held.push((listener, datagrams.and_then(Result::ok)));
        if taken {
            continue;
        }
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if given.insert(address.port()) {
            return Ok(address);
        }
    }
    Err(io::ErrorKind::AddrNotAvailable.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ_and_fixed_ones_stay() {
        let any = Wanted { address: "127.0.0.1:0".parse().unwrap(), udp: false };
        let fixed = Wanted { address: "127.0.0.1:9".parse().unwrap(), udp: true };
        let [a, b, c] = choose([any, Wanted { udp: true, ..any }, fixed]).unwrap();
        assert!(a.port() != 0 && b.port() != 0 && a != b);
        assert_eq!(c, fixed.address);
        // That they can be bound again is for the endpoints' tests to show: here another
        // test may fork at this moment and hold a copy of the listener until it executes.
    }
}
