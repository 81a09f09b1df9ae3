//! The presets: which endpoints play which scripts to which readers.

use crate::cell::{ETHERNET_MSS, Slow};
use crate::prompts::Prompts;
use crate::script::{Body, Header, Script};
use crate::transport::ClientProtocol;
use crate::units::Span;

/// Names of the presets that page and command can run.
pub const PRESETS: [&str; 18] = [
    "headline",
    "frame-size",
    "emit-rate",
    "header",
    "slow-client",
    "connections",
    "chunk-size",
    "temp-file",
    "nginx-upstream-version",
    "gzip",
    "shadowed-location",
    "haproxy-trigger",
    "no-delay-cost",
    "nginx-grid",
    "busy-page",
    "connection-limit",
    "protocols",
    "published",
];

/// Presets that only the native command can play: they put prompts to a chat route, and the page
/// reads streams.
pub const NATIVE_PRESETS: [&str; 2] = ["real-model", "chat-replay"];

/// Presets that only a browser can play: natively there is no page to be busy and no limit.
pub const BROWSER_PRESETS: [&str; 2] = ["busy-page", "connection-limit"];

/// The parts of `published`: all that reproduces a published table, the open question of
/// HAProxy's trigger apart.
const PUBLISHED: [&str; 13] = [
    "headline",
    "frame-size",
    "emit-rate",
    "header",
    "slow-client",
    "connections",
    "chunk-size",
    "temp-file",
    "nginx-upstream-version",
    "gzip",
    "shadowed-location",
    "real-model",
    "chat-replay",
];

/// What browsers offer; a command-line client offers nothing.
pub const BROWSER_ENCODINGS: &str = "gzip, deflate, br, zstd";

/// Cells that differ in script and endpoint only.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) preset: &'static str,
    pub(super) endpoints: &'static [&'static str],
    pub(super) scripts: Vec<Script>,
    pub(super) slow: Option<Slow>,
    /// Prompts to the chat route; the scripts then say what is usual of their answers.
    pub(super) prompts: Option<Prompts>,
    /// What the reader speaks to each endpoint.
    pub(super) protocols: &'static [ClientProtocol],
    /// `Accept-Encoding` instead of the reader's own.
    pub(super) accept_encoding: Option<&'static str>,
    /// Segment size instead of the plan's.
    pub(super) mss: Option<Option<u32>>,
    /// How long a browser's page works after each delivery.
    pub(super) page_work: Option<Span>,
    /// How many streams a browser runs at once through each endpoint.
    pub(super) streams: u32,
    /// Whether a native reader that sends what browsers send is accompanied by one that sends
    /// what command-line clients do: what differs between them is the point.
    pub(super) also_plain: bool,
}

/// What `protocols` plays without TLS.
const PLAIN: &[&str] = &[
    "nginx",
    "nginx-buffering-off",
    "nginx-http10",
    "nginx-h2c",
    "caddy",
    "caddy-h2c",
    "traefik",
    "traefik-h2c",
    "haproxy",
    "haproxy-no-delay",
    "haproxy-h2c",
    "envoy",
    "envoy-h2c",
];

/// The same with TLS in front.
const SECURE: &[&str] = &[
    "nginx-tls",
    "nginx-buffering-off-tls",
    "nginx-http10-tls",
    "nginx-h2c-tls",
    "caddy-tls",
    "caddy-h2c-tls",
    "traefik-tls",
    "traefik-h2c-tls",
    "haproxy-tls",
    "haproxy-no-delay-tls",
    "haproxy-h2c-tls",
    "envoy-tls",
    "envoy-h2c-tls",
];

/// Those of them that can speak HTTP/3; the pinned others are built without it.
const QUIC: &[&str] = &["caddy-tls", "traefik-tls", "envoy-tls"];

/// What it plays of those that compress, and the same with TLS in front.
const COMPRESSING: &[&str] = &["nginx-gzip", "nginx-gzip-buffering-off"];
const COMPRESSING_SECURE: &[&str] = &["nginx-gzip-tls", "nginx-gzip-buffering-off-tls"];

