//! What cures each cause, program by program, and what it costs.
//!
//! Versions are those a cure was measured on, by this repository's endpoints or by hand with the
//! configuration shown; `Documented` ones were not.

use super::{Basis, Cure, Software};

/// Most cures: measured, with nothing known for the case that they change nothing.
const MEASURED: Cure = Cure {
    software: Software::Nginx,
    versions: "",
    place: "",
    lines: "",
    price: "",
    basis: Basis::Measured,
    shown_by: &[],
    without_effect: "",
};

const DOCUMENTED: Cure = Cure { basis: Basis::Documented, ..MEASURED };

const SHADOWED: &str = "another location answers: a regular expression in any included file goes before a prefix unless the prefix says ^~; look at nginx -T and give each location a header of its own";

const UNBUFFERED_PRICE: &str = "a slow client slows the origin down (40 MB to a slow client: the origin was done after 6.7 s, not 0.1 s), and answers of this location are not cached";

pub(super) const CHUNKS_CORKED: &[Cure] = &[
    Cure {
        software: Software::Haproxy,
        versions: "2.6.12, 2.8.25 (3.4.0 corks in the same way)",
        place: "defaults, frontend, listen or backend",
        lines: "option http-no-delay",
        price: "a segment for each event: 10.8 times as many, 1.9 times the bytes on an Ethernet wire, 1.2 times the proxy's processor time (60 B each 20 ms)",
        shown_by: &[("haproxy", "haproxy-no-delay")],
        ..MEASURED
    },
    Cure {
        software: Software::Haproxy,
        versions: "2.8.25",
        place: "the bind line, for clients that speak HTTP/2",
        lines: "bind :443 ssl crt site.pem alpn h2,http/1.1",
        price: "clients that stay on HTTP/1.1 are still corked",
        ..MEASURED
    },
];

pub(super) const WHOLE_BUFFERS: &[Cure] = &[
    Cure {
        software: Software::Nginx,
        versions: "1.22.1 (up to 1.28 it speaks HTTP/1.0 to the origin by default), 1.31.3",
        place: "the location that answers",
        lines: "proxy_http_version 1.1;\nproxy_set_header Connection \"\";",
        price: "buffering stays on, which is what slow clients want; only chunked answers become live, so an origin that closes to mark the end needs proxy_buffering off",
        shown_by: &[("nginx-http10", "nginx"), ("nginx-shadowed", "nginx-shadow-cured")],
        without_effect: SHADOWED,
        ..MEASURED
    },
    Cure {
        software: Software::Nginx,
        versions: "1.22.1, 1.31.3",
        place: "the location that answers",
        lines: "proxy_buffering off;",
        price: UNBUFFERED_PRICE,
        shown_by: &[("nginx-http10", "nginx-http10-buffering-off")],
        without_effect: SHADOWED,
        ..MEASURED
    },
    Cure {
        software: Software::Origin,
        versions: "behind nginx 1.22.1, 1.31.3",
        place: "the head of each streaming answer",
        lines: "X-Accel-Buffering: no",
        price: "as proxy_buffering off, for this answer alone; other proxies do not know it (HAProxy and Caddy pass it on)",
        without_effect: "a hop drops the header before nginx sees it, or proxy_ignore_headers names it",
        ..MEASURED
    },
];

pub(super) const TLS_GATHERS: &[Cure] = &[
    Cure {
        software: Software::Nginx,
        versions: "1.31.3, with TLS in front",
        place: "the location that answers",
        lines: "proxy_buffering off;",
        price: UNBUFFERED_PRICE,
        shown_by: &[("nginx-tls", "nginx-buffering-off-tls")],
        without_effect: SHADOWED,
        ..MEASURED
    },
    Cure {
        software: Software::Nginx,
        versions: "1.31.3 (nginx before 1.25.1: `listen 443 ssl http2;`)",
        place: "the server block, for clients that can speak HTTP/2",
        lines: "http2 on;",
        price: "clients that stay on HTTP/1.1 are still held",
        ..MEASURED
    },
    Cure {
        software: Software::Origin,
        versions: "behind nginx 1.31.3",
        place: "the head of each streaming answer",
        lines: "X-Accel-Buffering: no",
        price: "as proxy_buffering off, for this answer alone; other proxies do not know it (HAProxy and Caddy pass it on)",
        without_effect: "a hop drops the header before nginx sees it, or proxy_ignore_headers names it",
        ..MEASURED
    },
];

