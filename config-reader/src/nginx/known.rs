//! Directives that are looked at here: how many values they take, how they are inherited and
//! what nginx does without them. Sources: the module's page on nginx.org (named in each row) and
//! nginx 1.31.3 itself, which the tests ask.

use super::error::Fault;
use super::tree::Directive;
use super::version::Version;

/// How a level's own directives stand to those of the levels around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// The innermost level that has it decides; where it may stand several times, all of that
    /// level replace all of the outer ones.
    Nearest,
    /// It works only where it stands.
    None,
}

/// Directives that work only in the level in which they stand. (`proxy_pass` and its kind are
/// still in force in an `if` or `limit_except` right below.)
const NOT_INHERITED: &[&str] = &[
    "alias",
    "break",
    "fastcgi_pass",
    "grpc_pass",
    "if",
    "internal",
    "limit_except",
    "location",
    "memcached_pass",
    "proxy_pass",
    "return",
    "rewrite",
    "scgi_pass",
    "set",
    "try_files",
    "uwsgi_pass",
];

/// How a directive is inherited.
pub fn inheritance(name: &str) -> Inheritance {
    match NOT_INHERITED.contains(&name) {
        true => Inheritance::None,
        false => Inheritance::Nearest,
    }
}

/// Directives that may stand several times in a level and go by the level as a whole.
pub const LISTS: &[&str] = &[
    "add_header",
    "add_trailer",
    "proxy_set_header",
    "proxy_hide_header",
    "proxy_pass_header",
    "proxy_cookie_path",
    "proxy_cookie_domain",
    "proxy_cookie_flags",
    "proxy_redirect",
    "proxy_cache_valid",
    "error_page",
    "allow",
    "deny",
    "limit_req",
    "limit_conn",
    "sub_filter",
    "access_log",
    "error_log",
];

/// A value that nginx uses where nobody says one, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Default {
    /// The value.
    pub value: &'static str,
    /// Where it is written.
    pub source: &'static str,
}

const PROXY: &str = "nginx.org, ngx_http_proxy_module";
const GZIP: &str = "nginx.org, ngx_http_gzip_module";

/// The default of a directive in a version.
pub fn default(name: &str, version: Version) -> Option<Default> {
    let modern = version >= Version::HTTP11_UPSTREAM;
    let (value, source) = match name {
        "proxy_buffering" => ("on", PROXY),
        "proxy_cache" => ("off", PROXY),
        "proxy_request_buffering" => ("on", PROXY),
        "proxy_http_version" if modern => ("1.1", "nginx.org, CHANGES of 1.29.7"),
        "proxy_http_version" => ("1.0", PROXY),
        "proxy_read_timeout" => ("60s", PROXY),
        "proxy_limit_rate" | "limit_rate" => ("0", PROXY),
        "proxy_intercept_errors" => ("off", PROXY),
        // The header itself: absent since the upstream's connection is kept by default.
        "connection" if modern => ("", "nginx.org, CHANGES of 1.29.7"),
        "connection" => ("close", PROXY),
        "gzip" => ("off", GZIP),
        "gzip_types" => ("text/html", GZIP),
        "gzip_min_length" => ("20", GZIP),
        "ssi" => ("off", "nginx.org, ngx_http_ssi_module"),
        "sub_filter_types" => ("text/html", "nginx.org, ngx_http_sub_module"),
        "merge_slashes" => ("on", "nginx.org, ngx_http_core_module"),
        "add_header_inherit" => ("on", "nginx.org, ngx_http_headers_module"),
        _ => return None,
    };
    Some(Default { value, source })
}

/// How many values the directives take whose missing `;` would be read as something else.
const ARITY: &[(&str, usize, usize)] = &[
    ("proxy_pass", 1, 1),
    ("proxy_buffering", 1, 1),
    ("proxy_http_version", 1, 1),
    ("proxy_set_header", 2, 2),
    ("proxy_hide_header", 1, 1),
    ("proxy_pass_header", 1, 1),
    ("proxy_cache", 1, 1),
    ("proxy_read_timeout", 1, 1),
    ("proxy_send_timeout", 1, 1),
    ("proxy_connect_timeout", 1, 1),
    ("proxy_request_buffering", 1, 1),
    ("add_header", 2, 3),
    ("gzip", 1, 1),
    ("gzip_min_length", 1, 1),
    ("root", 1, 1),
    ("alias", 1, 1),
    ("include", 1, 1),
    ("location", 1, 2),
    ("server", 0, 64),
    ("http", 0, 0),
    ("events", 0, 0),
    ("ssl_certificate", 1, 1),
    ("ssl_certificate_key", 1, 1),
    ("merge_slashes", 1, 1),
    ("chunked_transfer_encoding", 1, 1),
    ("client_max_body_size", 1, 1),
    ("set", 2, 2),
    ("internal", 0, 0),
];

/// Directives that must have a block, and such as must not.
const BLOCKS: &[(&str, bool)] = &[
    ("http", true),
    ("events", true),
    ("location", true),
    ("if", true),
    ("upstream", true),
    ("map", true),
    ("proxy_pass", false),
    ("proxy_set_header", false),
    ("add_header", false),
    ("listen", false),
    ("server_name", false),
    ("return", false),
    ("rewrite", false),
];

/// Looks at the number of values: a forgotten `;` shows there and nowhere else.
pub(super) fn check(directive: &Directive) -> Result<(), Fault> {
    let at = directive.span.start;
    let name = directive.name.as_str();
    let count = directive.args.len();
    if let Some((_, least, most)) = ARITY.iter().find(|(known, ..)| *known == name)
        && !(*least..=*most).contains(&count)
    {
        let takes = match (least, most) {
            (0, 0) => "no value".to_string(),
            (1, 1) => "one value".to_string(),
            (least, most) if least == most => format!("{least} values"),
            (least, most) => format!("{least} to {most} values"),
        };
        let found = format!("{name} takes {takes}, not {count}");
        return Err(match count > *most {
            true => Fault::missing_end(at, found),
            false => Fault::new(at, found, takes),
        });
    }
    if let Some((_, wants)) = BLOCKS.iter().find(|(known, _)| *known == name)
        && directive.block.is_some() != *wants
    {
        let expected = if *wants { "`{`" } else { "`;`" };
        let found = format!("{name} {} a block", if *wants { "without" } else { "with" });
        return Err(Fault::new(at, found, expected));
    }
    Ok(())
}
