//! Configurations as people have them: what is said of each, and what is written instead.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use config_reader::Look;
use config_reader::nginx::diagnose::{Diagnosis, Intended, Missed};
use config_reader::nginx::serve::{NotServed, Request, Served};
use config_reader::nginx::{Site, Tree, Version};

const OLD: Version = Version([1, 24, 0]);

struct Case {
    chosen: String,
    causes: Vec<&'static str>,
    notes: Vec<String>,
    missed: Option<(String, Missed)>,
    corrected: Option<config_reader::nginx::correct::Correction>,
}

fn read(text: &str, path: &str, version: Version) -> Case {
    let tree = Tree::read(text).unwrap();
    let site = Site::of(&tree).unwrap();
    let request = Request { path, ..Request::default() };
    let served: Served<'_> = site.serve(&request, version).unwrap();
    let diagnosis: Diagnosis<'_> = site.diagnose(&served, version);
    let intended: Option<Intended> = site.intended(&served);
    Case {
        chosen: served.location().map(|index| site.locations[index].written()).unwrap_or_default(),
        causes: diagnosis.causes.iter().map(|cause| cause.name).collect(),
        notes: diagnosis.notes.clone(),
        missed: intended.as_ref().map(|own| (site.locations[own.location].written(), own.why)),
        corrected: site.correct(&served, &diagnosis, intended.as_ref(), version),
    }
}

/// The block that answers a path in a corrected text, as it stands there.
fn block(text: &str, path: &str) -> String {
    let tree = Tree::read(text).unwrap();
    let site = Site::of(&tree).unwrap();
    let served = site.serve(&Request { path, ..Request::default() }, OLD).unwrap();
    let directive = site.locations[served.location().unwrap()].directive;
    text[directive.span.clone()].to_string()
}

