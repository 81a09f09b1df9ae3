//! One QUIC connection without a socket, by the `quinn-proto` crate: datagrams in, datagrams out.
//!
//! Nothing here waits or runs by itself. A reader takes a datagram with its time, hands it over,
//! and what can be read from the streams then is what that datagram brought.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ReadError, ReadableError, StreamId, TransportConfig, VarInt,
};

use super::frames::{DATA, Frames, HEADERS};

/// Chromium's window of a stream: `kQuicStreamMaxRecvWindowSize` in its net/quic/quic_context.cc,
/// 6 MiB.
const STREAM_WINDOW: u32 = 6 << 20;
/// Chromium's window of a connection: `kQuicSessionMaxRecvWindowSize`, same file, 15 MiB.
const CONNECTION_WINDOW: u32 = 15 << 20;
/// Chromium's ping of a connection with a stream on it: `kPingTimeoutSecs` in its
/// quic_constants.h. Without one a server may take a stream that is held for a dead one.
const PING: Duration = Duration::from_secs(15);
/// Most bytes of a frame that is not the body's, and of all streams beside the answer's: as for
/// the head in HTTP/2.
pub(super) const MOST_BESIDE: u64 = 256 << 10;

/// Bytes that wait for the peer's windows.
struct Waiting {
    id: StreamId,
    bytes: BytesMut,
    finish: bool,
}

/// What a stream gave.
pub(super) enum Given {
    /// These bytes.
    Bytes(Bytes),
    /// Its end.
    End,
    /// Nothing now.
    Nothing,
    /// It was given up with that code.
    Reset(u64),
}

/// One connection, seen from the client.
pub(super) struct Quic {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    peer: SocketAddr,
    lost: Option<ConnectionError>,
    waiting: Vec<Waiting>,
    request: Option<StreamId>,
    /// Whether the request's stream is not read now, on purpose.
    held: bool,
    /// Whether its end was read.
    finished: bool,
    frames: Frames,
    /// DATA frames that were completed since it was asked.
    data_frames: u32,
    /// Bytes of frames with fields, their headers included, before the first DATA frame.
    head_bytes: u64,
    seen_data: bool,
    /// Bytes of the other streams.
    beside: u64,
    endless: Option<&'static str>,
}

