//! The published figures, as they were printed.

use super::{Figure, Find, Line, Ours, Published, Quantity};
use crate::prompts::Prompts;
use crate::units::Span;

/// Every table, in the order of their numbers. P8 is the list of questions that were left open.
pub(super) const ALL: [Published; 10] = [P1, P2, P3, P4, P5, P6, P7, P9, P10, P11];

/// Who published, and how the figures were taken.
pub const SOURCES: [(&str, &str); 3] = [
    (
        ARTICLE_A,
        "a Linux server of two virtual processors, four proxies in containers on a bridge, a synthetic emitter",
    ),
    (ARTICLE_B, "a chat service on uvicorn behind nginx, 200 prompts replayed one at a time"),
    (ARTICLE_C, "nginx, a paced upstream, a raw-socket client that counts recv"),
];

const ARTICLE_A: &str = "Article A";
const ARTICLE_B: &str = "Article B";
const ARTICLE_C: &str = "Article C";

const NGINX: (&str, &str) = ("nginx", "1.31.5");
const NGINX_C: (&str, &str) = ("nginx", "1.31.6");
const CADDY: (&str, &str) = ("Caddy", "2.11.4");
const TRAEFIK: (&str, &str) = ("Traefik", "3.7.13");
const HAPROXY: (&str, &str) = ("HAProxy", "3.4.4");

const fn ms(ms: i64) -> Option<Figure> {
    Some(Figure::Time(Span::millis(ms)))
}

/// Tenths of a millisecond, the digits that were printed.
const fn tenths(tenths: i64) -> Option<Figure> {
    Some(Figure::Time(Span::micros(tenths * 100)))
}

const fn ratio(ratio: f64) -> Option<Figure> {
    Some(Figure::Ratio(ratio))
}

const fn count(count: u32) -> Option<Figure> {
    Some(Figure::Count(count))
}

/// Tenths of a megabyte.
const fn megabytes(tenths: u64) -> Option<Figure> {
    Some(Figure::Bytes(tenths * 100_000))
}

const fn line(
    label: &'static str,
    version: Option<(&'static str, &'static str)>,
    figures: &'static [Option<Figure>],
    find: Find,
) -> Line {
    Line { label, version, figures, ours: Ours::Cell(find) }
}

const fn find(
    preset: &'static str,
    endpoint: &'static str,
    frames: u32,
    interval_ms: i64,
    frame_bytes: u32,
) -> Find {
    Find {
        preset,
        endpoint,
        frames,
        interval_ms,
        frame_bytes,
        header: false,
        nagle: false,
        slow: None,
        gzip: false,
        prompts: None,
    }
}

const fn prompted(preset: &'static str, endpoint: &'static str, prompts: Prompts) -> Find {
    Find { prompts: Some(prompts), ..find(preset, endpoint, 0, 0, 0) }
}

const fn headline(endpoint: &'static str) -> Find {
    find("headline", endpoint, 41, 50, 60)
}

const P1: Published = Published {
    id: "P1",
    title: "The headline: 41 frames of about 60 bytes, one each 50 ms",
    source: ARTICLE_A,
    columns: &[Quantity::Ttft, Quantity::Gap, Quantity::FramesPerRead],
    rows: &[
        line("direct", None, &[ms(2), tenths(500), ratio(1.02)], headline("direct")),
        line("nginx", Some(NGINX), &[ms(3), tenths(500), ratio(1.02)], headline("nginx")),
        line(
            "nginx, proxy_buffering off",
            Some(NGINX),
            &[ms(2), tenths(500), ratio(1.02)],
            headline("nginx-buffering-off"),
        ),
        line("Caddy", Some(CADDY), &[ms(2), tenths(500), ratio(1.02)], headline("caddy")),
        line("Traefik", Some(TRAEFIK), &[ms(2), tenths(500), ratio(1.02)], headline("traefik")),
        line("HAProxy", Some(HAPROXY), &[ms(206), tenths(0), ratio(5.12)], headline("haproxy")),
    ],
};

const fn frame_size(bytes: u32) -> Find {
    find("frame-size", "haproxy", 41, 50, bytes)
}

const P2: Published = Published {
    id: "P2",
    title: "Frame size: HAProxy, one frame each 50 ms",
    source: ARTICLE_A,
    columns: &[Quantity::Ttft, Quantity::Gap, Quantity::FramesPerRead],
    rows: &[
        line("about 60 bytes", Some(HAPROXY), &[ms(206), tenths(0), ratio(5.12)], frame_size(60)),
        line("about 1.1 KB", Some(HAPROXY), &[ms(53), tenths(410), ratio(1.46)], frame_size(1_100)),
    ],
};

const fn emit_rate(interval_ms: i64) -> Find {
    find("emit-rate", "haproxy", 41, interval_ms, 60)
}

