//! TLS records by their headers: five bytes in the clear before each, of which two are its
//! length. Nothing behind a header is looked at.

/// Length of a record's header.
const HEADER: usize = 5;
/// Longest record that TLS allows (RFC 8446, 5.2: 2^14 + 256; RFC 5246 allowed 2^14 + 2048).
const MAX_RECORD: usize = (1 << 14) + 2_048;
/// Content types (RFC 8446, B.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION: u8 = 23;

/// What the headers of one direction show.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    header: Vec<u8>,
    /// Bytes of the present record still to come.
    left: usize,
    changed_cipher: bool,
    pub(crate) trouble: Option<Trouble>,
}

/// Why the sizes of a direction tell nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// What passed is no TLS.
    NoTls,
    /// An older TLS, whose records are longer than their content by what its cipher decides.
    Old,
}

impl Headers {
    /// Takes bytes; returns the lengths of the application records that they completed, headers
    /// left out.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u32> {
        let (mut rest, mut complete) = (bytes, Vec::new());
        while !rest.is_empty() && self.trouble != Some(Trouble::NoTls) {
            if self.header.len() < HEADER {
                let used = rest.len().min(HEADER - self.header.len());
                self.header.extend_from_slice(&rest[..used]);
                rest = &rest[used..];
                if self.header.len() == HEADER {
                    self.begin();
                }
            }
            let used = rest.len().min(self.left);
            self.left -= used;
            rest = &rest[used..];
            if self.header.len() == HEADER && self.left == 0 {
                if self.header[0] == APPLICATION {
                    complete.push(self.length() as u32);
                }
                self.header.clear();
            }
        }
        complete
    }

    fn length(&self) -> usize {
        usize::from(u16::from_be_bytes([self.header[3], self.header[4]]))
    }

    fn begin(&mut self) {
        let (kind, major) = (self.header[0], self.header[1]);
        self.left = self.length();
        if !(CHANGE_CIPHER_SPEC..=APPLICATION).contains(&kind)
            || major != 3
            || self.left == 0
            || self.left > MAX_RECORD
        {
            self.trouble = Some(Trouble::NoTls);
        } else if kind == HANDSHAKE && self.changed_cipher {
            // TLS 1.3 shows no handshake record after the change of cipher, older ones do.
            self.trouble = Some(Trouble::Old);
        }
        self.changed_cipher |= kind == CHANGE_CIPHER_SPEC;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, length: u16) -> Vec<u8> {
        let mut bytes = vec![kind, 3, 3];
        bytes.extend(length.to_be_bytes());
        bytes.resize(HEADER + usize::from(length), 0xff);
        bytes
    }

    #[test]
    fn records_are_told_apart_however_the_reads_cut_them() {
        let stream =
            [record(22, 90), record(20, 1), record(23, 500), record(23, 86), record(21, 2)]
                .concat();
        for step in [1, 4, 5, 7, 100, stream.len()] {
            let mut headers = Headers::default();
            let lengths: Vec<u32> =
                stream.chunks(step).flat_map(|part| headers.feed(part)).collect();
            assert_eq!((lengths, headers.trouble), (vec![500, 86], None), "step {step}");
        }
    }

    #[test]
    fn a_record_counts_for_the_read_that_brings_its_last_byte() {
        let stream = record(23, 86);
        let mut headers = Headers::default();
        assert!(headers.feed(&stream[..90]).is_empty());
        assert_eq!(headers.feed(&stream[90..]), [86]);
    }

    #[test]
    fn older_tls_and_what_is_none_are_told() {
        let mut headers = Headers::default();
        headers.feed(&[record(22, 90), record(20, 1), record(22, 40), record(23, 86)].concat());
        assert_eq!(headers.trouble, Some(Trouble::Old));
        let mut headers = Headers::default();
        assert!(headers.feed(b"HTTP/1.1 200 OK\r\n\r\n").is_empty());
        assert_eq!(headers.trouble, Some(Trouble::NoTls));
    }
}
