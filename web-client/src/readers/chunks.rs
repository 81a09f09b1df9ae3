//! The chunks of a body as `read()` settles with them, each with its time. The time is taken in
//! the promise's own callback, before any task of ours is woken; the callbacks are made once for
//! the whole body.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use js_sys::{IteratorNext, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ReadableStream, ReadableStreamDefaultReader};

use crate::browser;

/// What a read gave: bytes, or nothing at the end; an error when the stream broke off.
pub(super) type Chunk = Result<Option<Vec<u8>>, ()>;

#[derive(Default)]
struct Settled {
    value: Option<(i64, Result<JsValue, ()>)>,
    waker: Option<Waker>,
}

/// A body that is being read.
pub(super) struct Chunks {
    reader: ReadableStreamDefaultReader,
    settled: Rc<RefCell<Settled>>,
    got: Closure<dyn FnMut(JsValue)>,
    failed: Closure<dyn FnMut(JsValue)>,
}

impl Chunks {
    pub(super) fn of(body: &ReadableStream) -> Chunks {
        let settled = Rc::<RefCell<Settled>>::default();
        let settle = |ok: bool| {
            let settled = settled.clone();
            Closure::<dyn FnMut(JsValue)>::new(move |value| {
                let at = browser::now_us();
                let waker = {
                    let mut settled = settled.borrow_mut();
                    settled.value = Some((at, if ok { Ok(value) } else { Err(()) }));
                    settled.waker.take()
                };
                if let Some(waker) = waker {
                    waker.wake();
                }
            })
        };
        let (got, failed) = (settle(true), settle(false));
        Chunks { reader: body.get_reader().unchecked_into(), settled, got, failed }
    }

    /// The next chunk, and when it was there. It must be waited for before this is dropped: an
    /// aborted request ends the wait.
    pub(super) async fn next(&self) -> (i64, Chunk) {
        let _ = self.reader.read().then2(&self.got, &self.failed);
        let (at, value) = poll_fn(|context| {
            let mut settled = self.settled.borrow_mut();
            match settled.value.take() {
                Some(value) => Poll::Ready(value),
                None => {
                    settled.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await;
        let bytes = |next: IteratorNext| {
            let bytes = || next.value().unchecked_into::<Uint8Array>().to_vec();
            (!next.done()).then(bytes)
        };
        (at, value.map(|value| bytes(value.unchecked_into())))
    }
}
