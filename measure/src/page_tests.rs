//! Settings through the address, and the plans they make.

use super::*;

fn lanes() -> Lanes {
    let lane = |name: &str, origin: Option<&str>| Lane {
        endpoint: Endpoint { name: name.into(), ..Endpoint::direct() },
        ways: origin
            .map(|origin| Way { mss: Some(1448), origin: origin.into(), quic: false })
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

/// The lanes with TLS before the control and HAProxy.
fn with_tls(mut lanes: Lanes) -> Lanes {
    let secure = Way { mss: Some(1448), origin: "https://127.0.0.1:3".into(), quic: false };
    lanes.lanes[0].ways.push(secure.clone());
    let mut of_haproxy = lanes.lanes[1].clone();
    of_haproxy.endpoint.name = "haproxy-tls".into();
    of_haproxy.ways = vec![Way { origin: "https://127.0.0.1:4".into(), ..secure }];
    lanes.lanes.push(of_haproxy);
    lanes
}

#[test]
fn any_plan_can_be_asked_over_another_protocol() {
    let over = |protocol, endpoints: &str| {
        Settings::from_query([("protocol", protocol), ("endpoints", endpoints)]).unwrap()
    };
    let (plain, lanes) = (lanes(), with_tls(lanes()));
    let settings = over("h2", "haproxy");
    let again = settings.to_query();
    let pairs = again.iter().map(|(key, value)| (*key, value.as_str()));
    assert_eq!(Settings::from_query(pairs), Ok(settings.clone()));
    let plan = settings.plan(&lanes).unwrap();
    assert!(plan.cells.iter().all(|cell| cell.request.client_protocol == "h2"));
    assert_eq!(plan.endpoints(), ["direct", "haproxy-tls"]);
    assert_eq!(settings.names().unwrap(), ["direct", "haproxy-tls"]);
    // The other way round, and of a preset that has both every cell once.
    assert_eq!(over("http/1.1", "haproxy-tls").plan(&lanes).unwrap().endpoints()[1], "haproxy");
    let both = Settings { preset: "protocols".into(), ..over("h2", "haproxy,haproxy-tls") };
    assert_eq!(both.plan(&lanes).unwrap().cells.len(), 2 * 2, "two endpoints, two readers");
    assert_eq!(both.names().unwrap(), ["direct", "haproxy-tls"]);
    // Who does not speak it is said to be missing.
    for (settings, why) in [
        (over("h2", "envoy"), "no lane is called \"envoy-tls\""),
        (over("h2", "direct"), "no lane here speaks h2"),
    ] {
        let lanes = if why.contains("envoy") { &lanes } else { &plain };
        let error = settings.plan(lanes).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    let error = Settings::from_query([("protocol", "h2c")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "no protocol is called \"h2c\": browsers speak http/1.1, h2, and h3 where they are told to"
    );
}

#[test]
fn cells_over_tls_take_the_ways_that_speak_it() {
    let settings = Settings { preset: "protocols".into(), ..Settings::default() };
    let plain = settings.plan(&lanes()).unwrap();
    assert!(plain.cells.iter().all(|cell| !cell.request.is_tls()), "there is no way over TLS");
    let lanes = with_tls(lanes());
    let plan = settings.plan(&lanes).unwrap();
    let mut taken: Vec<(&str, &str, &str)> = plan
        .cells
        .iter()
        .filter(|cell| cell.reader == Reader::Recv)
        .map(|cell| {
            let lane = lanes.lanes.iter().find(|lane| lane.endpoint.name == cell.endpoint).unwrap();
            let origin = lane.origin(cell).unwrap();
            (cell.endpoint.as_str(), cell.request.client_protocol.as_str(), origin)
        })
        .collect();
    taken.sort_unstable();
    assert_eq!(
        taken,
        [
            ("direct", "h2", "https://127.0.0.1:3"),
            ("direct", "http/1.1", "http://127.0.0.1:1"),
            ("haproxy", "http/1.1", "http://127.0.0.1:2"),
            ("haproxy-tls", "h2", "https://127.0.0.1:4"),
        ]
    );
}
