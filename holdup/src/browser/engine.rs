//! The engines: their drivers, what a session of theirs asks for, and how to get them.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A browser engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Chromium,
    Firefox,
    Webkit,
}

/// What the command line may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wanted {
    /// Chromium, by chromedriver
    Chromium,
    /// Firefox, by geckodriver
    Firefox,
    /// WebKitGTK's MiniBrowser, by WebKitWebDriver
    Webkit,
    /// All three, one after the other
    All,
}

/// What is known of the machine on which a session starts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place<'a> {
    /// A fresh folder for the browser's profile.
    pub(crate) profile: Option<&'a Path>,
    /// The browser's program.
    pub(crate) browser: Option<&'a Path>,
    /// Whether the driver runs as root.
    pub(crate) root: bool,
    /// Where it is to speak HTTP/3.
    pub(crate) quic: Option<&'a Quic>,
}

/// Where a browser is to speak HTTP/3, which it would not do by itself with a server that nobody
/// vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quic {
    /// Hosts of their own, each with the port at which it is asked so and by nothing else.
    pub(crate) origins: Vec<SocketAddr>,
    /// SHA-256 of the keys that are shown there, in base64.
    pub(crate) pins: Vec<String>,
}

impl Engine {
    /// All there are, in the order in which they are played and shown.
    pub(crate) const ALL: [Engine; 3] = [Engine::Chromium, Engine::Firefox, Engine::Webkit];

    /// The engines that a command line names, each once.
    pub(crate) fn chosen(wanted: &[Wanted]) -> Vec<Engine> {
        let named = |engine: &Engine| {
            wanted.iter().any(|wanted| match wanted {
                Wanted::Chromium => *engine == Engine::Chromium,
                Wanted::Firefox => *engine == Engine::Firefox,
                Wanted::Webkit => *engine == Engine::Webkit,
                Wanted::All => true,
            })
        };
        Engine::ALL.into_iter().filter(named).collect()
    }

    /// The name in results and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Chromium => "chromium",
            Engine::Firefox => "firefox",
            Engine::Webkit => "webkit",
        }
    }

    /// What a WebDriver service knows it by.
    fn browser_name(self) -> &'static str {
        match self {
            Engine::Chromium => "chrome",
            Engine::Firefox => "firefox",
            Engine::Webkit => "MiniBrowser",
        }
    }

    /// What the driver's program is called.
    pub(crate) fn driver(self) -> &'static str {
        match self {
            Engine::Chromium => "chromedriver",
            Engine::Firefox => "geckodriver",
            Engine::Webkit => "WebKitWebDriver",
        }
    }

    /// The one line that gets browser and driver on Debian and Ubuntu.
    pub(crate) fn install(self) -> &'static str {
        match self {
            Engine::Chromium => "apt-get install chromium chromium-driver",
            Engine::Firefox => {
                "apt-get install firefox-esr; cargo install geckodriver --version 0.37.1 --locked"
            }
            Engine::Webkit => "apt-get install webkit2gtk-driver xvfb",
        }
    }

    /// Whether it opens a window even when nobody looks: WebKitGTK has no headless mode.
    pub(crate) fn needs_screen(self) -> bool {
        self == Engine::Webkit
    }

    /// Whether it can be told to speak HTTP/3. WebKitGTK has none.
    pub(crate) fn speaks_quic(self) -> bool {
        self != Engine::Webkit
    }

    /// Arguments that make the driver listen on a port. With `own_windows` pictures may later
    /// change the browser's own window, which Firefox does not allow otherwise.
    pub(crate) fn driver_arguments(self, port: u16, own_windows: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![format!("--port={port}").into()];
        if self == Engine::Firefox && own_windows {
            arguments.push("--allow-system-access".into());
        }
        arguments
    }

    /// Capabilities of a session: headless, with a fresh profile, and none of the background
    /// traffic that would share the machine with the measurement. Firefox leaves that out by
    /// itself when it is driven, and makes its own profile.
    pub(crate) fn capabilities(self, place: Place<'_>) -> serde_json::Map<String, Value> {
        let options = match self {
            Engine::Chromium => Some(("goog:chromeOptions", chromium(place))),
            Engine::Firefox => {
                let mut options = json!({ "args": ["-headless"] });
                if let Some(browser) = place.browser {
                    options["binary"] = json!(browser);
                }
                if let Some(quic) = place.quic {
                    options["prefs"] = mappings(quic);
                }
                Some(("moz:firefoxOptions", options))
            }
            // A service elsewhere knows where its own is.
            Engine::Webkit => place.browser.map(|browser| {
                let options = json!({ "binary": browser, "args": ["--automation"] });
                ("webkitgtk:browserOptions", options)
            }),
        };
        let mut wanted = serde_json::Map::new();
        wanted.insert("browserName".into(), self.browser_name().into());
        wanted.insert("acceptInsecureCerts".into(), true.into());
        wanted.extend(options.map(|(key, options)| (key.to_string(), options)));
        wanted
    }
}

