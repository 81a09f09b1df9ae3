//! A request's path as nginx compares it: decoded, slashes merged, dot segments gone
//! (`ngx_http_parse_complex_uri`).

/// Why a path is no path to nginx: it answers 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// It does not start with a slash.
    #[error("a path starts with `/`")]
    NoSlash,
    /// It holds a space or a control character.
    #[error("it holds a space or a control character: write it as %20 and its like")]
    Raw,
    /// A `%` without two hexadecimal digits, or `%00`.
    #[error("it holds a `%` that nginx refuses")]
    Percent,
    /// More `..` than there are folders.
    #[error("its `..` lead above the root")]
    AboveRoot,
    /// It is longer than a request line may be.
    #[error("it is longer than nginx reads")]
    TooLong,
}

/// Bytes at most: nginx's largest default buffer for a request line.
const MOST: usize = 8 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Usual,
    Slash,
    Dot,
    DotDot,
}

/// The path as locations see it, without the query.
///
/// # Errors
/// What nginx answers with 400.
pub fn normalize(path: &str, merge_slashes: bool) -> Result<Vec<u8>, BadPath> {
    let bytes = path.as_bytes();
    if bytes.len() > MOST {
        return Err(BadPath::TooLong);
    }
    if bytes.first() != Some(&b'/') {
        return Err(BadPath::NoSlash);
    }
    if bytes.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return Err(BadPath::Raw);
    }
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut state = State::Usual;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let byte = match byte {
            b'?' | b'#' => break,
            b'%' => {
                let decoded = hex(bytes.get(at), bytes.get(at + 1)).ok_or(BadPath::Percent)?;
                at += 2;
                match decoded {
                    0 => return Err(BadPath::Percent),
                    // These three lose their meaning when they are encoded.
                    b'%' | b'#' | b'?' => {
                        out.push(decoded);
                        state = State::Usual;
                        continue;
                    }
                    decoded => decoded,
                }
            }
            byte => *byte,
        };
        match (state, byte) {
            (State::Usual, b'/') => {
                out.push(byte);
                state = State::Slash;
            }
            (State::Slash, b'/') if merge_slashes => {}
            (State::Slash, b'/') => out.push(byte),
            (State::Slash, b'.') => {
                out.push(byte);
                state = State::Dot;
            }
            (State::Dot, b'/') => {
                out.pop();
                state = State::Slash;
            }
            (State::Dot, b'.') => {
                out.push(byte);
                state = State::DotDot;
            }
            (State::DotDot, b'/') => {
                up(&mut out)?;
                state = State::Slash;
            }
            _ => {
                out.push(byte);
                state = State::Usual;
            }
        }
    }
    match state {
        State::Dot => {
            out.pop();
        }
        State::DotDot => up(&mut out)?,
        State::Usual | State::Slash => {}
    }
    Ok(out)
}

/// Takes `/x/..` off the end, up to and without the slash before `x`.
fn up(out: &mut Vec<u8>) -> Result<(), BadPath> {
    // `/..` at the end: two dots and their slash go, then what stands before it.
    let before = out.len().checked_sub(4).ok_or(BadPath::AboveRoot)?;
    let slash = out[..=before].iter().rposition(|byte| *byte == b'/');
    out.truncate(slash.ok_or(BadPath::AboveRoot)? + 1);
    Ok(())
}

fn hex(high: Option<&u8>, low: Option<&u8>) -> Option<u8> {
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_nginxs() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("//a///b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/%61%2Fb", "/a/b"),
            ("/a%2F%2Fb", "/a/b"),
            ("/a%3Fb?c", "/a?b"),
            ("/a%2e/b", "/a./b"),
            ("/a/%2e%2e/b", "/b"),
            ("/a%25b", "/a%b"),
            ("/.a/..b", "/.a/..b"),
            ("/a#b", "/a"),
        ] {
            let seen = normalize(path, true).map(|uri| String::from_utf8(uri).unwrap());
            assert_eq!(seen.as_deref(), Ok(expected), "{path}");
        }
        assert_eq!(normalize("/a//b", false).unwrap(), b"/a//b");
        assert_eq!(normalize("/..", true), Err(BadPath::AboveRoot));
        assert_eq!(normalize("/a%0", true), Err(BadPath::Percent));
        assert_eq!(normalize("/%00", true), Err(BadPath::Percent));
        assert_eq!(normalize("a", true), Err(BadPath::NoSlash));
        assert_eq!(normalize("/a b", true), Err(BadPath::Raw));
    }
}
