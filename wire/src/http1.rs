//! HTTP/1 response framing, incrementally: where the head ends, what is body, where it is whole.
//!
//! One piece of code for all who need it: the native reader, the tap (which passes bytes on
//! first and understands them afterwards), and the emitter, which follows its own writes.

/// Longest response head that is read: eight times what common servers send or accept.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most header fields.
pub const MAX_HEADERS: usize = 128;
/// Longest chunk-size line, extensions included.
const MAX_CHUNK_LINE: usize = 1024;

/// A response's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// Minor version of HTTP/1: 0 or 1. HTTP/2 has none, and a head that came by it says 0.
    pub minor: u8,
    /// Header fields in order, names as they came.
    pub headers: Vec<(String, String)>,
    /// Bytes of the head, blank line included.
    pub bytes: usize,
}

impl Head {
    /// The first value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// How the body's end is marked, for the answer to a GET or POST.
    fn body(&self) -> Body {
        if matches!(self.status, 204 | 304) {
            return Body::Length(0);
        }
        let coded = self.header("transfer-encoding").unwrap_or_default().to_ascii_lowercase();
        if coded.split(',').next_back().is_some_and(|last| last.trim() == "chunked") {
            return Body::Chunked(Chunk::Size(Vec::new()));
        }
        match self.header("content-length").map(|value| value.trim().parse()) {
            Some(Ok(length)) => Body::Length(length),
            _ => Body::Close,
        }
    }
}

/// Bytes that are no HTTP/1 response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// The head cannot be parsed.
    #[error("the answer is no HTTP/1 response: {0}")]
    BadHead(String),
    /// The head does not end.
    #[error("the response's head has no end within {MAX_HEAD_BYTES} bytes")]
    HeadTooLong,
    /// A chunk's size cannot be read.
    #[error("bad chunk size {0:?}")]
    BadChunk(String),
}

#[derive(Debug)]
enum Body {
    Chunked(Chunk),
    Length(u64),
    Close,
}

#[derive(Debug)]
enum Chunk {
    /// Reading a size line.
    Size(Vec<u8>),
    /// Inside a chunk, so many bytes to go.
    Data(u64),
    /// The line end after a chunk, so many bytes to go.
    DataEnd(u8),
    /// Trailer lines after the last chunk; the flag says whether the present line is empty.
    Trailer(bool),
}

#[derive(Debug)]
enum State {
    Head(Vec<u8>),
    Body(Body),
    Done,
    Failed(FramingError),
}

/// Follows the bytes of one response.
#[derive(Debug)]
pub struct ResponseFramer {
    state: State,
    head: Option<Head>,
}

impl Default for ResponseFramer {
    fn default() -> ResponseFramer {
        ResponseFramer::new()
    }
}

impl ResponseFramer {
    /// At the start of a response.
    pub fn new() -> ResponseFramer {
        ResponseFramer { state: State::Head(Vec::new()), head: None }
    }

    /// The head, once it is complete. Interim (1xx) responses are passed over.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the framing says that the body is whole.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether closing the connection now is a whole body.
    pub fn close_is_the_end(&self) -> bool {
        matches!(self.state, State::Body(Body::Close) | State::Done)
    }

    /// Feeds bytes; gives the body's parts to `body` in order and returns how many bytes belong
    /// to this response (less than all when another one follows).
    ///
    /// # Errors
    /// When the bytes are no HTTP/1 response; every later call says the same.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut body: impl FnMut(&[u8]),
    ) -> Result<usize, FramingError> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match &mut self.state {
                State::Done => break,
                State::Failed(error) => return Err(error.clone()),
                State::Head(buffer) => match read_head(buffer, rest) {
                    Ok((used, None)) => used,
                    Ok((used, Some(head))) => {
                        self.state = if (100..200).contains(&head.status) {
                            State::Head(Vec::new())
                        } else {
                            let body = head.body();
                            self.head = Some(head);
                            match body {
                                Body::Length(0) => State::Done,
                                body => State::Body(body),
                            }
                        };
                        used
                    }
                    Err(error) => return self.fail(error),
                },
                State::Body(Body::Close) => {
                    body(rest);
                    rest.len()
                }
                State::Body(Body::Length(left)) => {
                    let take = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    body(&rest[..take]);
                    *left -= take as u64;
                    if *left == 0 {
                        self.state = State::Done;
                    }
                    take
                }
                State::Body(Body::Chunked(chunk)) => match read_chunk(chunk, rest, &mut body) {
                    Ok((used, done)) => {
                        if done {
                            self.state = State::Done;
                        }
                        used
                    }
                    Err(error) => return self.fail(error),
                },
            };
        }
        Ok(at)
    }

    fn fail(&mut self, error: FramingError) -> Result<usize, FramingError> {
        self.state = State::Failed(error.clone());
        Err(error)
    }
}

