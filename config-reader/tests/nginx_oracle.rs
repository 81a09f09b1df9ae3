//! Real nginx decides: configurations made by chance, and for each request the location that
//! answered and what was in force there, compared with what the reader says.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod generate;

use common::{Answer, HEAD, HTTP, Running, get, nginx, ports};
use config_reader::nginx::mark::MARKER;
use config_reader::nginx::serve::Request;
use config_reader::nginx::{InForce, Site, Tree, Version};
use generate::{Generator, host, path};

const SERVERS: usize = 30;
const PATHS: usize = 16;

/// How many of each kind were compared.
#[derive(Debug, Default)]
struct Count {
    locations: usize,
    inherited: usize,
    servers: usize,
}

/// What one answer should be by the reader.
fn compare(
    site: &Site<'_>,
    answer: &Answer,
    name: &str,
    asked: &str,
    port: u16,
    count: &mut Count,
) {
    let request = Request { path: asked, host: Some(name), port: Some(port) };
    let served = match site.serve(&request, Version::PINNED) {
        Ok(served) => served,
        Err(config_reader::nginx::serve::NotServed::Path { .. }) => {
            assert_eq!(answer.status, 400, "{name} {asked}");
            count.locations += 1;
            return;
        }
        Err(error) => panic!("{name} {asked}: {error}"),
    };
    let force = InForce::new(site.levels(served.location(), served.server), Version::PINNED);
    let location = served.location().map(|index| site.locations[index].written());
    let said = format!("{name} {asked}: {location:?} {served:#?}\n{answer:?}");
    let own = |directive: &str| force.all(directive).last().copied();
    count.locations += 1;
    let passed = own("proxy_pass");
    if served.hops.last().is_some_and(|choice| choice.to_slash) {
        assert_eq!(answer.status, 301, "{said}");
        let uri = String::from_utf8(served.uri.clone()).unwrap();
        let to = answer.all("location").join("");
        assert!(to.split('?').next().unwrap().ends_with(&format!("{uri}/")), "{said}");
    } else if let Some(answers) = served.location().and(own("return")) {
        assert_eq!(answer.status, 200, "{said}");
        assert!(answer.body.contains(answers.arg(1).unwrap().trim()), "{said}");
        let compressed = get(port, name, asked, "Accept-Encoding: gzip\r\n");
        let compressed = !compressed.all("content-encoding").is_empty();
        assert_eq!(compressed, gzipped(&force), "gzip {said}");
        let default = force.value("default_type").map_or("text/plain".into(), |said| said.value);
        assert_eq!(answer.all("content-type"), [default.as_str()], "{said}");
        count.inherited += 2;
    } else if let Some(passed) = passed {
        assert_eq!(answer.status, 200, "{said}");
        let marker = passed.arg(0).unwrap().trim_start_matches("http://");
        let value =
            |name: &str| force.request_header(name).map(|said| said.value).unwrap_or_default();
        let expected = format!(
            "{marker}|HTTP/{}|{}|{}|{}",
            force.value("proxy_http_version").unwrap().value,
            value("Connection"),
            value("X-P"),
            value("X-Q"),
        );
        assert!(answer.body.contains(&expected), "{expected} {said}");
        count.inherited += 4;
    } else {
        assert_eq!(answer.status, 404, "{said}");
    }
    for header in ["X-A", "X-B", "X-C"] {
        let added = force.all("add_header");
        let expected: Vec<&str> = added
            .iter()
            .filter(|own| own.arg(0) == Some(header))
            .map(|own| own.arg(1).unwrap())
            .collect();
        assert_eq!(answer.all(header), expected, "{header} {said}");
        count.inherited += 1;
    }
    let tokens = force.value("server_tokens").is_none_or(|said| said.value == "on");
    assert_eq!(answer.all("server")[0].contains('/'), tokens, "{said}");
    if answer.status == 200 {
        let expires = force.value("expires").map(|said| said.value).filter(|v| v != "off");
        let expected: Vec<String> =
            expires.iter().map(|value| format!("max-age={value}")).collect();
        assert_eq!(answer.all("cache-control"), expected, "{said}");
        count.inherited += 1;
    }
    count.inherited += 1;
}

