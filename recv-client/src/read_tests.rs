//! The reader against a scripted socket: each entry is one successful `recv()`.

use super::*;
use measure::{Measurement, Script, Span};
use std::collections::VecDeque;
use wire::{Read, Write};

enum Step {
    Bytes(Vec<u8>),
    Silence,
    Reset,
}

struct Fake {
    steps: VecDeque<Step>,
    clock: i64,
}

impl Socket for Fake {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let entered = Moment::from_micros(self.clock);
        self.clock += 50_000;
        let at = Moment::from_micros(self.clock);
        let bytes = match self.steps.pop_front() {
            Some(Step::Bytes(bytes)) => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                bytes.len()
            }
            Some(Step::Silence) => return Err(io::ErrorKind::WouldBlock.into()),
            Some(Step::Reset) => return Err(io::ErrorKind::ConnectionReset.into()),
            None => 0,
        };
        Ok(Read { bytes, entered, at, kernel: Some(at) })
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<Write> {
        let now = Moment::from_micros(self.clock);
        Ok(Write { bytes: bytes.len(), before: now, after: now })
    }
}

const RUN: RunId = RunId(3);
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn frames(count: u32) -> Vec<Vec<u8>> {
    Script::paced(count, Span::ZERO, 60).unwrap().player(RUN).map(|(_, bytes)| bytes).collect()
}

fn follow(fake: &mut Fake, arrivals: &mut Arrivals, sink: Sink<'_>) -> End {
    let response = Response::of(Line::plain(), FrameReader::new(RUN), sink);
    let mut ask = Ask::plain(([127, 0, 0, 1], 9).into(), "/");
    ask.options.read_timeout = Some(Duration::from_secs(1));
    response.follow(fake, arrivals, &mut Told::default(), &ask)
}

fn follow_steps(steps: Vec<Step>) -> Arrivals {
    let mut arrivals = Arrivals::begin(RUN, Reader::Recv, Stamp(0));
    let mut fake = Fake { steps: steps.into(), clock: 0 };
    arrivals.end = follow(&mut fake, &mut arrivals, &mut |_, _| ());
    arrivals
}

#[test]
fn frames_belong_to_the_read_that_completed_them() {
    let frames = frames(4);
    let all = chunk(&frames[1]);
    let steps = vec![
        Step::Bytes(HEAD.to_vec()),
        Step::Bytes(chunk(&frames[0])),
        Step::Bytes(all[..20].to_vec()),
        Step::Bytes([&all[20..], &chunk(&frames[2]), &chunk(&frames[3])].concat()),
        Step::Bytes(b"0\r\n\r\n".to_vec()),
    ];
    let arrivals = follow_steps(steps);
    assert_eq!(arrivals.end, End::Closed);
    let per_read: Vec<usize> = arrivals.deliveries.iter().map(|d| d.frames.len()).collect();
    assert_eq!(per_read, [0, 1, 0, 3, 0]);
    assert_eq!(arrivals.deliveries[0].body_bytes, Some(0));
    let measured = Measurement::join(None, &arrivals);
    assert_eq!((measured.frames, measured.deliveries, measured.reads), (4, 2, 5));
    assert_eq!(measured.frames_per_read(), Some(2.0));
    assert_eq!(measured.head, Some(Span::millis(50)));
    assert_eq!(measured.first_byte, Some(Span::millis(100)));
    assert_eq!(measured.ttft, Some(Span::millis(100)));
    assert_eq!(measured.gaps, [Span::millis(100), Span::ZERO, Span::ZERO]);
}

#[test]
fn compressed_frames_are_joined_to_socket_reads_too() {
    use std::io::Write as _;
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut at = 0;
    let head = [HEAD.strip_suffix(b"\r\n").unwrap(), b"Content-Encoding: gzip\r\n\r\n"].concat();
    let mut steps = vec![Step::Bytes(head)];
    for frame in frames(3) {
        coder.write_all(&frame).unwrap();
        coder.flush().unwrap();
        steps.push(Step::Bytes(chunk(&coder.get_ref()[at..])));
        at = coder.get_ref().len();
    }
    let all = coder.finish().unwrap();
    steps.push(Step::Bytes([&chunk(&all[at..])[..], b"0\r\n\r\n"].concat()));
    let arrivals = follow_steps(steps);
    assert_eq!(arrivals.end, End::Closed);
    let per_read: Vec<usize> = arrivals.deliveries.iter().map(|d| d.frames.len()).collect();
    assert_eq!(per_read, [0, 1, 1, 1, 0]);
    assert_eq!(arrivals.content_encoding.as_deref(), Some("gzip"));
}

#[test]
fn the_sink_is_given_each_reads_body_once_with_the_reads_time() {
    let frames = frames(3);
    let steps = [
        HEAD.to_vec(),
        chunk(&frames[0]),
        [chunk(&frames[1]), chunk(&frames[2])].concat(),
        b"0\r\n\r\n".to_vec(),
    ];
    let mut given = Vec::new();
    let mut sink = |at: Stamp, bytes: &[u8]| given.push((at, bytes.to_vec()));
    let mut arrivals = Arrivals::begin(RUN, Reader::Recv, Stamp(0));
    let mut fake = Fake { steps: steps.map(Step::Bytes).into(), clock: 0 };
    follow(&mut fake, &mut arrivals, &mut sink);
    let whole = |range: std::ops::Range<usize>| frames[range].concat();
    assert_eq!(given, [(Stamp(100_000), whole(0..1)), (Stamp(150_000), whole(1..3))]);
}

#[test]
fn every_way_to_end_has_its_name() {
    let start = || vec![Step::Bytes(HEAD.to_vec()), Step::Bytes(chunk(&frames(2)[0]))];
    let with = |step: Option<Step>| follow_steps(start().into_iter().chain(step).collect()).end;
    assert_eq!(with(None), End::Cut);
    assert_eq!(with(Some(Step::Silence)), End::TimedOut { limit_us: 1_000_000 });
    let End::Failed { what } = with(Some(Step::Reset)) else { panic!("failed") };
    assert!(what.starts_with("the connection broke while reading: "), "{what}");
    let End::Failed { what } = with(Some(Step::Bytes(b"zz\r\n".to_vec()))) else {
        panic!("failed")
    };
    assert_eq!(what, "bad chunk size \"zz\"");
    let close = b"HTTP/1.0 200 OK\r\n\r\ndata: x\n\n".to_vec();
    assert_eq!(follow_steps(vec![Step::Bytes(close)]).end, End::Closed);
}

#[test]
fn a_refused_connection_is_an_end_not_a_panic() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let arrivals = read(&Ask::plain(free, "/stream"), RUN);
    let End::Failed { what } = &arrivals.end else { panic!("failed") };
    assert!(what.starts_with(&format!("connect {free}")), "{what}");
}

#[test]
fn an_unfinished_event_is_reported() {
    let steps = vec![Step::Bytes([HEAD, &chunk(b"data: x\n")[..], b"0\r\n\r\n"].concat())];
    assert_eq!(follow_steps(steps).tail_bytes, 8);
}

#[test]
fn a_stream_of_single_bytes_has_an_end() {
    let steps = std::iter::once(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let steps = steps.chain(std::iter::repeat_n(vec![b'.'], MOST_READS + 10));
    let arrivals = follow_steps(steps.map(Step::Bytes).collect());
    let End::Failed { what } = &arrivals.end else { panic!("failed") };
    assert_eq!(what, "it took more than 262144 reads");
    assert_eq!(arrivals.deliveries.len(), MOST_READS + 1);
}
