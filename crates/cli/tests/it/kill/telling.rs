//! A message of the user reaches one attempt that ends by itself, wherever the run is killed.

use ralph_core::task::Status;
use ralph_testkit::faults::World;

use super::setting;

/// How many attempts got the first message, as their number and outcome.
fn got(world: &World) -> Vec<(usize, Option<String>)> {
    let shown = world.env.json(&["task", "show", "plain"]);
    let attempts = shown["attempts"].as_array().unwrap();
    let log = shown["log"].as_array().unwrap();
    let given: Vec<&str> = log
        .iter()
        .filter(|entry| entry["kind"] == "delivered")
        .map(|entry| entry["text"].as_str().unwrap())
        .collect();
    let of = |(number, attempt): (usize, &serde_json::Value)| {
        let line = format!("message 1 to attempt {}", attempt["id"].as_str().unwrap());
        let times = given.iter().filter(|text| **text == line).count();
        assert!(times <= 1, "{given:?}");
        let outcome = attempt["end"]["outcome"].as_str().map(str::to_owned);
        (times == 1).then_some((number + 1, outcome))
    };
    attempts.iter().enumerate().filter_map(of).collect()
}

#[test]
fn a_message_survives_a_kill_at_every_step_and_is_delivered_once() {
    for point in [
        "claimed",
        "prompt-written",
        "attempt-begun",
        "session-started",
        "session-ended",
        "evidence-written",
        "before-commit",
        "after-commit",
        "attempt-ended",
    ] {
        let world = World::with(&setting(), &["plain"]);
        world.env.ralph(&["tell", "plain", "use tabs"]).success();
        assert!(world.build(Some(point)).was_killed(), "{point}: {}", world.output());
        let run = world.build(None);
        assert_eq!(run.end.code(), Some(0), "{point}: {}", world.output());
        assert_eq!(world.statuses()["plain"], Status::Done, "{point}: {}", world.output());
        let finished: Vec<(usize, Option<String>)> =
            got(&world).into_iter().filter(|(_, outcome)| outcome.is_some()).collect();
        assert_eq!(finished.len(), 1, "{point}: {finished:?}");
        assert_eq!(finished[0].1.as_deref(), Some("done"), "{point}");
    }
}
