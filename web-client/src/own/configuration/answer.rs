//! What the reader answers.

use measure::Span;
use measure::units::decimal;

use crate::geometry::{Clump, Picture};
use crate::json::Json;

/// A step of the request's way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Station {
    /// What became of it.
    pub look: String,
    /// What it is.
    pub what: String,
    /// Where it stands.
    pub place: String,
    /// Why.
    pub why: String,
    /// How many are around it.
    pub depth: u32,
    /// Whether it was meant, and does not answer.
    pub meant: bool,
}

/// A setting in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Who says so.
    pub by: String,
    /// Whether it is part of what holds the stream.
    pub holds: bool,
}

/// A way that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `direct`, `yours` or `corrected`.
    pub name: String,
    /// The verdict's name.
    pub verdict: String,
    /// Its sentence.
    pub because: String,
    /// Accepted runs, and excluded ones.
    pub runs: (u32, u32),
    /// The first token, median.
    pub ttft: Option<Span>,
    /// Between frames, median.
    pub gap: Option<Span>,
    /// Median, as it is written.
    pub per_read: Option<String>,
    /// One of the runs.
    pub picture: Option<Picture>,
}

/// What a proof came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// It was measured.
    Measured {
        /// By which proxy.
        by: String,
        /// Each way.
        rows: Vec<Row>,
        /// What they say together.
        shows: String,
        /// What was put in another's place to run it here.
        changed: Vec<String>,
    },
    /// Why it was not.
    Not(String),
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// Whose configuration it was read as.
    pub product: String,
    /// `clean`, `found` or `cannot-tell`.
    pub answer: String,
    /// All of it in a sentence.
    pub headline: String,
    /// The request's way.
    pub way: Vec<Station>,
    /// Whose defaults hold.
    pub by: String,
    /// What is in force.
    pub settings: Vec<Setting>,
    /// What else is said: titles, and lines.
    pub sections: Vec<(String, Vec<String>)>,
    /// The corrected block.
    pub block: Option<String>,
    /// The whole corrected text.
    pub corrected: Option<String>,
    /// The proof, where it was asked for.
    pub proof: Option<Proof>,
}

/// Why there is no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// In a sentence.
    pub why: String,
    /// Which field it is about; empty for none.
    pub about: String,
    /// The line at fault: its number, the column if one is meant, and what stands there.
    pub spot: Option<(u32, Option<u32>, String)>,
    /// What could be meant: in words, host, port.
    pub choices: Vec<(String, String, String)>,
}

impl Fault {
    /// One of the configuration itself.
    pub(super) fn text(why: &str) -> Fault {
        Fault { why: why.into(), about: "text".into(), ..Fault::default() }
    }

    /// One of no field.
    pub(super) fn plain(why: &str) -> Fault {
        Fault { why: why.into(), ..Fault::default() }
    }
}

fn lines(json: &Json, name: &str) -> Vec<String> {
    json.list(name, |line| line.value.as_string().unwrap_or_default())
}

/// An answer.
pub fn story(json: &Json) -> Story {
    let in_force = json.field("in_force");
    let mut sections = Vec::new();
    json.list_by("sections", &mut |section| {
        // Way and settings stand by themselves too.
        if section.text("kind") == "other" {
            sections.push((section.text("title"), lines(section, "lines")));
        }
    });
    Story {
        product: json.text("product"),
        answer: json.text("answer"),
        headline: json.text("headline"),
        way: json.list("way", |own| Station {
            look: own.text("look"),
            what: own.text("what"),
            place: own.text("place"),
            why: own.text("why"),
            depth: own.small("depth"),
            meant: own.flag("meant"),
        }),
        by: in_force.text("by"),
        settings: in_force.list("settings", |own| Setting {
            name: own.text("name"),
            value: own.text("value"),
            by: own.text("by"),
            holds: own.flag("holds"),
        }),
        sections,
        block: json.text_if_any("block"),
        corrected: json.text_if_any("corrected"),
        proof: json.get("proof").map(|proof| self::proof(&proof)),
    }
}

fn proof(json: &Json) -> Proof {
    if let Some(why) = json.text_if_any("not_measured") {
        return Proof::Not(why);
    }
    Proof::Measured {
        by: json.text("by"),
        rows: json.list("rows", row),
        shows: json.text("shows"),
        changed: lines(json, "changed"),
    }
}

fn row(json: &Json) -> Row {
    let span = |name: &str| json.int_if_any(name).map(Span);
    Row {
        name: json.text("name"),
        verdict: json.text("verdict"),
        because: json.text("because"),
        runs: (json.small("runs"), json.small("excluded")),
        ttft: span("ttft_us"),
        gap: span("gap_us"),
        per_read: json.get("frames_per_read").map(|own| decimal(own.number(), 1)),
        picture: json.get("run").map(|run| picture(&run)),
    }
}

/// A run as charts draw it.
fn picture(json: &Json) -> Picture {
    let mut picture = Picture::default();
    json.list_by("sent", &mut |own| {
        let (frame, at) = (own.small("frame") as usize, Span(own.int("at_us")));
        // Frames of a proof are few: a number that is none makes no list.
        if frame < 10_000 {
            if frame >= picture.sent.len() {
                picture.sent.resize(frame + 1, None);
            }
            picture.sent[frame] = Some(at);
            picture.latest = picture.latest.max(at);
        }
    });
    picture.page = json.list("reads", |own| {
        let seqs: Vec<u32> = own.list("frames", |frame| frame.number() as u32);
        Clump { at: Span(own.int("at_us")), count: seqs.len() as u32, seqs }
    });
    let last = picture.page.last().map_or(Span::ZERO, |own| own.at);
    picture.latest = picture.latest.max(last);
    picture
}

/// What is said in place of an answer.
pub fn fault(json: &Json) -> Fault {
    Fault {
        why: json.text("error"),
        about: json.text_if_any("about").unwrap_or_default(),
        spot: json.get("spot").map(|spot| {
            let column = spot.get("column").map(|_| spot.small("column"));
            (spot.small("line"), column, spot.text("text"))
        }),
        choices: json.list("choices", |own: &Json| {
            let host = own.text_if_any("host").unwrap_or_default();
            let port = own.int_if_any("port").map(|port| port.to_string());
            (own.text("shown"), host, port.unwrap_or_default())
        }),
    }
}
