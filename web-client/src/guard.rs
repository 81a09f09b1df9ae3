//! Guards: what is registered with the browser is taken back when its owner is dropped.
//!
//! A closure handed to the browser must outlive its registration, and must not outlive its
//! purpose. Each guard owns both and takes the registration away first.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Event, EventTarget};

/// A handler on an event target.
pub struct Listener {
    target: EventTarget,
    name: &'static str,
    handler: Closure<dyn FnMut(Event)>,
}

impl Listener {
    /// Registers the handler.
    pub fn new(
        target: &EventTarget,
        name: &'static str,
        handler: impl FnMut(Event) + 'static,
    ) -> Listener {
        Listener::boxed(target, name, Box::new(handler))
    }

    fn boxed(target: &EventTarget, name: &'static str, handler: Box<dyn FnMut(Event)>) -> Listener {
        let handler = Closure::wrap(handler);
        // Fails only for a value that is no function; a closure is one.
        let _ = target.add_event_listener_with_callback(name, handler.as_ref().unchecked_ref());
        Listener { target: target.clone(), name, handler }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Fails only for a value that is no function; a closure is one.
        let _ = self
            .target
            .remove_event_listener_with_callback(self.name, self.handler.as_ref().unchecked_ref());
    }
}

/// A callback at a fixed period.
pub struct Repeat {
    id: i32,
    _callback: Closure<dyn FnMut()>,
}

impl Repeat {
    /// Calls back every `period_ms`; `None` where there is no window.
    pub fn every(period_ms: i32, callback: impl FnMut() + 'static) -> Option<Repeat> {
        let callback = Closure::<dyn FnMut()>::new(callback);
        let id = web_sys::window()?
            .set_interval_with_callback_and_timeout_and_arguments_0(
                callback.as_ref().unchecked_ref(),
                period_ms,
            )
            .ok()?;
        Some(Repeat { id, _callback: callback })
    }
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if let Some(window) = web_sys::window() {
            window.clear_interval_with_handle(self.id);
        }
    }
}

/// A callback's place: it asks for itself again, so it must find itself.
type Slot = Rc<RefCell<Option<Closure<dyn FnMut()>>>>;

/// A callback before each painted frame.
pub struct Frames {
    id: Rc<Cell<i32>>,
    _callback: Slot,
}

impl Frames {
    /// Calls back before each frame until the guard is dropped.
    pub fn each(mut callback: impl FnMut() + 'static) -> Frames {
        let id = Rc::new(Cell::new(0));
        let slot = Slot::default();
        let (next, weak) = (id.clone(), Rc::downgrade(&slot));
        *slot.borrow_mut() = Some(Closure::new(move || {
            callback();
            // The guard may have been dropped by the callback: then nothing is asked for again.
            if let Some(slot) = weak.upgrade() {
                next.set(request(&slot));
            }
        }));
        id.set(request(&slot));
        Frames { id, _callback: slot }
    }
}

fn request(slot: &Slot) -> i32 {
    let slot = slot.borrow();
    let (Some(window), Some(callback)) = (web_sys::window(), slot.as_ref()) else { return 0 };
    window.request_animation_frame(callback.as_ref().unchecked_ref()).unwrap_or(0)
}

impl Drop for Frames {
    fn drop(&mut self) {
        if let Some(window) = web_sys::window() {
            // Cancelling a handle that has fired already does nothing.
            let _ = window.cancel_animation_frame(self.id.get());
        }
    }
}
