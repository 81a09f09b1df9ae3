//! Plays a plan, one run at a time.

use std::time::Duration;

use measure::chat::Shape;
use measure::plan::Plan;
use measure::results::RunRecord;
use measure::transport::{ClientProtocol, Protocol};
use measure::{Arrivals, Cell, End, Ledger, Reader, RunId, Script, Stamp};
use recv_client::{Ask, Http, Observed, Pause};

use emitter::{Emitter, Lookup};

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::prompt;
use crate::rig::Rig;
use crate::secured::Secured;
use crate::watch::Watch;

/// How long the ledger may take to be complete after the reader has everything: the emitter's
/// note of its last write comes some microseconds after the bytes.
const LEDGER_PATIENCE: Duration = Duration::from_millis(500);

/// Makes one run of a cell. A scripted fake stands in for it in tests.
pub(crate) trait Executor {
    /// Plays the cell once and returns both sides of it.
    fn run(&mut self, cell: &Cell, round: u32, position: u32) -> RunRecord;
}

/// Plays a plan from its first to its last round; gives each run to `keep` as it ends.
/// Returns whether the whole plan was played.
pub(crate) fn play<E>(
    plan: &Plan,
    executor: &mut impl Executor,
    interrupt: &Interrupt,
    mut keep: impl FnMut(RunRecord) -> Result<(), E>,
) -> Result<bool, E> {
    let mut progress = Progress::new(plan.run_count());
    let mut position = 0;
    for round in 0..plan.rounds {
        for index in plan.round(round) {
            if interrupt.came() {
                progress.finish();
                return Ok(false);
            }
            let cell = &plan.cells[index];
            progress.step(&format!("round {} {}", round + 1, cell.endpoint));
            keep(executor.run(cell, round, position))?;
            position += 1;
        }
    }
    progress.finish();
    Ok(true)
}

/// Reads natively through a rig.
pub(crate) struct Native<'a> {
    pub(crate) rig: &'a Rig,
    pub(crate) emitter: &'a Emitter,
    /// For cells that speak TLS.
    pub(crate) secured: Option<&'a Secured>,
}

impl Executor for Native<'_> {
    fn run(&mut self, cell: &Cell, round: u32, position: u32) -> RunRecord {
        let run = RunId(fastrand::u128(..));
        let Some(address) = self.rig.address_for(cell) else {
            let now = Stamp(wire::Moment::now().micros());
            let mut arrivals = Arrivals::begin(run, Reader::Recv, now);
            arrivals.end = End::Failed { what: format!("{} does not run", cell.endpoint) };
            return RunRecord {
                cell: cell.id(),
                round,
                position,
                ledger: None,
                arrivals,
                wire: None,
                wire_unknown: None,
                proxy: None,
            };
        };
        let mut ask = Ask::plain(address, stream_path(cell, run));
        let protocol = cell.request.protocol();
        if protocol.is_some_and(ClientProtocol::is_secure) {
            ask.secure = self.secured.map(Secured::secure);
        }
        ask.http = protocol.map_or(Http::One, http);
        ask.headers = cell.request.headers;
        ask.accept_encoding.clone_from(&cell.request.accept_encoding);
        ask.options.segment = cell.link.mss;
        ask.slow = cell.request.slow.map(|slow| {
            let pause = u64::try_from(slow.pause_us.as_micros()).unwrap_or_default();
            (slow.read_bytes as usize, Duration::from_micros(pause))
        });
        ask.pause = cell.request.pause.map(|pause| Pause {
            after_bytes: u64::from(pause.after_bytes),
            time: Duration::from_micros(
                u64::try_from(pause.pause_us.as_micros()).unwrap_or_default(),
            ),
            window: pause.window_bytes,
        });
        ask.target.origin = format!("http://{}", self.emitter.address());
        let watch = self
            .rig
            .probe(&cell.endpoint)
            .map(|probe| Watch::begin(probe, cell.request.slow.is_some()));
        let arrivals = match cell.request.prompts {
            None => read(&ask, run),
            Some(prompts) => {
                ask.target.path = prompt::ROUTE.into();
                ask.form = prompt::form(&prompts.answer(round), run);
                prompt::observe(&ask, Shape::OpenaiChat, run)
            }
        };
        let proxy = watch.map(Watch::end);
        let ledger = ledger_of(self.emitter, run);
        RunRecord {
            cell: cell.id(),
            round,
            position,
            ledger,
            arrivals,
            wire: None,
            wire_unknown: None,
            proxy,
        }
    }
}

