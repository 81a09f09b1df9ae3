//! `holdup demo`: everything running, the page open.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use emitter::{Config, Emitter, StartError};
use measure::page::Settings;
use measure::plan;
use measure::story::STORIES;
use measure::transport::ClientProtocol;
use recv_client::Http;

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::gateway::{Gateway, Opening};
use crate::interrupt::Interrupt;
use crate::out::say;
use crate::own_config;
use crate::page::routes::Page;
use crate::rig::{Rig, any_port};
use crate::secured::Secured;

/// Where the page is served unless told otherwise: one address to remember.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4700);
/// The same over HTTPS.
const USUAL_TLS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4701);

pub(crate) fn run(options: &cli::Demo) -> Outcome {
    let proxies = Rig::proxies(&options.rig)?;
    Rig::check(&proxies, &options.rig.endpoints)?;
    let mut names =
        plan::endpoints_of("headline", &options.rig.endpoints).map_err(Problem::usage)?;
    if options.rig.endpoints.is_empty() {
        // What the page's stories are about runs, too, and what the same lanes are over TLS; it
        // shows when it is asked for.
        let told = STORIES.iter().flat_map(|story| story.settings().endpoints);
        let over_tls =
            Settings { protocol: Some(ClientProtocol::Http2), ..Settings::default() }.names();
        let over_tls = over_tls.map_err(Problem::usage)?;
        for name in told.chain(over_tls) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let own_lanes = own_config::names(&options.rig.own_config);
    names.extend(own_lanes.iter().cloned());
    let assets = crate::page::assets::find(options.page.as_deref())?;
    let interrupt = Interrupt::listen();
    // Where it is refused, fewer streams run at once.
    let _ = emitter::raise_descriptor_limit();
    let (page, gateway) = (Page::default(), Gateway::default());
    let secured = Secured::of_user()?;
    let start = |listen: SocketAddr, tls| {
        Emitter::start(Config {
            listen,
            tls: Some(tls),
            assets: assets.clone(),
            more: page.router().merge(gateway.router()),
            ..Config::loopback()
        })
    };
    let asked = options.listen;
    let usual = match asked {
        Some(listen) => start(listen, secured.port(Some(listen))?),
        None => start(USUAL, secured.port_at(USUAL_TLS)?),
    };
    let emitter = match (asked, usual) {
        (_, Ok(emitter)) => emitter,
        // Nobody asked for the usual ports: others do as well.
        (None, Err(StartError::Listen { .. } | StartError::ListenUdp { .. })) => {
            start(any_port(), secured.port(None)?).map_err(Problem::nothing)?
        }
        (_, Err(error)) => return Err(Problem::nothing(error)),
    };
    let address = emitter.address();
    let host = host(options.public_host.as_deref(), address.ip());
    eprintln!("starting the proxies");
    let here = |address: SocketAddr| SocketAddr::new(near(address.ip()), address.port());
    let tls = emitter.tls_address();
    let with = tls.map(here).map(|tls| (tls, &secured));
    let mut rig = Rig::start_secured(&proxies, &names, here(address), with);
    rig.tap(address.ip(), options.rig.mss.0).map_err(Problem::nothing)?;
    page.tell(
        rig.lanes(&emitter, &host, options.rig.mss.0),
        &rig,
        &emitter,
        here(address),
        Some(&secured),
    );
    let ours = rig.listening();
    let own = gateway
        .open(&Opening {
            address,
            host: &host,
            named: &options.gateway.target,
            own: &ours,
            to_others: options.gateway.gateway_open,
            cacert: options.gateway.cacert.as_deref(),
            http: Http::Negotiated,
        })
        .map_err(Problem::nothing)?;
    // Beside the stock ones of their engines, which the page then shows alone.
    let beside = match own_lanes.is_empty() {
        true => String::new(),
        false => format!("&endpoints={}", own_config::endpoints(&options.rig).join(",")),
    };
    let page = |scheme: &str, address: SocketAddr| {
        format!("{scheme}://{host}:{}/?go=1{beside}", address.port())
    };
    let url = page("http", address);
    let opened = !options.no_open && open(&url);
    say!("{} {url}", if opened { "opened" } else { "open this in a browser:" });
    if let Some(tls) = tls {
        say!("over HTTPS and HTTP/2: {}", page("https", tls));
        say!("a browser asks over TLS once it trusts Holdup's authority: docs/tls.md says how");
    }
    say!("your own endpoint: {own}");
    say!("your configuration: {}/configuration", own.trim_end_matches("/own"));
    say!("the first run starts by itself; Ctrl-C ends everything");
    interrupt.wait();
    Ok(Exit::Done)
}

/// The host under which a browser reaches what listens at an address.
pub(crate) fn host(public: Option<&str>, ip: IpAddr) -> String {
    match (public, near(ip)) {
        (Some(host), _) => host.to_string(),
        (None, IpAddr::V6(ip)) => format!("[{ip}]"),
        (None, ip) => ip.to_string(),
    }
}

/// The address under which the proxies reach the emitter.
pub(crate) fn near(ip: IpAddr) -> IpAddr {
    if ip.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { ip }
}

/// Opens the page in the person's own browser, where there is a screen.
fn open(url: &str) -> bool {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if screen {
        "xdg-open"
    } else {
        return false;
    };
    Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
