//! Cured or not, against a scripted executor.

use super::*;
use crate::doctor::evidence::{Carried, Run};
use measure::verdict::Finding;
use measure::verdict::arrivals::Sighting;

struct Fake<F>(F, u32, Vec<String>);

impl<F: Fn(&Experiment, usize) -> Result<Verdict, Stop>> Executor for Fake<F> {
    fn price(&self, experiment: &Experiment) -> Option<u32> {
        (experiment.way == crate::doctor::experiment::Way::Through).then_some(1)
    }

    fn left(&self) -> u32 {
        self.1
    }

    fn play(&mut self, experiment: &Experiment) -> Result<Run, Stop> {
        self.1 -= 1;
        self.2.push(experiment.name());
        let finding = Finding::new((self.0)(experiment, self.2.len())?, "scripted");
        let alone = Sighting { finding, candidates: Vec::new() };
        Ok(Run {
            experiment: *experiment,
            alone,
            raw: None,
            head: None,
            carried: Carried::default(),
        })
    }
}

fn after(
    rule: impl Fn(&Experiment, usize) -> Result<Verdict, Stop>,
    left: u32,
) -> (Verified, Vec<String>) {
    also_held(None, rule, left)
}

/// The same where another experiment was held besides.
fn also_held(
    also: Option<Experiment>,
    rule: impl Fn(&Experiment, usize) -> Result<Verdict, Stop>,
    left: u32,
) -> (Verified, Vec<String>) {
    let question = Experiment::of(Client::Curl);
    let earlier = Earlier { cause: CauseId::WholeBuffers, question, also };
    let mut fake = Fake(rule, left, Vec::new());
    let verified = verify(&earlier, &mut fake, &mut |_| ());
    (verified, fake.2)
}

#[test]
fn cured_is_live_twice_and_for_a_browser_too() {
    let (verified, played) = after(|_, _| Ok(Verdict::Live), 20);
    assert_eq!(verified.cured, Cured::Yes, "{verified:?}");
    assert_eq!(played, ["as curl", "as curl", "as a browser's fetch"]);
    assert!(verified.name.starts_with("cured: "), "{}", verified.name);
}

#[test]
fn what_is_still_held_is_not_cured_and_says_where_to_look() {
    let (verified, _) = after(|_, _| Ok(Verdict::Held), 20);
    assert_eq!((verified.cured, verified.name.as_str()), (Cured::No, "not cured: held"));
    assert!(verified.because.last().unwrap().contains("nginx -T"), "{:?}", verified.because);
    let browser = |e: &Experiment, _| {
        Ok(if e.client == Client::Fetch { Verdict::Held } else { Verdict::Live })
    };
    let (verified, _) = after(browser, 20);
    assert_eq!(verified.cured, Cured::No);
    assert!(verified.name.ends_with("held as a browser's fetch"), "{}", verified.name);
}

#[test]
fn who_was_held_by_the_other_http_is_asked_for_too() {
    let curl = Experiment::of(Client::Curl);
    let one = Experiment { http: crate::doctor::experiment::Speak::One, ..curl };
    let (verified, played) = also_held(Some(one), |_, _| Ok(Verdict::Live), 20);
    assert_eq!(verified.cured, Cured::Yes, "{verified:?}");
    assert_eq!(played.last().unwrap(), "as curl, HTTP/1.1 alone");
    let half = |e: &Experiment, _| Ok(if *e == one { Verdict::Held } else { Verdict::Live });
    let (verified, _) = also_held(Some(one), half, 20);
    assert_eq!(verified.cured, Cured::No);
    assert!(verified.name.ends_with("held as curl, HTTP/1.1 alone"), "{}", verified.name);
}

#[test]
fn what_the_guards_take_away_is_played_again_but_not_for_ever() {
    let (verified, played) =
        after(|_, n| Ok(if n == 1 { Verdict::Void } else { Verdict::Live }), 20);
    assert_eq!(verified.cured, Cured::Yes);
    assert_eq!(played.len(), 4);
    let (verified, played) = after(|_, _| Ok(Verdict::Void), 20);
    assert_eq!(verified.cured, Cured::CannotTell, "{verified:?}");
    assert_eq!(played.len(), TRIES + RUNS);
}

#[test]
fn one_live_run_is_not_enough_and_none_is_nothing() {
    assert_eq!(after(|_, _| Ok(Verdict::Live), 1).0.cured, Cured::CannotTell);
    assert_eq!(after(|_, _| Ok(Verdict::Live), 0).0.cured, Cured::Nothing);
    let gone = |_: &Experiment, _| Err(Stop::Unreachable { what: "connect: refused".into() });
    let (verified, _) = after(gone, 20);
    assert_eq!(verified.cured, Cured::Nothing);
    assert!(verified.name.contains("connect: refused"), "{}", verified.name);
}