/// Does what a native reader does on a thread of its own, which runs before other work where that
/// may be.
pub(crate) fn before_others<T: Send>(read: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            wire::priority::raise();
            read()
        });
        // A panic of the reader is ours, not the endpoint's: it goes on.
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Reads a stream that way.
pub(crate) fn read(ask: &Ask, run: RunId) -> Arrivals {
    let observed = before_others(|| recv_client::observe(ask, run));
    let Observed { mut arrivals, transport, .. } = observed;
    // On a plain connection that is read on the arrivals say it all.
    if transport.tls.is_some()
        || transport.protocol == Some(Protocol::Http2)
        || transport.paused.is_some()
    {
        arrivals.transport = Some(transport);
    }
    arrivals
}

/// What is spoken above the connection.
pub(crate) fn http(protocol: ClientProtocol) -> Http {
    match protocol {
        ClientProtocol::Http2 | ClientProtocol::Http2Clear => Http::Two,
        ClientProtocol::Http11 | ClientProtocol::Http11Tls => Http::One,
        ClientProtocol::Http3 => Http::Three,
    }
}

/// Path and query that play a cell's script under a run id.
pub(crate) fn stream_path(cell: &Cell, run: RunId) -> String {
    path_of(&cell.script, run)
}

/// The same for a script by itself.
pub(crate) fn path_of(script: &Script, run: RunId) -> String {
    let mut query = vec![("run", run.to_string())];
    query.extend(script.to_query().unwrap_or_default());
    format!("/stream?{}", serde_urlencoded::to_string(query).unwrap_or_default())
}

/// The ledger of a run, once it is complete; absent when the request never came.
pub(crate) fn ledger_of(emitter: &Emitter, run: RunId) -> Option<Ledger> {
    let step = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    loop {
        let ledger = match emitter.ledgers().lookup(run) {
            Lookup::Known(ledger) => *ledger,
            Lookup::Dropped | Lookup::Unknown => return None,
        };
        let complete = ledger.done.is_some() || ledger.broken.is_some();
        if complete || waited >= LEDGER_PATIENCE {
            return Some(ledger);
        }
        std::thread::sleep(step);
        waited += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::plan::ReaderProfile;

    struct Fake(Vec<String>, Interrupt, usize);

    impl Executor for Fake {
        fn run(&mut self, cell: &Cell, round: u32, position: u32) -> RunRecord {
            self.0.push(format!("{round}.{position} {}", cell.endpoint));
            if self.0.len() == self.2 {
                self.1.stop();
            }
            let arrivals = Arrivals::begin(RunId(1), Reader::Recv, Stamp(0));
            RunRecord {
                cell: cell.id(),
                round,
                position,
                ledger: None,
                arrivals,
                wire: None,
                wire_unknown: None,
                proxy: None,
            }
        }
    }

    fn plan() -> Plan {
        Plan::preset("headline", &["haproxy".into()], &[ReaderProfile::recv()], None, 2, 1).unwrap()
    }

    #[test]
    fn every_round_is_played_direct_first_and_last() {
        let interrupt = Interrupt::default();
        let mut fake = Fake(Vec::new(), interrupt.clone(), 0);
        let mut kept = 0;
        let whole = play(&plan(), &mut fake, &interrupt, |_| {
            kept += 1;
            Ok::<(), ()>(())
        });
        assert_eq!((whole, kept), (Ok(true), 6));
        let expected =
            ["0.0 direct", "0.1 haproxy", "0.2 direct", "1.3 direct", "1.4 haproxy", "1.5 direct"];
        assert_eq!(fake.0, expected);
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured() {
        let interrupt = Interrupt::default();
        let mut fake = Fake(Vec::new(), interrupt.clone(), 4);
        let mut kept = 0;
        let whole = play(&plan(), &mut fake, &interrupt, |_| {
            kept += 1;
            Ok::<(), ()>(())
        });
        assert_eq!((whole, kept), (Ok(false), 4));
    }

    #[test]
    fn a_run_that_cannot_be_kept_ends_the_plan() {
        let interrupt = Interrupt::default();
        let mut fake = Fake(Vec::new(), interrupt.clone(), 0);
        assert_eq!(play(&plan(), &mut fake, &interrupt, |_| Err("disk full")), Err("disk full"));
        assert_eq!(fake.0.len(), 1);
    }

    #[test]
    fn the_path_names_run_and_script() {
        let path = stream_path(&plan().cells[0], RunId(255));
        assert_eq!(
            path,
            "/stream?run=000000000000000000000000000000ff&frames=41&interval_ms=50&frame_bytes=60"
        );
    }
}
