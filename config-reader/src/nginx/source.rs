//! The text as given: one file, or the dump that `nginx -T` prints.

use std::ops::Range;

use super::error::{Place, ReadError};

/// Bytes at most. A dump of thousands of servers has a few; beyond this it is something else.
pub const MOST_BYTES: usize = 8 << 20;

/// What stands before each file in a dump.
const MARKER: &str = "# configuration file ";

/// A part of the text that is one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// As nginx names it; empty when the text is a file by itself.
    pub name: String,
    /// Its part of the text.
    pub span: Range<usize>,
}

/// The text and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// All of it.
    pub text: String,
    /// The main file first.
    pub files: Vec<File>,
}

impl Source {
    /// Takes a text apart by its markers.
    ///
    /// # Errors
    /// When it is too long.
    pub fn new(text: String) -> Result<Source, ReadError> {
        if text.len() > MOST_BYTES {
            return Err(ReadError::TooLarge { bytes: text.len(), limit: MOST_BYTES });
        }
        let mut files: Vec<File> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let name = line.trim_end().strip_prefix(MARKER).and_then(|rest| rest.strip_suffix(':'));
            if let Some(name) = name {
                if let Some(file) = files.last_mut() {
                    file.span.end = at;
                }
                files.push(File { name: name.into(), span: end..text.len() });
            }
            at = end;
        }
        if files.is_empty() {
            files.push(File { name: String::new(), span: 0..text.len() });
        }
        Ok(Source { text, files })
    }

    /// Whether it is a dump rather than a file by itself.
    pub fn is_dump(&self) -> bool {
        self.files.iter().any(|file| !file.name.is_empty())
    }

    /// The file of an offset.
    pub fn file_at(&self, offset: usize) -> &File {
        let holds = |file: &&File| file.span.start <= offset && offset <= file.span.end;
        // The last that holds it: an end is also the next one's marker.
        self.files.iter().rev().find(holds).unwrap_or(&self.files[0])
    }

    /// An offset as people count.
    pub fn place(&self, offset: usize) -> Place {
        let file = self.file_at(offset);
        let before = &self.text[file.span.start..offset.clamp(file.span.start, self.text.len())];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { file: file.name.clone(), line, column }
    }

    /// The line of a place within the whole text, from 1, and what stands there.
    pub fn find(&self, place: &Place) -> Option<(usize, &str)> {
        let file = self.files.iter().find(|file| file.name == place.file)?;
        let before = self.text[..file.span.start].bytes().filter(|byte| *byte == b'\n').count();
        let line = self.text[file.span.clone()].lines().nth(place.line.checked_sub(1)?)?;
        Some((before + place.line, line))
    }

    /// File and line of an offset, for sentences.
    pub fn line(&self, offset: usize) -> String {
        let place = self.place(offset);
        if place.file.is_empty() {
            format!("line {}", place.line)
        } else {
            format!("{}:{}", place.file, place.line)
        }
    }

    /// The folder that relative includes start from.
    pub(super) fn folder(&self) -> &str {
        let main = &self.files[0].name;
        main.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// Whose configuration a text looks like, if not nginx's.
pub(super) fn other_product(text: &str) -> Option<(&'static str, &'static str)> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let any = |test: &dyn Fn(&str) -> bool| lines.iter().any(|line| test(line));
    let section = |line: &str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        matches!(first, "frontend" | "backend" | "defaults" | "listen" | "global")
            && !line.contains([';', '{'])
    };
    if lines.iter().filter(|line| section(line)).count() >= 2 {
        return Some(("a haproxy.cfg", "use --haproxy-config"));
    }
    if any(&|line| line.starts_with("<VirtualHost") || line.starts_with("<Location")) {
        return Some(("a configuration of Apache", "there is no reader for it here"));
    }
    if any(&|line| line.starts_with("static_resources:") || line.starts_with("envoy.")) {
        return Some(("a configuration of Envoy", "use --envoy-config"));
    }
    if any(&|line| matches!(line, "http:" | "entryPoints:" | "[entryPoints]" | "routers:")) {
        return Some(("a configuration of Traefik", "use --traefik-config"));
    }
    if any(&|line| {
        line.starts_with("reverse_proxy ")
            || line.starts_with("handle_path ")
            || line == "encode gzip"
    }) {
        return Some(("a Caddyfile", "use --caddyfile"));
    }
    match lines.first() {
        Some(line) if line.starts_with(['{', '[']) && text.contains("\":") => {
            Some(("JSON", "give the output of `nginx -T`"))
        }
        Some(line) if line.starts_with("vcl ") => {
            Some(("a configuration of Varnish", "there is no reader for it here"))
        }
        _ => None,
    }
}
