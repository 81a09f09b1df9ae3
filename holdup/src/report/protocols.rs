//! The same stream on the protocols of tests and of users: one map, endpoint by protocol.

use measure::results::{CellResult, Document};
use measure::transport::ClientProtocol;

use super::grid::{Column, Entry, Grid};
use super::words;

/// The preset that plays it.
const PRESET: &str = "protocols";

/// Verdict and TTFT of each endpoint on each protocol, by each reader; `None` where the results
/// hold no such preset.
pub(crate) fn map(document: &Document) -> Option<Grid> {
    let rows: Vec<&CellResult> =
        document.cells.iter().filter(|row| row.cell.preset == PRESET).collect();
    let spoken =
        |own: &ClientProtocol| rows.iter().any(|row| row.cell.request.protocol() == Some(*own));
    let protocols: Vec<ClientProtocol> = ClientProtocol::ALL.into_iter().filter(spoken).collect();
    let mut readers: Vec<String> = Vec::new();
    let mut ways: Vec<String> = Vec::new();
    for row in &rows {
        let (reader, way) = (words::reader(&row.cell).text, way(row));
        if !readers.contains(&reader) {
            readers.push(reader);
        }
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    if protocols.len() < 2 {
        return None;
    }
    let mut columns = vec![Column::words("endpoint")];
    for reader in &readers {
        let group = Some(reader.clone());
        columns.extend(
            protocols
                .iter()
                .map(|own| Column { group: group.clone(), ..Column::words(own.name()) }),
        );
    }
    let entry = |name: &str, reader: &str, protocol: ClientProtocol| {
        let fits = |row: &&&CellResult| {
            way(row) == name
                && words::reader(&row.cell).text == reader
                && row.cell.request.protocol() == Some(protocol)
        };
        rows.iter().find(fits).map_or(Entry::absent(), |row| {
            let verdict = row.summary.verdict.name;
            let ttft = row.summary.ttft_us.as_ref();
            Entry::of(verdict.name())
                .small(ttft.map_or(String::new(), |ttft| ttft.median.to_string()))
                .mood(words::mood(verdict))
        })
    };
    let line = |name: &String| {
        let of_reader = |reader: &String| {
            protocols.iter().map(|own| entry(name, reader, *own)).collect::<Vec<Entry>>()
        };
        let mut line = vec![Entry::of(name)];
        line.extend(readers.iter().flat_map(of_reader));
        line
    };
    Some(Grid {
        title: "Your test's protocol and your users'".into(),
        note: "The same stream; what was found, and the TTFT. A browser that is offered HTTP/2 \
               takes it, so no browser is asked for HTTP/1.1 over TLS."
            .into(),
        rows: ways.iter().map(line).collect(),
        columns,
    })
}

/// An endpoint with TLS in front or without, and what it speaks to the origin where that is not
/// HTTP/1.1, which its name then need not say: `nginx ← http/1.0`.
pub(crate) fn way(row: &CellResult) -> String {
    let name = row.cell.endpoint.strip_suffix("-tls").unwrap_or(&row.cell.endpoint);
    match row.cell.request.upstream_protocol.as_deref() {
        Some(upstream) if upstream != "http/1.1" => {
            format!("{} ← {upstream}", name.replacen("-http10", "", 1).replacen("-h2c", "", 1))
        }
        _ => name.into(),
    }
}
