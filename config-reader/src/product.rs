//! Whose configuration a text is, by its looks.

/// The programs whose configurations are read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// Caddy.
    Caddy,
    /// Traefik.
    Traefik,
    /// Envoy.
    Envoy,
}

/// Lines that are looked at: whose a text is shows long before.
const MOST_LINES: usize = 4_000;

impl Product {
    /// All of them.
    pub const ALL: [Product; 5] =
        [Product::Nginx, Product::Haproxy, Product::Caddy, Product::Traefik, Product::Envoy];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Product::Nginx => "nginx",
            Product::Haproxy => "haproxy",
            Product::Caddy => "caddy",
            Product::Traefik => "traefik",
            Product::Envoy => "envoy",
        }
    }

    /// The other way.
    pub fn named(name: &str) -> Option<Product> {
        Product::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Whose a text looks like; none where nothing of it is known.
    pub fn of(text: &str) -> Option<Product> {
        let lines = text.lines().take(MOST_LINES).map(str::trim);
        let lines: Vec<&str> =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        if text.starts_with("# configuration file /") || text.contains("\n# configuration file /") {
            return Some(Product::Nginx);
        }
        let key = |name: &str| {
            let bare = |line: &str| line.replace(['"', '\'', '{', ' '], "");
            lines.iter().any(|line| {
                let line = bare(line);
                line.starts_with(&format!("{name}:")) || line.starts_with(&format!("[{name}"))
            })
        };
        if key("static_resources") || key("staticResources") || key("dynamic_resources") {
            return Some(Product::Envoy);
        }
        let dynamic = ["routers", "middlewares", "services"].iter().any(|own| key(own));
        if key("entryPoints") || (key("http") && dynamic) || key("http.routers") {
            return Some(Product::Traefik);
        }
        let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_string();
        let section = |line: &&&str| {
            let known = ["frontend", "backend", "defaults", "listen", "global"];
            known.contains(&first(line).as_str()) && !line.contains([';', '{'])
        };
        if lines.iter().filter(section).count() >= 2 {
            return Some(Product::Haproxy);
        }
        let ends = lines.iter().filter(|line| line.ends_with(';')).count();
        let nginx = |line: &&str| {
            matches!(first(line).as_str(), "server" | "http" | "location" | "events" | "upstream")
                && line.contains('{')
        };
        // One line of it may hold a whole server.
        if lines.iter().any(nginx) && (ends > 0 || text.contains(';')) {
            return Some(Product::Nginx);
        }
        let known = ["reverse_proxy", "handle", "handle_path", "encode", "route", "respond"];
        let caddy = |line: &&str| known.contains(&first(line).as_str());
        (ends == 0 && lines.iter().any(caddy)).then_some(Product::Caddy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_told_apart() {
        for (text, product) in [
            ("# configuration file /etc/nginx/nginx.conf:\nevents {}", Some(Product::Nginx)),
            ("server { listen 80; location / { proxy_pass http://a; } }", Some(Product::Nginx)),
            ("http {\n  upstream a {\n    server b;\n  }\n}", Some(Product::Nginx)),
            ("global\n  daemon\nfrontend f\n  bind :80\n", Some(Product::Haproxy)),
            ("a.example {\n\treverse_proxy b:80\n}\n", Some(Product::Caddy)),
            ("a.example {\n\tencode gzip\n\thandle /x {\n\t}\n}\n", Some(Product::Caddy)),
            ("static_resources:\n  listeners: []\n", Some(Product::Envoy)),
            ("{\"static_resources\": {\"listeners\": []}}", Some(Product::Envoy)),
            ("http:\n  routers:\n    a: {}\n", Some(Product::Traefik)),
            ("[entryPoints.web]\naddress = \":80\"\n", Some(Product::Traefik)),
            ("[http.routers.a]\nrule = \"Path(`/`)\"\n", Some(Product::Traefik)),
            ("<VirtualHost *:80>", None),
            ("", None),
            ("\u{0}\u{1}\u{2}", None),
        ] {
            assert_eq!(Product::of(text), product, "{text}");
        }
        for product in Product::ALL {
            assert_eq!(Product::named(product.name()), Some(product));
        }
    }
}
