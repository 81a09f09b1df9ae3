//! The figures of all answers: beside each lane, in one table, as distributions, in a sentence.

use measure::Span;
use measure::stats::{Spread, median};
use measure::units::decimal;

use super::answer::{Figures, holds};
use super::judge::{Side, is_controlled};
use super::model::{Answer, State};
use super::view::letter;
use crate::geometry::{self, HEIGHT};
use crate::split::{Measured, Part};
use crate::view::chart::{OPEN, grid, path};
use crate::view::markup::{escaped, filled, joined};
use crate::words::{self, NONE};

/// The median of a time over an address's answers.
fn median_of(answers: &[&Answer], pick: impl Fn(&Answer) -> Option<Span>) -> Option<Span> {
    let times: Vec<Span> = answers.iter().filter_map(|answer| pick(answer)).collect();
    median(&times)
}

fn good(state: &State, own: usize) -> Vec<&Answer> {
    state.good(own).collect()
}

fn span(span: Option<Span>, step: i64) -> String {
    span.map_or(NONE.into(), |span| words::span(span, step))
}

/// A wire's stamps are the kernel's: they have no page's clock step.
const FINE: i64 = 1;

/// The time to the first token in the page, with its unit where there is one.
pub fn figure_of(state: &State, own: usize, step: i64) -> (String, &'static str) {
    match median_of(&good(state, own), |answer| answer.own.firsts.text) {
        Some(first) => (words::millis(first, step), "ms"),
        None => (NONE.into(), ""),
    }
}

/// Both sides, or the page's alone.
fn sides(answer: &Answer) -> impl Iterator<Item = (&'static str, &Figures)> {
    answer.wire.iter().map(|wire| ("wire", wire)).chain([("page", &answer.own)])
}

/// What events came at a time over all answers, and how many answers came in one go.
struct Together {
    per: Option<f64>,
    at_once: (usize, usize),
}

fn together(answers: &[&Answer], side: &str) -> Together {
    let mut own = (0_u32, 0_u32);
    let mut at_once = (0, 0);
    for (_, figures) in answers.iter().flat_map(|answer| sides(answer)).filter(|(n, _)| *n == side)
    {
        own = (own.0 + figures.events, own.1 + figures.deliveries);
        if let Some(whole) = figures.at_once() {
            at_once = (at_once.0 + usize::from(whole), at_once.1 + 1);
        }
    }
    Together { per: (own.1 > 0).then(|| f64::from(own.0) / f64::from(own.1)), at_once }
}

fn ratio(per: Option<f64>) -> String {
    per.map_or(NONE.into(), |per| decimal(per, 2))
}

fn share((at_once, all): (usize, usize)) -> String {
    if all == 0 { NONE.into() } else { format!("{at_once} of {all}") }
}

/// The small figures beside a lane.
pub fn list(state: &State, own: usize, step: i64) -> String {
    let answers = good(state, own);
    let gap = median_of(&answers, |answer| answer.own.gap().map(|gap| gap.0));
    let longest = answers.iter().filter_map(|answer| Some(answer.own.gap()?.1)).max();
    let (wire, page) = (together(&answers, "wire"), together(&answers, "page"));
    let rows = [
        ("gap", "Between events with text, median, in the page", span(gap, step)),
        ("longest", "The longest of all answers, in the page", span(longest, step)),
        ("per read", "Events per read on the wire", ratio(wire.per)),
        ("per delivery", "Events per delivery in the page", ratio(page.per)),
        ("in one go", "Answers whose text came to the page in one delivery", share(page.at_once)),
    ];
    rows.iter()
        .map(|(name, title, value)| {
            filled("<div title=\"¤\"><dt>¤</dt><dd>¤</dd></div>", &[title, name, value])
        })
        .collect()
}

