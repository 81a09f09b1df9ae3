//! Which published findings survive on the protocol that users speak, and which do not.

use measure::results::{CellResult, Document};
use measure::transport::ClientProtocol;
use measure::verdict::Verdict;

use super::nginx::HOLDING;
use crate::report;

const PRESET: &str = "protocols";

/// What browsers speak to a site of today, where it is offered.
const USERS: [ClientProtocol; 2] = [ClientProtocol::Http2, ClientProtocol::Http3];

/// What a finding says of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Corks,
    Holds,
    PassesOn,
}

impl Says {
    fn fits(self, found: Verdict) -> bool {
        match self {
            Says::Corks => found == Verdict::Corked,
            Says::Holds => HOLDING.contains(&found),
            Says::PassesOn => found == Verdict::Live,
        }
    }
}

/// The published findings that one stream through one proxy can show: who published it, what it
/// says, of which endpoint. All of them were seen on plain HTTP/1.1.
const FINDINGS: [(&str, &str, &str, Says); 10] = [
    ("P1", "HAProxy keeps tokens back and sends them in bursts", "haproxy", Says::Corks),
    ("P8", "`option http-no-delay` cures it", "haproxy-no-delay", Says::PassesOn),
    ("P1, P10", "nginx passes tokens on as they come", "nginx", Says::PassesOn),
    ("P1, P10", "nginx with `proxy_buffering off` does", "nginx-buffering-off", Says::PassesOn),
    ("P1", "Caddy does", "caddy", Says::PassesOn),
    ("P1", "Traefik does", "traefik", Says::PassesOn),
    ("P9", "nginx with an HTTP/1.0 upstream holds a short answer", "nginx-http10", Says::Holds),
    ("P10", "nginx that compresses the stream holds it", "nginx-gzip", Says::Holds),
    (
        "–",
        "not with `proxy_buffering off`, though it compresses",
        "nginx-gzip-buffering-off",
        Says::PassesOn,
    ),
    ("–", "Envoy passes tokens on as they come", "envoy", Says::PassesOn),
];

/// What becomes of a finding where another protocol is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// Each protocol that was tried shows it.
    Survives,
    /// These do not.
    Falls(Vec<ClientProtocol>),
    /// It cannot be said.
    Open,
}

/// A finding stands on a protocol when the verdict fits, falls when another one was reached, and
/// is open where the guards or the evidence gave none, or where it is not the path that was found:
/// the origin that wrote frames together, a stream that was cut, a window. One that falls somewhere
/// has fallen.
fn fate(says: Says, found: &[(ClientProtocol, Verdict)]) -> Fate {
    let open = |verdict: &Verdict| {
        !matches!(
            verdict,
            Verdict::Live
                | Verdict::Held
                | Verdict::Corked
                | Verdict::BufferBursts
                | Verdict::OneBehind
                | Verdict::TypeChanged
        )
    };
    let falls: Vec<ClientProtocol> = found
        .iter()
        .filter(|(_, verdict)| !open(verdict) && !says.fits(*verdict))
        .map(|(protocol, _)| *protocol)
        .collect();
    match found.iter().any(|(_, verdict)| open(verdict)) || found.is_empty() {
        _ if !falls.is_empty() => Fate::Falls(falls),
        true => Fate::Open,
        false => Fate::Survives,
    }
}

fn row<'a>(
    document: &'a Document,
    endpoint: &str,
    protocol: ClientProtocol,
) -> Option<&'a CellResult> {
    let secure = format!("{endpoint}-tls");
    document.cells.iter().find(|row| {
        let cell = &row.cell;
        cell.preset == PRESET
            && !cell.reader.in_browser()
            && cell.request.protocol() == Some(protocol)
            && (cell.endpoint == endpoint || cell.endpoint == secure)
    })
}

fn names(protocols: &[ClientProtocol]) -> String {
    protocols.iter().map(|own| own.name()).collect::<Vec<_>>().join(", ")
}

