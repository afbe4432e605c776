//! The order of tasks, what a prompt shows of the plan, and who commits.

use std::sync::{Arc, Mutex};

use ralph_core::run::{Class, Fact, StopReason};
use ralph_core::task::{Actor, Priority, Status, TaskPatch};
use ralph_engine::ports::Filter;

use crate::kit::{Inside, World, done, says, task_id, user, works};

fn patch(description: &str) -> TaskPatch {
    TaskPatch { description: Some(description.to_owned()), ..TaskPatch::default() }
}

#[test]
fn s1_14_the_first_ready_task_is_claimed_under_one_id_per_run() {
    let mut world = World::new(&["second"]);
    let priority = Some(Priority::new(0).unwrap());
    world.add("first", TaskPatch { priority, ..TaskPatch::default() });
    let seen = Arc::new(Mutex::new(vec![]));
    let looks = || {
        let seen = Arc::clone(&seen);
        works().does(move |inside| {
            let tasks = inside.store().list(&Filter::default()).unwrap();
            let active: Vec<_> =
                tasks.iter().filter(|task| task.status == Status::InProgress).collect();
            assert_eq!((active.len(), active[0].id.as_str()), (1, inside.task.as_str()));
            let agent = active[0].claim.as_ref().unwrap().agent.clone();
            seen.lock().unwrap().push((inside.task.clone(), agent));
        })
    };
    let played = world.build([looks(), looks()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let seen = seen.lock().unwrap().clone();
    let tasks: Vec<&str> = seen.iter().map(|(task, _)| task.as_str()).collect();
    assert_eq!(tasks, ["first", "second"]);
    let hex = seen[0].1.as_str().strip_prefix("agent-").unwrap();
    assert!(hex.len() == 8 && hex.chars().all(|c| c.is_ascii_hexdigit()), "{seen:?}");
    assert_eq!(seen[0].1, seen[1].1, "one id for the whole run");
    assert_eq!(
        played.commits(),
        ["build: iteration 1 - Title of first", "build: iteration 2 - Title of second"]
    );
    world.add("third", TaskPatch::default());
    let played = world.build([works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_ne!(played.attempts("third")[0].agent, seen[0].1);
}

#[test]
fn s1_15_s1_40_s1_41_the_prompt_shows_what_is_known() {
    let gate = |files: &Inside| match (files.read("ok"), files.read("grammar.txt")) {
        (None, Some(_)) => (1, "GATE-OUTPUT".to_owned()),
        _ => (0, String::new()),
    };
    let skills = tempfile::tempdir().unwrap();
    let folder = skills.path().join(".ralph/skills/release");
    std::fs::create_dir_all(&folder).unwrap();
    let skill = "---\nname: release\ndescription: HOW-TO-RELEASE\n---\n";
    std::fs::write(folder.join("SKILL.md"), skill).unwrap();
    let folders = vec![skills.path().join(".ralph/skills")];
    let mut world = World::new(&[]).gate("test", gate).setup(move |setup| {
        setup.agent.prompting.skill_folders.clone_from(&folders);
        setup.agent.prompting.learn = true;
    });
    world.add("epic", patch("PARENT-DESCRIPTION"));
    world.add("lexer", patch("LEXER-DESCRIPTION"));
    world.add(
        "grammar",
        TaskPatch {
            parent: Some(Some(task_id("epic"))),
            deps: Some(vec![task_id("lexer")]),
            ..patch("GRAMMAR-DESCRIPTION")
        },
    );
    let first = works().does(|inside| {
        let note = "THE-LAST-NOTE";
        inside.store().note(&task_id("lexer"), note, &user(), inside.now()).unwrap();
    });
    let played = world.build([first, works(), done().writes("ok", "x\n")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let prompt = |iteration: u32| {
        played.file(&format!("iteration-{iteration:03}.system.md")) + &played.prompt(iteration)
    };
    let first = prompt(1);
    for absent in ["PARENT-DESCRIPTION", "attempt 2", "GATE-OUTPUT"] {
        assert!(!first.contains(absent), "{absent}");
    }
    for there in
        ["LEXER-DESCRIPTION", "HOW-TO-RELEASE", "<task-done>lexer</task-done>", ".ralph/skills"]
    {
        assert!(first.contains(there), "{there}\n{first}");
    }
    let second = prompt(2);
    for there in
        ["GRAMMAR-DESCRIPTION", "Title of epic", "PARENT-DESCRIPTION", "lexer", "THE-LAST-NOTE"]
    {
        assert!(second.contains(there), "{there}\n{second}");
    }
    let third = prompt(3);
    for there in ["attempt 2 of 4", "gate test failed", "GATE-OUTPUT"] {
        assert!(third.to_lowercase().contains(&there.to_lowercase()), "{there}\n{third}");
    }
}

#[test]
fn s1_31_s1_34_s1_38_done_commits_and_the_last_one_ends_the_run() {
    let played = World::new(&["a"]).build([works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let head = played.vcs.log().last().unwrap().clone();
    let result: serde_json::Value =
        serde_json::from_str(&played.task("a").result.unwrap()).unwrap();
    assert_eq!(result["commit"], head.id.as_str());
    assert_eq!(played.committed("a.txt"), played.vcs.read("a.txt"));
    assert_eq!(played.classes(), [Class::Done]);
}

#[test]
fn a_question_waits_for_the_user_and_the_answer_is_in_the_next_prompt() {
    let mut world = World::new(&["a", "b"]);
    let played = world.build([says("<question>Which port?</question>"), works()]);
    assert_eq!(played.outcome.code(), 7, "{:?}", played.reason());
    assert_eq!((played.status("a"), played.status("b")), (Status::Waiting, Status::Done));
    let asked = played.facts().find_map(|fact| match fact {
        Fact::QuestionAsked { question, text, .. } => Some((question.clone(), text.clone())),
        _ => None,
    });
    let (id, text) = asked.unwrap();
    assert!(text == "Which port?" && id.as_str().starts_with("q-"), "{id} {text}");
    let by: Actor = user();
    world.store().answer(&id, "Port 8080.", &by, world.now()).unwrap();
    let played = world.build([works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let prompt = played.prompt(1);
    assert!(prompt.contains("Which port?") && prompt.contains("Port 8080."), "{prompt}");
    assert_eq!(played.status("a"), Status::Done);
}

/// The gate stands for a user who commits in the same worktree.
#[test]
fn a_commit_of_the_user_during_the_gates_is_judged_again_on_the_new_tip() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let mut world = World::new(&["a"]).gate("wait", move |files| {
        if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            files.commit_only("person.txt", "mine\n", "by hand");
        }
        (0, String::new())
    });
    let played = world.build([works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.commits(), ["by hand", "build: iteration 1 - Title of a"]);
    let tree = played.vcs.log().last().unwrap().tree.clone();
    let passed = ralph_core::records::Verdict::Pass;
    let judged = played.evidence("a").iter().any(|row| row.tree == tree && row.verdict == passed);
    assert!(judged, "what is committed is what was judged: {:?}", played.evidence("a"));
}