const P3: Published = Published {
    id: "P3",
    title: "Emit rate: HAProxy, frames of about 60 bytes",
    source: ARTICLE_A,
    columns: &[Quantity::FramesPerRead],
    rows: &[
        line("one each 5 ms", Some(HAPROXY), &[ratio(13.67)], emit_rate(5)),
        line("one each 50 ms", Some(HAPROXY), &[ratio(5.12)], emit_rate(50)),
        line("one each 200 ms", Some(HAPROXY), &[ratio(2.05)], emit_rate(200)),
    ],
};

const fn header(header: bool) -> Find {
    Find { header, ..find("header", "haproxy", 41, 50, 60) }
}

const P4: Published = Published {
    id: "P4",
    title: "The header: HAProxy, 41 frames of about 60 bytes, one each 50 ms",
    source: ARTICLE_A,
    columns: &[Quantity::Ttft, Quantity::FramesPerRead, Quantity::MaxGap],
    rows: &[
        line("no header", Some(HAPROXY), &[ms(206), ratio(5.12), tenths(2564)], header(false)),
        line(
            "X-Accel-Buffering: no",
            Some(HAPROXY),
            &[ms(214), ratio(5.12), tenths(2562)],
            header(true),
        ),
    ],
};

const fn slow_client(endpoint: &'static str) -> Find {
    Find { slow: Some((65_536, 200)), ..find("slow-client", endpoint, 41, 50, 8_000) }
}

const P5: Published = Published {
    id: "P5",
    title: "Bulk payload, slow client: about 328 KB, the client sleeps 200 ms between reads",
    source: ARTICLE_A,
    columns: &[Quantity::Ttft, Quantity::FramesPerRead],
    rows: &[
        line("direct", None, &[ms(2), ratio(3.73)], slow_client("direct")),
        line("nginx, buffering on", Some(NGINX), &[ms(53), ratio(3.73)], slow_client("nginx")),
        line(
            "nginx, buffering off",
            Some(NGINX),
            &[ms(3), ratio(3.57)],
            slow_client("nginx-buffering-off"),
        ),
    ],
};

const fn model(endpoint: &'static str) -> Find {
    prompted("real-model", endpoint, Prompts::Model)
}

const P6: Published = Published {
    id: "P6",
    title: "A real model behind the proxies, 15 calls each",
    source: ARTICLE_A,
    columns: &[Quantity::FramesPerRead, Quantity::Gap, Quantity::Frames],
    rows: &[
        line("HAProxy", Some(HAPROXY), &[ratio(5.43), tenths(0), count(169)], model("haproxy")),
        line("nginx", Some(NGINX), &[ratio(1.04), tenths(86), count(185)], model("nginx")),
        line(
            "nginx, buffering off",
            Some(NGINX),
            &[ratio(1.02), tenths(87), count(176)],
            model("nginx-buffering-off"),
        ),
    ],
};

const fn connections(endpoint: &'static str, nagle: bool) -> Find {
    Find { nagle, ..find("connections", endpoint, 41, 50, 60) }
}

const ALL_CONDITIONS: Option<Figure> = Some(Figure::Between(Span::millis(2), Span::millis(5)));

const P7: Published = Published {
    id: "P7",
    title: "Pooled or fresh upstream connections, Nagle's algorithm off or on at the emitter",
    source: ARTICLE_A,
    columns: &[Quantity::Ttft, Quantity::Excluded],
    rows: &[
        line("Caddy, fresh", Some(CADDY), &[ms(5), None], connections("caddy-fresh", false)),
        line(
            "Caddy, pooled",
            Some(CADDY),
            &[ALL_CONDITIONS, None],
            connections("caddy-keepalive", false),
        ),
        line(
            "Caddy, fresh, Nagle on",
            Some(CADDY),
            &[ALL_CONDITIONS, None],
            connections("caddy-fresh", true),
        ),
        line(
            "Caddy, pooled, Nagle on",
            Some(CADDY),
            &[ALL_CONDITIONS, None],
            connections("caddy-keepalive", true),
        ),
        line("Traefik, fresh", Some(TRAEFIK), &[ms(4), None], connections("traefik-fresh", false)),
        line(
            "Traefik, pooled",
            Some(TRAEFIK),
            &[ALL_CONDITIONS, None],
            connections("traefik-keepalive", false),
        ),
        line(
            "Traefik, fresh, Nagle on",
            Some(TRAEFIK),
            &[ALL_CONDITIONS, None],
            connections("traefik-fresh", true),
        ),
        line(
            "Traefik, pooled, Nagle on",
            Some(TRAEFIK),
            &[ALL_CONDITIONS, None],
            connections("traefik-keepalive", true),
        ),
        Line {
            label: "all runs, Nagle off",
            version: None,
            figures: &[None, Some(Figure::Share(0.05))],
            ours: Ours::Exclusions { nagle: false },
        },
        Line {
            label: "all runs, Nagle on",
            version: None,
            figures: &[None, Some(Figure::Share(0.10))],
            ours: Ours::Exclusions { nagle: true },
        },
    ],
};

