//! `--own-config`: configurations as people have them, beside the stock endpoint of their engine.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::path::PathBuf;
use std::process::Output;

use common::{alone, document, rows, run, status, stderr, void};
use measure::results::{Document, Endpoint};
use measure::verdict::Verdict;

/// A file in a folder of its own, as the option takes it.
fn given(folder: &tempfile::TempDir, engine: &str, name: &str, text: &str) -> String {
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    format!("{engine}={}", path.display())
}

/// Three rounds of the headline with these options.
fn measured(arguments: &[&str]) -> Output {
    run(&[&["measure", "--json"], arguments].concat())
}

fn endpoint<'a>(document: &'a Document, name: &str) -> &'a Endpoint {
    document.endpoints.iter().find(|endpoint| endpoint.name == name).unwrap()
}

/// The verdicts of two endpoints; `None`, and the reason is printed, where a stock one could not
/// be had or the machine was too noisy.
fn verdicts(document: &Document, names: [&str; 2]) -> Option<[Verdict; 2]> {
    if let Some(why) = &endpoint(document, names[0]).failed {
        println!("SKIPPED({}: {why})", names[0]);
        return None;
    }
    assert_eq!(endpoint(document, names[1]).failed, None);
    if void(document) {
        return None;
    }
    let of = |name| rows(document, name)[0].summary.verdict.name;
    println!("{}: {:?}, {}: {:?}", names[0], of(names[0]), names[1], of(names[1]));
    Some(names.map(of))
}

/// P9's, as a person has it: the rule that was meant never applies, an older regular expression
/// answers. It listens on port 80 and logs to system folders.
const SHADOWED: &str = r#"user www-data;
pid /run/nginx.pid;
error_log /var/log/nginx/error.log;
events { worker_connections 768; }
http {
    access_log /var/log/nginx/access.log;
    upstream chat { server 10.1.2.3:8000; keepalive 8; }
    server {
        listen 80;
        server_name chat.example.com;
        location ~ ^/api/ {
            proxy_pass http://chat;
            proxy_http_version 1.0;
            proxy_set_header Authorization "Bearer S3CRETtoken";
            proxy_hide_header Access-Control-Allow-Origin;
            add_header Access-Control-Allow-Origin * always;
        }
        location /api/chat {
            proxy_pass http://chat;
            proxy_buffering off;
            gzip off;
        }
        location / { root /srv/www; }
    }
}
"#;

#[test]
fn a_shadowed_location_is_held_beside_the_stock_one() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let own = given(&folder, "nginx", "site.conf", SHADOWED);
    let output = measured(&["--own-config", &own, "--own-path", "/api/chat"]);
    let said = stderr(&output);
    // What was changed is said, with its line.
    for line in [
        "line 2: pid /run/nginx.pid -> left out",
        "line 3: error_log /var/log/nginx/error.log -> left out",
        "line 6: access_log /var/log/nginx/access.log -> left out",
        "line 7: server 10.1.2.3:8000 -> server {{upstream}}",
        "line 9: listen 80 -> listen {{listen}}",
        "`location ~ ^/api/` (line 11) answers /api/chat",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let document = document(&output);
    let ran = endpoint(&document, "nginx-own");
    assert_eq!(ran.label, "site.conf");
    assert_eq!(ran.proxy.as_deref(), Some("nginx"));
    let Some(found) = verdicts(&document, ["nginx", "nginx-own"]) else { return };
    let config = ran.config.as_deref().unwrap();
    assert!(config.contains("location ~ ^/api/ {") && !config.contains("/var/log"), "{config}");
    assert!(config.contains("***") && !format!("{said}{config}").contains("S3CRET"), "{config}");
    assert_eq!(found, [Verdict::Live, Verdict::Held]);
}

#[test]
fn placeholders_say_where_the_addresses_stand() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "error_log /var/log/nginx/error.log notice;\nevents {}\nhttp {\n  \
                access_log /var/log/nginx/access.log;\n  server {\n    listen {{listen_host}}:{{listen_port}};\n    \
                location / { proxy_pass http://{{upstream}}; proxy_http_version 1.0; }\n  }\n  \
                server {\n    listen 80;\n    return 301 https://example.com;\n  }\n}\n";
    let own = given(&folder, "nginx", "placed.conf", text);
    let output = measured(&["--own-config", &own]);
    let said = stderr(&output);
    for line in [
        "line 1: error_log /var/log/nginx/error.log notice; -> error_log stderr notice;",
        "line 4: access_log /var/log/nginx/access.log; -> access_log off;",
        "line 10: listen 80; -> listen {{admin}};",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let document = document(&output);
    let Some(found) = verdicts(&document, ["nginx", "nginx-own"]) else { return };
    assert_eq!(found, [Verdict::Live, Verdict::Held]);
}

