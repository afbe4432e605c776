//! Messages of the user: each reaches one attempt that ends by itself, whatever happens on the way.

use std::path::PathBuf;

use ralph_core::agent::ProcessEnd;
use ralph_core::records::{LogKind, UserMessage};
use ralph_core::run::{Cancel, Class, Control, Fact};
use ralph_core::task::Status;
use ralph_engine::socket::client;

use crate::kit::{
    Inside, Play, Played, World, crashes, done, picks, says, stays, task_id, user, works,
};

/// The user tells it before the run.
fn tell(world: &World, text: &str) {
    world.store().tell(&task_id("a"), text, &user(), world.now()).unwrap();
}

/// The user tells it while the run is active: whether a session takes it.
fn tells(inside: &Inside, text: &str) -> Option<bool> {
    let task = task_id("a");
    let number = inside.store().tell(&task, text, &user(), inside.now()).unwrap();
    let message = UserMessage { number, text: text.to_owned() };
    client::tell(&socket(inside), &task, &message).unwrap()
}

fn socket(inside: &Inside) -> PathBuf {
    let state = std::fs::read_to_string(inside.ralph_dir().join("state.toml")).unwrap();
    let state: toml::Table = state.parse().unwrap();
    PathBuf::from(state["control_socket"].as_str().unwrap())
}

/// How often each prompt of the run has the text.
fn in_prompts(played: &Played, text: &str) -> Vec<usize> {
    let prompts = played.iterations().into_iter().map(|iteration| played.prompt(iteration));
    prompts.map(|prompt| prompt.matches(text).count()).collect()
}

/// The messages that the sessions of the run got, as the journal has it.
fn given(played: &Played) -> Vec<(u32, bool)> {
    let given = played.facts().filter_map(|fact| match fact {
        Fact::MessageGiven { message, live, .. } => Some((message.number, *live)),
        _ => None,
    });
    given.collect()
}

/// The session fails its gate once.
fn red_once(world: World) -> World {
    world.gate("test", |inside: &Inside| match inside.read("right.txt") {
        Some(_) => (0, String::new()),
        None => (1, "wrong\n".to_owned()),
    })
}

#[test]
fn a_message_is_in_the_next_prompt_and_in_no_other() {
    let mut world = red_once(World::new(&["a"]));
    tell(&world, "use tabs");
    let played = world.build([works(), works().writes("right.txt", "right\n")]);
    assert_eq!(played.status("a"), Status::Done, "{}", played.log("a"));
    assert_eq!(in_prompts(&played, "use tabs"), [1, 0]);
    assert_eq!(given(&played), [(1, false)]);
    assert!(played.log("a").contains("message 1 to attempt a-"), "{}", played.log("a"));
}

#[test]
fn messages_come_in_their_order() {
    let mut world = World::new(&["a"]);
    tell(&world, "first this");
    tell(&world, "then that");
    let played = world.build([works()]);
    let prompt = played.prompt(1);
    assert!(prompt.find("> first this").unwrap() < prompt.find("> then that").unwrap(), "{prompt}");
    assert_eq!(given(&played), [(1, false), (2, false)]);
}

/// A session that ended in another way than by itself may have read half of it.
#[test]
fn a_message_goes_to_the_next_attempt_if_the_session_did_not_end_by_itself() {
    let killed = || stays().does(|inside| inside.control(&Control::Cancel(Cancel::Kill)));
    let interrupted = || done().ends(ProcessEnd::Exited { code: 3 });
    for play in [crashes(1), interrupted(), killed()] as [Play; 3] {
        let mut world = World::new(&["a"]);
        tell(&world, "use tabs");
        let first = world.build([play.clone(), works()]);
        let mut found = in_prompts(&first, "use tabs");
        let last = match first.status("a") {
            Status::Done => first,
            _ => {
                let rest = world.continuing().build([works()]);
                found.extend(in_prompts(&rest, "use tabs"));
                rest
            }
        };
        assert_eq!(found, [1, 1], "{}", last.log("a"));
        assert_eq!(last.status("a"), Status::Done);
        let log = last.store().log(&task_id("a")).unwrap();
        let told = log.iter().filter(|entry| entry.kind == LogKind::Message).count();
        assert_eq!(told, 1);
    }
}

#[test]
fn a_session_that_cannot_be_told_is_followed_by_one_that_has_the_message() {
    let first = works().does(|inside| assert_eq!(tells(inside, "use tabs"), Some(false)));
    let played = World::new(&["a"]).build([first, works().writes("b.txt", "tabs\n")]);
    assert_eq!(played.classes(), [Class::NewMessage, Class::Done]);
    assert_eq!(in_prompts(&played, "use tabs"), [0, 1]);
    assert_eq!(played.task("a").retry_count, 0);
    assert_eq!(played.commits().len(), 1, "{:?}", played.commits());
}