const fn replay(endpoint: &'static str) -> Find {
    prompted("chat-replay", endpoint, Prompts::Replay)
}

const P9: Published = Published {
    id: "P9",
    title: "A chat service behind nginx: TTFT to the first event with real text",
    source: ARTICLE_B,
    columns: &[Quantity::Ttft, Quantity::TtftP95, Quantity::SingleReads],
    rows: &[
        line("direct", None, &[ms(710), ms(1_320), Some(Figure::Of(0, 200))], replay("direct")),
        line(
            "nginx, defaults",
            None,
            &[ms(3_400), ms(9_600), Some(Figure::Of(58, 200))],
            replay("nginx-http10"),
        ),
        // Published in words: it "changed nothing".
        line(
            "nginx, the first fix, which changed nothing",
            None,
            &[ms(3_400), None, None],
            replay("nginx-shadowed"),
        ),
        line(
            "nginx, the fix that really applied",
            None,
            &[ms(760), ms(1_410), Some(Figure::Of(0, 200))],
            replay("nginx-shadow-cured"),
        ),
    ],
};

const fn chunk(endpoint: &'static str, frame_bytes: u32, header: bool) -> Find {
    Find { header, ..find("chunk-size", endpoint, 11, 207, frame_bytes) }
}

const fn zipped(frame_bytes: u32) -> Find {
    Find { gzip: true, ..chunk("nginx-gzip", frame_bytes, false) }
}

const P10: Published = Published {
    id: "P10",
    title: "Chunk size: eleven chunks in 2.07 s",
    source: ARTICLE_C,
    columns: &[Quantity::FirstBody, Quantity::HalfBytes, Quantity::Total, Quantity::Reads],
    rows: &[
        line(
            "100 B, buffering on",
            Some(NGINX_C),
            &[ms(0), ms(1_040), ms(2_070), count(11)],
            chunk("nginx", 100, false),
        ),
        line(
            "100 B, buffering off",
            Some(NGINX_C),
            &[ms(0), ms(1_030), ms(2_060), count(11)],
            chunk("nginx-buffering-off", 100, false),
        ),
        line(
            "100 B, on, X-Accel-Buffering: no",
            Some(NGINX_C),
            &[ms(0), ms(1_030), ms(2_060), count(11)],
            chunk("nginx", 100, true),
        ),
        line(
            "100 B, on, gzip",
            Some(NGINX_C),
            &[ms(2_090), ms(2_090), ms(2_090), count(1)],
            zipped(100),
        ),
        line(
            "16,384 B, buffering on",
            Some(NGINX_C),
            &[ms(0), ms(1_040), ms(2_070), count(11)],
            chunk("nginx", 16_384, false),
        ),
        line(
            "16,384 B, buffering off",
            Some(NGINX_C),
            &[ms(0), ms(1_040), ms(2_080), count(14)],
            chunk("nginx-buffering-off", 16_384, false),
        ),
        line(
            "16,384 B, on, X-Accel-Buffering: no",
            Some(NGINX_C),
            &[ms(0), ms(1_040), ms(2_070), count(12)],
            chunk("nginx", 16_384, true),
        ),
        line(
            "16,384 B, on, gzip",
            Some(NGINX_C),
            &[ms(2_060), ms(2_060), ms(2_060), count(1)],
            zipped(16_384),
        ),
    ],
};

const fn temp_file(endpoint: &'static str) -> Find {
    Find { slow: Some((51_200, 10)), ..find("temp-file", endpoint, 640, 0, 65_536) }
}

const P11: Published = Published {
    id: "P11",
    title: "An answer of 40 MB, the client reads 50 KB every 10 ms",
    source: ARTICLE_C,
    columns: &[Quantity::UpstreamDone, Quantity::Total, Quantity::TempFile],
    rows: &[
        line(
            "buffering on",
            Some(NGINX_C),
            &[ms(0), ms(11_300), megabytes(389)],
            temp_file("nginx"),
        ),
        line(
            "on, proxy_max_temp_file_size 0",
            Some(NGINX_C),
            &[ms(9_200), ms(11_300), megabytes(0)],
            temp_file("nginx-no-temp-file"),
        ),
        line(
            "buffering off",
            Some(NGINX_C),
            &[ms(10_100), ms(11_300), megabytes(0)],
            temp_file("nginx-buffering-off"),
        ),
    ],
};
