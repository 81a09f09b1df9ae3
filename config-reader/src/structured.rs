//! Configurations that are data: YAML, TOML and JSON in one form, read within bounds, masked, and
//! written again.

use serde_json::{Map, Value};

use crate::nginx::source::MOST_BYTES;
use crate::secret::{self, MASK};

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl Format {
    /// What the first line that says something looks like.
    pub fn of(text: &str) -> Self {
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', '%']));
        let first = first.unwrap_or_default();
        let key = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "._-\"' ".contains(c));
        let assigns = first.split_once('=').is_some_and(|(name, _)| key(name));
        match first {
            _ if first.starts_with('{') => Self::Json,
            _ if first.starts_with('[') || assigns => Self::Toml,
            _ => Self::Yaml,
        }
    }
}

/// Anchors that are used again at most: a file of a person's has a handful.
const MOST_ALIASES: usize = 1_000;

/// Values in all, those that come by anchors included: a large Envoy configuration has some ten
/// thousand.
const MOST_NODES: usize = 300_000;

/// Levels in each other: Envoy's own nest some thirty.
const MOST_DEPTH: usize = 100;

/// Reads a text. The error is one line with line and column, and repeats nothing secret.
pub fn read(text: &str) -> Result<(Value, Format), String> {
    if text.len() > MOST_BYTES {
        return Err(format!(
            "it has {} bytes, and {MOST_BYTES} is the most that is read: is it a configuration?",
            text.len()
        ));
    }
    let format = Format::of(text);
    let value = match format {
        Format::Json => serde_json::from_str(text).map_err(|error| {
            let why = error.to_string();
            let why = why.split(" at line").next().unwrap_or_default().to_owned();
            place(error.line(), error.column(), &why)
        }),
        Format::Toml => toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let before = text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            place(line, column, error.message())
        }),
        Format::Yaml => yaml(text),
    }?;
    match value {
        Value::Object(_) => Ok((value, format)),
        _ => Err("it is no configuration: a list of names and values was expected".into()),
    }
}

fn place(line: usize, column: usize, why: &str) -> String {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let why: String = why.chars().take(200).collect();
    format!("line {line}, column {column}: {}", secret::text(&why))
}

fn yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: MOST_ALIASES,
            max_nodes: MOST_NODES,
            max_depth: MOST_DEPTH,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MOST_NODES,
        },
        // A snippet would repeat lines of the file.
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let why = plainly(error.to_string());
        match error.location() {
            Some(at) => {
                let line = usize::try_from(at.line()).unwrap_or_default();
                let column = usize::try_from(at.column()).unwrap_or_default();
                // It ends with the place, which is said already.
                let why = why.split(" at line").next().unwrap_or_default();
                place(line, column, why)
            }
            None => secret::text(&why.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    })
}

/// What the parser says in words of its own interface, in the reader's.
fn plainly(why: String) -> String {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["Depth {"]) {
        return format!(
            "more than {MOST_DEPTH} levels in each other: no configuration has so many"
        );
    }
    if says(&["budget breached", "replay limit", "recursive references"]) {
        return format!(
            "more than {MOST_NODES} values, or aliases that multiply or hold themselves: that is \
             not read"
        );
    }
    if says(&["from_str_multiple"]) {
        return "several documents in one file: give the one that is meant".into();
    }
    why
}

/// A text again, comments gone.
pub fn write(value: &Value, format: Format) -> String {
    let json = || format!("{value:#}\n");
    match format {
        Format::Json => json(),
        Format::Toml => toml::to_string(value).unwrap_or_else(|_| json()),
        Format::Yaml => serde_saphyr::to_string(value).unwrap_or_else(|_| json()),
    }
}

/// A field by its name, however it is cased: `route_config` and `routeConfig` are the same.
pub fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let key = key_of(value, name)?;
    value.get(key)
}

/// The field's own spelling.
pub fn key_of<'v>(value: &'v Value, name: &str) -> Option<&'v String> {
    let plain = |c: &char| *c != '_';
    let same = |own: &str| {
        let own = own.chars().filter(plain).map(|c| c.to_ascii_lowercase());
        own.eq(name.chars().filter(plain).map(|c| c.to_ascii_lowercase()))
    };
    value.as_object()?.keys().find(|key| same(key))
}

/// A field by names one in the other.
pub fn at<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().try_fold(value, |value, name| field(value, name))
}

/// A field's list; empty where there is none.
pub fn list<'v>(value: &'v Value, names: &[&str]) -> &'v [Value] {
    at(value, names).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A field's text; empty where there is none.
pub fn word<'v>(value: &'v Value, names: &[&str]) -> &'v str {
    at(value, names).and_then(Value::as_str).unwrap_or_default()
}

/// A field's table, made if there is none.
pub fn table<'v>(value: &'v mut Value, name: &str) -> &'v mut Map<String, Value> {
    let key = key_of(value, name).cloned().unwrap_or_else(|| name.to_owned());
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let fields = value.as_object_mut().expect("made an object above");
    let inner = fields.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    inner.as_object_mut().expect("made an object above")
}

/// Sets a field, whatever its spelling.
pub fn set(value: &mut Value, name: &str, to: Value) {
    let key = key_of(value, name).cloned().unwrap_or_else(|| name.to_owned());
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key, to);
    }
}

/// Takes a field out, whatever its spelling.
pub fn remove(value: &mut Value, name: &str) -> Option<Value> {
    let key = key_of(value, name).cloned()?;
    value.as_object_mut()?.remove(&key)
}

