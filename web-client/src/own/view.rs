//! The page's frame and its places: markup made once as a text, and what is said there.

use measure::Span;
use measure::units::decimal;

use super::chart;
use super::figures::{self, bands, figure_of};
use super::form;
use super::judge::Side;
use super::model::{Model, Phase, State};
use crate::geometry;
use crate::view::markup::{escaped, filled, joined};
use crate::view::place::{By, document, find, put};
use crate::words;

/// Text of an answer that is shown while it grows: more than its window holds.
const TAIL: usize = 1_600;

/// Where something is said: a selector, by what, and what of the state.
type Place = (&'static str, By, fn(&State, i64) -> String);
/// The same within the n-th address's lane.
type Lane = (&'static str, By, fn(&State, usize, i64) -> String);

const PLACES: &[Place] = &[
    ("html", By::Attribute("data-state"), |state, _| phase(&state.phase).into()),
    (".progress", By::Text, |state, _| progress(state)),
    ("[data-act=ask]", By::Flag("disabled"), |state, _| {
        flag(state.is_running() || state.phase == Phase::Loading)
    }),
    ("[data-act=stop]", By::Flag("disabled"), |state, _| flag(!state.is_running())),
    (".facts .clock", By::Text, |state, _| {
        let Some(clock) = state.clock else { return "clock not compared yet".into() };
        ["clock ± ", &words::fine(clock.uncertainty_us)].concat()
    }),
    (".marks", By::Markup, |state, _| marks(domain_of(state))),
    (".before", By::Flag("hidden"), |state, _| flag(!state.targets.is_empty())),
    (".lanes", By::Flag("hidden"), |state, _| flag(state.targets.is_empty())),
    (".notice", By::Text, |state, _| match &state.phase {
        Phase::Failed(why) => why.clone(),
        _ => String::new(),
    }),
    (".notice", By::Flag("hidden"), |state, _| flag(!matches!(state.phase, Phase::Failed(_)))),
    (".tables", By::Markup, |state, step| figures::tables(state, step)),
    (".answer p", By::Text, |state, step| figures::sentence(state, step)),
    (".confirm-target p", By::Text, |state, _| match &state.phase {
        // It begins with an address.
        Phase::Confirm { said, .. } => joined(&[said, "."]),
        _ => String::new(),
    }),
    ("[data-key=json]", By::Flag("disabled"), |state, _| flag(!may_take(state))),
    ("[data-key=markdown]", By::Flag("disabled"), |state, _| flag(!may_take(state))),
    (".said", By::Text, |state, _| state.said.clone()),
];

const LANE: &[Lane] = &[
    ("", By::Flag("hidden"), |state, own, _| flag(own >= state.targets.len())),
    ("", By::Attribute("data-who"), |state, own, _| finding(state, own).0.class().into()),
    (".name h2", By::Text, |state, own, _| name_of(state, own)),
    (".label", By::Text, |state, own, _| {
        let way = match &state.plan {
            Some(plan) if plan.direct => "directly from this browser",
            _ => "through the gateway",
        };
        let shape = state.last(own).and_then(|answer| answer.seen.as_ref()?.shape.as_deref());
        let (_, path) = parts_of(state, own);
        joined(&[path, ", ", way, shape.map_or("", |_| ", "), shape.unwrap_or_default()])
    }),
    (".verdict", By::Text, |state, own, _| finding(state, own).1),
    (".because", By::Text, |state, own, _| finding(state, own).2),
    (".notes", By::Markup, |state, own, _| {
        let notes = state.last(own).map(|answer| answer.notes.as_slice()).unwrap_or_default();
        notes.iter().map(|note| filled("<li>¤</li>", &[&escaped(note)])).collect()
    }),
    (".axes", By::Markup, |state, _, _| chart::axes(has_wire(state))),
    (".bands", By::Markup, bands),
    (".plot", By::Attribute("aria-label"), |state, own, _| {
        state.last(own).map_or(String::new(), chart::described)
    }),
    (".value", By::Text, |state, own, step| figure_of(state, own, step).0),
    (".unit", By::Text, |state, own, step| figure_of(state, own, step).1.into()),
    (".runs", By::Text, |state, own, _| {
        let (all, good) = (state.of(own).count() as u32, state.good(own).count() as u32);
        match all - good {
            0 => words::count(all, "answer"),
            failed => format!("{}, {failed} failed", words::count(good, "answer")),
        }
    }),
    (".list", By::Markup, figures::list),
];

/// A flag that is on where something holds.
fn flag(holds: bool) -> String {
    if holds { "yes".into() } else { String::new() }
}

fn may_take(state: &State) -> bool {
    !state.is_running() && !state.answers.is_empty()
}

/// What a driver may wait for.
fn phase(phase: &Phase) -> &'static str {
    match phase {
        Phase::Loading => "loading",
        Phase::Ready => "ready",
        Phase::Running(_) => "running",
        Phase::Confirm { .. } => "confirm",
        Phase::Finished | Phase::Stopped => "finished",
        Phase::Failed(_) => "failed",
    }
}

fn progress(state: &State) -> String {
    match &state.phase {
        Phase::Loading => "Looking what there is …".into(),
        Phase::Ready => String::new(),
        Phase::Running(done) => {
            filled("answer ¤ of ¤", &[&(done + 1).to_string(), &state.planned().to_string()])
        }
        Phase::Confirm { .. } => "waiting for your word".into(),
        Phase::Finished => words::count(state.answers.len() as u32, "answer"),
        Phase::Stopped => filled(
            "stopped after ¤ of ¤",
            &[&state.answers.len().to_string(), &state.planned().to_string()],
        ),
        Phase::Failed(_) => "ended early".into(),
    }
}

/// An address's host and its path.
fn parts_of(state: &State, own: usize) -> (&str, &str) {
    let shown = state.targets.get(own).map_or("", |target| target.shown.as_str());
    let short = shown.split_once("://").map_or(shown, |(_, rest)| rest);
    short.split_at(short.find('/').unwrap_or(short.len()))
}

/// The host, behind a letter where two are raced.
fn name_of(state: &State, own: usize) -> String {
    let (host, _) = parts_of(state, own);
    if state.targets.len() > 1 { joined(&[letter(own), "\u{a0}· ", host]) } else { host.into() }
}

/// What an address is called where two are raced.
pub fn letter(own: usize) -> &'static str {
    if own == 0 { "A" } else { "B" }
}