/// The groups of a preset; `None` for a name that none has.
pub(super) fn groups(preset: &str) -> Option<Vec<Group>> {
    let one = |preset, endpoints, scripts| Group {
        preset,
        endpoints,
        scripts,
        slow: None,
        prompts: None,
        protocols: &[ClientProtocol::Http11],
        accept_encoding: None,
        mss: None,
        page_work: None,
        streams: 1,
        also_plain: false,
    };
    Some(match preset {
        "headline" => vec![one(
            "headline",
            &[
                "nginx",
                "nginx-buffering-off",
                "caddy",
                "traefik",
                "haproxy",
                "haproxy-no-delay",
                "envoy",
            ],
            vec![paced(41, 50, 60)],
        )],
        "frame-size" => vec![one(
            "frame-size",
            &["haproxy", "haproxy-no-delay"],
            vec![paced(41, 50, 60), paced(41, 50, 1_100)],
        )],
        "emit-rate" => vec![one(
            "emit-rate",
            &["haproxy", "haproxy-no-delay"],
            vec![paced(41, 5, 60), paced(41, 50, 60), paced(41, 200, 60)],
        )],
        "header" => vec![one(
            "header",
            &["haproxy"],
            vec![paced(41, 50, 60), with_header(paced(41, 50, 60))],
        )],
        "slow-client" => vec![Group {
            // About 328 KB, read as fast as a full receive buffer each 200 ms.
            slow: Some(Slow { read_bytes: 65_536, pause_us: Span::millis(200) }),
            ..one("slow-client", &["nginx", "nginx-buffering-off"], vec![paced(41, 50, 8_000)])
        }],
        "connections" => vec![one(
            "connections",
            &[
                "nginx-keepalive",
                "nginx-fresh",
                "caddy-keepalive",
                "caddy-fresh",
                "traefik-keepalive",
                "traefik-fresh",
            ],
            vec![paced(41, 50, 60), Script { nagle: true, ..paced(41, 50, 60) }],
        )],
        "chunk-size" => {
            // Half of the bytes after 1.04 s and all after 2.07 s: eleven chunks 207 ms apart.
            let scripts = || vec![paced(11, 207, 100), paced(11, 207, 16_384)];
            vec![
                one("chunk-size", &["nginx", "nginx-buffering-off"], scripts()),
                one("chunk-size", &["nginx"], scripts().into_iter().map(with_header).collect()),
                Group {
                    accept_encoding: Some("gzip"),
                    ..one("chunk-size", &["nginx-gzip"], scripts())
                },
            ]
        }
        "temp-file" => vec![Group {
            // 40 MB, read 50 KB each 10 ms.
            slow: Some(Slow { read_bytes: 51_200, pause_us: Span::millis(10) }),
            ..one(
                "temp-file",
                &["nginx", "nginx-no-temp-file", "nginx-buffering-off"],
                vec![paced(640, 0, 65_536)],
            )
        }],
        "nginx-upstream-version" => vec![one(
            "nginx-upstream-version",
            &["nginx", "nginx-http10", "nginx-http10-buffering-off", "nginx-1.22"],
            vec![paced(41, 50, 60), paced(400, 5, 60)],
        )],
        "gzip" => offered(one(
            "gzip",
            &["nginx-gzip", "nginx-gzip-buffering-off"],
            vec![paced(41, 50, 60)],
        )),
        "shadowed-location" => vec![one(
            "shadowed-location",
            &["nginx-shadowed", "nginx-shadow-cured"],
            vec![paced(41, 50, 60)],
        )],
        // A page asks for streams, not for chat answers: its module goes without.
        "real-model" | "chat-replay" if cfg!(target_arch = "wasm32") => Vec::new(),
        "real-model" => vec![Group {
            prompts: Some(Prompts::Model),
            ..one(
                "real-model",
                &["haproxy", "nginx", "nginx-buffering-off"],
                vec![Prompts::Model.script()],
            )
        }],
        "chat-replay" => vec![Group {
            prompts: Some(Prompts::Replay),
            ..one(
                "chat-replay",
                &["nginx-http10", "nginx-shadowed", "nginx-shadow-cured"],
                vec![Prompts::Replay.script()],
            )
        }],
        "haproxy-trigger" => {
            let sizes = [60, 200, 400, 700, 1_100, 1_448, 1_500].map(|bytes| paced(41, 50, bytes));
            // Long enough for some ten bursts of the 200 ms timer at the faster paces.
            let frames = |ms: u32| (2_000 / ms + 1).max(21);
            let intervals =
                [5, 20, 100, 150, 200, 250, 400].map(|ms: u32| paced(frames(ms), ms.into(), 60));
            let scripts = [sizes, intervals].concat();
            let of = |mss| Group {
                mss: Some(mss),
                ..one("haproxy-trigger", &["haproxy"], scripts.clone())
            };
            vec![of(Some(ETHERNET_MSS)), of(None)]
        }
        "no-delay-cost" => vec![one(
            "no-delay-cost",
            &["haproxy", "haproxy-no-delay"],
            // Long enough that a process's time is more than its clock's step.
            vec![paced(400, 20, 60)],
        )],
        "nginx-grid" => offered(one(
            "nginx-grid",
            &[
                "nginx",
                "nginx-buffering-off",
                "nginx-http10",
                "nginx-http10-buffering-off",
                "nginx-gzip",
                "nginx-gzip-buffering-off",
                "nginx-http10-gzip",
                "nginx-http10-gzip-buffering-off",
            ],
            vec![paced(41, 50, 60)],
        )),
        "busy-page" => vec![Group {
            // Five frames' time: what a page must do to look like a proxy that corks.
            page_work: Some(Span::millis(250)),
            ..one("busy-page", &["nginx"], vec![paced(41, 50, 60)])
        }],
        "connection-limit" => {
            let of = |streams, protocols| Group {
                streams,
                protocols,
                ..one("connection-limit", &[], vec![paced(41, 50, 60)])
            };
            // Browsers run six at once to one origin over HTTP/1.1. Over HTTP/2 they are limited by
            // what the server allows, which is a hundred and more.
            vec![of(7, &[ClientProtocol::Http11]), of(20, &[ClientProtocol::Http2])]
        }
        // The same stream on the protocol that tests speak, and on those that users' browsers do.
        "protocols" => {
            const TLS: &[ClientProtocol] = &[ClientProtocol::Http11Tls, ClientProtocol::Http2];
            let all = |endpoints| one("protocols", endpoints, vec![paced(41, 50, 60)]);
            // Who compresses does it for those who ask, and browsers always do.
            let asks = |group| Group { accept_encoding: Some(BROWSER_ENCODINGS), ..group };
            let tls = |group| Group { protocols: TLS, ..group };
            vec![
                all(PLAIN),
                tls(all(SECURE)),
                Group { protocols: &[ClientProtocol::Http3], ..all(QUIC) },
                asks(all(COMPRESSING)),
                asks(tls(all(COMPRESSING_SECURE))),
            ]
        }
        "published" => {
            let mut all = Vec::new();
            for part in PUBLISHED {
                all.extend(groups(part)?);
            }
            all
        }
        _ => return None,
    })
}

