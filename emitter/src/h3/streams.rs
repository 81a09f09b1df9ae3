//! Follows the responses of one QUIC connection in the packets that leave it.

use std::sync::Arc;

use measure::Stamp;
use measure::ledger::Refusal;
use tokio::sync::Notify;

use super::framing::{DATA, Framing, Piece};
use super::packet::{Said, read};
use super::seal::Tag;
use crate::follow::Follow;

/// Why a ledger has no further lines.
const UNCLEAR: &str = "what left in QUIC's packets cannot be read";
/// The same.
const LOST: &str = "a datagram was refused by the system; when its bytes left is not known";

/// The open and the followed streams of a connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    follows: Vec<Followed>,
    /// The packet that is sealed and has not left: QUIC makes the next when this one has.
    sealed: Option<Sealed>,
    /// Body bytes that have left on all followed streams.
    data: u64,
    /// Streams whose answer is being sent, and how that learns that nobody wants it any more.
    open: Vec<(u64, Arc<Notify>)>,
}

#[derive(Debug)]
struct Followed {
    stream: u64,
    follow: Follow,
    framing: Framing,
    /// Bytes of the stream that were sealed; what comes below that is sent again.
    sealed: u64,
    /// Body bytes that QUIC was given, and those that have left.
    handed: u64,
    left: u64,
    /// What keeps what was handed over from leaving.
    held: Option<Refusal>,
}

#[derive(Debug)]
struct Sealed {
    tag: Tag,
    carried: Vec<Carried>,
}

/// What a packet carries of a stream for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Carried {
    stream: u64,
    data: u64,
    ended: bool,
}

impl Streams {
    /// Enters what leaves on a stream from now on into a ledger.
    pub(crate) fn follow(&mut self, stream: u64, follow: Follow) {
        let framing = Framing::default();
        self.follows.push(Followed {
            stream,
            follow,
            framing,
            sealed: 0,
            handed: 0,
            left: 0,
            held: None,
        });
    }

    /// A stream that is over before its end has left.
    pub(crate) fn forget(&mut self, stream: u64) {
        self.follows.retain(|followed| followed.stream != stream);
    }

    /// What leaves cannot be told any more.
    pub(crate) fn lose(&mut self, why: &str) {
        self.sealed = None;
        self.follows.drain(..).for_each(|followed| followed.follow.lose(why));
    }

    /// The packet could not be sent; QUIC will send what it carried again, in others.
    pub(super) fn lost(&mut self) {
        self.lose(LOST);
    }

    /// A stream is about to be answered; returns what wakes when the client wants no more of it.
    pub(super) fn open(&mut self, stream: u64) -> Arc<Notify> {
        let unwanted = Arc::new(Notify::new());
        self.open.push((stream, Arc::clone(&unwanted)));
        unwanted
    }

    /// Its answer has been sent, or never will be.
    pub(super) fn close(&mut self, stream: u64) {
        self.open.retain(|(open, _)| *open != stream);
    }

    /// Reads what a packet says that came in.
    pub(super) fn came(&mut self, packet: &[u8]) {
        // One that cannot be read ends the connection elsewhere.
        let _ = read(packet, |said| {
            if let Said::Stop { stream } = said
                && let Some((_, unwanted)) = self.open.iter().find(|(open, _)| *open == stream)
            {
                unwanted.notify_one();
            }
        });
    }

    fn followed(&mut self, stream: u64) -> Option<&mut Followed> {
        self.follows.iter_mut().find(|followed| followed.stream == stream)
    }

    /// The client's window has no room for a stream.
    pub(crate) fn no_window(&mut self, stream: u64, at: Stamp) {
        let all = self.data;
        if let Some(followed) = self.followed(stream) {
            followed.hold(Refusal::Window, at, all);
        }
    }

    /// It has room again.
    pub(crate) fn window(&mut self, stream: u64, at: Stamp) {
        if let Some(followed) = self.followed(stream) {
            followed.held = None;
            followed.follow.taken(at);
        }
    }

