//! The report's tables, made from the document.

use measure::published::{self, Agreement, Figure};
use measure::results::{CellResult, Document};
use measure::stats::{RatioSpread, Spread};
use measure::{Cell, Span};

use super::grid::{Column, Entry, Grid};
use super::words::{self, Mood, Part};

/// The presets in which what a proxy saves or spends on segments is of interest.
const COSTED: [&str; 3] = ["headline", "frame-size", "emit-rate"];

/// The rows of one preset, in the order in which presets first appear.
pub(crate) fn by_preset(document: &Document) -> Vec<(&str, Vec<&CellResult>)> {
    let mut presets: Vec<(&str, Vec<&CellResult>)> = Vec::new();
    for row in &document.cells {
        let name = row.cell.preset.as_str();
        match presets.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => presets.push((name, vec![row])),
        }
    }
    presets
}

/// What makes a row of a table different from its neighbours, endpoint apart; and what all of
/// them share.
pub(crate) struct Variation {
    parts: Vec<fn(&Cell) -> Option<Part>>,
    pub(crate) shared: String,
}

impl Variation {
    pub(crate) fn of(rows: &[&CellResult]) -> Variation {
        let all: [fn(&Cell) -> Option<Part>; 10] = [
            |cell| Some(words::frames(&cell.script)),
            |cell| Some(words::size(&cell.script)),
            |cell| Some(words::pace(&cell.script)),
            |cell| Some(words::nagle(&cell.script)),
            |cell| Some(words::headers(&cell.script)),
            |cell| Some(words::request(cell)),
            |cell| Some(words::encoding(cell)),
            |cell| Some(words::slowness(cell)),
            words::segments,
            |cell| Some(words::reader(cell)),
        ];
        let mut shared = Vec::new();
        let mut parts: Vec<fn(&Cell) -> Option<Part>> = Vec::new();
        for part in all {
            // A row that has no such property does not differ in it.
            let mut said = rows.iter().filter_map(|row| part(&row.cell));
            let Some(first) = said.next() else { continue };
            if said.any(|own| own.text != first.text) {
                parts.push(part);
            } else if first.told {
                shared.push(first.text);
            }
        }
        Variation { parts, shared: shared.join(", ") }
    }

    /// In words; empty when only the endpoint differs.
    pub(crate) fn words(&self, cell: &Cell) -> String {
        let said: Vec<String> =
            self.parts.iter().filter_map(|part| part(cell)).map(|own| own.text).collect();
        said.join(", ")
    }
}

/// One table a preset.
pub(crate) fn presets(document: &Document) -> Vec<Grid> {
    by_preset(document).into_iter().map(|(name, rows)| preset(document, name, &rows)).collect()
}

