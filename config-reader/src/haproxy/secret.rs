//! Masks what must not be repeated of a haproxy.cfg.

use super::parse::{Line, Tree};
use crate::secret::{MASK, is_secret_name, text};

/// Words whose next word is secret or says where a secret lies.
const BEFORE: &[&str] = &[
    "auth",
    "ca-file",
    "ca-sign-file",
    "crt",
    "crt-list",
    "dynamic-cookie-key",
    "insecure-password",
    "jwt_verify",
    "key",
    "password",
];

/// Which words of a line are masked.
fn secret(words: &[String]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut named = false;
    for (index, word) in words.iter().enumerate() {
        if matches!(word.as_str(), "if" | "unless") {
            named = false;
        } else if named || index > 0 && BEFORE.contains(&words[index - 1].as_str()) {
            // What is computed is shown; what is written is not.
            if !word.starts_with("%[")
                && !word.starts_with('-')
                && !matches!(word.as_str(), "{" | "}")
            {
                found.push(index);
            }
        }
        let sets = index > 0
            && matches!(
                words[index - 1].as_str(),
                "set-header" | "add-header" | "replace-header" | "hdr" | "setenv" | "presetenv"
            );
        // A value that goes into a variable with such a name.
        let sets = sets || word.starts_with("set-var");
        named |=
            (sets || word.contains("hdr(") || word.contains("cook(") || word.contains("param("))
                && (is_secret_name(word) || word.ends_with("key)"));
    }
    found
}

/// A line's words, masked.
pub fn line(words: &[String]) -> String {
    let hidden = secret(words);
    let shown = words.iter().enumerate().map(|(index, word)| match hidden.contains(&index) {
        true => MASK.to_string(),
        // A query that is set stands without its mark.
        false if index > 0 && words[index - 1] == "set-query" => {
            text(&format!("?{word}"))[1..].to_string()
        }
        false => text(word),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The whole text, masked. Lines that hold a secret lose their quotes and comment.
pub fn config(tree: &Tree) -> String {
    let mut lines: Vec<&Line> = Vec::new();
    for section in &tree.sections {
        lines.push(&section.head);
        lines.extend(&section.lines);
    }
    let mut out = String::with_capacity(tree.text.len());
    let mut at = 0;
    for own in lines.into_iter().filter(|own| !secret(&own.words).is_empty()) {
        let raw = &tree.text[own.span.clone()];
        let indent = raw.len() - raw.trim_start().len();
        out.push_str(&tree.text[at..own.span.start + indent]);
        out.push_str(&line(&own.words));
        at = own.span.end;
    }
    out.push_str(&tree.text[at..]);
    // A commented line that names what is secret.
    let comments = out.split_inclusive('\n').map(|line| {
        let comment = line.trim_start().starts_with('#');
        let named =
            line.split_whitespace().any(|word| BEFORE[4..].contains(&word) || is_secret_name(word));
        match comment && named && line.split_whitespace().count() > 2 {
            true => "# ***\n".to_string(),
            false => line.to_string(),
        }
    });
    text(&comments.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn nothing_secret_is_repeated() {
        for written in [
            "http-request set-query key=S3CRET&model=gpt",
            "http-request set-header X-Api-Key S3CRET",
            "http-request return status 200 hdr Set-Cookie a=S3CRET",
            "http-request set-var(txn.mac) path,hmac(sha256,S3CRET)",
            "dynamic-cookie-key S3CRET",
            "http-request set-var(txn.api-key) str(S3CRET)",
            "http-request set-var(txn.key) str(S3CRET)",
            "server a 127.0.0.1:1 ssl crt /S3CRET.pem",
        ] {
            let words: Vec<String> = written.split(' ').map(String::from).collect();
            assert!(!line(&words).contains("S3CRET"), "{}", line(&words));
        }
        let plain = "http-request set-var(txn.path) path".split(' ').map(String::from);
        assert_eq!(line(&plain.collect::<Vec<_>>()), "http-request set-var(txn.path) path");
    }
}
