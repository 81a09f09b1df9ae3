//! Content decoding as the bytes come, so that frames can still be joined to the socket reads
//! that made them readable.

use std::io::{self, Write as _};

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

enum Kind {
    Identity,
    Gzip(Box<flate2::write::MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<flate2::write::ZlibDecoder<Vec<u8>>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<Vec<u8>>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Vec<u8>>>),
}

/// Decodes one body.
pub struct Decoder {
    kind: Kind,
    decoded: u64,
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
            // 4 KiB of output at a time: what is decoded is handed on at once anyway.
            "br" => Kind::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(
                Vec::new(),
                4096,
            ))),
            "zstd" => Kind::Zstd(Box::new(
                zstd::stream::write::Decoder::new(Vec::new())
                    .map_err(|error| DecodeError::Corrupt("zstd", error))?,
            )),
            _ => return Err(DecodeError::Unknown(name.chars().take(40).collect())),
        };
        Ok(Decoder { kind, decoded: 0 })
    }

    /// Whether bytes pass through unchanged.
    pub fn is_identity(&self) -> bool {
        matches!(self.kind, Kind::Identity)
    }

    /// Feeds encoded bytes and hands on everything that can be read by now.
    ///
    /// # Errors
    /// When the bytes are not of the encoding, or decode to too many.
    pub fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) -> Result<(), DecodeError> {
        // A small step at a time: a bomb's output is bounded before it is held in memory.
        const STEP: usize = 1024;
        if self.is_identity() {
            self.count(bytes.len())?;
            out(bytes);
            return Ok(());
        }
        for step in bytes.chunks(STEP) {
            let mut ready = match &mut self.kind {
                Kind::Identity => Vec::new(),
                Kind::Gzip(decoder) => {
                    decoder
                        .write_all(step)
                        .and_then(|()| decoder.flush())
                        .map_err(|error| DecodeError::Corrupt("gzip", error))?;
                    std::mem::take(decoder.get_mut())
                }
                Kind::Deflate(decoder) => {
                    decoder
                        .write_all(step)
                        .and_then(|()| decoder.flush())
                        .map_err(|error| DecodeError::Corrupt("deflate", error))?;
                    std::mem::take(decoder.get_mut())
                }
                Kind::Brotli(decoder) => {
                    decoder.write_all(step).map_err(|error| DecodeError::Corrupt("br", error))?;
                    std::mem::take(decoder.get_mut())
                }
                Kind::Zstd(decoder) => {
                    decoder
                        .write_all(step)
                        .and_then(|()| decoder.flush())
                        .map_err(|error| DecodeError::Corrupt("zstd", error))?;
                    std::mem::take(decoder.get_mut())
                }
            };
            self.count(ready.len())?;
            if !ready.is_empty() {
                out(&ready);
                ready.clear();
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.decoded += bytes as u64;
        if self.decoded > MAX_DECODED_BYTES {
            return Err(DecodeError::TooLong);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..1_100 {
            coder.write_all(&zeros).unwrap();
        }
        let bomb = coder.finish().unwrap();
        let mut decoder = Decoder::new(Some("gzip")).unwrap();
        let mut largest = 0;
        let error = decoder.feed(&bomb, |bytes| largest = largest.max(bytes.len())).unwrap_err();
        assert!(matches!(error, DecodeError::TooLong), "{error}");
        assert!(largest < 4 << 20, "at most {largest} bytes were held at once");
    }
}
