//! Named checks of a Caddyfile, adapted by Caddy itself: what stands on the way of a request, and
//! whether Caddy with it is live, as it is and without it.

mod walk;

use std::process::Command;

use config_reader::nginx::Version;
use config_reader::secret;
use emitter::{Config, Emitter};
use proxies::{Program, Proxies};
use serde_json::{Value, json};

use self::walk::{NoWay, Way, way};
use super::proof::{self, CORRECTED, STREAM, YOURS};
use super::question::{self, About, Fault, Progress, Proving, Question};
use super::start::{self, Kind, Text};
use super::story::{Answer, Proof, Section, Story};
use crate::exit::{Exit, Problem};

/// From here on gzip is flushed with each event (measured: 2.6.2 holds, 2.11.4 is live).
const FLUSHED: Version = Version([2, 7, 0]);

/// Types that are worth compressing, without event streams.
const TYPES: [&str; 4] = ["text/html*", "text/css*", "*javascript*", "application/json*"];

/// How Caddy is run.
const KIND: Kind = Kind {
    file: "caddy.json",
    folders: &["storage"],
    check: |_, file| {
        vec!["validate".into(), "--config".into(), file.to_string_lossy().into_owned()]
    },
    run: |_, file| vec!["run".into(), "--config".into(), file.to_string_lossy().into_owned()],
    line: |_| None,
    needed: |_| true,
};

/// All that is told of a Caddyfile.
pub(super) fn examine(question: &Question, proving: Option<&Proving<'_>>) -> Result<Story, Fault> {
    let version = question.version.unwrap_or(Version([2, 11, 4]));
    let engine = if version < FLUSHED { "caddy-2.6" } else { "caddy" };
    let proxies = Proxies::of_user(Vec::new()).map_err(Problem::usage)?;
    let program = start::program(&proxies, engine)
        .map_err(|why| Problem::nothing(format!("a Caddyfile is adapted by Caddy: {why}")))?;
    let adapted = adapt(&program, question)?;
    let path = question.path.as_str();
    let way = way(&adapted, path, question.host.as_deref(), question.port).map_err(unserved)?;
    let causes = causes(&adapted, &way, version);
    let answer = match (way.proxy.is_some(), causes.is_empty()) {
        (false, _) => Answer::CannotTell,
        (true, true) => Answer::Clean,
        (true, false) => Answer::Found,
    };
    let names: Vec<&str> = causes.iter().map(|cause| cause.0).collect();
    let held = match (&way.proxy, names.is_empty()) {
        (None, _) => way.end.clone().unwrap_or_else(|| "no reverse_proxy serves it".into()),
        (_, true) => "nothing in force there is known to hold a stream".into(),
        (_, false) => format!("a stream is held there by {}", names.join(" and by ")),
    };
    let mut story = Story::new(answer, format!("{path}, by {}: {held}.", way.server_shown));
    story.way.clone_from(&way.steps);
    story.sections = sections(&way, &causes);
    if answer != Answer::Found {
        return Ok(story);
    }
    story.block = Some(causes.iter().map(|cause| cause.2).collect::<Vec<_>>().join("\n"));
    if let Some(proving) = proving {
        // A compressor's hold shows in frames that it takes; a buffer's in small ones.
        let encodes = names.contains(&"encode");
        let frame_bytes = if encodes { proof::LARGE } else { proof::SMALL };
        let proved = prove(&proxies, &program, (&adapted, &way), path, frame_bytes, proving)?;
        story.weigh(proved, true);
    }
    Ok(story)
}

fn unserved(error: NoWay) -> Fault {
    let (about, choices) = match &error {
        NoWay::Path(_) => (About::Path, Vec::new()),
        NoWay::NoServer => (About::Host, Vec::new()),
        NoWay::Many { found, .. } => (About::Host, found.clone()),
    };
    Fault::new(Exit::Usage, about, error).choices(choices)
}

