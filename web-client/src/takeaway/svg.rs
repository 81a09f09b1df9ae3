//! An SVG that stands alone, written piece by piece from the top down.

/// Letters take so much of their size in width, on average, in the fonts that systems have: what
/// lines are broken by, since an SVG breaks none by itself.
const LETTER: f64 = 0.54;

/// A picture that grows downwards.
pub(super) struct Svg {
    width: u32,
    body: String,
}

/// How a text looks.
#[derive(Clone)]
pub(super) struct Style {
    /// Size, in the picture's own units.
    pub(super) size: u32,
    /// Whether it is bold.
    pub(super) bold: bool,
    /// Colour.
    pub(super) colour: String,
}

/// Where a text stands: its left end, or its right one or its middle, and its base line.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// Begins there.
    Left(u32, u32),
    /// Is centred there.
    Middle(u32, u32),
    /// Ends there.
    Right(u32, u32),
}

impl Svg {
    /// An empty picture of that width.
    pub(super) fn new(width: u32) -> Svg {
        Svg { width, body: String::new() }
    }

    /// Adds markup whose texts are escaped already.
    pub(super) fn push(&mut self, parts: &[&str]) {
        for part in parts {
            self.body.push_str(part);
        }
    }

    /// Adds a text.
    pub(super) fn text(&mut self, at: At, style: &Style, text: &str) {
        let (x, y, anchor) = match at {
            At::Left(x, y) => (x, y, ""),
            At::Middle(x, y) => (x, y, "\" text-anchor=\"middle"),
            At::Right(x, y) => (x, y, "\" text-anchor=\"end"),
        };
        let weight = if style.bold { "\" font-weight=\"600" } else { "" };
        self.push(&[
            "<text x=\"",
            &x.to_string(),
            "\" y=\"",
            &y.to_string(),
            anchor,
            weight,
            "\" font-size=\"",
            &style.size.to_string(),
            "\" fill=\"",
            &safe(&style.colour),
            "\">",
            &safe(text),
            "</text>",
        ]);
    }

    /// Adds a text in lines that fit into a width; the last of `most` lines says that there is
    /// more. The height that they take.
    pub(super) fn lines(
        &mut self,
        (x, y): (u32, u32),
        style: &Style,
        text: &str,
        (width, most): (u32, usize),
    ) -> u32 {
        let letters = (f64::from(width) / (f64::from(style.size) * LETTER)) as usize;
        let step = style.size * 13 / 10;
        let mut height = 0;
        for line in wrapped(text, letters.max(1), most) {
            self.text(At::Left(x, y + height), style, &line);
            height += step;
        }
        height
    }

    /// Adds a box.
    pub(super) fn rect(&mut self, (x, y): (u32, u32), (width, height): (u32, u32), fill: &str) {
        self.push(&["<rect x=\"", &x.to_string(), "\" y=\"", &y.to_string()]);
        self.push(&["\" width=\"", &width.to_string(), "\" height=\"", &height.to_string()]);
        self.push(&["\" fill=\"", &safe(fill), "\"/>"]);
    }

    /// The file.
    pub(super) fn finished(self, height: u32, title: &str, ground: &str) -> String {
        let (width, height) = (self.width.to_string(), height.to_string());
        [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"",
            &width,
            "\" height=\"",
            &height,
            "\" viewBox=\"0 0 ",
            &width,
            " ",
            &height,
            "\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif\" \
             style=\"font-variant-numeric:tabular-nums\"><title>",
            &safe(title),
            "</title><rect width=\"100%\" height=\"100%\" fill=\"",
            &safe(ground),
            "\"/>",
            &self.body,
            "</svg>\n",
        ]
        .concat()
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
