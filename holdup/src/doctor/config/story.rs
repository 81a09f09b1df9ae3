//! What is told of a configuration, as text and as JSON. Everything in it is masked.

use std::collections::BTreeSet;
use std::path::Path;

use config_reader::Station;
use serde_json::{Value, json};

use super::proof::{self, Row, Shown};
use crate::exit::Exit;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing in force holds a stream.
    Clean,
    /// Something does, or the rule that was meant never applies.
    Found,
    /// It depends on what is not known.
    CannotTell,
}

impl Answer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Answer::Clean => "clean",
            Answer::Found => "found",
            Answer::CannotTell => "cannot-tell",
        }
    }

    pub(super) fn exit(self) -> Exit {
        match self {
            Answer::Clean => Exit::Done,
            Answer::Found => Exit::Found,
            Answer::CannotTell => Exit::Void,
        }
    }
}

/// A heading and its lines.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) lines: Vec<String>,
}

impl Section {
    /// Those that have lines.
    pub(super) fn all(sections: impl IntoIterator<Item = (String, Vec<String>)>) -> Vec<Section> {
        let filled = sections.into_iter().filter(|(_, lines)| !lines.is_empty());
        filled.map(|(title, lines)| Section { title, lines }).collect()
    }
}

/// A setting that is in force.
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
    /// Who says so.
    pub(super) by: String,
    /// Whether it is part of what holds the stream.
    pub(super) holds: bool,
}

/// What is in force for the request.
#[derive(Default)]
pub(super) struct InForce {
    /// Such as `by nginx 1.24.0`; empty where no version matters.
    pub(super) by: String,
    pub(super) settings: Vec<Setting>,
}

/// Where the way of the request is told.
const WAY: &str = "The way of the request";
/// Where that is told which is in force.
const IN_FORCE: &str = "In force there";

/// What the proof came to.
pub(super) enum Proof {
    /// It was measured: by which proxy, with what put in another's place.
    Measured { by: String, rows: Vec<Row>, changed: BTreeSet<String> },
    /// It was not; why.
    Not(String),
}

/// All of it.
pub(crate) struct Story {
    pub(crate) exit: Exit,
    pub(super) answer: Answer,
    pub(super) headline: String,
    /// The request's way, step by step.
    pub(super) way: Vec<Station>,
    pub(super) in_force: InForce,
    /// What else is said.
    pub(super) sections: Vec<Section>,
    /// The corrected block.
    pub(super) block: Option<String>,
    /// The whole corrected configuration.
    pub(super) corrected: Option<String>,
    pub(super) proof: Option<Proof>,
}

impl Story {
    /// An answer of which nothing else is told yet.
    pub(super) fn new(answer: Answer, headline: String) -> Story {
        Story {
            exit: answer.exit(),
            answer,
            headline,
            way: Vec::new(),
            in_force: InForce::default(),
            sections: Vec::new(),
            block: None,
            corrected: None,
            proof: None,
        }
    }

    /// Way, settings and the rest as headings with lines.
    fn told(&self) -> Vec<(&'static str, &str, Vec<String>)> {
        let way = self.way.iter().map(line).collect();
        let settings = self.in_force.settings.iter().map(|own| {
            let mark = if own.holds { "  <- holds" } else { "" };
            format!("{:24} {:16} {}{mark}", own.name, own.value, own.by)
        });
        let own = [("way", WAY, way), ("in-force", IN_FORCE, settings.collect::<Vec<String>>())];
        let own = own.into_iter().filter(|(_, _, lines)| !lines.is_empty());
        own.chain(self.sections.iter().map(|own| ("other", own.title.as_str(), own.lines.clone())))
            .collect()
    }

    /// Takes the proof in, and whether it was interrupted. A blame that the measurement does not
    /// bear out is no answer.
    pub(super) fn weigh(&mut self, (proof, stopped): (Proof, bool), blames: bool) {
        let live = match &proof {
            Proof::Measured { rows, .. } => proof::shown(rows) == Shown::LiveBefore,
            Proof::Not(_) => false,
        };
        if live && blames {
            self.answer = Answer::CannotTell;
            self.exit = self.answer.exit();
            self.headline.push_str(" Measured here it is live: what was read is not borne out.");
        }
        self.proof = Some(proof);
        if stopped {
            self.exit = Exit::Interrupted;
        }
    }