/// Who had the events how long, beside the chart.
pub fn bands(state: &State, own: usize, step: i64) -> String {
    let Some(answer) = state.last(own).filter(|answer| answer.trouble.is_none()) else {
        return String::new();
    };
    let Some(seen) = &answer.seen else { return String::new() };
    let Some(hold) = median(&holds(&seen.arrivals, &answer.arrivals)) else {
        return String::new();
    };
    let off = answer.arrivals.clock_uncertainty();
    let measured = Measured { span: hold, off };
    let late = geometry::is_late(hold) && measured.is_claimed();
    let class = if late {
        "late"
    } else if measured.is_claimed() {
        ""
    } else {
        "unclaimed"
    };
    filled(
        "<div class=\"band either ¤\" style=\"top:50%\" title=\"From the gateway’s write to the \
         page, median of the last answer ¤\"><dt>¤</dt><dd>¤</dd></div>",
        &[class, &words::off(off), Part::Either.name(), &words::measured(measured, step)],
    )
}

/// The table and the distributions.
pub fn tables(state: &State, step: i64) -> String {
    let all: Vec<(usize, Vec<&Answer>)> = (0..state.targets.len())
        .map(|own| (own, good(state, own)))
        .filter(|(_, answers)| !answers.is_empty())
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut markup = String::from(
        "<div><h3>Medians, each from its own side’s call</h3><table><thead><tr><th></th>\
         <th>first byte</th><th>first event</th><th>first token</th><th>first text</th>\
         <th>gap</th><th>longest</th><th>events at a time</th><th>in one go</th></tr></thead><tbody>",
    );
    for (own, answers) in &all {
        for side in ["wire", "page"] {
            row(&mut markup, state, (*own, side), answers, step);
        }
    }
    markup.push_str("</tbody></table></div><div>");
    let first = |answer: &Answer| answer.own.firsts.text.into_iter().collect();
    markup.push_str(&strips(
        state,
        "First token in the page, each answer",
        &all,
        first,
        true,
        step,
    ));
    let gaps = |answer: &Answer| answer.own.gaps.clone();
    markup.push_str(&strips(state, "Gaps between events with text", &all, gaps, false, step));
    markup.push_str("</div>");
    markup.push_str(&heads(state, &all));
    markup
}