/// The native rows against the published findings, and what browsers saw as a map.
pub(super) fn section(native: &Document, browsers: &Document) -> String {
    let asked = |own: &ClientProtocol| {
        native.cells.iter().any(|row| row.cell.request.protocol() == Some(*own))
    };
    let spoken: Vec<ClientProtocol> = ClientProtocol::ALL.into_iter().filter(asked).collect();
    let heads: Vec<&str> = spoken.iter().map(|own| own.name()).collect();
    let mut text = format!(
        "Published was plain HTTP/1.1. Users' browsers speak HTTP/2 or HTTP/3, and many a service \
         HTTP/1.1 over TLS. The same stream, read natively:\n\n\
         | | finding | {} | on HTTP/2 and HTTP/3 |\n|---|---|{}---|\n",
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    let (mut survive, mut fall, mut open) = (0, 0, 0);
    for (source, finding, endpoint, says) in FINDINGS {
        let of = |own: &ClientProtocol| row(native, endpoint, *own).map(|row| (*own, row));
        let rows: Vec<(ClientProtocol, &CellResult)> = spoken.iter().filter_map(of).collect();
        let found: Vec<(ClientProtocol, Verdict)> =
            rows.iter().map(|(own, row)| (*own, row.summary.verdict.name)).collect();
        let users: Vec<_> = found.iter().filter(|(own, _)| USERS.contains(own)).copied().collect();
        let here: Vec<_> =
            found.iter().filter(|(own, _)| *own == ClientProtocol::Http11).copied().collect();
        let fate = match fate(says, &here) {
            // What is not seen where it was published is not judged elsewhere.
            Fate::Survives => fate(says, &users),
            _ => Fate::Open,
        };
        let said = match &fate {
            Fate::Survives => {
                survive += 1;
                "survives".to_string()
            }
            Fate::Falls(protocols) => {
                fall += 1;
                format!("**does not survive** ({})", names(protocols))
            }
            Fate::Open => {
                open += 1;
                "cannot be told".into()
            }
        };
        text.push_str(&format!("| {source} | {finding} |"));
        for own in &spoken {
            let row = rows.iter().find(|(spoken, _)| spoken == own).map(|(_, row)| *row);
            let shown = row.map_or("–".into(), |row| {
                format!(
                    "{}, {}",
                    row.summary.verdict.name.name(),
                    super::shown(super::ttft(Some(row)))
                )
            });
            text.push_str(&format!(" {shown} |"));
        }
        text.push_str(&format!(" {said} |\n"));
    }
    text.push_str(&format!(
        "\nOf {} findings {survive} survive on them; not surviving: {fall}; not to be told from this \
         run: {open}.\n",
        FINDINGS.len()
    ));
    text.push_str(&over_tls(native));
    text.push_str(&in_browsers(browsers));
    text
}

/// The same stream as real browsers see it: one line a way, all of a protocol's readers together.
fn in_browsers(document: &Document) -> String {
    let rows: Vec<&CellResult> = document
        .cells
        .iter()
        .filter(|row| row.cell.preset == PRESET && row.cell.reader.in_browser())
        .collect();
    let engines = super::each_once(rows.iter().filter_map(|row| row.cell.engine.clone()));
    let ways = super::each_once(rows.iter().map(|row| report::way(row)));
    let spoken =
        |own: &ClientProtocol| rows.iter().any(|row| row.cell.request.protocol() == Some(*own));
    let spoken: Vec<ClientProtocol> = ClientProtocol::ALL.into_iter().filter(spoken).collect();
    let heads: Vec<&str> = spoken.iter().map(|own| own.name()).collect();
    let mut text = format!(
        "\nThe same in real browsers ({}), by `EventSource`, `fetch` and `fetch` in a worker: how many \
         of these readers came to which verdict, and their TTFT.\n\n\
         | endpoint | {} |\n|---|{}\n",
        engines.join(", "),
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    for way in &ways {
        text.push_str(&format!("| {way} |"));
        for own in &spoken {
            let here = rows.iter().filter(|row| {
                report::way(row) == *way && row.cell.request.protocol() == Some(*own)
            });
            text.push_str(&format!(" {} |", together(here.copied())));
        }
        text.push('\n');
    }
    text
}

/// Verdicts with how many rows reached each, the most frequent first, and the range of TTFT.
fn together<'a>(rows: impl Iterator<Item = &'a CellResult>) -> String {
    let mut counts: Vec<(Verdict, u32)> = Vec::new();
    let mut times: Vec<measure::Span> = Vec::new();
    for row in rows {
        let verdict = row.summary.verdict.name;
        match counts.iter_mut().find(|(own, _)| *own == verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((verdict, 1)),
        }
        times.extend(super::ttft(Some(row)));
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let said: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{} {count}", verdict.name())).collect();
    match (said.is_empty(), times.iter().min(), times.iter().max()) {
        (true, ..) => "–".into(),
        (false, Some(least), Some(most)) => format!("{} ({least} to {most})", said.join(", ")),
        (false, ..) => said.join(", "),
    }
}

/// What TLS alone changes, with HTTP/1.1 above it as below.
fn over_tls(native: &Document) -> String {
    let verdict = |endpoint, protocol| super::verdict(row(native, endpoint, protocol));
    let changed: Vec<&str> = FINDINGS
        .iter()
        .map(|(_, _, endpoint, _)| *endpoint)
        .filter(|endpoint| {
            verdict(endpoint, ClientProtocol::Http11) == Verdict::Live
                && HOLDING.contains(&verdict(endpoint, ClientProtocol::Http11Tls))
        })
        .collect();
    match changed.as_slice() {
        [] => {
            "With TLS in front and HTTP/1.1 still spoken, no endpoint that was live holds.\n".into()
        }
        changed => format!(
            "With TLS in front and HTTP/1.1 still spoken, {} holds what it passed on without: a test \
             without TLS does not show it.\n",
            changed.join(" and ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_survives_where_every_protocol_shows_it_and_falls_where_one_shows_another() {
        let (h2, h3) = (ClientProtocol::Http2, ClientProtocol::Http3);
        let of = |says, found: &[(ClientProtocol, Verdict)]| fate(says, found);
        assert_eq!(of(Says::Holds, &[(h2, Verdict::Held)]), Fate::Survives);
        assert_eq!(of(Says::Holds, &[(h2, Verdict::BufferBursts)]), Fate::Survives);
        assert_eq!(of(Says::Corks, &[(h2, Verdict::Live)]), Fate::Falls(vec![h2]));
        assert_eq!(of(Says::PassesOn, &[(h2, Verdict::Live), (h3, Verdict::Void)]), Fate::Open);
        assert_eq!(
            of(Says::PassesOn, &[(h2, Verdict::Held), (h3, Verdict::Void)]),
            Fate::Falls(vec![h2])
        );
        for not_the_path in [Verdict::BatchedAtOrigin, Verdict::Truncated, Verdict::FlowControl] {
            assert_eq!(of(Says::PassesOn, &[(h2, not_the_path)]), Fate::Open, "{not_the_path:?}");
        }
        assert_eq!(of(Says::PassesOn, &[]), Fate::Open);
    }
}
