//! Each cause by the facts that lead to it; each missing fact asked for when it can be had.

use super::*;
use Verdict as V;

const TIMED: Side = Side::Timed { whole: true };

fn all(_: Missing) -> bool {
    true
}

fn none(_: Missing) -> bool {
    false
}

fn certain(cause: CauseId) -> Answer {
    named(cause, Sure::Certain)
}

fn likely(cause: CauseId) -> Answer {
    named(cause, Sure::Likely)
}

fn timed(shows: V) -> Facts {
    Facts { origin: TIMED, uncompressed: Some(shows), ..Facts::of(shows) }
}

fn beside(shows: V, compressed: bool) -> Side {
    Side::Beside { shows, compressed }
}

#[test]
fn a_live_stream_is_clean_and_an_unjudged_one_is_nobodys() {
    assert_eq!(name(&Facts::of(V::Live), &all), Answer::Clean);
    for shows in [V::Failed, V::Void, V::NoToken] {
        assert_eq!(name(&Facts::of(shows), &all), Answer::CannotTell(NOT_A_STREAM));
    }
}

#[test]
fn corked_asks_for_an_answer_without_chunks() {
    let facts = timed(V::Corked);
    assert_eq!(name(&facts, &all), Answer::Open(Missing::Unchunked));
    assert_eq!(name(&facts, &none), likely(CauseId::ChunksCorked));
    let with = |unchunked| Facts { unchunked: Some(unchunked), ..facts.clone() };
    assert_eq!(name(&with(V::Live), &all), certain(CauseId::ChunksCorked));
    assert_eq!(name(&with(V::Corked), &all), likely(CauseId::HopBuffers));
    let alone = Facts { origin: Side::Unknown, ..with(V::Live) };
    assert_eq!(name(&alone, &none), somewhere(CauseId::ChunksCorked));
}

#[test]
fn whole_buffers_need_an_answer_without_chunks_and_a_header_that_helps() {
    for shows in [V::Held, V::BufferBursts] {
        let facts = Facts { close_delimited: Some(true), ..timed(shows) };
        assert_eq!(name(&facts, &all), Answer::Open(Missing::WithHeader));
        let with = |shows, header| Facts { with_header: Some((shows, header)), ..facts.clone() };
        let cured = with(V::Live, Header::Taken);
        assert_eq!(name(&cured, &all), certain(CauseId::WholeBuffers));
        let ignored = with(V::Held, Header::Taken);
        assert_eq!(name(&ignored, &all), likely(CauseId::WholeBuffers));
        let unknown = with(V::Held, Header::Passed);
        assert_eq!(name(&unknown, &all), likely(CauseId::HopBuffers));
        let chunked = Facts { close_delimited: Some(false), ..cured };
        assert_eq!(name(&chunked, &all), likely(CauseId::WholeBuffers));
    }
}

#[test]
fn a_header_alone_suspects_and_does_not_convict() {
    let facts = Facts { origin: beside(V::Live, false), ..timed(V::Held) };
    assert_eq!(name(&facts, &none), likely(CauseId::HopBuffers));
    let nginx = Facts { suspect: Some(Software::Nginx), ..facts };
    assert_eq!(name(&nginx, &none), likely(CauseId::WholeBuffers));
}

#[test]
fn a_header_that_was_sent_and_not_honoured_is_told_from_one_that_is_missing() {
    let facts = Facts { header: Header::Taken, ..timed(V::Held) };
    assert_eq!(name(&facts, &all), certain(CauseId::HeaderIgnored));
    let passed = Facts { header: Header::Passed, ..facts };
    assert_eq!(name(&passed, &all), likely(CauseId::HopBuffers));
}