fn has_wire(state: &State) -> bool {
    !state.plan.as_ref().is_some_and(|plan| plan.direct)
}

/// Who holds it, in a few words and in a sentence.
fn finding(state: &State, own: usize) -> (Side, String, String) {
    if state.live.as_ref().is_some_and(|(target, _)| *target == own) {
        return (Side::Unknown, "Answering".into(), String::new());
    }
    if let Some((side, words, because)) = state.finding(own) {
        return (side, words.into(), because);
    }
    match state.last(own).and_then(|answer| answer.trouble.as_ref()) {
        Some(trouble) => (Side::Broken, trouble.what.clone(), trouble.so.clone()),
        None if matches!(state.phase, Phase::Failed(_)) => {
            (Side::Broken, "No answer".into(), String::new())
        }
        None => (Side::Unknown, "Not asked yet".into(), String::new()),
    }
}

/// The time that all charts span.
fn domain_of(state: &State) -> Span {
    match &state.live {
        Some((_, log)) => {
            let elapsed = Span(crate::browser::now_us() - log.borrow().page.call_us);
            let before = state.latest();
            if elapsed < before { chart::domain(before) } else { chart::growing(elapsed) }
        }
        None => chart::domain(state.latest()),
    }
}

pub(super) fn marks(domain: Span) -> String {
    let mut marks = String::new();
    for (at, share) in geometry::ruler(domain) {
        let (left, ms) = (decimal(share * 100.0, 2), (at.as_micros() / 1_000).to_string());
        marks.push_str(&filled("<span style=\"left:¤%\">¤</span>", &[&left, &ms]));
    }
    marks
}

