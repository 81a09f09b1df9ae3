//! The rig: emitter, proxies, and for browsers a tap before each way to the emitter.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use certs::Leaf;
use emitter::Emitter;
use measure::Cell;
use measure::cell::{DIRECT, ETHERNET_MSS};
use measure::page::{Lane, Lanes, Way};
use measure::plan::Plan;
use measure::results::Endpoint;
use measure::transport::ClientProtocol;
use proxies::source::Docker;
use proxies::{Probe, Proxies, Running, Source, StartOptions};

use tap::datagrams::Passed;
use tap::record::Records;
use tap::sealed::Sealed;
use tap::{Behaviour, DatagramTap, Tap};

use crate::cli;
use crate::exit::Problem;
use crate::machine;
use crate::own_config;
use crate::secured::Secured;

/// The last part of the first loopback address that a tap for HTTP/3 has to itself: 127.0.0.1 is
/// everybody's.
const OWN_HOSTS: u8 = 2;

/// Everything between reader and emitter, running.
pub(crate) struct Rig {
    /// What is known of each endpoint, `direct` first, failed ones included.
    pub(crate) endpoints: Vec<Endpoint>,
    addresses: BTreeMap<String, SocketAddr>,
    /// Where the emitter itself speaks TLS.
    direct_tls: Option<SocketAddr>,
    /// What endpoints that speak TLS show.
    leaf: Option<Arc<Leaf>>,
    /// Endpoints that speak TLS.
    tls: Vec<String>,
    /// Those of them that speak HTTP/3 as well.
    quic: Vec<String>,
    taps: Vec<Tapped>,
    /// What passes datagrams on for HTTP/3, by endpoint.
    datagrams: Vec<(String, DatagramTap)>,
    probes: BTreeMap<String, Probe>,
    // Held so that they run; dropped with the rig.
    _running: Vec<Running>,
}

/// A tap before an endpoint.
struct Tapped {
    endpoint: String,
    /// Segment size on its way there.
    mss: Option<u32>,
    /// Whether what passes it is TLS.
    tls: bool,
    tap: Tap,
}

