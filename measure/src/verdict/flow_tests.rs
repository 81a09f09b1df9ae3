//! Streams that stop, by construction, and what only looks like it.

use crate::cell::{Cell, Link, Pause, Request};
use crate::fixtures::{self, START};
use crate::guards::Guards;
use crate::ledger::{Refusal, Wait};
use crate::script::Script;
use crate::units::{Span, Stamp};
use crate::verdict::{Finding, Thresholds, Verdict, of_run};
use crate::{Arrivals, Ledger, Measurement, Reader, Transport};

/// 60 frames of 1,024 bytes, 10 ms apart.
fn script() -> Script {
    Script::paced(60, Span::millis(10), 1_024).unwrap()
}

const fn at(ms: i64) -> Stamp {
    Stamp(START + ms * 1_000)
}

/// A ledger whose frames from `seq` on waited until `until`: refused at their due time, and then
/// written one after the other.
fn stopped(by: Refusal, seq: u32, until: Stamp) -> Ledger {
    let mut ledger = fixtures::ledger(&script());
    let mut free = until;
    for entry in ledger.entries.iter_mut().skip(seq as usize) {
        let begin = entry.due.max(free);
        (entry.before, entry.after) = (begin, begin + Span(30));
        free = entry.after;
    }
    let bytes = 1_024 * u64::from(seq);
    let connection_bytes = (by == Refusal::Window).then_some(bytes);
    let since = ledger.entries[seq as usize].due + Span(40);
    ledger.waits = vec![Wait { seq, by, since, until: Some(until), bytes, connection_bytes }];
    ledger
}

fn cell(pause: Option<Pause>) -> Cell {
    Cell {
        endpoint: "direct".into(),
        preset: "made".into(),
        reader: Reader::Recv,
        engine: None,
        request: Request { pause, ..Request::plain() },
        link: Link { mss: None, pooled: None, nagle: false },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script: script(),
    }
}

fn judged(ledger: &Ledger, arrivals: &Arrivals, pause: Option<Pause>) -> Finding {
    let cell = cell(pause);
    assert_eq!(Guards::default().check(&cell, Some(ledger), arrivals), None);
    let measured = Measurement::join(Some(ledger), arrivals).of_cell(&cell);
    of_run(&measured, &Thresholds::standard())
}

const PAUSE: Option<Pause> =
    Some(Pause { after_bytes: 1_024, pause_us: Span::millis(300), window_bytes: Some(20_480) });

#[test]
fn a_window_that_is_used_up_is_flow_control_whoever_reads() {
    let ledger = stopped(Refusal::Window, 20, at(500));
    let mut arrivals = fixtures::live(&ledger);
    for (pause, says) in [(None, "then it went on"), (PAUSE, "the reader had stopped on purpose")] {
        let paused = pause.map(|_| (at(150), at(500)));
        arrivals.transport = Some(Transport { paused, ..Transport::default() });
        let found = judged(&ledger, &arrivals, pause);
        assert_eq!(found.name, Verdict::FlowControl, "{}", found.because);
        assert!(found.because.starts_with("after 20480 bytes no window"), "{found:?}");
        assert!(found.because.contains("waited 300 ms"), "{found:?}");
        assert!(found.because.contains(says), "{found:?}");
    }
}

#[test]
fn a_neighbour_that_used_the_connections_window_up_is_in_the_figures() {
    let mut ledger = stopped(Refusal::Window, 5, at(400));
    ledger.waits[0].connection_bytes = Some(65_535);
    let found = judged(&ledger, &fixtures::live(&ledger), None);
    assert_eq!(found.name, Verdict::FlowControl);
    assert!(found.because.contains("its connection's streams had 65535 together"), "{found:?}");
}

/// On HTTP/1 the reader takes nothing meanwhile: all that the kernels hold arrives at its end.
#[test]
fn a_full_socket_is_flow_control_when_a_windows_worth_is_on_the_way() {
    let ledger = stopped(Refusal::Socket, 30, at(600));
    let from = |seq: u32| {
        fixtures::arrivals(&ledger, |own| match own {
            own if own < seq => 150,
            own if own < 30 => {
                (at(600) + Span(50) - ledger.entries[own as usize].after).as_micros()
            }
            _ => 150,
        })
    };
    let found = judged(&ledger, &from(4), PAUSE);
    assert_eq!(found.name, Verdict::FlowControl, "{}", found.because);
    assert!(found.because.contains("with 26624 bytes on the way"), "{}", found.because);
    // A network that lost something stops as well, and nobody has stopped reading.
    let mut congested = ledger.clone();
    congested.waits.iter_mut().for_each(|wait| wait.by = Refusal::Congestion);
    let found = judged(&congested, &from(4), PAUSE);
    assert_ne!(found.name, Verdict::FlowControl, "{}", found.because);
    // A few frames on the way are no window.
    let found = judged(&ledger, &from(28), PAUSE);
    assert_ne!(found.name, Verdict::FlowControl, "{}", found.because);
}

