//! What the matrix says of counts that are known.

use measure::Reader;
use measure::guards::Exclusion;
use measure::results::{Judgement, Machine, RunRecord};
use measure::verdict::Finding;
use measure::{Arrivals, RunId, Stamp};

use super::super::tally::SCHEMA;
use super::super::truths;
use super::*;

fn record(round: u32) -> RunRecord {
    RunRecord {
        cell: "c".into(),
        round,
        position: 0,
        ledger: None,
        arrivals: Arrivals::begin(RunId(u128::from(round)), Reader::Recv, Stamp(0)),
        wire: None,
        wire_unknown: None,
        proxy: None,
    }
}

/// A matrix of two streams, an honest relay and a corked proxy, each called so.
fn matrix(busy: bool, honest: &[Verdict], corked: &[Verdict]) -> Matrix {
    let all = truths::all();
    let mut rows = Vec::new();
    for (name, said) in [("honest", honest), ("haproxy, longer", corked)] {
        let truth = all.iter().find(|truth| truth.name() == name).unwrap();
        let judged: Vec<(RunRecord, Judgement)> = said
            .iter()
            .enumerate()
            .map(|(round, name)| {
                let judgement = match name {
                    Verdict::Void => Err(Exclusion::Direct("it was late".into())),
                    name => Ok(Finding::new(*name, "so it seems")),
                };
                (record(round as u32), judgement)
            })
            .collect();
        let mut row = Row::new(truth, None, None);
        row.count(&judged.iter().map(|(run, said)| (run, said)).collect::<Vec<_>>());
        rows.push(row);
    }
    let mut skipped = Row::new(&all[0], None, Some("no python3 on PATH".into()));
    skipped.path = "caddy".into();
    rows.push(skipped);
    Matrix {
        schema: SCHEMA.into(),
        complete: true,
        command: Vec::new(),
        seed: 7,
        started_at: String::new(),
        busy,
        machine: Machine::default(),
        rows,
    }
}

use Verdict::{CannotTell, Corked, Live, Void};

#[test]
fn what_is_right_is_done_and_what_is_wrong_is_named_with_its_run() {
    let right = matrix(false, &[Live; 10], &[Corked; 10]);
    assert_eq!(conclude(&right).1, Exit::Done);
    assert_eq!(sentences(&right), ["SKIPPED(caddy: no python3 on PATH)"]);

    let wrong = matrix(false, &[Live, Corked], &[Corked; 18]);
    assert_eq!(conclude(&wrong).1, Exit::Found);
    assert_eq!(
        sentences(&wrong)[0],
        "WRONG honest: it is live, run 00000000000000000000000000000001 was called corked: so it seems"
    );
    assert!(
        conclude(&wrong).0.iter().any(|line| line.starts_with("Clean paths: 2 runs, 1 blamed"))
    );
}

#[test]
fn too_much_left_open_misses_the_goal_and_is_no_wrong_answer() {
    let some = matrix(false, &[Live; 19], &[Void]);
    assert_eq!(conclude(&some).1, Exit::Done, "one in twenty");
    let more = matrix(false, &[Live; 9], &[CannotTell]);
    assert_eq!(conclude(&more).1, Exit::Void);
    // A busy machine may leave more open, but has to name most of what holds.
    let busy = matrix(true, &[Live, Void, Void, Void], &[Corked, Corked, Corked, Corked, Void]);
    assert_eq!(conclude(&busy).1, Exit::Done);
    let blind = matrix(true, &[Live; 9], &[Corked, Corked, Corked, CannotTell]);
    assert_eq!(conclude(&blind).1, Exit::Void);
    let nothing = matrix(true, &[], &[]);
    assert_eq!(conclude(&nothing).1, Exit::Nothing);
    let cut = Matrix { complete: false, ..matrix(false, &[Corked], &[]) };
    assert_eq!(conclude(&cut).1, Exit::Interrupted);
}

#[test]
fn the_matrix_counts_every_run_once() {
    let matrix = matrix(false, &[Live, Corked, Void], &[Corked, CannotTell]);
    let table = terminal(&confusion(&matrix));
    let lines: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["truth", "live", "corked", "void", "cannot-tell"]);
    assert_eq!(lines[2], ["live", "1", "1", "1", "–"]);
    assert_eq!(lines[3], ["corked", "–", "1", "–", "1"]);
}

#[test]
fn ci_sees_a_case_for_each_stream() {
    let matrix = matrix(false, &[Live, Corked], &[Void, Void]);
    let states: Vec<State> = cases(&matrix).into_iter().map(|case| case.state).collect();
    assert_eq!(states[0], State::Failed("called corked: so it seems".into()));
    assert!(matches!(&states[1], State::Skipped(why) if why.contains("0 of 2 runs right")));
    assert_eq!(states[2], State::Skipped("no python3 on PATH".into()));
    let text = markdown(&matrix);
    assert!(text.contains("| haproxy, longer | corked | 2 | 0 | 0 | 2 | 0 |"), "{text}");
}

#[test]
fn the_document_reads_back() {
    let matrix = matrix(false, &[Live, Corked], &[Void]);
    let text = serde_json::to_string(&matrix).unwrap();
    assert_eq!(serde_json::from_str::<Matrix>(&text).unwrap(), matrix);
}
