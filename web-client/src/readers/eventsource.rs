//! The `EventSource` reader. It sees neither bytes, nor comments, nor response headers.
//!
//! A delivery is one task in which events were dispatched, which is an estimate (see
//! [`super::tasks`]). A run is one stream: at the terminal event, and at the first error, it is
//! closed, because the browser would otherwise connect again and play the stream once more.

use std::cell::Cell;

use measure::arrivals::End;
use measure::frames::{Recognised, recognise};
use measure::{RunId, Span};
use wasm_bindgen::JsCast;
use web_sys::{EventSource, MessageEvent};

use super::SharedLog;
use super::tasks::{TaskMarker, together};
use crate::browser;
use crate::guard::Listener;
use crate::once::Once;

/// A stream that an `EventSource` reads; dropping it closes the connection.
pub struct Source {
    source: EventSource,
    _handlers: [Listener; 3],
}

impl Source {
    /// Calls the stream. The page works for `work` after each task that brought events.
    ///
    /// # Errors
    /// When the browser refuses the address.
    pub fn open(
        url: &str,
        run: RunId,
        work: Option<Span>,
        log: SharedLog,
        done: Once<()>,
    ) -> Result<Source, String> {
        let webkit = browser::name_of(&agent()).0 == "webkit";
        let after = move || browser::work(work);
        let marker = TaskMarker::new(webkit, after).map_err(|error| browser::describe(&error))?;
        let source = EventSource::new(url)
            .map_err(|error| format!("EventSource refused {url}: {}", browser::describe(&error)))?;
        let handlers = [
            on_message(&source, run, marker, log.clone(), done.clone()),
            on_open(&source, log.clone()),
            on_error(&source, log, done),
        ];
        Ok(Source { source, _handlers: handlers })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.source.close();
    }
}

fn agent() -> String {
    web_sys::window().and_then(|w| w.navigator().user_agent().ok()).unwrap_or_default()
}

fn on_message(
    source: &EventSource,
    run: RunId,
    marker: TaskMarker,
    log: SharedLog,
    done: Once<()>,
) -> Listener {
    let before = Cell::new(None);
    let stream = source.clone();
    Listener::new(source, "message", move |event| {
        let at = browser::now_us();
        let task = marker.current();
        let joins = together(before.replace(Some((task, at))), task, at);
        let event: MessageEvent = event.unchecked_into();
        let data = event.data().as_string().unwrap_or_default();
        let mut log = log.borrow_mut();
        if log.ended {
            return;
        }
        match recognise(run, &event.last_event_id(), &data) {
            Recognised::Ours(mark) | Recognised::Unnamed(mark) => {
                log.frame(at, joins, mark);
                log.say(&mark, &data);
                if mark.terminal {
                    stream.close();
                    log.finish(End::StoppedAtTerminal, at);
                    done.set(());
                }
            }
            Recognised::Foreign => log.arrivals.foreign_frames += 1,
        }
    })
}

fn on_open(source: &EventSource, log: SharedLog) -> Listener {
    let opened = Cell::new(false);
    Listener::new(source, "open", move |_| {
        let at = browser::now_us();
        let mut log = log.borrow_mut();
        log.heard_us = at;
        // A second opening is a second request: the run is then no longer one stream.
        if opened.replace(true) {
            log.reconnects += 1;
        } else {
            // An EventSource opens only on an answer of 200 with the right type.
            log.arrivals.status = Some(200);
        }
    })
}

fn on_error(source: &EventSource, log: SharedLog, done: Once<()>) -> Listener {
    let stream = source.clone();
    Listener::new(source, "error", move |_| {
        let at = browser::now_us();
        let gave_up = stream.ready_state() == EventSource::CLOSED;
        stream.close();
        let mut log = log.borrow_mut();
        let opened = log.arrivals.status.is_some();
        let end = match (opened, gave_up) {
            (true, _) => End::Cut,
            (false, true) => End::Failed {
                what: "EventSource refused the answer: it was not 200 with text/event-stream, \
                       or its origin may not be read (EventSource tells no more)"
                    .into(),
            },
            (false, false) => End::Failed {
                what: "the connection failed: nothing answered (EventSource tells no more)".into(),
            },
        };
        log.finish(end, at);
        done.set(());
    })
}
