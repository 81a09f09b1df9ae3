//! One request's way through a configuration: server, location, and what may lead it elsewhere.

use super::choose::{Choice, choose};
use super::force::InForce;
use super::pattern::{Pattern, Undecidable};
use super::server::{self, How, Name};
use super::site::{Kind, Site};
use super::tree::Directive;
use super::uri::{self, BadPath};
use super::version::Version;

/// Internal redirects at most, as in nginx.
const MOST_HOPS: usize = 10;

/// What a request asks for.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The path, as a client sends it.
    pub path: &'a str,
    /// The host's name, where it is known.
    pub host: Option<&'a str>,
    /// The port it comes in at, where it is known.
    pub port: Option<u16>,
}

/// Why no answer can be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotServed {
    /// nginx answers 400.
    #[error("{path:?} is no path that nginx takes: {why}")]
    Path {
        /// The path.
        path: String,
        /// Why.
        why: BadPath,
    },
    /// No server listens there.
    #[error("no server listens at port {port}: there are {known}")]
    NoPort {
        /// The port.
        port: u16,
        /// Those that there are.
        known: String,
    },
    /// More than one server could be meant.
    #[error("{} servers could answer this path: say which with --host or --port: {}", .servers.len(), shown(.servers))]
    ManyServers {
        /// Which.
        servers: Vec<Candidate>,
    },
    /// A pattern cannot be read here.
    #[error(transparent)]
    Undecidable(#[from] Undecidable),
}

/// A server that could be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// As people know it.
    pub shown: String,
    /// A name that only fits it, or one like it at another port.
    pub host: Option<String>,
    /// A port that it listens at.
    pub port: Option<u16>,
}

fn shown(candidates: &[Candidate]) -> String {
    candidates.iter().map(|own| own.shown.as_str()).collect::<Vec<_>>().join("; ")
}

/// Something that may answer the request in another way than its location's handler does.
#[derive(Clone, Debug)]
pub struct Detour<'t> {
    /// The directive.
    pub directive: &'t Directive,
    /// What it does to the request.
    pub what: String,
    /// Whether it does so to every request for the path; otherwise it may.
    pub always: bool,
}

/// Where a request ends up.
#[derive(Clone, Debug)]
pub struct Served<'t> {
    /// The server.
    pub server: usize,
    /// The path as locations see it.
    pub uri: Vec<u8>,
    /// One for each time a location was looked for: the last holds.
    pub hops: Vec<Choice>,
    /// What may lead elsewhere.
    pub detours: Vec<Detour<'t>>,
}

impl Served<'_> {
    /// The location that answers; none when the server itself does.
    pub fn location(&self) -> Option<usize> {
        self.hops.last().and_then(|choice| choice.location)
    }

    /// Whether something answers every such request before the location's handler can.
    pub fn ends_before(&self) -> Option<&Detour<'_>> {
        self.detours.iter().find(|detour| detour.always)
    }
}

