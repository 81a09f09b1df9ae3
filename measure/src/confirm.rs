//! Whether the native reader, without a browser, saw the same path as a browser's row.

use crate::results::CellResult;
use crate::verdict::Verdict;

/// What the native reader says to a browser's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// It saw the path do the same.
    Agrees,
    /// It saw the path do something else.
    Differs,
    /// One of the two cannot be judged.
    Undecided,
}

/// The native row that confirms a browser's, and whether it agrees. Of several the one that asks
/// as a browser does: a proxy may treat a plain client otherwise, which is no disagreement but
/// another question.
pub fn of<'a>(
    row: &CellResult,
    rows: impl IntoIterator<Item = &'a CellResult>,
) -> Option<(&'a CellResult, Agreement)> {
    let natives =
        rows.into_iter().filter(|own| own.summary.runs > 0 && own.cell.confirms(&row.cell));
    let native = natives.max_by_key(|own| own.cell.request.accept_encoding.is_some())?;
    let agreement = match (of_path(row), of_path(native)) {
        (Some(browser), Some(native)) if browser == native => Agreement::Agrees,
        (Some(_), Some(_)) => Agreement::Differs,
        _ => Agreement::Undecided,
    };
    Some((native, agreement))
}

/// What the path did, by a row's verdict; `None` where it does not tell. What browser and page
/// did to tokens that had come live was not the path.
fn of_path(row: &CellResult) -> Option<Verdict> {
    Some(match row.summary.verdict.name {
        Verdict::PageBusy | Verdict::BatchedInBrowser | Verdict::ConnectionLimit => Verdict::Live,
        Verdict::Void | Verdict::CannotTell => return None,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Reader;
    use crate::cell::{Cell, Link, Request};
    use crate::script::Script;
    use crate::summary;
    use crate::verdict::{Finding, Thresholds};

    fn row(reader: Reader, encoding: Option<&str>, verdict: Verdict) -> CellResult {
        let mut summary = summary::summarise(&[], None, &Thresholds::standard());
        summary.runs = 1;
        summary.verdict = Finding::new(verdict, "made for the test");
        let cell = Cell {
            endpoint: "nginx-gzip".into(),
            preset: "gzip".into(),
            reader,
            engine: None,
            request: Request { accept_encoding: encoding.map(String::from), ..Request::plain() },
            link: Link { mss: Some(1448), pooled: None, nagle: false },
            concurrency: 1,
            stream: None,
            page_work_us: None,
            script: Script::headline(),
        };
        CellResult { id: cell.id(), cell, browser: None, summary }
    }

    fn said(browser: Verdict, natives: &[CellResult]) -> Option<Agreement> {
        of(&row(Reader::FetchWorker, None, browser), natives).map(|(_, agreement)| agreement)
    }

    #[test]
    fn the_path_is_compared_and_nothing_else() {
        let live = [row(Reader::Recv, None, Verdict::Live)];
        for browser in
            [Verdict::Live, Verdict::PageBusy, Verdict::BatchedInBrowser, Verdict::ConnectionLimit]
        {
            assert_eq!(said(browser, &live), Some(Agreement::Agrees), "{browser:?}");
        }
        assert_eq!(said(Verdict::Corked, &live), Some(Agreement::Differs));
        assert_eq!(said(Verdict::Void, &live), Some(Agreement::Undecided));
        assert_eq!(said(Verdict::Live, &[]), None);
    }

    #[test]
    fn of_two_native_readers_the_one_that_asks_as_a_browser_does_is_heard() {
        let plain = row(Reader::Recv, None, Verdict::Live);
        let offering = row(Reader::Recv, Some("gzip"), Verdict::Held);
        for natives in [[plain.clone(), offering.clone()], [offering, plain]] {
            assert_eq!(said(Verdict::Held, &natives), Some(Agreement::Agrees));
        }
    }

    #[test]
    fn a_native_run_that_was_excluded_confirms_nothing() {
        let mut native = row(Reader::Recv, None, Verdict::Void);
        native.summary.runs = 0;
        assert_eq!(said(Verdict::Live, &[native]), None);
    }
}
