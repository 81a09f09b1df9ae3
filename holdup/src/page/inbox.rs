//! Where posted arrivals wait for the command that asked for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::page::{Finished, RunPost};

/// Most runs of one session; far above any plan, and an end for a page gone wild.
const MAX_POSTS: usize = 200_000;

#[derive(Default)]
struct Session {
    posts: Vec<RunPost>,
    finished: Option<Finished>,
}

/// Posted runs by session. Only sessions that the command opened are taken.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Mutex<BTreeMap<String, Session>>>);

/// Why a post is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Nobody waits for it.
    NoSession,
    /// Too many, or after the end.
    Full,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session.
    pub(crate) fn open(&self, session: &str) {
        self.lock().insert(session.to_string(), Session::default());
    }

    /// Takes one run.
    pub(crate) fn post(&self, session: &str, post: RunPost) -> Result<(), Refused> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(session).ok_or(Refused::NoSession)?;
        if session.posts.len() >= MAX_POSTS || session.finished.is_some() {
            return Err(Refused::Full);
        }
        session.posts.push(post);
        Ok(())
    }

    /// Takes the last word.
    pub(crate) fn finish(&self, session: &str, finished: Finished) -> Result<(), Refused> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(session).ok_or(Refused::NoSession)?;
        if session.finished.is_some() {
            return Err(Refused::Full);
        }
        session.finished = Some(finished);
        Ok(())
    }

    /// The runs that came since the last call, and the last word if it was said.
    pub(crate) fn take(&self, session: &str) -> (Vec<RunPost>, Option<Finished>) {
        let mut sessions = self.lock();
        sessions.get_mut(session).map_or((Vec::new(), None), |session| {
            (std::mem::take(&mut session.posts), session.finished.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::results::Browser;
    use measure::{Arrivals, Reader, RunId, Stamp};

    fn post() -> RunPost {
        RunPost {
            cell: "c".into(),
            round: 0,
            position: 0,
            browser: Browser {
                name: "chromium".into(),
                version: "1".into(),
                isolated: true,
                clock_step_us: 5,
            },
            arrivals: Arrivals::begin(RunId(1), Reader::Fetch, Stamp(0)),
        }
    }

    #[test]
    fn only_an_open_session_takes_runs_and_only_until_its_end() {
        let inbox = Inbox::default();
        assert_eq!(inbox.post("a", post()), Err(Refused::NoSession));
        inbox.open("a");
        assert_eq!(inbox.post("a", post()), Ok(()));
        assert_eq!(inbox.take("a").0.len(), 1);
        assert_eq!(inbox.take("a"), (Vec::new(), None));
        let end = Finished { runs: 1, stopped: None };
        assert_eq!(inbox.finish("a", end.clone()), Ok(()));
        assert_eq!(inbox.post("a", post()), Err(Refused::Full));
        assert_eq!(inbox.take("a"), (Vec::new(), Some(end)));
    }
}
