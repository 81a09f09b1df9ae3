//! The chunks of a body as `read()` settles with them, each with its time. The time is taken in
//! the promise's own callback, which asks for the next chunk itself: no task of ours is woken
//! before the end.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use js_sys::{IteratorNext, Uint8Array};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ReadableStream, ReadableStreamDefaultReader};

use crate::browser;
use crate::once::Once;

/// What a promise settles into.
type Settled = Closure<dyn FnMut(JsValue)>;

/// A body that is being read, with the callbacks of all its reads.
struct Chunks {
    reader: ReadableStreamDefaultReader,
    got: OnceCell<Settled>,
    failed: OnceCell<Settled>,
}

impl Chunks {
    fn ask(&self) {
        if let (Some(got), Some(failed)) = (self.got.get(), self.failed.get()) {
            // What the callbacks themselves would promise is nobody's.
            let _ = self.reader.read().then2(got, failed);
        }
    }
}

/// Reads a body to its end; returns when that was, and whether it was whole. Whoever does not want
/// to wait for it aborts the request.
pub(crate) async fn read(
    body: &ReadableStream,
    on_chunk: impl FnMut(i64, Uint8Array) + 'static,
) -> (i64, bool) {
    let chunks = Rc::new(Chunks {
        reader: body.get_reader().unchecked_into(),
        got: OnceCell::new(),
        failed: OnceCell::new(),
    });
    let ended = Once::<(i64, bool)>::default();
    let (more, whole, on_chunk) = (Rc::downgrade(&chunks), ended.clone(), RefCell::new(on_chunk));
    let got = Closure::new(move |value: JsValue| {
        let at = browser::now_us();
        let next: IteratorNext = value.unchecked_into();
        if next.done() {
            whole.set((at, true));
            return;
        }
        (on_chunk.borrow_mut())(at, next.value().unchecked_into());
        if let Some(chunks) = more.upgrade() {
            chunks.ask();
        }
    });
    let cut = ended.clone();
    let failed = Closure::new(move |_| cut.set((browser::now_us(), false)));
    // Both are empty: they were made here.
    let _ = (chunks.got.set(got), chunks.failed.set(failed));
    chunks.ask();
    // The callbacks live until the last of them was called.
    let end = ended.wait().await;
    drop(chunks);
    end
}