fn chromium(place: Place<'_>) -> Value {
    let mut arguments: Vec<String> = [
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ]
    .map(String::from)
    .into();
    match place.quic {
        None => arguments.push("--disable-quic".into()),
        Some(quic) => {
            let origins: Vec<String> = quic.origins.iter().map(SocketAddr::to_string).collect();
            arguments.push(format!("--origin-to-force-quic-on={}", origins.join(",")));
            let pins = quic.pins.join(",");
            arguments.push(format!("--ignore-certificate-errors-spki-list={pins}"));
        }
    }
    arguments.extend(place.profile.map(|folder| format!("--user-data-dir={}", folder.display())));
    if place.root {
        // Chromium refuses to start as root with its sandbox.
        arguments.push("--no-sandbox".into());
    }
    json!({ "args": arguments })
}

/// What makes Firefox speak HTTP/3 with these hosts: it knows them by their names alone.
fn mappings(quic: &Quic) -> Value {
    let mapping = |origin: &SocketAddr| format!("{};h3=:{}", origin.ip(), origin.port());
    let mappings: Vec<String> = quic.origins.iter().map(mapping).collect();
    json!({
        "network.http.http3.alt-svc-mapping-for-testing": mappings.join(","),
        "network.http.http3.force-use-alt-svc-mapping-for-testing": true,
        // An authority of the person's own must not switch it off.
        "network.http.http3.disable_when_third_party_roots_found": false,
    })
}

/// Driver and browser of an engine, as they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) driver: PathBuf,
    /// Absent where the driver finds it by itself.
    pub(crate) browser: Option<PathBuf>,
    /// The X server to start for a browser that needs a screen where there is none.
    pub(crate) screen: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_played_once_each_in_one_order() {
        assert_eq!(Engine::chosen(&[Wanted::All]), Engine::ALL);
        assert_eq!(
            Engine::chosen(&[Wanted::Webkit, Wanted::Chromium, Wanted::Webkit]),
            [Engine::Chromium, Engine::Webkit]
        );
    }

    #[test]
    fn sessions_are_headless_with_a_profile_of_their_own() {
        let place = Place { profile: Some(Path::new("/p")), root: true, ..Place::default() };
        let wanted = Engine::Chromium.capabilities(place);
        let arguments = wanted["goog:chromeOptions"]["args"].to_string();
        for argument in ["--headless", "--user-data-dir=/p", "--no-sandbox"] {
            assert!(arguments.contains(argument), "{arguments}");
        }
        let wanted = Engine::Firefox.capabilities(place);
        assert_eq!(wanted["moz:firefoxOptions"].to_string(), r#"{"args":["-headless"]}"#);
    }

    #[test]
    fn http3_is_spoken_where_it_is_wanted_and_nowhere_else() {
        let quic = Quic {
            origins: vec!["127.0.0.2:4".parse().unwrap(), "127.0.0.3:5".parse().unwrap()],
            pins: vec!["a=".into(), "b=".into()],
        };
        let said = |engine: Engine, quic| {
            Value::Object(engine.capabilities(Place { quic, ..Place::default() })).to_string()
        };
        let told = said(Engine::Chromium, Some(&quic));
        for part in [
            "--origin-to-force-quic-on=127.0.0.2:4,127.0.0.3:5\"",
            "--ignore-certificate-errors-spki-list=a=,b=\"",
        ] {
            assert!(told.contains(part), "{told}");
        }
        assert!(!told.contains("--disable-quic"));
        assert!(said(Engine::Chromium, None).contains("--disable-quic"));
        let told = said(Engine::Firefox, Some(&quic));
        assert!(told.contains("\"127.0.0.2;h3=:4,127.0.0.3;h3=:5\""), "{told}");
        assert!(!said(Engine::Firefox, None).contains("http3"));
        assert_eq!(said(Engine::Webkit, Some(&quic)), said(Engine::Webkit, None));
    }

    #[test]
    fn a_service_elsewhere_is_told_nothing_of_this_machine() {
        for (engine, name) in
            Engine::ALL.into_iter().zip(["\"chrome\"", "\"firefox\"", "\"MiniBrowser\""])
        {
            let wanted = engine.capabilities(Place::default());
            assert_eq!(wanted["browserName"].to_string(), name);
            let text = Value::Object(wanted).to_string();
            assert!(!text.contains('/') && !text.contains("sandbox"), "{text}");
        }
    }
}
