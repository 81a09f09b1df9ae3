//! haproxy.cfg as people have them: the way of a request, what holds it, what is written instead.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use config_reader::haproxy::route::{NotRouted, Request, Route};
use config_reader::haproxy::{ReadError, Tree, secret};

const SEVERAL: &str = r#"global
    log /dev/log local0
defaults base
    mode http
    timeout client 1h
defaults streaming from base
    option http-no-delay
frontend web from base
    bind *:443 ssl crt /etc/S3CRET.pem
    acl api path_beg /api/ /v1/
    acl chat hdr(host) -i chat.example.com
    http-request set-header Authorization "Bearer S3CRET"
    use_backend files if { path_end .css .js }
    use_backend metrics if { src 10.0.0.0/8 } { path /metrics }
    use_backend chat if api !{ path_reg ^/api/old }
    use_backend chat if chat
    default_backend files
backend chat from streaming
    server a 10.0.0.1:8000
backend files from base
    server b 10.0.0.2:8000
"#;

fn route(text: &str, path: &str, host: Option<&str>) -> (Tree, Route) {
    let tree = Tree::read(text).unwrap();
    let route = tree.route(&Request { path, host, port: None }).unwrap();
    (tree, route)
}

fn backend(path: &str, host: Option<&str>) -> (String, usize) {
    let (tree, route) = route(SEVERAL, path, host);
    (tree.sections[route.backend].name.clone(), tree.diagnose(&route).causes.len())
}

#[test]
fn plain_conditions_lead_to_a_backend_and_its_defaults() {
    assert_eq!(backend("/api/chat", None), ("chat".into(), 0));
    assert_eq!(backend("/api/old", None), ("files".into(), 1));
    assert_eq!(backend("/v1/x?y", None), ("chat".into(), 0));
    assert_eq!(backend("/x", Some("Chat.example.com:443")), ("chat".into(), 0));
    assert_eq!(backend("/x", Some("www")), ("files".into(), 1));
    let (_, open) = route(SEVERAL, "/metrics", None);
    assert!(open.open[0].contains("depends on more than path and host"), "{:?}", open.open);
}

#[test]
fn the_stock_is_named_and_corrected_where_the_stream_is_served() {
    let stock = "defaults\n    mode http\n    no option http-no-delay\nfrontend f\n    bind :80\n    default_backend b\nbackend b\n    no option http-no-delay\n    server a 1.2.3.4:80\n";
    let (tree, way) = route(stock, "/x", None);
    assert_eq!(tree.diagnose(&way).causes[0].0, "chunks kept back with MSG_MORE");
    let (text, section) = tree.correct(&way);
    assert_eq!(section, "backend b");
    assert!(
        text.contains("backend b\n    option http-no-delay    #")
            && text.contains("mode http\n    no option")
    );
    let (tree, way) = route(&text, "/x", None);
    assert!(tree.diagnose(&way).causes.is_empty());
    let tcp = stock.replace("mode http", "mode tcp");
    let (tree, way) = route(&tcp, "/x", None);
    assert!(tree.diagnose(&way).causes.is_empty() && !tree.diagnose(&way).http);
}

#[test]
fn what_cannot_be_read_is_one_line() {
    for (text, said) in [
        (
            "mode http\n",
            "line 1, column 1: `mode`; a section is expected here, such as global, defaults or frontend",
        ),
        (
            "global\n  log \"x\n",
            "line 2, column 7: a quote that is never closed; a closing `\"` is expected in this line",
        ),
        ("frontend f from x\n", "line 1: there is no defaults section called x before it"),
        ("global\n", "there is no frontend and no listen section in it"),
        (
            "http {\nserver {\n",
            "it looks like a configuration of nginx, not like a haproxy.cfg: use --nginx-config",
        ),
    ] {
        assert_eq!(Tree::read(text).unwrap_err().to_string(), said);
    }
    let huge = "# x\n".repeat(config_reader::haproxy::parse::MOST_BYTES / 4 + 1);
    assert!(matches!(Tree::read(huge), Err(ReadError::TooLarge { .. })));
    let two = "frontend a\n bind :80\n default_backend c\nfrontend b\n bind :81\n default_backend c\nbackend c\n";
    let tree = Tree::read(two).unwrap();
    let many = tree.route(&Request { path: "/", ..Request::default() }).unwrap_err();
    assert_eq!(
        many.to_string(),
        "2 frontends could take it: say which with --port: frontend a; frontend b"
    );
    assert!(matches!(
        tree.route(&Request { path: "/", host: None, port: Some(9) }),
        Err(NotRouted::NoPort(9))
    ));
}

#[test]
fn nothing_secret_is_repeated() {
    let text = format!(
        "{SEVERAL}userlist u\n    user a password $5$S3CRET\n    user b insecure-password S3CRET\n\
         listen stats\n    bind :1\n    stats auth admin:S3CRET\n    # stats auth admin:S3CRET\n    \
         http-request deny unless {{ req.hdr(x-api-key) -m str S3CRET }}\n    server x 1.1.1.1:1\n"
    );
    let masked = secret::config(&Tree::read(text).unwrap());
    assert!(!masked.contains("S3CRET"), "{masked}");
    assert!(masked.contains("use_backend files if { path_end .css .js }"));
    assert!(Tree::read(masked).is_ok());
}
