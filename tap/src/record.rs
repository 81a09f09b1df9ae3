//! Joins what a tap saw to the runs it belonged to.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use measure::frames::FrameReader;
use measure::{Arrivals, Delivery, End, Reader, RunId, Stamp};
use wire::decode::Decoder;
use wire::http1::ResponseFramer;

/// How many runs are kept: 25 MB of headline streams. The oldest goes first.
const RUNS_KEPT: usize = 4_096;
/// Longest request head that is looked at.
const MAX_REQUEST: usize = 64 * 1024;
/// How long the answer's side waits for the request's side to have read the run id. Both have
/// passed their bytes on by then; it is only the bookkeeping that waits.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Store {
    runs: HashMap<RunId, Arrivals>,
    order: VecDeque<RunId>,
}

/// What a tap saw, by run. Cloned handles share it.
#[derive(Clone, Default)]
pub struct Records(Arc<Mutex<Store>>);

impl Records {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen of a run so far.
    pub fn get(&self, run: RunId) -> Option<Arrivals> {
        self.lock().runs.get(&run).cloned()
    }

    fn update(&self, run: RunId, call: Stamp, change: impl FnOnce(&mut Arrivals)) {
        let mut store = self.lock();
        if let Entry::Vacant(place) = store.runs.entry(run) {
            place.insert(Arrivals::begin(run, Reader::Tap, call));
            store.order.push_back(run);
            if store.order.len() > RUNS_KEPT
                && let Some(oldest) = store.order.pop_front()
            {
                store.runs.remove(&oldest);
            }
        }
        if let Some(arrivals) = store.runs.get_mut(&run) {
            change(arrivals);
        }
    }
}

/// Requests of one connection whose answers have not begun: the run each names, if any.
#[derive(Default)]
pub(crate) struct Asked {
    queue: Mutex<VecDeque<(Option<RunId>, Stamp)>>,
    came: Condvar,
}

impl Asked {
    fn push(&self, run: Option<RunId>, at: Stamp) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back((run, at));
        self.came.notify_one();
    }

    fn next(&self) -> Option<(Option<RunId>, Stamp)> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut queue, _) = self
            .came
            .wait_timeout_while(queue, PATIENCE, |queue| queue.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    }
}

/// Reads the request heads of one connection after they were passed on.
#[derive(Default)]
pub(crate) struct Requests {
    head: Vec<u8>,
    body_left: u64,
}

impl Requests {
    pub(crate) fn feed(&mut self, bytes: &[u8], at: Stamp, asked: &Asked) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.body_left > 0 {
                let skip = rest.len().min(usize::try_from(self.body_left).unwrap_or(usize::MAX));
                self.body_left -= skip as u64;
                rest = &rest[skip..];
                continue;
            }
            let before = self.head.len();
            self.head.extend_from_slice(rest);
            let Some(end) = self.head.windows(4).position(|w| w == b"\r\n\r\n") else {
                if self.head.len() > MAX_REQUEST {
                    // Not a request we could follow; what comes after it is not ours either.
                    self.head.clear();
                }
                return;
            };
            let used = end + 4 - before;
            let (run, length) = parse(&self.head[..end + 4]);
            self.head.clear();
            self.body_left = length;
            asked.push(run, at);
            rest = &rest[used..];
        }
    }
}

/// The run a request's query names and the length of its body.
fn parse(head: &[u8]) -> (Option<RunId>, u64) {
    let mut fields = [httparse::EMPTY_HEADER; wire::http1::MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    if request.parse(head).is_err() {
        return (None, 0);
    }
    let query = request.path.and_then(|path| path.split_once('?')).map_or("", |(_, query)| query);
    let run = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("run="))
        .and_then(|run| run.parse().ok());
    let length = request
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("content-length"))
        .and_then(|field| std::str::from_utf8(field.value).ok()?.trim().parse().ok())
        .unwrap_or(0);
    (run, length)
}

