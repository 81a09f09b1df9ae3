//! Windows of HTTP/2: a stream's own against its connection's, and whom one slow stream stops.

use measure::cell::{Cell, Link, Pause, Request};
use measure::frames::FrameReader;
use measure::guards::Guards;
use measure::ledger::{Refusal, Wait};
use measure::verdict::{Finding, Thresholds, Verdict, of_run};
use measure::{Arrivals, Delivery, End, Ledger, Measurement, Reader, RunId, Script, Span, Stamp};

use crate::client::{Client, Speaks, WINDOW};
use crate::{done, emitter};

/// For how long the slow stream's reader gives nothing back.
const STOP: Span = Span::millis(600);
const SLOW: u32 = 1;
const NEIGHBOUR: u32 = 3;
const FRAMES: u32 = 60;

/// What one stream of the connection brought.
struct Stream {
    run: RunId,
    reader: FrameReader,
    arrivals: Arrivals,
    script: Script,
}

impl Stream {
    fn ask(client: &mut Client, stream: u32, run: RunId, bytes: u32) -> Stream {
        let query = format!("frames={FRAMES}&interval_ms=20&frame_bytes={bytes}");
        let mut arrivals = Arrivals::begin(run, Reader::Recv, emitter::now());
        arrivals.status = Some(200);
        client.get(stream, &format!("/stream?run={run}&{query}"));
        let script = Script::paced(FRAMES, Span::millis(20), bytes).unwrap();
        Stream { run, reader: FrameReader::new(run), arrivals, script }
    }

    fn took(&mut self, at: Stamp, data: &[u8]) {
        let frames = self.reader.feed(data);
        let bytes = Some(data.len() as u64);
        self.arrivals.deliveries.push(Delivery {
            bytes,
            body_bytes: bytes,
            frames,
            ..Delivery::at(at)
        });
    }

    /// Its verdict, and the ledger's longest wait.
    fn judge(mut self, ledger: &Ledger) -> (Finding, Option<Wait>) {
        self.arrivals.end = End::Closed;
        self.arrivals.ended = emitter::now();
        let pause = Pause { after_bytes: 0, pause_us: STOP, window_bytes: None };
        let cell = Cell {
            endpoint: "direct".into(),
            preset: "made".into(),
            reader: Reader::Recv,
            engine: None,
            request: Request {
                pause: Some(pause),
                client_protocol: "h2c".into(),
                ..Request::plain()
            },
            link: Link { mss: None, pooled: None, nagle: false },
            concurrency: 1,
            stream: None,
            page_work_us: None,
            script: self.script,
        };
        if let Some(excluded) = Guards::default().check(&cell, Some(ledger), &self.arrivals) {
            println!("SKIPPED(void: {}: {})", self.run, excluded.why());
            let void = Finding::new(Verdict::Void, excluded.why());
            return (void, None);
        }
        let measured = Measurement::join(Some(ledger), &self.arrivals).of_cell(&cell);
        let found = of_run(&measured, &Thresholds::standard());
        let longest = ledger.waits.iter().max_by_key(|wait| wait.until.map(|to| to - wait.since));
        (found, longest.copied())
    }
}

/// Plays a large stream and a small one on one connection. The large one's window gets no more room
/// for a time; the connection's gets room for what the large one took only if `connection`.
fn play(speaks: Speaks, base: u128, connection: bool) -> [(Finding, Option<Wait>); 2] {
    let (emitter, authority) = emitter();
    let mut client = Client::connect(&emitter, &authority, speaks);
    let mut slow = Stream::ask(&mut client, SLOW, RunId(base), 4_096);
    let mut neighbour = Stream::ask(&mut client, NEIGHBOUR, RunId(base + 1), 200);
    let (mut kept, mut stopped, mut ended) = (0, None, 0);
    while ended < 2 {
        let piece = client.next().unwrap();
        let at = emitter::now();
        for (stream, data) in &piece.data {
            let own = if *stream == SLOW { &mut slow } else { &mut neighbour };
            own.took(at, data);
            let bytes = data.len() as u32;
            if bytes == 0 {
                continue;
            }
            let keeps = *stream == SLOW && stopped.is_none();
            match (keeps, connection) {
                (false, _) => {
                    client.more_window(0, bytes);
                    client.more_window(*stream, bytes);
                }
                (true, true) => client.more_window(0, bytes),
                (true, false) => {}
            }
            if keeps {
                kept += bytes;
            }
        }
        // Nothing comes on either stream once the connection's window is used up: the reader
        // sleeps; with the stream's own it goes on reading the neighbour.
        let used = kept as usize + if connection { 0 } else { 4_096 };
        if stopped.is_none() && used >= WINDOW {
            let since = emitter::now();
            while emitter::now() - since < STOP {
                if !connection {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    continue;
                }
                let piece = client.next().unwrap();
                let at = emitter::now();
                for (stream, data) in &piece.data {
                    assert_eq!(*stream, NEIGHBOUR, "the slow one has no window");
                    neighbour.took(at, data);
                    client.more_window(0, data.len() as u32);
                    client.more_window(NEIGHBOUR, data.len() as u32);
                }
            }
            stopped = Some(since);
            client.more_window(0, if connection { 1 } else { kept });
            client.more_window(SLOW, kept);
        }
        ended += piece.ended.len();
    }
    let ledgers = [done(&emitter, slow.run), done(&emitter, neighbour.run)];
    [slow.judge(&ledgers[0]), neighbour.judge(&ledgers[1])]
}

#[test]
fn a_streams_own_window_stops_that_stream_alone() {
    for (speaks, base) in [(Speaks::H2c, 900), (Speaks::H2Tls, 910)] {
        let [(slow, wait), (neighbour, _)] = play(speaks, base, true);
        if [slow.name, neighbour.name].contains(&Verdict::Void) {
            continue;
        }
        assert_eq!(slow.name, Verdict::FlowControl, "{}", slow.because);
        let wait = wait.unwrap();
        assert_eq!((wait.by, wait.bytes), (Refusal::Window, WINDOW as u64), "{wait:?}");
        assert!(wait.connection_bytes.unwrap() > wait.bytes, "the neighbour's are among them");
        assert_ne!(neighbour.name, Verdict::FlowControl, "{}", neighbour.because);
    }
}

#[test]
fn a_connections_window_stops_the_neighbour_too() {
    for (speaks, base) in [(Speaks::H2c, 920), (Speaks::H2Tls, 930)] {
        let [(slow, _), (neighbour, wait)] = play(speaks, base, false);
        if [slow.name, neighbour.name].contains(&Verdict::Void) {
            continue;
        }
        for found in [&slow, &neighbour] {
            assert_eq!(found.name, Verdict::FlowControl, "{}", found.because);
            assert!(found.because.contains("connection's streams had"), "{}", found.because);
        }
        // Far from its own window: it waited for what its neighbour had taken.
        let wait = wait.unwrap();
        assert_eq!(wait.by, Refusal::Window);
        assert!(wait.bytes < WINDOW as u64 / 2, "{wait:?}");
        assert!(wait.connection_bytes.unwrap() >= WINDOW as u64, "{wait:?}");
    }
}
