//! What may not be asked, and what ends it early.

use super::*;

#[test]
fn no_more_is_asked_than_is_allowed() {
    for (allowed, answer) in [(1, Told::CannotTell), (2, Told::Clean), (5, Told::Clean)] {
        let mut path = Fake { left: allowed, ..fake(|_| shows(V::Live)) };
        let (examined, told) = path.examine();
        assert_eq!((told.answer, path.left), (answer, 0), "{allowed} allowed");
        assert_eq!(examined.short, allowed < 4);
        assert_eq!(path.played.len() as u32, allowed);
    }
    let mut none = Fake { left: 0, ..fake(|_| shows(V::Live)) };
    assert_eq!(none.examine().1.answer, Told::CannotTell);
}

#[test]
fn what_ends_it_early_keeps_what_was_seen() {
    let limited = Stop::RateLimited { retry_after: Some("30".into()) };
    let mut at_once = fake(|_| shows(V::Live)).foreign().stop("as curl", limited.clone());
    let (_, told) = at_once.examine();
    assert_eq!(told.answer, Told::Nothing);
    assert!(told.name.contains("Retry-After: 30"), "{}", told.name);

    let mut later =
        fake(|_| shows(V::Live)).foreign().stop("as a browser's fetch", limited.clone());
    let (examined, told) = later.examine();
    assert_eq!(told.answer, Told::CannotTell, "one live stream is no clean path");
    assert_eq!(examined.evidence.runs.len(), 1);
    assert!(told.stopped.unwrap().contains("429"));

    // What was seen by then was enough for a name; what would have made it certain was not asked.
    let mut enough = fake(|e| shows(if e.http10 { V::Live } else { V::Corked }))
        .stop("as curl, 400 B events", Stop::Unreachable { what: "connect: refused".into() });
    let (_, told) = enough.examine();
    assert_eq!((told.answer, told.cause), (Told::Cause, Some(CauseId::ChunksCorked)));
    assert!(told.stopped.is_some());
    let mut before = fake(|_| shows(V::Corked)).stop("as curl, by HTTP/1.0", limited);
    assert_eq!(before.named(), (CauseId::ChunksCorked, Sure::Likely));
}