pub(super) const GZIP_INTO_BUFFERS: &[Cure] = &[
    Cure {
        software: Software::Nginx,
        versions: "1.22.1, 1.31.3",
        place: "the location that answers",
        lines: "gzip off;",
        price: "the stream is sent uncompressed",
        shown_by: &[("nginx-gzip", "nginx")],
        without_effect: SHADOWED,
        ..MEASURED
    },
    Cure {
        software: Software::Nginx,
        versions: "1.22.1, 1.31.3",
        place: "the location that answers",
        lines: "proxy_buffering off;",
        price: "it stays compressed, each event in a block of its own; a slow client slows the origin down, and answers of this location are not cached",
        shown_by: &[
            ("nginx-gzip", "nginx-gzip-buffering-off"),
            ("nginx-http10-gzip", "nginx-http10-gzip-buffering-off"),
        ],
        without_effect: SHADOWED,
        ..MEASURED
    },
    Cure {
        software: Software::Origin,
        versions: "behind nginx 1.22.1, 1.31.3",
        place: "the head of each streaming answer",
        lines: "X-Accel-Buffering: no",
        price: "as proxy_buffering off, for this answer alone (Cache-Control: no-transform changes nothing here)",
        without_effect: "a hop drops the header before nginx sees it, or proxy_ignore_headers names it",
        ..MEASURED
    },
];

pub(super) const COMPRESSOR_WAITS: &[Cure] = &[
    Cure {
        software: Software::Caddy,
        versions: "2.6.2",
        place: "the site block, in place of `encode gzip`",
        lines: "encode {\n\tgzip\n\tmatch {\n\t\theader Content-Type text/html*\n\t\theader Content-Type text/css*\n\t\theader Content-Type *javascript*\n\t\theader Content-Type application/json*\n\t}\n}",
        price: "only the named types are compressed; streams are not",
        without_effect: "an encode of another site block or an imported snippet still matches",
        ..MEASURED
    },
    Cure {
        software: Software::Caddy,
        versions: "2.6.2",
        place: "the site block, in place of `encode gzip`",
        lines: "@compressed not path /stream*\nencode @compressed gzip",
        price: "nothing below that path is compressed",
        ..MEASURED
    },
    Cure {
        software: Software::Caddy,
        versions: "2.11.4 (live and compressed with the same configuration)",
        place: "the installation",
        lines: "# use Caddy 2.11.4 or newer",
        price: "an upgrade; streams stay compressed. flush_interval -1 does not cure 2.6.2",
        shown_by: &[
            ("caddy-2.6-encode", "caddy-encode"),
            ("caddy-2.6-encode-all", "caddy-encode-all"),
        ],
        ..MEASURED
    },
    Cure {
        software: Software::Traefik,
        versions: "3.7.13 (compresses and is live; older versions were not measured)",
        place: "the compress middleware",
        lines: "compress:\n  excludedContentTypes:\n    - text/event-stream",
        price: "streams are not compressed",
        shown_by: &[("traefik-compress", "traefik-compress-excluded")],
        ..MEASURED
    },
    Cure {
        software: Software::Origin,
        versions: "behind a compressor that obeys it: Caddy 2.11.4 does, Caddy 2.6.2 and nginx 1.31.3 do not",
        place: "the head of each streaming answer",
        lines: "Cache-Control: no-transform",
        price: "no hop may compress or change the answer in any other way",
        ..MEASURED
    },
];

