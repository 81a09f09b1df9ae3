//! The choosing over TLS, where a path may hold one version of HTTP and not the other.

use super::*;

fn by_http2(e: &Experiment) -> bool {
    e.http != Speak::One && !e.http10
}

#[test]
fn a_cork_of_chunks_is_named_for_those_who_speak_http1_alone() {
    let mut path = fake(|e| {
        let chunks = !by_http2(e) && !e.http10 && !e.play.close;
        shows(if chunks && e.play.bytes != Some(LARGE) { V::Corked } else { V::Live })
    })
    .over(Protocol::Http2);
    let (examined, told) = path.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::ChunksCorked), Some(Sure::Certain)));
    assert_eq!(examined.question.name(), "as curl, HTTP/1.1 alone");
    assert_eq!(
        path.played[..4],
        ["as curl", "as a browser's fetch", "as curl, HTTP/1.1 alone", "as curl, by HTTP/1.0",]
    );
    assert_eq!(
        told.hit.unwrap(),
        "Over HTTP/1.1: corked; over HTTP/2: live. Browsers speak HTTP/2 over TLS and do not see this; clients that speak HTTP/1.1 do."
    );
    let lines: Vec<&str> = told.cures.iter().map(|cure| &*cure.lines).collect();
    assert_eq!(lines, ["option http-no-delay"], "HTTP/2 is spoken already");
    // What waits over HTTP/2 is no chunk.
    let mut reverse = fake(|e| shows(if by_http2(e) { V::Corked } else { V::Live }));
    reverse.tls = Some(Protocol::Http2);
    let (_, told) = reverse.examine();
    assert_eq!(told.cause, Some(CauseId::HopBuffers), "{told:?}");
    assert!(told.hit.unwrap().contains("clients that stay on HTTP/1.1 do not"));
}

#[test]
fn what_tls_gathers_over_http1_is_told_from_whole_buffers() {
    let mut gathers = fake(|e| match by_http2(e) || e.play.header {
        true => shows(V::Live),
        false => shows(V::Held).with("Server", "nginx/1.31.3"),
    })
    .over(Protocol::Http2);
    let (_, told) = gathers.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::TlsGathers), Some(Sure::Certain)));
    assert_eq!(told.cures[0].lines, "proxy_buffering off;");

    let mut both = fake(whole_buffers).over(Protocol::Http2);
    both.emitter = Some("HTTP/1.0");
    let (_, told) = both.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::WholeBuffers), Some(Sure::Certain)));
    assert!(told.hit.unwrap().contains("browsers, by HTTP/2, see it too"));
    // HTTP/1.1 to the origin would leave whoever speaks HTTP/1.1 where they are.
    assert_eq!(told.cures[0].lines, "proxy_buffering off;");
    assert!(told.notes.iter().any(|note| note.contains("tls-gathers")), "{:?}", told.notes);
}

#[test]
fn a_server_of_one_version_is_not_blamed_for_it() {
    let mut path = fake(|e| shows(if e.http == Speak::Two { V::Failed } else { V::Live }))
        .over(Protocol::Http11);
    let (_, told) = path.examine();
    assert_eq!(told.answer, Told::Clean, "{told:?}");
    assert!(path.played.contains(&"as curl, HTTP/2 alone".into()));
    let mut held = fake(|e| match e.http {
        Speak::Two => shows(V::Failed),
        _ if e.http10 => shows(V::Live),
        _ => shows(V::Corked),
    })
    .over(Protocol::Http11);
    let (_, told) = held.examine();
    assert_eq!(told.cause, Some(CauseId::ChunksCorked));
    assert!(told.hit.unwrap().contains("does not speak HTTP/2"));
    let asked = held.played.iter().filter(|name| *name == "as curl, HTTP/2 alone").count();
    assert_eq!(asked, 1, "{:?}", held.played);
}

#[test]
fn without_tls_no_version_is_chosen() {
    let mut path = fake(|_| shows(V::Live));
    let (_, told) = path.examine();
    assert!(path.played.iter().all(|name| !name.contains("alone")), "{:?}", path.played);
    assert!(told.notes[0].contains("plain HTTP"));
}

#[test]
fn chunks_that_come_to_http10_too_are_no_proof_against_a_cork() {
    let mut path = fake(|e| match by_http2(e) {
        true => shows(V::Live),
        false => shows(V::Corked).with("Transfer-Encoding", "chunked"),
    })
    .over(Protocol::Http2);
    assert_eq!(path.named(), (CauseId::ChunksCorked, Sure::Likely));
}