#[test]
fn what_a_path_takes_is_never_flow_control() {
    let ledger = fixtures::ledger(&script());
    for arrivals in [
        fixtures::live(&ledger),
        fixtures::held(&ledger),
        fixtures::corked(&ledger, Span::millis(204)),
        fixtures::arrivals(&ledger, |seq| i64::from(15 - seq % 16) * 10_000 + 150),
    ] {
        for pause in [None, PAUSE] {
            let found = judged(&ledger, &arrivals, pause);
            assert_ne!(found.name, Verdict::FlowControl, "{}", found.because);
        }
    }
}

/// Every frame waits for its socket, and bytes arrive all the time.
#[test]
fn a_slow_link_is_not_flow_control() {
    // 25 ms a frame where they are due every 10 ms, twenty of them on the way; then in lumps of 8.
    for lump in [1, 8] {
        let mut ledger = fixtures::ledger(&script());
        let arrives = |seq: u32| at(i64::from(seq / lump * lump + lump) * 25);
        let (mut waits, mut free) = (Vec::new(), at(0));
        for entry in &mut ledger.entries {
            let since = entry.due.max(free);
            let begin = entry.seq.checked_sub(20).map_or(since, |left| arrives(left).max(since));
            (entry.before, entry.after) = (begin, begin + Span(20));
            free = entry.after;
            let (by, bytes) = (Refusal::Socket, 1_024 * u64::from(entry.seq));
            if begin > since {
                let until = Some(begin);
                waits.push(Wait {
                    seq: entry.seq,
                    by,
                    since,
                    until,
                    bytes,
                    connection_bytes: None,
                });
            }
        }
        ledger.waits = waits;
        let late = fixtures::arrivals(&ledger, |seq| {
            (arrives(seq) - ledger.entries[seq as usize].after).as_micros()
        });
        let found = judged(&ledger, &late, None);
        assert_ne!(found.name, Verdict::FlowControl, "{lump}: {}", found.because);
    }
}

#[test]
fn an_emitter_that_is_late_by_itself_is_not_excused() {
    let late_by = |ledger: &Ledger| {
        Guards::default().check(&cell(None), Some(ledger), &fixtures::live(ledger))
    };
    // The same times, and nobody refused anything.
    let mut ledger = stopped(Refusal::Window, 20, at(500));
    assert_eq!(ledger.own_lateness(), Some(Span(70)));
    ledger.waits.clear();
    assert!(late_by(&ledger).unwrap().why().contains("the emitter was 300 ms late"));
    // Refused only when it was late already.
    let mut ledger = stopped(Refusal::Socket, 20, at(500));
    ledger.waits[0].since = at(300);
    assert!(late_by(&ledger).unwrap().why().contains("the emitter was 100 ms late"));
    // Taken again, and written late.
    let mut ledger = stopped(Refusal::Socket, 20, at(500));
    ledger.waits[0].until = Some(at(450));
    assert!(late_by(&ledger).unwrap().why().contains("the emitter was 50.1 ms late"));
    // Late again after it had caught up.
    let mut ledger = stopped(Refusal::Socket, 20, at(300));
    let last = ledger.entries.last_mut().unwrap();
    (last.before, last.after) = (last.due + Span::millis(40), last.due + Span::millis(40));
    let why = late_by(&ledger).unwrap();
    assert!(why.why().contains("the emitter was 40.0 ms late"), "{why:?}");
}

#[test]
fn a_wait_without_an_end_has_no_verdict_of_its_own() {
    let mut ledger = stopped(Refusal::Window, 20, at(500));
    ledger.waits[0].until = None;
    let mut arrivals = fixtures::live(&ledger);
    arrivals.deliveries.truncate(20);
    ledger.entries.truncate(20);
    assert_eq!(judged(&ledger, &arrivals, None).name, Verdict::Truncated);
}
