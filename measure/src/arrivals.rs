//! What a reader saw: deliveries, when they came, which frames they completed.
//!
//! Every reader, in a browser or not, yields [`Arrivals`]. Payload is never kept.

use serde::{Deserialize, Serialize};

use crate::clock::ClockSync;
use crate::transport::Transport;
use crate::units::{RunId, Span, Stamp};

/// Who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reader {
    /// The native client that counts `recv()` calls.
    Recv,
    /// `EventSource` in a page.
    Eventsource,
    /// `fetch()` with `ReadableStreamDefaultReader.read()` in a page.
    Fetch,
    /// The same in a Web Worker.
    FetchWorker,
    /// The pass-through between a browser and a proxy.
    Tap,
}

impl Reader {
    /// The reader's name in results, tables and addresses.
    pub fn name(self) -> &'static str {
        match self {
            Reader::Recv => "recv",
            Reader::Eventsource => "eventsource",
            Reader::Fetch => "fetch",
            Reader::FetchWorker => "fetch-worker",
            Reader::Tap => "tap",
        }
    }

    /// The reader of that name.
    pub fn from_name(name: &str) -> Option<Reader> {
        [Reader::Recv, Reader::Eventsource, Reader::Fetch, Reader::FetchWorker]
            .into_iter()
            .find(|reader| reader.name() == name)
    }

    /// Whether it runs in a browser.
    pub fn in_browser(self) -> bool {
        matches!(self, Reader::Eventsource | Reader::Fetch | Reader::FetchWorker)
    }
}

/// A frame as a reader saw it, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameMark {
    /// The sequence number from the frame's `id:` field; absent for a frame that names no run
    /// of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    /// Whether the frame dispatched an event (a comment is a frame without one).
    pub event: bool,
    /// Whether the event holds visible text.
    pub text: bool,
    /// Whether it is the stream's terminal marker.
    pub terminal: bool,
    /// Offset in the decoded body, in bytes, at which the frame was complete; only where the
    /// reader knows bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
}

/// What a reader got at once: a read, a chunk, a task in which events were dispatched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// When the call that got the bytes returned, before any parsing.
    pub at: Stamp,
    /// When that call was entered; with `at` of the delivery before it tells how long the
    /// reader was busy elsewhere. Native readers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entered: Option<Stamp>,
    /// The kernel's receive stamp of the read's last segment, converted to the shared clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Stamp>,
    /// When a tap's own write of these bytes returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded: Option<Stamp>,
    /// When the page's own thread handled what a worker had read (`m`); `fetch-worker` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paged: Option<Stamp>,
    /// When a task ran that was posted from the animation frame which put this delivery's text
    /// into the document (`p`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub painted: Option<Stamp>,
    /// Bytes that came, framing included: as the socket gave them, or the chunk's length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Decoded body bytes among them; 0 for a read that brought only a part of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// The frames that these bytes completed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameMark>,
}

impl Delivery {
    /// A delivery at that time, with nothing else known of it.
    pub fn at(at: Stamp) -> Delivery {
        Delivery {
            at,
            entered: None,
            kernel: None,
            forwarded: None,
            paged: None,
            painted: None,
            bytes: None,
            body_bytes: None,
            frames: Vec::new(),
        }
    }

    /// The best time at which the bytes reached this machine: the kernel's stamp, else the call's.
    pub fn arrived(&self) -> Stamp {
        self.kernel.unwrap_or(self.at)
    }
}

/// How a stream ended, as its reader saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum End {
    /// The framing said that the body is whole (last chunk, content length, or a close where
    /// closing marks the end).
    Closed,
    /// The reader stopped by itself once it had the terminal event (EventSource must, or it
    /// would reconnect).
    StoppedAtTerminal,
    /// The connection closed before the framing said the body was whole.
    Cut,
    /// No byte came within the time limit.
    TimedOut {
        /// The limit that passed, microseconds.
        limit_us: i64,
    },
    /// The request or the stream failed.
    Failed {
        /// What failed, where: one line.
        what: String,
    },
}

