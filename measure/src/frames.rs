//! Synthetic frames: how they are rendered, and how a reader recognises them.
//!
//! Every synthetic frame carries run and sequence in its `id:` field. Frames are joined by
//! that, not by order, because EventSource sees neither bytes nor comments.

use crate::arrivals::FrameMark;
use crate::sse::{self, Parser};
use crate::units::RunId;

/// The data of the last event: the terminal marker that OpenAI-shaped streams end with.
pub const TERMINAL: &str = "[DONE]";
/// A comment frame.
pub const COMMENT: &[u8] = b": ping\n\n";

/// Words that synthetic tokens are made of: short enough that the smallest frame holds one.
const WORDS: [&str; 24] = [
    "the", "token", "left", "on", "time", "and", "came", "when", "it", "was", "due", "so", "each",
    "word", "you", "read", "here", "is", "a", "frame", "that", "no", "hop", "kept",
];

/// Renders one frame of exactly `bytes` bytes.
pub fn render(out: &mut Vec<u8>, run: RunId, seq: u32, bytes: u32, terminal: bool) {
    let start = out.len();
    let size = bytes as usize;
    out.extend_from_slice(format!("id: {run}-{seq}\ndata: ").as_bytes());
    if terminal {
        out.extend_from_slice(TERMINAL.as_bytes());
        out.push(b'\n');
        // A comment line inside the frame fills it up to its size: one colon and a line feed at least.
        let room = size.saturating_sub(out.len() - start + 1);
        if room >= 2 {
            out.push(b':');
            out.resize(out.len() + room - 2, b'.');
            out.push(b'\n');
        }
        out.push(b'\n');
    } else {
        let room = size.saturating_sub(out.len() - start + 2);
        text(out, seq, room);
        out.extend_from_slice(b"\n\n");
    }
    debug_assert_eq!(out.len() - start, size, "frame {seq} of {bytes} bytes");
}

/// Words up to exactly `room` bytes, beginning with a word that depends on `seq`.
fn text(out: &mut Vec<u8>, seq: u32, room: usize) {
    let end = out.len() + room;
    let mut word = seq as usize;
    while out.len() < end {
        let left = end - out.len();
        let next = WORDS[word % WORDS.len()].as_bytes();
        out.extend_from_slice(&next[..next.len().min(left)]);
        if out.len() < end {
            out.push(b' ');
        }
        word += 1;
    }
    // A space before the line's end would be lost to the eye, not to the parser; a dot is seen.
    if let Some(last) = out.last_mut().filter(|last| **last == b' ') {
        *last = b'.';
    }
}

/// Run and sequence out of a synthetic `id:` field.
pub fn parse_id(id: &str) -> Option<(RunId, u32)> {
    let (run, seq) = id.split_once('-')?;
    Some((run.parse().ok()?, seq.parse().ok()?))
}

/// What an event is to us, by its last event id and data.
pub enum Recognised {
    /// A frame of this run.
    Ours(FrameMark),
    /// A frame of another run.
    Foreign,
    /// An event that names no run.
    Unnamed(FrameMark),
}

/// Recognises an event as a reader in a browser sees it: id and data, no bytes.
pub fn recognise(run: RunId, id: &str, data: &str) -> Recognised {
    let terminal = data == TERMINAL;
    let mark = FrameMark { seq: None, event: true, text: !terminal && !data.is_empty(), terminal, end: None };
    match parse_id(id) {
        Some((named, seq)) if named == run => Recognised::Ours(FrameMark { seq: Some(seq), ..mark }),
        Some(_) => Recognised::Foreign,
        None => Recognised::Unnamed(mark),
    }
}

/// Joins a byte stream's frames to the deliveries that completed them.
pub struct FrameReader {
    run: RunId,
    parser: Parser,
    foreign: u32,
}

impl FrameReader {
    /// A reader of one run's stream.
    pub fn new(run: RunId) -> FrameReader {
        FrameReader { run, parser: Parser::new(), foreign: 0 }
    }

    /// The frames that these bytes complete; `seen` is given each event's data as well, for a
    /// reader that shows it.
    pub fn feed_with(&mut self, bytes: &[u8], mut seen: impl FnMut(&FrameMark, &str)) -> Vec<FrameMark> {
        let mut marks = Vec::new();
        let (run, foreign) = (self.run, &mut self.foreign);
        self.parser.feed(bytes, |frame: sse::Frame<'_>| {
            let Some(event) = frame.event() else {
                marks.push(FrameMark { seq: None, event: false, text: false, terminal: false, end: Some(frame.end) });
                return;
            };
            let data = event.data();
            match recognise(run, &event.id(), &data) {
                Recognised::Ours(mark) | Recognised::Unnamed(mark) => {
                    let mark = FrameMark { end: Some(frame.end), ..mark };
                    seen(&mark, &data);
                    marks.push(mark);
                }
                Recognised::Foreign => *foreign += 1,
            }
        });
        marks
    }

    /// The frames that these bytes complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<FrameMark> {
        self.feed_with(bytes, |_, _| ())
    }

    /// Frames seen of another run.
    pub fn foreign_frames(&self) -> u32 {
        self.foreign
    }

    /// Ends the stream; returns the bytes that were left without their blank line.
    pub fn finish(self) -> u64 {
        self.parser.finish().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn what_is_rendered_is_recognised_at_any_cut() {
        let run = RunId(0xabc);
        let script = Script::headline();
        let bytes: Vec<u8> = script.player(run).flat_map(|(_, bytes)| bytes).collect();
        for step in [1, 7, 60, bytes.len()] {
            let mut reader = FrameReader::new(run);
            let marks: Vec<FrameMark> = bytes.chunks(step).flat_map(|chunk| reader.feed(chunk)).collect();
            assert_eq!(reader.finish(), 0);
            assert_eq!(marks.len(), 41);
            let ends: Vec<u64> = marks.iter().filter_map(|mark| mark.end).collect();
            assert_eq!(ends, script.frame_ends());
            assert!(marks.iter().enumerate().all(|(i, mark)| mark.seq == Some(i as u32)));
            assert_eq!(marks.iter().filter(|mark| mark.terminal).count(), 1);
            assert!(marks[40].terminal && !marks[40].text && marks[0].text);
        }
    }

    #[test]
    fn another_runs_frames_are_counted_apart() {
        let bytes: Vec<u8> = Script::headline().player(RunId(1)).flat_map(|(_, bytes)| bytes).collect();
        let mut reader = FrameReader::new(RunId(2));
        assert_eq!(reader.feed(&bytes), []);
        assert_eq!(reader.foreign_frames(), 41);
    }

    #[test]
    fn an_event_that_names_no_run_is_kept_without_a_number() {
        let mut reader = FrameReader::new(RunId(1));
        let marks = reader.feed(b"data: hello\n\n: ping\n\ndata: [DONE]\n\n");
        assert_eq!(marks.len(), 3);
        assert!(marks.iter().all(|mark| mark.seq.is_none()));
        assert!(marks[0].text && !marks[1].event && marks[2].terminal);
    }
}
