//! Content decoding as the bytes come, so that frames can still be joined to the socket reads
//! that made them readable.

use std::io;

use brotli_decompressor::{BrotliResult, StandardAlloc};
use zstd::stream::raw::{DParameter, Operation as _};

/// Most bytes that one answer may decode to. Sixteen times the largest script the emitter
/// plays; a compression bomb ends here with a name.
pub const MAX_DECODED_BYTES: u64 = 1 << 30;

/// A body that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// An encoding that nobody asked for.
    #[error("content encoding {0:?} is not one of identity, gzip, deflate, br, zstd")]
    Unknown(String),
    /// The bytes are not of that encoding.
    #[error("the body is not valid {0}: {1}")]
    Corrupt(&'static str, io::Error),
    /// Too many.
    #[error("the body decodes to more than {MAX_DECODED_BYTES} bytes")]
    TooLong,
}

/// Largest window that a zstd body may ask for, as a power of two: 8 MiB, what RFC 9659 allows
/// and Chromium sets.
const ZSTD_WINDOW_LOG: u32 = 23;

/// Encoded bytes that are given to inflate at once: it makes at most 1032 times as many of them,
/// so a bomb's output is bounded before it is held in memory.
const STEP: usize = 1024;

/// Decoded bytes that the other decoders hand out at once: they have no such bound (a few bytes
/// of Brotli make 16 MiB), so it is the room for their output that bounds them.
const ROOM: usize = 64 << 10;

type BrotliState = brotli_decompressor::BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

enum Kind {
    Identity,
    Gzip(Box<flate2::write::MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<flate2::write::ZlibDecoder<Vec<u8>>>),
    Brotli(Box<BrotliState>),
    Zstd(zstd::stream::raw::Decoder<'static>),
}

/// Decodes one body.
pub struct Decoder {
    kind: Kind,
    decoded: u64,
    room: Vec<u8>,
}

impl Decoder {
    /// A decoder for the response's `Content-Encoding`; absent means identity.
    ///
    /// # Errors
    /// When the encoding is unknown.
    pub fn new(encoding: Option<&str>) -> Result<Decoder, DecodeError> {
        let name = encoding.unwrap_or("identity").trim().to_ascii_lowercase();
        let kind = match name.as_str() {
            "" | "identity" => Kind::Identity,
            "gzip" | "x-gzip" => {
                Kind::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Vec::new())))
            }
            "deflate" => Kind::Deflate(Box::new(flate2::write::ZlibDecoder::new(Vec::new()))),
            "br" => {
                let alloc = StandardAlloc::default;
                Kind::Brotli(Box::new(BrotliState::new_strict(alloc(), alloc(), alloc())))
            }
            "zstd" => Kind::Zstd(zstd_decoder().map_err(|e| DecodeError::Corrupt("zstd", e))?),
            _ => return Err(DecodeError::Unknown(name.chars().take(40).collect())),
        };
        let room = match kind {
            Kind::Brotli(_) | Kind::Zstd(_) => vec![0; ROOM],
            _ => Vec::new(),
        };
        Ok(Decoder { kind, decoded: 0, room })
    }

    /// Whether bytes pass through unchanged.
    pub fn is_identity(&self) -> bool {
        matches!(self.kind, Kind::Identity)
    }

    /// Feeds encoded bytes and hands on everything that can be read by now, in parts of bounded
    /// size however much that is.
    ///
    /// # Errors
    /// When the bytes are not of the encoding, or decode to too many.
    pub fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) -> Result<(), DecodeError> {
        let decoded = &mut self.decoded;
        let mut give = |ready: &[u8]| {
            *decoded += ready.len() as u64;
            if *decoded > MAX_DECODED_BYTES {
                return Err(DecodeError::TooLong);
            }
            if !ready.is_empty() {
                out(ready);
            }
            Ok(())
        };
        match &mut self.kind {
            Kind::Identity => give(bytes),
            Kind::Gzip(decoder) => bytes.chunks(STEP).try_for_each(|step| {
                inflate(&mut **decoder, step, "gzip")?;
                give(decoder.get_ref())?;
                decoder.get_mut().clear();
                Ok(())
            }),
            Kind::Deflate(decoder) => bytes.chunks(STEP).try_for_each(|step| {
                inflate(&mut **decoder, step, "deflate")?;
                give(decoder.get_ref())?;
                decoder.get_mut().clear();
                Ok(())
            }),
            Kind::Brotli(state) => brotli(state, bytes, &mut self.room, give),
            Kind::Zstd(decoder) => zstandard(decoder, bytes, &mut self.room, give),
        }
    }
}

