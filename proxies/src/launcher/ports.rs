//! Free ports: asked of the kernel, let go again, and never handed out twice.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// Ports this process has handed out. A proxy that shares its port (`SO_REUSEPORT`) would
/// not notice that another of ours was given the same.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// How often the kernel may offer a port that was handed out before.
const OFFERS: usize = 64;

/// Fills in a free port wherever port 0 stands. All are held until all are found, so that
/// they differ; then they are let go for the proxy to take.
pub(super) fn choose<const N: usize>(
    wanted: [SocketAddr; N],
) -> Result<[SocketAddr; N], (SocketAddr, io::Error)> {
    let mut held = Vec::new();
    let mut chosen = wanted;
    for address in &mut chosen {
        if address.port() == 0 {
            let asked = *address;
            let listener = free(asked, &mut held).map_err(|error| (asked, error))?;
            *address = listener;
        }
    }
    Ok(chosen)
}

fn free(asked: SocketAddr, held: &mut Vec<TcpListener>) -> io::Result<SocketAddr> {
    for _ in 0..OFFERS {
        let listener = TcpListener::bind(asked)?;
        let address = listener.local_addr()?;
        // Held even if refused: the kernel would offer the same one again.
        held.push(listener);
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
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let fixed: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let [a, b, c] = choose([any, any, fixed]).unwrap();
        assert!(a.port() != 0 && b.port() != 0 && a != b);
        assert_eq!(c, fixed);
        // That they can be bound again is for the endpoints' tests to show: here another
        // test may fork at this moment and hold a copy of the listener until it executes.
    }
}
