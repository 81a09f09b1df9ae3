//! `holdup emit`: the emitter alone.

use emitter::{Config, Emitter, Tls};

use crate::authority;
use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::say;

pub(crate) fn run(options: &cli::Emit) -> Outcome {
    let interrupt = Interrupt::listen();
    // Where it is refused, fewer streams run at once.
    let _ = emitter::raise_descriptor_limit();
    let tls = match options.tls {
        Some(listen) => {
            let leaf = authority::of_user()?.leaf().map_err(Problem::nothing)?;
            Some(Tls { listen, leaf })
        }
        None => None,
    };
    let config = Config {
        listen: options.listen,
        tls,
        ledger_bytes: usize::try_from(options.ledger_memory << 20).unwrap_or(usize::MAX),
        ..Config::loopback()
    };
    let mut emitter = Emitter::start(config).map_err(Problem::nothing)?;
    let address = emitter.address();
    say!("emitting on http://{address}/stream (instance {})", emitter.instance());
    say!("for example: curl -N 'http://{address}/stream?frames=41&interval_ms=50&frame_bytes=60'");
    if let Some(address) = emitter.tls_address() {
        say!("emitting on https://{address}/stream too, with HTTP/2, HTTP/1.1, or HTTP/3 over UDP");
    }
    interrupt.wait();
    emitter.stop();
    Ok(Exit::Done)
}
