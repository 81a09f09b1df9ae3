//! What a response's head says of the hops: suspects, never culprits.
//!
//! A header can be left out, copied, or lie; it names whom to look at first and which lines to
//! show, and decides nothing.

use super::Software;

/// Somebody that a header speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The program, where its cures are known.
    pub software: Option<Software>,
    /// Its name.
    pub name: &'static str,
    /// The version, where the header says it.
    pub version: Option<String>,
    /// The header field that says so.
    pub field: String,
}

/// Names in `Server`, `Via` and `X-Powered-By`, in lower case, with whom they speak of.
const NAMED: &[(&str, &str, Option<Software>)] = &[
    ("nginx", "nginx", Some(Software::Nginx)),
    ("openresty", "OpenResty", Some(Software::Nginx)),
    ("tengine", "Tengine", Some(Software::Nginx)),
    ("haproxy", "HAProxy", Some(Software::Haproxy)),
    ("caddy", "Caddy", Some(Software::Caddy)),
    ("traefik", "Traefik", Some(Software::Traefik)),
    ("envoy", "Envoy", Some(Software::Envoy)),
    ("apache", "Apache", Some(Software::Apache)),
    ("varnish", "Varnish", Some(Software::Varnish)),
    ("express", "Express", Some(Software::NodeCompression)),
    ("cloudflare", "Cloudflare", None),
    ("cloudfront", "CloudFront", None),
    ("google", "a Google front end", None),
    ("vegur", "Heroku's router", None),
    ("fly", "Fly.io's proxy", None),
    ("squid", "Squid", None),
    ("litespeed", "LiteSpeed", None),
    ("lighttpd", "lighttpd", None),
    ("akamai", "Akamai", None),
    ("uvicorn", "uvicorn", None),
    ("gunicorn", "Gunicorn", None),
];

/// Fields that only one sets.
const FIELDS: &[(&str, &str, Option<Software>)] = &[
    ("cf-ray", "Cloudflare", None),
    ("x-amz-cf-id", "CloudFront", None),
    ("x-served-by", "Fastly", None),
    ("x-varnish", "Varnish", Some(Software::Varnish)),
    ("x-envoy-upstream-service-time", "Envoy", Some(Software::Envoy)),
    ("x-akamai-transformed", "Akamai", None),
    ("fly-request-id", "Fly.io's proxy", None),
];

/// Fields that speak of a hop whoever it is, worth showing.
const TELLING: &[&str] = &[
    "server",
    "via",
    "x-powered-by",
    "x-cache",
    "age",
    "alt-svc",
    "x-accel-buffering",
    "cache-control",
];

/// Whom a head speaks of, each once, in the order of its fields.
pub fn suspects<'a>(head: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Suspect> {
    let mut found: Vec<Suspect> = Vec::new();
    for (field, value) in head {
        let lower = field.to_ascii_lowercase();
        let said = FIELDS.iter().find(|(name, ..)| *name == lower).map(|(_, name, software)| {
            Suspect { software: *software, name, version: None, field: field_text(field, value) }
        });
        let speaks = matches!(lower.as_str(), "server" | "via" | "x-powered-by");
        let value_lower = value.to_ascii_lowercase();
        let by_name = NAMED.iter().filter(|(name, ..)| speaks && value_lower.contains(name)).map(
            |(word, name, software)| Suspect {
                software: *software,
                name,
                version: version_after(&value_lower, word),
                field: field_text(field, value),
            },
        );
        for suspect in said.into_iter().chain(by_name) {
            if found.iter().all(|known| known.name != suspect.name) {
                found.push(suspect);
            }
        }
    }
    found
}

/// The fields worth showing as evidence.
pub fn telling<'a>(
    head: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    head.into_iter().filter(|(field, _)| {
        let lower = field.to_ascii_lowercase();
        TELLING.contains(&lower.as_str()) || FIELDS.iter().any(|(name, ..)| *name == lower)
    })
}

/// A field as it stood, cut where it goes on and on.
fn field_text(field: &str, value: &str) -> String {
    // Longer than any program's name with its version; a Via of a long chain is cut.
    const SHOWN: usize = 80;
    format!("{field}: {}", value.chars().take(SHOWN).collect::<String>())
}

/// The version behind a name and a slash.
fn version_after(value: &str, name: &str) -> Option<String> {
    let (_, rest) = value.split_once(name)?;
    let version: String = rest
        .strip_prefix('/')?
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
        .take(24)
        .collect();
    (!version.is_empty()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_name_suspects_with_versions() {
        let head = [
            ("Server", "nginx/1.22.1"),
            ("Via", "1.1 varnish, 1.1 Caddy"),
            ("X-Varnish", "32770"),
            ("CF-RAY", "8a"),
            ("Content-Type", "text/event-stream; by=nginx"),
        ];
        let found = suspects(head);
        let names: Vec<&str> = found.iter().map(|suspect| suspect.name).collect();
        assert_eq!(names, ["nginx", "Caddy", "Varnish", "Cloudflare"]);
        assert_eq!(found[0].version.as_deref(), Some("1.22.1"));
        assert_eq!(found[0].field, "Server: nginx/1.22.1");
        assert_eq!(found[3].software, None);
        assert_eq!(suspects([("Content-Type", "text/event-stream")]), []);
    }

    #[test]
    fn only_telling_fields_are_shown() {
        let head = [("Date", "x"), ("X-Cache", "MISS"), ("Set-Cookie", "secret")];
        assert_eq!(telling(head).collect::<Vec<_>>(), [("X-Cache", "MISS")]);
    }
}
