//! The markup of the settings: every field with its name, its range, and a place beside it for
//! what is wrong with it.

use measure::Reader;
use measure::page::Lanes;
use measure::plan::PRESETS;

use crate::model::{Boot, State};
use crate::view::markup::{escaped, filled};

const FORM: &str = "<form id=\"settings\" class=\"settings\" autocomplete=\"off\">\
    <fieldset><legend>Plan</legend>¤</fieldset><fieldset><legend>Stream</legend>¤\
    <div class=\"field\"><button type=\"button\" data-act=\"own-stream\" title=\"Undoes what was \
    changed in this row\">The preset’s own</button></div></fieldset>\
    <fieldset><legend>Readers</legend>¤</fieldset><fieldset><legend>Lanes</legend>¤</fieldset>\
    <p class=\"note\">A change starts anew: take away first what is to be kept.</p></form>";

const TEXT: &str = "<div class=\"field\"><label for=\"set-¤\">¤</label><input type=\"text\" \
    id=\"set-¤\" data-set=\"¤\" inputmode=\"¤\" aria-describedby=\"why-¤\" title=\"¤\">\
    <p class=\"why\" id=\"why-¤\" role=\"alert\"></p></div>";

const SELECT: &str = "<div class=\"field\"><label for=\"set-¤\">¤</label><select id=\"set-¤\" \
    data-set=\"¤\" aria-describedby=\"why-¤\">¤</select>\
    <p class=\"why\" id=\"why-¤\" role=\"alert\"></p></div>";

const CHECK: &str = "<label class=\"check\"><input type=\"checkbox\" id=\"set-¤-¤\" \
    data-set=\"¤\" data-key=\"¤\"><span>¤</span></label>";

const CHECKS: &str = "<div class=\"field checks\">¤<p class=\"why\" role=\"alert\"></p></div>";

/// The form, as far as it does not change while it is open.
pub(super) fn markup(state: &State, own_readers: &[(Reader, &str)]) -> String {
    let (Some(lanes), Boot::Ready) = (&state.lanes, &state.boot) else {
        return "<p class=\"note\">The settings can be changed once the lanes are there.</p>"
            .into();
    };
    let own = |choices: &[(&str, &str)]| -> Vec<(String, String)> {
        choices.iter().map(|(value, name)| (value.to_string(), name.to_string())).collect()
    };
    let mut plan = select("preset", "Preset", &own(&PRESETS.map(|name| (name, name))));
    plan.push_str(&text("runs", "Rounds", "numeric", "From 1 to 1000: each plays every lane once"));
    let spoken = own(&[("", "the preset’s own"), ("http/1.1", "HTTP/1.1"), ("h2", "HTTP/2, TLS")]);
    plan.push_str(&select("protocol", "Spoken", &spoken));
    let orders = own(&[("", "one after the other"), ("1", "all at once")]);
    plan.push_str(&select("at_once", "Lanes run", &orders));
    plan.push_str(&text("seed", "Seed of their order", "numeric", "Any whole number"));
    let mut stream = String::new();
    for (key, label, title) in [
        ("frames", "Frames", "From 1 to 99999, the terminal one included"),
        ("interval_ms", "Interval, ms", "From 0 to 60000, with up to three decimals"),
        ("frame_bytes", "Frame size, B", "From 60 to 1048576"),
    ] {
        stream.push_str(&text(key, label, "decimal", title));
    }
    let framings = own(&[("chunked", "chunked"), ("close", "until it closes")]);
    stream.push_str(&select("framing", "Body", &framings));
    stream.push_str(&text(
        "header",
        "Another header",
        "text",
        "Name: value, of the emitter’s answer",
    ));
    let mut flags = check("accel", "", "X-Accel-Buffering: no");
    flags.push_str(&check("nagle", "", "Nagle’s algorithm on"));
    stream.push_str(&filled(CHECKS, &[&flags]));
    let (mut readers, mut names) = (String::new(), String::new());
    for (reader, name) in own_readers {
        readers.push_str(&check("readers", reader.name(), name));
    }
    let mut readers = filled(CHECKS, &[&readers]);
    let busy = "From 0 to 2000 ms after each delivery; empty for the preset’s own";
    readers.push_str(&text("busy_ms", "Page kept busy, ms", "numeric", busy));
    for lane in &lanes.lanes {
        let name = &lane.endpoint.name;
        names.push_str(&check("endpoints", name, name));
    }
    let mut lane = filled(CHECKS, &[&names]);
    lane.push_str(&select("mss", "Segment size", &segments(lanes)));
    filled(FORM, &[&plan, &stream, &readers, &lane])
}

/// The segment sizes that any lane has a way for.
fn segments(lanes: &Lanes) -> Vec<(String, String)> {
    let said = |mss: Option<u32>| match mss {
        Some(1_448) => "1448 B, Ethernet’s".into(),
        Some(bytes) => filled("¤ B", &[&bytes.to_string()]),
        None => "loopback’s, about 65 KB".to_string(),
    };
    let mut all = vec![(String::new(), filled("the lanes’ own: ¤", &[&said(lanes.mss)]))];
    for way in lanes.lanes.iter().flat_map(|lane| &lane.ways) {
        let value = way.mss.map_or("loopback".into(), |bytes| bytes.to_string());
        if all.iter().all(|(own, _)| *own != value) {
            all.push((value, said(way.mss)));
        }
    }
    all
}

fn text(key: &str, label: &str, mode: &str, title: &str) -> String {
    filled(TEXT, &[key, label, key, key, mode, key, title, key])
}

fn select(key: &str, label: &str, choices: &[(String, String)]) -> String {
    let mut options = String::new();
    for (value, name) in choices {
        options.push_str(&filled(
            "<option value=\"¤\">¤</option>",
            &[&escaped(value), &escaped(name)],
        ));
    }
    filled(SELECT, &[key, label, key, key, key, &options, key])
}

fn check(what: &str, key: &str, label: &str) -> String {
    let (key, label) = (escaped(key), escaped(label));
    filled(CHECK, &[what, &key, what, &key, &label])
}
