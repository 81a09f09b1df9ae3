//! Chat answers for the tests: the fixtures beside this file, and readers that cut them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;

use measure::chat::{ChatAnswer, ChatReader, ChatRecord, Shape};
use measure::{End, Span, Stamp};

/// The moment of the call.
pub(crate) const CALL: Stamp = Stamp(5_000_000);

/// An answer as a service sends it, byte for byte.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chat").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads the slices one after the other, all at the moment of the call.
pub(crate) fn read_slices<'a>(
    mut reader: ChatReader,
    slices: impl IntoIterator<Item = &'a [u8]>,
) -> ChatRecord {
    for slice in slices {
        reader.read(CALL, slice).unwrap();
    }
    reader.finish()
}

/// The record without the reads: what no cut may change.
pub(crate) fn without_reads(mut record: ChatRecord) -> ChatRecord {
    record.reads.clear();
    for mark in &mut record.frames {
        mark.read = 0;
    }
    record
}

/// Reads the bytes at once; and in every cut into two, and byte by byte, the same must come out.
pub(crate) fn read_in_any_cut(shape: Option<Shape>, bytes: &[u8]) -> ChatRecord {
    let read = |slices: Vec<&[u8]>| read_slices(ChatReader::new(shape, None), slices);
    let whole = read(vec![bytes]);
    let expected = without_reads(whole.clone());
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(without_reads(read(vec![head, tail])), expected, "cut at {cut}");
    }
    assert_eq!(without_reads(read(bytes.chunks(1).collect())), expected);
    whole
}

/// An answer whose parts come at so many milliseconds after the call, a read each, and whose
/// framing ends well.
pub(crate) fn timed(shape: Option<Shape>, parts: &[(i64, &str)]) -> (ChatRecord, ChatAnswer) {
    let mut reader = ChatReader::new(shape, None);
    for (ms, part) in parts {
        reader.read(CALL + Span::millis(*ms), part.as_bytes()).unwrap();
    }
    let record = reader.finish();
    let answer = ChatAnswer::of(&record, CALL, Some(200), &End::Closed);
    (record, answer)
}

/// A span of so many milliseconds, as milestones have it.
pub(crate) fn ms(ms: i64) -> Option<Span> {
    Some(Span::millis(ms))
}

/// An OpenAI chunk with that delta.
pub(crate) fn delta(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}
