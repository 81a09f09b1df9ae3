//! HAProxy: the way of a request through the configuration, or a text with placeholders.

use std::collections::BTreeSet;

use config_reader::haproxy::Tree;
use config_reader::haproxy::route::{NotRouted, Request};
use config_reader::haproxy::sandbox::{Path, Place, Sandbox};

use super::lines::{self, Becomes};
use super::{Prepared, STREAM};
use crate::exit::Problem;

/// A haproxy.cfg as it is.
pub(super) fn plain(text: &str, own_path: Option<&str>) -> Result<Prepared, Problem> {
    let tree = Tree::read(text).map_err(Problem::usage)?;
    let path = own_path.unwrap_or(STREAM);
    let request = Request { path, host: None, port: None };
    let route = tree.route(&request).map_err(|error| match error {
        NotRouted::ManyFrontends(names) => Problem::usage(format!(
            "{} frontends could take it: leave one of them, or put {{{{listen}}}} and {{{{upstream}}}} in: {}",
            names.len(),
            names.iter().map(|(shown, _)| shown.as_str()).collect::<Vec<_>>().join("; ")
        )),
        error => Problem::usage(error),
    })?;
    let way = own_path.map_or(Path::Asked, Path::Between);
    let place = Place { listen: "{{listen}}", upstream: "{{upstream}}", path: way };
    let Sandbox { text: template, moved, places, .. } =
        tree.sandbox(&route, place, &BTreeSet::new());
    let shown = |index: usize| tree.sections[index].shown();
    let more = match own_path {
        Some(_) => "",
        None => "; for another path of yours: --own-path",
    };
    let mut notes =
        vec![format!("{path} goes by {}, {}{more}", shown(route.frontend), shown(route.backend))];
    notes.extend(route.open);
    Ok(Prepared { template, places, moved, notes })
}

/// A text that says where the addresses stand.
pub(super) fn placed(text: &str) -> Prepared {
    lines::over(text, |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["log", to, ..] if to != "global" && to != "stdout" => Becomes::Out,
            ["chroot" | "user" | "group" | "uid" | "gid" | "daemon" | "pidfile", ..]
            | ["stats", "socket" | "timeout", ..]
            | ["server-state-file" | "server-state-base" | "load-server-state-from-file", ..] => {
                Becomes::Out
            }
            // The second port is for what is not measured.
            ["bind", address, ..] if !address.contains("{{") => {
                Becomes::Text("bind {{admin}}".into())
            }
            _ => Becomes::Same,
        }
    })
}
