//! What a parser says of a stream, owned, so that runs can be compared.

#![allow(dead_code, reason = "each test file uses its part")]

use std::time::Duration;

use measure::sse::{Content, FrameTooLarge, Parser, Tail};

/// A frame, owned, so that runs can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Got {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) own_id: Option<String>,
    pub(crate) content: GotContent,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GotContent {
    Event(GotEvent),
    NoEvent,
    TooLarge(FrameTooLarge),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GotEvent {
    pub(crate) name: String,
    pub(crate) data: String,
    pub(crate) id: String,
    pub(crate) bytes: Vec<u8>,
}

/// All that a parser says about one stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) frames: Vec<Got>,
    pub(crate) last_event_id: String,
    pub(crate) reconnection_time: Option<Duration>,
    pub(crate) tail: Tail,
}

impl Outcome {
    pub(crate) fn events(&self) -> Vec<&GotEvent> {
        self.frames
            .iter()
            .filter_map(|frame| match &frame.content {
                GotContent::Event(event) => Some(event),
                GotContent::NoEvent | GotContent::TooLarge(_) => None,
            })
            .collect()
    }

    pub(crate) fn data(&self) -> Vec<&str> {
        self.events().iter().map(|event| event.data.as_str()).collect()
    }

    pub(crate) fn ends(&self) -> Vec<u64> {
        self.frames.iter().map(|frame| frame.end).collect()
    }
}

pub(crate) fn feed(parser: &mut Parser, bytes: &[u8], frames: &mut Vec<Got>) {
    parser.feed(bytes, |frame| {
        let content = match frame.content {
            Content::Event(event) => {
                assert_eq!(event.has_own_id(), frame.own_id().is_some());
                GotContent::Event(GotEvent {
                    name: event.name().into_owned(),
                    data: event.data().into_owned(),
                    id: event.id().into_owned(),
                    bytes: event.data_bytes().to_vec(),
                })
            }
            Content::NoEvent => GotContent::NoEvent,
            Content::TooLarge(error) => GotContent::TooLarge(error),
        };
        frames.push(Got {
            start: frame.start,
            end: frame.end,
            own_id: frame.own_id().map(|id| id.into_owned()),
            content,
        });
    });
}

pub(crate) fn parse_slices<'a>(
    mut parser: Parser,
    slices: impl IntoIterator<Item = &'a [u8]>,
) -> Outcome {
    let mut frames = Vec::new();
    for slice in slices {
        feed(&mut parser, slice, &mut frames);
    }
    Outcome {
        frames,
        last_event_id: parser.last_event_id().into_owned(),
        reconnection_time: parser.reconnection_time(),
        tail: parser.finish(),
    }
}

/// One feed; and every cut into two, and byte by byte, must give the same.
pub(crate) fn parse(bytes: &[u8]) -> Outcome {
    let whole = parse_slices(Parser::new(), [bytes]);
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        let cut_in_two = parse_slices(Parser::new(), [head, tail]);
        assert_eq!(cut_in_two, whole, "cut at {cut}");
    }
    assert_eq!(parse_slices(Parser::new(), bytes.chunks(1)), whole);
    whole
}
