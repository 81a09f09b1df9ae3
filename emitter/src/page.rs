//! Answers with the page's files: isolated, compressed where the browser takes it, and
//! revalidated by their content.

use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;

use crate::assets::{Assets, mime};

/// How many compressed files are kept: the page has five, and while somebody rebuilds it those
/// of the build before and after are asked for.
const KEPT: usize = 16;

/// The page's files, and what compressing them gave.
pub struct Pages {
    assets: Assets,
    /// By content, the oldest first.
    compressed: Mutex<VecDeque<(u64, Bytes)>>,
}

impl Pages {
    /// Files from there; nothing is compressed yet.
    pub fn new(assets: Assets) -> Pages {
        Pages { assets, compressed: Mutex::default() }
    }

    /// Compresses every file, so that the first visitor need not wait for it (a third of a second
    /// for the page's WebAssembly on a busy machine).
    pub fn compress_all(&self) {
        for name in self.assets.names() {
            if let Some(bytes) = self.assets.read(&name) {
                self.compressed(content_tag(&bytes), &bytes);
            }
        }
    }

    /// The answer for a path, without its leading slash; `None` for any that is not the page's.
    pub fn serve(&self, path: &str, asked: &HeaderMap) -> Option<Response> {
        let bytes = self.assets.read(path)?;
        let content = content_tag(&bytes);
        let tag = format!("\"{content:016x}\"");
        let text = |name: header::HeaderName| {
            asked.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let known = text(header::IF_NONE_MATCH).split(',').any(|known| known.trim() == tag);
        let gzip = text(header::ACCEPT_ENCODING)
            .split(',')
            .any(|coding| coding.split(';').next().is_some_and(|name| name.trim() == "gzip"));
        let mut response = if known {
            StatusCode::NOT_MODIFIED.into_response()
        } else if gzip {
            Response::new(Body::from(self.compressed(content, &bytes)))
        } else {
            Response::new(Body::from(bytes))
        };
        let headers = response.headers_mut();
        for (name, value) in [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-embedder-policy", "require-corp"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            // Kept, but asked for again each time: the tag makes that one short round trip.
            ("cache-control", "no-cache"),
            ("vary", "accept-encoding"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(mime(path)));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        if gzip && !known {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Some(response)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(u64, Bytes)>> {
        self.compressed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compressed(&self, content: u64, bytes: &[u8]) -> Bytes {
        if let Some((_, kept)) = self.kept().iter().find(|(of, _)| *of == content) {
            return kept.clone();
        }
        // Without the lock: another file need not wait for this one.
        let compressed = Bytes::from(compress(bytes));
        let mut kept = self.kept();
        if kept.iter().all(|(of, _)| *of != content) {
            kept.push_back((content, compressed.clone()));
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
        compressed
    }
}

fn content_tag(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_compressed_once_and_a_changed_one_anew() {
        let pages = Pages::new(Assets::None);
        let first = pages.compressed(1, b"one");
        let again = pages.compressed(1, b"one");
        assert_eq!(first.as_ptr(), again.as_ptr(), "the same bytes, not compressed again");
        assert_ne!(pages.compressed(2, b"two"), first);
    }

    #[test]
    fn only_so_many_are_kept() {
        let pages = Pages::new(Assets::None);
        for content in 0..2 * KEPT as u64 {
            pages.compressed(content, &content.to_le_bytes());
        }
        assert_eq!(pages.kept().len(), KEPT);
        assert_eq!(pages.kept().front().map(|(of, _)| *of), Some(KEPT as u64));
    }

    #[test]
    fn the_whole_page_can_be_compressed_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("pkg/snippets")).unwrap();
        for name in ["index.html", "pkg/a.js", "pkg/snippets/b.js", "not-the-pages"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let pages = Pages::new(Assets::Folder(folder.path().into()));
        pages.compress_all();
        assert_eq!(pages.kept().len(), 3);
    }
}
