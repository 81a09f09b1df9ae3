//! Which events came in one task: an estimate, since a page is not told.
//!
//! All events of one network read are dispatched in one task. A message posted to ourselves at
//! the first of them comes back in a later task; events seen before it belong together, if
//! they also came close to one another (a busy page may let two reads pass before its own
//! message). Microtasks cannot tell: they run between the events of one task.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{MessageChannel, MessagePort};

use crate::guard::Listener;

/// Events further apart than this are not taken for one delivery: between events of one task
/// there is only our own handler, which takes far less.
pub const TOGETHER_US: i64 = 350;

/// Tells one task from the next.
pub struct TaskMarker {
    state: Rc<State>,
    poster: Poster,
}

struct State {
    task: Cell<u32>,
    waiting: Cell<bool>,
}

enum Poster {
    /// One channel, used again and again.
    Channel { near: MessagePort, far: MessagePort, _listener: Listener },
    /// WebKit's channel takes 1.5 ms; its timer of 0 ms is quicker.
    Timer(Closure<dyn FnMut()>),
}

impl TaskMarker {
    /// A marker for this engine; `after` is called after each task that was asked for.
    ///
    /// # Errors
    /// When the browser has no message channel.
    pub fn new(webkit: bool, after: impl Fn() + 'static) -> Result<TaskMarker, JsValue> {
        let state = Rc::new(State { task: Cell::new(0), waiting: Cell::new(false) });
        let next = {
            let state = state.clone();
            move || {
                state.waiting.set(false);
                state.task.set(state.task.get() + 1);
                after();
            }
        };
        let poster = if webkit {
            Poster::Timer(Closure::new(next))
        } else {
            let channel = MessageChannel::new()?;
            let (near, far) = (channel.port1(), channel.port2());
            let listener = Listener::new(&near, "message", move |_| next());
            near.start();
            Poster::Channel { near, far, _listener: listener }
        };
        Ok(TaskMarker { state, poster })
    }

    /// The number of the task that runs now.
    pub fn current(&self) -> u32 {
        if !self.state.waiting.replace(true) {
            let posted = match &self.poster {
                Poster::Channel { far, .. } => far.post_message(&JsValue::NULL).is_ok(),
                Poster::Timer(callback) => web_sys::window().is_some_and(|window| {
                    window.set_timeout_with_callback(callback.as_ref().unchecked_ref()).is_ok()
                }),
            };
            // Without an answer to wait for, the gap alone decides.
            self.state.waiting.set(posted);
        }
        self.state.task.get()
    }
}

impl Drop for TaskMarker {
    fn drop(&mut self) {
        if let Poster::Channel { near, far, .. } = &self.poster {
            near.close();
            far.close();
        }
    }
}

/// Whether an event belongs to the delivery of the event before it.
pub fn together(before: Option<(u32, i64)>, task: u32, at_us: i64) -> bool {
    before.is_some_and(|(earlier, last_us)| earlier == task && at_us - last_us < TOGETHER_US)
}