    /// QUIC was given so much of a stream's body.
    pub(super) fn handed(&mut self, stream: u64, bytes: u64) {
        if let Some(followed) = self.followed(stream) {
            followed.handed += bytes;
        }
    }

    /// QUIC had its turn: what it was given before and has not sent, it may not send yet.
    pub(super) fn may_have_left(&mut self, stream: u64, at: Stamp) {
        let all = self.data;
        if let Some(followed) = self.followed(stream).filter(|own| own.left < own.handed) {
            followed.hold(Refusal::Congestion, at, all);
        }
    }

    /// Reads a packet that is to be sealed next. Returns whether it has to be known when it leaves.
    pub(super) fn seals(&mut self, packet: &[u8]) -> bool {
        if self.sealed.is_some() {
            self.lose(LOST);
        }
        if self.follows.is_empty() {
            return false;
        }
        let (mut carried, mut clear): (Vec<Carried>, bool) = (Vec::new(), true);
        let follows = &mut self.follows;
        let whole = read(packet, |said| {
            let Said::Part { stream, offset, data, last } = said else { return };
            let Some(own) = follows.iter_mut().find(|own| own.stream == stream) else { return };
            match own.seals(offset, data, last) {
                Some(more) => carried.push(more),
                None => clear &= offset <= own.sealed,
            }
        });
        if whole.is_none() || !clear {
            self.lose(UNCLEAR);
            return false;
        }
        let known = !carried.is_empty();
        self.sealed = known.then_some(Sealed { tag: Tag::default(), carried });
        known
    }

    /// The packet read last has this seal.
    pub(super) fn sealed(&mut self, tag: Tag) {
        if let Some(sealed) = &mut self.sealed {
            sealed.tag = tag;
        }
    }

    /// The seal of the packet that has not left.
    pub(super) fn waiting(&self) -> Option<Tag> {
        self.sealed.as_ref().map(|sealed| sealed.tag)
    }

    /// The socket does not take the packet.
    pub(crate) fn refused(&mut self, at: Stamp) {
        let (all, sealed) = (self.data, self.sealed.take());
        for Carried { stream, .. } in sealed.iter().flat_map(|sealed| &sealed.carried) {
            if let Some(followed) = self.followed(*stream) {
                followed.hold(Refusal::Congestion, at, all);
            }
        }
        self.sealed = sealed;
    }

    /// The packet has left.
    pub(super) fn left(&mut self, before: Stamp, after: Stamp) {
        let Some(Sealed { carried, .. }) = self.sealed.take() else { return };
        for Carried { stream, data, ended } in carried {
            self.data += data;
            let Some(at) = self.follows.iter().position(|own| own.stream == stream) else {
                continue;
            };
            let own = &mut self.follows[at];
            own.left += data;
            if own.follow.left(data, ended, before, after) {
                self.follows.swap_remove(at);
                continue;
            }
            // A part of it went; the rest waits on.
            match own.held.take() {
                Some(by) if own.left < own.handed => own.hold(by, after, self.data),
                _ => {}
            }
        }
    }
}

impl Followed {
    fn hold(&mut self, by: Refusal, at: Stamp, all: u64) {
        self.held = Some(by);
        self.follow.refused(by, at, Some(all));
    }

    /// What of a part of the stream is new; none if nothing is, or what comes before it is missing.
    fn seals(&mut self, offset: u64, data: &[u8], last: bool) -> Option<Carried> {
        let known = usize::try_from(self.sealed.checked_sub(offset)?).ok()?;
        let new = data.get(known..)?;
        let mut body = 0;
        self.framing.feed(new, |piece| {
            if let Piece::Payload { kind: DATA, bytes } = piece {
                body += bytes;
            }
        });
        self.sealed += new.len() as u64;
        (!new.is_empty() || last).then_some(Carried {
            stream: self.stream,
            data: body,
            ended: last,
        })
    }
}
