//! Chat answers in any cut: the frames, their ends and what they hold are always the same, for
//! streams that are right and for any bytes at all.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod chat;

use chat::*;
use measure::chat::{Carrier, ChatReader, Shape};
use measure::sse::MAX_EVENT_BYTES;
use proptest::prelude::*;
use serde_json::Value;

/// Pieces of streams, of every carrier and shape, whole and broken.
const PIECES: [&str; 34] = [
    "data: ",
    "data:",
    "event: error\n",
    "event: ping\n",
    "id: 1\n",
    ": keep-alive\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " ",
    "\u{FEFF}",
    "[DONE]",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "\\",
    "\\\"",
    "ü",
    "😀",
    "null",
    "12",
    "<html>",
    r#"{"choices":[{"delta":{"content":"a"}}]}"#,
    r#"{"choices":[],"usage":{"completion_tokens":2}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":" b"}}"#,
    r#"{"type":"response.output_text.delta","delta":"c"}"#,
    r#"{"message":{"content":"d\n","thinking":"e"},"done":false}"#,
    r#"{"response":"f","done":true}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"]}","thought":true}]},"finishReason":"STOP"}]}"#,
    r#"{"error":{"message":"g"}}"#,
];

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(PIECES.as_slice()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn shape() -> impl Strategy<Value = Option<Shape>> {
    prop_oneof![2 => Just(None), 1 => prop::sample::select(Shape::ALL.as_slice()).prop_map(Some)]
}

/// The bytes cut at the given places, some of the slices empty.
fn slices<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut at = 0;
    cuts.into_iter().map(|cut| &bytes[std::mem::replace(&mut at, cut)..cut]).collect()
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i16>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        r#"[a-z\\"\[\]{},:\n\u{e4}\u{1F600} ]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((r#"[a-z"\\}]{0,4}"#, inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// With limits so small that they are met, too.
    #[test]
    fn any_cut_gives_the_same(
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        shape in shape(),
        limit in prop_oneof![2 => Just(MAX_EVENT_BYTES), 1 => 0_usize..80],
    ) {
        let read = |slices: Vec<&[u8]>| {
            without_reads(read_slices(ChatReader::with_limit(shape, None, limit), slices))
        };
        let whole = read(vec![&bytes]);
        prop_assert_eq!(&read(slices(&bytes, &cuts)), &whole);
        prop_assert_eq!(&read(bytes.chunks(1).collect()), &whole);
    }

    /// A frame is out with the byte at its `end`, and not before.
    #[test]
    fn ends_are_exact(bytes in stream(), shape in shape()) {
        let so_far = |length: u64| {
            let mut reader = ChatReader::new(shape, None);
            reader.read(CALL, &bytes[..length as usize]).unwrap();
            reader.so_far().frames.len()
        };
        let mut reader = ChatReader::new(shape, None);
        reader.read(CALL, &bytes).unwrap();
        for (index, mark) in reader.so_far().frames.iter().enumerate() {
            prop_assert_eq!(so_far(mark.end), index + 1);
            prop_assert_eq!(so_far(mark.end - 1), index);
        }
    }

    /// The elements of an array are found where they are, however they are written.
    #[test]
    fn array_elements_are_found(items in prop::collection::vec(json(), 0..6), pretty: bool) {
        let array = Value::Array(items.clone());
        let text = if pretty {
            serde_json::to_string_pretty(&array).unwrap()
        } else {
            array.to_string()
        };
        let record = read_in_any_cut(None, text.as_bytes());
        prop_assert_eq!(record.carrier, Some(Carrier::JsonArray));
        prop_assert_eq!((record.frames.len(), record.tail_bytes), (items.len(), 0));
        let mut at = 1;
        for (mark, item) in record.frames.iter().zip(&items) {
            let element = text[at..mark.end as usize].trim_start_matches([',', ' ', '\n']);
            let mut values = serde_json::Deserializer::from_str(element).into_iter::<Value>();
            prop_assert_eq!(&values.next().unwrap().unwrap(), item);
            at = mark.end as usize;
        }
    }

    /// So are the objects of newline-delimited JSON.
    #[test]
    fn lines_are_found(items in prop::collection::vec(json(), 0..6)) {
        let text: String = items.iter().map(|item| format!("{item}\n")).collect();
        let record = read_in_any_cut(Some(Shape::Ndjson), text.as_bytes());
        let ends: Vec<u64> = record.frames.iter().map(|mark| mark.end).collect();
        let expected: Vec<u64> = text.match_indices('\n').map(|(at, _)| at as u64 + 1).collect();
        prop_assert_eq!(ends, expected);
    }
}
