//! The plan of branches: written by `ralph loop plan`, ticked in the main worktree, seen as a copy.

use std::io::Write;

use super::*;
use crate::looping::{PATIENCE, touch, wait_for};

#[test]
fn s4_1_s4_2_loop_plan_writes_sections_and_loop_build_works_them_off() {
    let mut env = project(&[]);
    let text = TWO.replace('\n', "\\n");
    let body = format!(
        "if test $b = main; then printf '{text}' > {PLAN}; result '<promise>COMPLETE</promise>'; else {LEAVES}; fi"
    );
    let here = agent(&mut env, &body);
    output_of(env.ralph(&["loop", "plan"]), 0);
    assert_eq!(plan(&env), TWO);
    let prompt = note(&here, "prompt.main.1");
    for part in ["## Branch: add-watch-flag", "Goal:", "Base:", "Needs:", "Touches:", PLAN] {
        has(&prompt, part);
    }
    assert_eq!(env.git(&["status", "--porcelain"]), "", "the plan is committed");
    output_of(env.ralph(&["loop"]), 0);
    assert_eq!(ticks(&env).len(), 4, "bare, it builds");
}

#[test]
fn a_task_of_a_branch_is_undone_in_its_worktree_and_its_checkbox_is_open_again() {
    let mut env = with_plan(TWO);
    agent(&mut env, COMMITS);
    output_of(build(&env, &[]), 0);
    let list: Value = ralph_testkit::data(&env.task(&["list", "--json"]));
    let is_it = |task: &&Value| task["title"] == "Write a";
    let id =
        list.as_array().unwrap().iter().find(is_it).unwrap()["id"].as_str().unwrap().to_owned();
    let main = env.git(&["rev-parse", "main"]);
    let ran = env.ralph(&["undo", &id]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    has(&ran.stderr, &format!("{id} is open again"));
    assert_eq!(subjects(&env, "one").last().unwrap(), "Revert \"Write a\"");
    assert!(!worktree(&env, "one").join("Write-a.txt").exists());
    assert_eq!(env.git(&["rev-parse", "main"]), main, "the branch alone has changed");
    assert_eq!(ticks(&env), ["Write b", "Write c", "Write d"]);
    has(&env.ralph(&["undo"]).failure(2), "undo");
}

#[test]
fn a_plan_that_is_no_plan_of_branches_goes_back_to_the_agent() {
    let mut env = project(&[]);
    let body = format!("if test $k = 1; then echo '- [ ] a' > {PLAN}; else printf '## Branch: a\\n- [ ] a\\n' > {PLAN}; fi
result '<promise>COMPLETE</promise>'");
    let here = agent(&mut env, &body);
    output_of(env.ralph(&["loop", "plan"]), 0);
    has(&plan(&env), "## Branch: a");
    has(&note(&here, "prompt.main.2"), "branches plan");
}

#[test]
fn a_tick_in_the_copy_is_a_request_and_red_gates_refuse_it() {
    let mut env = with_plan(&branches(&[("one", "")]));
    env.without_sandbox("in a sandbox a session does not see the plan of the main worktree");
    env.write("ralph.toml", "[[gate]]\nname = \"check\"\ncommand = \"test -e good.txt\"\n");
    let body = "works; test $k = 2 && touch good.txt
sed -i 's/- \\[ \\] Work on one/- [x] Work on one/' IMPLEMENTATION_PLAN.md
cp ../../IMPLEMENTATION_PLAN.md $here/main.$k; cp IMPLEMENTATION_PLAN.md $here/copy.$k; result finished";
    let here = agent(&mut env, body);
    output_of(build(&env, &[]), 0);
    assert_eq!(ticks(&env), ["Work on one"]);
    for session in ["main.1", "main.2"] {
        has(&note(&here, session), "- [ ] Work on one");
    }
    has(&note(&here, "prompt.one.2"), "check");
    assert_eq!(note(&here, "count.one").trim(), "2");
}

#[test]
fn what_the_user_writes_into_the_plan_meanwhile_stays_and_ticks_land_beside_it() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(
        &mut env,
        "works; touch $here/there.$b; until test -e $here/go; do sleep 0.02; done; done_",
    );
    let running = env.start(&["loop", "build"]);
    wait_for(&env, "agent/there.one");
    wait_for(&env, "agent/there.two");
    let text = plan(&env)
        .replace("Goal: Do one\n", "Goal: Do one, well\n\nA word by a person.\n")
        .replace(
            "- [ ] Work on two\n",
            "- [ ] Work on two\n- [x] Done by hand\n- [ ] Not wanted yet\n",
        );
    env.write(PLAN, &text);
    touch(&env, "agent/go");
    output_of(Ran::end_of(running), 0);
    let after = plan(&env);
    has(&after, "A word by a person.");
    has(&after, "- [x] Work on one\n");
    has(&after, "- [x] Work on two\n- [x] Done by hand\n- [x] Not wanted yet\n");
}

#[test]
fn an_unjudged_tick_is_reverted_wherever_a_session_sets_it() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    env.without_sandbox("in a sandbox a session does not see the plan of the main worktree");
    env.write("ralph.toml", "[[gate]]\nname = \"check\"\ncommand = \"false\"\n");
    let body = "works
sed -i 's/\\[ \\] Work on one/[x] Work on one/' ../../IMPLEMENTATION_PLAN.md IMPLEMENTATION_PLAN.md; result ok";
    agent(&mut env, body);
    let text = output_of(build(&env, &["--branch", "one", "--max", "1"]), 0);
    has(&text, "ralph reverted the tick of \"Work on one\"");
    has(&plan(&env), "- [ ] Work on one");
}

