//! What a retry learns about the attempts before it, which model it gets, and when the user is asked.

use ralph_core::policy::strategy::Model;
use ralph_core::policy::strategy::Strategy;
use ralph_core::run::StopReason;
use ralph_core::task::{RetryLimit, Status};

use crate::kit::{Inside, Play, World, says};

/// A world whose gate prints what `said.txt` holds, and is red while it holds something. The strategy is one that no
/// failure changes by itself: the largest model first, then the middle one.
fn judged() -> World {
    let gate = |files: &Inside| {
        let text = files.read("said.txt").unwrap();
        (i32::from(!text.is_empty()), text)
    };
    let world = World::new(&["a"]).has("said.txt", "nothing yet\n").gate("test", gate);
    world.policy(|policy| policy.strategy = Strategy::PlanThenExecute)
}

/// A session after which the gate prints this.
fn leads_to(text: &str, words: &str) -> Play {
    says(&format!("{words} <task-done>{{id}}</task-done>")).writes("said.txt", text)
}

#[test]
fn other_failures_are_no_reason_for_another_model_or_to_wait_for_you() {
    let red = |test: &str| leads_to(&format!("test {test} ... FAILED\n"), "I tried.");
    let plays = ["a", "b", "c", "d", "e", "f"].map(red).into_iter().chain([leads_to("", "")]);
    let mut world = judged().policy(|policy| policy.retries = RetryLimit::AtMost(20));
    let played = world.build(plays);
    assert_eq!((played.reason(), played.status("a")), (&StopReason::Complete, Status::Done));
    assert_eq!(played.models()[1..], ["sonnet"; 6]);
}

#[test]
fn a_hint_of_the_agent_beats_the_failure_and_a_fixed_model_stays() {
    let red = || leads_to("wrong\n", "I tried.");
    let hint = leads_to("wrong\n", "<next-model>haiku</next-model>");
    let played = judged().build([red(), hint, leads_to("", "")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.models(), ["opus", "sonnet", "haiku"]);
    let fixed = Strategy::Fixed(Model::named("haiku"));
    let played =
        judged().policy(|policy| policy.strategy = fixed).build([red(), red(), leads_to("", "")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.models(), ["haiku"; 3]);
}

#[test]
fn the_next_prompt_shows_what_was_tried_and_says_the_same_once() {
    let red = || leads_to("test sums ... FAILED\nassertion: 1\n", "I turned the sign.");
    let played = judged().build([red(), red(), leads_to("", "")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let first = played.prompt(2);
    assert!(!first.contains("The same failure"), "{first}");
    assert!(first.contains("- attempt 1: red\n"), "{first}");
    assert!(
        first.contains("It changed `said.txt` +2 -1, and said:\n  > I turned the sign."),
        "{first}"
    );
    let second = played.prompt(3);
    assert!(second.contains("The same failure 2 times in a row: attempts 1, 2."), "{second}");
    assert!(second.contains("- attempts 1, 2: red, the same 2 times\n"), "{second}");
    assert_eq!(second.matches("I turned the sign.").count(), 1, "{second}");
}

#[test]
fn s1_22_an_override_that_differs_is_recorded_and_sent() {
    let next = |model: &str| {
        let text = format!("<task-done>{{id}}</task-done><next-model>{model}</next-model>");
        says(&text).does(|inside| inside.write(&format!("file.{}", inside.task), "x"))
    };
    let mut world = World::new(&["a", "b", "c"]).with_claude();
    world.policy.strategy = Strategy::CostOptimized;
    let played = world.build([next("opus"), next("sonnet"), next("sonnet")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let model = |words: &Vec<String>| {
        let at = words.iter().position(|word| word == "--model").unwrap();
        words[at + 1].clone()
    };
    let models: Vec<String> = played.arguments.iter().map(model).collect();
    assert_eq!(models, ["sonnet", "opus", "sonnet"]);
    let log = played.log("b");
    assert!(log.contains("model opus instead of sonnet, as the agent asked"), "{log}");
    assert!(!played.log("c").contains("instead of"), "the same is no override");
    assert_eq!(played.attempts("b")[0].model.as_deref(), Some("opus"));
}
