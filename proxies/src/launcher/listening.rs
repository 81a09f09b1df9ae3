//! Whose socket it is that listens on a port.
//!
//! A connection that succeeds proves only that *somebody* listens. If another process
//! took the port between its choice and the proxy's start, the instrument would measure a
//! stranger under the proxy's name.

use std::net::SocketAddr;

use nix::unistd::Pid;

/// A socket's state as the kernel's tables show it.
#[cfg(target_os = "linux")]
const TCP_LISTENS: &str = "0A";
/// The same.
#[cfg(target_os = "linux")]
const UDP_HAS_NO_PEER: &str = "07";

/// Who listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "always unknown there"))]
pub(super) enum Owner {
    /// A process of the family asked about, and nobody else.
    Family,
    /// Somebody else, or somebody else as well.
    Other,
    /// Nobody, as far as the kernel says.
    Nobody,
    /// The kernel does not say.
    Unknown,
}

/// What is listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "always unknown there"))]
pub(super) enum Over {
    Tcp,
    Udp,
}

/// Who listens on the port of `address`.
#[cfg(target_os = "linux")]
pub(super) fn owner(over: Over, address: SocketAddr, family: &[Pid]) -> Owner {
    let (table, state) = match (over, address.is_ipv4()) {
        (Over::Tcp, true) => ("/proc/net/tcp", TCP_LISTENS),
        (Over::Tcp, false) => ("/proc/net/tcp6", TCP_LISTENS),
        (Over::Udp, true) => ("/proc/net/udp", UDP_HAS_NO_PEER),
        (Over::Udp, false) => ("/proc/net/udp6", UDP_HAS_NO_PEER),
    };
    let Ok(table) = std::fs::read_to_string(table) else {
        return Owner::Unknown;
    };
    let listening = listeners(&table, state, address.port());
    let Some(held) = sockets_of(family) else {
        return Owner::Unknown;
    };
    if listening.is_empty() {
        Owner::Nobody
    } else if listening.iter().all(|inode| held.contains(inode)) {
        Owner::Family
    } else {
        Owner::Other
    }
}

/// Elsewhere there is no such table.
#[cfg(not(target_os = "linux"))]
pub(super) fn owner(_over: Over, _address: SocketAddr, _family: &[Pid]) -> Owner {
    Owner::Unknown
}

/// The socket numbers that listen on a port, on whichever address.
#[cfg(target_os = "linux")]
fn listeners(table: &str, state: &str, port: u16) -> Vec<u64> {
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, hex_port) = fields.get(1)?.rsplit_once(':')?;
        let matches = u16::from_str_radix(hex_port, 16).ok()? == port && *fields.get(3)? == state;
        if matches { fields.get(9)?.parse().ok() } else { None }
    };
    table.lines().skip(1).filter_map(entry).collect()
}

/// The sockets the processes hold; none if one of them cannot be looked into.
#[cfg(target_os = "linux")]
fn sockets_of(family: &[Pid]) -> Option<Vec<u64>> {
    let mut found = Vec::new();
    for pid in family {
        let folder = match std::fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(folder) => folder,
            // It has ended since.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        for entry in folder.flatten() {
            let link = std::fs::read_link(entry.path()).unwrap_or_default();
            let inode =
                link.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
            found.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
        }
    }
    Some(found)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn tells_one_own_listener_from_a_strangers() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let own = [nix::unistd::getpid()];
        assert_eq!(owner(Over::Tcp, address, &own), Owner::Family);
        assert_eq!(owner(Over::Tcp, address, &[]), Owner::Other);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        assert_eq!(owner(Over::Udp, address, &own), Owner::Family);
        assert_eq!(owner(Over::Udp, address, &[]), Owner::Other);
        drop(socket);
        assert_eq!(owner(Over::Udp, address, &own), Owner::Nobody);
    }

    #[test]
    fn finds_listeners_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n\
            1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n\
            2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1\n";
        assert_eq!(
            listeners(table, TCP_LISTENS, 8080),
            [4711],
            "neither a connection nor another port"
        );
        assert!(listeners(table, TCP_LISTENS, 80).is_empty());
    }
}