/// A duration in milliseconds: `15s`, `1m30s`, `500ms`, `1.5s`, or a number of seconds.
pub fn millis(value: &Value) -> Option<u64> {
    if let Some(seconds) = value.as_f64() {
        return Some((seconds * 1000.0) as u64);
    }
    let text = value.as_str()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Some((seconds.max(0.0) * 1000.0) as u64);
    }
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..end] {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1_000.0,
                "ms" => 1.0,
                "us" | "µs" => 0.001,
                "ns" => 0.000_001,
                _ => return None,
            };
        rest = &rest[end..];
    }
    Some(total as u64)
}

/// Fields whose values are secret, say where secrets lie, or are code that may hold some.
const SECRET: &[&str] = &[
    "users",
    "usersFile",
    "keyFile",
    "certFile",
    "privateKey",
    "privateKeyProvider",
    "certificateChain",
    "certificates",
    "key",
    "cert",
    "inlineBytes",
    "clientSecret",
    "inlineCode",
    "defaultSourceCode",
    "sourceCodes",
    "filename",
    "hmacSecret",
    "password",
    "localJwks",
    "eab",
    "sessionTicketKeys",
];

/// The same with nothing secret in it.
pub fn masked(value: &Value) -> Value {
    mask(value, "")
}

fn mask(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(fields) => {
            // `{header: {key: Authorization, value: …}}`: the pair is named inside.
            let named = ["key", "name"].iter().any(|own| {
                let own = fields.get(*own).and_then(Value::as_str);
                own.is_some_and(secret::is_secret_name)
            });
            // Matches of headers and parameters name what they compare with.
            let values = [
                "value",
                "rawvalue",
                "stringmatch",
                "exactmatch",
                "prefixmatch",
                "suffixmatch",
                "containsmatch",
                "saferegexmatch",
            ];
            let plain = |key: &str| key.replace('_', "").to_ascii_lowercase();
            let pair = |key: &str| named && values.contains(&plain(key).as_str());
            let paired = fields.contains_key("value");
            let each = fields.iter().map(|(key, own)| {
                let lone = key == "key" && paired;
                let hidden = pair(key) || (hides(key, own, name) && !lone);
                (key.clone(), if hidden { hide(own) } else { mask(own, key) })
            });
            Value::Object(each.collect())
        }
        Value::Array(values) => values.iter().map(|own| mask(own, name)).collect(),
        Value::String(text) => secret::text(text).into(),
        other => other.clone(),
    }
}

/// Whether a field is one whose value is secret; names of types and of middlewares are not.
fn hides(key: &str, value: &Value, around: &str) -> bool {
    let known = SECRET.iter().any(|own| {
        let plain = |text: &str| text.replace('_', "").to_ascii_lowercase();
        plain(own) == plain(key)
    });
    let names =
        matches!(around, "middlewares" | "routers" | "services" | "typed_per_filter_config");
    let text = value.is_string();
    known && around != "file" || (text && !names && secret::is_secret_name(key))
}

/// Every text of it.
fn hide(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, own)| (key.clone(), hide(own))).collect::<Map<_, _>>().into()
        }
        Value::Array(values) => values.iter().map(hide).collect(),
        Value::String(_) => MASK.into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_ways_to_write_it_are_told_apart_and_read_alike() {
        let json = "{\"http\": {\"a\": 1}}";
        let (yaml, toml) = ("# x\nhttp:\n  a: 1\n", "# x\n[http]\na = 1\n");
        for (text, format) in [(json, Format::Json), (yaml, Format::Yaml), (toml, Format::Toml)] {
            let (value, read) = read(text).unwrap();
            assert_eq!((at(&value, &["HTTP", "a"]), read), (Some(&1.into()), format), "{text}");
            assert_eq!(super::read(&write(&value, format)).unwrap().0, value);
        }
    }

    #[test]
    fn what_cannot_be_read_says_where_and_repeats_no_secret() {
        for (text, place) in [
            ("http:\n  routers: [a, b\n  token: S3CRET\n", "line "),
            ("http:\n  a: 1\n  a: 2\n", "line 3, column 3: "),
            ("{\"a\": 1,\n \"b\" 2}", "line 2, column 6: "),
            ("[http]\na = \"S3CRET\nb = 1\n", "line 2, column "),
            ("just words", "it is no configuration"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(place) && !error.contains("S3CRET"), "{text:?}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    /// Nine levels of nine would be 387 million values.
    #[test]
    fn anchors_do_not_multiply_without_end() {
        let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let before = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 9].join(",")));
        }
        let error = read(&text).unwrap_err();
        assert!(!error.contains('\n') && error.len() < 300, "{error}");
        assert!(read(&format!("a: {}", "[".repeat(100_000))).is_err());
    }

    #[test]
    fn durations_are_read_as_both_write_them() {
        for (text, ms) in [("15s", 15_000), ("1m30s", 90_000), ("0.5s", 500), ("20ms", 20)] {
            assert_eq!(millis(&text.into()), Some(ms), "{text}");
        }
        assert_eq!(millis(&15.into()), Some(15_000));
        assert_eq!(millis(&"soon".into()), None);
    }

    #[test]
    fn nothing_secret_is_repeated() {
        let (value, _) = read(
            "http:\n  middlewares:\n    login-token:\n      basicAuth: {users: [\"a:S3CRET\"]}\n    \
             h: {headers: {customRequestHeaders: {Authorization: S3CRET, X-A: b}}}\n\
             tls: {certificates: [{certFile: S3CRET, keyFile: S3CRET}]}\n\
             add: [{header: {key: x-api-key, value: S3CRET}}, {header: {key: x-a, value: kept}}]\n\
             lua: {inline_code: S3CRET}\nurl: http://u:S3CRET@h/\n",
        )
        .unwrap();
        let text = write(&masked(&value), Format::Yaml);
        assert!(!text.contains("S3CRET"), "{text}");
        for kept in ["login-token", "x-api-key", "kept", "X-A"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }
}
