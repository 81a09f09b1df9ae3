//! Caddyfiles: one site, its upstreams, and the options that keep Caddy in its folder.

use config_reader::{Moved, secret};

use super::Prepared;
use super::lines::{self, Becomes};
use crate::exit::Problem;

/// What keeps Caddy in its folder and without certificates.
const OPTIONS: &str = "\tadmin off\n\tauto_https off\n\tpersist_config off\n\tstorage file_system \"{{scratch}}/caddy\"";

/// Options that say otherwise.
const NOT_HERE: [&str; 12] = [
    "acme_ca",
    "acme_dns",
    "admin",
    "auto_https",
    "default_bind",
    "email",
    "http_port",
    "https_port",
    "on_demand_tls",
    "order_log",
    "persist_config",
    "storage",
];

/// Directives that reach outside of the folder.
const OUTSIDE: [&str; 4] = ["log", "tls", "bind", "acme_server"];

/// A Caddyfile, with placeholders or with one site and `reverse_proxy` lines.
pub(super) fn prepare(text: &str, placed: bool) -> Result<Prepared, Problem> {
    let sites = sites(text)?;
    if !placed {
        if sites != 1 {
            return Err(Problem::usage(format!(
                "it has {sites} site blocks, and one is measured: leave one, or put {{{{listen}}}} and {{{{upstream}}}} in"
            )));
        }
        if !text.lines().any(|line| line.trim().starts_with("reverse_proxy")) {
            return Err(Problem::usage("there is no reverse_proxy line in it"));
        }
    }
    let mut state = State { placed, ..State::default() };
    let mut prepared = lines::over(text, |line| state.line(line));
    if !state.had_options {
        let mut whole = Prepared::default();
        whole.push("", "{");
        OPTIONS.lines().for_each(|line| whole.push("", line));
        whole.push("", "}");
        whole.template.push_str(&prepared.template);
        whole.places.append(&mut prepared.places);
        let options = OPTIONS.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        whole.moved.push(Moved { place: "line 1".into(), old: "no options".into(), new: options });
        whole.moved.append(&mut prepared.moved);
        prepared = whole;
    }
    for moved in &mut prepared.moved {
        moved.old = secret::text(&moved.old);
    }
    Ok(prepared)
}

/// Whether a line opens a block, and closes one.
fn braces(line: &str) -> (bool, bool) {
    (line.ends_with('{') && !line.starts_with('#'), line == "}")
}

/// How many sites there are.
fn sites(text: &str) -> Result<usize, Problem> {
    let (mut depth, mut sites, mut number) = (0_usize, 0, 0);
    for line in text.lines().map(str::trim) {
        number += 1;
        let (opens, closes) = braces(line);
        if depth == 0 && opens && line != "{" && !line.starts_with('(') {
            sites += 1;
        } else if depth == 0 && !opens && !closes && !line.is_empty() && !line.starts_with('#') {
            return Err(Problem::usage(format!(
                "line {number}: {} stands outside of a block: put the site's directives into braces",
                secret::text(line.split_whitespace().next().unwrap_or_default())
            )));
        }
        depth = if opens { depth + 1 } else { depth.saturating_sub(usize::from(closes)) };
    }
    Ok(sites)
}

#[derive(Default)]
struct State {
    placed: bool,
    depth: usize,
    options: bool,
    had_options: bool,
    /// The depth of a block that is left out.
    leaves: Option<usize>,
    /// The depths of `reverse_proxy` blocks.
    proxies: Vec<usize>,
}

impl State {
    fn line(&mut self, line: &str) -> Becomes {
        let (opens, closes) = braces(line);
        if closes {
            self.depth = self.depth.saturating_sub(1);
        }
        let depth = self.depth;
        let becomes = self.of_line(line, opens, closes, depth);
        if opens {
            self.depth += 1;
        }
        becomes
    }

    fn of_line(&mut self, line: &str, opens: bool, closes: bool, depth: usize) -> Becomes {
        if let Some(left) = self.leaves {
            if closes && depth == left {
                self.leaves = None;
            }
            return Becomes::Out;
        }
        if closes {
            self.proxies.retain(|own| *own != depth);
            if depth == 0 {
                self.options = false;
            }
            return Becomes::Same;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first().copied().unwrap_or_default();
        if depth == 0 && line == "{" {
            self.options = true;
            self.had_options = true;
            return Becomes::Text(format!("{{\n{OPTIONS}"));
        }
        let placed_here = line.contains("{{");
        let leaves = match (self.options, depth) {
            (_, 0) => false,
            (true, _) => NOT_HERE.contains(&name) || name == "log",
            (false, _) => OUTSIDE.contains(&name) && !placed_here,
        };
        if leaves {
            self.leaves = opens.then_some(depth);
            return Becomes::Out;
        }
        if self.placed || self.options {
            return Becomes::Same;
        }
        match name {
            _ if depth == 0 && opens && !line.starts_with('(') => {
                Becomes::Text("http://:{{listen_port}} {\n\tbind {{listen_host}}".into())
            }
            "reverse_proxy" if depth > 0 => {
                if opens {
                    self.proxies.push(depth);
                }
                let matcher =
                    words.get(1).filter(|word| word.starts_with(['/', '*', '@']) && **word != "{");
                let matcher = matcher.map(|word| format!(" {word}")).unwrap_or_default();
                let end = if opens { " {" } else { "" };
                Becomes::Text(format!("reverse_proxy{matcher} {{{{upstream}}}}{end}"))
            }
            // Named in the head already.
            "to" | "dynamic" | "health_uri" | "health_interval" | "lb_policy"
                if self.proxies.contains(&depth.saturating_sub(1)) =>
            {
                self.leaves = opens.then_some(depth);
                Becomes::Out
            }
            _ => Becomes::Same,
        }
    }
}
