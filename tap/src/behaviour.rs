//! What a relay does with the bytes of an answer.

use wire::http1::ResponseFramer;

/// How a relay passes an answer's bytes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// At once, read by read.
    Honest,
    /// Only when the whole answer is there, in one write.
    Drain,
    /// At once, but every write except the last says that more will follow (`MSG_MORE`), so the
    /// kernel keeps a part-filled segment back for 200 ms.
    Cork,
    /// When at least so many bytes are there.
    Collect(usize),
    /// Each read when the next one comes.
    OneBehind,
    /// Up to the last whole event; the rest of a cut one waits.
    WaitForEvent,
    /// So many reads at once; then both connections close, whatever the framing promised.
    Cut(usize),
}

impl Behaviour {
    /// The name in tables.
    pub fn name(self) -> String {
        match self {
            Behaviour::Honest => "honest".into(),
            Behaviour::Drain => "drain".into(),
            Behaviour::Cork => "cork".into(),
            Behaviour::Collect(bytes) => format!("collect-{bytes}"),
            Behaviour::OneBehind => "one-behind".into(),
            Behaviour::WaitForEvent => "wait-for-event".into(),
            Behaviour::Cut(reads) => format!("cut-{reads}"),
        }
    }
}

/// Bytes to write now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Out {
    pub(crate) bytes: Vec<u8>,
    /// Whether to tell the kernel that more follows.
    pub(crate) more: bool,
    /// Whether the connections close after them.
    pub(crate) last: bool,
}

/// Holds what a behaviour keeps back.
#[derive(Debug)]
pub(crate) struct Hold {
    behaviour: Behaviour,
    kept: Vec<u8>,
    reads: usize,
    framer: ResponseFramer,
}

impl Hold {
    pub(crate) fn new(behaviour: Behaviour) -> Hold {
        Hold { behaviour, kept: Vec::new(), reads: 0, framer: ResponseFramer::new() }
    }

    /// Takes one read's bytes; returns what is to be written now.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Out {
        let whole = self.follow(bytes);
        self.reads += 1;
        self.kept.extend_from_slice(bytes);
        let keep = if whole {
            0
        } else {
            match self.behaviour {
                Behaviour::Honest | Behaviour::Cork | Behaviour::Cut(_) => 0,
                Behaviour::Drain => self.kept.len(),
                Behaviour::Collect(least) if self.kept.len() < least => self.kept.len(),
                Behaviour::Collect(_) => 0,
                Behaviour::OneBehind => bytes.len(),
                Behaviour::WaitForEvent => self.unfinished(),
            }
        };
        let rest = self.kept.split_off(self.kept.len() - keep);
        let out = std::mem::replace(&mut self.kept, rest);
        Out {
            more: self.behaviour == Behaviour::Cork && !whole,
            last: matches!(self.behaviour, Behaviour::Cut(reads) if self.reads >= reads),
            bytes: out,
        }
    }

    /// What is left when the connection ends.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// Bytes behind the last blank line of the body. The head and the line end of a chunk hold
    /// up nobody, so whatever has no event's line feed in it passes.
    fn unfinished(&self) -> usize {
        match self.kept.windows(2).rposition(|pair| pair == b"\n\n") {
            Some(at) => self.kept.len() - at - 2,
            None if self.kept.ends_with(b"\r\n\r\n") => 0,
            None => self.kept.len(),
        }
    }

    /// Follows the framing; says whether the answer is whole.
    fn follow(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0;
        while at < bytes.len() {
            match self.framer.feed(&bytes[at..], |_| ()) {
                Ok(used) => at += used,
                // Not HTTP: nothing is kept back from it.
                Err(_) => return true,
            }
            if self.framer.is_done() && at < bytes.len() {
                self.framer = ResponseFramer::new();
            }
        }
        let done = self.framer.is_done();
        if done {
            self.framer = ResponseFramer::new();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    fn play(behaviour: Behaviour, reads: &[&[u8]]) -> Vec<(String, bool)> {
        let mut hold = Hold::new(behaviour);
        reads
            .iter()
            .map(|read| {
                let out = hold.take(read);
                (String::from_utf8(out.bytes).unwrap(), out.more)
            })
            .collect()
    }

    fn lengths(behaviour: Behaviour) -> Vec<usize> {
        let reads: [&[u8]; 5] =
            [HEAD, b"5\r\na:b\n\n\r\n", b"5\r\na:c\n\n\r\n", b"5\r\na:d\n\n\r\n", b"0\r\n\r\n"];
        play(behaviour, &reads).iter().map(|(text, _)| text.len()).collect()
    }

    #[test]
    fn each_behaviour_keeps_back_what_it_says() {
        assert_eq!(lengths(Behaviour::Honest), [47, 10, 10, 10, 5]);
        assert_eq!(lengths(Behaviour::Drain), [0, 0, 0, 0, 82]);
        assert_eq!(lengths(Behaviour::Collect(60)), [0, 0, 67, 0, 15]);
        assert_eq!(lengths(Behaviour::OneBehind), [0, 47, 10, 10, 15]);
        assert_eq!(lengths(Behaviour::WaitForEvent), [47, 8, 10, 10, 7]);
    }

    #[test]
    fn a_cut_event_waits_for_its_end() {
        let reads: [&[u8]; 3] = [HEAD, b"3\r\na:b\r\n", b"2\r\n\n\n\r\n"];
        let out = play(Behaviour::WaitForEvent, &reads);
        assert_eq!(out[1].0, "");
        assert_eq!(out[2].0, "3\r\na:b\r\n2\r\n\n\n");
    }

    #[test]
    fn a_cork_says_more_until_the_last_chunk() {
        let reads: [&[u8]; 3] = [HEAD, b"5\r\na:b\n\n\r\n", b"0\r\n\r\n"];
        let more: Vec<bool> = play(Behaviour::Cork, &reads).iter().map(|(_, more)| *more).collect();
        assert_eq!(more, [true, true, false]);
    }

    #[test]
    fn what_is_no_http_passes() {
        let mut hold = Hold::new(Behaviour::Drain);
        assert_eq!(hold.take(b"SSH-2.0").bytes, b"SSH-2.0");
        let mut hold = Hold::new(Behaviour::Collect(100));
        assert_eq!(hold.take(HEAD).bytes, b"");
        assert_eq!(hold.rest(), HEAD);
    }
}