#[test]
fn checkboxes_that_a_session_adds_to_its_section_are_taken_over_and_others_ignored() {
    let mut env = with_plan(TWO);
    let body = "works
test $b$k = one1 && sed -i 's/^- \\[ \\] Write b$/- [ ] Write b\\n- [x] Write e\\n  It is missing./' IMPLEMENTATION_PLAN.md
test $b$k = one1 && sed -i 's/\\[ \\] Write c/[x] Write c/; s/Write d/Write less/' IMPLEMENTATION_PLAN.md
done_";
    let here = agent(&mut env, body);
    let text = output_of(build(&env, &["--sequential"]), 0);
    has(
        &text,
        "the session changed sections of IMPLEMENTATION_PLAN.md that belong to other branches",
    );
    assert_eq!(
        note(&here, "order"),
        "one Write a\none Write b\none Write e\ntwo Write c\ntwo Write d\n"
    );
    has(&plan(&env), "- [x] Write b\n- [x] Write e\n  It is missing.\n");
    assert_eq!(
        text.matches("that belong to other branches").count(),
        2,
        "once, and in the summary"
    );
}

#[test]
fn tasks_keep_their_ids_whichever_branches_are_worked_on() {
    let mut env = with_plan(TWO);
    agent(&mut env, LEAVES);
    output_of(build(&env, &["--branch", "two", "--max", "1"]), 0);
    let ids = |env: &TestEnv| -> Vec<(String, String, String)> {
        let listed: Vec<Value> = ralph_testkit::data(&env.task(&["list", "--all", "--json"]));
        let word = |task: &Value, key: &str| task[key].as_str().unwrap().to_owned();
        let mut all: Vec<_> = listed
            .iter()
            .map(|task| (word(task, "title"), word(task, "id"), word(task, "branch")))
            .collect();
        all.sort();
        all
    };
    let before = ids(&env);
    assert_eq!(before.len(), 2);
    assert!(before.iter().all(|(_, _, branch)| branch == "two"), "{before:?}");
    output_of(build(&env, &["--branch", "one"]), 0);
    output_of(build(&env, &[]), 0);
    let after = ids(&env);
    assert_eq!(after.len(), 4);
    assert!(before.iter().all(|task| after.contains(task)), "{before:?} {after:?}");
}

#[test]
fn a_branch_that_is_ticked_starts_no_session_and_is_complete() {
    let mut env = with_plan(&TWO.replace("[ ]", "[x]"));
    let here = agent(&mut env, LEAVES);
    let text = output_of(build(&env, &[]), 0);
    has(&text, "All 2 branches done.");
    assert_eq!(note(&here, "order"), "");
    assert!(!env.repo().join(".worktrees").exists());
}

