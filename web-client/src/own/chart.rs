//! The slope chart of one answer: the wire at the gateway above, the page below, a line for each
//! frame. What leans between the two is the browser's or the page's; what clumps on the wire
//! already came so.

use measure::arrivals::{Arrivals, Delivery};
use measure::units::decimal;
use measure::verdict::Thresholds;
use measure::{Span, Stamp};

use super::answer::Page;
use super::judge::Side;
use super::model::Answer;
use crate::geometry::{self, DOT_SIZES, LABEL_ROOM, WIDTH};
use crate::split::Part;
use crate::view::chart::{DOT_WIDTHS, OPEN, grid, path};
use crate::view::markup::joined;

/// Heights of the two axes, and of the counts above and below them.
const WIRE_Y: f64 = 18.0;
const PAGE_Y: f64 = 82.0;
const COUNTS_Y: [f64; 2] = [6.0, 95.0];
/// Two dots nearer than this look like one.
const SAME_PLACE: f64 = 0.5;
/// The shortest time that the chart of a running answer spans: it grows in steps from there.
const LEAST: Span = Span::millis(2_000);

/// The shortest time that any chart spans: below it a page's clock shows nothing.
const SHORTEST: Span = Span::millis(200);

/// What came at once at one side: when, and how many events.
type Clump = (Span, u32, bool);

/// The names beside the axes.
pub fn axes(wire: bool) -> String {
    let at = |y: f64, name: &str| {
        joined(&["<span style=\"top:", &decimal(y, 1), "%\">", name, "</span>"])
    };
    let above = if wire { at(WIRE_Y, "wire") } else { String::new() };
    [above, at(PAGE_Y, "page")].concat()
}

/// The time that all charts span.
pub fn domain(latest: Span) -> Span {
    geometry::domain(latest.max(SHORTEST), latest)
}

/// The time that the chart of a running answer spans.
pub fn growing(elapsed: Span) -> Span {
    geometry::domain(LEAST, elapsed)
}

/// An answer that is whole.
pub fn of_answer(answer: &Answer, domain: Span) -> String {
    let call = answer.arrivals.call;
    let mut svg = begin(domain, answer.seen.is_some());
    let mut late_at = Vec::new();
    if let Some(seen) = &answer.seen {
        let (mut prompt, mut late) = (String::new(), String::new());
        let mut last = (f64::MIN, f64::MIN);
        for (from, to, held) in lines(&seen.arrivals, &answer.arrivals) {
            if held {
                late_at.push(to);
            }
            let place = (geometry::x(from - call, domain), geometry::x(to - call, domain));
            let far = |a: f64, b: f64| (a - b).abs() > SAME_PLACE;
            if far(place.0, last.0) || far(place.1, last.1) {
                last = place;
                let into = if held { &mut late } else { &mut prompt };
                geometry::line(into, (place.0, WIRE_Y), (place.1, PAGE_Y));
            }
        }
        path(&mut svg, "line", &prompt, "");
        path(&mut svg, "line late either", &late, "");
        path(&mut svg, "line late either other", &late, "");
        let bursts = answer.side == Side::Path || answer.side == Side::Origin;
        let mut clumps = clumps(&seen.arrivals, call, Delivery::arrived);
        for clump in &mut clumps {
            clump.2 = bursts && clump.1 > 1;
        }
        dots(&mut svg, &clumps, WIRE_Y, Part::Path, domain);
        let labels = counts(&clumps, COUNTS_Y[0], domain);
        let mut own = own_clumps(&answer.arrivals, call);
        for clump in &mut own {
            clump.2 = late_at.iter().any(|at| *at - call == clump.0);
        }
        dots(&mut svg, &own, PAGE_Y, Part::Either, domain);
        svg.push_str("</svg>");
        svg.push_str(&labels);
        svg.push_str(&counts(&own, COUNTS_Y[1], domain));
        return svg;
    }
    let mut own = own_clumps(&answer.arrivals, call);
    for clump in &mut own {
        clump.2 = answer.side == Side::Undivided && clump.1 > 1;
    }
    dots(&mut svg, &own, PAGE_Y, Part::Undivided, domain);
    svg.push_str("</svg>");
    svg.push_str(&counts(&own, COUNTS_Y[1], domain));
    svg
}

/// An answer as it grows: what has come to the page.
pub fn growing_of(page: &Page, wire: bool, domain: Span) -> String {
    let mut clumps: Vec<Clump> = Vec::new();
    let mut marks = page.marks.iter().filter(|mark| mark.event).peekable();
    for came in &page.came {
        let mut count = 0;
        while marks.next_if(|mark| mark.end.is_some_and(|end| end <= came.end)).is_some() {
            count += 1;
        }
        if count > 0 {
            add(&mut clumps, Span(came.at_us - page.call_us), count);
        }
    }
    let mut svg = begin(domain, wire);
    dots(&mut svg, &clumps, PAGE_Y, Part::Undivided, domain);
    svg.push_str("</svg>");
    svg.push_str(&counts(&clumps, COUNTS_Y[1], domain));
    svg
}

