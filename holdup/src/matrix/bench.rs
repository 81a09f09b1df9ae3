//! Everything that the matrix plays streams through, running.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use emitter::Emitter;
use measure::cell::ETHERNET_MSS;
use measure::{RunId, Script, Span};
use proxies::Proxies;
use proxies::node::{Flush, NodeOrigin};
use proxies::source::Cache;
use proxies::supervise::Supervisor;
use recv_client::Ask;

use super::truths::{Truth, Way};
use crate::exit::Problem;
use crate::rig::Rig;
use crate::runner::path_of;

/// The rig and the origins of other makes. What could not be had is a failed endpoint in the rig.
pub(crate) struct Bench {
    pub(crate) rig: Rig,
    // Held so that they run.
    _nodes: BTreeMap<&'static str, NodeOrigin>,
}

impl Bench {
    pub(crate) fn start(
        proxies: &Proxies,
        truths: &[Truth],
        emitter: &Emitter,
    ) -> Result<Bench, Problem> {
        let mut ways: Vec<Way> = Vec::new();
        for truth in truths {
            if !ways.contains(&truth.way) {
                ways.push(truth.way);
            }
        }
        let mut rig = Rig::start(proxies, &[], emitter.address());
        let mut nodes = BTreeMap::new();
        // Relays and origins first: proxies stand in front of them.
        for way in &ways {
            match way {
                Way::Relay(behaviour) => {
                    rig.relay(*behaviour, emitter.address(), Some(ETHERNET_MSS))
                        .map_err(Problem::nothing)?;
                }
                Way::Node(flush) | Way::ProxyOnNode(_, flush) => node(*flush, &mut nodes, &mut rig),
                Way::Proxy(_) | Way::ProxyOn(..) => {}
            }
        }
        for way in &ways {
            let name = way.endpoint();
            match way {
                Way::Proxy(endpoint) => {
                    rig.start_on(proxies, &name, endpoint, emitter.address());
                }
                Way::ProxyOn(endpoint, behaviour) => {
                    if rig.address(&behaviour.name()).is_none() {
                        rig.relay(*behaviour, emitter.address(), Some(ETHERNET_MSS))
                            .map_err(Problem::nothing)?;
                    }
                    if let Some(upstream) = rig.address(&behaviour.name()) {
                        rig.start_on(proxies, &name, endpoint, upstream);
                    }
                }
                Way::ProxyOnNode(endpoint, flush) => {
                    match rig.address(&Way::Node(*flush).endpoint()) {
                        Some(upstream) => rig.start_on(proxies, &name, endpoint, upstream),
                        None => rig.fail(&name, "the Node origin behind it does not run".into()),
                    }
                }
                Way::Relay(_) | Way::Node(_) => {}
            }
        }
        Ok(Bench { rig, _nodes: nodes })
    }
}

/// Starts the Node origin in a mode, once.
fn node(flush: Flush, nodes: &mut BTreeMap<&'static str, NodeOrigin>, rig: &mut Rig) {
    if nodes.contains_key(flush.name()) {
        return;
    }
    let name = Way::Node(flush).endpoint();
    let started = Cache::of_user().map_err(|error| error.to_string()).and_then(|cache| {
        let supervisor = Supervisor::this_program().map_err(|error| error.to_string())?;
        NodeOrigin::start(&cache, flush, &supervisor).map_err(|error| error.to_string())
    });
    match started {
        Ok(origin) => {
            warm_up(origin.address());
            rig.add(&name, "an origin of its own, with its own compression", origin.address());
            nodes.insert(flush.name(), origin);
        }
        Err(why) => rig.fail(&name, why),
    }
}

/// A program that compiles as it runs is late with its first answers: they are read and forgotten.
fn warm_up(address: SocketAddr) {
    let short = Script::paced(3, Span::millis(5), 60).expect("within the bounds");
    for _ in 0..3 {
        let run = RunId(fastrand::u128(..));
        let mut ask = Ask::plain(address, path_of(&short, run));
        ask.accept_encoding = Some("gzip".into());
        let _ = recv_client::read(&ask, run);
    }
}
