//! The thresholds of the verdicts, in one place, each with its reason.

use crate::units::Span;

/// Every threshold of the verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Frames per read up to which a path is live.
    pub live_frames_per_read: f64,
    /// Path hold (90th percentile) up to which a path is live.
    pub live_hold: Span,
    /// Longest hold of any single frame of a live path.
    pub live_longest: Span,
    /// Share of all frames in the last delivery from which a stream is held.
    pub held_share: f64,
    /// Shortest hold of a burst's first frame that the cork timer explains.
    pub cork_min: Span,
    /// Longest hold of a burst's first frame that the cork timer explains.
    pub cork_max: Span,
    /// Least hold of a burst's last frame if a timer, and not that frame's own write, released it.
    pub timer_last_hold: Span,
    /// How much before a write returned its bytes' arrival may be stamped.
    pub stamp_early: Span,
    /// Hold of a burst's last frame up to which that frame's own write released the burst.
    pub released_hold: Span,
    /// How far two bursts' sizes may lie apart, as a share of the middle one, for both to be the
    /// same buffer's.
    pub buffer_spread: f64,
    /// Frames per write from which the origin itself batches.
    pub origin_frames_per_write: f64,
    /// How far from the next frame's write an arrival may be that it released, as a share of the
    /// interval.
    pub behind_share: f64,
    /// Share of the waiting bursts that must fit a pattern for the pattern to be named.
    pub pattern_share: f64,
    /// Shortest time for which a frame that was ready to leave was refused, and nothing arrived,
    /// from which a stream has stopped.
    pub stop: Span,
    /// Share of that wait in which nothing arrived.
    pub stop_share: f64,
    /// How many times longer a stop is than what otherwise lies between arrivals.
    pub stop_gaps: f64,
    /// Fewest bytes on the way that make a socket's refusal a window's.
    pub window_bytes: u64,
    /// Share of a cell's runs that must agree.
    pub agreement: f64,
    /// Frames per delivery from which a reader on the page's thread was given several at a time.
    pub batched_frames_per_delivery: f64,
    /// How long after the call a request may reach the wire before something kept it.
    pub left_late: Span,
    /// Streams that a browser runs at once to one origin over HTTP/1.1.
    pub connections: u32,
    /// Reads of one release follow each other closer than this.
    pub same_release: Span,
    /// Fewest events whose arrivals alone show a pattern.
    pub least_events: u32,
    /// Fewest answers that must look alike before what one of them leaves open has a name.
    pub least_answers: usize,
    /// How far apart frames per read of two ways may be, as a ratio, for them to agree.
    pub alike: f64,
}

impl Thresholds {
    /// The thresholds in force.
    pub const fn standard() -> Thresholds {
        Thresholds {
            // The published floor of a clean path is 1.02 (one merged read in 41); four merged
            // reads in 41 are still noise on a shared machine.
            live_frames_per_read: 1.1,
            // A tenth of the shortest hold known from any proxy (the cork's 200 ms), and under
            // the 30 ms within which the public reports call an event "live".
            live_hold: Span::millis(20),
            // Half of the shortest known hold: a stall of the machine passes, a held beginning or
            // middle of a stream does not.
            live_longest: Span::millis(100),
            // The terminal frame may come in a delivery of its own after a held answer.
            held_share: 0.9,
            // Linux keeps a corked or MSG_MORE tail for 200 ms (TCP_CORK's documented ceiling);
            // measured 200–213 ms. A tenth below for the hold's own uncertainty, a timer tick
            // and a busy machine above.
            cork_min: Span::millis(180),
            cork_max: Span::millis(260),
            // A burst released by its own last frame shows that frame's plain transit time
            // (0.1–0.5 ms measured); a timer fires between frames.
            timer_last_hold: Span::micros(1_000),
            // Up to 16 µs were seen on an idle machine; a busy one may take the writer off its
            // processor between the two.
            stamp_early: Span::micros(200),
            // The tolerance for live: what releases it is the write, not a wait.
            released_hold: Span::millis(20),
            // A buffer's bursts differ by less than a frame, which is what they are held to;
            // frames of a quarter of the buffer are the largest that still make bursts of several.
            buffer_spread: 0.25,
            // Half as many writes as frames: not a merge now and then.
            origin_frames_per_write: 2.0,
            // A tenth: a constant latency of nearly an interval is no frame that waits for the next.
            behind_share: 0.1,
            pattern_share: 0.6,
            // As the longest hold of a live path: what lies under it a stall of the machine makes.
            stop: Span::millis(100),
            // What was on the way when it began still arrives, and what makes room at its end does
            // so a little before the emitter sees it; a link that is slow gives bytes all the time.
            stop_share: 0.8,
            // A link that gives its bytes in lumps stops between any two of them, and that is its
            // pace. Four such gaps are none of them.
            stop_gaps: 4.0,
            // The least of the windows in use: TCP's first one on Ethernet is 14,600 bytes, one of
            // HTTP/2 65,535.
            window_bytes: 14_600,
            agreement: 0.66,
            // Half as many deliveries as frames, as for the origin: a merge now and then is the
            // scheduler's. In a worker the stricter figure of the wire holds.
            batched_frames_per_delivery: 2.0,
            // Connecting on a busy machine takes some ten milliseconds; a request that waits for
            // another stream's end waits for most of a stream. What lies between nobody notices.
            left_late: Span::millis(100),
            // Chromium, Firefox and WebKit alike.
            connections: 6,
            // Reads of one 64 KB release were 20-300 µs apart; the fastest pace played is 5 ms.
            same_release: Span::millis(1),
            // Four waits: the fewest of which three in four can agree.
            least_events: 5,
            // One answer may be the model's own doing, two a coincidence.
            least_answers: 3,
            // Bursts of two and of three events, or of four and of six, may be one origin's twice.
            alike: 1.5,
        }
    }
}
