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

/// Up to this much room a frame carries one word, so that a page shows the sentence word by word.
const ONE_WORD_ROOM: usize = 16;

/// The word whose turn it is in the sentence that synthetic tokens make.
pub fn word(index: usize) -> &'static str {
    WORDS[index % WORDS.len()]
}

/// Renders one frame of exactly `bytes` bytes: `id:`, `data:`, and a comment line that fills it
/// up to its size.
pub fn render(out: &mut Vec<u8>, run: RunId, seq: u32, bytes: u32, terminal: bool) {
    let start = out.len();
    let size = bytes as usize;
    out.extend_from_slice(format!("id: {run}-{seq}\ndata: ").as_bytes());
    // Two line feeds end the frame.
    let room = size.saturating_sub(out.len() - start + 2);
    let text_start = out.len();
    if terminal {
        out.extend_from_slice(TERMINAL.as_bytes());
    } else {
        text(out, seq, room);
    }
    match room.saturating_sub(out.len() - text_start) {
        0 => {}
        // A comment takes a line feed and a colon at least.
        1 => out.push(b'.'),
        left => {
            out.extend_from_slice(b"\n:");
            out.resize(out.len() + left - 2, b'.');
        }
    }
    out.extend_from_slice(b"\n\n");
    debug_assert_eq!(out.len() - start, size, "frame {seq} of {bytes} bytes");
}

/// Whole words of the sentence, beginning with the one whose turn it is, up to `room` bytes.
fn text(out: &mut Vec<u8>, seq: u32, room: usize) {
    let words = WORDS.iter().cycle().skip(seq as usize % WORDS.len());
    let mut left = room;
    for (index, word) in words.enumerate() {
        let need = word.len() + usize::from(index > 0);
        if need > left || index > 0 && room <= ONE_WORD_ROOM {
            return;
        }
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(word.as_bytes());
        left -= need;
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
    let mark = unnamed(data);
    match parse_id(id) {
        Some((named, seq)) if named == run => {
            Recognised::Ours(FrameMark { seq: Some(seq), ..mark })
        }
        Some(_) => Recognised::Foreign,
        None => Recognised::Unnamed(mark),
    }
}

/// An event by its data alone.
fn unnamed(data: &str) -> FrameMark {
    let terminal = data == TERMINAL;
    FrameMark { seq: None, event: true, text: !terminal && !data.is_empty(), terminal, end: None }
}

/// Joins a byte stream's frames to the deliveries that completed them.
pub struct FrameReader {
    run: Option<RunId>,
    parser: Parser,
    foreign: u32,
}

impl FrameReader {
    /// A reader of one run's stream.
    pub fn new(run: RunId) -> FrameReader {
        FrameReader { run: Some(run), parser: Parser::new(), foreign: 0 }
    }

    /// A reader of a stream that nobody named: whatever comes is its own.
    pub fn of_any_run() -> FrameReader {
        FrameReader { run: None, parser: Parser::new(), foreign: 0 }
    }

    /// The frames that these bytes complete; `seen` is given each event's data as well, for a
    /// reader that shows it.
    pub fn feed_with(
        &mut self,
        bytes: &[u8],
        mut seen: impl FnMut(&FrameMark, &str),
    ) -> Vec<FrameMark> {
        let mut marks = Vec::new();
        let (run, foreign) = (self.run, &mut self.foreign);
        self.parser.feed(bytes, |frame: sse::Frame<'_>| {
            let Some(event) = frame.event() else {
                marks.push(FrameMark {
                    seq: None,
                    event: false,
                    text: false,
                    terminal: false,
                    end: Some(frame.end),
                });
                return;
            };
            let data = event.data();
            let recognised = match run {
                Some(run) => recognise(run, &event.id(), &data),
                None => Recognised::Unnamed(unnamed(&data)),
            };
            match recognised {
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
    fn small_frames_read_as_a_sentence() {
        let mut words = Vec::new();
        for (_, bytes) in Script::headline().player(RunId(1)) {
            let mut reader = FrameReader::new(RunId(1));
            reader.feed_with(&bytes, |_, data| words.push(data.to_string()));
        }
        assert_eq!(words[..6].join(" "), "the token left on time and");
        assert_eq!(words[40], TERMINAL);
    }

    #[test]
    fn what_is_rendered_is_recognised_at_any_cut() {
        let run = RunId(0xabc);
        let script = Script::headline();
        let bytes: Vec<u8> = script.player(run).flat_map(|(_, bytes)| bytes).collect();
        for step in [1, 7, 60, bytes.len()] {
            let mut reader = FrameReader::new(run);
            let marks: Vec<FrameMark> =
                bytes.chunks(step).flat_map(|chunk| reader.feed(chunk)).collect();
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
        let bytes: Vec<u8> =
            Script::headline().player(RunId(1)).flat_map(|(_, bytes)| bytes).collect();
        let mut reader = FrameReader::new(RunId(2));
        assert_eq!(reader.feed(&bytes), []);
        assert_eq!(reader.foreign_frames(), 41);
        let mut anybody = FrameReader::of_any_run();
        let marks = anybody.feed(&bytes);
        assert_eq!((marks.len(), anybody.foreign_frames()), (41, 0));
        assert!(marks.iter().all(|mark| mark.seq.is_none()) && marks[40].terminal);
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