/// Refuses a text without a file of its own that imports others: Caddy would read any file of this
/// machine, and repeat a line of it. Variables are none then, so that their defaults stand.
fn outside(text: &str) -> Result<(), Fault> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{$") {
        plain.push_str(before);
        let Some((inside, after)) = after.split_once('}') else { break };
        plain.push_str(inside.split_once(':').map_or("", |(_, default)| default));
        rest = after;
    }
    plain.push_str(rest);
    // Where one word ends and the next begins is Caddy's to say: whatever it might take for an
    // import is one.
    let plain = plain.trim_start_matches('\u{feff}').replace(['"', '`'], " ");
    let snippet = |name: &str| {
        let head = format!("({name})");
        !name.contains('/') && plain.lines().any(|line| line.trim_start().starts_with(&head))
    };
    for (index, line) in plain.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_some_and(|word| word.starts_with('#')) {
            continue;
        }
        for at in (0..words.len()).filter(|at| words[*at] == "import") {
            let name = words.get(at + 1).copied().unwrap_or_default();
            if snippet(name) {
                continue;
            }
            let name = secret::text(name);
            let why =
                format!("it imports {name}, which is no snippet of it: put its lines in its place");
            return Err(Fault::text(why).at(question::spot(text, index + 1, None)));
        }
    }
    Ok(())
}

