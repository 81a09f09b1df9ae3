//! Traefik's and Envoy's files: which rule answers, what holds or cuts there, and the same
//! without it. What is called a cause was measured; see docs/configuration.md.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use config_reader::structured::{self, Format};
use config_reader::{envoy, traefik};
use serde_json::{Value, json};

const TRAEFIK: &str = r#"
http:
  routers:
    web: {rule: "Host(`chat.example.com`)", entryPoints: [web], middlewares: [https], service: site}
    site: {rule: "Host(`chat.example.com`)", entryPoints: [websecure], service: site, tls: {}}
    api:
      rule: "Host(`chat.example.com`) && PathPrefix(`/api`)"
      entryPoints: [websecure]
      middlewares: [secure@file, squeeze]
      service: api
      tls: {}
  middlewares:
    https: {redirectScheme: {scheme: https}}
    secure: {chain: {middlewares: [login, limit]}}
    login: {basicAuth: {users: ["joe:S3CRET"]}}
    limit: {buffering: {maxRequestBodyBytes: 1048576}}
    squeeze: {compress: {}}
  services:
    site: {loadBalancer: {servers: [{url: "http://10.0.0.1:80"}]}}
    api: {loadBalancer: {servers: [{url: "http://10.0.0.2:8000"}]}}
"#;

const STATIC: &str = "
[entryPoints.web]
address = \":80\"
[entryPoints.websecure]
address = \":443\"
[entryPoints.websecure.transport.respondingTimeouts]
writeTimeout = \"30s\"
";

fn joined(files: &[&str]) -> Value {
    traefik::join(files.iter().map(|text| structured::read(text).unwrap().0)).unwrap()
}

fn traefik_way(whole: &Value, path: &str) -> Result<traefik::Way, String> {
    traefik::way(whole, &traefik::Request { path, host: None, port: None })
}

#[test]
fn a_chain_with_buffering_is_taken_apart_for_the_stream() {
    let whole = joined(&[TRAEFIK, STATIC]);
    let way = traefik_way(&whole, "/api/chat?x=1").unwrap();
    assert_eq!(way.router.as_deref(), Some("api"));
    assert_eq!(way.holding, ["limit"]);
    assert_eq!(way.cut, Some(("websecure".into(), 30_000)));
    let names: Vec<_> = way.causes.iter().map(|cause| cause.0).collect();
    assert_eq!(names, ["writeTimeout", "buffering"]);
    let corrected = traefik::correct(&whole, &way, "/api/chat?x=1");
    let block = structured::write(&corrected.block, Format::Yaml);
    let router = structured::at(&corrected.block, &["http", "routers", "api-stream"]).unwrap();
    assert_eq!(
        structured::word(router, &["rule"]),
        "(Host(`chat.example.com`) && PathPrefix(`/api`)) && Path(`/api/chat`)"
    );
    assert_eq!(structured::list(router, &["middlewares"]), ["login", "squeeze"], "{block}");
    let again = traefik_way(&corrected.whole, "/api/chat").unwrap();
    assert_eq!((again.router.as_deref(), again.causes.len()), (Some("api-stream"), 0));
    // The others keep what they had.
    let other = traefik_way(&corrected.whole, "/api/other").unwrap();
    assert_eq!((other.router.as_deref(), other.holding.len()), (Some("api"), 1));
    let masked = structured::write(&structured::masked(&corrected.whole), Format::Toml);
    assert!(!masked.contains("S3CRET") && masked.contains("[http.routers.api-stream]"), "{masked}");
}

#[test]
fn an_entry_points_own_middleware_is_taken_off_the_entry_point() {
    let entry = STATIC.replace(
        "[entryPoints.web]",
        "[entryPoints.websecure.http]\nmiddlewares = [\"limit@file\"]\n[entryPoints.web]",
    );
    let whole = joined(&[&TRAEFIK.replace("secure@file, ", ""), &entry]);
    let way = traefik_way(&whole, "/api/chat").unwrap();
    assert_eq!(way.of_entry_point, ["limit"]);
    let corrected = traefik::correct(&whole, &way, "/api/chat");
    assert!(traefik_way(&corrected.whole, "/api/chat").unwrap().causes.is_empty());
}

