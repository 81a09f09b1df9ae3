//! Masks what must not be repeated: keys, passwords, tokens, and where they lie. What is shown
//! goes through here, whole configurations as well as single directives.

use std::sync::LazyLock;

use regex::Regex;

use crate::nginx::token::quote;
use crate::nginx::tree::{Directive, Tree};

/// What stands instead.
pub const MASK: &str = "***";

/// Directives whose values are secret or say where secrets lie.
const SECRET: &[&str] = &[
    "auth_basic_user_file",
    "auth_jwt_key_file",
    "fastcgi_ssl_certificate_key",
    "grpc_ssl_certificate_key",
    "proxy_ssl_certificate",
    "proxy_ssl_certificate_key",
    "proxy_ssl_password_file",
    "secure_link_md5",
    "secure_link_secret",
    "ssl_certificate",
    "ssl_certificate_key",
    "ssl_password_file",
    "ssl_session_ticket_key",
    "uwsgi_ssl_certificate_key",
];

/// Parts of names of headers, variables and parameters whose values are secret.
const NAMES: &str =
    r"auth|token|secret|passw|api[-_]?key|access[-_]?key|[-_]key\b|cookie|credential|signature";

static NAME: LazyLock<Regex> = LazyLock::new(|| regex(&format!("(?i){NAMES}")));
static VARIABLES: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\$\{?\w+\}?|[ ,;:])*$"));

/// Secrets that are known by their looks, wherever they stand.
static LOOKS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    vec![
        (regex(r"(://)[^\s/@:]+(:[^\s/@]*)?@"), "${1}***@"),
        (regex(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{4,}"), "${1}${2}***"),
        (
            regex(
                r"(?i)([?&](?:key|sig|[\w-]*(?:token|secret|passw\w*|api[-_]?key|auth|signature)[\w-]*)=)[^&\s;'\x22$]+",
            ),
            "${1}***",
        ),
        (
            // A rule of Traefik's.
            regex(&format!(
                r"(?i)(\b(?:headers?|query)(?:regexp)?\(\s*[`\x22'][^`\x22']*(?:{NAMES})[^`\x22']*[`\x22']\s*,\s*[`\x22'])[^`\x22']+"
            )),
            "${1}***",
        ),
        (
            // HAProxy's: a query that is set, and the key that something is sealed with.
            regex(&format!(
                r"(?i)(\bset-query\s+\S*?(?:{NAMES}|\bkey|\bsig)[\w-]*=)[^&\s;'\x22%]+"
            )),
            "${1}***",
        ),
        (regex(r"(?i)(\b(?:hmac|aes_gcm_enc|aes_gcm_dec|jwt_verify)\([^,()]*,)[^()]+"), "${1}***"),
        (regex(r"\b(sk|pk|rk|ghp|gho|glpat|xox[abp])[-_][A-Za-z0-9_-]{8,}"), MASK),
        (regex(r"\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]+)*"), MASK),
        (regex(r"\bAKIA[A-Z0-9]{12,}"), MASK),
        (regex(r"(?s)-----BEGIN [A-Z ]+-----.*?(-----END [A-Z ]+-----|\z)"), MASK),
    ]
});

