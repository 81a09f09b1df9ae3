//! The key and other headers. The key comes from an environment variable or a file, never from an
//! argument, which everybody on the machine can read; it goes into the request and nowhere else.
//! Whatever a service says is cleaned of it before it is shown or kept: services repeat keys in
//! their error messages.

use std::path::Path;

use crate::exit::Problem;

/// Largest file that is taken for a key: a cookie has up to 4 KB, and some services long tokens.
const MOST_KEY_BYTES: u64 = 64 << 10;
/// Shortest text that is taken out of what a service says. A shorter prompt is a word like others.
const LEAST_HIDDEN: usize = 8;
/// Headers that carry keys.
const SECRET: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
];
/// Query parameters that carry keys.
const SECRET_QUERY: [&str; 6] = ["key", "api_key", "apikey", "api-key", "access_token", "token"];

/// What must not be told.
#[derive(Default)]
pub(crate) struct Secrets {
    /// The header with the key.
    pub(crate) field: Option<(String, String)>,
    hidden: Vec<(String, &'static str)>,
}

impl Secrets {
    /// Reads the key from where it was said to be.
    pub(crate) fn read(
        variable: Option<&str>,
        file: Option<&Path>,
        header: &str,
    ) -> Result<Secrets, Problem> {
        let (text, from) = match (variable, file) {
            (Some(variable), _) => (from_environment(variable)?, format!("--key-env {variable}")),
            (None, Some(file)) => (from_file(file)?, format!("--key-file {}", file.display())),
            (None, None) => return Ok(Secrets::default()),
        };
        let key = text.trim();
        if key.is_empty() {
            return Err(Problem::usage(format!("{from} is empty: it must hold the key")));
        }
        let (name, scheme) = header.split_once(':').unwrap_or((header, ""));
        let (name, scheme) = (name.trim(), scheme.trim());
        http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
            Problem::usage(format!(
                "--key-header {header:?} is no header's name: write x-api-key, or \"Authorization: Bearer\""
            ))
        })?;
        let value = if scheme.is_empty() { key.to_string() } else { format!("{scheme} {key}") };
        http::HeaderValue::from_str(&value).map_err(|_| {
            Problem::usage(format!("{from} holds more than a key: it must be one printable line"))
        })?;
        let mut secrets = Secrets { field: Some((name.into(), value)), hidden: Vec::new() };
        secrets.hidden.push((key.into(), "[key]"));
        Ok(secrets)
    }

    /// Takes a prompt, too, out of what is told.
    pub(crate) fn hide_prompt(&mut self, prompt: &str) {
        let prompt = prompt.trim();
        if prompt.len() >= LEAST_HIDDEN {
            self.hidden.push((prompt.into(), "[prompt]"));
        }
    }

    /// A text of a service's, without what must not be told.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (hidden, shown) in &self.hidden {
            if text.contains(hidden.as_str()) {
                text = text.replace(hidden.as_str(), shown);
            }
        }
        text
    }
}

fn from_environment(variable: &str) -> Result<String, Problem> {
    // A key pasted in the place of a name must not be repeated.
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    if variable.is_empty() || !variable.bytes().all(is_name) {
        return Err(Problem::usage(
            "--key-env takes the name of a variable (capitals, digits, _), never the key itself: write --key-env OPENAI_API_KEY",
        ));
    }
    std::env::var(variable).map_err(|error| {
        Problem::usage(match error {
            std::env::VarError::NotPresent => {
                format!("--key-env {variable}: no such variable is set: export it first")
            }
            std::env::VarError::NotUnicode(_) => format!("--key-env {variable}: it is no text"),
        })
    })
}

fn from_file(file: &Path) -> Result<String, Problem> {
    let named = |why: &dyn std::fmt::Display| {
        Problem::usage(format!("--key-file {}: {why}", file.display()))
    };
    let size = std::fs::metadata(file).map_err(|error| named(&error))?.len();
    if size > MOST_KEY_BYTES {
        return Err(named(&format!("{size} bytes are no key")));
    }
    // A file that is no text is no key; its bytes are not repeated.
    std::fs::read_to_string(file).map_err(|error| named(&error))
}

