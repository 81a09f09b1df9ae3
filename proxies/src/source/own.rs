//! A program the user brings along: `--own haproxy=/opt/haproxy/haproxy`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::system::is_executable;
use crate::names::{EngineName, NameError};

/// Which program to use for an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProgram {
    /// The engine.
    pub engine: EngineName,
    /// The program.
    pub path: PathBuf,
}

/// A program of one's own that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnProgramError {
    /// Not ENGINE=PATH.
    #[error("cannot read `{0}`: write ENGINE=PATH, such as haproxy=/usr/sbin/haproxy")]
    Shape(String),
    /// The engine's name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Nothing there that can be run.
    #[error("cannot run {} as {engine}: no executable file there; check the path", .path.display())]
    NotThere {
        /// The engine.
        engine: EngineName,
        /// The path.
        path: PathBuf,
    },
}

impl FromStr for OwnProgram {
    type Err = OwnProgramError;

    fn from_str(text: &str) -> Result<Self, OwnProgramError> {
        match text.split_once('=') {
            Some((engine, path)) if !path.is_empty() => {
                Ok(Self { engine: engine.parse()?, path: PathBuf::from(path) })
            }
            _ => Err(OwnProgramError::Shape(text.to_owned())),
        }
    }
}

impl OwnProgram {
    /// The path, if something executable is there.
    pub(super) fn checked(&self) -> Result<&Path, OwnProgramError> {
        if is_executable(&self.path) {
            Ok(&self.path)
        } else {
            let (engine, path) = (self.engine.clone(), self.path.clone());
            Err(OwnProgramError::NotThere { engine, path })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_engine_and_path() {
        let own: OwnProgram = "haproxy=/opt/a=b/haproxy".parse().unwrap();
        assert_eq!(own.engine.as_str(), "haproxy");
        assert_eq!(own.path, Path::new("/opt/a=b/haproxy"));
        for bad in ["haproxy", "haproxy=", "=x", "HAProxy=/x"] {
            assert!(bad.parse::<OwnProgram>().is_err(), "{bad}");
        }
        assert!(own.checked().unwrap_err().to_string().starts_with("cannot run /opt/a=b/haproxy"));
    }
}
