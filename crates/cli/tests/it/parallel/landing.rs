//! How work lands: straight, on top of others', not at all.

use super::World;
use crate::looping::{
    build, classes, journal, of_kind, project, run_file, say, session, sh, show, status, write,
};
use crate::sandboxed::has_boxes;

#[test]
fn tasks_run_side_by_side_and_land_one_after_the_other() {
    let world = World::new(&["a", "b", "c"]);
    for (id, others) in [("a", "b c"), ("b", "a c"), ("c", "a b")] {
        // Each session goes on once the others have begun.
        let wait: String =
            others.split(' ').map(|other| format!("until_there tries/{other}\n")).collect();
        world.plan(id, &format!("{wait}echo {id} >{id}.txt"));
    }
    world.build(3, &[]).success();
    for id in ["a", "b", "c"] {
        assert_eq!(world.committed(&format!("{id}.txt")), id);
        assert_eq!(status(&world.env, id), "done");
    }
    assert_eq!(world.git(&["rev-list", "--count", "--merges", "HEAD"]), "0");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "4");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the files have come along");
    assert_eq!(std::fs::read_to_string(world.env.repo().join("b.txt")).unwrap(), "b\n");
    world.check_tidy();
}

#[test]
fn a_task_that_has_landed_is_undone_on_the_branch() {
    let world = World::new(&["a", "b"]);
    world.build(2, &[]).success();
    let head = world.git(&["rev-parse", "HEAD"]);
    let shown = world.env.ralph(&["diff", "a", "--name-only"]).success();
    assert_eq!(shown.lines().last(), Some("a.txt"));
    world.env.ralph(&["undo", "a"]).success();
    assert_eq!(world.git(&["rev-parse", "HEAD^"]), head);
    assert!(!world.env.repo().join("a.txt").exists() && world.env.repo().join("b.txt").exists());
    assert_eq!((status(&world.env, "a"), status(&world.env, "b")), ("open".into(), "done".into()));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    world.check_tidy();
}

#[test]
fn a_conflict_goes_back_to_its_task_with_what_it_needs_to_know() {
    let world = World::new(&["a", "b"]);
    world.commit("shared.txt", "one\n");
    world.plan("a", "until_there tries/b\necho a >shared.txt");
    // The second is done once the first has landed.
    world.plan(
        "b.1",
        "while ! git show main:shared.txt | grep -q a; do sleep 0.02; done\necho b >shared.txt",
    );
    world.plan("b.2", "grep -q a shared.txt && printf 'a\\nb\\n' >shared.txt");
    world.build(2, &[]).success();
    assert_eq!(world.committed("shared.txt"), "a\nb");
    let found = classes(&world.env);
    assert_eq!(found, ["done", "conflict", "done"]);
    let prompt = run_file(&world.env, "iteration-003.task.md");
    assert!(prompt.contains("Conflicts in: shared.txt"), "{prompt}");
    assert!(prompt.contains("<<<<<<<"), "the place itself is shown: {prompt}");
    let saved = world.git(&["show", "refs/ralph/wip/b/1:shared.txt"]);
    assert_eq!(saved, "b", "the work that conflicts is saved");
    assert_eq!(show(&world.env, "b")["retry_count"], 0);
    world.check_tidy();
}

#[test]
fn work_is_judged_on_top_of_what_has_landed() {
    let world = World::new(&["a", "b"]);
    // Either file is fine, both are not.
    world.gate("! { test -e one.txt && test -e two.txt; }");
    world.plan("a", "until_there tries/b\necho 1 >one.txt");
    world.plan(
        "b.1",
        "while ! git show main:one.txt; do sleep 0.02; done >/dev/null 2>&1\necho 2 >two.txt",
    );
    world.plan("b.2", "test -e one.txt && rm -f two.txt\necho 2 >three.txt");
    world.build(2, &[]).success();
    assert_eq!(classes(&world.env), ["done", "red", "done"]);
    let journal = journal(&world.env);
    let red = of_kind(&journal, "task_settled").into_iter().find(|event| event["class"] == "red");
    let reason = red.unwrap()["reason"].as_str().unwrap();
    assert!(reason.starts_with("on top of work that landed meanwhile, gate test"), "{reason}");
    let commits = world.git(&["rev-list", "HEAD"]);
    for commit in commits.lines() {
        let files = world.git(&["ls-tree", "--name-only", commit]);
        let both = files.contains("one.txt") && files.contains("two.txt");
        assert!(!both, "{commit} was never green");
    }
    world.check_tidy();
}