/// Adds bytes to the head; returns how many were used and the head when it is complete.
fn read_head(buffer: &mut Vec<u8>, rest: &[u8]) -> Result<(usize, Option<Head>), FramingError> {
    let before = buffer.len();
    // The blank line may begin in bytes that came earlier.
    let search_from = before.saturating_sub(3);
    buffer.extend_from_slice(&rest[..rest.len().min(MAX_HEAD_BYTES + 4)]);
    let end = buffer[search_from..]
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|position| search_from + position + 4);
    let Some(end) = end else {
        if buffer.len() > MAX_HEAD_BYTES {
            return Err(FramingError::HeadTooLong);
        }
        if !b"HTTP/1.".starts_with(&buffer[..buffer.len().min(7)]) {
            return Err(bad_head(buffer, "it does not begin with HTTP/1"));
        }
        return Ok((buffer.len() - before, None));
    };
    if end > MAX_HEAD_BYTES {
        return Err(FramingError::HeadTooLong);
    }
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut fields);
    match response.parse(&buffer[..end]) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(bad_head(buffer, "it is incomplete")),
        Err(error) => return Err(bad_head(buffer, &error.to_string())),
    }
    let head = Head {
        status: response.code.unwrap_or_default(),
        minor: response.version.unwrap_or_default(),
        headers: response
            .headers
            .iter()
            .map(|field| (field.name.into(), String::from_utf8_lossy(field.value).into_owned()))
            .collect(),
        bytes: end,
    };
    Ok((end - before, Some(head)))
}

fn bad_head(buffer: &[u8], why: &str) -> FramingError {
    let start: String =
        String::from_utf8_lossy(&buffer[..buffer.len().min(24)]).escape_debug().collect();
    FramingError::BadHead(format!("{why} (it begins \"{start}\")"))
}

/// Follows chunks; returns how many bytes were used and whether the body is whole.
fn read_chunk(
    chunk: &mut Chunk,
    rest: &[u8],
    body: &mut impl FnMut(&[u8]),
) -> Result<(usize, bool), FramingError> {
    match chunk {
        Chunk::Size(line) => {
            let newline = rest.iter().position(|byte| *byte == b'\n');
            let used = newline.map_or(rest.len(), |position| position + 1);
            line.extend_from_slice(&rest[..used.min(MAX_CHUNK_LINE + 1)]);
            if line.len() > MAX_CHUNK_LINE {
                return Err(bad_chunk(line));
            }
            if newline.is_some() {
                let size = chunk_size(line)?;
                *chunk = if size == 0 { Chunk::Trailer(true) } else { Chunk::Data(size) };
            }
            Ok((used, false))
        }
        Chunk::Data(left) => {
            let take = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            body(&rest[..take]);
            *left -= take as u64;
            if *left == 0 {
                *chunk = Chunk::DataEnd(2);
            }
            Ok((take, false))
        }
        Chunk::DataEnd(left) => {
            let expected = if *left == 2 { b'\r' } else { b'\n' };
            if rest[0] != expected {
                return Err(bad_chunk(&rest[..rest.len().min(8)]));
            }
            *left -= 1;
            if *left == 0 {
                *chunk = Chunk::Size(Vec::new());
            }
            Ok((1, false))
        }
        Chunk::Trailer(empty) => match rest[0] {
            b'\n' if *empty => Ok((1, true)),
            b'\n' => {
                *empty = true;
                Ok((1, false))
            }
            b'\r' => Ok((1, false)),
            _ => {
                *empty = false;
                Ok((1, false))
            }
        },
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, FramingError> {
    let text = std::str::from_utf8(line).map_err(|_| bad_chunk(line))?;
    let digits = text.split(';').next().unwrap_or_default().trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad_chunk(line));
    }
    u64::from_str_radix(digits, 16).map_err(|_| bad_chunk(line))
}

fn bad_chunk(line: &[u8]) -> FramingError {
    let shown = String::from_utf8_lossy(&line[..line.len().min(24)]);
    FramingError::BadChunk(shown.trim_end().to_string())
}

#[cfg(test)]
#[path = "http1_tests.rs"]
mod tests;
