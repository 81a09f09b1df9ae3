//! Settings through the address, and the plans they make.

use super::*;

fn lanes() -> Lanes {
    let lane = |name: &str, origin: Option<&str>| Lane {
        endpoint: Endpoint { name: name.into(), ..Endpoint::direct() },
        ways: origin
            .map(|origin| Way { mss: Some(1448), origin: origin.into() })
            .into_iter()
            .collect(),
    };
    Lanes {
        instance: "i".into(),
        version: "0".into(),
        kernel: "k".into(),
        cpus: 2,
        load: None,
        mss: Some(1448),
        lanes: vec![
            lane("direct", Some("http://127.0.0.1:1")),
            lane("haproxy", Some("http://127.0.0.1:2")),
            lane("envoy", None),
        ],
    }
}

#[test]
fn settings_round_trip_through_the_address() {
    let query = [
        ("preset", "headline"),
        ("endpoints", "haproxy"),
        ("readers", "eventsource,fetch"),
        ("runs", "3"),
        ("frames", "12"),
        ("header", "X-Accel-Buffering: no"),
        ("session", "abc"),
        ("go", "1"),
    ];
    let settings = Settings::from_query(query).unwrap();
    let again = settings.to_query();
    let pairs = again.iter().map(|(key, value)| (*key, value.as_str()));
    assert_eq!(Settings::from_query(pairs), Ok(settings.clone()));
    let plan = settings.plan(&lanes()).unwrap();
    assert_eq!(plan.cells.len(), 4, "direct and haproxy, each by two readers");
    assert_eq!(plan.cells[0].script.frame_count(), 12);
}

#[test]
fn a_story_brings_its_settings_and_others_beside_it_hold() {
    let settings = Settings::from_query([("runs", "3"), ("story", "gzip")]).unwrap();
    assert_eq!((settings.preset.as_str(), settings.runs), ("gzip", 3));
    assert_eq!(settings.story.as_deref(), Some("gzip"));
    let again = settings.to_query();
    let pairs = again.iter().map(|(key, value)| (*key, value.as_str()));
    assert_eq!(Settings::from_query(pairs), Ok(settings));
    let error = Settings::from_query([("story", "nope")]).unwrap_err().to_string();
    assert!(
        error.starts_with("no story is called \"nope\": there are cork, big-frames, "),
        "{error}"
    );
}

#[test]
fn a_failed_lane_is_not_planned() {
    let plan = Settings::default().plan(&lanes()).unwrap();
    assert!(plan.cells.iter().all(|cell| cell.endpoint != "envoy"));
}

#[test]
fn what_cannot_be_followed_is_named() {
    for (query, message) in [
        (("runs", "0"), "runs is \"0\": it must be a number from 1 to 1000"),
        (
            ("readers", "xhr"),
            "no reader is called \"xhr\": known are eventsource, fetch, fetch-worker, recv",
        ),
        (
            ("preset", "x"),
            "no preset is called \"x\": known are headline, frame-size, emit-rate, header, slow-client, connections, chunk-size, temp-file, nginx-upstream-version, gzip, shadowed-location, haproxy-trigger, no-delay-cost, nginx-grid, busy-page, connection-limit, protocols, published",
        ),
        (("colour", "red"), "no setting is called \"colour\""),
        (("frames", "0"), "frames is 0: it must be from 1 to 99999"),
    ] {
        assert_eq!(Settings::from_query([query]).unwrap_err().to_string(), message);
    }
    let settings = Settings::from_query([("endpoints", "squid")]).unwrap();
    assert_eq!(
        settings.plan(&lanes()).unwrap_err().to_string(),
        "no lane is called \"squid\": there are direct, haproxy, envoy"
    );
}