/// What Caddy makes of the text.
fn adapt(program: &Program, question: &Question) -> Result<Value, Fault> {
    let problem = |why: String| {
        let why = why.trim_start_matches("Error: ").trim();
        Fault::text(secret::text(&why.chars().take(400).collect::<String>()))
    };
    // One step of it, so that the folder of its own settings is not made here.
    let scratch = tempfile::tempdir().map_err(|error| problem(error.to_string()))?;
    let file = match &question.file {
        Some(file) => file.clone(),
        None => {
            let file = scratch.path().join("Caddyfile");
            std::fs::write(&file, &question.text).map_err(|error| problem(error.to_string()))?;
            file
        }
    };
    let mut process = Command::new(&program.path);
    if question.file.is_none() {
        outside(&question.text)?;
        // A pasted text is nobody's who may read this program's environment.
        process.env_clear();
    }
    process
        .envs(&program.environment)
        .env("HOME", scratch.path())
        .args(["adapt", "--adapter", "caddyfile", "--config"])
        .arg(&file);
    let output = start::output(process)
        .map_err(|error| problem(format!("cannot run {}: {error}", program.path.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let mut lines = said.lines().filter(|line| !line.trim().is_empty());
        let line =
            lines.clone().find(|line| line.starts_with("Error")).or_else(|| lines.next_back());
        let line = line.unwrap_or("it says nothing");
        // `adapting config using caddyfile: /tmp/x/Caddyfile:3: unrecognized directive`
        let name = file.display().to_string();
        let number = line.split_once(&format!("{name}:")).and_then(|(_, rest)| {
            rest.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
        });
        let spot = number.and_then(|number| question::spot(&question.text, number, None));
        let line = match question.file {
            Some(_) => line.to_string(),
            // Nobody knows the scratch file.
            None => line.replace(&name, "line ").replace("line :", "line "),
        };
        let said = format!("Caddy cannot read it: {}", line.trim_start_matches("Error: "));
        return Err(problem(said).at(spot));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| problem(format!("Caddy's own form of it cannot be read: {error}")))
}

/// What holds: a name, why, and the lines that do not.
fn causes(
    adapted: &Value,
    way: &Way,
    version: Version,
) -> Vec<(&'static str, String, &'static str)> {
    let mut found = Vec::new();
    let proxy = way.proxy.as_ref().and_then(|at| adapted.pointer(at));
    let buffers = proxy.and_then(|proxy| proxy.get("response_buffers")).and_then(Value::as_i64);
    if let Some(bytes) = buffers.filter(|bytes| *bytes != 0) {
        let amount = if bytes < 0 { "all".into() } else { format!("up to {bytes} bytes") };
        found.push((
            "response_buffers",
            format!("Caddy reads {amount} of the answer before it passes any of it on"),
            "# in the reverse_proxy block, in place of response_buffers:\nflush_interval -1",
        ));
    }
    if !way.encodes.is_empty() && version < FLUSHED {
        found.push((
            "encode",
            format!("Caddy {version} does not flush its compressor with each event (measured on 2.6.2)"),
            "encode {\n\tgzip\n\tmatch {\n\t\theader Content-Type text/html*\n\t\theader Content-Type text/css*\n\t\t\
             header Content-Type *javascript*\n\t\theader Content-Type application/json*\n\t}\n}",
        ));
    }
    found
}

fn sections(way: &Way, causes: &[(&str, String, &str)]) -> Vec<Section> {
    let causes = causes.iter().map(|(name, why, _)| format!("{name}: {why}"));
    Section::all([
        ("What may lead elsewhere".into(), way.open.clone()),
        ("What holds the stream".into(), causes.collect()),
    ])
}

/// Runs both and reads them. The second is whether it was interrupted.
fn prove(
    proxies: &Proxies,
    program: &Program,
    (adapted, way): (&Value, &Way),
    path: &str,
    frame_bytes: u32,
    proving: &Proving<'_>,
) -> Result<(Proof, bool), Problem> {
    (proving.tell)(Progress::Starting);
    let mut corrected = adapted.clone();
    if let Some(proxy) = way.proxy.as_ref().and_then(|at| corrected.pointer_mut(at)) {
        if let Some(proxy) = proxy.as_object_mut() {
            proxy.remove("response_buffers");
        }
        proxy["flush_interval"] = json!(-1);
    }
    for encode in &way.encodes {
        if let Some(encode) = corrected.pointer_mut(encode) {
            encode["match"] = json!({ "headers": { "Content-Type": TYPES } });
        }
    }
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let begin = |adapted: &Value| {
        start::start(&KIND, program, &|listen, _| {
            let mut server = adapted.pointer(&way.server).cloned().unwrap_or_default();
            alone(&mut server, &emitter.address().to_string());
            server["listen"] = json!([listen.to_string()]);
            server["automatic_https"] = json!({ "disable": true });
            if let Some(server) = server.as_object_mut() {
                server.remove("tls_connection_policies");
                server.remove("logs");
            }
            let whole = json!({
                "admin": { "disabled": true, "config": { "persist": false } },
                "logging": { "logs": { "default": { "level": "WARN" } } },
                "storage": { "module": "file_system", "root": "storage" },
                "apps": { "http": { "servers": { "one": server } } },
            });
            let changed =
                ["upstreams are the emitter", "TLS, logs, logins and other servers are left out"];
            Text { text: whole.to_string(), changed: changed.map(String::from).into() }
        })
    };
    let started = begin(adapted).and_then(|yours| Ok((yours, begin(&corrected)?)));
    let ((yours, changed), (fixed, _)) = match started {
        Ok(started) => started,
        Err(why) => return Ok((Proof::Not(format!("the pinned Caddy refuses it: {why}")), false)),
    };
    let ways = [(YOURS, yours.address), (CORRECTED, fixed.address)];
    let asked = (path, way.host.as_deref());
    let rows = proof::measure(proxies, &emitter, &ways, asked, frame_bytes, proving)?;
    let Some(rows) = rows else { return Ok((Proof::Not("it was interrupted".into()), true)) };
    Ok((Proof::Measured { by: format!("Caddy {}", program.version), rows, changed }, false))
}

/// Puts the emitter behind every reverse_proxy and takes logins out.
fn alone(value: &mut Value, emitter: &str) {
    match value {
        Value::Array(values) => {
            values.retain(|value| value["handler"] != "authentication");
            values.iter_mut().for_each(|value| alone(value, emitter));
        }
        Value::Object(fields) => {
            if fields.get("handler").is_some_and(|handler| handler == "reverse_proxy") {
                for out in ["transport", "dynamic_upstreams", "health_checks", "load_balancing"] {
                    fields.remove(out);
                }
                fields.insert("upstreams".into(), json!([{ "dial": emitter }]));
                let uri = format!("{STREAM}?{{http.request.uri.query}}");
                fields.insert("rewrite".into(), json!({ "uri": uri }));
            }
            fields.values_mut().for_each(|value| alone(value, emitter));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn a_pasted_text_imports_its_own_snippets_and_nothing_else() {
        for fine in [
            "a.example {\n reverse_proxy h:1\n}",
            "(own) {\n header A b\n}\na.example {\n import own\n}",
            "# import /etc/passwd\na.example {\n respond ok\n}",
        ] {
            assert!(outside(fine).is_ok(), "{fine}");
        }
        for bad in [
            "import /etc/passwd",
            "\u{feff}import /etc/passwd",
            "a.example { import /etc/passwd\n}",
            "\"import\" /etc/passwd",
            "`import``/etc/passwd`",
            "\"import\"/etc/passwd",
            "import \\\n /etc/passwd",
            "{$A:import /etc/passwd}",
            "{$A:im}port{$B: /etc/passwd}",
            "(X) {\n}\n<<X\nimport\nX /etc/passwd",
            "(own) {\n import {args[0]}\n}\nimport own /etc/passwd",
        ] {
            assert!(outside(bad).is_err(), "{bad}");
        }
    }
}
