//! On whose side an answer was held. The wire says it first: a page cannot hold what has not
//! come. The rules and their thresholds are `measure::verdict`'s.

use measure::arrivals::{Arrivals, PageState};
use measure::guards::Guards;
use measure::units::decimal;
use measure::verdict::arrivals::{Origin, Sighting, of_arrivals};
use measure::verdict::{Finding, PageEvidence, Thresholds, of_page};
use measure::{Reader, Span, Verdict};

use super::answer::{Figures, holds};
use super::seen::Outcome;

/// Whose side it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nobody's.
    Nobody,
    /// The path's: what lies before this machine, with the origin where nothing tells them apart.
    Path,
    /// The origin's own.
    Origin,
    /// The browser's or the page's.
    Page,
    /// Of an answer without a wire: the path's, the browser's or the page's.
    Undivided,
    /// The answer failed.
    Broken,
    /// The evidence does not say.
    Unknown,
}

impl Side {
    /// Its name in the style sheet, which gives each a colour and a shape.
    pub fn class(self) -> &'static str {
        match self {
            Side::Nobody => "nobody",
            Side::Path => "path",
            Side::Origin => "origin",
            Side::Page => "page",
            Side::Undivided | Side::Unknown => "unknown",
            Side::Broken => "broken",
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Side::Undivided => "undivided",
            other => other.class(),
        }
    }

    /// In words, above the sentence with the figures.
    pub fn words(self) -> &'static str {
        match self {
            Side::Nobody => "Live: nobody holds it",
            Side::Path => "Held on the path’s side",
            Side::Origin => "Batched by the origin itself",
            Side::Page => "Held by the browser or the page",
            Side::Undivided => "In bursts: path, browser or page",
            Side::Broken => "Failed",
            Side::Unknown => "Cannot tell",
        }
    }
}

/// What is known of one answer for a judgement.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The wire's side; absent where the browser asked directly.
    pub wire: Option<&'a Arrivals>,
    /// The page's side.
    pub page: &'a Arrivals,
    /// How it came out.
    pub outcome: &'a Outcome,
    /// Whether it is an event stream: of others the content type is no event stream's.
    pub sse: bool,
    /// The same question's answer by the other address, where that one was live there.
    pub control: Option<&'a Arrivals>,
    /// What the page noted of itself.
    pub state: &'a PageState,
}

/// Names what an answer that did not fail shows.
pub fn judge(evidence: &Evidence<'_>) -> (Side, Finding) {
    let thresholds = Thresholds::standard();
    let Some(wire) = evidence.wire else {
        let mut found = look(evidence.page, evidence, &thresholds);
        if let Some(finding) = now_and_then(&found, evidence.page, &thresholds) {
            return (Side::Nobody, finding);
        }
        let side = match side_of(&found) {
            Side::Path => Side::Undivided,
            side => side,
        };
        say(&mut found.finding, ON_PATH, UNDIVIDED);
        return (side, found.finding);
    };
    let mut found = look(wire, evidence, &thresholds);
    let side = side_of(&found);
    if side != Side::Nobody {
        return (side, found.finding);
    }
    // Whatever its type, its bytes are live.
    found.finding.name = Verdict::Live;
    let holds = holds(wire, evidence.page);
    let page = PageEvidence {
        reader: Reader::Fetch,
        one_stream_a_connection: true,
        page: evidence.state,
        longest_task: Guards::default().page_longest_task_us,
        frames_per_delivery: Figures::of(evidence.page, None).per_delivery(),
        // The page's request goes to the gateway: when it left says nothing of the endpoint.
        left: None,
        browser_holds: &holds,
        page_holds: &[],
        uncertainty: evidence.page.clock_uncertainty(),
        page_uncertainty: Span::ZERO,
    };
    let finding = of_page(found.finding, &page, &thresholds);
    match finding.name {
        Verdict::Live => (Side::Nobody, finding),
        // A browser may hold back what nobody looks at: that is no fault of the page's.
        _ if evidence.state.hidden => {
            let because = "live on the wire; the tab was hidden meanwhile, so that nothing is said \
                           of browser and page";
            (Side::Unknown, Finding::new(Verdict::CannotTell, because))
        }
        _ => (Side::Page, finding),
    }
}

/// On a page's own thread two events come together now and then: that is the scheduler's, as long
/// as they are not several at a time.
fn now_and_then(found: &Sighting, page: &Arrivals, thresholds: &Thresholds) -> Option<Finding> {
    let per = Figures::of(page, None).per_delivery()?;
    let open = found.finding.name == Verdict::CannotTell
        && found.candidates.contains(&Verdict::BufferBursts)
        && per < thresholds.batched_frames_per_delivery;
    open.then(|| {
        let because = format!(
            "{} events came at a time: two together now and then, as on any page; likely live",
            decimal(per, 2)
        );
        Finding::new(Verdict::Live, because)
    })
}