#[test]
fn what_is_not_meant_for_traefik_or_serves_nothing_is_one_line() {
    for (text, why) in [
        ("apiVersion: traefik.io/v1alpha1\nkind: IngressRoute\n", "it is a resource of Kubernetes"),
        ("static_resources: {}\n", "it is a configuration of Envoy"),
        ("services: {web: {image: x}}\n", "it is no file of Traefik"),
    ] {
        let error = traefik::join([structured::read(text).unwrap().0]).unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
    let whole = joined(&["http: {routers: {a: {rule: \"Path(`/a`)\", service: s}}}"]);
    assert_eq!(traefik_way(&whole, "/b").unwrap_err(), "no router serves /b: a Path(`/a`)");
    let two = "http: {routers: {a: {rule: \"Host(`a`)\"}, b: {rule: \"Host(`b`)\"}}}";
    let error = traefik_way(&joined(&[two]), "/").unwrap_err();
    assert_eq!(error, "several hosts could be meant: say --host: a; b");
    let half = traefik_way(&joined(&[STATIC]), "/").unwrap();
    assert!(half.router.is_none() && half.cut.is_some() && !half.open.is_empty());
}

const ENVOY: &str = r#"
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}
static_resources:
  listeners:
  - name: main
    address: {socket_address: {address: 0.0.0.0, port_value: 8443}}
    filter_chains:
    - transport_socket:
        name: tls
        typed_config: {common_tls_context: {tls_certificates: [{private_key: {inline_string: S3CRET}}]}}
      filters:
      - name: hcm
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: main
          http_filters:
          - name: authz
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz}
          - name: log
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
              defaultSourceCode: {inlineString: "function envoy_on_response(r) local b = r:body() end"}
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: other
              domains: ["other.example.com"]
              routes: [{match: {prefix: "/"}, direct_response: {status: 404}}]
            - name: chat
              domains: ["*.example.com", "chat.example.com"]
              routes:
              - match: {prefix: "/api/", headers: [{name: x-beta, present_match: true}]}
                route: {cluster: beta}
              - match: {path_separated_prefix: "/api"}
                route: {cluster: model, idle_timeout: 60s}
              - match: {safe_regex: {regex: "/v[0-9]/.*"}}
                route: {cluster: model, timeout: 0s, max_stream_duration: {max_stream_duration: 90s}}
  clusters:
  - {name: model, type: STRICT_DNS, load_assignment: {cluster_name: model}}
  - {name: beta, type: STRICT_DNS}
"#;

fn envoy_way(whole: &Value, path: &str, host: Option<&str>) -> Result<envoy::Way, String> {
    envoy::way(whole, &envoy::Request { path, host, port: None })
}

#[test]
fn a_route_of_the_streams_own_goes_without_limit_and_script() {
    let (whole, _) = structured::read(ENVOY).unwrap();
    let host = Some("chat.example.com");
    let way = envoy_way(&whole, "/api/chat", host).unwrap();
    assert_eq!((&way.clusters[..], &way.holding[..]), (&["model".into()][..], &["log".into()][..]));
    assert_eq!(way.cuts, [("timeout", 15_000)]);
    assert!(way.open.iter().any(|open| open.contains("x-beta")), "{:?}", way.open);
    let (corrected, route, _) = envoy::correct(&whole, &way, "/api/chat");
    assert_eq!(structured::word(&route, &["match", "path"]), "/api/chat");
    let again = envoy_way(&corrected, "/api/chat", host).unwrap();
    assert!(again.causes.is_empty(), "{:?}", again.causes);
    assert!(!envoy_way(&corrected, "/api/other", host).unwrap().causes.is_empty());
    let masked = structured::write(&structured::masked(&corrected), Format::Yaml);
    assert!(!masked.contains("S3CRET"), "{masked}");

    let place =
        envoy::Place { listen: ("127.0.0.1", 1), upstream: ("127.0.0.1", 2), path: "/stream" };
    let (alone, changed) = envoy::sandbox(&corrected, &again, place);
    let text = alone.to_string();
    assert!(
        !text.contains("authz") && !text.contains("S3CRET") && !text.contains("9901"),
        "{text}"
    );
    assert!(changed.iter().any(|change| change.starts_with("filter authz is left out")));
    let regex = envoy_way(&whole, "/v1/chat", host).unwrap();
    assert_eq!(regex.cuts, [("max_stream_duration", 90_000)]);
}

