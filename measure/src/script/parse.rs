//! Query parameters to scripts and back.

use super::{Body, Framing, Header, NAMES, Script, ScriptError};
use crate::units::Span;

impl Script {
    /// A script from query parameters: `script=NAME` to start from, then `frames`,
    /// `interval_ms` (up to three decimals), `frame_bytes`, `framing=chunked|close`,
    /// `nagle=on|off` and any number of `header=Name: value`.
    ///
    /// # Errors
    /// When a parameter is unknown, unreadable or out of its bounds.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Script, ScriptError> {
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let mut script = match pairs.iter().find(|(key, _)| *key == "script") {
            Some((_, name)) => Script::named(name)?,
            None => Script::headline(),
        };
        for (key, value) in pairs {
            script.set(key, value)?;
        }
        script.check()?;
        Ok(script)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ScriptError> {
        let unreadable = |what, expected| ScriptError::Unreadable {
            what,
            value: value.chars().take(80).collect(),
            expected,
        };
        match key {
            "script" => return Ok(()),
            "framing" => {
                self.framing = match value {
                    "chunked" => Framing::Chunked,
                    "close" => Framing::Close,
                    _ => return Err(unreadable("framing", "it must be chunked or close")),
                };
                return Ok(());
            }
            "nagle" => {
                self.nagle = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(unreadable("nagle", "it must be on or off")),
                };
                return Ok(());
            }
            "header" => {
                let (name, value) = value
                    .split_once(':')
                    .ok_or_else(|| unreadable("header", "it must be written Name: value"))?;
                self.headers.push(Header { name: name.trim().into(), value: value.trim().into() });
                return Ok(());
            }
            _ => {}
        }
        let Body::Paced { frames, interval_us, frame_bytes } = &mut self.body else {
            return Err(ScriptError::UnknownParameter(key.chars().take(40).collect()));
        };
        match key {
            "frames" => {
                *frames =
                    value.parse().map_err(|_| unreadable("frames", "it must be a whole number"))?;
            }
            "frame_bytes" => {
                *frame_bytes = value
                    .parse()
                    .map_err(|_| unreadable("frame_bytes", "it must be a whole number"))?;
            }
            "interval_ms" => {
                *interval_us = Span::from_millis_text(value).ok_or_else(|| {
                    unreadable("interval_ms", "it must be a number of milliseconds")
                })?;
            }
            _ => return Err(ScriptError::UnknownParameter(key.chars().take(40).collect())),
        }
        Ok(())
    }

    /// The query parameters that make this script again, in a fixed order; `None` for one that
    /// is neither paced nor named.
    pub fn to_query(&self) -> Option<Vec<(&'static str, String)>> {
        let mut query = match &self.body {
            Body::Paced { frames, interval_us, frame_bytes } => vec![
                ("frames", frames.to_string()),
                ("interval_ms", interval_us.millis_text()),
                ("frame_bytes", frame_bytes.to_string()),
            ],
            Body::Writes { .. } => {
                let named =
                    |name: &&str| Script::named(name).is_ok_and(|known| known.body == self.body);
                vec![("script", NAMES.into_iter().find(named)?.to_string())]
            }
        };
        if self.framing == Framing::Close {
            query.push(("framing", "close".into()));
        }
        if self.nagle {
            query.push(("nagle", "on".into()));
        }
        for Header { name, value } in &self.headers {
            query.push(("header", format!("{name}: {value}")));
        }
        Some(query)
    }
}