/// A side's arrivals, as the rules want them.
fn look(arrivals: &Arrivals, evidence: &Evidence<'_>, thresholds: &Thresholds) -> Sighting {
    let mut own = ready(arrivals, evidence);
    let control = evidence.control.map(|control| ready(control, evidence));
    let origin = control.as_ref().map_or(Origin::Unknown, Origin::Direct);
    // A page's bytes are those behind the gateway's or the browser's own buffers.
    if evidence.wire.is_none() {
        own.segment_bytes = None;
    }
    let mut found = of_arrivals(&own, origin, thresholds);
    if control.is_some() {
        say(&mut found.finding, DIRECT, OTHER);
    }
    found
}

/// Says something in other words.
fn say(finding: &mut Finding, what: &str, instead: &str) {
    finding.because = finding.because.split(what).collect::<Vec<_>>().join(instead);
}

/// What the rules know is a wire; without one a burst may be the browser's or the page's as well.
const ON_PATH: &str = "a path that holds, or";
const UNDIVIDED: &str = "path, browser or page, or";
/// The rules compare with a way without the suspect; here it is the other one of two.
const DIRECT: &str = "the direct way";
const OTHER: &str = "the other way";

/// A copy for the rules: the content type is an event stream's only where the body is one, and
/// an answer whose shape has no last event is whole where its reader says so.
fn ready(arrivals: &Arrivals, evidence: &Evidence<'_>) -> Arrivals {
    let mut own = arrivals.clone();
    if !evidence.sse {
        own.content_type = None;
    }
    if *evidence.outcome == Outcome::Complete && !own.has_terminal() {
        let last = own.deliveries.iter_mut().rev().find(|delivery| !delivery.frames.is_empty());
        if let Some(delivery) = last
            && let Some(mark) = delivery.frames.last().copied()
        {
            let end = measure::FrameMark { text: false, terminal: true, ..mark };
            delivery.frames.push(end);
        }
    }
    own
}

fn side_of(found: &Sighting) -> Side {
    match found.finding.name {
        Verdict::Live | Verdict::TypeChanged => Side::Nobody,
        Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::OneBehind => Side::Path,
        Verdict::BatchedAtOrigin => Side::Origin,
        Verdict::Failed | Verdict::Truncated | Verdict::NoToken => Side::Broken,
        Verdict::CannotTell if found.candidates.iter().any(|name| bursts(*name)) => Side::Path,
        Verdict::CannotTell if found.candidates.contains(&Verdict::TypeChanged) => Side::Nobody,
        _ => Side::Unknown,
    }
}

/// Whether a candidate says that frames came together on the wire.
fn bursts(name: Verdict) -> bool {
    matches!(
        name,
        Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::BatchedAtOrigin
    )
}

/// What several answers show together: the side that enough of them share, with the sentence of
/// the one in the middle; and its name in a few words.
pub fn pooled(answers: &[(Side, Finding, Option<Span>)]) -> Option<(Side, &'static str, String)> {
    let count = |side: Side| answers.iter().filter(|(own, ..)| *own == side).count();
    let (most, ..) = answers.iter().max_by_key(|(side, ..)| count(*side))?;
    let share = Thresholds::standard().agreement;
    let all = answers.len();
    let enough = |number: usize| number as f64 >= share * all as f64;
    if !enough(count(*most)) {
        let page = count(Side::Page);
        let on_wire = count(Side::Nobody) + page;
        return Some(if enough(on_wire) {
            let text = format!(
                "{on_wire} of {all} answers were live on the wire; {page} of these were held by \
                 the browser or the page, which others were not."
            );
            (Side::Unknown, "Live on the wire", text)
        } else {
            let text = format!("The {all} answers disagree: no side has most of them.");
            (Side::Unknown, Side::Unknown.words(), text)
        });
    }
    let mut own: Vec<&(Side, Finding, Option<Span>)> =
        answers.iter().filter(|(side, ..)| side == most).collect();
    own.sort_by_key(|(.., ttft)| *ttft);
    let middle = own[(own.len() - 1) / 2];
    let said = crate::words::sentence(&middle.1.because);
    let text = match all {
        1 => said,
        _ => format!("{} of {all} answers; the one in the middle: {said}", own.len()),
    };
    Some((*most, headed(*most, &middle.1), text))
}

/// A side's words, or the verdict's where that says more. Without a control nobody can tell a
/// path that holds from an origin that writes so: the verdict's words would blame the path.
fn headed(side: Side, finding: &Finding) -> &'static str {
    match finding.name {
        Verdict::CannotTell => side.words(),
        name if side == Side::Page || side == Side::Path && is_controlled(&finding.because) => {
            crate::words::verdict(name).0
        }
        _ => side.words(),
    }
}

/// Whether a finding rests on a comparison with the other one of two ways.
pub fn is_controlled(because: &str) -> bool {
    because.contains(OTHER)
}
