//! Finds drivers, browsers and the X server where they usually are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::browser::engine::{Engine, Found};
use crate::browser::error::DriverError;

/// Where programs may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    path: Option<OsString>,
    /// The user's own, which holds what `cargo install` made.
    home: Option<PathBuf>,
    /// The project's cache, where `cargo xtask test` keeps a geckodriver.
    cache: Option<PathBuf>,
    /// The system's, below which distributions keep MiniBrowser.
    libraries: PathBuf,
    screen: bool,
}

impl Places {
    /// Those of this machine and user.
    pub(crate) fn of_user() -> Places {
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Places {
            path: std::env::var_os("PATH"),
            home: std::env::var_os("HOME").map(PathBuf::from),
            // Without a home there is no cache, and nothing in it.
            cache: proxies::cache_folder().ok(),
            libraries: "/usr/lib".into(),
            screen: ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(set),
        }
    }

    /// Everything an engine needs.
    ///
    /// # Errors
    /// The first thing that is missing, with what installs it.
    pub(crate) fn find(&self, engine: Engine) -> Result<Found, DriverError> {
        let missing = |what, install| DriverError::Missing { engine: engine.name(), what, install };
        let driver = self.on_path(engine.driver());
        let driver = match engine {
            Engine::Firefox => driver.or_else(|| self.geckodriver()),
            Engine::Chromium | Engine::Webkit => driver,
        };
        let driver = driver.ok_or_else(|| {
            let install = match engine {
                Engine::Firefox => "cargo install geckodriver --version 0.37.1 --locked",
                Engine::Chromium | Engine::Webkit => engine.install(),
            };
            missing(engine.driver(), install)
        })?;
        let browser = match engine {
            // Its driver looks in more places than we know.
            Engine::Chromium => None,
            Engine::Firefox => {
                let found =
                    ["firefox", "firefox-esr"].iter().find_map(|program| self.on_path(program));
                if found.is_none() && cfg!(target_os = "linux") {
                    return Err(missing("firefox", "apt-get install firefox-esr"));
                }
                found
            }
            Engine::Webkit => Some(
                self.mini_browser()
                    .ok_or_else(|| missing("MiniBrowser of webkit2gtk-4.1", engine.install()))?,
            ),
        };
        let screen = match engine.needs_screen() && !self.screen {
            true => Some(
                self.on_path("Xvfb")
                    .ok_or_else(|| missing("screen, nor Xvfb", "apt-get install xvfb"))?,
            ),
            false => None,
        };
        Ok(Found { driver, browser, screen })
    }

    fn on_path(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(self.path.as_ref()?)
            .map(|folder| folder.join(program))
            .find(|file| file.is_file())
    }

    /// Cargo's folder need not be on PATH; the cache's never is.
    fn geckodriver(&self) -> Option<PathBuf> {
        let own = self.home.as_ref().map(|home| home.join(".cargo/bin/geckodriver"));
        let versions = self.cache.as_ref().map(|cache| cache.join("drivers"));
        let mut kept: Vec<PathBuf> = versions.map_or(Vec::new(), |folder| entries(&folder));
        kept.retain(|folder| {
            folder
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("geckodriver-"))
        });
        kept.sort();
        let kept = kept.into_iter().rev().map(|folder| folder.join("bin/geckodriver"));
        own.into_iter().chain(kept).find(|file| file.is_file())
    }

    fn mini_browser(&self) -> Option<PathBuf> {
        let place = Path::new("webkit2gtk-4.1/MiniBrowser");
        // Debian has a folder for each architecture, others have none.
        std::iter::once(self.libraries.clone())
            .chain(entries(&self.libraries))
            .map(|folder| folder.join(place))
            .find(|file| file.is_file())
    }
}

/// What is in a folder, in a fixed order; nothing where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files, in a folder of its own.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn with(files: &[&str]) -> Machine {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let file = folder.path().join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, "").unwrap();
            }
            Machine(folder)
        }

        fn at(&self, file: &str) -> PathBuf {
            self.0.path().join(file)
        }

        fn places(&self) -> Places {
            let path = std::env::join_paths([PathBuf::from("/nonexistent"), self.at("bin")]);
            Places {
                path: path.ok(),
                home: Some(self.at("home")),
                cache: Some(self.at("cache")),
                libraries: self.at("lib"),
                screen: false,
            }
        }
    }

    #[test]
    fn a_driver_on_the_path_is_found() {
        let machine = Machine::with(&["bin/chromedriver"]);
        let found = machine.places().find(Engine::Chromium).unwrap();
        assert_eq!(found.driver, machine.at("bin/chromedriver"));
    }

    #[test]
    fn a_geckodriver_is_found_off_the_path_too() {
        let kept = "cache/drivers/geckodriver-0.37.1/bin/geckodriver";
        let older = "cache/drivers/geckodriver-0.36.0/bin/geckodriver";
        let machine = Machine::with(&[kept, older, "bin/firefox-esr"]);
        let found = machine.places().find(Engine::Firefox).unwrap();
        assert_eq!(found.driver, machine.at(kept));
        assert_eq!(found.browser, Some(machine.at("bin/firefox-esr")));
        let own = "home/.cargo/bin/geckodriver";
        let machine = Machine::with(&[kept, own, "bin/firefox"]);
        assert_eq!(machine.places().find(Engine::Firefox).unwrap().driver, machine.at(own));
    }

    #[test]
    fn webkit_brings_a_screen_only_where_there_is_none() {
        let browser = "lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";
        let machine = Machine::with(&["bin/WebKitWebDriver", "bin/Xvfb", browser]);
        let found = machine.places().find(Engine::Webkit).unwrap();
        assert_eq!(found.browser, Some(machine.at(browser)));
        assert_eq!(found.screen, Some(machine.at("bin/Xvfb")));
        let places = Places { screen: true, ..machine.places() };
        assert_eq!(places.find(Engine::Webkit).unwrap().screen, None);
    }

    #[test]
    fn what_is_missing_is_named_with_what_installs_it() {
        let minibrowser = "lib/webkit2gtk-4.1/MiniBrowser";
        for (files, engine, line) in [
            (
                &[][..],
                Engine::Chromium,
                "chromium not found: there is no chromedriver; install it with: apt-get install chromium chromium-driver",
            ),
            (
                &["bin/firefox"],
                Engine::Firefox,
                "firefox not found: there is no geckodriver; install it with: cargo install geckodriver --version 0.37.1 --locked",
            ),
            (
                &["bin/WebKitWebDriver"],
                Engine::Webkit,
                "webkit not found: there is no MiniBrowser of webkit2gtk-4.1; install it with: apt-get install webkit2gtk-driver xvfb",
            ),
            (
                &["bin/WebKitWebDriver", minibrowser],
                Engine::Webkit,
                "webkit not found: there is no screen, nor Xvfb; install it with: apt-get install xvfb",
            ),
        ] {
            let missing = Machine::with(files).places().find(engine).unwrap_err();
            assert_eq!(missing.to_string(), line);
        }
        let nowhere = Places::default().find(Engine::Chromium).unwrap_err();
        assert!(matches!(nowhere, DriverError::Missing { .. }));
    }
}
