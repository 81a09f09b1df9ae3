//! Every endpoint for real: started, asked through, ended without a trace.
//!
//! Programs come from the user's cache and are fetched if they are not there.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{BODY, Origin, PROXIES, executable, get, options, start, tls};
use proxies::source::Cache;
use proxies::{Proxies, ProxyError, Registry, Sources, StartError, StartOptions, UpstreamProtocol};

/// The processes whose command line or folder names the scratch folder.
fn processes_of(scratch: &Path) -> Vec<String> {
    let scratch = scratch.to_str().unwrap();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(scratch) || folder.starts_with(scratch)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Long enough for a proxy to see that an answer's connection can be used again.
const SETTLE: Duration = Duration::from_millis(50);

fn check(name: &str) {
    let origin = Origin::start();
    let began = Instant::now();
    let Some(mut running) = start(name, &origin) else { return };
    println!("{name}: ready after {:?}", began.elapsed());
    assert_eq!(origin.connections(), 0, "readiness reached the emitter");
    assert!(running.is_alive());
    assert!(running.config().contains(&origin.address.port().to_string()));
    let program = running.program();
    let pinned = &PROXIES.registry().engine(program.engine.as_str()).unwrap().version;
    assert!(
        program.version.as_str().starts_with(pinned.as_str())
            || program.source.to_string() == "system"
    );

    let endpoint = running.endpoint().clone();
    let answer = if endpoint.tls {
        tls::get_h2(running.listen(), "/stream").text
    } else {
        get(running.listen(), "/stream", "")
    };
    assert!(endpoint.tls || answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(BODY), "{answer}");
    assert_eq!((origin.connections(), origin.heads().len()), (1, 1));

    let line = origin.heads()[0].lines().next().unwrap().to_ascii_lowercase();
    let spoken = match endpoint.upstream_protocol {
        UpstreamProtocol::Http2Clear => "http/2.0",
        other => other.as_str(),
    };
    assert!(line.ends_with(spoken), "{line}");
    std::thread::sleep(SETTLE);
    // Another URL: a cache must not answer by itself.
    let again = if endpoint.tls {
        tls::get_h1(running.listen(), "/stream?again").text
    } else {
        get(running.listen(), "/stream?again", "")
    };
    assert!(again.starts_with("HTTP/1.1 200"), "{again}");
    assert!(again.contains(BODY), "{again}");
    if let Some(pooled) = endpoint.pooled {
        assert_eq!(origin.connections() == 1, pooled, "pooled: {}", origin.heads()[1]);
    }

    let scratch = running.scratch().to_owned();
    println!("{name}: says {:?}", running.log_tail(5));
    assert!(!processes_of(&scratch).is_empty());
    let began = Instant::now();
    running.stop().unwrap();
    println!("{name}: ended after {:?}", began.elapsed());
    assert_eq!(processes_of(&scratch), Vec::<String>::new());
    assert!(!scratch.exists(), "the scratch folder goes too");
}

macro_rules! endpoints {
    ($($test:ident = $name:literal),* $(,)?) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn every_endpoint_is_tested() {
            let registry = Registry::embedded().unwrap();
            let names: Vec<_> = registry.endpoints().map(|e| e.name.to_string()).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

endpoints! {
    nginx = "nginx",
    nginx_buffering_off = "nginx-buffering-off",
    caddy = "caddy",
    traefik = "traefik",
    haproxy = "haproxy",
    haproxy_no_delay = "haproxy-no-delay",
    envoy = "envoy",
    nginx_http10 = "nginx-http10",
    nginx_http10_buffering_off = "nginx-http10-buffering-off",
    nginx_gzip = "nginx-gzip",
    nginx_gzip_buffering_off = "nginx-gzip-buffering-off",
    nginx_http10_gzip = "nginx-http10-gzip",
    nginx_http10_gzip_buffering_off = "nginx-http10-gzip-buffering-off",
    nginx_no_temp_file = "nginx-no-temp-file",
    nginx_keepalive = "nginx-keepalive",
    nginx_fresh = "nginx-fresh",
    nginx_shadowed = "nginx-shadowed",
    nginx_shadow_cured = "nginx-shadow-cured",
    nginx_header_ignored = "nginx-header-ignored",
    caddy_keepalive = "caddy-keepalive",
    caddy_fresh = "caddy-fresh",
    caddy_full_duplex = "caddy-full-duplex",
    caddy_encode = "caddy-encode",
    caddy_encode_all = "caddy-encode-all",
    traefik_keepalive = "traefik-keepalive",
    traefik_fresh = "traefik-fresh",
    traefik_compress = "traefik-compress",
    traefik_compress_excluded = "traefik-compress-excluded",
    nginx_1_22 = "nginx-1.22",
    haproxy_2_6 = "haproxy-2.6",
    apache = "apache",
    varnish = "varnish",
    caddy_2_6_encode = "caddy-2.6-encode",
    caddy_2_6_encode_all = "caddy-2.6-encode-all",
    traefik_buffering = "traefik-buffering",
    haproxy_type_rewritten = "haproxy-type-rewritten",
    envoy_gzip = "envoy-gzip",
    envoy_lua_body = "envoy-lua-body",
    apache_deflate = "apache-deflate",
    apache_buffer = "apache-buffer",
    apache_ext_filter = "apache-ext-filter",
    varnish_no_stream = "varnish-no-stream",
    nginx_tls = "nginx-tls",
    nginx_buffering_off_tls = "nginx-buffering-off-tls",
    nginx_http10_tls = "nginx-http10-tls",
    caddy_tls = "caddy-tls",
    traefik_tls = "traefik-tls",
    haproxy_tls = "haproxy-tls",
    haproxy_no_delay_tls = "haproxy-no-delay-tls",
    envoy_tls = "envoy-tls",
    nginx_1_22_tls = "nginx-1.22-tls",
    haproxy_2_6_tls = "haproxy-2.6-tls",
    nginx_h2c = "nginx-h2c",
    caddy_h2c = "caddy-h2c",
    traefik_h2c = "traefik-h2c",
    haproxy_h2c = "haproxy-h2c",
    envoy_h2c = "envoy-h2c",
    nginx_h2c_tls = "nginx-h2c-tls",
    caddy_h2c_tls = "caddy-h2c-tls",
    traefik_h2c_tls = "traefik-h2c-tls",
    haproxy_h2c_tls = "haproxy-h2c-tls",
    envoy_h2c_tls = "envoy-h2c-tls",
    nginx_gzip_tls = "nginx-gzip-tls",
    nginx_gzip_buffering_off_tls = "nginx-gzip-buffering-off-tls",
}

/// A stand-in for HAProxy that says its version and otherwise does as it is told.
fn stand_in(folder: &Path, script: &str) -> Proxies {
    let path = folder.join("haproxy");
    let said = "[ \"$1\" = -v ] && echo 'HAProxy version 1.2.3' && exit";
    executable(&path, &format!("#!/bin/sh\n{said}\n{script}\n"));
    let own = vec![format!("haproxy={}", path.display()).parse().unwrap()];
    let sources = Sources { own, ..Sources::with_cache(Cache::at(folder)) };
    Proxies::new(Registry::embedded().unwrap(), sources)
}

fn refusal(proxies: &Proxies, options: &StartOptions) -> StartError {
    match proxies.start("haproxy", Origin::start().address, options, &mut |_| {}) {
        Err(ProxyError::Start(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_that_ends_at_once_shows_its_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for n in 1 2 3 4 5 6 7; do echo line $n >&2; done; exit 3";
    let error = refusal(&stand_in(folder.path(), script), &options());
    assert_eq!(
        error.to_string(),
        "cannot start haproxy: it ended with status 3; \
         it says: line 3 | line 4 | line 5 | line 6 | line 7"
    );
}

#[test]
fn one_that_never_listens_is_given_up_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let proxies = stand_in(folder.path(), "echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 1000");
    let options = StartOptions { ready_limit: Duration::from_millis(500), ..options() };
    let error = refusal(&proxies, &options);
    assert!(matches!(error, StartError::NotReady { .. }), "{error}");
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

/// Somebody else listens where the proxy was told to: that stranger is not measured.
#[cfg(target_os = "linux")]
#[test]
fn a_stranger_on_the_port_is_not_taken_for_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = StartOptions { listen: stranger.local_addr().unwrap(), ..options() };
    let error = refusal(&stand_in(folder.path(), "exec sleep 1000"), &options);
    assert!(matches!(error, StartError::PortLost { .. }), "{error}");
}
