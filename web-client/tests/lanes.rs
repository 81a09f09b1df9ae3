//! Lanes as the plan has them: pure, so the same tests run natively too.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use measure::page::{Lane, Lanes, Settings, Way};
use measure::results::Endpoint;
use measure::story::STORIES;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::model::lanes::{self, LanePlan};

wasm_bindgen_test_configure!(run_in_browser);

/// What stands behind a page: all that the stories need, of which some do not run.
fn lanes(not_running: &[&str]) -> Lanes {
    let mut names = vec!["direct".to_string()];
    for name in STORIES.iter().flat_map(|story| story.settings().endpoints) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let lane = |name: &String| {
        let failed = not_running.contains(&name.as_str());
        let way = Way { mss: Some(1448), origin: "http://127.0.0.1:1".into(), quic: false };
        Lane {
            endpoint: Endpoint {
                name: name.clone(),
                failed: failed.then(|| "no such file".into()),
                ..Endpoint::direct()
            },
            ways: if failed { Vec::new() } else { vec![way] },
        }
    };
    Lanes {
        instance: "i".into(),
        version: "0".into(),
        kernel: "k".into(),
        cpus: 2,
        load: None,
        mss: Some(1448),
        lanes: names.iter().map(lane).collect(),
    }
}

fn planned(query: &[(&str, &str)], lanes: &Lanes) -> Vec<LanePlan> {
    let settings = Settings::from_query(query.iter().copied()).unwrap();
    lanes::of_plan(&settings, lanes, &settings.plan(lanes).unwrap())
}

fn said(planned: &[LanePlan]) -> Vec<(&str, &str)> {
    planned.iter().map(|lane| (lane.endpoint.name.as_str(), lane.special.as_str())).collect()
}

#[wasm_bindgen_test(unsupported = test)]
fn two_scripts_of_one_endpoint_are_two_lanes_beside_each_other() {
    let planned = planned(&[("story", "big-frames")], &lanes(&[]));
    assert_eq!(
        said(&planned),
        [
            ("direct", "frames of 60 B"),
            ("direct", "frames of 1100 B"),
            ("haproxy", "frames of 60 B"),
            ("haproxy", "frames of 1100 B"),
        ]
    );
    assert_eq!(planned[3].script.as_ref().unwrap().total_bytes(), 41 * 1_100);
}

#[wasm_bindgen_test(unsupported = test)]
fn a_lane_says_only_what_its_neighbours_do_not() {
    let header = planned(&[("story", "header")], &lanes(&[]));
    assert_eq!(
        said(&header)[2..],
        [("haproxy", "no header of its own"), ("haproxy", "X-Accel-Buffering: no")]
    );
    let cork = planned(&[("story", "cork")], &lanes(&[]));
    assert!(said(&cork).iter().all(|(_, special)| special.is_empty()), "{cork:?}");
}

#[wasm_bindgen_test(unsupported = test)]
fn each_of_several_streams_has_a_lane() {
    let planned = planned(&[("story", "seventh")], &lanes(&[]));
    assert_eq!(planned.len(), 7);
    assert_eq!(planned[6].special, "stream 7 of 7");
}

#[wasm_bindgen_test(unsupported = test)]
fn every_cell_of_every_story_has_a_lane() {
    let lanes = lanes(&[]);
    for story in &STORIES {
        let settings = story.settings();
        let plan = settings.plan(&lanes).unwrap();
        let planned = lanes::of_plan(&settings, &lanes, &plan);
        for cell in &plan.cells {
            assert!(planned.iter().any(|lane| lane.key == cell.lane_key()), "{}", cell.id());
        }
        let mut keys: Vec<&str> = planned.iter().map(|lane| lane.key.as_str()).collect();
        keys.dedup();
        assert_eq!(keys.len(), planned.len(), "{}", story.id);
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn what_did_not_start_keeps_its_row_and_says_why() {
    let lanes = lanes(&["haproxy"]);
    let cork = planned(&[("story", "cork")], &lanes);
    let rows: Vec<(&str, Option<&str>)> =
        cork.iter().map(|lane| (lane.endpoint.name.as_str(), lane.failed.as_deref())).collect();
    assert_eq!(
        rows,
        [("direct", None), ("haproxy", Some("no such file")), ("haproxy-no-delay", None)]
    );
    // The headline has more endpoints than were started here; nobody asked for those by name.
    let headline = planned(&[], &lanes);
    assert!(headline.iter().all(|lane| lane.endpoint.name != "envoy"), "{:?}", said(&headline));
}