/// A directive that somebody commented out.
static COMMENTED: LazyLock<Regex> = LazyLock::new(|| {
    let directives = SECRET.join("|");
    let names = format!(r"(?:[\w-]+\s+)?\S*(?:{NAMES})[\w-]*");
    regex(&format!(
        r"(?i)(#.*?(?:\b(?:{directives})|(?:set|header|param|key|token)\s+{names})\s+)[^\n]+"
    ))
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours, which a test compiles")
}

/// Whether a name is one whose value is secret.
pub fn is_secret_name(name: &str) -> bool {
    NAME.is_match(name)
}

/// A text of any kind: what looks like a secret is masked.
pub fn text(text: &str) -> String {
    let mut out = text.to_string();
    for (pattern, with) in LOOKS.iter() {
        out = pattern.replace_all(&out, *with).into_owned();
    }
    out
}

/// A line of a configuration that may not be whole: what would be masked of it in a comment is.
pub fn line(line: &str) -> String {
    let commented = format!("#{line}");
    let masked = COMMENTED.replace_all(&commented, "${1}***");
    text(masked.strip_prefix('#').unwrap_or(&masked))
}

fn is_literal(value: &str) -> bool {
    !VARIABLES.is_match(value)
}

/// The arguments of a directive that are secret; `around` is the block it stands in.
fn secret_args(directive: &Directive, around: Option<&Directive>) -> Vec<usize> {
    let name = directive.name.as_str();
    let count = directive.args.len();
    let literal = |index: &usize| directive.arg(*index).is_some_and(is_literal);
    if SECRET.contains(&name) {
        return (0..count).filter(literal).collect();
    }
    // A map's values, when what it makes or takes is secret; its keys are names of lines.
    let map = around.filter(|around| matches!(around.name.as_str(), "map" | "geo"));
    if map.is_some_and(|map| map.values().any(is_secret_name)) {
        return (0..count).filter(literal).collect();
    }
    let named = name.contains("header") || name.ends_with("_param") || name == "set";
    if named && directive.arg(0).is_some_and(is_secret_name) {
        return (1..count)
            .filter(|index| literal(index) && directive.arg(*index) != Some("always"))
            .collect();
    }
    if name == "if"
        && directive.values().any(|value| value.starts_with(['(', '$']) && is_secret_name(value))
    {
        let compared = |index: &usize| {
            let value = directive.arg(*index).unwrap_or_default();
            *index > 0 && value.contains(|char: char| char.is_alphanumeric()) && literal(index)
        };
        return (0..count).filter(compared).collect();
    }
    Vec::new()
}

/// A directive's name and arguments, masked.
pub fn written(directive: &Directive) -> String {
    let secret = secret_args(directive, None);
    let mut out = directive.name.clone();
    for (index, value) in directive.values().enumerate() {
        out.push(' ');
        match secret.contains(&index) {
            true => out.push_str(MASK),
            false => out.push_str(&quote(&text(value))),
        }
    }
    out
}

/// A whole configuration as it was given, masked.
pub fn config(tree: &Tree) -> String {
    let source = &tree.source.text;
    let mut spans: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
    collect(&tree.root, None, &mut spans);
    spans.sort_by_key(|(span, _)| span.start);
    spans.dedup();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    for (span, with) in spans {
        if span.start >= at {
            out.push_str(&source[at..span.start]);
            out.push_str(with);
            at = span.end;
        }
    }
    out.push_str(&source[at..]);
    text(&COMMENTED.replace_all(&out, "${1}***"))
}

fn collect<'t>(
    directives: &'t [Directive],
    around: Option<&Directive>,
    into: &mut Vec<(std::ops::Range<usize>, &'t str)>,
) {
    for directive in directives {
        for index in secret_args(directive, around) {
            into.push((directive.args[index].span.clone(), MASK));
        }
        // The keys of a map are the names of its lines.
        let map = around.filter(|around| matches!(around.name.as_str(), "map" | "geo"));
        let key = !matches!(directive.name.as_str(), "default" | "hostnames" | "volatile");
        if key
            && is_literal(&directive.name)
            && map.is_some_and(|map| map.values().any(is_secret_name))
        {
            // The name as written may be quoted: up to the first argument.
            let end = directive.args.first().map_or(directive.span.end - 1, |word| word.span.start);
            into.push((directive.span.start..end, "*** "));
        }
        if let Some(block) = &directive.block {
            if block.foreign {
                into.push((block.inside.clone(), " *** "));
            }
            collect(&block.children, Some(directive), into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_repeated() {
        let source = r#"http {
  ssl_certificate_key /etc/S3CRET/key.pem;  # ssl_certificate_key /S3CRET/old;
  auth_basic_user_file S3CRET.htpasswd;
  map $http_x_api_key $who { default ""; "S3CRETkey" 1; ~^S3CRET 2; }
  map $uri $backend_token { default S3CRET; /a "S3CRET"; }
  server {
    # proxy_set_header Authorization "Bearer S3CRETcommented";
    set $my_secret 'S3CRET';
    proxy_set_header Authorization "Bearer S3CRETvalue";
    proxy_set_header X-Api-Key S3CRET;
    proxy_set_header X-Forwarded-For "Bearer S3CRETodd";
    if ($http_x_api_key != "S3CRET") { return 403; }
    proxy_pass http://user:S3CRET@origin/x?api_key=S3CRET&model=gpt;
    add_header Set-Cookie "id=S3CRET" always;
    content_by_lua_block { local k = "S3CRET" }
  }
}"#;
        let tree = Tree::read(source).unwrap();
        let masked = config(&tree);
        assert!(!masked.contains("S3CRET"), "{masked}");
        assert!(masked.contains("model=gpt") && masked.contains("return 403"), "{masked}");
        let same = Tree::read(masked.clone()).unwrap();
        assert_eq!(same.http().len(), tree.http().len(), "it can still be read: {masked}");
        let header = &tree.http()[4].children()[1];
        assert_eq!(written(header), "proxy_set_header Authorization ***");
    }

    #[test]
    fn a_line_that_is_not_whole_is_masked_too() {
        for secret in [
            "  proxy_set_header Authorization \"S3CRET",
            "ssl_certificate_key /S3CRET",
            "set $my_token S3CRET",
            "x Bearer S3CRETvalue",
        ] {
            assert!(!line(secret).contains("S3CRET"), "{}", line(secret));
        }
        assert_eq!(line("  proxy_buffering off }"), "  proxy_buffering off }");
    }

    #[test]
    fn what_is_not_secret_stays() {
        let source = "proxy_set_header Authorization $http_authorization;\n\
                      proxy_set_header Host $host;\nset $x 1;\nproxy_cookie_path / /x;\n";
        assert_eq!(config(&Tree::read(source).unwrap()), source);
    }
}