const SHADOWED: &str = r#"# configuration file /etc/nginx/nginx.conf:
events {}
http {
    include /etc/nginx/conf.d/*.conf;
}

# configuration file /etc/nginx/conf.d/app.conf:
server {
    listen 80;
    proxy_set_header Host $host;
    include /etc/nginx/snippets/cors.conf;

    location /api/chat {
        proxy_pass http://app:8000;
        proxy_buffering off;
        proxy_cache off;
        gzip off;
    }

    location / {
        root /srv/www;
    }
}

# configuration file /etc/nginx/snippets/cors.conf:
# For the mobile team, 2019.
location ~ ^/api/ {
    proxy_pass http://app:8000;
    proxy_hide_header Access-Control-Allow-Origin;
    add_header Access-Control-Allow-Origin * always;
    if ($request_method = OPTIONS) {
        return 204;
    }
    client_max_body_size 20m;
}
"#;

#[test]
fn a_regex_that_shadows_is_named_and_what_it_did_is_kept() {
    let case = read(SHADOWED, "/api/chat", OLD);
    assert_eq!(case.chosen, "location ~ ^/api/");
    assert_eq!(case.causes, ["HTTP/1.0 to the origin, with buffering"]);
    assert_eq!(case.missed, Some(("location /api/chat".into(), Missed::Regex)));
    let corrected = case.corrected.unwrap();
    assert_eq!(
        block(&corrected.text, "/api/chat"),
        r#"location ^~ /api/chat {
        proxy_pass http://app:8000;
        proxy_buffering off;
        proxy_cache off;
        gzip off;
        proxy_http_version 1.1;
        add_header Access-Control-Allow-Origin * always;
        proxy_set_header Host $host;
        proxy_set_header Connection "";
        proxy_hide_header Access-Control-Allow-Origin;
        if ($request_method = OPTIONS) {
            return 204;
        }
        client_max_body_size 20m;
    }"#
    );
    assert_eq!(corrected.kept.len(), 4, "{:?}", corrected.kept);
    assert!(corrected.by_hand.is_empty());
    let after = read(&corrected.text, "/api/chat", OLD);
    assert_eq!(after.chosen, "location ^~ /api/chat");
    assert!(after.causes.is_empty() && after.missed.is_none());
    // The rest is as it was.
    assert_eq!(read(&corrected.text, "/api/users", OLD).chosen, "location ~ ^/api/");
}

#[test]
fn what_the_version_decides_is_said_by_the_version() {
    assert!(read(SHADOWED, "/api/chat", Version::PINNED).causes.is_empty());
    let stock = "server { listen 80; location / { proxy_pass http://app:8000; } }";
    assert_eq!(read(stock, "/x", OLD).causes.len(), 1);
    assert!(read(stock, "/x", Version([1, 29, 7])).causes.is_empty());
    assert_eq!(read(stock, "/x", Version([1, 29, 6])).causes.len(), 1);
}

#[test]
fn the_root_location_stays_and_the_path_gets_its_own() {
    let text = "http {\n    proxy_set_header X-Real-IP $remote_addr;\n    gzip on;\n    gzip_types application/json text/event-stream;\n    server {\n        location / {\n            proxy_pass http://app:8000/v2/;\n            auth_basic on;\n        }\n    }\n}\n";
    let case = read(text, "/api/chat", Version::PINNED);
    assert_eq!(case.causes, ["gzip of event streams, with buffering"]);
    let corrected = case.corrected.unwrap();
    assert_eq!(
        block(&corrected.text, "/api/chat"),
        "location ^~ /api/chat {\n            proxy_pass http://app:8000/v2/api/chat;\n            \
         auth_basic on;\n            proxy_set_header X-Real-IP $remote_addr;\n            \
         proxy_set_header Connection \"\";\n            proxy_http_version 1.1;\n            \
         proxy_buffering off;\n            proxy_cache off;\n            gzip off;\n        }"
    );
    assert_eq!(read(&corrected.text, "/other", Version::PINNED).chosen, "location /");
}

#[test]
fn a_location_of_the_path_is_changed_itself() {
    let text = "server {\n    location /api/ {\n        proxy_pass http://app;\n        proxy_http_version 1.0;\n        proxy_set_header Connection close;\n    }\n}\n";
    let corrected = read(text, "/api/chat", Version::PINNED).corrected.unwrap();
    let written = block(&corrected.text, "/api/chat");
    assert!(written.contains("proxy_http_version 1.1;") && !written.contains("1.0"), "{written}");
    assert!(written.contains("proxy_set_header Connection \"\";") && !written.contains("close"));
    let web_sockets = text.replace("Connection close", "Connection $connection_upgrade");
    let written = read(&web_sockets, "/api/chat", Version::PINNED).corrected.unwrap().text;
    assert!(written.contains("$connection_upgrade") && !written.contains("Connection \"\""));
}

#[test]
fn a_block_that_needs_its_captures_is_changed_itself() {
    let text =
        "server {\n    location ~ ^/api/(.*)$ {\n        proxy_pass http://app/$1;\n    }\n}\n";
    let corrected = read(text, "/api/chat", OLD).corrected.unwrap();
    assert!(block(&corrected.text, "/api/chat").starts_with("location ~ ^/api/(.*)$ {"));
}

#[test]
fn other_wrong_turns_are_told_apart() {
    let near = "server { location /api/chat/ { proxy_pass http://a; proxy_buffering off; } location / { proxy_pass http://a; } }";
    // nginx redirects to the slash by itself there.
    let case = read(near, "/api/chat", OLD);
    assert_eq!(case.chosen, "location /api/chat/");
    let case = read(&near.replace("/api/chat/", "/api/Chat"), "/api/chat", OLD);
    assert_eq!(case.missed, Some(("location /api/Chat".into(), Missed::Near)));
    let order = "server { location ~ ^/api { proxy_pass http://a; } location ~ chat$ { proxy_pass http://a; gzip off; } }";
    assert_eq!(read(order, "/api/chat", OLD).missed.unwrap().1, Missed::Order);
    let longer = "server { location /api { proxy_pass http://a; gzip off; } location /api/chat { proxy_pass http://a; } }";
    assert_eq!(read(longer, "/api/chat", OLD).missed.unwrap().1, Missed::Longer);
    let named =
        "server { location / { try_files $uri @app; } location @app { proxy_pass http://a; } }";
    let case = read(named, "/api/chat", OLD);
    assert_eq!(case.chosen, "location @app");
    assert!(case.corrected.is_some());
}

#[test]
fn an_ignored_header_is_noted() {
    let text =
        "server { location / { proxy_pass http://a; proxy_ignore_headers X-Accel-Buffering; } }";
    let notes = read(text, "/x", OLD).notes.join("\n");
    assert!(notes.contains("proxy_ignore_headers names X-Accel-Buffering (line 1)"), "{notes}");
}

#[test]
fn servers_are_asked_for_only_when_they_differ() {
    let text = "http { server { listen 80; server_name a; return 301 https://a$request_uri; }\n\
                server { listen 443 ssl; server_name a; location / { proxy_pass http://a; } } }";
    assert_eq!(read(text, "/x", OLD).chosen, "location /");
    let two = format!(
        "{} server {{ listen 8080; location / {{ proxy_pass http://b; }} }} }}",
        &text[..text.len() - 1]
    );
    let tree = Tree::read(two).unwrap();
    let site = Site::of(&tree).unwrap();
    let error = site.serve(&Request { path: "/", ..Request::default() }, OLD).unwrap_err();
    assert!(matches!(&error, NotServed::ManyServers { .. }), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    let error = site.serve(&Request { path: "/", port: Some(9), host: None }, OLD).unwrap_err();
    assert_eq!(error.to_string(), "no server listens at port 9: there are 80, 443, 8080");
}

/// The steps of a way: what became of what, and whether it was meant.
fn way(text: &str, request: &Request<'_>) -> Vec<(Look, String, bool)> {
    let tree = Tree::read(text).unwrap();
    let site = Site::of(&tree).unwrap();
    let served = site.serve(request, OLD).unwrap();
    let meant = site.intended(&served);
    let way = site.way(request, &served, meant.as_ref()).unwrap();
    way.into_iter().map(|own| (own.look, own.what, own.meant)).collect()
}

#[test]
fn a_requests_way_is_told_step_by_step() {
    let told = way(SHADOWED, &Request { path: "/api/chat", ..Request::default() });
    let step = |look, what: &str, meant| (look, what.to_string(), meant);
    assert_eq!(
        told,
        [
            step(Look::Server, "without a name (*:80)", false),
            step(Look::Passed, "location /", false),
            step(Look::Remembered, "location /api/chat", true),
            step(Look::Chosen, "location ~ ^/api/", false),
            step(Look::Detour, "if", false),
        ]
    );
    let text = "server { server_name a.example; location / { proxy_pass http://x; }
        location /v1 { proxy_pass http://x; location /v1/chat { proxy_buffering off; proxy_pass http://x; }
            location ~ /chat$ { proxy_pass http://x; } }
        location = /other { return 204; } location ~ \\.php$ { return 204; } }
        server { server_name b.example; location / { return 204; } }";
    let request = Request { path: "/v1/chat", host: Some("a.example"), port: None };
    assert_eq!(
        way(text, &request),
        [
            step(Look::Server, "a.example (*:80)", false),
            step(Look::Passed, "1 other location", false),
            step(Look::Passed, "location /", false),
            step(Look::Remembered, "location /v1", false),
            step(Look::Remembered, "location /v1/chat", true),
            step(Look::Chosen, "location ~ /chat$", false),
        ]
    );
    // What is meant and was never looked at is told all the same.
    let near =
        "server { location / { proxy_pass http://x; } location = /Chat { proxy_buffering off; } }";
    let told = way(near, &Request { path: "/chat", ..Request::default() });
    assert_eq!(told.last(), Some(&step(Look::Passed, "location = /Chat", true)));
    let late = "server { location ^~ /a { proxy_pass http://x; } location ~ a { return 204; } }";
    let told = way(late, &Request { path: "/a", ..Request::default() });
    assert_eq!(told.last(), Some(&step(Look::Untried, "location ~ a", false)));
}

/// A circle of `try_files` is gone round once.
#[test]
fn try_files_that_lead_back_end() {
    let text = "http { server { listen 80;\n location / { try_files $uri /a; proxy_pass http://o; }\n \
                location /a { try_files $uri /b; }\n location /b { try_files $uri /a; } } }";
    let tree = Tree::read(text).unwrap();
    let site = Site::of(&tree).unwrap();
    let served = site.serve(&Request { path: "/chat", ..Request::default() }, OLD).unwrap();
    assert_eq!(served.hops.len(), 3);
    let end = served.ends_before().unwrap();
    assert_eq!(end.what, "answers with the file /a, or with 500 where there is none");
}