#[test]
fn a_stock_haproxy_of_ones_own_is_corked() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "global\n    log /dev/log local0\n    chroot /var/lib/haproxy\n    user haproxy\n    daemon\n\
                defaults\n    log global\n    mode http\n    timeout connect 5s\n    timeout client 1h\n    \
                timeout server 1h\nfrontend www\n    bind *:80\n    use_backend chat if { path_beg /api/ }\n    \
                default_backend files\nbackend chat\n    option http-no-delay\n    server c1 10.0.0.1:8000 check\n\
                backend files\n    server f1 10.0.0.2:80\n";
    let own = given(&folder, "haproxy", "haproxy.cfg", text);
    // Twice: once by the backend that answers /stream, once by the other.
    let output = measured(&["--own-config", &own, "--endpoints", "haproxy"]);
    let said = stderr(&output);
    assert!(said.contains("line 13: bind *:80 -> bind {{listen}}"), "{said}");
    assert!(said.contains("/stream goes by frontend www, backend files"), "{said}");
    let stock = document(&output);
    let Some(found) = verdicts(&stock, ["haproxy", "haproxy-own"]) else { return };
    assert_eq!(found, [Verdict::Corked, Verdict::Corked]);
    let output = measured(&["--own-config", &own, "--own-path", "/api/chat"]);
    assert!(stderr(&output).contains("/api/chat goes by frontend www, backend chat"));
    let cured = document(&output);
    let Some(found) = verdicts(&cured, ["haproxy", "haproxy-own"]) else { return };
    assert_eq!(found, [Verdict::Corked, Verdict::Live]);
}

#[test]
fn a_caddyfile_of_ones_own_is_live() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "{\n\temail me@example.com\n}\n\nchat.example.com {\n\tlog {\n\t\toutput file /var/log/caddy/access.log\n\t}\n\t\
                encode gzip\n\treverse_proxy app:8000 app:8001 {\n\t\tlb_policy random\n\t\tflush_interval 10s\n\t}\n}\n";
    let own = given(&folder, "caddy", "Caddyfile", text);
    let output = measured(&["--own-config", &own]);
    let said = stderr(&output);
    for line in [
        "line 5: chat.example.com { -> http://:{{listen_port}} { bind {{listen_host}}",
        "line 7: output file /var/log/caddy/access.log -> left out",
        "line 10: reverse_proxy app:8000 app:8001 { -> reverse_proxy {{upstream}} {",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let document = document(&output);
    let Some(found) = verdicts(&document, ["caddy", "caddy-own"]) else { return };
    assert_eq!(found, [Verdict::Live, Verdict::Live]);
}

#[test]
fn traefik_and_envoy_take_theirs() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let dynamic = "http:\n  routers:\n    chat:\n      rule: \"Host(`chat.example.com`)\"\n      entryPoints:\n        \
                   - websecure\n      service: chat\n  services:\n    chat:\n      loadBalancer:\n        servers:\n          \
                   - url: \"http://10.0.0.1:8000\"\n";
    let traefik = given(&folder, "traefik", "dynamic.yaml", dynamic);
    let envoy = run(&["proxies", "config", "envoy"]);
    let envoy = String::from_utf8(envoy.stdout).unwrap();
    let envoy = given(&folder, "envoy", "envoy.yaml", &envoy);
    for (own, stock, name) in [(traefik, "traefik", "traefik-own"), (envoy, "envoy", "envoy-own")] {
        let document = document(&measured(&["--own-config", &own]));
        let Some(found) = verdicts(&document, [stock, name]) else { return };
        assert_eq!(found[0], found[1], "the same text");
    }
}