#[test]
fn compression_is_blamed_only_where_its_absence_cures() {
    let gzip = Facts { compressed: true, ..Facts::of(V::Held) };
    assert_eq!(name(&gzip, &all), Answer::Open(Missing::Uncompressed));
    let both = Facts { uncompressed: Some(V::Held), origin: TIMED, ..gzip.clone() };
    assert_eq!(name(&both, &none), likely(CauseId::HopBuffers), "held without it as well");
    let only = Facts { uncompressed: Some(V::Live), ..gzip };
    assert_eq!(name(&only, &all), Answer::Open(Missing::Beside));
    assert_eq!(name(&only, &none), somewhere(CauseId::CompressorWaits));
    let not = Facts { compressed: false, ..only.clone() };
    assert!(matches!(name(&not, &none), Answer::CannotTell(_)));

    let hop = Facts { origin: TIMED, ..only.clone() };
    assert_eq!(name(&hop, &all), Answer::Open(Missing::WithHeader));
    let with = |shows, header| Facts { with_header: Some((shows, header)), ..hop.clone() };
    assert_eq!(name(&with(V::Live, Header::Taken), &all), certain(CauseId::GzipIntoBuffers));
    assert_eq!(name(&with(V::Held, Header::Taken), &all), likely(CauseId::GzipIntoBuffers));
    assert_eq!(name(&with(V::Held, Header::Passed), &all), certain(CauseId::CompressorWaits));

    let origin = Facts { origin: beside(V::Held, true), ..only.clone() };
    assert_eq!(name(&origin, &all), certain(CauseId::CompressedAtOrigin));
    let behind = Facts { origin: beside(V::Live, true), ..only.clone() };
    assert_eq!(name(&behind, &all), likely(CauseId::HopBuffers));
    let nginx = Facts { suspect: Some(Software::Nginx), ..only };
    assert_eq!(name(&nginx, &none), somewhere(CauseId::GzipIntoBuffers));
}

#[test]
fn an_origin_that_batches_is_told_from_one_that_compresses() {
    assert_eq!(name(&timed(V::BatchedAtOrigin), &all), certain(CauseId::OriginBatches));
    let alike = Facts { origin: beside(V::CannotTell, false), ..timed(V::BatchedAtOrigin) };
    assert_eq!(name(&alike, &all), likely(CauseId::OriginBatches));
    let gzip = Facts { compressed: true, uncompressed: Some(V::Live), ..alike };
    assert_eq!(name(&gzip, &all), likely(CauseId::CompressedAtOrigin));
    let seen = Facts { origin: beside(V::Held, true), ..gzip };
    assert_eq!(name(&seen, &all), certain(CauseId::CompressedAtOrigin));
}

#[test]
fn a_cut_is_laid_at_the_door_where_it_happened() {
    let facts = Facts::of(V::Truncated);
    assert_eq!(name(&facts, &all), Answer::Open(Missing::Beside));
    assert_eq!(name(&facts, &none), Answer::CannotTell(WHICH_SIDE));
    for (origin, cause) in [
        (TIMED, CauseId::CutOnTheWay),
        (Side::Timed { whole: false }, CauseId::CutAtOrigin),
        (beside(V::Live, false), CauseId::CutOnTheWay),
        (beside(V::Truncated, false), CauseId::CutAtOrigin),
    ] {
        assert_eq!(name(&Facts { origin, ..facts.clone() }, &all), certain(cause));
    }
    let failed = Facts { origin: beside(V::Failed, false), ..facts };
    assert!(matches!(name(&failed, &all), Answer::CannotTell(_)));
}

#[test]
fn one_behind_must_be_so_at_two_paces() {
    let facts = timed(V::OneBehind);
    assert_eq!(name(&facts, &all), Answer::Open(Missing::OtherPace));
    assert_eq!(name(&facts, &none), likely(CauseId::OneBehind));
    let with = |other_pace| Facts { other_pace: Some(other_pace), ..facts.clone() };
    assert_eq!(name(&with(V::OneBehind), &all), certain(CauseId::OneBehind));
    assert!(matches!(name(&with(V::Live), &all), Answer::CannotTell(_)));
}

#[test]
fn what_fits_two_patterns_is_played_at_another_pace() {
    let facts = timed(V::CannotTell);
    assert_eq!(name(&facts, &all), Answer::Open(Missing::OtherPace));
    let corked = Facts { other_pace: Some(V::Corked), unchunked: Some(V::Live), ..facts.clone() };
    assert_eq!(name(&corked, &all), certain(CauseId::ChunksCorked));
    assert!(matches!(name(&facts, &none), Answer::CannotTell(_)));
    let alone = Facts::of(V::CannotTell);
    assert_eq!(name(&alone, &all), Answer::Open(Missing::Uncompressed));
}