pub(super) const COMPRESSED_AT_ORIGIN: &[Cure] = &[
    Cure {
        software: Software::NodeCompression,
        versions: "1.8.1",
        place: "after each event is written",
        lines: "res.flush()",
        price: "each event is a compressed block of its own: worse compression",
        shown_by: &[("node-compression", "node-compression-each-event")],
        ..MEASURED
    },
    Cure {
        software: Software::NodeCompression,
        versions: "1.8.1",
        place: "the head of each streaming answer",
        lines: "res.setHeader('Cache-Control', 'no-cache, no-transform')",
        price: "the stream is sent uncompressed, and no hop behind may compress it either",
        shown_by: &[("node-compression", "node-compression-no-transform")],
        ..MEASURED
    },
];

pub(super) const HEADER_IGNORED: &[Cure] = &[
    Cure {
        software: Software::Nginx,
        versions: "1.31.3",
        place: "the location that answers, and the levels around it",
        lines: "# take X-Accel-Buffering out of proxy_ignore_headers",
        price: "the origin decides by itself which answers are buffered",
        shown_by: &[("nginx-header-ignored", "nginx-http10")],
        ..MEASURED
    },
    Cure {
        software: Software::Nginx,
        versions: "1.22.1, 1.31.3",
        place: "the location that answers",
        lines: "proxy_buffering off;",
        price: UNBUFFERED_PRICE,
        without_effect: SHADOWED,
        ..MEASURED
    },
];

pub(super) const HOP_BUFFERS: &[Cure] = &[
    Cure {
        software: Software::Traefik,
        versions: "3.7.13",
        place: "the router",
        lines: "# take the buffering middleware out of its middlewares",
        price: "requests are no longer limited in size, nor retried, by that middleware",
        shown_by: &[("traefik-buffering", "traefik")],
        ..MEASURED
    },
    Cure {
        software: Software::Apache,
        versions: "2.4.71",
        place: "the location or virtual host",
        lines: "# take the filter program (mod_ext_filter) out of SetOutputFilter",
        price: "what the program rewrote is no longer rewritten; filters that pass a flush on, such as DEFLATE and BUFFER, may stay",
        shown_by: &[("apache-ext-filter", "apache")],
        ..MEASURED
    },
    Cure {
        software: Software::Envoy,
        versions: "1.40.0",
        place: "envoy_on_response of the Lua filter",
        lines: "-- response:bodyChunks() in place of response:body(), or neither",
        price: "the whole answer is no longer at hand at once",
        shown_by: &[("envoy-lua-body", "envoy")],
        ..MEASURED
    },
    Cure {
        software: Software::Varnish,
        versions: "7.1.1",
        place: "vcl_backend_response",
        lines: "set beresp.do_stream = true;",
        price: "none: it is the default; an answer is delivered while it is fetched",
        shown_by: &[("varnish-no-stream", "varnish")],
        ..MEASURED
    },
    Cure {
        software: Software::Origin,
        versions: "whatever the hop is",
        place: "the head of each streaming answer",
        lines: "X-Accel-Buffering: no\nCache-Control: no-cache, no-transform",
        price: "caches and compressors leave the answer alone; a hop that knows neither header goes on as before",
        without_effect: "ask hop by hop, each as --against the one before it, until two differ: the hop between them holds",
        ..DOCUMENTED
    },
];

pub(super) const ONE_BEHIND: &[Cure] = &[Cure {
    software: Software::Origin,
    versions: "whatever the hop is",
    place: "after each event",
    lines: ": a comment line and a blank line, written at once after the event",
    price: "a few bytes an event; the hop itself stays as it is",
    without_effect: "ask hop by hop, each as --against the one before it, until two differ: the hop between them holds",
    ..DOCUMENTED
}];

pub(super) const ORIGIN_BATCHES: &[Cure] = &[Cure {
    software: Software::Origin,
    versions: "whatever it is written in",
    place: "where events are written",
    lines: "write and flush each event by itself, as soon as it is there",
    price: "a system call and a segment for each event",
    without_effect: "a framework or middleware in the same process gathers what is written",
    ..DOCUMENTED
}];