/// A chart without an answer.
pub fn empty(wire: bool, domain: Span) -> String {
    [&begin(domain, wire), "</svg>"].concat()
}

/// The chart in words.
pub fn described(answer: &Answer) -> String {
    let call = answer.arrivals.call;
    let say = |name: &str, clumps: &[Clump]| {
        let events: u32 = clumps.iter().map(|clump| clump.1).sum();
        let most = clumps.iter().map(|clump| clump.1).max().unwrap_or(0);
        format!("{events} events at the {name} in {} goes, at most {most} in one", clumps.len())
    };
    let mut text = String::new();
    if let Some(seen) = &answer.seen {
        text.push_str(&say("wire", &clumps(&seen.arrivals, call, Delivery::arrived)));
        text.push_str("; ");
    }
    text.push_str(&say("page", &own_clumps(&answer.arrivals, call)));
    text
}

fn begin(domain: Span, wire: bool) -> String {
    let mut svg = String::from(OPEN);
    svg.push_str("\" aria-hidden=\"true\">");
    path(&mut svg, "grid", &grid(domain), "");
    let mut axes = String::new();
    for y in [Some(PAGE_Y), wire.then_some(WIRE_Y)].into_iter().flatten() {
        geometry::line(&mut axes, (0.0, y), (WIDTH, y));
    }
    path(&mut svg, "axes", &axes, "");
    svg
}

/// Each event from the wire to the page, and whether it was held between.
fn lines(wire: &Arrivals, page: &Arrivals) -> Vec<(Stamp, Stamp, bool)> {
    let mut lines = Vec::new();
    let mut came = page.frames().filter(|(_, mark)| mark.event).peekable();
    for (delivery, mark) in wire.frames().filter(|(_, mark)| mark.event) {
        while came.next_if(|(_, own)| own.end < mark.end).is_some() {}
        if let Some((own, _)) = came.next_if(|(_, own)| own.end == mark.end) {
            let from = delivery.arrived();
            let hold = own.at - delivery.forwarded.unwrap_or(from);
            lines.push((from, own.at, geometry::is_late(hold - page.clock_uncertainty())));
        }
    }
    lines
}

fn own_clumps(arrivals: &Arrivals, call: Stamp) -> Vec<Clump> {
    clumps(arrivals, call, |delivery| delivery.at)
}

fn clumps(arrivals: &Arrivals, call: Stamp, time: fn(&Delivery) -> Stamp) -> Vec<Clump> {
    let mut clumps = Vec::new();
    for delivery in &arrivals.deliveries {
        let count = delivery.frames.iter().filter(|mark| mark.event).count() as u32;
        if count > 0 {
            add(&mut clumps, time(delivery) - call, count);
        }
    }
    clumps
}

/// What follows at once came together as far as anyone sees.
fn add(clumps: &mut Vec<Clump>, at: Span, count: u32) {
    let same = Thresholds::standard().same_release;
    match clumps.last_mut().filter(|last| at - last.0 <= same) {
        Some(last) => last.1 += count,
        None => clumps.push((at, count, false)),
    }
}

fn dots(svg: &mut String, clumps: &[Clump], y: f64, part: Part, domain: Span) {
    let mut prompt: [String; DOT_SIZES.len()] = Default::default();
    let mut late: [String; DOT_SIZES.len()] = Default::default();
    let mut last = f64::MIN;
    for (at, count, held) in clumps {
        let x = geometry::x(*at, domain);
        if *count > 1 || (x - last).abs() > SAME_PLACE {
            last = x;
            let sizes = if *held { &mut late } else { &mut prompt };
            geometry::line(&mut sizes[geometry::size_of(*count)], (x, y), (x, y));
        }
    }
    let class = ["dot late ", part.class()].concat();
    for (class, sizes) in [("dot", &prompt), (class.as_str(), &late)] {
        for (dots, width) in sizes.iter().zip(DOT_WIDTHS) {
            path(svg, class, dots, width);
        }
    }
}

/// Counts of the dots that stand for several events, as far as they have room.
fn counts(clumps: &[Clump], y: f64, domain: Span) -> String {
    let mut markup = String::new();
    let mut last = f64::MIN;
    for (at, count, _) in clumps.iter().filter(|clump| clump.1 > 1) {
        let x = geometry::x(*at, domain);
        if x - last < LABEL_ROOM {
            continue;
        }
        last = x;
        markup.push_str(&joined(&[
            "<span class=\"count\" style=\"left:",
            &decimal(x / WIDTH * 100.0, 2),
            "%;top:",
            &decimal(y, 1),
            "%\">",
            &count.to_string(),
            "</span>",
        ]));
    }
    markup
}
