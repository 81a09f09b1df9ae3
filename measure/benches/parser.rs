//! Our parser beside `eventsource-stream` 0.2.3, on the same bytes in the same run.
//!
//! Both must find the same events: each case states how many, and how many bytes of text they
//! hold, and the bench fails when either parser says otherwise. Both yield text: ours is asked
//! for name, data and id as `str`, so the check of the UTF-8 is in its time too.
//!
//! The passes of the two alternate, and the best of each counts: what disturbs a pass only ever
//! slows it. The goal is a ratio of [`GOAL`] for every stream in slices of 4 KB and of 64 KB, which
//! is what reads bring when a reader is behind and speed counts; the exit status is 1 when it is
//! missed.
//!
//! The slicings differ in what they cost the other one: it moves the rest of its buffer at every
//! line, so a large slice is its worst case. One frame per slice, a stream that nothing holds up,
//! is its best; it is shown beside the others, outside the goal, so that nothing is hidden.

use std::convert::Infallible;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use eventsource_stream::Eventsource;
use futures_util::stream::{self, Stream};
use measure::sse::{Content, Parser};

/// Parsing must never be what an arrival waits for, and one core must follow many streams at
/// once: a tenth of what the parser in common use takes.
const GOAL: f64 = 10.0;

/// Long enough that timer resolution does not matter, short enough for many passes.
const STREAM_BYTES: usize = 2 << 20;

/// Passes of each parser per case: the best of them settles within the first few.
const PASSES: usize = 25;

/// What a parser found: the proof that it did the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    events: usize,
    text_bytes: usize,
}

impl Found {
    fn add(&mut self, name: &str, data: &str, id: &str) {
        self.events += 1;
        self.text_bytes += name.len() + data.len() + id.len();
    }
}

fn ours(slices: &[&[u8]]) -> Found {
    let mut found = Found::default();
    let mut parser = Parser::new();
    for slice in slices {
        parser.feed(slice, |frame| {
            if let Content::Event(event) = frame.content {
                found.add(&event.name(), &event.data(), &event.id());
            }
        });
    }
    found
}

fn theirs(slices: &[&[u8]]) -> Found {
    let mut found = Found::default();
    let slices = stream::iter(slices.iter().map(Ok::<_, Infallible>));
    let mut events = pin!(slices.eventsource());
    let mut context = Context::from_waker(Waker::noop());
    // Every slice is there at once: a stream that is pending here would never go on.
    while let Poll::Ready(Some(event)) = events.as_mut().poll_next(&mut context) {
        let event = event.expect("the bench's streams are well formed");
        found.add(&event.event, &event.data, &event.id);
    }
    found
}

/// One stream: `frame` gives the frame of a sequence number.
struct Case {
    name: &'static str,
    frame: fn(usize) -> String,
}

const RUN: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

const CASES: [Case; 3] = [
    Case {
        name: "60-byte frames",
        frame: |sequence| format!("id: {RUN}-{sequence:05}\ndata: t{sequence:05}\n\n"),
    },
    Case {
        name: "1.1 KB frames",
        frame: |sequence| format!("id: {RUN}-{sequence:05}\ndata: {}\n\n", "token ".repeat(175)),
    },
    Case {
        name: "250-byte chat frames",
        frame: |sequence| {
            format!(
                "data: {{\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\
                 \"object\":\"chat.completion.chunk\",\"created\":1741570283,\
                 \"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\",\
                 \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" t{sequence:05}\"}},\
                 \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
            )
        },
    },
];

#[derive(Clone, Copy)]
enum Slicing {
    Bytes(usize),
    OneFrame,
}

impl Slicing {
    fn name(self) -> String {
        match self {
            Slicing::Bytes(bytes) => format!("{} KB", bytes >> 10),
            Slicing::OneFrame => "one frame".to_owned(),
        }
    }

    fn cut<'a>(self, stream: &'a [u8], ends: &[usize]) -> Vec<&'a [u8]> {
        match self {
            Slicing::Bytes(bytes) => stream.chunks(bytes).collect(),
            Slicing::OneFrame => {
                let starts = std::iter::once(0).chain(ends.iter().copied());
                starts.zip(ends).map(|(start, end)| &stream[start..*end]).collect()
            }
        }
    }
}

/// Best time of `passes` passes of each parser, alternating.
fn race(slices: &[&[u8]], expected: Found, passes: usize) -> (Duration, Duration) {
    let timed = |parse: fn(&[&[u8]]) -> Found| {
        let start = Instant::now();
        let found = parse(std::hint::black_box(slices));
        let took = start.elapsed();
        assert_eq!(found, expected, "a parser lost something");
        took
    };
    let (mut best_ours, mut best_theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..passes {
        best_ours = best_ours.min(timed(ours));
        best_theirs = best_theirs.min(timed(theirs));
    }
    (best_ours, best_theirs)
}

fn main() -> ExitCode {
    // `cargo bench` says so; without it (`cargo test --benches`) one pass checks the counts only.
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let (stream_bytes, passes) = if measuring { (STREAM_BYTES, PASSES) } else { (64 << 10, 1) };

    if measuring {
        println!(
            "{:<22}{:<12}{:>12}{:>21}{:>8}",
            "stream", "slices", "holdup MB/s", "eventsource-stream", "ratio"
        );
    }
    let (mut worst, mut worst_single) = (f64::INFINITY, f64::INFINITY);
    for case in &CASES {
        let mut stream = String::new();
        let mut ends = Vec::new();
        while stream.len() < stream_bytes {
            stream.push_str(&(case.frame)(ends.len()));
            ends.push(stream.len());
        }
        let expected = Found { events: ends.len(), text_bytes: text_bytes(&stream, ends.len()) };
        for slicing in [Slicing::OneFrame, Slicing::Bytes(4 << 10), Slicing::Bytes(64 << 10)] {
            let slices = slicing.cut(stream.as_bytes(), &ends);
            let (ours, theirs) = race(&slices, expected, passes);
            if !measuring {
                continue;
            }
            let rate = |took: Duration| stream.len() as f64 / took.as_secs_f64() / 1e6;
            let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
            match slicing {
                Slicing::Bytes(_) => worst = worst.min(ratio),
                Slicing::OneFrame => worst_single = worst_single.min(ratio),
            }
            println!(
                "{:<22}{:<12}{:>12.0}{:>21.1}{:>7.1}x",
                case.name,
                slicing.name(),
                rate(ours),
                rate(theirs),
                ratio
            );
        }
    }
    if !measuring {
        println!("both parsers found every event; speed is measured by `cargo bench` only");
        return ExitCode::SUCCESS;
    }
    let met = worst >= GOAL;
    let outcome = if met { "met" } else { "MISSED" };
    println!(
        "goal: at least {GOAL}x eventsource-stream in 4 KB and 64 KB slices: {outcome}, {worst:.1}x at the least"
    );
    println!("outside the goal, one frame per slice: {worst_single:.1}x at the least");
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The text in the stream by plain counting: everything but field names and line ends, and the
/// name `message` of each event.
fn text_bytes(stream: &str, events: usize) -> usize {
    let values: usize =
        stream.lines().filter_map(|line| line.split_once(": ")).map(|(_, value)| value.len()).sum();
    values + events * "message".len()
}