fn zstd_decoder() -> io::Result<zstd::stream::raw::Decoder<'static>> {
    let mut decoder = zstd::stream::raw::Decoder::new()?;
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
    Ok(decoder)
}

/// One step, and everything flushed that can be read by now.
fn inflate(
    decoder: &mut impl io::Write,
    step: &[u8],
    name: &'static str,
) -> Result<(), DecodeError> {
    decoder
        .write_all(step)
        .and_then(|()| decoder.flush())
        .map_err(|error| DecodeError::Corrupt(name, error))
}

fn brotli(
    state: &mut BrotliState,
    bytes: &[u8],
    room: &mut [u8],
    mut give: impl FnMut(&[u8]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let (mut left, mut at, mut total) = (bytes.len(), 0, 0);
    loop {
        let (mut free, mut made) = (room.len(), 0);
        let result = brotli_decompressor::BrotliDecompressStream(
            &mut left, &mut at, bytes, &mut free, &mut made, room, &mut total, state,
        );
        give(&room[..made])?;
        match result {
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Ok(()),
            // What comes after the end is nobody's, as in browsers.
            BrotliResult::ResultSuccess => return Ok(()),
            BrotliResult::ResultFailure => {
                let error = io::Error::new(io::ErrorKind::InvalidData, "broken stream");
                return Err(DecodeError::Corrupt("br", error));
            }
        }
    }
}

fn zstandard(
    decoder: &mut zstd::stream::raw::Decoder<'static>,
    bytes: &[u8],
    room: &mut [u8],
    mut give: impl FnMut(&[u8]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut at = 0;
    loop {
        let status = decoder
            .run_on_buffers(&bytes[at..], room)
            .map_err(|error| DecodeError::Corrupt("zstd", error))?;
        at += status.bytes_read;
        give(&room[..status.bytes_written])?;
        // A room that was filled may have left something inside.
        if at == bytes.len() && status.bytes_written < room.len() {
            return Ok(());
        }
        if status.bytes_read == 0 && status.bytes_written == 0 {
            let error = io::Error::new(io::ErrorKind::InvalidData, "it does not go on");
            return Err(DecodeError::Corrupt("zstd", error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const PARTS: [&[u8]; 3] = [b"data: one\n\n", b"data: two\n\n", b"data: three\n\n"];

    /// Each part flushed by itself, as a compressor that streams does.
    fn flushed(encoding: &str) -> Vec<Vec<u8>> {
        let mut at = 0;
        let mut cuts = Vec::new();
        let mut cut = |all: &[u8]| {
            cuts.push(all[at..].to_vec());
            at = all.len();
        };
        match encoding {
            "gzip" => {
                let mut coder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                for part in PARTS {
                    coder.write_all(part).unwrap();
                    coder.flush().unwrap();
                    cut(coder.get_ref());
                }
                cut(&coder.finish().unwrap());
            }
            "deflate" => {
                let mut coder = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
                for part in PARTS {
                    coder.write_all(part).unwrap();
                    coder.flush().unwrap();
                    cut(coder.get_ref());
                }
                cut(&coder.finish().unwrap());
            }
            "zstd" => {
                let mut coder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
                for part in PARTS {
                    coder.write_all(part).unwrap();
                    coder.flush().unwrap();
                    cut(coder.get_ref());
                }
                cut(&coder.finish().unwrap());
            }
            "br" => {
                let mut coder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
                for part in PARTS {
                    coder.write_all(part).unwrap();
                    coder.flush().unwrap();
                    cut(coder.get_ref());
                }
                let all = coder.into_inner();
                cut(&all);
            }
            _ => unreachable!(),
        }
        cuts
    }

    #[test]
    fn what_was_flushed_can_be_read_at_once_in_every_encoding() {
        for encoding in ["gzip", "deflate", "br", "zstd"] {
            let mut decoder = Decoder::new(Some(encoding)).unwrap();
            let cuts = flushed(encoding);
            for (index, part) in PARTS.iter().enumerate() {
                let mut got = Vec::new();
                decoder.feed(&cuts[index], |bytes| got.extend_from_slice(bytes)).unwrap();
                assert_eq!(&got, part, "{encoding}, part {index}");
            }
            decoder.feed(&cuts[3], |bytes| assert!(bytes.is_empty())).unwrap();
        }
    }

    #[test]
    fn any_cut_gives_the_same_bytes() {
        for encoding in ["gzip", "deflate", "br", "zstd"] {
            let all = flushed(encoding).concat();
            for step in [1, 2, 7] {
                let mut decoder = Decoder::new(Some(encoding)).unwrap();
                let mut got = Vec::new();
                for part in all.chunks(step) {
                    decoder.feed(part, |bytes| got.extend_from_slice(bytes)).unwrap();
                }
                assert_eq!(got, PARTS.concat(), "{encoding} in steps of {step}");
            }
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_named() {
        let error = Decoder::new(Some("rot13")).err().unwrap();
        assert!(error.to_string().starts_with("content encoding \"rot13\""), "{error}");
        let mut decoder = Decoder::new(Some("gzip")).unwrap();
        let error = decoder.feed(b"this is not gzip at all", |_| ()).unwrap_err();
        assert!(error.to_string().starts_with("the body is not valid gzip"), "{error}");
    }

    fn bomb(encoding: &str, mib: usize) -> Vec<u8> {
        let zeros = vec![0; 1 << 20];
        let fill = |coder: &mut dyn io::Write| {
            (0..mib).for_each(|_| coder.write_all(&zeros).unwrap());
        };
        match encoding {
            "gzip" => {
                let fast = flate2::Compression::fast();
                let mut coder = flate2::write::GzEncoder::new(Vec::new(), fast);
                fill(&mut coder);
                coder.finish().unwrap()
            }
            "zstd" => {
                let mut coder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
                fill(&mut coder);
                coder.finish().unwrap()
            }
            _ => {
                let mut coder = brotli::CompressorWriter::new(Vec::new(), 4096, 2, 22);
                fill(&mut coder);
                coder.into_inner()
            }
        }
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let bomb = bomb("gzip", 1_100);
        let error = Decoder::new(Some("gzip")).unwrap().feed(&bomb, |_| ()).unwrap_err();
        assert!(matches!(error, DecodeError::TooLong), "{error}");
    }

    #[test]
    fn a_bomb_is_never_held_whole() {
        for encoding in ["gzip", "br", "zstd"] {
            let bomb = bomb(encoding, 64);
            let mut decoder = Decoder::new(Some(encoding)).unwrap();
            let (mut largest, mut whole) = (0, 0);
            let count = |bytes: &[u8]| {
                largest = largest.max(bytes.len());
                whole += bytes.len();
            };
            decoder.feed(&bomb, count).unwrap();
            assert_eq!(whole, 64 << 20);
            assert!(largest <= 2 << 20, "{encoding}: {largest} bytes were held at once");
        }
    }

    #[test]
    fn a_window_larger_than_browsers_give_is_refused() {
        let mut coder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        coder.window_log(ZSTD_WINDOW_LOG + 1).unwrap();
        coder.write_all(b"data: x\n\n").unwrap();
        coder.flush().unwrap();
        let bytes = coder.finish().unwrap();
        let error = Decoder::new(Some("zstd")).unwrap().feed(&bytes, |_| ()).unwrap_err();
        assert!(error.to_string().starts_with("the body is not valid zstd: "), "{error}");
    }
}
