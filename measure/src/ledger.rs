//! The emitter's own record of one run: when each frame was due, and when its bytes left.

use serde::{Deserialize, Serialize};

use crate::script::Script;
use crate::units::{RunId, Span, Stamp};

/// One frame's line in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The frame's sequence number.
    pub seq: u32,
    /// When the script wanted its last byte written.
    pub due: Stamp,
    /// Before the write that carried its last byte (`e0`).
    pub before: Stamp,
    /// After that write returned (`e`).
    pub after: Stamp,
    /// Which write of the connection's response it was, counted from 0.
    pub write: u32,
}

impl Entry {
    /// Write time minus due time; the write is part of it.
    pub fn lateness(&self) -> Span {
        self.after - self.due
    }
}

/// What did not take bytes that were to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The connection's socket: the kernel's buffers were full, because the peer does not read.
    Socket,
    /// HTTP/2 and HTTP/3: the peer gave no more window, to the stream or to its whole connection.
    Window,
    /// HTTP/3: QUIC's congestion window or pacing, or the UDP socket. That is the network's, as
    /// after a loss: no reader and no hop has stopped.
    Congestion,
}

/// A time in which a frame was due to leave and the path did not take it: seen by the emitter as
/// a refusal, not concluded from how late a write was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The first frame that had not left whole; one wait a frame at most.
    pub seq: u32,
    /// What refused first.
    pub by: Refusal,
    /// When it did.
    pub since: Stamp,
    /// When it took bytes again; absent if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
    /// Body bytes of this stream that had left by then.
    pub bytes: u64,
    /// HTTP/2 and HTTP/3: body bytes of all the connection's streams that had left by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_bytes: Option<u64>,
}

/// The emitter's record of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The run.
    pub run: RunId,
    /// The emitter process that kept it.
    pub instance: String,
    /// How many requests came with this run id; more than one excludes the run.
    pub attempts: u32,
    /// What was played.
    pub script: Script,
    /// The HTTP version of the request as it reached the emitter, such as `HTTP/1.1`.
    pub upstream_protocol: String,
    /// Segment payload on the emitter's connection (`snd_mss`), bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u32>,
    /// The one monotonic start that all due times are counted from.
    pub started: Stamp,
    /// One line a frame, in order of writing.
    pub entries: Vec<Entry>,
    /// When each line's last byte was handed over to what stands between the emitter and its
    /// socket, in the lines' order: TLS, or HTTP/2, which has windows and other streams to mind.
    /// From there to `e` is theirs. Empty on plain HTTP/1, where nothing stands between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<Stamp>,
    /// When the path took nothing, by frame, in the lines' order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Writes of the response so far, the head's included. Under TLS and HTTP/2 these are the
    /// writes to the socket that completed something of this response.
    pub writes: u32,
    /// Body bytes that left.
    pub body_bytes: u64,
    /// When the response's last byte was written; absent while it runs or after a client left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Stamp>,
    /// Why it ended early, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

impl Ledger {
    /// The line of a frame.
    pub fn entry(&self, seq: u32) -> Option<&Entry> {
        // Frames are written in order, so the index is nearly always the sequence number.
        match self.entries.get(seq as usize) {
            Some(entry) if entry.seq == seq => Some(entry),
            _ => self.entries.iter().find(|entry| entry.seq == seq),
        }
    }

    /// When a frame's last byte was handed over, where something stands before the socket.
    pub fn handed(&self, seq: u32) -> Option<Stamp> {
        let line = match self.entries.get(seq as usize) {
            Some(entry) if entry.seq == seq => seq as usize,
            _ => self.entries.iter().position(|entry| entry.seq == seq)?,
        };
        self.handed.get(line).copied()
    }

    /// The greatest lateness that is the emitter's own: without the times in which the path took
    /// nothing, and counted, for frames that came due meanwhile, from when it had taken the frame
    /// before.
    pub fn own_lateness(&self) -> Option<Span> {
        let mut waits = self.waits.iter().peekable();
        let mut taken: Option<Stamp> = None;
        let own = self.entries.iter().map(|entry| {
            while waits.peek().is_some_and(|wait| wait.seq < entry.seq) {
                waits.next();
            }
            let wait = waits.peek().filter(|wait| wait.seq == entry.seq);
            let ready = taken.map_or(entry.due, |taken| taken.max(entry.due));
            let refused = wait
                .and_then(|wait| Some(wait.until? - wait.since.max(ready)))
                .map_or(Span::ZERO, |refused| refused.max(Span::ZERO));
            let delayed = refused > Span::ZERO || ready > entry.due;
            taken = delayed.then_some(entry.after);
            entry.after - ready - refused
        });
        own.max()
    }

    /// The greatest lateness of any frame, whoever is to blame.
    pub fn max_lateness(&self) -> Option<Span> {
        self.entries.iter().map(Entry::lateness).max()
    }

    /// Frames that left in the same write as the frame before them though the script gave
    /// them writes of their own.
    pub fn merged_writes(&self) -> u32 {
        let planned = self.script.write_of_frames();
        self.entries
            .windows(2)
            .filter(|pair| {
                let apart = planned.get(pair[0].seq as usize) != planned.get(pair[1].seq as usize);
                pair[0].write == pair[1].write && apart
            })
            .count() as u32
    }
}