fn row(
    markup: &mut String,
    state: &State,
    (own, side): (usize, &'static str),
    answers: &[&Answer],
    step: i64,
) {
    let of = |pick: fn(&Figures) -> Option<Span>| {
        median_of(answers, |answer| {
            let figures = sides(answer).find(|(name, _)| *name == side)?;
            pick(figures.1)
        })
    };
    let step = if side == "wire" { FINE } else { step };
    let together = together(answers, side);
    if together.per.is_none() {
        return;
    }
    let name = match state.targets.len() {
        1 => side.into(),
        _ => joined(&[letter(own), " ", side]),
    };
    let longest = |figures: &Figures| figures.gap().map(|gap| gap.1);
    let cells = [
        span(of(|own| own.firsts.byte), step),
        span(of(|own| own.firsts.event), step),
        span(of(|own| own.firsts.token), step),
        span(of(|own| own.firsts.text), step),
        span(of(|own| own.gap().map(|gap| gap.0)), step),
        span(of(longest), step),
        ratio(together.per),
        share(together.at_once),
    ];
    markup.push_str(&filled("<tr><th>¤</th>", &[&name]));
    for cell in cells {
        markup.push_str(&filled("<td>¤</td>", &[&cell]));
    }
    markup.push_str("</tr>");
}

/// One scale, and a line of marks for each address: a dot an answer, a tick a gap.
fn strips(
    state: &State,
    title: &str,
    all: &[(usize, Vec<&Answer>)],
    pick: impl Fn(&Answer) -> Vec<Span>,
    dots: bool,
    step: i64,
) -> String {
    let times: Vec<(usize, Vec<Span>)> = all
        .iter()
        .map(|(own, answers)| (*own, answers.iter().flat_map(|answer| pick(answer)).collect()))
        .collect();
    let Some(most) = times.iter().flat_map(|(_, times)| times).copied().max() else {
        return String::new();
    };
    // A little room, so that the last mark is seen whole.
    let domain = Span(most.as_micros() + most.as_micros() / 20 + 1_000);
    let half = if dots { 0.0 } else { HEIGHT * 0.3 };
    let mut markup = filled("<h3>¤</h3><div class=\"strips\">", &[title]);
    for (own, times) in &times {
        let mut marks = String::new();
        for at in times {
            let x = geometry::x(*at, domain);
            geometry::line(&mut marks, (x, HEIGHT / 2.0 - half), (x, HEIGHT / 2.0 + half));
        }
        let mut svg = String::from(OPEN);
        svg.push_str("\" aria-hidden=\"true\">");
        path(&mut svg, "grid", &grid(domain), "");
        path(&mut svg, if dots { "dot" } else { "ticks" }, &marks, if dots { "7" } else { "" });
        svg.push_str("</svg>");
        let name = if state.targets.len() > 1 { letter(*own) } else { "page" };
        let middle = span(median(times), step);
        markup
            .push_str(&filled("<div><span>¤</span>¤<span>¤</span></div>", &[name, &svg, &middle]));
    }
    let end = words::span(domain, step);
    markup.push_str(&filled("<p class=\"ends\"><span>0</span><span>¤</span></p></div>", &[&end]));
    markup
}

/// What the heads say of the hops.
fn heads(state: &State, all: &[(usize, Vec<&Answer>)]) -> String {
    let mut markup = String::new();
    for (own, answers) in all {
        let Some(seen) = answers.last().and_then(|answer| answer.seen.as_ref()) else { continue };
        let fields: Vec<String> =
            seen.head.iter().map(|(name, value)| joined(&[name, ": ", value])).collect();
        let name = if state.targets.len() > 1 { letter(*own) } else { "it" };
        markup.push_str(&filled(
            "<p class=\"small\">What ¤ says of the hops: ¤</p>",
            &[name, &escaped(&fields.join("; "))],
        ));
    }
    if markup.is_empty() { markup } else { filled("<div>¤</div>", &[&markup]) }
}

/// The whole in a sentence or two.
pub fn sentence(state: &State, step: i64) -> String {
    if state.is_running() || state.answers.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for own in 0..state.targets.len() {
        let Some((side, _, because)) = state.finding(own) else { continue };
        let answers = good(state, own);
        let first = median_of(&answers, |answer| answer.own.firsts.text);
        let (wire, page) = (together(&answers, "wire"), together(&answers, "page"));
        let name = if state.targets.len() > 1 { letter(own) } else { "Your endpoint" };
        let held = match side {
            Side::Nobody => "is live",
            Side::Path if is_controlled(&because) => "is held on the path’s side",
            Side::Path => "is held on the path’s side, or written so by its origin",
            Side::Origin => "is batched by its origin",
            Side::Page => "is live on the wire, and then held by the browser or the page",
            Side::Undivided => "comes in bursts, by path, browser or page",
            Side::Broken | Side::Unknown => "cannot be told",
        };
        text.push_str(&joined(&[name, " ", held, ": first token after ", &span(first, step)]));
        if wire.per.is_some() {
            let per = ratio(wire.per);
            text.push_str(&joined(&[", ", &per, " events a read on the wire, "]));
        } else {
            text.push_str(", ");
        }
        text.push_str(&joined(&[&ratio(page.per), " a delivery in the page. "]));
    }
    let off = state.clock.map(|clock| clock.uncertainty());
    let off = off.filter(|_| state.answers.iter().any(|answer| answer.seen.is_some()));
    if let (Some(off), false) = (off, text.is_empty()) {
        text.push_str(&joined(&[
            "Between wire and page nothing below ± ",
            &words::fine(off.as_micros()),
            " is claimed.",
        ]));
    }
    text
}

/// The spread of a time over an address's good answers, for what is taken away.
pub fn spread(state: &State, own: usize, pick: fn(&Answer) -> Option<Span>) -> Option<Spread> {
    Spread::of(state.good(own).filter_map(pick))
}

/// Events a delivery at one side, over an address's good answers.
pub fn per(state: &State, own: usize, side: &str) -> Option<f64> {
    together(&good(state, own), side).per
}

/// Whose side it is by its name in results, and why.
pub fn verdict(state: &State, own: usize) -> Option<(&'static str, String)> {
    let (side, _, because) = state.finding(own)?;
    Some((side.name(), because))
}
