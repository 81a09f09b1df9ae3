//! The doctor and configurations: what it says of them, and what the real proxies show.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::path::PathBuf;

use common::{alone, run, status, stderr};
use serde_json::Value;

fn file(folder: &tempfile::TempDir, text: &str) -> String {
    let path: PathBuf = folder.path().join("given.conf");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

/// What `--json` says, and the exit status.
fn told(arguments: &[&str]) -> (Value, i32) {
    let output = run(&[&["doctor"], arguments, &["--json"]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let told = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {}", stderr(&output)));
    valid(&told);
    (told, status(&output))
}

/// Holds a document to its schema.
fn valid(told: &Value) {
    let schema = include_str!("../../docs/schema/holdup.configuration-1.schema.json");
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("schema", serde_json::from_str(schema).unwrap()).unwrap();
    let index = compiler.compile("schema", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(told, index) {
        panic!("{error}\n{told:#}");
    }
}

/// A way's verdict in the proof; `None`, and the reason is printed, where nothing was decided.
fn verdict(told: &Value, name: &str) -> Option<String> {
    let proof = &told["proof"];
    if let Some(why) = proof["not_measured"].as_str() {
        println!("SKIPPED({why})");
        return None;
    }
    let row = proof["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    let verdict = row["verdict"].as_str().unwrap();
    if matches!(verdict, "void" | "cannot-tell") {
        println!("SKIPPED(void: {name}: {})", row["because"]);
        return None;
    }
    Some(verdict.into())
}

/// P9's: a prefix location written with care, and an older regular expression, included, that is
/// there for a CORS header. With what such files have besides: TLS, an account, a module that the
/// pinned nginx lacks.
const SHADOWED: &str = include_str!("configurations/shadowed.conf");

#[test]
fn a_shadowed_location_is_named_corrected_and_proved() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, SHADOWED);
    let arguments = ["--nginx-config", &file, "--path", "/api/chat", "--nginx-version", "1.24.0"];
    let (told, status) = told(&arguments);
    assert_eq!((status, told["answer"].as_str()), (1, Some("found")), "{told:#}");
    let headline = told["headline"].as_str().unwrap();
    assert!(
        headline.starts_with("`location ~ ^/api/` answers, not `location /api/chat`"),
        "{headline}"
    );
    let block = told["block"].as_str().unwrap();
    assert!(block.starts_with("location ^~ /api/chat {"), "{block}");
    for line in [
        "add_header Access-Control-Allow-Origin https://app.example.com always;",
        "proxy_hide_header Access-Control-Allow-Origin;",
        "proxy_http_version 1.1;",
        "proxy_set_header Connection \"\";",
        "proxy_set_header Host $host;",
        "proxy_buffering off;",
        "proxy_cache off;",
        "gzip off;",
    ] {
        assert!(block.contains(line), "{line} in {block}");
    }
    let (Some(before), Some(after)) = (verdict(&told, "yours"), verdict(&told, "corrected")) else {
        return;
    };
    println!("before {before}, after {after}");
    assert_eq!((before.as_str(), after.as_str()), ("held", "live"), "{told:#}");
    let changed = told["proof"]["changed"].to_string();
    for what in ["ssl_certificate_key", "brotli", "proxy_pass", "upstreams"] {
        assert!(changed.contains(what), "{what} in {changed}");
    }
}

#[test]
fn a_stock_haproxy_is_named_corrected_and_proved() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let stock = "global\n    log /dev/log local0\n    chroot /var/lib/haproxy\n    user haproxy\n    daemon\n\
                 defaults\n    log global\n    mode http\n    option httplog\n    timeout connect 5s\n    \
                 timeout client 1h\n    timeout server 1h\nfrontend www\n    bind *:443 ssl crt /etc/S3CRET.pem\n    \
                 use_backend chat if { path_beg /api/ }\n    default_backend files\nbackend chat\n    \
                 option httpchk GET /up\n    server c1 10.0.0.1:8000 check\nbackend files\n    server f1 10.0.0.2:80\n";
    let file = file(&folder, stock);
    let (told, status) = told(&["--haproxy-config", &file, "--path", "/api/chat"]);
    assert_eq!((status, told["answer"].as_str()), (1, Some("found")), "{told:#}");
    assert!(told["headline"].as_str().unwrap().contains("frontend www, backend chat"));
    assert!(told["block"].as_str().unwrap().contains("option http-no-delay"));
    assert!(!told.to_string().contains("S3CRET"));
    let (Some(before), Some(after)) = (verdict(&told, "yours"), verdict(&told, "corrected")) else {
        return;
    };
    println!("before {before}, after {after}");
    assert_eq!((before.as_str(), after.as_str()), ("corked", "live"), "{told:#}");
}

#[test]
fn a_caddyfile_is_adapted_by_caddy_checked_and_proved() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "chat.example.com {\n\tencode gzip\n\thandle /api/* {\n\t\treverse_proxy app:8000 {\n\t\t\t\
                response_buffers 4k\n\t\t}\n\t}\n\treverse_proxy web:3000\n}\n";
    for (text, path, more, cause) in [
        (text.to_string(), "/api/chat", &[][..], "response_buffers"),
        // The compressor of older ones keeps what it takes.
        (
            text.replace("\t\t\tresponse_buffers 4k\n", ""),
            "/x",
            &["--caddy-version", "2.6.2"],
            "encode",
        ),
    ] {
        let file = file(&folder, &text);
        let arguments =
            [&["doctor", "--caddyfile", &file, "--path", path, "--json"], more].concat();
        let output = run(&arguments);
        if status(&output) == 4 && stderr(&output).contains("is adapted by Caddy") {
            println!("SKIPPED({})", stderr(&output).trim());
            return;
        }
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((status(&output), told["answer"].as_str()), (1, Some("found")), "{told:#}");
        assert!(told["headline"].as_str().unwrap().ends_with(&format!("by {cause}.")), "{told:#}");
        let (Some(before), Some(after)) = (verdict(&told, "yours"), verdict(&told, "corrected"))
        else {
            return;
        };
        println!("{cause}: before {before}, after {after}");
        assert_eq!((before.as_str(), after.as_str()), ("held", "live"), "{told:#}");
    }
    let clean = run(&["doctor", "--caddyfile", &file(&folder, text), "--path", "/x"]);
    assert_eq!(status(&clean), 0, "{}", stderr(&clean));
    let broken =
        run(&["doctor", "--caddyfile", &file(&folder, "a {\n nonsense\n}\n"), "--path", "/x"]);
    assert_eq!((status(&broken), stderr(&broken).lines().count()), (2, 1), "{}", stderr(&broken));
    assert!(stderr(&broken).contains("Caddy cannot read it: "), "{}", stderr(&broken));
}

#[test]
fn nothing_secret_is_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, SHADOWED);
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let told = ["doctor", "--nginx-config", &file, "--path", "/other", "--no-proof"];
    for more in [&["--json"][..], &["--out", out], &["--marked"]] {
        let output = run(&[&told[..], more].concat());
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(!all.contains("S3CRET"), "{more:?}: {all}");
    }
    let mut kept = 0;
    for entry in std::fs::read_dir(out).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("S3CRET") && text.contains("***"), "{text}");
        kept += 1;
    }
    assert_eq!(kept, 2);
    let output = run(&[&told[..], &["--out", out]].concat());
    assert_eq!(status(&output), 2, "an earlier diagnosis is kept");
}

