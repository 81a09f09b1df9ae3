//! Markup as texts. Whatever is not written here as a literal goes through [`escaped`].

/// A text as it may stand between tags and between quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Texts one after the other.
pub(crate) fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(part);
    }
    text
}

/// A text with values in the places that are marked `¤`, in order. Half the code of pieces that
/// are put together one by one.
pub(crate) fn filled(template: &str, values: &[&str]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    for (index, piece) in template.split('¤').enumerate() {
        if index > 0 {
            text.push_str(values.next().copied().unwrap_or_default());
        }
        text.push_str(piece);
    }
    text
}
