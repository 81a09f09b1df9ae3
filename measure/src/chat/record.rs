//! What a reader noted of one answer, before anything is made of it.

use serde::{Deserialize, Serialize};

use super::carrier::Carrier;
use super::facts::{ServiceError, Usage};
use super::shape::Shape;
use crate::arrivals::{Arrivals, FrameMark};
use crate::units::{RunId, Stamp};

/// One read: when it returned, and how many bytes of the decoded body it brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatRead {
    /// When the call that got the bytes returned, as the caller noted it before any parsing.
    pub at: Stamp,
    /// Bytes of the decoded body.
    pub bytes: u64,
}

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A frame without an event: an SSE comment.
    Comment,
    /// An event that its shape can hold.
    Event,
    /// An event whose payload is none of its shape's: no JSON where all is JSON.
    Malformed,
    /// An event of more bytes than are kept.
    TooLarge,
}

/// One frame as it came, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMark {
    /// The read that completed it, counted from 0.
    pub read: u32,
    /// Offset in the decoded body, one past its last byte.
    pub end: u64,
    /// Its sequence number, where it names the run it was read for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    /// What it was.
    pub kind: Kind,
    /// It holds text of the answer, be it white space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
    /// It holds text that can be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub visible: bool,
    /// It holds reasoning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reasoning: bool,
    /// It holds a part of a tool call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tool: bool,
    /// It is the shape's last event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
}

impl ChatMark {
    /// A frame that holds nothing.
    pub(super) fn new(read: u32, end: u64, kind: Kind) -> ChatMark {
        ChatMark {
            read,
            end,
            seq: None,
            kind,
            text: false,
            visible: false,
            reasoning: false,
            tool: false,
            terminal: false,
        }
    }

    /// Whether it is an event, of whatever use.
    pub fn is_event(&self) -> bool {
        self.kind != Kind::Comment
    }

    /// Whether it holds a token of any channel.
    pub fn has_token(&self) -> bool {
        self.text || self.reasoning || self.tool
    }
}

/// Everything noted of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatRecord {
    /// The shape, named or recognised; absent when nothing came that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// What carried the events; absent when no byte came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Carrier>,
    /// The run that the frames name by themselves; see [`super::ChatReader::of_any_run`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The reads that brought a byte of the body, in order.
    pub reads: Vec<ChatRead>,
    /// The frames, in order.
    pub frames: Vec<ChatMark>,
    /// Frames that name another run: a mixed-up stream, never counted as this answer's.
    #[serde(default)]
    pub foreign_frames: u32,
    /// Tokens as the service reported them.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// Why the answer ended, in the service's word (`stop`, `end_turn`, `MAX_TOKENS`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The first error that the service put into its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ServiceError>,
    /// Bytes of text, of reasoning and of tool calls, as decoded from the payloads.
    #[serde(default)]
    pub text_bytes: u64,
    /// See [`ChatRecord::text_bytes`].
    #[serde(default)]
    pub reasoning_bytes: u64,
    /// See [`ChatRecord::text_bytes`].
    #[serde(default)]
    pub tool_bytes: u64,
    /// Bytes after the last whole frame.
    #[serde(default)]
    pub tail_bytes: u64,
    /// Whether those bytes are the beginning of an event.
    #[serde(default)]
    pub event_cut: bool,
    /// The answer's text, or its beginning where that is longer than [`super::TEXT_KEPT`]; also
    /// of an answer that failed. It is other people's: shown, and never stored.
    #[serde(skip)]
    pub text: String,
}

impl ChatRecord {
    /// When the read returned that completed a frame.
    pub fn at(&self, mark: &ChatMark) -> Stamp {
        // Marks are made at reads that are noted first.
        self.reads[mark.read as usize].at
    }

    /// The frames that one read completed, as every other reader notes them, to be joined with a
    /// ledger.
    pub fn frames_of_read(&self, read: u32) -> impl Iterator<Item = FrameMark> {
        let start = self.frames.partition_point(|mark| mark.read < read);
        self.frames[start..].iter().take_while(move |mark| mark.read == read).map(|mark| {
            FrameMark {
                seq: mark.seq,
                event: mark.is_event(),
                text: mark.visible,
                terminal: mark.terminal,
                end: Some(mark.end),
            }
        })
    }

    /// Enters the frames into the deliveries that they came in, in the place of what a reader
    /// found there that knows no chat shape: what follows (stations, verdicts) is then the same
    /// as for any stream. The deliveries are those whose decoded bytes were read here.
    pub fn enter(&self, arrivals: &mut Arrivals) {
        let mut read = 0;
        for delivery in &mut arrivals.deliveries {
            delivery.frames.clear();
            // One delivery may have been read in parts.
            let mut left = delivery.body_bytes.unwrap_or_default();
            while let Some(part) = self.reads.get(read).filter(|part| part.bytes <= left) {
                if left == 0 {
                    break;
                }
                left -= part.bytes;
                delivery.frames.extend(self.frames_of_read(read as u32));
                read += 1;
            }
        }
        arrivals.foreign_frames = self.foreign_frames;
        arrivals.tail_bytes = self.tail_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Delivery, Reader};
    use crate::chat::{ChatReader, Shape};

    #[test]
    fn frames_are_entered_into_the_deliveries_they_came_in() {
        let lines = [
            "{\"message\":{\"content\":\"a\"}}\n",
            "{\"message\":{\"content\":\"b\"}}\n",
            "{\"done\":true}\n",
        ];
        let mut reader = ChatReader::new(Some(Shape::OllamaChat), None);
        let mut arrivals = Arrivals::begin(RunId(1), Reader::Recv, Stamp(0));
        let delivery = |at, bytes: usize| Delivery {
            body_bytes: Some(bytes as u64),
            ..Delivery::at(Stamp(at))
        };
        // A head alone, two lines in one delivery that was read in two parts, and the last one.
        arrivals.deliveries.push(delivery(5, 0));
        arrivals.deliveries.push(delivery(10, lines[0].len() + lines[1].len()));
        arrivals.deliveries.push(delivery(20, lines[2].len()));
        for (at, line) in [10, 10, 20].into_iter().zip(lines) {
            reader.read(Stamp(at), line.as_bytes()).unwrap();
        }
        reader.finish().enter(&mut arrivals);
        let frames: Vec<usize> = arrivals.deliveries.iter().map(|it| it.frames.len()).collect();
        assert_eq!(frames, [0, 2, 1]);
        assert!(arrivals.deliveries[1].frames.iter().all(|frame| frame.text));
        assert!(arrivals.deliveries[2].frames[0].terminal);
    }
}