impl<'t> Site<'t> {
    /// The servers that could answer a request, each once; several where host or port are not
    /// known.
    ///
    /// # Errors
    /// When none listens at the port, or a name's pattern cannot be read.
    pub fn candidates(&self, request: &Request<'_>) -> Result<Vec<usize>, NotServed> {
        let mut addresses: Vec<(String, u16)> = Vec::new();
        for listen in self.servers.iter().flat_map(|server| &server.listens) {
            let known = addresses.iter().any(|(address, _)| *address == listen.address());
            if !known && request.port.is_none_or(|port| port == listen.port) {
                addresses.push((listen.address(), listen.port));
            }
        }
        if let (Some(port), true) = (request.port, addresses.is_empty()) {
            let mut known: Vec<u16> =
                self.servers.iter().flat_map(|own| &own.listens).map(|own| own.port).collect();
            known.sort_unstable();
            known.dedup();
            let known = known.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            return Err(NotServed::NoPort { port, known });
        }
        let mut found = Vec::new();
        for (address, _) in addresses {
            match request.host {
                Some(host) => found.push(self.named(&address, host)?.0),
                None => found.extend(self.at(&address).iter().map(|(index, _)| *index)),
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The servers of an address, and whether each is its default.
    fn at(&self, address: &str) -> Vec<(usize, bool)> {
        let servers = self.servers.iter().enumerate();
        servers
            .filter_map(|(index, server)| {
                let listen = server.listens.iter().find(|own| own.address() == address)?;
                Some((index, listen.default))
            })
            .collect()
    }

    /// The server of an address that answers for a name, and by what.
    fn named(&self, address: &str, host: &str) -> Result<(usize, How), Undecidable> {
        let here = self.at(address);
        let servers: Vec<(&[Name], bool)> = here
            .iter()
            .map(|(index, default)| (self.servers[*index].names.as_slice(), *default))
            .collect();
        let (place, how) = server::choose(&servers, host)?;
        Ok((here[place].0, how))
    }

    /// By what a server answers for the request's name; none where no name is known.
    pub(super) fn how(
        &self,
        request: &Request<'_>,
        server: usize,
    ) -> Result<Option<How>, Undecidable> {
        let Some(host) = request.host else { return Ok(None) };
        for listen in &self.servers[server].listens {
            if request.port.is_some_and(|port| port != listen.port) {
                continue;
            }
            let (found, how) = self.named(&listen.address(), host)?;
            if found == server {
                return Ok(Some(how));
            }
        }
        Ok(None)
    }

    /// Where a request ends up.
    ///
    /// # Errors
    /// When that cannot be said.
    pub fn serve(&self, request: &Request<'_>, version: Version) -> Result<Served<'t>, NotServed> {
        let candidates = self.candidates(request)?;
        let mut served = Vec::new();
        for server in &candidates {
            served.push(self.serve_by(*server, request.path, version)?);
        }
        if served.len() > 1 {
            // Servers that only redirect, to https say, are not meant.
            let passing: Vec<usize> = served
                .iter()
                .enumerate()
                .filter(|(_, served)| self.passes(served, version))
                .map(|(index, _)| index)
                .collect();
            let [only] = passing[..] else {
                let servers = candidates.iter().map(|server| self.servers[*server].candidate());
                return Err(NotServed::ManyServers { servers: servers.collect() });
            };
            return Ok(served.swap_remove(only));
        }
        Ok(served.remove(0))
    }

    fn passes(&self, served: &Served<'t>, version: Version) -> bool {
        let levels = self.levels(served.location(), served.server);
        served.ends_before().is_none()
            && !InForce::new(levels, version).all("proxy_pass").is_empty()
            && served.location().is_some()
    }

    /// Where a request to one server ends up.
    ///
    /// # Errors
    /// When that cannot be said.
    pub fn serve_by(
        &self,
        server: usize,
        path: &str,
        version: Version,
    ) -> Result<Served<'t>, NotServed> {
        let force = InForce::new(self.levels(None, self.parsing(server)), version);
        let uri = uri::normalize(path, force.is("merge_slashes", "on"))
            .map_err(|why| NotServed::Path { path: path.chars().take(200).collect(), why })?;
        let mut served = Served { server, uri, hops: Vec::new(), detours: Vec::new() };
        self.look(self.servers[server].directive.children(), &mut served)?;
        if served.ends_before().is_some() {
            return Ok(served);
        }
        let mut next = choose(self, server, &served.uri)?;
        loop {
            let location = next.location;
            let to_slash = next.to_slash;
            served.hops.push(next);
            let Some(index) = location.filter(|_| !to_slash) else { return Ok(served) };
            let directive = self.locations[index].directive;
            self.look(directive.children(), &mut served)?;
            if served.ends_before().is_some() || served.hops.len() > MOST_HOPS {
                return Ok(served);
            }
            let Some(choice) = self.try_files(index, &mut served)? else { return Ok(served) };
            next = choice;
        }
    }

    /// Whose `merge_slashes` holds: the path is read before the `Host` header is, so it is the
    /// address's default server's; behind TLS the name is known by then.
    fn parsing(&self, server: usize) -> usize {
        let Some(listen) = self.servers[server].listens.first() else { return server };
        let mut here = self.servers.iter().enumerate().filter_map(|(index, own)| {
            let own = own.listens.iter().find(|own| own.address() == listen.address())?;
            Some((index, own.default))
        });
        let first = here.next();
        let default = first.into_iter().chain(here).find(|(_, default)| *default).or(first);
        match default {
            Some((default, _)) if !listen.tls => default,
            _ => server,
        }
    }

    /// Where `try_files` leads when there is no such file, which holds for an API's path.
    fn try_files(
        &self,
        index: usize,
        served: &mut Served<'t>,
    ) -> Result<Option<Choice>, NotServed> {
        let location = &self.locations[index];
        let mut own = location.directive.children().iter();
        let Some(directive) = own.find(|own| own.name == "try_files") else { return Ok(None) };
        let Some(last) = directive.values().last() else { return Ok(None) };
        let mut note = |what: String, always: bool| {
            served.detours.push(Detour { directive, what, always });
        };
        if let Some(status) = last.strip_prefix('=') {
            note(format!("answers {status} where there is no such file"), true);
            return Ok(None);
        }
        let same_server =
            |(_, own): &(usize, &super::site::Location<'_>)| own.server == served.server;
        if last.starts_with('@') {
            let named = self.locations.iter().enumerate().filter(same_server);
            let named =
                named.filter(|(_, own)| matches!(own.kind, Kind::Named) && own.name == last);
            let found = named.map(|(index, _)| index).next();
            note(format!("goes on to {last} where there is no such file"), false);
            let choice = Choice {
                location: found,
                to_slash: false,
                steps: Vec::new(),
                uri: served.uri.clone(),
            };
            return Ok(found.map(|_| choice));
        }
        let path = last.split('?').next().unwrap_or_default();
        if path.contains('$') {
            note(format!("goes on to {last}, which a variable decides"), false);
            return Ok(None);
        }
        note(format!("goes on to {path} where there is no such file"), false);
        served.uri = path.as_bytes().to_vec();
        let next = choose(self, served.server, &served.uri)?;
        let been = |hop: &Choice| hop.location == next.location && hop.uri == next.uri;
        if served.hops.iter().any(been) {
            // nginx gives up after ten rounds.
            let what = format!("answers with the file {path}, or with 500 where there is none");
            served.detours.push(Detour { directive, what, always: true });
            return Ok(None);
        }
        Ok(Some(next))
    }

    /// Notes what of a level may lead the request elsewhere.
    fn look(&self, level: &'t [Directive], served: &mut Served<'t>) -> Result<(), NotServed> {
        for directive in level {
            let (what, always) = match directive.name.as_str() {
                "return" => {
                    (format!("answers by itself: {}", crate::secret::written(directive)), true)
                }
                "rewrite" => {
                    let Some(pattern) = directive.arg(0) else { continue };
                    if !Pattern::new(pattern, false).matches(&served.uri)? {
                        continue;
                    }
                    let to = directive.arg(1).unwrap_or_default();
                    (format!("rewrites the path to {to}: from here on it may go elsewhere"), false)
                }
                "if" => {
                    let acts = ["return", "rewrite", "proxy_pass", "break", "set"];
                    let inner = directive.children().iter();
                    let inner: Vec<&str> = inner
                        .map(|own| own.name.as_str())
                        .filter(|name| acts.contains(name) && *name != "set")
                        .collect();
                    if inner.is_empty() {
                        continue;
                    }
                    let what = inner.join(", ");
                    (format!("under a condition it does {what}: then it goes elsewhere"), false)
                }
                "internal" => ("is for internal redirects only: a client gets 404".into(), true),
                "auth_request" => ("asks another location whether it may pass".into(), false),
                "error_page" => ("answers errors from another place".into(), false),
                "alias" => ("takes files from another folder".into(), false),
                _ => continue,
            };
            // A location that was reached by an internal redirect may be internal.
            if directive.name == "internal" && served.hops.len() > 1 {
                continue;
            }
            served.detours.push(Detour { directive, what, always });
        }
        Ok(())
    }
}
