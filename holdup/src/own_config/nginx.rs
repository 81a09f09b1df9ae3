//! nginx: one server of the configuration, or a text with placeholders.

use std::collections::BTreeSet;

use config_reader::nginx::sandbox::{Place, Sandbox};
use config_reader::nginx::{Directive, Site, Tree, Version};

use super::lines::{self, Becomes};
use super::{Prepared, STREAM};
use crate::exit::Problem;

/// What an nginx without them would write elsewhere than below the scratch folder.
const OUTSIDE_OF_HTTP: [(&str, &str); 3] = [
    ("daemon", "daemon off;"),
    ("pid", "pid {{scratch}}/nginx.pid;"),
    ("error_log", "error_log stderr warn;"),
];

/// The same in `http`.
const IN_HTTP: [&str; 5] = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

fn passes(directive: &Directive) -> bool {
    directive.name == "proxy_pass" || directive.children().iter().any(passes)
}

/// A configuration as it is, or what `nginx -T` prints of it.
pub(super) fn plain(text: &str, own_path: Option<&str>) -> Result<Prepared, Problem> {
    let tree = Tree::read(text).map_err(Problem::usage)?;
    let site = Site::of(&tree).map_err(Problem::usage)?;
    let passing: Vec<usize> =
        (0..site.servers.len()).filter(|index| passes(site.servers[*index].directive)).collect();
    let [server] = passing[..] else {
        let shown = |index: &usize| site.servers[*index].shown();
        let shown: Vec<String> = passing.iter().map(shown).collect();
        return Err(Problem::usage(match shown.len() {
            0 => "no server block in it has a proxy_pass".to_string(),
            count => format!(
                "{count} server blocks have a proxy_pass: leave one of them, or put {{{{listen}}}} and {{{{upstream}}}} in: {}",
                shown.join("; ")
            ),
        }));
    };
    let place = Place {
        listen: "{{listen}}",
        upstream: "{{upstream}}",
        uri: "$request_uri",
        chosen_by: own_path,
        version: Version::PINNED,
    };
    let Sandbox { text: template, moved, places, .. } =
        site.sandbox(server, place, &BTreeSet::new());
    let path = own_path.unwrap_or(STREAM);
    let served = site.serve_by(server, path, Version::PINNED).ok();
    let note = served.and_then(|served| served.location()).map(|index| {
        let location = &site.locations[index];
        let at = tree.source.line(location.directive.span.start);
        let more = match own_path {
            Some(_) => "",
            None => "; for another path of yours: --own-path",
        };
        format!("`{}` ({at}) answers {path}{more}", location.written())
    });
    Ok(Prepared { template, places, moved, notes: note.into_iter().collect() })
}

/// A text that says where the addresses stand.
pub(super) fn placed(text: &str) -> Prepared {
    let names: BTreeSet<&str> =
        text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let named = |name: &str| names.contains(name) || names.contains(format!("{name};").as_str());
    // What an included file says is not seen here, and may not be said twice.
    let includes = named("include");
    let mut prepared = lines::over(text, |line| {
        let Some(statement) = line.split('#').next().map(str::trim) else { return Becomes::Same };
        let http = statement.split_whitespace().eq(["http", "{"]);
        if http && !includes {
            let missing = IN_HTTP.iter().map(|kind| format!("{kind}_temp_path"));
            let missing = missing.filter(|name| !named(name)).map(|name| {
                let folder = name.trim_end_matches("_path");
                format!(" {name} {{{{scratch}}}}/{folder};")
            });
            let log = if named("access_log") { "" } else { " access_log off;" };
            return Becomes::Text(format!("http {{{log}{}", missing.collect::<String>()));
        }
        of_line(statement)
    });
    for (name, line) in OUTSIDE_OF_HTTP {
        if !includes && !named(name) {
            prepared.push("", line);
        }
    }
    prepared
}

/// A directive that stands in a line by itself.
fn of_line(statement: &str) -> Becomes {
    let Some(body) = statement
        .strip_suffix(';')
        .filter(|body| !body.contains([';', '{', '}']) || body.contains("{{"))
    else {
        return Becomes::Same;
    };
    let words: Vec<&str> = body.split_whitespace().collect();
    let Some((name, values)) = words.split_first() else { return Becomes::Same };
    let first = values.first().copied().unwrap_or_default();
    let outside = first.starts_with('/') || first.starts_with("syslog:");
    let rest = values.iter().skip(1).map(|value| format!(" {value}")).collect::<String>();
    let text = match *name {
        "daemon" if first != "off" => "daemon off;".into(),
        "user" if !first.contains("{{") => "user {{user}} {{group}};".into(),
        "access_log" if outside => "access_log off;".into(),
        "error_log" if outside => format!("error_log stderr{rest};"),
        "pid" if outside => "pid {{scratch}}/nginx.pid;".into(),
        "lock_file" if outside => "lock_file {{scratch}}/nginx.lock;".into(),
        "proxy_cache_path" if outside => format!("proxy_cache_path {{{{scratch}}}}/cache{rest};"),
        name if outside && name.ends_with("_temp_path") => {
            format!("{name} {{{{scratch}}}}/{};", name.trim_end_matches("_path"))
        }
        // The second port is for what is not measured.
        "listen" if !first.contains("{{") => format!("listen {{{{admin}}}}{rest};"),
        _ => return Becomes::Same,
    };
    Becomes::Text(text)
}