#[test]
fn bursts_that_only_chunks_come_in_are_a_cork() {
    let facts = Facts {
        may_be_corked: true,
        uncompressed: Some(V::CannotTell),
        origin: beside(V::Live, false),
        ..Facts::of(V::CannotTell)
    };
    let only = |missing| missing == Missing::Unchunked;
    assert_eq!(name(&facts, &only), Answer::Open(Missing::Unchunked));
    let live = Facts { unchunked: Some(V::Live), ..facts.clone() };
    assert_eq!(name(&live, &none), likely(CauseId::ChunksCorked));
    let alone = Facts { origin: Side::Unknown, ..live.clone() };
    assert_eq!(name(&alone, &none), somewhere(CauseId::ChunksCorked));
    let both = Facts { origin: beside(V::CannotTell, false), ..live };
    assert!(matches!(name(&both, &none), Answer::CannotTell(_)));
    let same = Facts { unchunked: Some(V::CannotTell), ..facts };
    assert!(matches!(name(&same, &none), Answer::CannotTell(_)));
}

#[test]
fn without_origin_or_control_nobody_is_blamed() {
    for shows in [V::Held, V::BufferBursts, V::OneBehind, V::CannotTell, V::Truncated, V::Corked] {
        let facts = Facts { uncompressed: Some(shows), ..Facts::of(shows) };
        assert!(matches!(name(&facts, &none), Answer::CannotTell(_)), "{shows:?}");
    }
}

#[test]
fn what_a_verdict_says_by_itself_has_its_cause() {
    for (shows, cause) in [
        (V::TypeChanged, CauseId::TypeRewritten),
        (V::PageBusy, CauseId::PageBusy),
        (V::BatchedInBrowser, CauseId::BatchedInBrowser),
        (V::ConnectionLimit, CauseId::ConnectionLimit),
    ] {
        assert_eq!(name(&Facts::of(shows), &all), certain(cause));
    }
    // Whose window was used up, is not known.
    let stops = Named { cause: CauseId::SlowReader, sure: Sure::Likely, hop: None };
    assert_eq!(name(&Facts::of(V::FlowControl), &all), Answer::Named(stops));
}

#[test]
fn what_only_http1_over_tls_holds_is_the_tls_layers() {
    let over = |protocol, other| Facts {
        over_tls: Some(protocol),
        other_http: other,
        close_delimited: Some(false),
        ..timed(V::Held)
    };
    let asked = over(Protocol::Http11, None);
    assert_eq!(name(&asked, &all), Answer::Open(Missing::OtherHttp));
    let only = over(Protocol::Http11, Some(V::Live));
    assert_eq!(name(&only, &all), Answer::Open(Missing::WithHeader));
    let cured = Facts { with_header: Some((V::Live, Header::Taken)), ..only.clone() };
    assert_eq!(name(&cured, &all), certain(CauseId::TlsGathers));
    let passed = Facts { with_header: Some((V::Held, Header::Passed)), ..only.clone() };
    assert_eq!(name(&passed, &all), likely(CauseId::HopBuffers));
    // Held over both is what it is without TLS.
    let both = Facts {
        close_delimited: Some(true),
        with_header: Some((V::Live, Header::Taken)),
        ..over(Protocol::Http2, Some(V::Held))
    };
    assert_eq!(name(&both, &all), certain(CauseId::WholeBuffers));
    // Where nothing is known of the origin, only whoever ends TLS sees which HTTP is spoken.
    let foreign = Facts { origin: Side::Unknown, ..only };
    assert_eq!(name(&foreign, &none), somewhere(CauseId::HopBuffers));
    let nginx = Facts { suspect: Some(Software::Nginx), ..foreign };
    assert_eq!(name(&nginx, &none), likely(CauseId::TlsGathers));
}

#[test]
fn chunks_are_corked_over_http1_only() {
    let facts = Facts { over_tls: Some(Protocol::Http2), unchunked: None, ..timed(V::Corked) };
    let known = Facts { other_http: Some(V::Live), ..facts };
    assert_eq!(name(&known, &all), likely(CauseId::HopBuffers));
    let alone = Facts { over_tls: Some(Protocol::Http11), origin: Side::Unknown, ..known.clone() };
    assert_eq!(name(&alone, &none), somewhere(CauseId::ChunksCorked));
    let one = Facts { over_tls: Some(Protocol::Http11), unchunked: Some(V::Live), ..known };
    assert_eq!(name(&one, &all), certain(CauseId::ChunksCorked));
}