impl Quic {
    /// A connection that is about to be made. The window is the stream's.
    pub(super) fn new(
        peer: SocketAddr,
        name: &str,
        crypto: Arc<dyn quinn_proto::crypto::ClientConfig>,
        window: Option<u32>,
    ) -> Result<Quic, String> {
        let mut transport = TransportConfig::default();
        transport
            .stream_receive_window(VarInt::from_u32(window.unwrap_or(STREAM_WINDOW)))
            .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
            // How long a stream may be silent is the reader's to say.
            .max_idle_timeout(None)
            .keep_alive_interval(Some(PING))
            // What is sent is small; probes would only add datagrams.
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .datagram_receive_buffer_size(None);
        let mut config = ClientConfig::new(crypto);
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None);
        let (handle, connection) = endpoint
            .connect(Instant::now(), config, peer, name)
            .map_err(|error| error.to_string())?;
        Ok(Quic {
            endpoint,
            handle,
            connection,
            peer,
            lost: None,
            waiting: Vec::new(),
            request: None,
            held: false,
            finished: false,
            frames: Frames::default(),
            data_frames: 0,
            head_bytes: 0,
            seen_data: false,
            beside: 0,
            endless: None,
        })
    }

    /// Takes one datagram.
    pub(super) fn take(&mut self, datagram: &[u8]) {
        let mut answer = Vec::new();
        let event = self.endpoint.handle(
            Instant::now(),
            self.peer,
            None,
            None,
            BytesMut::from(datagram),
            &mut answer,
        );
        if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
            && handle == self.handle
        {
            self.connection.handle_event(event);
        }
        self.settle();
    }

    /// Does what is due by now.
    pub(super) fn on_time(&mut self) {
        self.connection.handle_timeout(Instant::now());
        self.settle();
    }

    /// How long until something is due.
    pub(super) fn until_due(&mut self) -> Option<Duration> {
        let due = self.connection.poll_timeout()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// The next datagram that is to be sent.
    pub(super) fn outgoing(&mut self) -> Option<Vec<u8>> {
        let mut datagram = Vec::new();
        let transmit = self.connection.poll_transmit(Instant::now(), 1, &mut datagram)?;
        datagram.truncate(transmit.size);
        Some(datagram)
    }

    fn settle(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        while let Some(event) = self.connection.poll() {
            if let Event::ConnectionLost { reason } = event {
                self.lost = Some(reason);
            }
        }
        self.flush();
    }

    /// Gives to the streams what their windows let through.
    fn flush(&mut self) {
        let connection = &mut self.connection;
        self.waiting.retain_mut(|own| {
            let mut stream = connection.send_stream(own.id);
            while !own.bytes.is_empty() {
                // Blocked, or given up by the peer: the answer's own stream tells.
                let Ok(taken) = stream.write(&own.bytes) else { return true };
                own.bytes.advance(taken);
            }
            own.finish && stream.finish().is_err()
        });
        self.waiting.retain(|own| own.finish || !own.bytes.is_empty());
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.lost.is_none() && self.connection.is_handshaking()
    }

    /// What ALPN settled on.
    pub(super) fn alpn(&self) -> Option<Vec<u8>> {
        let data = self.connection.crypto_session().handshake_data()?;
        data.downcast::<quinn_proto::crypto::rustls::HandshakeData>().ok()?.protocol
    }

    /// Why the connection is no more.
    pub(super) fn lost(&self) -> Option<&ConnectionError> {
        self.lost.as_ref()
    }

    /// What came without end, if something did.
    pub(super) fn endless(&self) -> Option<&'static str> {
        self.endless
    }

    pub(super) fn open(&mut self, dir: Dir) -> Option<StreamId> {
        let id = self.connection.streams().open(dir)?;
        if dir == Dir::Bi {
            self.request = Some(id);
        }
        Some(id)
    }

    pub(super) fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        self.connection.streams().accept(dir)
    }

    /// What a stream has to give now, in order.
    pub(super) fn read(&mut self, id: StreamId) -> Given {
        let request = self.request == Some(id);
        if self.endless.is_some() || request && self.held {
            return Given::Nothing;
        }
        let mut stream = self.connection.recv_stream(id);
        let given = match stream.read(true) {
            // Its end was told already.
            Err(ReadableError::ClosedStream | ReadableError::IllegalOrderedRead) => Given::End,
            Ok(mut chunks) => match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => Given::Bytes(chunk.bytes),
                Ok(None) => Given::End,
                Err(ReadError::Blocked) => Given::Nothing,
                Err(ReadError::Reset(code)) => Given::Reset(code.into_inner()),
            },
        };
        match &given {
            Given::Bytes(bytes) if request => self.count(bytes),
            Given::Bytes(bytes) => {
                self.beside += bytes.len() as u64;
                if self.beside > MOST_BESIDE {
                    self.endless = Some("talk beside the answer");
                }
            }
            Given::End if request => self.finished = true,
            _ => {}
        }
        given
    }

    fn count(&mut self, bytes: &[u8]) {
        let (mut head, mut data, mut endless) = (0, 0, None);
        let mut seen_data = self.seen_data;
        self.frames.feed(
            bytes,
            |kind, header, length| {
                seen_data |= kind == DATA;
                if kind != DATA && length > MOST_BESIDE {
                    endless = Some("head");
                }
                if kind == HEADERS && !seen_data {
                    head += header as u64 + length;
                }
            },
            |kind| data += u32::from(kind == DATA),
        );
        self.seen_data = seen_data;
        self.head_bytes += head;
        self.data_frames += data;
        self.endless = self.endless.or(endless);
    }

    /// Puts bytes on a stream, now or when the peer's windows let them through.
    pub(super) fn write(&mut self, id: StreamId, mut bytes: impl Buf) {
        match self.waiting.iter_mut().find(|own| own.id == id) {
            Some(own) => {
                while bytes.has_remaining() {
                    let chunk = bytes.chunk();
                    own.bytes.extend_from_slice(chunk);
                    let taken = chunk.len();
                    bytes.advance(taken);
                }
            }
            None => {
                let bytes = BytesMut::from(&*bytes.copy_to_bytes(bytes.remaining()));
                self.waiting.push(Waiting { id, bytes, finish: false });
            }
        }
        self.flush();
    }

    /// Ends a stream after what was put on it.
    pub(super) fn finish(&mut self, id: StreamId) {
        match self.waiting.iter_mut().find(|own| own.id == id) {
            Some(own) => own.finish = true,
            None => self.waiting.push(Waiting { id, bytes: BytesMut::new(), finish: true }),
        }
        self.flush();
    }

    /// Gives a stream up.
    pub(super) fn reset(&mut self, id: StreamId, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        let _ = self.connection.send_stream(id).reset(code);
    }

    /// Says that no more of a stream is wanted.
    pub(super) fn stop(&mut self, id: StreamId, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        let _ = self.connection.recv_stream(id).stop(code);
    }

    /// Ends the connection.
    pub(super) fn close(&mut self, code: u64, reason: &[u8]) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        self.connection.close(Instant::now(), code, Bytes::copy_from_slice(reason));
    }

    /// Leaves the request's stream unread from now on, or reads it again.
    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Whether the end of the request's stream was read.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether it ends within a frame, or would now.
    pub(super) fn is_within_frame(&self) -> bool {
        self.frames.is_within()
    }

    /// DATA frames that were completed since this was asked last.
    pub(super) fn take_data_frames(&mut self) -> u32 {
        std::mem::take(&mut self.data_frames)
    }

    /// Bytes of the frames that made the head.
    pub(super) fn head_bytes(&self) -> u64 {
        self.head_bytes
    }
}
