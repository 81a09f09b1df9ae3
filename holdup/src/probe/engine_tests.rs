//! The engine with a scripted asker: order, pairs, early ends.

use super::*;
use crate::probe::plan::Plan;
use measure::chat::{ChatAnswer, ChatRecord};
use measure::transport::Transport;
use measure::{Delivery, End, FrameMark, Reader, RunId, Stamp, Verdict};

/// Answers as it is told, and takes notes.
struct Fake<'a> {
    asked: Vec<Step>,
    answer: &'a dyn Fn(&Step) -> (Kind, Option<Arrivals>),
    interrupt: Interrupt,
    interrupt_after: usize,
}

impl Asker for Fake<'_> {
    fn ask(&mut self, step: &Step) -> Asked {
        self.asked.push(*step);
        if self.asked.len() == self.interrupt_after {
            self.interrupt.stop();
        }
        let (kind, judged) = (self.answer)(step);
        let record = ChatRecord::default();
        let arrivals = Arrivals::begin(RunId(0), Reader::Recv, Stamp(0));
        let answer = ChatAnswer::of(&record, Stamp(0), Some(200), &End::Closed);
        let row = Row {
            way: step.way,
            prompt: step.prompt,
            pair: step.pair,
            warm_up: step.warm_up,
            kind,
            line: (kind != Kind::Complete).then(|| "no".into()),
            status: None,
            content_type: None,
            content_encoding: None,
            retry_after: None,
            server: None,
            via: None,
            http: None,
            tls: None,
            connect_us: None,
            tls_us: None,
            head_us: None,
            records_per_read: None,
            data_frames_per_read: None,
            datagrams_per_read: None,
            total_us: Span::ZERO,
            answer,
            finish: None,
            shows: None,
            candidates: Vec::new(),
            looks: None,
            path_hold_us: None,
            clock_uncertainty_us: None,
            run: None,
            text: None,
        };
        Asked { run: Run { row, record, arrivals, transport: Transport::default() }, judged }
    }
}

/// Twelve events, so many at a time, 50 ms an event.
fn arrivals(at_a_time: i64) -> Arrivals {
    let mut arrivals = Arrivals::begin(RunId(0), Reader::Recv, Stamp(0));
    arrivals.status = Some(200);
    arrivals.content_type = Some("text/event-stream".into());
    for first in (0..12).step_by(at_a_time as usize) {
        let at = Stamp((first + at_a_time) * 50_000);
        let frame = |event: i64| FrameMark {
            seq: None,
            event: true,
            text: true,
            terminal: event == 11,
            end: Some(100 * (event as u64 + 1)),
        };
        arrivals.deliveries.push(Delivery {
            bytes: Some(100 * at_a_time as u64),
            body_bytes: Some(100 * at_a_time as u64),
            frames: (first..first + at_a_time).map(frame).collect(),
            ..Delivery::at(at)
        });
    }
    arrivals.end = End::StoppedAtTerminal;
    arrivals
}

fn played(
    plan: &Plan,
    interrupt_after: usize,
    answer: &dyn Fn(&Step) -> (Kind, Option<Arrivals>),
) -> (Played, Vec<Step>, usize) {
    let interrupt = Interrupt::default();
    let mut fake =
        Fake { asked: Vec::new(), answer, interrupt: interrupt.clone(), interrupt_after };
    let mut kept = 0;
    let played =
        play(&plan.steps, &mut fake, Duration::ZERO, &interrupt, &mut |_| (), &mut |_| kept += 1);
    (played, fake.asked, kept)
}

#[test]
fn each_pair_is_judged_whichever_came_first() {
    let plan = Plan::new(1, 4, 1, true, 20);
    let (played, asked, kept) = played(&plan, usize::MAX, &|step| {
        let at_a_time = if step.way == Way::Url { 12 } else { 1 };
        (Kind::Complete, Some(arrivals(at_a_time)))
    });
    assert_eq!((asked, kept), (plan.steps, 10));
    let names: Vec<Verdict> = played.pairs.iter().map(|(finding, _)| finding.name).collect();
    assert_eq!(names, [Verdict::Held; 4], "the warm-up is no pair");
    assert_eq!(played.stopped, None);
}

#[test]
fn what_stays_the_same_is_not_asked_again_and_a_limit_is_no_such_thing() {
    let plan = Plan::new(1, 5, 0, false, 20);
    let (login, asked, kept) = played(&plan, usize::MAX, &|_| (Kind::Login, None));
    assert_eq!((asked.len(), kept), (1, 1));
    assert_eq!(
        login.stopped.as_deref(),
        Some("no more was asked, since the first answer says: no")
    );
    let (limited, asked, _) = played(&plan, usize::MAX, &|_| (Kind::RateLimited, None));
    assert_eq!((limited.rows.len(), asked.len(), limited.stopped), (5, 5, None));
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let plan = Plan::new(1, 5, 0, false, 20);
    let (played, asked, kept) = played(&plan, 2, &|_| (Kind::Complete, Some(arrivals(1))));
    assert_eq!((asked.len(), kept, played.rows.len()), (2, 2, 2));
    assert!(played.interrupted);
}
