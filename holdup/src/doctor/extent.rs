//! How far a cause goes: which encodings, which sizes, how large a buffer.

use measure::cause::CauseId;
use measure::verdict::Verdict;
use measure::{Arrivals, Span};

use super::evidence::{Evidence, is_decided};
use super::experiment::{Client, Coding, Experiment, LARGE, Offer};

/// Events that fill a buffer: 200 of 400 B, 10 ms apart, are 80 KB in 2 s. That fills the 4, 8,
/// 16 and 32 KB buffers in use at least twice, each after less than half a second at most.
const FILL: (u32, u32, u32) = (200, 400, 10);
/// Paces, milliseconds, with their counts of events, at which a cork shows its other release: at
/// one many events wait for a segment, at the other each waits alone for the timer.
const PACES: [(u32, u32); 2] = [(10, 101), (250, 11)];
/// Sizes at which a cork shows what it waits for, bytes: four events fill an Ethernet segment
/// before its timer, one fills it.
const SEGMENT_SIZES: [u32; 2] = [400, LARGE];
/// A size is found to this many bytes: compressors' least sizes are round numbers.
const CLOSE_ENOUGH: u32 = 64;
/// Reads closer than this are one release, as the verdicts have it.
const SAME_RELEASE: Span = Span::millis(1);

/// The next experiment that shows how far a cause goes; `None` when all is known.
pub(crate) fn next(
    cause: CauseId,
    question: &Experiment,
    asked: &[Experiment],
    evidence: &Evidence,
) -> Option<Experiment> {
    let fixed = match cause {
        CauseId::ChunksCorked => corked(question),
        CauseId::WholeBuffers | CauseId::HopBuffers | CauseId::HeaderIgnored => {
            vec![filling(question)]
        }
        CauseId::GzipIntoBuffers | CauseId::CompressorWaits | CauseId::CompressedAtOrigin => {
            alone(question).collect()
        }
        _ => Vec::new(),
    };
    let rest = fixed.into_iter().find(|experiment| !asked.contains(experiment));
    rest.or_else(|| halfway(question, evidence).filter(|next| !asked.contains(next)))
}

fn corked(question: &Experiment) -> Vec<Experiment> {
    let sizes = SEGMENT_SIZES.map(|size| question.playing(|play| play.bytes = Some(size)));
    let close = question.playing(|play| play.close = true);
    let paces = PACES.map(|(pace, frames)| {
        question.playing(|play| {
            play.pace_ms = Some(pace);
            play.frames = Some(frames);
        })
    });
    sizes.into_iter().chain([close]).chain(paces).collect()
}

/// What else is asked of a clean path: beside it, each event in two writes, an answer without
/// chunks.
pub(crate) fn round() -> [Experiment; 3] {
    let curl = Experiment::of(Client::Curl);
    [curl.beside(), in_halves(), Experiment { http10: true, ..curl }]
}

fn in_halves() -> Experiment {
    Experiment::of(Client::Curl).playing(|play| play.halves = true)
}

/// What a clean path does with an event that comes in two writes: as many reads as writes, or as
/// events.
pub(crate) fn halves(evidence: &Evidence) -> Option<String> {
    let raw = evidence.last(&in_halves())?.raw.as_ref()?;
    let bringing = |d: &&measure::Delivery| d.body_bytes.is_some_and(|bytes| bytes > 0);
    let reads = raw.arrivals.deliveries.iter().filter(bringing).count();
    let events = raw.arrivals.frames().count().max(1);
    // Between one read an event and two: nearer to which.
    let passed_on = 2 * reads > 3 * events;
    Some(match passed_on {
        true => format!(
            "{events} events in two writes each came in {reads} reads: nobody waits for a whole event."
        ),
        false => format!(
            "{events} events in two writes each came in {reads} reads: somebody on the way waits for a whole event, which delays no whole one."
        ),
    })
}

fn filling(question: &Experiment) -> Experiment {
    let (frames, bytes, pace) = FILL;
    question.playing(|play| {
        play.frames = Some(frames);
        play.bytes = Some(bytes);
        play.pace_ms = Some(pace);
    })
}

fn alone(question: &Experiment) -> impl Iterator<Item = Experiment> + use<> {
    let question = *question;
    Coding::ALL.into_iter().map(move |coding| Experiment { offer: Offer::Only(coding), ..question })
}

/// Between which event sizes a hop that holds large ones begins to: the largest that is live and
/// the smallest that is not.
fn threshold(question: &Experiment, evidence: &Evidence) -> Option<(u32, u32)> {
    let held = question.play.bytes.filter(|bytes| *bytes == LARGE)?;
    let at = |bytes: u32| question.playing(|play| play.bytes = Some(bytes));
    // The stream as it is, is live, or this would not be the question.
    let base = evidence.last(&question.playing(|play| play.bytes = None))?;
    let own = base.raw.as_ref()?.script.as_ref()?;
    let frames = u64::from(own.frame_count().max(1));
    let smallest = u32::try_from(own.total_bytes() / frames).ok()?;
    let mut bracket = (smallest, held);
    let known = evidence.runs.iter().map(|run| run.experiment);
    for bytes in known.filter(|e| *e == at(e.play.bytes.unwrap_or(0))).filter_map(|e| e.play.bytes)
    {
        match evidence.shows(&at(bytes)) {
            Some(Verdict::Live) => bracket.0 = bracket.0.max(bytes),
            Some(shows) if !is_decided(shows) => {}
            None => {}
            Some(_) => bracket.1 = bracket.1.min(bytes),
        }
    }
    (bracket.0 < bracket.1).then_some(bracket)
}

