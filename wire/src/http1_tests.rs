//! Framing: tables, and the property that any cut of the bytes gives the same body.

use super::*;
use proptest::prelude::*;

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: a/b\r\n\r\n\
    5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\nTrailer: x\r\n\r\n";

fn read(bytes: &[u8], step: usize) -> Result<(ResponseFramer, Vec<u8>, usize), FramingError> {
    let mut framer = ResponseFramer::new();
    let (mut body, mut used) = (Vec::new(), 0);
    for part in bytes.chunks(step) {
        used += framer.feed(part, |bytes| body.extend_from_slice(bytes))?;
    }
    Ok((framer, body, used))
}

#[test]
fn a_chunked_body_is_whole_at_its_last_chunk() {
    for step in 1..CHUNKED.len() {
        let (framer, body, used) = read(CHUNKED, step).unwrap();
        assert_eq!(body, b"hello, world");
        assert!(framer.is_done());
        assert_eq!(used, CHUNKED.len());
        assert_eq!(framer.head().unwrap().header("CONTENT-type"), Some("a/b"));
    }
    let (framer, _, _) = read(&CHUNKED[..CHUNKED.len() - 2], 7).unwrap();
    assert!(!framer.is_done() && !framer.close_is_the_end());
}

#[test]
fn a_close_marks_the_end_only_where_nothing_else_does() {
    let (framer, body, _) = read(b"HTTP/1.0 200 OK\r\n\r\nabc", 4).unwrap();
    assert_eq!(body, b"abc");
    assert!(!framer.is_done() && framer.close_is_the_end());
    assert_eq!(framer.head().unwrap().minor, 0);
    let (framer, _, _) = read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 4).unwrap();
    assert!(!framer.close_is_the_end());
}

#[test]
fn bytes_after_the_response_are_left() {
    let two = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 404 No\r\n\r\n";
    let mut framer = ResponseFramer::new();
    let used = framer.feed(two, |_| ()).unwrap();
    assert_eq!(&two[used..used + 12], b"HTTP/1.1 404");
    let (framer, body, _) = read(b"HTTP/1.1 204 No Content\r\n\r\n", 5).unwrap();
    assert!(framer.is_done() && body.is_empty());
}

#[test]
fn interim_responses_are_passed_over() {
    let bytes =
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz";
    let (framer, body, _) = read(bytes, 9).unwrap();
    assert_eq!(framer.head().unwrap().status, 200);
    assert_eq!(body, b"z");
}

#[test]
fn hostile_bytes_are_named_and_bounded() {
    let error = |bytes: &[u8]| read(bytes, 100).map(|_| ()).unwrap_err().to_string();
    assert!(
        error(b"SSH-2.0-OpenSSH_9.2").contains("does not begin with HTTP/1 (it begins \"SSH-2.0")
    );
    let chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(error(&[&chunk[..], b"zz\r\n"].concat()), "bad chunk size \"zz\"");
    assert_eq!(error(&[&chunk[..], b"-1\r\n"].concat()), "bad chunk size \"-1\"");
    assert_eq!(error(&[&chunk[..], b"1\r\nab\r\n"].concat()), "bad chunk size \"b\"");
    assert!(error(&[&chunk[..], &[b'1'; 2_000]].concat()).starts_with("bad chunk size"));
    let endless = [b"HTTP/1.1 200 OK\r\n".as_slice(), &b"A: b\r\n".repeat(20_000)].concat();
    assert!(error(&endless).contains("no end within 65536 bytes"));
}

#[test]
fn a_failure_stays_a_failure() {
    let mut framer = ResponseFramer::new();
    assert!(framer.feed(b"nope", |_| ()).is_err());
    assert!(framer.feed(CHUNKED, |_| ()).is_err());
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_body(
        body in proptest::collection::vec(any::<u8>(), 0..400),
        chunk in 1_usize..50,
        cuts in proptest::collection::vec(1_usize..40, 1..60),
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for part in body.chunks(chunk) {
            bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let mut framer = ResponseFramer::new();
        let (mut got, mut at) = (Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            if at >= bytes.len() {
                break;
            }
            let end = (at + cut).min(bytes.len());
            framer.feed(&bytes[at..end], |part| got.extend_from_slice(part)).unwrap();
            at = end;
        }
        prop_assert!(framer.is_done());
        prop_assert_eq!(got, body);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&bytes, 13);
        let _ = read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &bytes].concat(), 17);
    }
}