/// A lane's markup.
fn lane(own: usize) -> String {
    filled(
        "<article class=\"lane\" id=\"side-¤\" hidden><div class=\"who\"><div class=\"name\">\
         <h2></h2><p class=\"label\"></p></div><p class=\"verdict\"></p><p class=\"because\"></p>\
         <ul class=\"notes\"></ul></div><div class=\"stream\">\
         <div class=\"tokens\"><p></p></div><div class=\"chart\"><div class=\"axes\" \
         aria-hidden=\"true\"></div><div class=\"plot\" role=\"img\"></div>\
         <dl class=\"bands\"></dl></div></div>\
         <div class=\"figures\"><p class=\"ttft\"><span class=\"value\"></span>\
         <span class=\"unit\"></span><span class=\"what\">first token<br>in the page\
         <span class=\"runs\"></span></span></p><dl class=\"list\"></dl></div></article>",
        &[&own.to_string()],
    )
}

/// The page's markup.
pub fn markup(model: Model) -> String {
    let browser = model.browser();
    let name = joined(&[&words::engine(&browser.name), " ", &escaped(&browser.version)]);
    let isolated = if browser.isolated { "isolated" } else { "not isolated" };
    let step = ["clock step ", &words::fine(browser.clock_step_us)].concat();
    let head = filled(
        "<header class=\"top\"><div class=\"bar\"><h1>Who is holding up your own tokens?</h1>\
         <p class=\"progress\"></p><div class=\"controls\">\
         <button type=\"button\" class=\"primary\" data-act=\"ask\" \
         title=\"Asks, one answer at a time (Ctrl-Enter)\">Ask</button>\
         <button type=\"button\" data-act=\"stop\" title=\"Ends what runs; what was measured \
         stands (Escape)\">Stop</button><a class=\"way\" href=\"/configuration\">Your configuration</a>\
         <a class=\"way\" href=\"/\">The demo’s lanes</a></div></div>\
         <div class=\"facts\">\
         <span title=\"The browser that reads the answers\">¤</span>\
         <span title=\"An isolated page gets the browser’s fine clock\">¤</span>\
         <span title=\"The smallest step of this page’s clock: no figure has more digits\">¤</span>\
         <span class=\"clock\" title=\"How far the page’s clock and the gateway’s may be apart: \
         compared by a dozen round trips before each answer\"></span></div><p class=\"notice bad\" role=\"alert\" hidden></p></header>",
        &[&name, isolated, &step],
    );
    joined(&[
        &head,
        "<div class=\"room own\"><aside class=\"side\">",
        &form::markup(),
        "</aside><main tabindex=\"-1\"><div class=\"state before\"><p>Type an address and a prompt, \
         and ask: the answer appears here as a chat shows it, and below it when each event came to \
         this machine (the wire) and to this page.</p><p>Where it asks through the gateway, a \
         process on this machine counts the reads on the wire and passes every byte on at once: so \
         one real answer shows on whose side it is held. The example races the demo’s own emitter \
         behind HAProxy with the same route without it.</p></div>\
         <section class=\"lanes\" aria-label=\"Answers\" hidden><div class=\"scale\">\
         <span></span><div class=\"ruler\" aria-hidden=\"true\"><span class=\"unit\">ms</span>\
         <div class=\"marks\"></div></div><span></span></div>",
        &lane(0),
        &lane(1),
        "</section><section class=\"tables\"></section></main></div>\
         <footer class=\"answer\"><p role=\"status\"></p></footer>\
         <section class=\"take\" aria-label=\"Take away\"><h2>Take away</h2><div class=\"ways\">\
         <button type=\"button\" data-act=\"take\" data-key=\"json\">Results (JSON)</button>\
         <button type=\"button\" data-act=\"take\" data-key=\"markdown\">Figures (Markdown)</button>\
         </div><label class=\"check\"><input type=\"checkbox\" id=\"with-texts\">with texts: prompts \
         and answers</label><p class=\"said\" role=\"status\"></p></section>\
         <dialog class=\"confirm-target\" aria-labelledby=\"confirm-title\">\
         <h2 id=\"confirm-title\">Is this one yours?</h2><p></p><div class=\"controls\">\
         <button type=\"button\" class=\"primary\" data-act=\"mine\">Yes, this is mine</button>\
         <button type=\"button\" data-act=\"not-mine\">No</button></div></dialog>",
    ])
}