fn preset(document: &Document, name: &str, rows: &[&CellResult]) -> Grid {
    let variation = Variation::of(rows);
    let varied = rows.iter().any(|row| !variation.words(&row.cell).is_empty());
    // A stream without a pace, or a slow reader, is judged by its milestones, not by gaps.
    let bulk = name == "chunk-size" || rows.iter().any(|row| row.cell.request.slow.is_some());
    let browser = rows.iter().any(|row| row.cell.reader.in_browser());
    // What lies beyond the browser is known where a worker read or a paint was seen.
    let beyond =
        rows.iter().any(|row| row.summary.page_us.is_some() || row.summary.paint_us.is_some());
    let mut columns = vec![Column::words("endpoint")];
    if varied {
        columns.push(Column::words("what differs"));
    }
    columns.extend(["runs", "TTFT"].map(Column::figure));
    columns.extend(match bulk {
        true => ["half the bytes", "all", "upstream done", "reads", "temp file"]
            .map(Column::figure)
            .to_vec(),
        false => {
            let frames = if browser { "frames per delivery" } else { "frames per read" };
            let stations = ["gap", "max gap", "path hold", "browser hold"].into_iter();
            let more = ["page", "paint"].into_iter().filter(|_| beyond);
            let frames = [frames, "per read on the wire"];
            stations.chain(more).chain(frames).map(Column::figure).collect()
        }
    });
    columns.push(Column::words("verdict"));
    let entries = rows.iter().map(|row| {
        let summary = &row.summary;
        let mut entries =
            vec![Entry::of(&row.cell.endpoint).small(words::version(document, &row.cell.endpoint))];
        if varied {
            entries.push(Entry::of(variation.words(&row.cell)));
        }
        entries.push(runs(row));
        entries.push(spread(&summary.ttft_us));
        if bulk {
            let reads = summary.reads.map(|reads| Entry::of(words::grouped(reads)));
            let file = summary.temp_file_bytes.map(|b| Entry::of(Figure::Bytes(b).to_string()));
            entries.push(spread(&summary.half_bytes_us));
            entries.push(spread(&summary.total_us));
            entries.push(spread(&summary.upstream_done_us));
            entries.push(reads.unwrap_or_else(Entry::absent));
            entries.push(file.unwrap_or_else(Entry::absent));
        } else {
            entries.push(summary.gap_us.as_ref().map_or(Entry::absent(), |gap| {
                let p95 = gap.p95.map_or(String::new(), |p95| format!("p95 {p95}"));
                Entry::of(gap.median.to_string()).small(p95)
            }));
            entries.push(span(summary.gap_us.as_ref().map(|gap| gap.max)));
            entries.push(spread(&summary.path_hold_us));
            entries.push(spread(&summary.browser_hold_us));
            if beyond {
                entries.push(spread(&summary.page_us));
                entries.push(spread(&summary.paint_us));
            }
            entries.push(ratio(&summary.frames_per_read));
            entries.push(ratio(&summary.wire_frames_per_read));
        }
        let verdict = summary.verdict.name;
        entries.push(Entry::of(verdict.name()).mood(words::mood(verdict)));
        entries
    });
    let floors: Vec<f64> = rows
        .iter()
        .filter(|row| row.cell.is_direct())
        .filter_map(|row| Some(row.summary.frames_per_read.as_ref()?.max))
        .collect();
    let floor = match floors.iter().copied().reduce(f64::max) {
        Some(floor) if !bulk => format!(
            " Floor of the direct path: {floor:.2} frames per read; nothing under it is a finding."
        ),
        _ => String::new(),
    };
    let clock = rows.iter().filter_map(|row| row.summary.clock_uncertainty_us).max();
    let clock = clock.map_or(String::new(), |off| {
        format!(" The browser's clock may be off by {off}; nothing is claimed below it.")
    });
    Grid {
        title: name.into(),
        note: format!("{}.{floor}{clock}", variation.shared),
        rows: entries.collect(),
        columns,
    }
    .without_empty_columns()
}

fn runs(row: &CellResult) -> Entry {
    let out: Vec<String> =
        row.summary.excluded.iter().map(|(guard, count)| format!("−{count} {guard}")).collect();
    Entry::of(row.summary.runs.to_string()).small(out.join(", "))
}

fn span(span: Option<Span>) -> Entry {
    span.map_or(Entry::absent(), |span| Entry::of(span.to_string()))
}

/// A median with its extremes; the unit stands once.
fn spread(spread: &Option<Spread>) -> Entry {
    let Some(spread) = spread else { return Entry::absent() };
    let bare = |span: Span| span.to_string().trim_end_matches(" ms").to_string();
    let extremes = format!("{} to {}", bare(spread.min), bare(spread.max));
    let several = spread.n > 1;
    Entry::of(spread.median.to_string()).small(if several { extremes } else { String::new() })
}

fn ratio(ratio: &Option<RatioSpread>) -> Entry {
    let Some(ratio) = ratio else { return Entry::absent() };
    let same = format!("{:.2}", ratio.min) == format!("{:.2}", ratio.max);
    let extremes = format!("{:.2} to {:.2}", ratio.min, ratio.max);
    Entry::of(format!("{:.2}", ratio.median)).small(if same { String::new() } else { extremes })
}