#[test]
fn each_location_says_its_name_when_it_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, SHADOWED);
    let output = run(&["doctor", "--nginx-config", &file, "--marked"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    for place in [
        "/etc/nginx/conf.d/chat.conf:9",
        "/etc/nginx/conf.d/chat.conf:15",
        "/etc/nginx/snippets/cors.conf:1",
    ] {
        assert!(
            text.contains(&format!("add_header X-Holdup-Location \"{place}\" always;")),
            "{text}"
        );
    }
    assert!(stderr(&output).contains("secret values are masked as ***"));
}

#[test]
fn what_depends_on_the_version_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, "server { listen 80; location /x { proxy_pass http://a; } }");
    let arguments = ["--nginx-config", &file, "--path", "/x", "--no-proof"];
    let (without, status) = told(&arguments);
    assert_eq!((status, without["answer"].as_str()), (3, Some("cannot-tell")));
    assert!(without["headline"].as_str().unwrap().contains("say --nginx-version"));
    let with = |version| told(&[&arguments[..], &["--nginx-version", version]].concat());
    assert_eq!(with("1.22.1").1, 1);
    let (clean, status) = with("1.31.5");
    assert_eq!((status, clean["answer"].as_str()), (0, Some("clean")), "{clean:#}");
    assert!(clean["block"].is_null());
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let huge = "a b;\n".repeat(2_000_000);
    let two = "server { listen 80; location / { proxy_pass http://a; } }\n\
               server { listen 81; location / { proxy_pass http://a; } }";
    let regex = "server { location ~ \"\\p{L}\" { proxy_pass http://a; } }";
    for (text, path, code, said) in [
        (
            "http {\n  server {\n",
            "/x",
            2,
            "given.conf: line 3, column 1: the file ends; `}` for the block of line 2 is expected here",
        ),
        (
            "http { include mime.types; }",
            "/x",
            2,
            "the included file mime.types is missing: give the whole output of `nginx -T`",
        ),
        ("server { location /a { return 200; } }", "/x", 2, "no location serves /x in the server"),
        (
            "frontend f\n  bind :80\nbackend b\n",
            "/x",
            2,
            "it looks like a haproxy.cfg, not like a configuration of nginx: use --haproxy-config",
        ),
        (two, "/x", 2, "2 servers could answer this path: say which with --host or --port: "),
        (huge.as_str(), "/x", 2, "is the most that is read: is it a configuration?"),
        ("events {}", "/x", 2, "there is no server block in it"),
        (
            "server { location / { proxy_pass http://a; } }",
            "x",
            2,
            "\"x\" is no path that nginx takes: a path starts with `/`",
        ),
        (regex, "/x", 3, "whether `\\p{L}` matches cannot be said here"),
    ] {
        let file = file(&folder, text);
        let output = run(&["doctor", "--nginx-config", &file, "--path", path]);
        let line = stderr(&output);
        assert_eq!(status(&output), code, "{line}");
        assert!(line.contains(said), "{said}: {line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(output.stdout.is_empty());
    }
    let nowhere = run(&["doctor", "--nginx-config", "/nonexistent", "--path", "/x"]);
    assert_eq!((status(&nowhere), stderr(&nowhere).lines().count()), (2, 1));
    let no_path = run(&["doctor", "--nginx-config", "/nonexistent"]);
    assert!(stderr(&no_path).starts_with("holdup: say which path is streamed: --path /api/chat"));
    let file = file(&folder, "http {\nserver {\n");
    let other = run(&["doctor", "--haproxy-config", &file, "--path", "/x"]);
    assert!(stderr(&other).contains("use --nginx-config"), "{}", stderr(&other));
}

