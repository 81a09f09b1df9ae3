//! A value that is set once and awaited by one task: how a stream's end reaches its run.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

struct Inner<T> {
    value: Option<T>,
    waker: Option<Waker>,
    set: bool,
}

/// The first value set wins; later ones are dropped.
pub struct Once<T>(Rc<RefCell<Inner<T>>>);

impl<T> Clone for Once<T> {
    fn clone(&self) -> Once<T> {
        Once(self.0.clone())
    }
}

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once(Rc::new(RefCell::new(Inner { value: None, waker: None, set: false })))
    }
}

impl<T> Once<T> {
    /// Sets the value, if none was set before.
    pub fn set(&self, value: T) {
        let waker = {
            let mut inner = self.0.borrow_mut();
            if inner.set {
                return;
            }
            inner.set = true;
            inner.value = Some(value);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for the value.
    pub async fn wait(&self) -> T {
        poll_fn(|context| {
            let mut inner = self.0.borrow_mut();
            match inner.value.take() {
                Some(value) => Poll::Ready(value),
                None => {
                    inner.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
