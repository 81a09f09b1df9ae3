//! The event-stream format's two properties that matter: no cut of the bytes changes what comes
//! out, and what comes out is what a slow and plain reading of the standard gives.

mod sse;

use std::time::Duration;

use measure::sse::{MAX_EVENT_BYTES, Parser};
use proptest::prelude::*;
use sse::*;

/// The standard's own steps, written down plainly: decode the whole stream, split it into lines,
/// interpret each. No offsets, no limit.
mod plain {
    #[derive(Debug, Default, PartialEq)]
    pub(super) struct Outcome {
        /// Name, data, last event id string.
        pub(super) events: Vec<(String, String, String)>,
        pub(super) last_event_id: String,
        pub(super) retry: Option<String>,
        /// Blank lines that had a line before them.
        pub(super) frames: usize,
    }

    pub(super) fn parse(bytes: &[u8]) -> Outcome {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let mut outcome = Outcome::default();
        let (mut data, mut name, mut id) = (String::new(), String::new(), String::new());
        let mut in_frame = false;
        for line in lines(&text) {
            if line.is_empty() {
                outcome.frames += usize::from(in_frame);
                in_frame = false;
                outcome.last_event_id = id.clone();
                let event = std::mem::take(&mut name);
                let mut data = std::mem::take(&mut data);
                if data.is_empty() {
                    continue;
                }
                assert_eq!(data.pop(), Some('\n'));
                let event = if event.is_empty() { "message".to_owned() } else { event };
                outcome.events.push((event, data, id.clone()));
                continue;
            }
            in_frame = true;
            let (field, value) = match line.split_once(':') {
                Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
                None => (line.as_str(), ""),
            };
            match field {
                "event" => name = value.to_owned(),
                "data" => {
                    data.push_str(value);
                    data.push('\n');
                }
                "id" if !value.contains('\0') => id = value.to_owned(),
                "retry" if !value.is_empty() && value.chars().all(|c| c.is_ascii_digit()) => {
                    outcome.retry = Some(value.to_owned());
                }
                _ => {}
            }
        }
        outcome
    }

    /// Complete lines only: what has no line end is discarded.
    fn lines(text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\n' => lines.push(std::mem::take(&mut line)),
                '\r' => {
                    characters.next_if_eq(&'\n');
                    lines.push(std::mem::take(&mut line));
                }
                _ => line.push(character),
            }
        }
        lines
    }
}

/// Bytes that mean something to the format far more often than chance would have it.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        12 => prop::sample::select(vec![
            "\n", "\r", "\r\n", "\n\n", "\r\r", ":", " ", ": ", "data", "data:", "data: ", "event", "event: ",
            "id", "id: ", "retry", "retry: ", "\0", "7", "{\"t\":1}", "\u{FEFF}", "\u{2028}", "€", "😀",
        ]).prop_map(|token| token.as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>(), 1..4),
        // A byte-order mark, or a character, in part.
        1 => prop::sample::select(vec![&b"\xEF"[..], b"\xEF\xBB", b"\xBB\xBF", b"\xF0\x9F\x98"])
            .prop_map(<[u8]>::to_vec),
    ];
    let bom = prop_oneof![3 => Just(""), 1 => Just("\u{FEFF}")];
    (bom, prop::collection::vec(token, 0..60))
        .prop_map(|(bom, tokens)| [bom.as_bytes(), &tokens.concat()].concat())
}

/// The bytes cut at the given places, some of the slices empty.
fn slices<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut at = 0;
    cuts.into_iter().map(|cut| &bytes[std::mem::replace(&mut at, cut)..cut]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// Frames, offsets, ids and tail; with limits so small that they are met, too.
    #[test]
    fn any_cut_gives_the_same(
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        limit in prop_oneof![Just(MAX_EVENT_BYTES), 0_usize..24],
    ) {
        let whole = parse_slices(Parser::with_limit(limit), [bytes.as_slice()]);
        let cut = parse_slices(Parser::with_limit(limit), slices(&bytes, &cuts));
        prop_assert_eq!(&cut, &whole);
        let single = parse_slices(Parser::with_limit(limit), bytes.chunks(1));
        prop_assert_eq!(&single, &whole);
    }

    #[test]
    fn agrees_with_the_standards_steps(bytes in stream()) {
        let outcome = parse_slices(Parser::new(), [bytes.as_slice()]);
        let plain = plain::parse(&bytes);
        let events: Vec<_> = outcome
            .events()
            .into_iter()
            .map(|event| (event.name.clone(), event.data.clone(), event.id.clone()))
            .collect();
        prop_assert_eq!(events, plain.events);
        prop_assert_eq!(outcome.frames.len(), plain.frames);
        prop_assert_eq!(outcome.last_event_id, plain.last_event_id);
        let retry = plain.retry.map(|digits| Duration::from_millis(digits.parse().unwrap_or(u64::MAX)));
        prop_assert_eq!(outcome.reconnection_time, retry);
    }

    /// A frame is out with the byte at its `end`, and not before.
    #[test]
    fn ends_are_exact(bytes in stream()) {
        let outcome = parse_slices(Parser::new(), [bytes.as_slice()]);
        for (index, frame) in outcome.frames.iter().enumerate() {
            let count = |length: u64| {
                parse_slices(Parser::new(), [&bytes[..length as usize]]).frames.len()
            };
            prop_assert_eq!(count(frame.end - 1), index);
            prop_assert_eq!(count(frame.end), index + 1);
            prop_assert!(frame.start < frame.end);
            prop_assert!(!matches!(bytes[frame.start as usize], b'\n' | b'\r'));
        }
    }

    /// The plainest promise: nothing that can be fed makes it panic, or take more than it may.
    #[test]
    fn no_bytes_make_it_panic(
        feeds in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
        limit in 0_usize..40,
    ) {
        let mut parser = Parser::with_limit(limit);
        for bytes in &feeds {
            parser.feed(bytes, |_| {});
            prop_assert!(parser.buffered() <= 5 * (limit + 8));
        }
        parser.finish();
    }
}
