//! Patterns of included files, as glob(3) takes them: `*` and `?` stop at a slash and leave
//! hidden files alone.

/// Whether an include names many files: the characters that nginx itself looks for.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Whether a name fits a pattern.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let name: Vec<&str> = name.split('/').collect();
    pattern.len() == name.len()
        && pattern.iter().zip(&name).all(|(pattern, name)| {
            (!name.starts_with('.') || pattern.starts_with('.'))
                && part(pattern.as_bytes(), name.as_bytes())
        })
}

fn part(pattern: &[u8], name: &[u8]) -> bool {
    // The classic walk with one point to return to: no recursion, no more than the product.
    let (mut p, mut n) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some(b'*') => {
                back = Some((p, n));
                p += 1;
                continue;
            }
            Some(b'?') if n < name.len() => Some(1),
            Some(b'[') if n < name.len() => set(&pattern[p..], name[n]),
            Some(byte) if name.get(n) == Some(byte) => Some(1),
            None if n == name.len() => return true,
            _ => None,
        };
        match (step, &mut back) {
            (Some(length), _) => {
                p += length;
                n += 1;
            }
            (None, Some((star, from))) if *from < name.len() => {
                *from += 1;
                p = *star + 1;
                n = *from;
            }
            _ => return false,
        }
    }
}

/// The length of the set at the pattern's start if the byte is in it.
fn set(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = if negated { 2 } else { 1 };
    let end = (first + 1..pattern.len()).find(|index| pattern[*index] == b']')?;
    let members = &pattern[first..end];
    let mut found = false;
    let mut at = 0;
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == b'-' {
            found |= (members[at]..=members[at + 2]).contains(&byte);
            at += 3;
        } else {
            found |= members[at] == byte;
            at += 1;
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_as_the_shell_does() {
        for (pattern, name, expected) in [
            ("/etc/nginx/conf.d/*.conf", "/etc/nginx/conf.d/a.conf", true),
            ("/etc/nginx/conf.d/*.conf", "/etc/nginx/conf.d/x/a.conf", false),
            ("/etc/nginx/conf.d/*.conf", "/etc/nginx/conf.d/.a.conf", false),
            ("/e/[0-9]?-*.c", "/e/1x-.c", true),
            ("/e/[!0-9]*", "/e/1x", false),
            ("/e/*a*b", "/e/xaxxb", true),
            ("/e/*a*b", "/e/xaxxbc", false),
            ("/e/*", "/e/", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
