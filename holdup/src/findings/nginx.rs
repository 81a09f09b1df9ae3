//! What decides in nginx.

use measure::results::{CellResult, Document};
use measure::verdict::Verdict;

use super::{find, per_read, shown, shown_ratio, ttft, verdict};

/// The verdicts under which a reader waits.
pub(super) const HOLDING: [Verdict; 2] = [Verdict::Held, Verdict::BufferBursts];

/// The published disagreement, from the upstream's HTTP version.
pub(super) fn reconcile(published: &Document) -> String {
    const PRESET: &str = "nginx-upstream-version";
    let short = |c: &CellResult| c.cell.script.frame_count() == 41;
    let long = |c: &CellResult| c.cell.script.frame_count() == 400;
    let mut text = String::from(
        "| endpoint | stream | verdict | TTFT | frames per read |\n|---|---|---|---:|---:|\n",
    );
    for endpoint in ["nginx", "nginx-http10", "nginx-http10-buffering-off", "nginx-1.22"] {
        for (name, row) in [
            ("41 × 60 B, 50 ms", find(published, PRESET, endpoint, short)),
            ("400 × 60 B, 5 ms", find(published, PRESET, endpoint, long)),
        ] {
            text.push_str(&format!(
                "| {endpoint} | {name} | {} | {} | {} |\n",
                verdict(row).name(),
                shown(ttft(row)),
                shown_ratio(per_read(row))
            ));
        }
    }
    let of = |endpoint, fits: &dyn Fn(&CellResult) -> bool| {
        verdict(find(published, PRESET, endpoint, fits))
    };
    let new_is_live = of("nginx", &short) == Verdict::Live;
    let old_holds = of("nginx-http10", &short) == Verdict::Held;
    let long_breaks = HOLDING.contains(&of("nginx-http10", &long));
    let cured = of("nginx-http10-buffering-off", &short) == Verdict::Live;
    let debian_holds = of("nginx-1.22", &short) == Verdict::Held;
    text.push_str(if new_is_live && old_holds && long_breaks && cured {
        "\nThe articles measured different upstream protocols. Over HTTP/1.1, the default since the \
         1.29 mainline, nginx passes a chunked answer on as it comes, buffering on or off. Over HTTP/1.0, \
         the default before, the answer ends with its connection, and nginx passes it on when a whole \
         buffer is full or the upstream has ended: short answers come at the very end, long ones in \
         pieces. `proxy_buffering off` cures it there."
    } else {
        "\nThis run does not show that the upstream's HTTP version decides: see the rows above."
    });
    text.push_str(if debian_holds {
        " Debian's nginx 1.22, which many people still run, holds with a bare `proxy_pass`.\n"
    } else {
        " Debian's nginx 1.22 is not shown to hold in this run.\n"
    });
    text
}

/// Whether nginx holds, by the rule that the grid is to prove.
fn rule(endpoint: &str, accepts_gzip: bool) -> bool {
    let buffering = !endpoint.contains("buffering-off");
    buffering && (endpoint.contains("http10") || endpoint.contains("gzip") && accepts_gzip)
}

/// Upstream version × buffering × gzip × the client's Accept-Encoding.
pub(super) fn grid(document: &Document) -> String {
    let mut text = String::from(
        "| upstream | buffering | gzip | client accepts gzip | verdict | TTFT | rule says |\n|---|---|---|---|---|---:|---|\n",
    );
    let (mut agree, mut all) = (0, 0);
    for row in document.cells.iter().filter(|row| !row.cell.is_direct()) {
        let endpoint = row.cell.endpoint.as_str();
        let accepts = row.cell.request.accept_encoding.is_some();
        let on = |on: bool| if on { "on" } else { "off" };
        let holds = rule(endpoint, accepts);
        let found = row.summary.verdict.name;
        let fits = if holds { HOLDING.contains(&found) } else { found == Verdict::Live };
        all += 1;
        agree += u32::from(fits);
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {}{} |\n",
            row.cell.request.upstream_protocol.as_deref().unwrap_or("–"),
            on(!endpoint.contains("buffering-off")),
            on(endpoint.contains("gzip")),
            if accepts { "yes" } else { "no" },
            found.name(),
            shown(ttft(Some(row))),
            if holds { "holds" } else { "live" },
            if fits { "" } else { ": **not so**" },
        ));
    }
    text.push_str(&format!(
        "\nThe rule held against the rows: nginx holds when buffering is on and either the upstream speaks \
         HTTP/1.0 or gzip is on for the type and the client accepts it. It fits {agree} of {all} rows.\n"
    ));
    if agree == all && all > 0 {
        text.push_str(
            "Browsers always accept gzip and most command-line clients do not: a check from the command \
             line can say live where every browser waits.\n",
        );
    }
    text
}