    /// For people.
    pub(super) fn text(&self, folder: Option<&Path>) -> String {
        let mut out = format!("{}\n", self.headline);
        for (kind, title, lines) in self.told() {
            let by = &self.in_force.by;
            let by = if kind == "in-force" && !by.is_empty() {
                format!(", {by}")
            } else {
                String::new()
            };
            out.push_str(&format!("\n{title}{by}\n"));
            for line in lines {
                out.push_str(&format!("  {}\n", line.trim_end()));
            }
        }
        if let Some(block) = &self.block {
            out.push_str("\nThe corrected block\n");
            for line in block.lines() {
                out.push_str(&format!("  {line}\n"));
            }
            out.push_str(&match folder.filter(|_| self.corrected.is_some()) {
                Some(folder) => {
                    format!(
                        "The whole configuration: {}\n",
                        folder.join("corrected.conf").display()
                    )
                }
                None if self.corrected.is_some() => {
                    "The whole configuration: with --out DIR or --json.\n".into()
                }
                None => String::new(),
            });
        }
        match &self.proof {
            Some(Proof::Measured { by, rows, changed }) => {
                out.push_str(&format!("\nThe proof: {by}, the emitter behind it\n"));
                for row in rows {
                    let verdict = row.finding.name.name();
                    let (name, why) = (&row.name, &row.finding.because);
                    out.push_str(&format!("  {name:10} {verdict}: {why}\n"));
                    let figures = row.figures();
                    if !figures.is_empty() {
                        out.push_str(&format!("  {:10} {figures}\n", ""));
                    }
                }
                out.push_str(&format!("  {}\n", said(proof::shown(rows))));
                out.push_str("  To run it here:\n");
                for change in changed {
                    out.push_str(&format!("    {change}\n"));
                }
            }
            Some(Proof::Not(why)) => out.push_str(&format!("\nNot measured: {why}\n")),
            None => {}
        }
        out
    }

    /// For programs, and for the page.
    pub(crate) fn json(&self) -> Value {
        let told = self.told();
        let sections: Vec<Value> = told
            .iter()
            .map(|(kind, title, lines)| json!({ "kind": kind, "title": title, "lines": lines }))
            .collect();
        let way: Vec<Value> = self
            .way
            .iter()
            .map(|own| {
                json!({ "look": own.look.name(), "what": own.what, "place": own.place,
                        "why": own.why, "depth": own.depth, "meant": own.meant })
            })
            .collect();
        let settings: Vec<Value> = self
            .in_force
            .settings
            .iter()
            .map(|own| {
                json!({ "name": own.name, "value": own.value, "by": own.by, "holds": own.holds })
            })
            .collect();
        let proof = match &self.proof {
            Some(Proof::Measured { by, rows, changed }) => {
                json!({ "by": by, "rows": rows.iter().map(Row::json).collect::<Vec<Value>>(),
                        "shows": said(proof::shown(rows)), "changed": changed })
            }
            Some(Proof::Not(why)) => json!({ "not_measured": why }),
            None => Value::Null,
        };
        json!({
            "schema": "holdup.configuration/1", "answer": self.answer.name(),
            "headline": self.headline, "way": way,
            "in_force": { "by": self.in_force.by, "settings": settings },
            "sections": sections, "block": self.block, "corrected": self.corrected,
            "proof": proof,
        })
    }
}

/// A step in one line, for a terminal.
fn line(own: &Station) -> String {
    let look = if own.meant { "meant" } else { own.look.shown() };
    let place = if own.place.is_empty() { String::new() } else { format!(" ({})", own.place) };
    let why = if own.why.is_empty() { String::new() } else { format!(": {}", own.why) };
    format!("{look:12} {}{}{place}{why}", "  ".repeat(own.depth), own.what)
}

fn said(shown: Shown) -> &'static str {
    match shown {
        Shown::Cured => "Held as it is, live as corrected.",
        Shown::Whole => "Cut off as it is, live and whole as corrected.",
        Shown::LiveBefore => "Live as it is, measured here.",
        Shown::Open => "These measurements do not decide.",
    }
}