#[test]
fn one_that_refuses_to_start_is_a_row_with_its_own_message_and_line() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let broken = SHADOWED.replace("proxy_buffering off;", "proxy_bufering off;");
    let nginx = given(&folder, "nginx", "site.conf", &broken);
    let haproxy = given(
        &folder,
        "haproxy",
        "haproxy.cfg",
        "defaults\n    mode http\n    timeout client 1h\n    timeout cnnect 5s\nfrontend f\n    bind :80\n    \
         default_backend b\nbackend b\n    server s 10.0.0.1:80\n",
    );
    let placed = given(
        &folder,
        "nginx",
        "placed.conf",
        "events {}\nhttp {\n  server {\n    listen {{listen}};\n    location / { proxy_pass http://{{upstream}}; }\n    \
         proxy_bufering off;\n  }\n}\n",
    );
    let caddy = given(
        &folder,
        "caddy",
        "Caddyfile",
        "chat.example.com {\n\treverse_proxy app:8000 {\n\t\tflush_intervall -1\n\t}\n}\n",
    );
    for (own, name, said) in [
        (nginx, "nginx-own", ["unknown directive \"proxy_bufering\"", "site.conf, line 20"]),
        (placed, "nginx-own", ["unknown directive \"proxy_bufering\"", "placed.conf, line 6"]),
        (haproxy, "haproxy-own", ["cnnect", "haproxy.cfg, line 4"]),
        (caddy, "caddy-own", ["flush_intervall", "Caddyfile, line 3"]),
    ] {
        let output = measured(&["--own-config", &own, "--runs", "1"]);
        let document = document(&output);
        if let Some(why) = &document.endpoints[1].failed {
            println!("SKIPPED({why})");
            return;
        }
        let why = endpoint(&document, name).failed.clone().unwrap();
        assert!(why.lines().count() == 1 && said.iter().all(|said| why.contains(said)), "{why}");
        assert!(!why.contains("/tmp/holdup-"), "{why}");
        assert_eq!(status(&output), 4, "{}", stderr(&output));
        // Beside something that was named it is a row.
        let beside = ["--own-config", &own, "--endpoints", "nginx", "--runs", "1"];
        let output = measured(&beside);
        assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
    }
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let two = "server { listen 80; location / { proxy_pass http://a; } }\n\
               server { listen 81; location / { proxy_pass http://b; } }";
    for (engine, text, said) in [
        ("nginx", "http {\n  server {\n", "line 3, column 1: the file ends"),
        ("nginx", "server { listen 80; }", "no server block in it has a proxy_pass"),
        ("nginx", two, "2 server blocks have a proxy_pass: leave one of them"),
        ("nginx", "listen {{listen}};", "it has {{listen}} but not {{upstream}}"),
        (
            "nginx",
            "listen {{listen}};\n{{upstream}} {{home}}",
            "line 2: `{{home` is no placeholder",
        ),
        ("haproxy", "frontend f\n bind :80\n", "no backend takes this path"),
        ("caddy", "a.example.com {\n}\nb.example.com {\n}\n", "it has 2 site blocks"),
        ("caddy", "a.example.com\nreverse_proxy b:80\n", "line 1: a.example.com stands outside"),
        ("traefik", "entryPoints:\n  web:\n", "entryPoints: is of Traefik's static half"),
        (
            "envoy",
            "static_resources:\n",
            "put {{listen_host}} and {{listen_port}} where it listens",
        ),
    ] {
        let own = given(&folder, engine, "given.conf", text);
        let output = run(&["measure", "--own-config", &own]);
        let line = stderr(&output);
        assert_eq!((status(&output), line.lines().count()), (2, 1), "{line}");
        assert!(line.contains("given.conf: ") && line.contains(said), "{said}: {line}");
    }
    for (own, said) in [
        ("nginx=/nonexistent", "/nonexistent: No such file or directory"),
        ("squid=x", "no engine takes a configuration by the name \"squid\""),
        ("nginx", "it is ENGINE=FILE, such as nginx=nginx.conf"),
    ] {
        let output = run(&["measure", "--own-config", own]);
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

/// An image instead of the pinned binary, by a stand-in for docker that runs that binary.
#[test]
fn an_image_stands_in_for_the_binary_and_is_named_by_its_digest() {
    let _alone = alone();
    let proxies = proxies::Proxies::of_user(Vec::new()).unwrap();
    let program = match proxies.fetch(&["nginx"], &mut |_| {}).unwrap().remove(0).1 {
        Ok(program) => program,
        Err(why) => return println!("SKIPPED(nginx: {why})"),
    };
    let folder = tempfile::tempdir().unwrap();
    let script = include_str!("../../proxies/tests/common/docker.sh")
        .replace("@PROGRAM@", program.path.to_str().unwrap())
        .replace("@LIBRARIES@", "");
    // By another process: what this one has open for writing cannot be executed.
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let docker = folder.path().join("docker");
    let mut shell = std::process::Command::new("/bin/sh");
    assert!(shell.args(["-c", write]).arg(&docker).arg(&script).status().unwrap().success());
    let path = std::env::var("PATH").unwrap();
    let measured = || {
        let arguments = ["measure", "--source", "docker", "--endpoints", "nginx", "--runs", "1"];
        common::holdup(&[&arguments[..], &["--json", "--strict"]].concat())
            .env("PATH", format!("{}:{path}", folder.path().display()))
            .output()
            .unwrap()
    };
    let output = measured();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let document = document(&output);
    let nginx = endpoint(&document, "nginx");
    assert_eq!(nginx.source.as_deref(), Some("docker nginx:1.31.5"));
    assert_eq!(nginx.version.as_deref(), Some("1.31.5"));
    assert_eq!(nginx.sha256, Some("d".repeat(64)));

    // No engine: the one row fails, and nothing takes its place.
    std::fs::write(folder.path().join("fail"), "no-daemon").unwrap();
    let output = measured();
    assert_eq!(status(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("nginx:1.31.5: docker reaches no engine"));
}