#[test]
fn what_is_not_meant_for_envoy_or_serves_nothing_is_one_line() {
    let (whole, _) = structured::read(ENVOY).unwrap();
    for (path, host, why) in [
        ("/api", None, "2 virtual hosts could answer: say --host: other.example.com; "),
        ("/none", Some("chat.example.com"), "no route serves /none: "),
        ("/api", Some("elsewhere.org"), "no virtual host is called elsewhere.org: "),
        ("api", None, "\"api\" is no path"),
    ] {
        let error = envoy_way(&whole, path, host).unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
    for (text, why) in [
        ("http: {routers: {}}", "it is a file of Traefik"),
        ("dynamic_resources: {lds_config: {ads: {}}}", "its listeners come from a server"),
        ("a: 1", "it is no configuration of Envoy"),
    ] {
        let error = envoy_way(&structured::read(text).unwrap().0, "/", None).unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
}

/// Scripts of Envoy have all of Lua's libraries, and logs any file: what is pasted must not.
#[test]
fn what_runs_alone_opens_no_file_and_starts_no_program() {
    let (mut whole, _) = structured::read(ENVOY).unwrap();
    let manager = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
    let any = |name: &str| format!("type.googleapis.com/envoy.x.v3.{name}");
    let lua = json!({ "@type": any("LuaPerRoute"), "source_code": { "inline_string": "EVIL()" } });
    let log = json!([{ "name": "f", "typed_config": { "@type": any("FileAccessLog"), "path": "/FILE" } }]);
    let own = whole.pointer_mut(manager).unwrap();
    own["upgrade_configs"] = json!([{ "filters": [{ "name": "u", "typed_config": lua }] }]);
    own["http_filters"][2]["typed_config"]["upstream_log"] = log.clone();
    own["http_filters"][1]["typed_config"]["source_codes"] =
        json!({ "a": { "filename": "/FILE" } });
    let host = &mut own["route_config"]["virtual_hosts"][1];
    host["typed_per_filter_config"] =
        json!({ "log": lua, "b": { "@type": any("Wasm"), "vm": "EVIL()" } });
    host["routes"][1]["route"]["inline_cluster_specifier_plugin"] =
        json!({ "extension": { "typed_config": { "@type": any("LuaConfig"), "a": "EVIL()" } } });
    let listener = whole.pointer_mut("/static_resources/listeners/0").unwrap();
    let chain = listener["filter_chains"][0].clone();
    listener["default_filter_chain"] = chain;
    let more = json!({ "name": "w", "typed_config": { "@type": any("Wasm"), "vm": "EVIL()" } });
    listener["filter_chains"][0]["filters"].as_array_mut().unwrap().push(more);
    listener["access_log"] = log;
    let way = envoy_way(&whole, "/api/chat", Some("chat.example.com")).unwrap();
    let place =
        envoy::Place { listen: ("127.0.0.1", 1), upstream: ("127.0.0.1", 2), path: "/stream" };
    let text = envoy::sandbox(&whole, &way, place).0.to_string();
    assert!(!text.contains("FILE"), "{text}");
    assert_eq!(text.matches("EVIL").count(), 1, "{text}");
    assert_eq!(text.matches("=nil; EVIL").count() + text.matches("=nil; function").count(), 2);
    assert!(text.contains("r:body()") && text.contains("Router"), "{text}");
}

#[test]
fn chains_that_name_chains_are_each_followed_once() {
    let mut text = String::from(
        "http:\n  routers: {a: {rule: \"PathPrefix(`/`)\", service: s, middlewares: [m0]}}\n  \
         middlewares:\n    b: {buffering: {}}\n    m40: {chain: {middlewares: [m0, b]}}\n",
    );
    for level in 0..40 {
        let next = level + 1;
        text.push_str(&format!(
            "    m{level}: {{chain: {{middlewares: [m{next}, m{next}, m0]}}}}\n"
        ));
    }
    let whole = joined(&[&text]);
    let way = traefik_way(&whole, "/x").unwrap();
    assert_eq!(way.holding, ["b"]);
    let corrected = traefik::correct(&whole, &way, "/x");
    assert!(traefik_way(&corrected.whole, "/x").unwrap().causes.is_empty());
}

#[test]
fn what_a_rule_compares_with_is_masked_where_its_name_is_secret() {
    let rule = "Header(`X-Api-Key`, `S3CRET`) && HeaderRegexp(`Authorization`,`^S3CRET`)";
    let text = config_reader::secret::text(rule);
    assert!(!text.contains("S3CRET") && text.contains("X-Api-Key"), "{text}");
    let kept = "Header(`X-Beta`, `yes`)";
    assert_eq!(config_reader::secret::text(kept), kept);
    let (whole, _) = structured::read(
        "match: {headers: [{name: x-api-key, string_match: {exact: S3CRET}}, {name: x-api-key, \
         exactMatch: S3CRET}], query_parameters: [{name: token, string_match: {prefix: S3CRET}}]}",
    )
    .unwrap();
    let text = structured::write(&structured::masked(&whole), Format::Json);
    assert!(!text.contains("S3CRET") && text.contains("x-api-key"), "{text}");
}