/// A browser's page, as far as it shapes the figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageState {
    /// The tab was hidden at some time in the run.
    #[serde(default)]
    pub hidden: bool,
    /// The longest gap of the page's own heartbeat beyond its period, microseconds.
    #[serde(default)]
    pub longest_task_us: i64,
    /// How often EventSource went back to connecting.
    #[serde(default)]
    pub reconnects: u32,
    /// The same heartbeat in the worker that read; absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_longest_task_us: Option<i64>,
    /// Streams of this page to the same origin that had not ended when this one was called, this
    /// one included; 0 where nobody counted.
    #[serde(default)]
    pub streams: u32,
    /// The protocol that the browser says it spoke (Resource Timing); absent where it does not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// Everything a reader yields for one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// The run.
    pub run: RunId,
    /// Who read.
    pub reader: Reader,
    /// The moment of the call, before connect.
    pub call: Stamp,
    /// When the connection stood (native readers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<Stamp>,
    /// When the response's head was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Stamp>,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The response's content type as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The response's content encoding as it came; absent for identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    /// The deliveries, in order.
    pub deliveries: Vec<Delivery>,
    /// How it ended.
    pub end: End,
    /// When it ended.
    pub ended: Stamp,
    /// Frames whose `id:` names another run: a mixed-up stream, never counted as ours.
    #[serde(default)]
    pub foreign_frames: u32,
    /// Bytes left without their blank line when the stream ended.
    #[serde(default)]
    pub tail_bytes: u64,
    /// How this reader's clock was converted; absent where the clock is the shared one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockSync>,
    /// How the page's clock was converted, where the reader had another one: a worker's is its
    /// own, and `paged` and `painted` are the page's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_clock: Option<ClockSync>,
    /// The page's own state; absent outside a browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<PageState>,
    /// The segment size the sender used, payload bytes, as the kernel told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u32>,
    /// TCP segments with payload that came, as the kernel counted them (native readers on Linux).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_in: Option<u64>,
    /// Datagrams that found no room in the reader's own socket and had to be sent again, as the
    /// kernel counted them (native readers over HTTP/3 on Linux).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_lost: Option<u32>,
    /// Bytes of the response's head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_bytes: Option<u64>,
    /// What carried the answer (native readers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
}

impl Arrivals {
    /// Arrivals of a run that has just been called.
    pub fn begin(run: RunId, reader: Reader, call: Stamp) -> Arrivals {
        Arrivals {
            run,
            reader,
            call,
            connected: None,
            head: None,
            status: None,
            content_type: None,
            content_encoding: None,
            deliveries: Vec::new(),
            end: End::Cut,
            ended: call,
            foreign_frames: 0,
            tail_bytes: 0,
            clock: None,
            page_clock: None,
            page: None,
            segment_bytes: None,
            segments_in: None,
            datagrams_lost: None,
            head_bytes: None,
            transport: None,
        }
    }

    /// Every frame with the delivery that completed it, in order of arrival.
    pub fn frames(&self) -> impl Iterator<Item = (&Delivery, &FrameMark)> {
        self.deliveries
            .iter()
            .flat_map(|delivery| delivery.frames.iter().map(move |frame| (delivery, frame)))
    }

    /// Whether the terminal event came.
    pub fn has_terminal(&self) -> bool {
        self.frames().any(|(_, frame)| frame.terminal)
    }

    /// How far a time of this reader may be off from the shared clock.
    pub fn clock_uncertainty(&self) -> Span {
        self.clock.map_or(Span::ZERO, |clock| clock.uncertainty())
    }

    /// How far a difference between the reader's clock and the page's may be off; zero where
    /// both are one.
    pub fn page_uncertainty(&self) -> Span {
        self.page_clock.map_or(Span::ZERO, |page| self.clock_uncertainty() + page.uncertainty())
    }
}