/// The group as a command-line client asks for it, and as browsers do.
fn offered(group: Group) -> Vec<Group> {
    let group = Group { also_plain: true, ..group };
    let browsers = Group { accept_encoding: Some(BROWSER_ENCODINGS), ..group.clone() };
    vec![group, browsers]
}

fn paced(frames: u32, interval_ms: i64, frame_bytes: u32) -> Script {
    Script {
        body: Body::Paced { frames, interval_us: Span::millis(interval_ms), frame_bytes },
        ..Script::headline()
    }
}

fn with_header(script: Script) -> Script {
    let header = Header { name: "X-Accel-Buffering".into(), value: "no".into() };
    Script { headers: vec![header], ..script }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_played() {
        for name in PRESETS.into_iter().chain(NATIVE_PRESETS) {
            let groups = groups(name).unwrap();
            assert!(!groups.is_empty());
            for script in groups.iter().flat_map(|group| &group.scripts) {
                assert_eq!(script.check(), Ok(()), "{name}: {}", script.slug());
            }
        }
        assert_eq!(groups("nope"), None);
    }

    #[test]
    fn published_is_all_but_the_open_questions() {
        let missing: Vec<&str> =
            PRESETS.into_iter().filter(|name| !PUBLISHED.contains(name)).collect();
        assert_eq!(
            missing,
            [
                "haproxy-trigger",
                "no-delay-cost",
                "nginx-grid",
                "busy-page",
                "connection-limit",
                "protocols",
                "published"
            ]
        );
    }
}
