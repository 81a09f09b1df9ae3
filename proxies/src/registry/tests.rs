//! The registry as it is, and registries that lead nowhere.

use super::*;

#[test]
fn the_embedded_registry_parses() {
    let registry = Registry::embedded().unwrap();
    let names: Vec<_> = registry.default_endpoints().map(|e| e.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "nginx",
            "nginx-buffering-off",
            "caddy",
            "traefik",
            "haproxy",
            "haproxy-no-delay",
            "envoy"
        ]
    );
    for endpoint in registry.endpoints() {
        assert_eq!(registry.engine_of(endpoint).name, endpoint.engine);
        assert!(!endpoint.label.contains('\n'), "a label is one line");
    }
    let old = registry.endpoint("nginx-1.22").unwrap();
    assert_eq!((old.upstream_protocol.as_str(), old.pooled), ("http/1.0", Some(false)));
    assert_eq!(registry.endpoint("nginx").unwrap().upstream_protocol, UpstreamProtocol::Http11);
}

/// The files of the folders that hold configuration files. The Node origin is no proxy.
fn on_disk() -> BTreeSet<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() && !["src", "tests", "node"].contains(&name.as_str()) {
            for file in std::fs::read_dir(entry.path()).unwrap().map(Result::unwrap) {
                found.insert(format!("{name}/{}", file.file_name().to_str().unwrap()));
            }
        }
    }
    found
}

#[test]
fn every_file_of_the_folder_is_embedded_and_named_by_an_endpoint() {
    let embedded: BTreeSet<_> = embedded::FILES.iter().map(|f| f.path.to_owned()).collect();
    assert_eq!(embedded, on_disk());
    let registry = Registry::embedded().unwrap();
    let named: BTreeSet<_> = registry
        .endpoints()
        .flat_map(|e| e.companions.iter().chain([&e.config]).map(|f| f.path.to_owned()))
        .collect();
    assert_eq!(named, embedded);
}

#[test]
fn no_two_endpoints_are_the_same_under_two_names() {
    let registry = Registry::embedded().unwrap();
    let mut seen = BTreeSet::new();
    for endpoint in registry.endpoints() {
        let companions: Vec<_> = endpoint.companions.iter().map(|file| file.path).collect();
        let is_new = seen.insert((&endpoint.engine, endpoint.config.path, companions));
        assert!(is_new, "{} is another endpoint", endpoint.name);
    }
}

#[test]
fn what_leads_nowhere_is_refused() {
    let said = |engines: &str, endpoints: &str| {
        let error = Registry::parse(engines, endpoints).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let engine =
        |from: &str, to: &str| said(&embedded::ENGINES.replacen(from, to, 1), embedded::ENDPOINTS);
    let endpoint =
        |from: &str, to: &str| said(embedded::ENGINES, &embedded::ENDPOINTS.replacen(from, to, 1));
    let error = endpoint("engine = \"caddy\"", "engine = \"nobody\"");
    assert!(error.contains("endpoint caddy names engine nobody"), "{error}");
    let error = endpoint("config = \"caddy/Caddyfile\"", "config = \"caddy/none\"");
    assert!(error.contains("names file caddy/none"), "{error}");
    let error = endpoint("name = \"caddy\"", "name = \"nginx\"");
    assert!(error.contains("nginx is there twice"), "{error}");
    let error = endpoint("label = ", "lable = ");
    assert!(error.contains("endpoints.toml") && error.contains("lable"), "{error}");
    let error = endpoint("\"http/1.0\"", "\"http/0.9\"");
    assert!(error.contains("http/0.9"), "{error}");
    let error = engine("kind = \"connect\"", "kind = \"prayer\"");
    assert!(error.contains("registry.toml") && error.contains("prayer"), "{error}");
    let error = engine("pin = [{ version = \"5.3.6-2\"", "pin = []\nx = [{ version = \"5.3.6-2\"");
    assert!(error.contains("registry.toml"), "{error}");
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let registry = Registry::embedded().unwrap();
    assert_eq!(
        registry.engine("squid").unwrap_err().to_string(),
        "no proxy engine is called squid; there are: apache, caddy, caddy-2.6, envoy, haproxy, \
         haproxy-2.6, nginx, nginx-1.22, traefik, varnish"
    );
    assert!(registry.endpoint("direct").is_err(), "direct is no proxy");
}

#[test]
fn somebodys_own_configuration_is_one_more_endpoint() {
    let mut registry = Registry::embedded().unwrap();
    let own = |file: &str| OwnConfig {
        file: file.into(),
        template: "a text".into(),
        places: vec![String::new(), "line 7".into()],
    };
    for (engine, files) in [("nginx", 1), ("traefik", 2)] {
        let name: EndpointName = format!("{engine}-own").parse().unwrap();
        registry.add_own(engine, name.clone(), own("a/b.conf")).unwrap();
        let endpoint = registry.endpoint(name.as_str()).unwrap();
        assert_eq!(endpoint.label, "b.conf");
        assert!(!endpoint.default);
        assert_eq!(1 + endpoint.companions.len(), files, "{engine}");
        let last = endpoint.companions.last().unwrap_or(&endpoint.config);
        assert_eq!(last.template, "a text");
        let own = endpoint.own.as_ref().unwrap();
        assert_eq!([own.place(1), own.place(2), own.place(9)], ["", "line 7", ""]);
        let twice = registry.add_own(engine, name, own_again());
        assert!(matches!(twice, Err(RegistryError::Twice(_))));
    }
    let unknown = registry.add_own("squid", "squid-own".parse().unwrap(), own_again());
    assert!(matches!(unknown, Err(RegistryError::UnknownEngine { .. })));
}

fn own_again() -> OwnConfig {
    OwnConfig { file: "x".into(), template: String::new(), places: Vec::new() }
}
