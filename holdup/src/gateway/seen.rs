//! What the gateway's reader saw of each answer, for the page to fetch once it has ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::chat::ChatAnswer;
use measure::{Arrivals, RunId};
use serde::Serialize;

/// Most answers that are remembered: the page fetches each as soon as it has ended.
const KEPT: usize = 32;

/// One answer on the wire, without its text.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Seen {
    /// The reads on the wire; `forwarded` is when their bytes were handed to the page's
    /// connection.
    pub(crate) arrivals: Arrivals,
    /// What came of it.
    pub(crate) answer: ChatAnswer,
    /// What the response's head says of the hops.
    pub(crate) head: Vec<(String, String)>,
    /// Where a redirect leads to, which was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) leads_to: Option<String>,
}

/// An answer by its name; absent until it has ended.
type Entry = (RunId, Option<Arc<Seen>>);

/// The newest answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book(Arc<Mutex<VecDeque<Entry>>>);

impl Book {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an entry for an answer that begins; `false` when its name is taken.
    pub(crate) fn begin(&self, run: RunId) -> bool {
        let mut book = self.lock();
        if book.iter().any(|(own, _)| *own == run) {
            return false;
        }
        if book.len() >= KEPT {
            book.pop_front();
        }
        book.push_back((run, None));
        true
    }

    /// Enters what was seen.
    pub(crate) fn end(&self, run: RunId, seen: Seen) {
        if let Some((_, entry)) = self.lock().iter_mut().find(|(own, _)| *own == run) {
            *entry = Some(Arc::new(seen));
        }
    }

    /// `None` for one that is not known, `Some(None)` for one that has not ended.
    pub(crate) fn get(&self, run: RunId) -> Option<Option<Arc<Seen>>> {
        self.lock().iter().find(|(own, _)| *own == run).map(|(_, entry)| entry.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_once_and_the_oldest_go() {
        let book = Book::default();
        assert!(book.begin(RunId(0)));
        assert!(!book.begin(RunId(0)), "a repeated request is no second look");
        assert!(matches!(book.get(RunId(0)), Some(None)));
        for run in 1..=KEPT as u128 {
            assert!(book.begin(RunId(run)));
        }
        assert!(book.get(RunId(0)).is_none());
        assert!(book.get(RunId(1)).is_some());
    }
}
