//! A go without a hand: the command leaves a plan for the page that it is about to open, and waits
//! for what the page measured.
//!
//! A plan may hold a key, so it is handed out once, to a page that knows the name of its go and
//! the secret of this start; then it is gone.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::door::Refusal;

/// Most bytes of what the page posts: 400 answers of a thousand deliveries each stay below it.
pub(super) const MAX_RESULTS: usize = 64 << 20;

/// What a page measured.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Results {
    /// Its document, as it is taken away by hand.
    pub(crate) document: Value,
    /// Why it ended early, if it did.
    #[serde(default)]
    pub(crate) failed: Option<String>,
}

struct Go {
    name: String,
    plan: Option<Value>,
    came: Option<Results>,
}

/// The go that is under way, if there is one.
#[derive(Default)]
pub(super) struct Goes(Mutex<Option<Go>>);

fn unknown() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "no command waits for this page")
}

impl Goes {
    fn lock(&self) -> MutexGuard<'_, Option<Go>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a plan under a name. One before it is forgotten.
    pub(super) fn offer(&self, name: String, plan: Value) {
        *self.lock() = Some(Go { name, plan: Some(plan), came: None });
    }

    /// Hands the plan out, once.
    pub(super) fn plan(&self, name: &str) -> Result<Value, Refusal> {
        let mut go = self.lock();
        let own = go.as_mut().filter(|go| go.name == name).ok_or_else(unknown)?;
        own.plan.take().ok_or_else(unknown)
    }

    /// Whether a page has come for the plan.
    pub(super) fn is_taken(&self) -> bool {
        self.lock().as_ref().is_some_and(|go| go.plan.is_none())
    }

    /// Takes what the page measured, once.
    pub(super) fn post(&self, name: &str, results: Results) -> Result<(), Refusal> {
        let mut go = self.lock();
        let own = go.as_mut().filter(|go| go.name == name && go.plan.is_none());
        let own = own.filter(|go| go.came.is_none()).ok_or_else(unknown)?;
        own.came = Some(results);
        Ok(())
    }

    /// What came, when it has.
    pub(super) fn take(&self) -> Option<Results> {
        let mut go = self.lock();
        let came = go.as_mut()?.came.take();
        if came.is_some() {
            *go = None;
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plan_is_handed_out_once_and_only_by_its_name() {
        let goes = Goes::default();
        assert!(goes.plan("a").is_err());
        goes.offer("a".into(), json!({ "key": "sk" }));
        assert!(goes.plan("b").is_err());
        let results = Results { document: json!({}), failed: None };
        assert!(goes.post("a", results.clone()).is_err(), "nobody has its plan yet");
        assert!(!goes.is_taken());
        assert_eq!(goes.plan("a").unwrap()["key"], "sk");
        assert!(goes.is_taken());
        assert!(goes.plan("a").is_err());
        assert!(goes.post("b", results.clone()).is_err());
        assert_eq!(goes.take(), None);
        goes.post("a", results.clone()).unwrap();
        assert!(goes.post("a", results.clone()).is_err());
        assert_eq!(goes.take(), Some(results));
        assert_eq!(goes.take(), None);
    }
}