/// Reads the answers of one connection after they were passed on.
pub(crate) struct Answers {
    records: Records,
    framer: ResponseFramer,
    present: Option<Present>,
    broken: bool,
}

struct Present {
    run: RunId,
    call: Stamp,
    frames: FrameReader,
    /// Made with the head; gone for an encoding or bytes that cannot be decoded.
    decoder: Option<Decoder>,
}

impl Answers {
    pub(crate) fn new(records: Records) -> Answers {
        Answers { records, framer: ResponseFramer::new(), present: None, broken: false }
    }

    /// Enters one read: its stamps and bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], delivery: &Delivery, asked: &Asked) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.broken {
            if self.present.is_none() && self.framer.head().is_none() {
                self.begin(asked);
            }
            let had_head = self.framer.head().is_some();
            let mut body = Vec::new();
            match self.framer.feed(rest, |part| body.extend_from_slice(part)) {
                Ok(used) => {
                    self.enter(&rest[..used], &body, had_head, delivery);
                    rest = &rest[used..];
                }
                Err(error) => {
                    self.broken = true;
                    self.finish(End::Failed { what: error.to_string() }, delivery.at);
                }
            }
            if self.framer.is_done() {
                self.finish(End::Closed, delivery.at);
            }
        }
    }

    fn begin(&mut self, asked: &Asked) {
        // An answer to a request that names no run is followed, too, so that the next one's
        // start is known; it is just not kept.
        if let Some((Some(run), call)) = asked.next() {
            let frames = FrameReader::new(run);
            self.present = Some(Present { run, call, frames, decoder: None });
            self.records.update(run, call, |_| ());
        }
    }

    fn enter(&mut self, bytes: &[u8], body: &[u8], had_head: bool, delivery: &Delivery) {
        let Some(present) = &mut self.present else { return };
        let head = self.framer.head().filter(|_| !had_head);
        if let Some(head) = head {
            present.decoder = Decoder::new(head.header("content-encoding")).ok();
        }
        let (mut frames, mut decoded) = (Vec::new(), 0);
        let reader = &mut present.frames;
        let fed = present.decoder.as_mut().map(|decoder| {
            decoder.feed(body, |ready| {
                decoded += ready.len() as u64;
                frames.extend(reader.feed(ready));
            })
        });
        if matches!(fed, Some(Err(_))) {
            // The reader behind the tap says what is wrong with it; the stamps still count.
            present.decoder = None;
        }
        let foreign = present.frames.foreign_frames();
        let delivery = Delivery {
            bytes: Some(bytes.len() as u64),
            body_bytes: Some(decoded),
            frames,
            ..delivery.clone()
        };
        self.records.update(present.run, present.call, |arrivals| {
            if let Some(head) = head {
                arrivals.head = Some(delivery.at);
                arrivals.status = Some(head.status);
                arrivals.content_type = head.header("content-type").map(String::from);
                arrivals.content_encoding = head.header("content-encoding").map(String::from);
            }
            arrivals.foreign_frames = foreign;
            arrivals.ended = delivery.at;
            arrivals.deliveries.push(delivery);
        });
    }

    fn finish(&mut self, end: End, at: Stamp) {
        self.framer = ResponseFramer::new();
        if let Some(present) = self.present.take() {
            let tail = present.frames.finish();
            self.records.update(present.run, present.call, |arrivals| {
                arrivals.end = end;
                arrivals.ended = at;
                arrivals.tail_bytes = tail;
            });
        }
    }

    /// The connection ended.
    pub(crate) fn close(&mut self, at: Stamp) {
        let whole = self.framer.close_is_the_end();
        self.finish(if whole { End::Closed } else { End::Cut }, at);
    }
}

/// Notes the segment size of the tap's own connection on a run's record.
pub(crate) fn note_segment(records: &Records, run: RunId, bytes: Option<u32>) {
    if let Some(arrivals) = records.lock().runs.get_mut(&run) {
        arrivals.segment_bytes = bytes;
    }
}

