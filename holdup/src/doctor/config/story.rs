//! What is told of a configuration, as text and as JSON. Everything in it is masked.

use std::collections::BTreeSet;
use std::path::Path;

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

/// What the proof came to.
pub(super) enum Proof {
    /// It was measured: by which proxy, with what put in another's place.
    Measured { by: String, rows: Vec<Row>, changed: BTreeSet<String> },
    /// It was not; why.
    Not(String),
}

/// All of it.
pub(super) struct Story {
    pub(super) exit: Exit,
    pub(super) answer: Answer,
    pub(super) headline: String,
    pub(super) sections: Vec<Section>,
    /// The corrected block.
    pub(super) block: Option<String>,
    /// The whole corrected configuration.
    pub(super) corrected: Option<String>,
    pub(super) proof: Option<Proof>,
}

impl Story {
    /// Takes the proof in. A blame that the measurement does not bear out is no answer.
    pub(super) fn weigh(&mut self, proof: Proof, blames: bool) {
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
    }

    /// For people.
    pub(super) fn text(&self, folder: Option<&Path>) -> String {
        let mut out = format!("{}\n", self.headline);
        for section in &self.sections {
            out.push_str(&format!("\n{}\n", section.title));
            for line in &section.lines {
                out.push_str(&format!("  {line}\n"));
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
                    out.push_str(&format!(
                        "  {:10} {verdict}: {}\n",
                        row.name, row.finding.because
                    ));
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

    /// For programs.
    pub(super) fn json(&self) -> String {
        let sections: Vec<Value> = self
            .sections
            .iter()
            .map(|section| json!({ "title": section.title, "lines": section.lines }))
            .collect();
        let proof = match &self.proof {
            Some(Proof::Measured { by, rows, changed }) => {
                let row = |row: &Row| {
                    json!({ "name": row.name, "verdict": row.finding.name.name(),
                            "because": row.finding.because })
                };
                json!({ "by": by, "rows": rows.iter().map(row).collect::<Vec<Value>>(),
                        "shows": said(proof::shown(rows)), "changed": changed })
            }
            Some(Proof::Not(why)) => json!({ "not_measured": why }),
            None => Value::Null,
        };
        let whole = json!({
            "schema": "holdup.configuration/1", "answer": self.answer.name(),
            "headline": self.headline, "sections": sections, "block": self.block,
            "corrected": self.corrected, "proof": proof,
        });
        format!("{whole:#}")
    }
}

fn said(shown: Shown) -> &'static str {
    match shown {
        Shown::Cured => "Held as it is, live as corrected.",
        Shown::LiveBefore => "Live as it is, measured here.",
        Shown::Open => "These measurements do not decide.",
    }
}