/// What a stream costs on its way: segments, bytes and processor time, where they were counted,
/// for every thousand frames.
pub(crate) fn costs(document: &Document) -> Grid {
    let rows: Vec<&CellResult> = words::unique(document)
        .into_iter()
        .filter(|row| {
            row.summary.segments_in.is_some() && COSTED.contains(&row.cell.preset.as_str())
        })
        .collect();
    let variation = Variation::of(&rows);
    let per_thousand = |row: &CellResult, count: f64| {
        count * 1_000.0 / f64::from(row.cell.script.frame_count().max(1))
    };
    Grid {
        title: "What it costs".into(),
        note: format!("For 1,000 frames. {}.", variation.shared),
        rows: rows
            .iter()
            .map(|row| {
                let count = |count: Option<u64>| {
                    count.map_or(Entry::absent(), |count| {
                        Entry::of(words::grouped(per_thousand(row, count as f64).round()))
                    })
                };
                let cpu = row.summary.cpu_us.map_or(Entry::absent(), |cpu| {
                    Entry::of(Span(per_thousand(row, cpu.as_micros() as f64) as i64).to_string())
                });
                vec![
                    Entry::of(&row.cell.endpoint).small(variation.words(&row.cell)),
                    count(row.summary.segments_in),
                    count(row.summary.bytes_in),
                    cpu,
                ]
            })
            .collect(),
        columns: vec![
            Column::words("endpoint"),
            Column::figure("segments"),
            Column::figure("bytes received"),
            Column::figure("processor time of the proxy"),
        ],
    }
    .without_empty_columns()
}

/// The published tables, ours beside them.
pub(crate) fn published(document: &Document) -> Vec<Grid> {
    published::compare(document).iter().map(beside).collect()
}

/// Who published: the name that tables give, and how the figures were taken.
pub(crate) fn sources() -> [(&'static str, &'static str); 3] {
    published::SOURCES
}

fn beside(table: &published::Table) -> Grid {
    let mut columns = vec![Column::words("")];
    for quantity in &table.columns {
        for head in ["published", "here"] {
            let group = Some(quantity.name().to_string());
            columns.push(Column { group, ..Column::figure(head) });
        }
    }
    columns.push(Column::words("agreement"));
    let rows = table.rows.iter().map(|row| {
        let mut entries = vec![Entry::of(row.label)];
        for (theirs, ours) in row.published.iter().zip(&row.ours) {
            for figure in [theirs, ours] {
                entries
                    .push(figure.map_or(Entry::absent(), |figure| Entry::of(figure.to_string())));
            }
        }
        let mood = match row.agreement {
            Agreement::Agrees => Mood::Good,
            Agreement::Differs { .. } => Mood::Bad,
            Agreement::NotRun | Agreement::Skipped { .. } => Mood::Open,
        };
        entries
            .push(Entry::of(row.agreement.sentence()).mood(mood).small(row.conditions.join("; ")));
        entries
    });
    Grid {
        title: format!("{} {}", table.id, table.title),
        note: format!("{}.", table.source),
        rows: rows.collect(),
        columns,
    }
}

/// How many rows agree, differ, were skipped and were not run, in words.
pub(crate) fn published_tally(document: &Document) -> String {
    let tables = published::compare(document);
    let count = |wanted: fn(&Agreement) -> bool| {
        tables.iter().flat_map(|table| &table.rows).filter(|row| wanted(&row.agreement)).count()
    };
    format!(
        "{} rows agree, {} differ, {} were skipped, {} are not yet run.",
        count(|agreement| *agreement == Agreement::Agrees),
        count(|agreement| matches!(agreement, Agreement::Differs { .. })),
        count(|agreement| matches!(agreement, Agreement::Skipped { .. })),
        count(|agreement| *agreement == Agreement::NotRun),
    )
}

/// The guards' tolerances as they stand in the document.
pub(crate) fn guards(document: &Document) -> Grid {
    let value = serde_json::to_value(&document.guards).unwrap_or_default();
    let rows = value.as_object().into_iter().flatten().map(|(key, value)| {
        let time = key.strip_suffix("_us").zip(value.as_i64());
        let (name, text) = match time {
            Some((name, us)) => (name, Span(us).to_string()),
            None => (key.as_str(), value.to_string()),
        };
        vec![Entry::of(name.replace('_', " ")), Entry::of(text)]
    });
    Grid {
        title: "Tolerances".into(),
        note: String::new(),
        rows: rows.collect(),
        columns: vec![Column::words("guard"), Column::figure("tolerance")],
    }
}