impl Answers {
    /// The run whose answer is being read.
    pub(crate) fn run(&self) -> Option<RunId> {
        self.present.as_ref().map(|present| present.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunId = RunId(0xa1);

    fn request(run: RunId) -> Vec<u8> {
        format!("GET /stream?frames=2&run={run} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes()
    }

    fn answer(run: RunId) -> Vec<u8> {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for (_, frame) in measure::Script::paced(2, measure::Span::ZERO, 60).unwrap().player(run) {
            bytes.extend_from_slice(format!("{:x}\r\n", frame.len()).as_bytes());
            bytes.extend_from_slice(&frame);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    #[test]
    fn two_answers_on_one_connection_are_told_apart_at_any_cut() {
        let other = RunId(0xb2);
        for step in [1, 30, 200, 1_000] {
            let (records, asked) = (Records::default(), Asked::default());
            let mut requests = Requests::default();
            for part in [request(RUN), request(other)].concat().chunks(step) {
                requests.feed(part, Stamp(1), &asked);
            }
            let mut answers = Answers::new(records.clone());
            let both = [answer(RUN), answer(other)].concat();
            for (index, part) in both.chunks(step).enumerate() {
                answers.feed(part, &Delivery::at(Stamp(10 + index as i64)), &asked);
            }
            for run in [RUN, other] {
                let seen = records.get(run).unwrap();
                assert_eq!(seen.frames().count(), 2, "{run} in steps of {step}");
                assert_eq!((seen.end.clone(), seen.status), (End::Closed, Some(200)));
                let bytes: u64 = seen.deliveries.iter().filter_map(|d| d.bytes).sum();
                assert_eq!(bytes as usize, answer(run).len());
            }
        }
    }

    #[test]
    fn frames_of_a_compressed_answer_are_seen_too() {
        use std::io::Write as _;
        let plain = answer(RUN);
        let body: Vec<u8> = measure::Script::paced(2, measure::Span::ZERO, 60)
            .unwrap()
            .player(RUN)
            .flat_map(|(_, bytes)| bytes)
            .collect();
        assert!(plain.len() > body.len());
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        coder.write_all(&body).unwrap();
        let coded = coder.finish().unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            coded.len()
        );
        let (records, asked) = (Records::default(), Asked::default());
        Requests::default().feed(&request(RUN), Stamp(1), &asked);
        let mut answers = Answers::new(records.clone());
        answers.feed(&[head.as_bytes(), &coded].concat(), &Delivery::at(Stamp(5)), &asked);
        let seen = records.get(RUN).unwrap();
        assert_eq!((seen.frames().count(), seen.end), (2, End::Closed));
    }

    #[test]
    fn a_request_with_a_body_does_not_shift_the_next_one() {
        let asked = Asked::default();
        let mut requests = Requests::default();
        let post = b"POST /x HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /".as_slice();
        requests.feed(&[post, &request(RUN)].concat(), Stamp(1), &asked);
        assert_eq!(asked.next(), Some((None, Stamp(1))));
        assert_eq!(asked.next(), Some((Some(RUN), Stamp(1))));
    }

    #[test]
    fn a_connection_that_ends_early_is_cut() {
        let (records, asked) = (Records::default(), Asked::default());
        Requests::default().feed(&request(RUN), Stamp(1), &asked);
        let mut answers = Answers::new(records.clone());
        answers.feed(&answer(RUN)[..130], &Delivery::at(Stamp(5)), &asked);
        answers.close(Stamp(9));
        let seen = records.get(RUN).unwrap();
        assert_eq!((seen.end, seen.ended), (End::Cut, Stamp(9)));
    }

    #[test]
    fn the_oldest_runs_make_room() {
        let records = Records::default();
        for run in 0..=RUNS_KEPT as u128 {
            records.update(RunId(run), Stamp(0), |_| ());
        }
        assert!(records.get(RunId(0)).is_none());
        assert!(records.get(RunId(1)).is_some());
    }
}
