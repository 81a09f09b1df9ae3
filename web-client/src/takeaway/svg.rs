//! An SVG that stands alone, written piece by piece from the top down.

use crate::view::markup::filled;

/// Letters take so much of their size in width, on average, in the fonts that systems have: what
/// lines are broken by, since an SVG breaks none by itself.
const LETTER: f64 = 0.54;

/// A picture that grows downwards.
pub(super) struct Svg {
    width: u32,
    /// Colour of texts that are read first.
    pub(super) ink: String,
    /// Colour of all others.
    pub(super) soft: String,
    body: String,
}

/// How a text looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// In the first colour.
    Ink,
    /// In the first colour, and bold.
    Bold,
    /// In the second colour.
    Soft,
}

/// What stands at the place of a text: its left end, its middle or its right end.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Left,
    Middle,
    Right,
}

impl Svg {
    /// An empty picture of that width.
    pub(super) fn new(width: u32, ink: String, soft: String) -> Svg {
        Svg { width, ink, soft, body: String::new() }
    }

    /// Adds markup whose texts are escaped already.
    pub(super) fn push(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Adds a text on its base line.
    pub(super) fn text(
        &mut self,
        (x, y): (u32, u32),
        anchor: Anchor,
        (size, look): (u32, Look),
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Left => "",
            Anchor::Middle => "\" text-anchor=\"middle",
            Anchor::Right => "\" text-anchor=\"end",
        };
        let weight = if look == Look::Bold { "\" font-weight=\"600" } else { "" };
        let colour = if look == Look::Soft { &self.soft } else { &self.ink };
        let (x, y, size) = (x.to_string(), y.to_string(), size.to_string());
        let text = filled(
            "<text x=\"¤\" y=\"¤¤¤\" font-size=\"¤\" fill=\"¤\">¤</text>",
            &[&x, &y, anchor, weight, &size, &safe(colour), &safe(text)],
        );
        self.body.push_str(&text);
    }

    /// Adds a text in lines that fit into a width; the last of `most` lines says that there is
    /// more. The height that they take.
    pub(super) fn lines(
        &mut self,
        (x, y): (u32, u32),
        (size, look): (u32, Look),
        text: &str,
        (width, most): (u32, usize),
    ) -> u32 {
        let letters = (f64::from(width) / (f64::from(size) * LETTER)) as usize;
        let mut height = 0;
        for line in wrapped(text, letters.max(1), most) {
            self.text((x, y + height), Anchor::Left, (size, look), &line);
            height += size * 13 / 10;
        }
        height
    }

    /// Adds a box.
    pub(super) fn rect(&mut self, (x, y): (u32, u32), (width, height): (u32, u32), fill: &str) {
        let (x, y, width, height) =
            (x.to_string(), y.to_string(), width.to_string(), height.to_string());
        self.body.push_str(&filled(
            "<rect x=\"¤\" y=\"¤\" width=\"¤\" height=\"¤\" fill=\"¤\"/>",
            &[&x, &y, &width, &height, &safe(fill)],
        ));
    }

    /// The file.
    pub(super) fn finished(self, height: u32, title: &str, ground: &str) -> String {
        let (width, height) = (self.width.to_string(), height.to_string());
        filled(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"¤\" height=\"¤\" \
             viewBox=\"0 0 ¤ ¤\" style=\"font-variant-numeric:tabular-nums\" font-family=\"\
             system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif\">\
             <title>¤</title><rect width=\"100%\" height=\"100%\" fill=\"¤\"/>¤</svg>\n",
            &[&width, &height, &width, &height, &safe(title), &safe(ground), &self.body],
        )
    }
}

/// A text as it may stand in an XML file, between tags and between quotes.
pub(super) fn safe(text: &str) -> String {
    // XML has no place for most control characters, escaped or not.
    let kept: String = text
        .chars()
        .map(|letter| match letter {
            '\u{fffe}' | '\u{ffff}' => ' ',
            other if other.is_control() => ' ',
            other => other,
        })
        .collect();
    crate::view::markup::escaped(&kept)
}

/// Lines of at most so many letters, broken at blanks where there are any.
pub(super) fn wrapped(text: &str, letters: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let mut length = 0;
    for word in text.split_ascii_whitespace() {
        let word: Vec<char> = word.chars().collect();
        // A word longer than a line goes into as many as it takes.
        for piece in word.chunks(letters) {
            let joins = length > 0 && length + 1 + piece.len() <= letters;
            if length > 0 && !joins {
                if lines.len() == most {
                    if let Some(last) = lines.last_mut() {
                        last.push('…');
                    }
                    return lines;
                }
                lines.push(String::new());
                length = 0;
            }
            if let Some(line) = lines.last_mut() {
                if joins {
                    line.push(' ');
                    length += 1;
                }
                line.extend(piece);
                length += piece.len();
            }
        }
    }
    lines
}
