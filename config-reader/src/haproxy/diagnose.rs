//! What holds a stream, and the corrected text.

use super::parse::{Section, Tree};
use super::route::Route;

/// What was found for a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What holds a stream: in a few words, and why.
    pub causes: Vec<(&'static str, String)>,
    /// What else is worth a look.
    pub notes: Vec<String>,
    /// What is in force: name, value, who says so.
    pub table: Vec<(&'static str, String, String)>,
    /// Whether it looks at HTTP at all.
    pub http: bool,
}

impl Tree {
    /// Looks at both sides of a route.
    pub fn diagnose(&self, route: &Route) -> Diagnosis {
        let mut found = Diagnosis { causes: vec![], notes: vec![], table: vec![], http: true };
        let mode = self.all(route.frontend, &["mode"]);
        let mode = mode.last();
        let value = mode.and_then(|line| line.words.get(1)).map_or("tcp", String::as_str);
        let by =
            |line: Option<usize>| line.map_or("default".to_string(), |line| format!("line {line}"));
        found.table.push(("mode", value.into(), by(mode.map(|line| line.number))));
        found.http = value == "http";
        if !found.http {
            found
                .notes
                .push("mode tcp passes bytes on as they come, and takes no notice of HTTP".into());
            return found;
        }
        let sides: &[(&'static str, usize)] = match route.frontend == route.backend {
            true => &[("http-no-delay", route.frontend)],
            false => &[
                ("http-no-delay, frontend", route.frontend),
                ("http-no-delay, backend", route.backend),
            ],
        };
        let mut no_delay = false;
        for (name, section) in sides {
            let decided = self.option(*section, "http-no-delay");
            let on = decided.is_some_and(|(on, _)| on);
            no_delay |= on;
            let value = if on { "on" } else { "off" };
            found.table.push((name, value.into(), by(decided.map(|(_, line)| line.number))));
        }
        if !no_delay {
            found.causes.push((
                "chunks kept back with MSG_MORE",
                "without `option http-no-delay` HAProxy sends every chunk but the last with \
                 MSG_MORE to a client of HTTP/1.1: the kernel keeps it until a whole segment is \
                 there or about 200 ms have passed. Clients of HTTP/2 do not see it"
                    .into(),
            ));
        }
        for section in [route.frontend, route.backend] {
            let types = self.all(section, &["compression", "type"]);
            if let Some(line) = self.all(section, &["compression", "algo"]).last() {
                let covers = types.is_empty()
                    || types
                        .iter()
                        .any(|line| line.words.iter().any(|word| word == "text/event-stream"));
                if covers {
                    let note = format!(
                        "compression takes event streams too (line {}): whether it keeps them back \
                         is for the measurement to say",
                        line.number
                    );
                    found.notes.push(note);
                }
            }
            if let Some((true, line)) = self.option(section, "http-buffer-request") {
                found.notes.push(format!(
                    "option http-buffer-request (line {}) waits for a request's body: it keeps \
                     nothing of the answer",
                    line.number
                ));
            }
        }
        found.notes.dedup();
        found
    }

    /// The text with `option http-no-delay` in the section that serves the stream; what says
    /// `no option http-no-delay` there goes.
    pub fn correct(&self, route: &Route) -> (String, String) {
        let section = &self.sections[route.backend];
        let mut text = self.text.clone();
        let indent: String = match section.lines.first() {
            Some(line) => self.text[line.span.clone()]
                .chars()
                .take_while(|char| char.is_whitespace())
                .collect(),
            None => "    ".into(),
        };
        let option =
            format!("{indent}option http-no-delay    # each chunk of a stream is sent at once");
        let denied = section
            .lines
            .iter()
            .rev()
            .filter(|line| line.begins(&["no", "option", "http-no-delay"]));
        let mut replaced = false;
        for line in denied {
            // From the last on, so that the places before stay.
            text.replace_range(line.span.clone(), &option);
            replaced = true;
        }
        if !replaced {
            text.insert_str(section.head.span.end, &format!("\n{option}"));
        }
        (text, section.shown())
    }

    /// The lines of a section as they stand in a text.
    pub fn written(&self, section: &Section) -> String {
        let end = section.lines.last().map_or(section.head.span.end, |line| line.span.end);
        self.text[section.head.span.start..end].into()
    }
}
