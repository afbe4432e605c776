//! Speeds, places and the pace between two events.

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn speeds_are_read_and_shown() {
    let shown = |text: &str| Speed::parse(text).map(|speed| speed.to_string());
    for (text, expected) in [
        ("1", "1×"),
        ("0.25", "0.25×"),
        ("10x", "10×"),
        ("1000", "1000×"),
        ("2.5×", "2.5×"),
        ("max", "max"),
    ] {
        assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
    }
    for text in ["", "0", "0.2", "1001", "-1", "fast", "1.5.1", ".5", "1e3", "99999999999"] {
        assert_eq!(shown(text), None, "{text}");
    }
}

#[test]
fn steps_lead_from_the_slowest_speed_to_max_and_back() {
    let mut speed = Speed::parse("0.25").unwrap();
    assert_eq!(speed.slower(), speed);
    let mut up = vec![speed];
    while speed != Speed::MAX {
        speed = speed.faster();
        up.push(speed);
    }
    assert_eq!(up.len(), STEPS.len() + 1);
    let mut down = vec![speed];
    while down.len() < up.len() {
        speed = speed.slower();
        down.push(speed);
    }
    down.reverse();
    assert_eq!(up, down);
    assert_eq!(Speed::parse("3").unwrap().faster(), Speed::parse("5").unwrap());
    assert_eq!(Speed::parse("3").unwrap().slower(), Speed::parse("2").unwrap());
}

#[test]
fn places_are_read() {
    for (text, expected) in [
        ("7", Some(Place::Iteration(7))),
        ("50%", Some(Place::Percent(50))),
        ("101%", None),
        ("90s", Some(Place::After(90_000))),
        ("1h20m", Some(Place::After(4_800_000))),
        ("1h 20m 5s", Some(Place::After(4_805_000))),
        ("1d", None),
        ("14:30", Some(Place::TimeOfDay(52_200))),
        ("14:30:10", Some(Place::TimeOfDay(52_210))),
        ("24:00", None),
        ("14:300", None),
        ("1970-01-01T00:00:01Z", Some(Place::At(at(1_000)))),
        ("", None),
        ("yesterday", None),
    ] {
        assert_eq!(Place::parse(text), expected, "{text}");
    }
}

#[test]
fn places_are_found_on_the_timeline() {
    let timeline = Timeline {
        first: Timestamp::parse("2026-11-15T22:00:00.500Z").unwrap(),
        last: Timestamp::parse("2026-11-16T02:00:00.500Z").unwrap(),
        iterations: vec![(1, Timestamp::parse("2026-11-15T22:10:00Z").unwrap())],
    };
    let found = |text: &str| {
        let found = timeline.find(Place::parse(text).unwrap(), &Zone::UTC);
        found.map(|at| at.to_string())
    };
    for (text, expected) in [
        ("1", Some("2026-11-15T22:10:00Z")),
        ("2", None),
        ("25%", Some("2026-11-15T23:00:00Z")),
        ("30m", Some("2026-11-15T22:30:00Z")),
        ("22:00", Some("2026-11-15T22:00:00Z")),
        ("23:30", Some("2026-11-15T23:30:00Z")),
        ("01:15", Some("2026-11-16T01:15:00Z")),
    ] {
        assert_eq!(found(text).as_deref(), expected, "{text}");
    }
    let vienna = Zone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let midnight = timeline.find(Place::TimeOfDay(0), &vienna).unwrap();
    assert_eq!(midnight.to_string(), "2026-11-15T23:00:00Z");
    assert_eq!(timeline.percent(timeline.first), 0);
    let short = Timeline { last: timeline.first.plus_millis(33), ..timeline.clone() };
    assert_eq!(short.find(Place::Percent(50), &vienna).map(|at| short.percent(at)), Some(51));
    assert_eq!(timeline.percent(midnight), 24);
    assert_eq!(timeline.percent(timeline.last.plus_seconds(9)), 100);
    assert_eq!(Timeline::default().percent(at(5)), 100);
}

#[test]
fn recorded_time_passes_at_the_chosen_speed() {
    for (speed, expected) in [("1", 1_000), ("0.25", 4_000), ("10", 100), ("1000", 1), ("max", 0)] {
        let mut pacer = Pacer::new(Speed::parse(speed).unwrap(), None);
        pacer.shown(at(0), ms(0));
        assert_eq!(pacer.wait(at(1_000), ms(0)), Some(ms(expected)), "{speed}");
        assert_eq!(pacer.wait(at(1_000), ms(expected)), Some(ms(0)), "{speed}");
    }
}

#[test]
fn long_pauses_are_shortened() {
    let mut pacer = Pacer::new(Speed::parse("2").unwrap(), Some(2_000));
    pacer.shown(at(0), ms(0));
    assert_eq!(pacer.wait(at(3_600_000), ms(0)), Some(ms(1_000)));
    pacer.shown(at(3_600_000), ms(1_000));
    assert_eq!(pacer.wait(at(3_600_500), ms(1_000)), Some(ms(250)));
}

#[test]
fn the_clock_of_a_paused_replay_stands_still() {
    let mut pacer = Pacer::new(Speed::NORMAL, None);
    pacer.shown(at(0), ms(0));
    pacer.pause(true, ms(400));
    assert_eq!(pacer.wait(at(1_000), ms(9_000)), None);
    pacer.pause(false, ms(10_000));
    assert_eq!(pacer.wait(at(1_000), ms(10_000)), Some(ms(600)));
}

#[test]
fn a_new_speed_counts_from_now_on() {
    let mut pacer = Pacer::new(Speed::NORMAL, None);
    pacer.shown(at(0), ms(0));
    pacer.set_speed(Speed::parse("10").unwrap(), ms(500));
    assert_eq!(pacer.wait(at(1_000), ms(500)), Some(ms(50)));
}

#[test]
fn small_delays_do_not_add_up_and_long_ones_are_not_made_up_for() {
    let mut pacer = Pacer::new(Speed::NORMAL, None);
    pacer.shown(at(0), ms(0));
    pacer.shown(at(1_000), ms(1_040));
    assert_eq!(pacer.wait(at(2_000), ms(1_040)), Some(ms(960)));
    pacer.shown(at(2_000), ms(60_000));
    assert_eq!(pacer.wait(at(3_000), ms(60_000)), Some(ms(750)));
}

#[test]
fn a_step_leads_to_the_iteration_before_and_to_the_next() {
    let iterations = vec![(1, at(10)), (2, at(20)), (3, at(30))];
    let timeline = Timeline { first: at(0), last: at(50), iterations };
    let steps =
        |time| (timeline.before(at(time)).as_millis(), timeline.after(at(time)).as_millis());
    assert_eq!(steps(5), (0, 10));
    assert_eq!(steps(10), (0, 20));
    assert_eq!(steps(25), (10, 30));
    assert_eq!(steps(40), (20, 50));
}