/// Traefik's buffering middleware in a chain, put there to limit requests.
const TRAEFIK: &str = r#"
http:
  routers:
    api:
      rule: "Host(`chat.example.com`) && PathPrefix(`/api`)"
      entryPoints: [websecure]
      middlewares: [secure]
      service: api
      tls: {}
  middlewares:
    secure: {chain: {middlewares: [login, limit]}}
    login: {basicAuth: {users: ["joe:S3CRET"]}}
    limit: {buffering: {maxRequestBodyBytes: 1048576}}
  services:
    api: {loadBalancer: {servers: [{url: "http://10.0.0.2:8000"}]}}
"#;

#[test]
fn traefiks_buffering_is_named_taken_off_the_stream_and_measured() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, TRAEFIK);
    let (told, status) = told(&["--traefik-config", &file, "--path", "/api/chat"]);
    let text = told.to_string();
    assert!(!text.contains("S3CRET"), "{text}");
    assert!(told["headline"].as_str().unwrap().contains("held there by buffering"), "{told:#}");
    let block = told["block"].as_str().unwrap();
    assert!(block.contains("api-stream") && block.contains("login"), "{block}");
    let (Some(yours), Some(corrected)) = (verdict(&told, "yours"), verdict(&told, "corrected"))
    else {
        return;
    };
    assert_eq!((yours.as_str(), corrected.as_str(), status), ("held", "live", 1), "{told:#}");
}

/// Envoy as its own examples have it: nothing is said of time, so 15 s are the limit.
const ENVOY: &str = r#"
static_resources:
  listeners:
  - name: main
    address: {socket_address: {address: 0.0.0.0, port_value: 8080}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: main
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: "/"}
                route: {cluster: model}
  clusters:
  - name: model
    type: STRICT_DNS
    load_assignment:
      cluster_name: model
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: model, port_value: 8000}}}}]}]
"#;

#[test]
fn envoys_own_time_limit_is_named_lifted_and_measured() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, ENVOY);
    let (told, status) = told(&["--envoy-config", &file, "--path", "/api/chat"]);
    assert!(told["headline"].as_str().unwrap().contains("cut off there by timeout"), "{told:#}");
    assert_eq!(told["in_force"]["settings"][0]["value"], "15 s");
    assert!(told["block"].as_str().unwrap().contains("/api/chat"), "{told:#}");
    let (Some(yours), Some(corrected)) = (verdict(&told, "yours"), verdict(&told, "corrected"))
    else {
        return;
    };
    assert_eq!((yours.as_str(), corrected.as_str(), status), ("truncated", "live", 1), "{told:#}");
}

#[test]
fn data_that_is_none_says_where_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (option, text, why) in [
        ("--traefik-config", "http:\n  routers: {a: 1\n  password: S3CRET\n", "line "),
        ("--envoy-config", "static_resources: 1\na: [\n", "line "),
        ("--envoy-config", TRAEFIK, "use --traefik-config"),
        ("--traefik-config", ENVOY, "use --envoy-config"),
    ] {
        let file = file(&folder, text);
        let output = run(&["doctor", option, &file, "--path", "/"]);
        let said = stderr(&output);
        assert_eq!(status(&output), 2, "{said}");
        assert!(said.contains(why) && !said.contains("S3CRET"), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    }
}
