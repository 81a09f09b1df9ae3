//! `{{placeholder}}` in configuration files and argument lists.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use nix::unistd::{Gid, Group, Uid, User};

/// A placeholder that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The text asks for something nobody provides.
    #[error("cannot render {file}: nothing fills `{{{{{name}}}}}`; known: {known}")]
    Unknown {
        /// The file, or the registry's field.
        file: String,
        /// The placeholder.
        name: String,
        /// The placeholders there are, joined by commas.
        known: String,
    },
    /// `{{` without `}}`.
    #[error("cannot render {file}: a `{{{{` is never closed; write `}}}}` behind the placeholder")]
    Unclosed {
        /// The file, or the registry's field.
        file: String,
    },
}

/// What placeholders stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values(BTreeMap<&'static str, String>);

impl Values {
    /// No values yet, but for who runs this.
    pub(crate) fn new() -> Self {
        // An account without a name (common in containers) is written as its number.
        let user = User::from_uid(Uid::effective()).ok().flatten();
        let group = Group::from_gid(Gid::effective()).ok().flatten();
        let mut values = Self::default();
        values.set("user", user.map_or_else(|| Uid::effective().to_string(), |u| u.name));
        values.set("group", group.map_or_else(|| Gid::effective().to_string(), |g| g.name));
        values
    }

    /// Fills in one placeholder.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.insert(name, value.into());
    }

    /// Fills in a path.
    pub(crate) fn set_path(&mut self, name: &'static str, path: &Path) {
        self.set(name, path.to_string_lossy());
    }

    /// Fills in an address as NAME, NAME_host and NAME_port.
    pub(crate) fn set_address(&mut self, names: [&'static str; 3], address: SocketAddr) {
        let [whole, host, port] = names;
        self.set(whole, address.to_string());
        self.set(host, address.ip().to_string());
        self.set(port, address.port().to_string());
    }

    /// The text with every placeholder filled in; `file` is named in the error.
    pub(crate) fn render(&self, file: &str, text: &str) -> Result<String, RenderError> {
        let mut rendered = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let Some((name, after)) = behind.split_once("}}") else {
                return Err(RenderError::Unclosed { file: file.to_owned() });
            };
            let Some(value) = self.0.get(name) else {
                return Err(RenderError::Unknown {
                    file: file.to_owned(),
                    name: name.to_owned(),
                    known: self.0.keys().copied().collect::<Vec<_>>().join(", "),
                });
            };
            rendered.push_str(before);
            rendered.push_str(value);
            rest = after;
        }
        rendered.push_str(rest);
        Ok(rendered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_and_refuses() {
        let mut values = Values::default();
        values
            .set_address(["listen", "listen_host", "listen_port"], "127.0.0.1:80".parse().unwrap());
        assert_eq!(
            values.render("f", "a {{listen}} b {{listen_port}}{{listen_host}}").unwrap(),
            "a 127.0.0.1:80 b 80127.0.0.1"
        );
        assert_eq!(
            values.render("f", "{{nobody}}").unwrap_err().to_string(),
            "cannot render f: nothing fills `{{nobody}}`; known: listen, listen_host, listen_port"
        );
        assert!(matches!(values.render("f", "{{listen"), Err(RenderError::Unclosed { .. })));
    }

    #[test]
    fn a_value_is_not_rendered_again() {
        let mut values = Values::default();
        values.set("scratch", "{{scratch}}");
        assert_eq!(values.render("f", "{{scratch}}").unwrap(), "{{scratch}}");
    }
}
