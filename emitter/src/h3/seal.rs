//! Looks at packets at the two moments when they can be read: before they are sealed, and after
//! they are opened.
//!
//! QUIC's library takes its ciphers from whoever provides them. These are its own, with a look at
//! what they are given. Each packet is sealed with 16 bytes that no other has, and a packet of data
//! is the last of its datagram, so a datagram that ends with those bytes is that packet's: nothing
//! is concluded from sizes, times or order.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use measure::Stamp;
use quinn::crypto::{
    CryptoError, ExportKeyingMaterialError, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn::{ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

use crate::listener::Connection;

/// What every cipher of TLS 1.3 seals a packet with.
pub(super) type Tag = [u8; 16];

/// The first bit of packets that shake hands; the others carry data (RFC 9000, 17).
const LONG_HEADER: u8 = 0x80;

/// The sealed packets that have not left, by their seals: one a connection at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Seals(Arc<Mutex<HashMap<Tag, Connection>>>);

impl Seals {
    fn lock(&self) -> MutexGuard<'_, HashMap<Tag, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(datagram: &[u8]) -> Option<Tag> {
        datagram.last_chunk().copied()
    }

    /// The datagram has left, if it did; one that failed never will.
    pub(super) fn left(&self, datagram: &[u8], times: Option<(Stamp, Stamp)>) {
        let Some(tag) = Seals::of(datagram) else { return };
        let Some(connection) = self.lock().remove(&tag) else { return };
        connection.packets(|packets| match times {
            Some((before, after)) => packets.left(before, after),
            None => packets.lost(),
        });
    }

    /// The socket does not take the datagram.
    pub(super) fn refused(&self, datagram: &[u8], at: Stamp) {
        let Some(tag) = Seals::of(datagram) else { return };
        let connection = self.lock().get(&tag).cloned();
        if let Some(connection) = connection {
            connection.packets(|packets| packets.refused(at));
        }
    }

    /// A connection is over: what it has sealed will not leave.
    pub(super) fn forget(&self, connection: &Connection) {
        if let Some(tag) = connection.packets(|packets| packets.waiting()).flatten() {
            self.lock().remove(&tag);
        }
    }
}

/// What a handshake leaves behind: the connection whose packets are looked at.
pub(super) struct Shaken(pub(super) Connection);

/// The server's side of QUIC's ciphers, looked at.
pub(super) struct Looking {
    inner: Arc<dyn ServerConfig>,
    seals: Seals,
}

impl Looking {
    pub(super) fn at(inner: Arc<dyn ServerConfig>, seals: Seals) -> Looking {
        Looking { inner, seals }
    }
}

impl ServerConfig for Looking {
    fn initial_keys(&self, version: u32, to: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, to)
    }

    fn retry_tag(&self, version: u32, to: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, to, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        parameters: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(Looked {
            inner: Arc::clone(&self.inner).start_session(version, parameters),
            connection: Connection::over_quic(),
            seals: self.seals.clone(),
        })
    }
}

struct Looked {
    inner: Box<dyn Session>,
    connection: Connection,
    seals: Seals,
}

impl Looked {
    fn look(&self, keys: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        let look = |inner| {
            let (connection, seals) = (self.connection.clone(), self.seals.clone());
            Box::new(Key { inner, connection, seals }) as Box<dyn PacketKey>
        };
        KeyPair { local: look(keys.local), remote: look(keys.remote) }
    }
}

impl Session for Looked {
    fn initial_keys(&self, to: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(to, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()?;
        Some(Box::new(Shaken(self.connection.clone())))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn quinn::crypto::HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        let Keys { header, packet } = self.inner.write_handshake(bytes)?;
        Some(Keys { header, packet: self.look(packet) })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.inner.next_1rtt_keys()?;
        Some(self.look(keys))
    }

    fn is_valid_retry(&self, to: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(to, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct Key {
    inner: Box<dyn PacketKey>,
    connection: Connection,
    seals: Seals,
}

impl PacketKey for Key {
    fn encrypt(&self, number: u64, packet: &mut [u8], header: usize) {
        let plain = header..packet.len().saturating_sub(self.inner.tag_len());
        let of_data = packet.first().is_some_and(|first| first & LONG_HEADER == 0);
        let known = of_data && {
            self.seals.forget(&self.connection);
            let seals = |plain| self.connection.packets(|packets| packets.seals(plain));
            packet.get(plain).and_then(seals).unwrap_or(false)
        };
        self.inner.encrypt(number, packet, header);
        if known && let Some(tag) = Seals::of(packet) {
            self.connection.packets(|packets| packets.sealed(tag));
            self.seals.lock().insert(tag, self.connection.clone());
        }
    }

    fn decrypt(
        &self,
        number: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(number, header, payload)?;
        if header.first().is_some_and(|first| first & LONG_HEADER == 0) {
            self.connection.packets(|packets| packets.came(payload));
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
