//! The engines: driver program, arguments, and how to get them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A browser engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// Chromium, by chromedriver.
    Chromium,
}

impl Engine {
    /// The name in results and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Chromium => "chromium",
        }
    }

    /// What the driver's program is called.
    pub(crate) fn driver(self) -> &'static str {
        match self {
            Engine::Chromium => "chromedriver",
        }
    }

    /// The one line that gets browser and driver on Debian and Ubuntu.
    pub(crate) fn install(self) -> &'static str {
        match self {
            Engine::Chromium => "apt-get install chromium chromium-driver",
        }
    }

    /// The driver's program, if it is on PATH.
    pub(crate) fn find_driver(self) -> Option<PathBuf> {
        find(self.driver(), std::env::var_os("PATH"))
    }

    /// Arguments that make the driver listen on a port.
    pub(crate) fn driver_arguments(self, port: u16) -> Vec<OsString> {
        match self {
            Engine::Chromium => vec![format!("--port={port}").into()],
        }
    }

    /// Capabilities of a session: headless, with a fresh profile, and none of the background
    /// traffic that would share the machine with the measurement.
    pub(crate) fn capabilities(self, profile: &Path) -> Value {
        match self {
            Engine::Chromium => {
                let mut arguments = vec![
                    "--headless".to_string(),
                    "--disable-gpu".into(),
                    "--disable-quic".into(),
                    "--no-first-run".into(),
                    "--disable-background-networking".into(),
                    "--disable-component-update".into(),
                    "--disable-sync".into(),
                    "--disable-dev-shm-usage".into(),
                    format!("--user-data-dir={}", profile.display()),
                ];
                if nix::unistd::geteuid().is_root() {
                    // Chromium refuses to start as root with its sandbox.
                    arguments.push("--no-sandbox".into());
                }
                json!({
                    "browserName": "chrome",
                    "acceptInsecureCerts": true,
                    "goog:chromeOptions": { "args": arguments },
                })
            }
        }
    }
}

/// A program in the folders of a PATH.
fn find(program: &str, path: Option<OsString>) -> Option<PathBuf> {
    std::env::split_paths(&path?).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_first_folder_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::join_paths(["/nonexistent".as_ref(), folder.path()]).unwrap();
        assert_eq!(find("driver", Some(path.clone())), None);
        std::fs::write(folder.path().join("driver"), "").unwrap();
        assert_eq!(find("driver", Some(path)), Some(folder.path().join("driver")));
        assert_eq!(find("driver", None), None);
    }

    #[test]
    fn sessions_are_headless_with_a_profile_of_their_own() {
        let wanted = Engine::Chromium.capabilities(Path::new("/p"));
        let arguments = wanted["goog:chromeOptions"]["args"].to_string();
        assert!(arguments.contains("--headless"));
        assert!(arguments.contains("--user-data-dir=/p"));
    }
}