/// The size in the middle of what is known.
fn halfway(question: &Experiment, evidence: &Evidence) -> Option<Experiment> {
    let (live, held) = threshold(question, evidence)?;
    (held - live > CLOSE_ENOUGH)
        .then(|| question.playing(|play| play.bytes = Some(live.midpoint(held))))
}

/// What was found, in sentences.
pub(crate) fn sentences(
    question: &Experiment,
    asked: &[Experiment],
    evidence: &Evidence,
) -> Vec<String> {
    let mut said = Vec::new();
    let of = |wanted: &dyn Fn(&Experiment) -> bool| -> Vec<(String, Verdict)> {
        let shown = |e: &Experiment| Some((label(e), evidence.shows(e)?));
        asked.iter().filter(|e| wanted(e)).filter_map(shown).collect()
    };
    let list = |found: &[(String, Verdict)], live: bool| -> Option<String> {
        let names: Vec<&str> = found
            .iter()
            .filter(|(_, shows)| (*shows == Verdict::Live) == live)
            .filter(|(_, shows)| is_decided(*shows))
            .map(|(name, _)| name.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let codings = of(&|e| matches!(e.offer, Offer::Only(_)));
    let sizes = of(&|e| {
        let sized = e.play.bytes.is_none_or(|bytes| question.play.bytes.is_none() || bytes > LARGE);
        e.offer == question.offer && e.play != question.play && *e != filling(question) && sized
    });
    for (what, found) in [("Alone", codings), ("Varied", sizes)] {
        let parts: Vec<String> = [("held", false), ("live", true)]
            .into_iter()
            .filter_map(|(word, live)| Some(format!("{word} with {}", list(&found, live)?)))
            .collect();
        if !parts.is_empty() {
            said.push(format!("{what}: {}.", parts.join("; ")));
        }
    }
    let between = |(live, held)| format!("It begins between events of {live} B and of {held} B.");
    let searched = asked.iter().any(|e| e.play.bytes.is_some_and(|bytes| bytes < LARGE));
    said.extend(threshold(question, evidence).filter(|_| searched).map(between));
    let filled = asked.iter().find(|e| **e == filling(question));
    if let Some(run) = filled.and_then(|e| evidence.last(e))
        && let Some(raw) = run.raw.as_ref().filter(|_| run.coding().is_none())
    {
        said.extend(buffer(&raw.arrivals));
    }
    said
}

fn label(experiment: &Experiment) -> String {
    if let Offer::Only(coding) = experiment.offer {
        return coding.name().into();
    }
    let play = experiment.play;
    match (play.bytes, play.pace_ms) {
        (Some(bytes), _) => format!("{bytes} B events"),
        (None, Some(pace)) => format!("one each {pace} ms"),
        (None, None) if play.close => "an answer whose end is the connection's".into(),
        (None, None) => experiment.name(),
    }
}

/// How large a buffer is, by what it passes on at once.
fn buffer(arrivals: &Arrivals) -> Option<String> {
    let mut releases: Vec<(measure::Stamp, u64)> = Vec::new();
    for delivery in arrivals.deliveries.iter().filter(|d| d.body_bytes.is_some_and(|b| b > 0)) {
        let bytes = delivery.body_bytes.unwrap_or_default();
        match releases.last_mut() {
            Some((at, sum)) if delivery.arrived() - *at < SAME_RELEASE => {
                (*at, *sum) = (delivery.arrived(), *sum + bytes);
            }
            _ => releases.push((delivery.arrived(), bytes)),
        }
    }
    let total: u64 = releases.iter().map(|(_, bytes)| bytes).sum();
    // The end of the stream releases whatever is there.
    releases.pop();
    let mut sizes: Vec<u64> = releases.into_iter().map(|(_, bytes)| bytes).collect();
    sizes.sort_unstable();
    match sizes.get(sizes.len() / 2) {
        Some(size) => Some(format!(
            "Its buffer: {size} bytes of the body at a time, in the median of {} times.",
            sizes.len()
        )),
        None => {
            Some(format!("Its buffer takes more than {total} bytes: all of them came at once."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Delivery, Reader, RunId, Stamp};

    fn arrivals(releases: &[(i64, u64)]) -> Arrivals {
        let mut arrivals = Arrivals::begin(RunId(1), Reader::Recv, Stamp(0));
        let delivery = |(ms, bytes): &(i64, u64)| Delivery {
            body_bytes: Some(*bytes),
            ..Delivery::at(Stamp(ms * 1_000))
        };
        arrivals.deliveries = releases.iter().map(delivery).collect();
        arrivals
    }

    #[test]
    fn a_buffers_size_is_what_it_passes_on_at_once() {
        let found =
            buffer(&arrivals(&[(0, 4096), (100, 4000), (100, 96), (200, 4096), (300, 500)]));
        assert_eq!(
            found.unwrap(),
            "Its buffer: 4096 bytes of the body at a time, in the median of 3 times."
        );
        let found = buffer(&arrivals(&[(900, 80_000)])).unwrap();
        assert!(found.contains("more than 80000 bytes"), "{found}");
    }
}
