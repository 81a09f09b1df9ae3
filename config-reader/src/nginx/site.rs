//! Servers and locations, found in the tree.

use super::error::ReadError;
use super::pattern::Pattern;
use super::serve::Candidate;
use super::server::{self, Listen, Name};
use super::tree::{Directive, Tree};

/// What a location's first words say.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `= /path`.
    Exact,
    /// `/path`, or `^~ /path`: then no regular expression of its level is tried after it.
    Prefix {
        /// Whether it says `^~`.
        stop: bool,
    },
    /// `~` or `~*`.
    Regex(Box<Pattern>),
    /// `@name`: only internal redirects lead there.
    Named,
}

/// A location block.
#[derive(Clone, Debug)]
pub struct Location<'t> {
    /// The block.
    pub directive: &'t Directive,
    /// What it compares.
    pub kind: Kind,
    /// The path, pattern or name.
    pub name: String,
    /// The server it belongs to.
    pub server: usize,
    /// The location around it.
    pub parent: Option<usize>,
    /// Locations in it, in their order.
    pub children: Vec<usize>,
}

impl Location<'_> {
    /// As it is written: `location ^~ /path`.
    pub fn written(&self) -> String {
        self.directive.written()
    }

    /// Whether its request for the path without its last slash is redirected to it.
    pub(super) fn redirects_bare(&self) -> bool {
        const PASSES: [&str; 6] = [
            "proxy_pass",
            "fastcgi_pass",
            "uwsgi_pass",
            "scgi_pass",
            "memcached_pass",
            "grpc_pass",
        ];
        self.name.ends_with('/')
            && self.directive.children().iter().any(|own| PASSES.contains(&own.name.as_str()))
    }
}

/// A server block.
#[derive(Clone, Debug)]
pub struct Server<'t> {
    /// The block.
    pub directive: &'t Directive,
    /// Where it listens.
    pub listens: Vec<Listen>,
    /// Its names.
    pub names: Vec<Name>,
    /// Its outermost locations, in their order.
    pub locations: Vec<usize>,
}

impl Server<'_> {
    /// Its first name, or where it listens.
    pub fn shown(&self) -> String {
        let named = self.directive.children().iter().find(|own| own.name == "server_name");
        let listens: Vec<String> = self.listens.iter().map(Listen::address).collect();
        match named.and_then(|own| own.arg(0)).filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} ({})", listens.join(", ")),
            None => format!("without a name ({})", listens.join(", ")),
        }
    }
}

impl Server<'_> {
    /// What would lead to it alone.
    pub(super) fn candidate(&self) -> Candidate {
        let host = self.names.iter().find_map(|name| match name {
            Name::Exact(name) | Name::Below(name) if !name.is_empty() => Some(name.clone()),
            Name::Leading(end) => Some(format!("any{end}")),
            Name::Trailing(start) => Some(format!("{start}example")),
            _ => None,
        });
        let port = self.listens.iter().map(|own| own.port).find(|port| *port > 0);
        Candidate { shown: self.shown(), host, port }
    }
}

/// All servers of a configuration.
#[derive(Clone, Debug)]
pub struct Site<'t> {
    /// The tree it is made of.
    pub tree: &'t Tree,
    /// In their order.
    pub servers: Vec<Server<'t>>,
    /// Of all servers.
    pub locations: Vec<Location<'t>>,
}

impl<'t> Site<'t> {
    /// Finds servers and locations.
    ///
    /// # Errors
    /// When there is no server.
    pub fn of(tree: &'t Tree) -> Result<Site<'t>, ReadError> {
        let mut site = Site { tree, servers: Vec::new(), locations: Vec::new() };
        for directive in
            tree.http().iter().filter(|own| own.name == "server" && own.block.is_some())
        {
            let children = directive.children();
            let index = site.servers.len();
            site.servers.push(Server {
                directive,
                listens: server::listens(children),
                names: server::names(children),
                locations: Vec::new(),
            });
            let locations = site.locations_of(children, index, None);
            site.servers[index].locations = locations;
        }
        if site.servers.is_empty() {
            return Err(ReadError::NoServer);
        }
        Ok(site)
    }

    fn locations_of(
        &mut self,
        children: &'t [Directive],
        server: usize,
        parent: Option<usize>,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for directive in children.iter().filter(|own| own.name == "location") {
            let (kind, name) = kind(directive);
            let index = self.locations.len();
            found.push(index);
            let children = Vec::new();
            self.locations.push(Location { directive, kind, name, server, parent, children });
            let nested = self.locations_of(directive.children(), server, Some(index));
            self.locations[index].children = nested;
        }
        found
    }

    /// What is in force for a location, innermost level first: itself, the locations around
    /// it, its server, `http`.
    pub fn levels(&self, location: Option<usize>, server: usize) -> Vec<&'t [Directive]> {
        let mut levels = Vec::new();
        let mut next = location;
        while let Some(index) = next {
            levels.push(self.locations[index].directive.children());
            next = self.locations[index].parent;
        }
        levels.push(self.servers[server].directive.children());
        if !self.tree.is_fragment() {
            levels.push(self.tree.http());
        }
        levels
    }
}

/// The operator may stand apart or right before the path.
fn kind(directive: &Directive) -> (Kind, String) {
    let (operator, name) = match (directive.arg(0).unwrap_or_default(), directive.arg(1)) {
        (operator, Some(name)) => (operator, name),
        (alone, None) => {
            let operators = ["=", "^~", "~*", "~"];
            let operator = operators.into_iter().find(|own| alone.starts_with(own)).unwrap_or("");
            (operator, &alone[operator.len()..])
        }
    };
    let regex = |caseless| Kind::Regex(Box::new(Pattern::new(name, caseless)));
    let kind = match operator {
        "=" => Kind::Exact,
        "^~" => Kind::Prefix { stop: true },
        "~" => regex(false),
        "~*" => regex(true),
        _ if name.starts_with('@') => Kind::Named,
        _ => Kind::Prefix { stop: false },
    };
    (kind, name.into())
}