#[test]
fn a_running_session_gets_messages_once_and_in_their_order() {
    let first = works().does(|inside| {
        assert_eq!(tells(inside, "use tabs"), Some(true));
        assert_eq!(tells(inside, "no spaces"), Some(true));
    });
    let played = World::new(&["a"]).with_claude().build([first]);
    assert_eq!((played.classes(), played.status("a")), (vec![Class::Done], Status::Done));
    assert_eq!(given(&played), [(1, true), (2, true)]);
    assert_eq!(in_prompts(&played, "use tabs"), [0]);
    let log = played.log("a");
    assert!(log.contains("message 1 to attempt a-") && log.contains("message 2 to"), "{log}");
}

#[test]
fn a_message_that_a_killed_session_got_is_in_the_next_prompt_once() {
    let first = crashes(1).does(|inside| assert_eq!(tells(inside, "use tabs"), Some(true)));
    let played = World::new(&["a"]).with_claude().build([first, works()]);
    assert_eq!(played.classes(), [Class::Crash, Class::Done]);
    assert_eq!(given(&played), [(1, true), (1, false)]);
    assert_eq!(in_prompts(&played, "use tabs"), [0, 1]);
}

#[test]
fn a_message_that_the_agent_does_not_confirm_goes_to_the_next_attempt() {
    let first = works().deaf().does(|inside| assert_eq!(tells(inside, "use tabs"), Some(true)));
    let played = World::new(&["a"]).with_claude().build([first, works().writes("b.txt", "b\n")]);
    assert_eq!(played.classes(), [Class::NewMessage, Class::Done]);
    assert_eq!(in_prompts(&played, "use tabs"), [0, 1]);
}

/// The command that tells is killed between the task database and the run.
#[test]
fn a_message_that_only_the_task_database_has_gets_a_session_too() {
    let first = works().does(|inside| {
        inside.store().tell(&task_id("a"), "use tabs", &user(), inside.now()).unwrap();
    });
    let played = World::new(&["a"]).build([first, works().writes("b.txt", "b\n")]);
    assert_eq!(played.classes(), [Class::NewMessage, Class::Done]);
    assert_eq!(in_prompts(&played, "use tabs"), [0, 1]);
}

#[test]
fn a_message_that_is_handed_over_twice_is_said_once() {
    let first = works().does(|inside| {
        assert_eq!(tells(inside, "use tabs"), Some(true));
        let message = UserMessage { number: 1, text: "use tabs".to_owned() };
        assert_eq!(client::tell(&socket(inside), &task_id("a"), &message).unwrap(), Some(true));
    });
    let played = World::new(&["a"]).with_claude().build([first]);
    assert_eq!((given(&played), played.status("a")), (vec![(1, true)], Status::Done));
}

#[test]
fn a_message_that_comes_while_gates_run_gets_a_session() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let mut world = World::new(&["a"]).gate("test", move |inside| {
        if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            assert_eq!(tells(inside, "use tabs"), Some(false));
        }
        (0, String::new())
    });
    let played = world.build([works(), done()]);
    assert_eq!(played.classes(), [Class::NewMessage, Class::Done]);
    assert_eq!(in_prompts(&played, "use tabs"), [0, 1]);
    assert_eq!(played.committed("a.txt").as_deref(), Some("work\n"), "the first work lands");
}

#[test]
fn an_agent_that_picks_gets_messages_about_the_tasks_that_it_is_offered() {
    let mut world = World::new(&["a", "b"]).picking();
    tell(&world, "use tabs");
    let played = world.build([picks("b"), picks("a")]);
    assert_eq!([played.status("a"), played.status("b")], [Status::Done, Status::Done]);
    // The first session did another task, so the second one gets the message again.
    assert_eq!(given(&played), [(1, false), (1, false)]);
    assert!(played.log("a").contains("message 1 to attempt"), "{}", played.log("a"));
    assert!(!played.log("b").contains("message 1 to attempt"), "{}", played.log("b"));
}

#[test]
fn a_task_that_no_session_will_work_on_takes_no_message() {
    let world = World::new(&["a"]);
    let refused = |world: &World| {
        let told = world.store().tell(&task_id("a"), "use tabs", &user(), world.now());
        told.unwrap_err().to_string()
    };
    let mut world = world;
    world.build([says("<task-failed>{id}</task-failed>")]);
    assert_eq!(refused(&world), "a has failed, and no session will read a message about it");
    world.store().reset(&task_id("a"), &user(), world.now()).unwrap();
    for _ in 0..20 {
        tell(&world, "again");
    }
    assert_eq!(
        refused(&world),
        "20 messages about a wait for its next attempt; there can be no more"
    );
    world.build([works()]);
    assert_eq!(refused(&world), "a is done, and no session will read a message about it");
}