/// The gate stands for a user who commits each time that it runs: work on that is never judged in time,
/// unless the branch is held.
#[test]
fn a_branch_that_moves_faster_than_the_gates_does_not_keep_work_from_landing() {
    let world = World::new(&["a"]);
    let home = world.env.repo().display().to_string();
    world.gate(&format!(
        "cd {home} && echo x >>busy.txt && git add busy.txt && git commit --quiet -m busy || true"
    ));
    let ran = world.build(2, &["--max-iterations", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the branch moved 2 times while the gates checked a."), "{text}");
    let log = world.git(&["log", "--format=%s"]);
    assert!(log.starts_with("build: iteration 1 - a\nbusy\n"), "{log}");
    let journal = journal(&world.env);
    let notices = of_kind(&journal, "noticed");
    assert!(notices.iter().any(|notice| notice["notice"] == "overtaken"), "{notices:?}");
    assert!(!world.env.repo().join(".git/refs/heads/main.lock").exists());
    world.check_tidy();
}

#[test]
fn no_verifier_is_paid_for_work_that_conflicts_already() {
    let world = World::new(&["a", "b"]);
    world.commit("shared.txt", "one\n");
    world.plan("a", "until_there tries/b\necho a >shared.txt");
    world.plan(
        "b.1",
        "while ! git show main:shared.txt | grep -q a; do sleep 0.02; done\necho b >shared.txt",
    );
    world.plan("b.2", "grep -q a shared.txt && printf 'a\\nb\\n' >shared.txt");
    world.build(2, &["--verify"]).success();
    assert_eq!(classes(&world.env), ["done", "conflict", "done"]);
    assert_eq!(of_kind(&journal(&world.env), "verified").len(), 2, "one for each that landed");
    let prompt = run_file(&world.env, "iteration-003.task.md");
    assert!(prompt.contains("Conflicts in: shared.txt"), "{prompt}");
    assert_eq!(world.git(&["show", "refs/ralph/wip/b/1:shared.txt"]), "b");
    world.check_tidy();
}

#[test]
fn a_key_that_cannot_sign_is_reported_before_a_worktree_is_made() {
    let world = World::new(&["a"]);
    let ran = world.build(2, &["--set", "git.worktree.signing_key=0123456789ABCDEF"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("signing does not work"), "{}", ran.stderr);
    assert!(!world.env.note("tries").exists(), "a session was paid");
    world.check_tidy();
}

#[test]
fn a_task_begins_from_what_its_blockers_have_landed() {
    let world = World::new(&["a"]);
    world.env.task(&["add", "b", "--id", "b", "--deps", "a"]);
    world.env.task(&["add", "c", "--id", "c"]);
    world.plan("b", "cat a.txt >b.txt || text=\"<task-failed>$id</task-failed>\"");
    world.build(3, &[]).success();
    assert_eq!(world.committed("b.txt"), "a");
    world.check_tidy();
}

#[test]
fn tasks_about_the_same_files_do_not_run_together() {
    let world = World::new(&[]);
    let ids = ["a", "b", "c", "d"];
    for (id, touches) in [("a", "src/"), ("b", "src/x.rs"), ("c", "docs/*"), ("d", "src/**/*.rs")] {
        world.env.task(&["add", id, "--id", id, "--touches", touches]);
    }
    for id in ids {
        let script = "ls $world/running >>$world/seen.$id\nsleep 0.3\nls $world/running >>$world/seen.$id\n\
            mkdir -p src docs; case $id in c) echo $id >docs/$id ;; *) echo $id >>src/x.rs ;; esac";
        world.plan(id, script);
    }
    world.build(4, &[]).success();
    for id in ["a", "b", "d"] {
        let path = world.env.note(&format!("seen.{id}"));
        let seen = std::fs::read_to_string(path).unwrap();
        let together = seen.lines().find(|other| *other != id && *other != "c");
        assert_eq!(together, None, "beside {id}");
    }
    assert!(classes(&world.env).iter().all(|class| class == "done"));
    assert_eq!(world.committed("src/x.rs").lines().count(), 3);
    world.check_tidy();
}

#[test]
fn a_session_that_goes_to_a_branch_of_its_own_has_worked_all_the_same() {
    let world = World::new(&["a"]);
    world.plan(
        "a",
        "git switch --quiet -c mine\necho a >a.txt\ngit add a.txt\ngit commit --quiet -m mine",
    );
    world.build(2, &[]).success();
    assert_eq!(world.committed("a.txt"), "a");
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "mine");
}

/// Only the last tree of a task was judged, so its commits become one.
#[test]
fn a_task_lands_as_one_commit_that_shows_what_is_in_it() {
    let world = World::new(&["a", "b"]);
    world.plan("a", "until_there tries/b\necho a >a.txt; git add -A; git -c user.name=Bot commit --quiet -m alone");
    world.plan(
        "b",
        "while ! git show main:a.txt; do sleep 0.02; done >/dev/null 2>&1\n\
         for n in 1 2; do echo $n >b$n.txt; git add -A; \
         git -c user.name=Bot commit --quiet -m \"step $n\" -m \"why $n\"; done",
    );
    world.build(2, &[]).success();
    let log = world.git(&["log", "--format=%an %s"]);
    assert!(log.starts_with("Bot build: iteration "), "{log}");
    assert!(log.ends_with(" - b\nBot alone\nTester first"), "{log}");
    let body = world.git(&["log", "-1", "--format=%b"]);
    assert!(body.contains("Task: b b") && body.contains("- step 1\n\n  why 1\n- step 2"), "{body}");
    world.check_tidy();
}

#[test]
fn work_that_begins_elsewhere_is_saved_and_the_task_comes_back() {
    let world = World::new(&["a"]);
    world.plan("a.1", "git checkout --quiet --orphan other\necho lone >lone.txt\ngit add -A\ngit commit --quiet -m lone");
    world.plan("a", "test -e lone.txt || echo a >a.txt");
    let ran = world.build(2, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(classes(&world.env), ["red", "done"], "{}", ran.stderr);
    assert_eq!(world.git(&["show", "refs/ralph/wip/a/1:lone.txt"]), "lone");
    assert_eq!(world.committed("a.txt"), "a");
    world.check_tidy();
}

#[test]
fn what_is_given_up_is_saved_and_taken_away() {
    let world = World::new(&["a", "b"]);
    world.plan(
        "a",
        "echo half >a.txt; git add -A; git commit --quiet -m half; echo more >>a.txt; echo new >n.txt\n\
         text=\"<task-failed>$id</task-failed><reason>too hard</reason>\"",
    );
    world.build(2, &[]).success();
    assert_eq!(status(&world.env, "a"), "failed");
    assert_eq!(world.git(&["show", "refs/ralph/wip/a/1:a.txt"]), "half\nmore");
    assert_eq!(world.git(&["show", "refs/ralph/wip/a/1:n.txt"]), "new");
    let history = world.git(&["log", "--format=%s", "refs/ralph/wip/a/1"]);
    assert!(history.contains("half"), "its commits are kept: {history}");
    world.check_tidy();
    let text = world.env.ralph(&["recover", "a"]).success();
    assert!(text.contains("a.txt"), "{text}");
    assert_eq!(std::fs::read_to_string(world.env.repo().join("n.txt")).unwrap(), "new\n");
}

#[test]
fn red_work_is_where_the_next_session_starts() {
    let world = World::new(&["a"]);
    world.gate("! grep -q wrong a.txt");
    world.plan("a.1", "echo wrong >a.txt; echo kept >kept.txt");
    world.plan("a.2", "test -e kept.txt && echo right >a.txt");
    world.build(2, &[]).success();
    assert_eq!(
        (world.committed("a.txt"), world.committed("kept.txt")),
        ("right".into(), "kept".into())
    );
    assert_eq!(classes(&world.env), ["red", "done"]);
    world.check_tidy();
}

#[test]
fn ignored_files_that_are_wanted_come_along() {
    let world = World::new(&["a"]);
    world.commit(".gitignore", ".env\n").commit(".worktreeinclude", ".env\n");
    world.env.write(".env", "SECRET=1\n");
    world.plan("a", "test -e .env && echo a >a.txt");
    world.build(2, &[]).success();
    assert_eq!(world.committed("a.txt"), "a");
}

/// The worktrees of both tasks begin at the same commit, so the second to land is rebased.
#[test]
fn work_that_is_rebased_in_the_sandbox_is_not_called_unchecked() {
    if !has_boxes("work that is rebased") {
        return;
    }
    let env = project(&["a", "b"]);
    let works =
        session(&[sh("sleep 1"), write("{id}.txt", "x"), say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&works, &works], &["-j", "2", "--sandbox", "full"]);
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, 0, "{text}");
    assert!(text.contains("rebased onto work that landed"), "{text}");
    assert!(!text.contains("unchecked changes"), "{text}");
    assert_eq!(env.git(&["for-each-ref", "refs/ralph/wip"]), "");
}