/// The marked configuration answers as the other does, and names the location.
fn marker(site: &Site<'_>, with: &Answer, without: &Answer, name: &str, asked: &str, port: u16) {
    let request = Request { path: asked, host: Some(name), port: Some(port) };
    let Ok(served) = site.serve(&request, Version::PINNED) else { return };
    let location = served.location().map(|index| site.locations[index].directive.span.start);
    let expected: Vec<String> = location.map(|at| site.tree.source.line(at)).into_iter().collect();
    // Where `add_header_inherit merge` is in force the markers of outer locations follow.
    let first: Vec<&str> = with.all(MARKER).into_iter().take(1).collect();
    assert_eq!(first, expected, "{name} {asked} {with:?}");
    assert_eq!(with.status, without.status);
    for header in ["X-A", "X-B", "X-C"] {
        assert_eq!(with.all(header), without.all(header), "{name} {asked}");
    }
}

fn gzipped(force: &InForce<'_>) -> bool {
    let kind = force.value("default_type").map_or("text/plain".into(), |said| said.value);
    let types = force.value("gzip_types").unwrap().value;
    // text/html is always among them.
    let listed = kind == "text/html" || types.split(' ').any(|own| own == "*" || own == kind);
    let least: usize = force.value("gzip_min_length").unwrap().value.parse().unwrap();
    force.is("gzip", "on") && listed && generate::BODY >= least
}

fn round(nginx: &std::path::PathBuf, seed: u64, count: &mut Count) {
    let [main, names, echo] = ports();
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut generator = Generator::new(&mut chance);
    let mut servers = String::new();
    for index in 0..SERVERS {
        servers.push_str(&generator.server(&format!("s{index}.test"), main));
    }
    servers.push_str(&generator.names(names));
    let upstreams: String = (0..generator.markers())
        .map(|n| format!("upstream m{n} {{ server 127.0.0.1:{echo}; }}\n"))
        .collect();
    let inherited = generator.inherited();
    let config = format!(
        "{HEAD}http {{\n{HTTP}{inherited}{upstreams}{servers}server {{ listen 127.0.0.1:{echo}; \
         merge_slashes off; server_tokens on; add_header_inherit off; expires off; gzip off; default_type text/plain; \
         return 200 \"$http_host|$server_protocol|$http_connection|$http_x_p|$http_x_q\"; }}\n}}\n"
    );
    let tree = Tree::read(config.clone()).unwrap_or_else(|error| panic!("{error}\n{config}"));
    let site = Site::of(&tree).unwrap();
    if let Ok(path) = std::env::var("HOLDUP_ORACLE_KEEP") {
        std::fs::write(path, &config).unwrap();
    }
    let running = Running::start(nginx, &config, main);
    // The marked one at ports of its own.
    let [marked_main, marked_names, marked_echo] = ports();
    let mut marked = site.marked(Version::PINNED);
    for (own, other) in [(main, marked_main), (names, marked_names), (echo, marked_echo)] {
        marked = marked.replace(&format!("127.0.0.1:{own};"), &format!("127.0.0.1:{other};"));
        marked = marked.replace(&format!("127.0.0.1:{own} "), &format!("127.0.0.1:{other} "));
    }
    let marked = Running::start(nginx, &marked, marked_main);
    for index in 0..SERVERS {
        let name = format!("s{index}.test");
        for _ in 0..PATHS {
            let asked = path(&mut chance);
            let answer = get(main, &name, &asked, "");
            compare(&site, &answer, &name, &asked, main, count);
            let with = get(marked_main, &name, &asked, "");
            marker(&site, &with, &answer, &name, &asked, main);
        }
    }
    for _ in 0..60 {
        let host = host(&mut chance);
        let request = Request { path: "/", host: Some(&host), port: Some(names) };
        let served = site.serve(&request, Version::PINNED).unwrap();
        let own = site.servers[served.server].directive.children();
        let marker = own.iter().find(|own| own.name == "return").unwrap().arg(1).unwrap();
        let answer = get(names, &host, "/", "");
        assert_eq!(
            answer.body,
            marker,
            "{host}\n{}",
            config.lines().filter(|line| line.contains("\"server")).collect::<Vec<_>>().join("\n")
        );
        count.servers += 1;
    }
    drop((running, marked));
}

/// `HOLDUP_ORACLE_SEED` plays a run again; `HOLDUP_ORACLE_ROUNDS` plays more than one.
#[test]
fn nginx_and_the_reader_agree() {
    let Some(nginx) = nginx() else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("HOLDUP_ORACLE_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let rounds = number("HOLDUP_ORACLE_ROUNDS").unwrap_or(1);
    for round_seed in seed..seed + rounds {
        let mut count = Count::default();
        println!("seed {round_seed}");
        round(&nginx, round_seed, &mut count);
        println!(
            "seed {round_seed}: nginx and the reader agree on {} locations, {} inherited values, \
             {} servers",
            count.locations, count.inherited, count.servers
        );
        assert!(count.locations >= 300 && count.inherited >= 300);
    }
}
