//! The steps of a request's way through a configuration, as people can follow them.

/// What became of something that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The server that takes the request.
    Server,
    /// A prefix that matches and is shorter than another, or something that does not match.
    Passed,
    /// The longest prefix, kept in case no regular expression matches.
    Remembered,
    /// It answers, or the search goes on inside.
    Chosen,
    /// Never looked at: the search had ended.
    Untried,
    /// It leads the request elsewhere, or may.
    Detour,
}

impl Look {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Look::Server => "server",
            Look::Passed => "passed",
            Look::Remembered => "remembered",
            Look::Chosen => "chosen",
            Look::Untried => "untried",
            Look::Detour => "detour",
        }
    }

    /// For people.
    pub fn shown(self) -> &'static str {
        match self {
            Look::Server => "server",
            Look::Passed => "passed over",
            Look::Remembered => "remembered",
            Look::Chosen => "chosen",
            Look::Untried => "not tried",
            Look::Detour => "on the way",
        }
    }
}

/// One step. Everything in it is masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// What became of it.
    pub look: Look,
    /// What was looked at, as it is written.
    pub what: String,
    /// Where it stands; empty for several at once.
    pub place: String,
    /// Why this became of it.
    pub why: String,
    /// How many locations are around it.
    pub depth: usize,
    /// Whether it is the one that was meant, and does not answer: the wrong turn.
    pub meant: bool,
}

impl Station {
    /// One that is in nothing, and was not meant otherwise.
    pub fn new(
        look: Look,
        what: impl Into<String>,
        place: impl Into<String>,
        why: impl Into<String>,
    ) -> Station {
        let (what, place, why) = (what.into(), place.into(), why.into());
        Station { look, what, place, why, depth: 0, meant: false }
    }
}