/// What the guards excluded, with the first reason of each guard.
pub(crate) fn exclusions(document: &Document) -> Grid {
    let rows = words::unique(document).into_iter().filter(|row| !row.summary.excluded.is_empty());
    Grid {
        title: "Exclusions".into(),
        note: String::new(),
        rows: rows
            .map(|row| {
                let out: u32 = row.summary.excluded.values().sum();
                let of = out + row.summary.runs;
                vec![
                    Entry::of(&row.id),
                    Entry::of(format!("{out} of {of}")),
                    Entry::of(row.summary.excluded_because.join("; ")),
                ]
            })
            .collect(),
        columns: vec![
            Column::words("cell"),
            Column::figure("excluded"),
            Column::words("because (the first of each guard)"),
        ],
    }
}

/// Every verdict with its sentence: what is not live first.
pub(crate) fn verdicts(document: &Document) -> Grid {
    let mut cells = words::unique(document);
    cells.sort_by_key(|row| words::mood(row.summary.verdict.name) == Mood::Good);
    let variation = Variation::of(&cells);
    Grid {
        title: String::new(),
        note: String::new(),
        rows: cells
            .into_iter()
            .map(|row| {
                let finding = &row.summary.verdict;
                vec![
                    Entry::of(&row.cell.endpoint).small(variation.words(&row.cell)),
                    Entry::of(finding.name.name()).mood(words::mood(finding.name)),
                    Entry::of(&finding.because),
                ]
            })
            .collect(),
        columns: ["endpoint", "verdict", "because"].map(Column::words).to_vec(),
    }
}

/// What ran: versions, sources, hashes.
pub(crate) fn endpoints(document: &Document) -> Grid {
    let or_absent = |text: &Option<String>| text.as_deref().map_or(Entry::absent(), Entry::of);
    Grid {
        title: String::new(),
        note: String::new(),
        rows: document
            .endpoints
            .iter()
            .map(|endpoint| {
                let name = Entry::of(&endpoint.name).small(&endpoint.label);
                let version = endpoint.proxy.as_ref().map(|proxy| {
                    format!(
                        "{proxy} {}",
                        endpoint.version.as_deref().unwrap_or("(version unknown)")
                    )
                });
                let mut version = or_absent(&version);
                if let Some(why) = &endpoint.failed {
                    version = version.small(format!("failed: {why}")).mood(Mood::Open);
                }
                vec![name, version, or_absent(&endpoint.source), or_absent(&endpoint.sha256).code()]
            })
            .collect(),
        columns: ["endpoint", "software", "source", "sha256"].map(Column::words).to_vec(),
    }
}

/// The machine, the command and the noise, as pairs of a name and what it is.
pub(crate) fn facts(document: &Document) -> Vec<(&'static str, String)> {
    let machine = &document.machine;
    let load = |load: Option<f64>| load.map_or("unknown".into(), |load| format!("{load:.2}"));
    let (excluded, undecided) = document.noise();
    let mut segments: Vec<String> = document
        .cells
        .iter()
        .filter_map(|row| words::segments(&row.cell))
        .map(|own| own.text)
        .collect();
    segments.sort();
    segments.dedup();
    let mut facts = vec![
        ("command", words::command(document)),
        ("begun", document.started_at.clone()),
        (
            "machine",
            format!(
                "{}, {} processors, load {} before and {} after",
                machine.kernel,
                machine.cpus,
                load(machine.load_before),
                load(machine.load_after)
            ),
        ),
        ("link", segments.join("; ")),
        (
            "receive buffer",
            format!("{} B offered at each recv()", words::grouped(machine.recv_buffer)),
        ),
        ("seed", document.seed.to_string()),
        (
            "noise",
            format!(
                "{} of runs excluded, {} of rows undecided (on an idle machine at most 5% are wanted)",
                words::percent(excluded),
                words::percent(undecided)
            ),
        ),
    ];
    let mut browsers: Vec<String> = document
        .cells
        .iter()
        .filter_map(|row| row.browser.as_ref())
        .map(|browser| {
            let isolated = if browser.isolated { "isolated" } else { "not isolated" };
            format!(
                "{} {}, {isolated}, clock step {} µs",
                browser.name, browser.version, browser.clock_step_us
            )
        })
        .collect();
    browsers.sort();
    browsers.dedup();
    if !browsers.is_empty() {
        facts.push(("browser", browsers.join("; ")));
    }
    facts
}
