//! The streams of this page that have been called and have not ended, by their origin: over
//! HTTP/1.1 a browser runs only so many at once, and the next one waits in silence.

use std::cell::RefCell;

use measure::verdict::Thresholds;

use crate::browser;

/// One origin's streams.
struct Origin {
    name: String,
    open: u32,
    /// When the last one ended, the page's clock.
    ended_us: i64,
}

thread_local! {
    static ORIGINS: RefCell<Vec<Origin>> = const { RefCell::new(Vec::new()) };
}

/// A stream that counts until it is dropped: then its connection is free, or waits for nobody.
pub struct Open {
    origin: String,
    streams: u32,
}

impl Open {
    /// Counts a stream that is called now.
    pub fn call(origin: &str) -> Open {
        let streams = ORIGINS.with_borrow_mut(|origins| {
            if origins.iter().all(|own| own.name != origin) {
                origins.push(Origin { name: origin.into(), open: 0, ended_us: i64::MIN });
            }
            let own = origins.iter_mut().find(|own| own.name == origin);
            own.map_or(1, |own| {
                own.open += 1;
                own.open
            })
        });
        Open { origin: origin.into(), streams }
    }

    /// How many streams to the origin were open at the call, this one included.
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Since when a stream that was called then and has heard nothing may be called silent, by
    /// the page's clock: not while those before it have all the connections, and afterwards
    /// from when the last of them ended. Those before it do not wait for it, so this ends.
    pub fn silent_since(&self, called_us: i64, now_us: i64) -> i64 {
        let connections = Thresholds::standard().connections;
        if self.streams <= connections {
            return called_us;
        }
        ORIGINS.with_borrow(|origins| {
            let own = origins.iter().find(|own| own.name == self.origin);
            own.map_or(called_us, |own| match own.open > connections {
                true => now_us,
                false => called_us.max(own.ended_us),
            })
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        ORIGINS.with_borrow_mut(|origins| {
            if let Some(own) = origins.iter_mut().find(|own| own.name == self.origin) {
                own.open = own.open.saturating_sub(1);
                own.ended_us = browser::now_us();
            }
        });
    }
}
