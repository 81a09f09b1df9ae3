//! Causes and cures: what can hold a stream up, how one knows it, what to change, at what price.
//!
//! Data without I/O, the same for the doctor, the ground-truth matrix and the page. A cause is a
//! mechanism; which software it is in, is known from a configuration or only suspected from a
//! header. [`table`] holds the causes, [`cures`] what cures them, [`naming`] goes from facts to a
//! cause, [`suspects`] says what response headers say of the hops.

pub mod cures;
pub mod naming;
pub mod suspects;
pub mod table;

use serde::{Deserialize, Serialize};

pub use table::CAUSES;

/// A cause's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseId {
    /// Chunks leave with `MSG_MORE` and wait for a full segment or the kernel's 200 ms.
    ChunksCorked,
    /// A hop passes a close-delimited answer on in whole buffers.
    WholeBuffers,
    /// A hop's TLS layer gathers what it is given, because nothing asks it to send over HTTP/1.1.
    TlsGathers,
    /// A hop compresses into its own buffers and sends them when they are full.
    GzipIntoBuffers,
    /// A hop's compressor is not flushed after each event.
    CompressorWaits,
    /// The origin's own compressor is not flushed after each event.
    CompressedAtOrigin,
    /// The origin forbade buffering by a header, and the hop that takes this header buffers.
    HeaderIgnored,
    /// A hop waits for more bytes, in a way that fits no known software.
    HopBuffers,
    /// A hop passes each event on only when the next one comes.
    OneBehind,
    /// The origin sends several events at a time.
    OriginBatches,
    /// The content type is another one behind the hop.
    TypeRewritten,
    /// A hop ends the stream before its terminal event.
    CutOnTheWay,
    /// The origin ends the stream before its terminal event.
    CutAtOrigin,
    /// The reader does not take what has come.
    SlowReader,
    /// The browser hands several events at a time to its page.
    BatchedInBrowser,
    /// The page is busy with other work.
    PageBusy,
    /// The browser's connections to this origin are all taken.
    ConnectionLimit,
}

/// Who holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hop {
    /// What writes the stream.
    Origin,
    /// Something between origin and reader.
    Path,
    /// The browser.
    Browser,
    /// The page's own code.
    Page,
    /// Whoever reads.
    Reader,
}

impl Hop {
    /// The hop in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Hop::Origin => "the origin",
            Hop::Path => "a hop between origin and reader",
            Hop::Browser => "the browser",
            Hop::Page => "the page",
            Hop::Reader => "the reader",
        }
    }
}

/// A program that a cure is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Software {
    /// nginx, and what is built on it.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// Caddy.
    Caddy,
    /// Traefik.
    Traefik,
    /// Envoy.
    Envoy,
    /// Apache's mod_proxy_http.
    Apache,
    /// Varnish.
    Varnish,
    /// Node's `compression` middleware.
    NodeCompression,
    /// The program that writes the stream, whatever it is.
    Origin,
    /// The page's own code, in whatever browser.
    Page,
}

impl Software {
    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Software::Nginx => "nginx",
            Software::Haproxy => "HAProxy",
            Software::Caddy => "Caddy",
            Software::Traefik => "Traefik",
            Software::Envoy => "Envoy",
            Software::Apache => "Apache",
            Software::Varnish => "Varnish",
            Software::NodeCompression => "Node's compression",
            Software::Origin => "the origin's program",
            Software::Page => "the page",
        }
    }
}

/// Where a cure's claim comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Measured by this program or for it, on the versions named.
    Measured,
    /// The software's documentation says so; not measured here.
    Documented,
}

/// What cures a cause in one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cure {
    /// The program.
    pub software: Software,
    /// Versions it applies to; those it was measured on, when the basis is measured.
    pub versions: &'static str,
    /// Where the lines belong.
    pub place: &'static str,
    /// The lines to add or to change to.
    pub lines: &'static str,
    /// What else they change.
    pub price: &'static str,
    /// Where the claim comes from.
    pub basis: Basis,
    /// Endpoints of this program's own that show it: the one that holds and the one that is cured.
    pub shown_by: &'static [(&'static str, &'static str)],
    /// What to look at when the lines are there and change nothing; empty when nothing is known.
    pub without_effect: &'static str,
}

/// A cause, with all that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Its identity.
    pub id: CauseId,
    /// Its slug, as in documents and addresses.
    pub slug: &'static str,
    /// One line.
    pub name: &'static str,
    /// Who holds.
    pub hop: Hop,
    /// What the stream looks like.
    pub signature: &'static str,
    /// What must have been seen before it may be named.
    pub evidence: &'static str,
    /// What cures it, the most specific first.
    pub cures: &'static [Cure],
}

impl CauseId {
    /// All that is known of it.
    pub fn cause(self) -> &'static Cause {
        CAUSES
            .iter()
            .find(|cause| cause.id == self)
            .expect("every identity has its line in the table; a test sees to it")
    }

    /// Its slug.
    pub fn slug(self) -> &'static str {
        self.cause().slug
    }
}

impl Cause {
    /// The cures for one program.
    pub fn cures_for(&self, software: Software) -> impl Iterator<Item = &'static Cure> {
        self.cures.iter().filter(move |cure| cure.software == software)
    }

    /// The endpoint that shows the cure of one that holds.
    pub fn cured_endpoint(&self, held: &str) -> Option<&'static str> {
        let pairs = self.cures.iter().flat_map(|cure| cure.shown_by);
        pairs.into_iter().find(|(holding, _)| *holding == held).map(|(_, cured)| *cured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [CauseId; 17] = [
        CauseId::ChunksCorked,
        CauseId::WholeBuffers,
        CauseId::TlsGathers,
        CauseId::GzipIntoBuffers,
        CauseId::CompressorWaits,
        CauseId::CompressedAtOrigin,
        CauseId::HeaderIgnored,
        CauseId::HopBuffers,
        CauseId::OneBehind,
        CauseId::OriginBatches,
        CauseId::TypeRewritten,
        CauseId::CutOnTheWay,
        CauseId::CutAtOrigin,
        CauseId::SlowReader,
        CauseId::BatchedInBrowser,
        CauseId::PageBusy,
        CauseId::ConnectionLimit,
    ];

    #[test]
    fn every_identity_has_one_line_whose_slug_is_its_name() {
        assert_eq!(CAUSES.len(), ALL.len());
        for id in ALL {
            let cause = id.cause();
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{}\"", cause.slug));
            assert!(!cause.cures.is_empty(), "{}: nothing to do", cause.slug);
            for text in [cause.name, cause.signature, cause.evidence] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text:?}", cause.slug);
            }
        }
    }

    #[test]
    fn every_cure_says_where_it_goes_and_what_it_costs() {
        for (cause, cure) in CAUSES.iter().flat_map(|c| c.cures.iter().map(move |cure| (c, cure))) {
            let slug = cause.slug;
            for text in [cure.versions, cure.place, cure.lines, cure.price] {
                assert!(!text.is_empty(), "{slug}: {cure:?}");
            }
            assert!(cure.shown_by.is_empty() || cure.basis == Basis::Measured, "{slug}");
        }
    }

    #[test]
    fn the_cure_of_an_endpoint_is_found() {
        let corked = CauseId::ChunksCorked.cause();
        assert_eq!(corked.cured_endpoint("haproxy"), Some("haproxy-no-delay"));
        assert_eq!(corked.cured_endpoint("caddy"), None);
        assert_eq!(
            corked.cures_for(Software::Haproxy).next().unwrap().lines,
            "option http-no-delay"
        );
    }
}