/// What is said at a place.
type Say = Box<dyn Fn(&State, i64) -> String>;

/// A place, and what it said last.
struct Shown {
    element: web_sys::Element,
    by: By,
    say: Say,
    last: Option<String>,
}

/// Keeps every place said.
pub fn keep(model: Model) {
    let mut shown: Vec<Shown> = Vec::new();
    let mut add = |element: Option<web_sys::Element>, by, say: Say| {
        if let Some(element) = element {
            shown.push(Shown { element, by, say, last: None });
        }
    };
    for &(selector, by, say) in PLACES {
        add(find(selector), by, Box::new(say));
    }
    for own in 0..2 {
        let root = find(&format!("#side-{own}"));
        for &(selector, by, say) in LANE {
            let within = |root: &web_sys::Element| match selector {
                "" => Some(root.clone()),
                selector => root.query_selector(selector).ok().flatten(),
            };
            let say = Box::new(move |state: &State, step| say(state, own, step));
            add(root.as_ref().and_then(within), by, say);
        }
    }
    let step = model.step();
    crate::view::place::effect(Box::new(move || {
        model.see(|state| {
            for place in &mut shown {
                let text = (place.say)(state, step);
                if place.last.as_ref() != Some(&text) {
                    put(&place.element, place.by, &text);
                    place.last = Some(text);
                }
            }
            faults(state);
            charts(state);
        });
    }));
}

fn faults(state: &State) {
    let Some(document) = document() else { return };
    let Ok(fields) = document.query_selector_all(".asks .why") else { return };
    for index in 0..fields.length() {
        use wasm_bindgen::JsCast;
        let Some(field) = fields.get(index) else { continue };
        let field: web_sys::Element = field.unchecked_into();
        let own = state.fault.as_ref().filter(|(name, _)| field.id() == format!("why-{name}"));
        put(&field, By::Text, own.map_or("", |(_, why)| why));
    }
}

/// The charts and texts of answers that are whole; the one that grows is drawn by [`grow`].
fn charts(state: &State) {
    let domain = domain_of(state);
    for own in 0..state.targets.len() {
        if state.live.as_ref().is_some_and(|(target, _)| *target == own) {
            continue;
        }
        let Some((plot, text)) = parts(own) else { continue };
        let last = state.last(own);
        let svg = last.map_or_else(
            || chart::empty(has_wire(state), domain),
            |answer| chart::of_answer(answer, domain),
        );
        put(&plot, By::Markup, &svg);
        let said = last.map(|answer| tail(&answer.page.text)).unwrap_or_default();
        put(&text, By::Text, said);
    }
}

fn parts(own: usize) -> Option<(web_sys::Element, web_sys::Element)> {
    let part = |name: &str| find(&format!("#side-{own} {name}"));
    Some((part(".plot")?, part(".tokens p")?))
}

/// Draws the answer that grows; to be called before each painted frame. Returns whether there is
/// one.
pub fn grow(model: Model, chart_too: bool) {
    model.look(|state| {
        let Some((own, log)) = &state.live else { return };
        let Some((plot, text)) = parts(*own) else { return };
        let mut log = log.borrow_mut();
        log.parse();
        put(&text, By::Text, tail(&log.page.text));
        if chart_too {
            let domain = {
                let elapsed = Span(crate::browser::now_us() - log.page.call_us);
                let before = state.latest();
                if elapsed < before { chart::domain(before) } else { chart::growing(elapsed) }
            };
            put(&plot, By::Markup, &chart::growing_of(&log.page, has_wire(state), domain));
            if let Some(ruler) = find(".marks") {
                put(&ruler, By::Markup, &marks(domain));
            }
        }
    });
}

/// The end of a text.
fn tail(text: &str) -> &str {
    let mut cut = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    &text[cut..]
}
