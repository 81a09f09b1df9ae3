//! What is said of one lane: who holds its tokens, and whether the native reader agrees.

use measure::confirm::{self, Agreement};
use measure::results::{CellResult, Endpoint};
use measure::{Reader, Verdict};

use super::{Mood, NONE, ratio, spread_median};

/// Who holds the tokens of a lane, as far as its verdict tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// The origin itself.
    Origin,
    /// The path.
    Path,
    /// The browser.
    Browser,
    /// The page.
    Page,
    /// The stream broke.
    Broken,
    /// Not known.
    Unknown,
}

impl Holder {
    /// Its name in the style sheet, which gives each a colour and a shape.
    pub fn class(self) -> &'static str {
        match self {
            Holder::Nobody => "nobody",
            Holder::Origin => "origin",
            Holder::Path => "path",
            Holder::Browser => "browser",
            Holder::Page => "page",
            Holder::Broken => "broken",
            Holder::Unknown => "unknown",
        }
    }
}

/// Who holds the tokens, by the verdict.
pub fn holder(verdict: Verdict) -> Holder {
    match verdict {
        Verdict::Live => Holder::Nobody,
        Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::OneBehind => {
            Holder::Path
        }
        Verdict::BatchedAtOrigin => Holder::Origin,
        Verdict::BatchedInBrowser | Verdict::ConnectionLimit => Holder::Browser,
        Verdict::PageBusy => Holder::Page,
        // Its bytes are live; what makes EventSource refuse them was done on the way.
        Verdict::TypeChanged | Verdict::Truncated | Verdict::NoToken | Verdict::Failed => {
            Holder::Broken
        }
        // A window is given back by whoever takes the bytes last, and that is not known.
        Verdict::Void | Verdict::CannotTell | Verdict::FlowControl => Holder::Unknown,
    }
}

/// A verdict's name in words, and its mood.
pub fn verdict(verdict: Verdict) -> (&'static str, Mood) {
    let words = match verdict {
        Verdict::Live => "Live: nobody holds them",
        Verdict::Held => "Held by the path, to the end",
        Verdict::Corked => "Corked by the path: bursts",
        Verdict::BufferBursts => "Buffered by the path",
        Verdict::OneBehind => "One behind, by the path",
        Verdict::FlowControl => "Stopped, for want of a window",
        Verdict::BatchedAtOrigin => "Batched by the origin itself",
        Verdict::BatchedInBrowser => "Batched by the browser",
        Verdict::PageBusy => "Live, but the page was busy",
        Verdict::ConnectionLimit => "Held by the browser, for a connection",
        Verdict::TypeChanged => "Live, but its content type was changed",
        Verdict::Truncated => "Cut short",
        Verdict::NoToken => "Ended without a token",
        Verdict::Failed => "Failed",
        Verdict::Void => "Void: not to be judged",
        Verdict::CannotTell => "Cannot tell",
    };
    let mood = match holder(verdict) {
        Holder::Nobody => Mood::Good,
        Holder::Unknown => Mood::Open,
        _ => Mood::Bad,
    };
    (words, mood)
}

/// What runs at an endpoint, beside its name: the version, and the setting that makes it special.
/// Configuration words come in backticks, for tables in Markdown.
pub fn setting(endpoint: &Endpoint) -> String {
    let setting: String = endpoint.label.chars().filter(|letter| *letter != '`').collect();
    let Some(version) = &endpoint.version else { return setting };
    // What is behind the release's number names a build.
    let release = version.split('-').next().unwrap_or_default();
    let mut text = String::new();
    // Most endpoints are called by their software already.
    if let Some(proxy) = endpoint.proxy.as_ref().filter(|proxy| !endpoint.name.starts_with(*proxy))
    {
        text.push_str(proxy);
        text.push(' ');
    }
    [&text, release, ", ", &setting].concat()
}

/// Whether the native reader, without a browser, saw the same path, in a few words and in a
/// sentence; `None` before it has read.
pub fn confirmation<'a>(
    row: &CellResult,
    rows: impl Iterator<Item = &'a CellResult> + Clone,
    clock_step_us: i64,
) -> Option<(Agreement, String, String)> {
    let (native, agreement) = confirm::of(row, rows.clone())?;
    let figures = |native: &CellResult| {
        let first = spread_median(native.summary.ttft_us.as_ref(), clock_step_us);
        let ratio = ratio(native.summary.frames_per_read.as_ref());
        let mut said = String::new();
        if first != NONE {
            said.push_str(&["first token ", &first].concat());
        }
        if ratio != NONE {
            said.push_str(&[", ", &ratio, " frames a read"].concat());
        }
        said
    };
    let name = native.summary.verdict.name.name();
    let mut text = match agreement {
        Agreement::Agrees => ["the native reader agrees: ", &figures(native)].concat(),
        Agreement::Differs => {
            ["the native reader does not agree: ", name, ", ", &figures(native)].concat()
        }
        Agreement::Undecided => {
            ["the native reader alone: ", name, ", ", &figures(native)].concat()
        }
    };
    let first = spread_median(native.summary.ttft_us.as_ref(), clock_step_us);
    let short = match agreement {
        Agreement::Agrees => ["recv agrees: ", &first].concat(),
        Agreement::Differs => ["recv disagrees: ", name, ", ", &first].concat(),
        Agreement::Undecided => ["recv alone: ", name, ", ", &first].concat(),
    };
    // A client that offers less than a browser is not shown the same stream.
    let plain = rows.into_iter().find(|own| {
        own.cell.reader == Reader::Recv
            && own.summary.runs > 0
            && own.cell.confirms(&row.cell)
            && own.cell.request.accept_encoding.is_none()
            && own.id != native.id
    });
    if let Some(plain) = plain {
        let name = plain.summary.verdict.name.name();
        text.push_str(&["; asked as curl asks, ", name, ": ", &figures(plain)].concat());
    }
    Some((agreement, short, text))
}
