//! Answers whose shapes are known: what one leaves open, several name.

use super::*;
use crate::arrivals::{Delivery, End, FrameMark, Reader};
use crate::units::{RunId, Stamp};

/// An answer whose events come in groups: when, ms after the call, and how many.
fn answer(groups: &[(i64, usize)]) -> Arrivals {
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Recv, Stamp(0));
    arrivals.status = Some(200);
    arrivals.content_type = Some("text/event-stream".into());
    let (mut end, last) = (0, groups.len() - 1);
    for (index, (at, events)) in groups.iter().enumerate() {
        let mut frames: Vec<FrameMark> = (0..*events)
            .map(|_| {
                end += 100;
                FrameMark { seq: None, event: true, text: true, terminal: false, end: Some(end) }
            })
            .collect();
        if index == last {
            end += 14;
            let end = Some(end);
            frames.push(FrameMark { seq: None, event: true, text: false, terminal: true, end });
        }
        let bytes = Some(100 * *events as u64 + if index == last { 14 } else { 0 });
        let at = Stamp(at * 1_000);
        arrivals.deliveries.push(Delivery { bytes, body_bytes: bytes, frames, ..Delivery::at(at) });
        arrivals.ended = at;
    }
    arrivals.end = End::Closed;
    arrivals
}

fn told(answers: &[Arrivals]) -> Sighting {
    let thresholds = Thresholds::standard();
    let shown: Vec<(Shown, Option<Span>)> = answers
        .iter()
        .map(|arrivals| (of_answer(arrivals, &thresholds), Some(arrivals.ended - arrivals.call)))
        .collect();
    let told = of_answers(&shown, &thresholds);
    println!("{}: {}", told.finding.name.name(), told.finding.because);
    told
}

fn names(answers: &[Arrivals]) -> (Verdict, Option<Sure>) {
    let told = told(answers);
    (told.finding.name, told.finding.sure)
}

/// Events one by one.
fn live() -> Arrivals {
    answer(&(0..12).map(|event| (300 + event * 40, 1)).collect::<Vec<_>>())
}

fn held(at: i64, events: usize) -> Arrivals {
    answer(&[(at, events)])
}

/// Five events each 210 ms.
fn corked() -> Arrivals {
    answer(&[(205, 5), (415, 5), (626, 5), (836, 5), (900, 2)])
}

const LIKELY: Option<Sure> = Some(Sure::Likely);

#[test]
fn one_answer_leaves_open_what_three_name() {
    for (one, name) in [(held(900, 20), Verdict::Held), (corked(), Verdict::Corked)] {
        assert_eq!(names(std::slice::from_ref(&one)), (Verdict::CannotTell, None));
        assert_eq!(told(&[one.clone(), one.clone()]).candidates[0], name);
        assert_eq!(names(&[one.clone(), one.clone(), one]), (name, LIKELY));
    }
    assert_eq!(names(&[live()]).0, Verdict::Live);
}

#[test]
fn a_fast_model_is_not_held() {
    // Twenty events within 60 ms, but not at once.
    let fast = answer(&(0..20).map(|event| (400 + event * 3, 1)).collect::<Vec<_>>());
    let told = told(&[fast.clone(), fast.clone(), fast.clone(), fast]);
    assert_eq!(told.finding.name, Verdict::CannotTell);
}

#[test]
fn answers_that_differ_leave_it_open() {
    let mixed = [held(900, 20), corked(), live(), live(), held(700, 9), corked()];
    assert_eq!(names(&mixed), (Verdict::CannotTell, None));
}

#[test]
fn short_answers_at_once_and_long_ones_in_pieces_are_a_buffer() {
    let pieces = answer(&[(700, 40), (1_500, 38), (2_400, 41), (2_900, 12)]);
    let mut answers = vec![held(400, 9), held(300, 7), held(500, 12), held(450, 11)];
    answers.extend([pieces.clone(), pieces.clone(), pieces]);
    assert_eq!(names(&answers), (Verdict::Held, LIKELY));
}

#[test]
fn bursts_alone_are_nobodys_and_a_buffer_at_the_timers_pace_is_no_timer() {
    // As a proxy's timer would leave too short an answer: one whole burst between two others.
    let bursts = answer(&[(204, 5), (444, 6), (560, 3)]);
    assert_eq!(names(&[bursts.clone(), bursts.clone(), bursts]), (Verdict::CannotTell, None));
    // A compressed body, so that sizes tell nothing, cut inside events each 210 ms.
    let mut cut = corked();
    cut.content_encoding = Some("gzip".into());
    for delivery in &mut cut.deliveries {
        delivery.body_bytes = delivery.body_bytes.map(|bytes| bytes - 7);
    }
    assert_eq!(names(&[cut.clone(), cut.clone(), cut]), (Verdict::CannotTell, None));
}

#[test]
fn too_few_events_show_nothing() {
    let few = held(900, 2);
    assert_eq!(names(&[few.clone(), few.clone(), few]), (Verdict::CannotTell, None));
}