#[test]
fn a_plan_in_a_folder_is_worked_off_by_its_name() {
    let mut env = project(&[]);
    env.write("docs/next.md", branches(&[("one", ""), ("two", "")]));
    agent(&mut env, "works; cp docs/next.md $here/copy.$b; ralph task done $id; result finished");
    output_of(env.ralph(&["build", "docs/next.md"]), 0);
    let text = std::fs::read_to_string(env.repo().join("docs/next.md")).unwrap();
    has(&text, "- [x] Work on one");
    has(&text, "- [x] Work on two");
    assert_eq!(changed(&env, "one"), ["Work-on-one.txt"], "the plan is not committed");
}

#[test]
fn many_branches_and_the_user_write_one_plan_and_every_tick_lands() {
    let names: Vec<String> = (1..=6).map(|n| format!("b{n}")).collect();
    let sections = names.iter().map(|name| {
        format!("## Branch: {name}\nGoal: x\n\n- [ ] First of {name}\n- [ ] Second of {name}\n\n")
    });
    let mut env = with_plan(&sections.collect::<String>());
    agent(&mut env, LEAVES);
    let mut running = env.start(&["loop", "build"]);
    let mut written = 0;
    while running.try_wait().unwrap().is_none() {
        let file = std::fs::OpenOptions::new().append(true).open(env.repo().join(PLAN));
        writeln!(file.unwrap(), "Remark {written}.").unwrap();
        written += 1;
        // As fast as a person saves, and faster.
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
    output_of(Ran::end_of(running), 0);
    let after = plan(&env);
    for name in &names {
        has(&after, &format!("- [x] First of {name}\n- [x] Second of {name}\n"));
    }
    has(&after, "Remark 0.\n");
    has(&after, &format!("Remark {}.\n", written - 1));
}

#[test]
fn a_checkbox_outside_of_every_branch_is_named_and_keeps_the_plan_from_being_complete() {
    let text = format!("{}## Later\n\n- [ ] Paint it\n", branches(&[("one", "")]));
    let mut env = with_plan(&text);
    agent(&mut env, LEAVES);
    let line = text.lines().position(|line| line.contains("Paint it")).unwrap() + 1;
    let warning = format!("{PLAN}:{line}: \"Paint it\" is in no branch");
    let dry = build(&env, &["--dry-run"]);
    assert_eq!(dry.code, 0);
    has(&dry.stderr, &warning);
    let printed = output_of(build(&env, &[]), 7);
    has(&printed, &warning);
    has(&printed, &format!("1 branch done, but 1 open checkbox is in no branch ({PLAN}:{line})"));
    assert_eq!(ticks(&env), ["Work on one"]);
    // One branch alone was asked for.
    has(&output_of(build(&env, &["--branch", "one"]), 0), "1 branch done.");
    env.write(PLAN, plan(&env).replace("- [ ] Paint it", "- [-] Paint it"));
    let printed = output_of(build(&env, &[]), 0);
    has_not(&printed, "Paint it");
    has(&printed, "1 branch done.");
}

#[test]
fn sections_and_checkboxes_that_are_added_during_a_run_are_worked_on_in_it() {
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    let body = "test $b = one && until test -e $here/go; do sleep 0.02; done; works; done_";
    agent(&mut env, body);
    let running = env.start(&["loop", "build"]);
    let ticked = |title: &str| {
        let title = title.to_owned();
        ralph_testkit::wait_until(&format!("{title} is done"), PATIENCE, || {
            ticks(&env).contains(&title)
        });
    };
    ticked("Work on two");
    let add = |text: &str| {
        let mut file =
            std::fs::OpenOptions::new().append(true).open(env.repo().join(PLAN)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    // Branch two is finished by now, or about to be.
    add("- [ ] More of two\n\n## Branch: three\n\n- [ ] Work on three\n");
    ticked("More of two");
    ticked("Work on three");
    add("\n## Branch: main\n\n- [ ] Not there\n");
    touch(&env, "agent/go");
    let text = output_of(Ran::end_of(running), 1);
    has(&text, "3 of 4 branches done");
    has(&text, "IMPLEMENTATION_PLAN.md:");
    assert_eq!(subjects(&env, "three").len(), 1);
    assert_eq!(subjects(&env, "two").len(), 2);
}