pub(super) const TYPE_REWRITTEN: &[Cure] = &[
    Cure {
        software: Software::Haproxy,
        versions: "2.8.25",
        place: "the frontend or backend whose rule sets it",
        lines: "http-response set-header Content-Type text/plain unless { res.hdr(Content-Type) -m beg text/event-stream }",
        price: "the rule holds for everything else; without it the origin's own type stands",
        shown_by: &[("haproxy-type-rewritten", "haproxy-no-delay")],
        ..MEASURED
    },
    Cure {
        software: Software::Nginx,
        versions: "all",
        place: "the location that answers",
        lines: "# take out proxy_hide_header Content-Type, default_type, and add_header Content-Type",
        price: "the origin's own type stands",
        ..DOCUMENTED
    },
    Cure {
        software: Software::Origin,
        versions: "whatever the hop is",
        place: "the head of each streaming answer",
        lines: "Content-Type: text/event-stream",
        price: "none; whoever rewrites it must be told to leave it",
        ..DOCUMENTED
    },
];

pub(super) const CUT_ON_THE_WAY: &[Cure] = &[
    Cure {
        software: Software::Nginx,
        versions: "all (the default is 60 s between two reads)",
        place: "the location that answers",
        lines: "proxy_read_timeout 1h;",
        price: "a dead origin is noticed later",
        ..DOCUMENTED
    },
    Cure {
        software: Software::Haproxy,
        versions: "all",
        place: "defaults",
        lines: "timeout client 1h\ntimeout server 1h",
        price: "a dead origin or client is noticed later",
        ..DOCUMENTED
    },
    Cure {
        software: Software::Caddy,
        versions: "2.11.4, for answers to POST over HTTP/1.1",
        place: "the global options",
        lines: "servers {\n\tenable_full_duplex\n}",
        price: "a client that sends all before it reads may wait for ever",
        ..MEASURED
    },
    Cure {
        software: Software::Envoy,
        versions: "all (the default is 15 s for a whole answer)",
        place: "the route, and the connection manager",
        lines: "timeout: 0s\nstream_idle_timeout: 3600s",
        price: "a dead origin is noticed later",
        ..DOCUMENTED
    },
    Cure {
        software: Software::Origin,
        versions: "whatever the hop is",
        place: "while there is nothing to send, every 15 s",
        lines: ": a comment line and a blank line",
        price: "a few bytes; time limits between two reads are never reached",
        ..DOCUMENTED
    },
];

pub(super) const CUT_AT_ORIGIN: &[Cure] = &[Cure {
    software: Software::Origin,
    versions: "whatever it is written in",
    place: "where the stream ends",
    lines: "send the terminal event, or an error event, before the end; look for the error in its log",
    price: "none",
    ..DOCUMENTED
}];

pub(super) const SLOW_READER: &[Cure] = &[Cure {
    software: Software::Page,
    versions: "all",
    place: "the read loop",
    lines: "read on at once, and do the work of an event elsewhere; cancel streams that nobody reads: one of them can use up the window of a whole HTTP/2 connection",
    price: "events wait in the reader's own memory instead",
    ..DOCUMENTED
}];

pub(super) const BATCHED_IN_BROWSER: &[Cure] = &[Cure {
    software: Software::Page,
    versions: "all (writes less than about 1 ms apart may merge in any browser)",
    place: "the origin",
    lines: "leave at least 1 ms between events that should be seen apart",
    price: "none that a person sees",
    ..DOCUMENTED
}];

pub(super) const PAGE_BUSY: &[Cure] = &[Cure {
    software: Software::Page,
    versions: "all",
    place: "the page's code",
    lines: "read the stream in a Worker, and keep tasks on the page under 50 ms",
    price: "each event is passed on once more, in well under a millisecond",
    ..DOCUMENTED
}];

pub(super) const CONNECTION_LIMIT: &[Cure] = &[Cure {
    software: Software::Page,
    versions: "all (six connections an origin over HTTP/1.1; ten streams ran at once over HTTP/2)",
    place: "the proxy that the browser speaks to",
    lines: "serve the page's origin over HTTP/2",
    price: "TLS is needed, since browsers speak HTTP/2 over TLS only",
    ..MEASURED
}];