impl Rig {
    /// Checks that every named endpoint exists.
    pub(crate) fn check(proxies: &Proxies, names: &[String]) -> Result<(), Problem> {
        let known: Vec<String> =
            proxies.registry().endpoints().map(|endpoint| endpoint.name.to_string()).collect();
        match names.iter().find(|name| *name != DIRECT && !known.contains(name)) {
            Some(name) => Err(Problem::usage(format!(
                "no endpoint is called {name:?}: there are direct, {}",
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// The proxies of the command line's choice.
    pub(crate) fn proxies(options: &cli::Rig) -> Result<Proxies, Problem> {
        let own = options
            .own
            .iter()
            .map(|own| own.parse().map_err(|error| Problem::usage(format!("--own {own}: {error}"))))
            .collect::<Result<_, _>>()?;
        let mut proxies = Proxies::of_user(own).map_err(Problem::usage)?;
        if options.source == cli::ProxySource::Docker {
            proxies.use_images(Docker::default());
        }
        own_config::add(&mut proxies, options)?;
        Ok(proxies)
    }

    /// Starts the named endpoints in front of the emitter. What fails to start is a row.
    pub(crate) fn start(proxies: &Proxies, names: &[String], emitter: SocketAddr) -> Rig {
        Rig::start_secured(proxies, names, emitter, None)
    }

    /// The same with what speaks TLS: the emitter's own port for it, and what is shown.
    pub(crate) fn start_secured(
        proxies: &Proxies,
        names: &[String],
        emitter: SocketAddr,
        secured: Option<(SocketAddr, &Secured)>,
    ) -> Rig {
        let mut rig = Rig {
            endpoints: vec![Endpoint::direct()],
            addresses: [(DIRECT.to_string(), emitter)].into(),
            direct_tls: secured.map(|(address, _)| address),
            leaf: secured.map(|(_, secured)| secured.leaf()),
            tls: Vec::new(),
            quic: Vec::new(),
            taps: Vec::new(),
            datagrams: Vec::new(),
            probes: BTreeMap::new(),
            _running: Vec::new(),
        };
        for name in names.iter().filter(|name| *name != DIRECT) {
            rig.start_on(proxies, name, name, emitter);
        }
        rig
    }

    /// Starts an endpoint under a name of its own in front of any upstream.
    pub(crate) fn start_on(
        &mut self,
        proxies: &Proxies,
        name: &str,
        endpoint: &str,
        upstream: SocketAddr,
    ) {
        let known = proxies.registry().endpoint(endpoint);
        if known.as_ref().is_ok_and(|known| known.tls) {
            self.tls.push(name.into());
        }
        if known.as_ref().is_ok_and(|known| known.http3) {
            self.quic.push(name.into());
        }
        let label = known.map_or(String::new(), |endpoint| endpoint.label.clone());
        match start_one(proxies, endpoint, upstream, self.leaf.clone()) {
            Ok(running) => {
                self.addresses.insert(name.into(), running.listen());
                self.probes.insert(name.into(), running.probe());
                self.endpoints.push(describe(name, label, &running));
                self._running.push(running);
            }
            Err(why) => {
                eprintln!("{why}");
                self.endpoints.push(Endpoint {
                    name: name.into(),
                    label,
                    failed: Some(why),
                    ..Endpoint::direct()
                });
            }
        }
    }

    /// Adds what somebody else runs.
    pub(crate) fn add(&mut self, name: &str, label: &str, address: SocketAddr) {
        self.addresses.insert(name.into(), address);
        self.endpoints.push(Endpoint {
            name: name.into(),
            label: label.into(),
            ..Endpoint::direct()
        });
    }

    /// Notes what could not be had.
    pub(crate) fn fail(&mut self, name: &str, why: String) {
        eprintln!("{name}: {why}");
        self.endpoints.push(Endpoint {
            name: name.into(),
            failed: Some(why),
            ..Endpoint::direct()
        });
    }

    /// Adds a relay straight to the emitter that treats its answers in a known way.
    pub(crate) fn relay(
        &mut self,
        behaviour: Behaviour,
        emitter: SocketAddr,
        mss: Option<u32>,
    ) -> std::io::Result<String> {
        let name = behaviour.name();
        let tap = Tap::start(any_port(), emitter, behaviour, mss)?;
        self.addresses.insert(name.clone(), tap.address());
        self.endpoints.push(Endpoint {
            name: name.clone(),
            label: "a relay of our own".into(),
            ..Endpoint::direct()
        });
        self.taps.push(Tapped { endpoint: name.clone(), mss, tls: false, tap });
        Ok(name)
    }

    /// Puts taps before every way to the emitter that runs, listening at `listen`'s address on
    /// ports of their own: one for the segment size asked for, and one each for Ethernet's and
    /// loopback's, so that a page can choose.
    pub(crate) fn tap(&mut self, listen: IpAddr, mss: Option<u32>) -> std::io::Result<()> {
        let mut sizes = vec![mss];
        sizes.extend([Some(ETHERNET_MSS), None].into_iter().filter(|size| *size != mss));
        let ways = self.addresses.iter().map(|(name, address)| {
            let tls = self.tls.contains(name);
            (name.clone(), *address, tls)
        });
        let direct = self.direct_tls.map(|address| (DIRECT.to_string(), address, true));
        for (endpoint, upstream, tls) in ways.chain(direct).collect::<Vec<_>>() {
            for mss in sizes.iter().copied() {
                let listen = (listen, 0).into();
                let tap = match tls {
                    true => Tap::before_tls(listen, upstream, mss)?,
                    false => Tap::start(listen, upstream, Behaviour::Honest, mss)?,
                };
                self.taps.push(Tapped { endpoint: endpoint.clone(), mss, tls, tap });
            }
        }
        Ok(())
    }

    /// Puts taps for HTTP/3 before those of the endpoints that run, which speak it over UDP at the
    /// port of their TLS. Each has a loopback address of its own: a browser is told which of its
    /// hosts to ask by HTTP/3, Firefox by the name alone.
    pub(crate) fn tap_datagrams(&mut self, endpoints: &[String]) -> std::io::Result<()> {
        let direct = self.direct_tls;
        for (own, name) in (OWN_HOSTS..=u8::MAX).zip(endpoints) {
            let upstream = match name.as_str() {
                DIRECT => direct,
                _ if self.quic.contains(name) => self.address(name),
                // Nobody would answer there, and that would be told as the endpoint's failure.
                _ => {
                    eprintln!("SKIPPED({name}: it speaks no HTTP/3)");
                    None
                }
            };
            if let Some(upstream) = upstream {
                let listen = (Ipv4Addr::new(127, 0, 0, own), 0).into();
                self.datagrams.push((name.clone(), DatagramTap::start(listen, upstream)?));
            }
        }
        Ok(())
    }

    /// Where the taps for HTTP/3 listen.
    pub(crate) fn over_quic(&self) -> Vec<SocketAddr> {
        self.datagrams.iter().map(|(_, tap)| tap.address()).collect()
    }

    /// What passed on an endpoint's way of HTTP/3.
    pub(crate) fn passed(&self, endpoint: &str) -> Option<&Passed> {
        let own = self.datagrams.iter().find(|(name, _)| name == endpoint);
        own.map(|(_, tap)| tap.passed())
    }

    /// The lanes as a page on `host` reaches them.
    pub(crate) fn lanes(&self, emitter: &Emitter, host: &str, mss: Option<u32>) -> Lanes {
        let lane = |endpoint: &Endpoint| Lane {
            endpoint: endpoint.clone(),
            ways: self
                .taps
                .iter()
                .filter(|own| own.endpoint == endpoint.name)
                .map(|own| Way {
                    mss: own.mss,
                    origin: format!(
                        "http{}://{host}:{}",
                        if own.tls { "s" } else { "" },
                        own.tap.address().port()
                    ),
                    quic: false,
                })
                .chain(self.datagrams.iter().filter(|(name, _)| *name == endpoint.name).map(
                    |(_, tap)| Way {
                        mss: None,
                        origin: format!("https://{}", tap.address()),
                        quic: true,
                    },
                ))
                .collect(),
        };
        Lanes {
            instance: emitter.instance().to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: machine::kernel(),
            cpus: machine::describe().cpus,
            load: None,
            mss,
            lanes: self.endpoints.iter().map(lane).collect(),
        }
    }

    /// Where each endpoint is reached without a tap, for the native reader.
    pub(crate) fn addresses(&self) -> BTreeMap<String, SocketAddr> {
        self.addresses.clone()
    }

    /// Every address at which something of the rig listens.
    pub(crate) fn listening(&self) -> Vec<SocketAddr> {
        let taps = self.taps.iter().map(|own| own.tap.address());
        self.addresses.values().copied().chain(taps).collect()
    }

    /// What the taps note.
    pub(crate) fn records(&self) -> Vec<Records> {
        self.taps.iter().filter(|own| !own.tls).map(|own| own.tap.records().clone()).collect()
    }

    /// What the taps before TLS note, by their ports.
    pub(crate) fn sealed(&self) -> BTreeMap<u16, Sealed> {
        let sealed = self
            .taps
            .iter()
            .filter_map(|own| Some((own.tap.address().port(), own.tap.sealed()?.clone())));
        sealed.collect()
    }

    /// Where the emitter itself speaks TLS.
    pub(crate) fn direct_tls(&self) -> Option<SocketAddr> {
        self.direct_tls
    }

    /// A look at an endpoint's own processes; `None` for one without.
    pub(crate) fn probe(&self, name: &str) -> Option<Probe> {
        self.probes.get(name).cloned()
    }

    /// Says in each cell what its endpoint's configuration says of the way to the emitter.
    pub(crate) fn describe_links(proxies: &Proxies, plan: &mut Plan) {
        for cell in &mut plan.cells {
            if let Ok(endpoint) = proxies.registry().endpoint(&cell.endpoint) {
                // Of somebody's own configuration it is not known.
                let known = endpoint.own.is_none();
                cell.request.upstream_protocol =
                    known.then(|| endpoint.upstream_protocol.to_string());
                cell.link.pooled = endpoint.pooled;
            }
        }
    }

    /// The part of a plan that can be played: what failed to start is left to its row.
    pub(crate) fn playable(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        plan.cells.retain(|cell| self.address(&cell.endpoint).is_some());
        plan
    }

    /// Where a reader reaches an endpoint; `None` when it failed.
    pub(crate) fn address(&self, name: &str) -> Option<SocketAddr> {
        self.addresses.get(name).copied()
    }

    /// Where a cell's requests go: the emitter has a port of its own for TLS and, over UDP, for
    /// HTTP/3; every other endpoint speaks one or the other.
    pub(crate) fn address_for(&self, cell: &Cell) -> Option<SocketAddr> {
        let secure = cell.request.protocol().is_some_and(ClientProtocol::is_secure);
        if cell.is_direct() && secure { self.direct_tls } else { self.address(&cell.endpoint) }
    }
}

fn start_one(
    proxies: &Proxies,
    name: &str,
    emitter: SocketAddr,
    leaf: Option<Arc<Leaf>>,
) -> Result<Running, String> {
    let options = StartOptions::new().map_err(|error| format!("{name}: {error}"))?;
    let options = StartOptions { leaf, ..options };
    proxies
        .start(name, emitter, &options, &mut |progress| {
            // What is already there needs no words; what takes time does.
            let pinned =
                |source: &Source| matches!(source, Source::Wheel { .. } | Source::Debian { .. });
            if !matches!(&progress, proxies::Progress::Ready { source, .. } if pinned(source)) {
                eprintln!("{progress}");
            }
        })
        .map_err(|error| match proxies.registry().endpoint(name) {
            Ok(endpoint) => own_config::refusal(endpoint, &error),
            Err(_) => format!("{name}: {error}"),
        })
}

fn describe(name: &str, label: String, running: &Running) -> Endpoint {
    let program = running.program();
    Endpoint {
        name: name.to_string(),
        label,
        proxy: Some(program.engine.to_string()),
        version: Some(program.version.to_string()),
        source: Some(program.source.to_string()),
        sha256: Some(program.sha256.to_string()),
        config: Some(match running.endpoint().own {
            Some(_) => own_config::masked(program.engine.as_str(), &running.config()),
            None => running.config(),
        }),
        failed: None,
    }
}

/// A free port of 127.0.0.1.
pub(crate) fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}