/// A header as it was asked for on the command line.
pub(crate) fn field(text: &str) -> Result<(String, String), Problem> {
    // The value may be secret and is not repeated.
    let bad = |why: &str| {
        let name: String = text.split(':').next().unwrap_or_default().chars().take(40).collect();
        Problem::usage(format!("-H {name:?}: {why}"))
    };
    let (name, value) = text.split_once(':').ok_or_else(|| bad("it is written 'Name: value'"))?;
    let (name, value) = (name.trim(), value.trim());
    http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("that is no header's name"))?;
    http::HeaderValue::from_str(value).map_err(|_| bad("its value must be printable"))?;
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    if SECRET.iter().any(is) {
        let header = if is(&"authorization") {
            String::new()
        } else {
            format!(", and --key-header '{name}'")
        };
        return Err(Problem::usage(format!(
            "-H {name}: everybody on this machine can read arguments: put the key into a variable or a file and use --key-env VAR or --key-file FILE{header}"
        )));
    }
    const OURS: [&str; 4] = ["connection", "content-length", "transfer-encoding", "te"];
    if OURS.iter().any(is) {
        return Err(bad("that one is the connection's own"));
    }
    if name.eq_ignore_ascii_case("accept-encoding") {
        return Err(bad("use --accept-encoding"));
    }
    Ok((name.into(), value.into()))
}

/// Refuses a URL that holds a key.
pub(crate) fn check_url(target: &crate::target::Target) -> Result<(), Problem> {
    if target.has_credentials() {
        return Err(Problem::usage(
            "the URL holds credentials, and everybody on this machine can read arguments: put them into a file, as base64 of user:password, and use --key-file FILE --key-header 'Authorization: Basic'",
        ));
    }
    let secret = |name: &str| SECRET_QUERY.iter().any(|known| name.eq_ignore_ascii_case(known));
    match target.query().iter().find(|(name, _)| secret(name)) {
        Some((name, _)) => Err(Problem::usage(format!(
            "the URL's query holds {name:?}, and everybody on this machine can read arguments: use --key-env VAR with --key-header, such as x-goog-api-key"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn a_key_is_put_into_its_header_and_taken_out_of_texts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "sk-abc123\n").unwrap();
        for (header, field) in [
            ("Authorization: Bearer", ("Authorization", "Bearer sk-abc123")),
            ("x-api-key", ("x-api-key", "sk-abc123")),
        ] {
            let mut secrets = Secrets::read(None, Some(&file), header).unwrap();
            assert_eq!(secrets.field, Some((field.0.into(), field.1.into())));
            secrets.hide_prompt("tell me all about it");
            secrets.hide_prompt("hi");
            assert_eq!(
                secrets.clean("hi: key sk-abc123 is not good to tell me all about it"),
                "hi: key [key] is not good to [prompt]"
            );
        }
        std::fs::write(&file, " \n").unwrap();
        let said = |header| Secrets::read(None, Some(&file), header).err().unwrap().to_string();
        assert!(said("x").ends_with("is empty: it must hold the key"));
        std::fs::write(&file, "one\ntwo").unwrap();
        let two = said("x");
        assert!(two.ends_with("it must be one printable line") && !two.contains("two"), "{two}");
    }

    #[test]
    fn keys_on_the_command_line_are_refused_with_the_way_to_do_it() {
        for text in ["Authorization: Bearer s3cret", "x-API-key: s3cret", "Cookie: s3cret=1"] {
            let said = field(text).unwrap_err().to_string();
            assert!(said.contains("--key-env VAR") && !said.contains("s3cret"), "{said}");
        }
        assert_eq!(field("X-Own:  a b ").unwrap(), ("X-Own".into(), "a b".into()));
        for url in ["http://u:s3cret@127.0.0.1:1/x", "http://127.0.0.1:1/x?alt=sse&key=s3cret"] {
            let said = check_url(&Target::resolve(url).unwrap()).unwrap_err().to_string();
            assert!(said.contains("--key-") && !said.contains("s3cret"), "{said}");
        }
        assert!(check_url(&Target::resolve("http://127.0.0.1:1/x?alt=sse").unwrap()).is_ok());
    }
}
