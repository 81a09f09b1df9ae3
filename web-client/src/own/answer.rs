//! One answer from both sides: the reads on the wire at the gateway, and the deliveries in the
//! page, joined by where in the body their frames end.

use measure::arrivals::{Arrivals, Delivery, End, FrameMark, Reader};
use measure::clock::ClockSync;
use measure::stats::median;
use measure::{RunId, Span, Stamp};

use super::carrier::{Carrier, Piece};

/// A delivery in the page, by the page's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// When, microseconds.
    pub at_us: i64,
    /// Offset in the body, one past its last byte.
    pub end: u64,
}

/// When what came at one side, counted from that side's call. What did not come is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Firsts {
    /// The first byte of the body.
    pub byte: Option<Span>,
    /// The first event of any kind.
    pub event: Option<Span>,
    /// The first event with a token, be it one that is not seen.
    pub token: Option<Span>,
    /// The first event with text that is seen: the TTFT.
    pub text: Option<Span>,
}

/// The figures of one side of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// When what came.
    pub firsts: Firsts,
    /// Time between events with text; 0 within one delivery.
    pub gaps: Vec<Span>,
    /// Events of any kind.
    pub events: u32,
    /// Reads or deliveries that completed one.
    pub deliveries: u32,
    /// Events with text, and the deliveries that they came in.
    pub text: (u32, u32),
}

impl Figures {
    /// The figures of a side. A first token that is not seen is known to whoever reads payloads.
    pub fn of(arrivals: &Arrivals, token: Option<Span>) -> Figures {
        let call = arrivals.call;
        let time = |delivery: &Delivery| delivery.arrived() - call;
        let first = |wanted: fn(&FrameMark) -> bool| {
            arrivals.frames().find(|(_, mark)| wanted(mark)).map(|(delivery, _)| time(delivery))
        };
        let with = |wanted: fn(&FrameMark) -> bool| {
            let count = |delivery: &Delivery| delivery.frames.iter().filter(|m| wanted(m)).count();
            let counts = arrivals.deliveries.iter().map(count);
            counts.filter(|n| *n > 0).fold((0, 0), |(all, own), n| (all + n as u32, own + 1))
        };
        let text = first(|mark| mark.text);
        let body = |delivery: &&Delivery| delivery.body_bytes.is_some_and(|bytes| bytes > 0);
        let texts: Vec<Span> =
            arrivals.frames().filter(|(_, mark)| mark.text).map(|(own, _)| time(own)).collect();
        let (events, deliveries) = with(|mark| mark.event);
        Figures {
            firsts: Firsts {
                byte: arrivals.deliveries.iter().find(body).map(time),
                event: first(|mark| mark.event),
                // The gateway's reader stamps a token when it had it, the kernel when it came.
                token: token.map_or(text, |token| Some(text.map_or(token, |text| token.min(text)))),
                text,
            },
            gaps: texts.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            events,
            deliveries,
            text: with(|mark| mark.text),
        }
    }

    /// Events per delivery that completed one; absent without one.
    pub fn per_delivery(&self) -> Option<f64> {
        (self.deliveries > 0).then(|| f64::from(self.events) / f64::from(self.deliveries))
    }

    /// Whether all text came at once; absent where one event with text cannot tell.
    pub fn at_once(&self) -> Option<bool> {
        (self.text.0 > 1).then_some(self.text.1 == 1)
    }

    /// The median gap and the longest.
    pub fn gap(&self) -> Option<(Span, Span)> {
        Some((median(&self.gaps)?, self.gaps.iter().copied().max()?))
    }
}

/// What the page itself read of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The call, and the response's head, the page's clock in microseconds.
    pub call_us: i64,
    /// See there.
    pub head_us: Option<i64>,
    /// The status that the page was told: the gateway's own where it went through it.
    pub status: Option<u16>,
    /// The content type, as the page was told.
    pub content_type: Option<String>,
    /// The deliveries.
    pub came: Vec<Came>,
    /// What was found in them, without its text.
    pub marks: Vec<FrameMark>,
    /// Offset of the first event with a token.
    pub token_end: Option<u64>,
    /// The text so far.
    pub text: String,
    /// An error that the answer told.
    pub error: Option<String>,
    /// What carries it.
    pub carrier: Option<Carrier>,
    /// How it ended; absent while it runs.
    pub end: Option<End>,
    /// When, the page's clock.
    pub ended_us: i64,
    /// Bytes of an event that was cut.
    pub tail: u64,
}

impl Page {
    /// An answer that is asked for now.
    pub fn begin(call_us: i64) -> Page {
        Page {
            call_us,
            head_us: None,
            status: None,
            content_type: None,
            came: Vec::new(),
            marks: Vec::new(),
            token_end: None,
            text: String::new(),
            error: None,
            carrier: None,
            end: None,
            ended_us: call_us,
            tail: 0,
        }
    }

    /// Notes a frame.
    pub fn note(&mut self, piece: Piece) {
        let Piece { end, event, facts } = piece;
        if facts.has_token() && self.token_end.is_none() {
            self.token_end = Some(end);
        }
        self.marks.push(FrameMark {
            seq: None,
            event,
            text: !facts.text.is_empty(),
            terminal: facts.terminal,
            end: Some(end),
        });
        self.text.push_str(&facts.text);
        self.error = self.error.take().or(facts.error);
    }

    /// The delivery that brought the byte before that offset.
    pub fn delivery_of(&self, end: u64) -> Option<usize> {
        let place = self.came.partition_point(|came| came.end < end);
        (place < self.came.len()).then_some(place)
    }

    /// The page's side as arrivals, with these frames, by the shared clock.
    pub fn arrivals(&self, run: RunId, clock: ClockSync, marks: &[FrameMark]) -> Arrivals {
        let shared = |us: i64| clock.to_shared(us);
        let mut arrivals = Arrivals::begin(run, Reader::Fetch, shared(self.call_us));
        let mut before = 0;
        for came in &self.came {
            let bytes = came.end - before;
            before = came.end;
            arrivals.deliveries.push(Delivery {
                bytes: Some(bytes),
                body_bytes: Some(bytes),
                ..Delivery::at(shared(came.at_us))
            });
        }
        for mark in marks {
            let place = mark.end.and_then(|end| self.delivery_of(end));
            if let Some(place) = place {
                arrivals.deliveries[place].frames.push(*mark);
            }
        }
        arrivals.head = self.head_us.map(shared);
        arrivals.status = self.status;
        arrivals.content_type.clone_from(&self.content_type);
        arrivals.end = self.end.clone().unwrap_or(End::Cut);
        arrivals.ended = shared(self.ended_us);
        arrivals.tail_bytes = self.tail;
        arrivals.clock = Some(clock);
        arrivals
    }

    /// When the first token came, after the call.
    pub fn token(&self) -> Option<Span> {
        let place = self.delivery_of(self.token_end?)?;
        Some(Span(self.came[place].at_us - self.call_us))
    }
}

/// How long each frame took from the gateway's hand to the page.
pub fn holds(wire: &Arrivals, page: &Arrivals) -> Vec<Span> {
    let at: Vec<(u64, Stamp)> =
        page.frames().filter_map(|(delivery, mark)| Some((mark.end?, delivery.at))).collect();
    let hold = |(delivery, mark): (&Delivery, &FrameMark)| {
        let (end, from) = (mark.end?, delivery.forwarded?);
        let place = at.binary_search_by_key(&end, |(end, _)| *end).ok()?;
        Some(at[place].1 - from)
    };
    wire.frames().filter_map(hold).collect()
}
