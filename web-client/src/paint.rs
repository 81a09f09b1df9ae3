//! When a token is painted: a message posted from the animation frame that put its text into the
//! document comes back in the first task after that frame.
//!
//! One channel for all lanes, and one message an animation frame. WebKit's channel takes about
//! 1.5 ms where the others take a few hundredths, and its paint figures are longer by that.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use web_sys::{MessageChannel, MessagePort};

use crate::browser;
use crate::guard::Listener;
use crate::readers::SharedLog;

/// Drawing may take one part in so many of the page's time, from an animation frame's begin to
/// the first task after it was painted: reading goes first. Where that is quick, as on a machine
/// that is left alone, every frame is drawn; eight lanes of 200 frames a second on two busy cores
/// take 15 ms a frame, and are drawn every 60 ms.
const SHARE: i64 = 4;

/// Longest that it waits for its share, microseconds: a page that was busy for long is not to
/// stand still for four times as long.
const LONGEST_WAIT_US: i64 = 100_000;

/// Streams drawn in one animation frame, each with how many of its deliveries were.
type Drawn = Vec<(SharedLog, usize)>;

/// Stamps paints until it is dropped.
pub struct Painter {
    near: MessagePort,
    far: MessagePort,
    /// One for each message that is on its way: no stamp is earlier than its own frame.
    drawn: Rc<RefCell<VecDeque<Drawn>>>,
    /// When the last frame with new text began, and how long it took; the page's clock.
    last: Rc<(Cell<i64>, Cell<i64>)>,
    _listener: Listener,
}

impl Painter {
    /// A painter; `None` where the browser has no message channel, and then nothing is stamped.
    pub fn new() -> Option<Painter> {
        let channel = MessageChannel::new().ok()?;
        let (near, far) = (channel.port1(), channel.port2());
        let drawn: Rc<RefCell<VecDeque<Drawn>>> = Rc::default();
        let last = Rc::new((Cell::new(i64::MIN / 2), Cell::new(0)));
        let listener = {
            let (drawn, last) = (drawn.clone(), last.clone());
            Listener::new(&near, "message", move |_| {
                let at = browser::now_us();
                last.1.set(at - last.0.get());
                let frame = drawn.borrow_mut().pop_front();
                for (log, count) in frame.unwrap_or_default() {
                    log.borrow_mut().note_painted(count, at);
                }
            })
        };
        near.start();
        Some(Painter { near, far, drawn, last, _listener: listener })
    }

    /// Whether this animation frame may be drawn: not while the one before is not painted, nor so
    /// soon after it that drawing would take more than its share.
    pub fn may_draw(&self) -> bool {
        let (began, took) = (self.last.0.get(), self.last.1.get());
        let wait = (SHARE * took).min(LONGEST_WAIT_US);
        self.drawn.borrow().is_empty() && browser::now_us() - began >= wait
    }

    /// To be called in the animation frame that began then: the text of these streams, as far as
    /// it has come, is in the document before the frame is painted.
    pub fn frame(&self, began_us: i64, logs: Vec<SharedLog>) {
        let unpainted = logs.into_iter().filter(|log| log.borrow().awaits_paint());
        let count = |log: &SharedLog| log.borrow().arrivals.deliveries.len();
        let drawn: Drawn = unpainted.map(|log| (log.clone(), count(&log))).collect();
        if !drawn.is_empty() && self.far.post_message(&JsValue::NULL).is_ok() {
            self.last.0.set(began_us);
            self.drawn.borrow_mut().push_back(drawn);
        }
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        self.near.close();
        self.far.close();
    }
}
