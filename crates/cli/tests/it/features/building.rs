//! `ralph feature build`: proposals by `ralph task` in a session, checked at once, applied as a whole.

use super::*;

/// A session that runs these commands and notes what each said, with its exit code.
fn proposes(commands: &[&str]) -> String {
    let all: String = commands
        .iter()
        .map(|command| {
            format!("{{ {command}; }} >> ../notes/said 2>&1; echo \"= $?\" >> ../notes/said; ")
        })
        .collect();
    session(&[sh(&format!("rm -f ../notes/said; {all}")), say("Proposed.")])
}

/// Core with a mailer and a form that waits for it.
fn three() -> String {
    proposes(&[
        "ralph task add Core --id core -p 1",
        "ralph task add Mailer --id mail --parent core -d 'Send it' -s '[\"a\",\"b\"]' --touches 'src/**'",
        "ralph task create form Form --parent core --deps mail -p 0",
    ])
}

fn ids(env: &TestEnv) -> Vec<String> {
    let listed: Vec<serde_json::Value> = ralph_testkit::data(&env.task(&["list", "--json"]));
    listed.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn s1_53_feature_build_fills_the_graph_and_run_works_it_off() {
    let env = planned();
    env.task(&["add", "Somebody else's", "--id", "other", "-p", "0"]);
    let (out, output) = ended(feature(&env, &[&three()], &["build", "login"]), 0);
    assert_eq!(
        out,
        "core  open  Core\n├─ mail  open  Mailer\n└─ form  blocked  Form  after mail\n\
         inserted: 3, updated: 0, deleted: 0, skipped (done): 0\n"
    );
    has(&output, "next: ralph run login\n");
    assert_eq!(
        noted(&env, "said"),
        "core\nproposed so far: 1\n= 0\nmail\nproposed so far: 2\n= 0\nform\nproposed so far: 3\n= 0\n"
    );
    let mail = show(&env, "mail");
    assert_eq!((mail["parent"].as_str(), mail["feature"].as_str()), (Some("core"), Some("login")));
    assert_eq!(mail["steps"], serde_json::json!(["a", "b"]));
    assert_eq!(mail["touches"], serde_json::json!(["src/**"]));
    assert!(!env.repo().join(PROPOSED).exists());
    // The feature is complete although another task is open.
    cassette(&env, &[&works(), &works()]);
    let run = [&["run", "login"][..], &SCRIPTED].concat();
    let (_, output) = ended(env.ralph(&run), 0);
    has(&output, "All 3 tasks done.");
    assert_eq!(
        ["core", "mail", "form", "other"].map(|id| status(&env, id)),
        ["done", "done", "done", "open"]
    );
    let text = run_file(&env, "iteration-001.task.md");
    has(&text, "People log in by mail.");
    has(&text, "1. The mailer");
    // By the other spelling there is nothing left to do, and a failed task ends it as well.
    ended(again(&env, &["--feature", "login"]), 0);
    env.task(&["add", "Hopeless", "--id", "hopeless", "--feature", "login"]);
    cassette(&env, &[&only_says("<task-failed>hopeless</task-failed>")]);
    ended(again(&env, &["--feature", "login"]), 0);
    assert_eq!((status(&env, "hopeless"), status(&env, "other")), ("failed".into(), "open".into()));
}

#[test]
fn what_does_not_fit_is_refused_at_once_with_the_reason() {
    let env = planned();
    env.task(&["add", "Somebody else's", "--id", "other"]);
    let tries = proposes(&[
        "ralph task add A --id a",
        "ralph task add B --id b --deps a",
        "ralph task block a --by b",
        "ralph task update a --deps b",
        "ralph task add C --deps nothing",
        "ralph task add C --parent nowhere",
        "ralph task add Twice --id a",
        "ralph task add Taken --id other",
        "ralph task add ''",
        "ralph task add C --id c --feature others",
        "ralph task update a --status done",
        "ralph task delete a",
        "ralph task delete --all --confirm",
        "ralph task add X --deps a --id a-x --priority 99999",
        "ralph task done a",
        "ralph task claim other",
        "ralph task reset other",
    ]);
    let proposed = feature(&env, &[&tries], &["build", "login", "--no-apply"]);
    let (out, output) = ended(proposed, 0);
    assert_eq!(out, "a  open  A\nb  blocked  B  after a\n");
    has(&output, "to apply them later: ralph feature build login --apply");
    let noted = noted(&env, "said");
    let answers: Vec<&str> =
        noted.split_inclusive("= ").map(|part| part.trim_end_matches("= ")).collect();
    for (number, part) in [
        (2, "that would create a cycle: "),
        (3, "that would create a cycle: "),
        (4, "propose it first: ralph task add \"Title\" --id nothing"),
        (5, "there is no task nowhere"),
        (6, "the id a is taken"),
        (7, "the id other is taken"),
        (8, "empty"),
        (9, "the feature login only"),
        (10, "has no status yet"),
        (11, "there is no task a"),
        (12, "name each proposal"),
        (13, "a priority is a whole number"),
        (14, "there is no task a"),
        (15, "the loop chooses"),
        (16, "a session cannot use this command"),
    ] {
        has(answers[number], part);
        assert!(!answers[number + 1].starts_with('0'), "{number}: {noted}");
    }
    assert_eq!(ids(&env), ["other"], "nothing is in the store before it is applied");
}

#[test]
fn proposals_can_be_changed_taken_back_and_brought_in_lines() {
    let env = planned();
    let changes = proposes(&[
        "ralph task add A --id a",
        "ralph task add B --id b",
        "ralph task add Wrong --id wrong --deps b",
        "ralph task delete wrong",
        "ralph task block b --by a",
        "ralph task unblock b --by a",
        "ralph task unblock b --by a",
        "echo 'A long text' | ralph task update b --title 'Better' -d -",
        r#"printf '{"id":"b","t":"Best","deps":["a"]}\n{"id":"c","t":"C","deps":["b"],"p":3}\n' | ralph task plan-sync"#,
        "ralph task tree",
        "ralph task tree --json",
        r#"printf '{"id":"d","t":"D"}\n{"id":"e","t":"E","deps":["zz"]}\n' | ralph task plan-sync"#,
        "ralph task list",
    ]);
    let (out, _) = ended(feature(&env, &[&changes], &["build", "login"]), 0);
    has(&out, "a  open  A\nb  blocked  Best  after a\nc  blocked  C  after b\ninserted: 3,");
    let noted = noted(&env, "said");
    has(&noted, "b is not blocked by a");
    has(&noted, "a  open  A\nb  blocked  Best  after a\nc  blocked  C  after b\n= 0\n");
    has(&noted, r#"{"v":1,"kind":"task.tree","data":[{"id":"a""#);
    has(&noted, "there is no task zz");
    assert_eq!(show(&env, "b")["description"], "A long text\n");
    assert_eq!(ids(&env), ["a", "b", "c"], "a plan with a bad line is refused as a whole");
}

#[test]
fn nothing_proposed_is_red_and_tried_again_with_the_reason_but_not_for_ever() {
    let env = planned();
    ended(feature(&env, &[&only_says("Done."), &three()], &["build", "login"]), 0);
    assert_eq!(classes(&env), ["red", "done"]);
    has(&run_file(&env, "iteration-001.prompt.md"), "no task was proposed");
    let env = planned();
    // What a session proposed that failed is not the next one's.
    let crashes = format!("{}\n{{\"do\":\"exit\",\"code\":3}}", three());
    let all = [&crashes[..], &only_says("Done."), &only_says("Done."), &only_says("Done.")];
    ended(feature(&env, &all, &["build", "login"]), 3);
    assert_eq!((sessions(&env), ids(&env).len()), (4, 0));
    assert!(!env.repo().join(PROPOSED).exists());
}

#[test]
fn a_second_build_keeps_done_tasks_and_deletes_the_rest_only_on_request() {
    let env = planned();
    ended(feature(&env, &[&three()], &["build", "login"]), 0);
    for step in ["claim", "done"] {
        env.task(&[step, "mail"]);
    }
    env.task(&["add", "By hand", "--id", "hand", "--feature", "login"]);
    // What has an open part elsewhere cannot go, and is not offered.
    env.task(&["add", "Shared", "--id", "shared", "--feature", "login"]);
    env.task(&["add", "Its part", "--id", "part", "--parent", "shared"]);
    let next = proposes(&[
        "ralph task add 'Core again' --id core",
        "ralph task add Mailer --id mail -p 4",
        "ralph task add Docs --id docs --parent core --deps mail",
    ]);
    let (out, output) = ended(feature(&env, &[&next], &["build", "login"]), 0);
    has(&out, "core  open  Core again\n├─ mail  done  Mailer\n");
    has(&out, "no longer proposed: form  open  Form\nno longer proposed: hand  open  By hand\n");
    has(&out, "inserted: 1, updated: 1, deleted: 0, skipped (done): 1\n");
    has(&output, "to delete them: ralph task delete form hand\n");
    let prompt = run_file(&env, "iteration-001.prompt.md");
    has(&prompt, "- Task `mail`, done, priority 2, part of `core`: Mailer");
    has(&prompt, "- Task `form`, open, priority 0, part of `core`, after `mail`: Form");
    assert_eq!(status(&env, "form"), "open");
    // The same again changes nothing; with --yes the rest goes.
    let (out, _) = ended(feature(&env, &[&next], &["build", "login", "--yes"]), 0);
    has(&out, "inserted: 0, updated: 0, deleted: 2, skipped (done): 1\n");
    assert_eq!(["form", "hand", "mail"].map(|id| status(&env, id)), ["deleted", "deleted", "done"]);
    assert_eq!(["shared", "part"].map(|id| status(&env, id)), ["open", "open"]);
}

#[test]
fn what_is_proposed_is_kept_until_it_is_applied() {
    let env = planned();
    ended(feature(&env, &[&three()], &["build", "login", "--no-apply"]), 0);
    assert_eq!(ids(&env).len(), 0);
    let kept = read(&env, PROPOSED);
    assert_eq!(kept.lines().count(), 3);
    // A person may have changed it, and the plan may have changed under it.
    env.write(PROPOSED, kept.replace("\"Form\"", "\"Form"));
    let output = env.ralph(&["feature", "build", "login", "--apply"]).failure(1);
    has(&output, "proposed.jsonl: line 3: ");
    has(&output, "3 | {\"id\":\"form\"");
    env.write(PROPOSED, kept.replace("\"deps\":[\"mail\"]", "\"deps\":[\"gone\"]"));
    has(&env.ralph(&["feature", "build", "login", "--apply"]).failure(1), "there is no task gone");
    assert_eq!(ids(&env).len(), 0, "all or nothing");
    env.write(PROPOSED, &kept);
    let (out, _) = ended(env.ralph(&["feature", "build", "login", "--apply"]), 0);
    has(&out, "inserted: 3,");
    let output = env.ralph(&["feature", "build", "login", "--apply"]).failure(2);
    has(&output, "no tasks are proposed for login");
    // Applied, and killed before the file was removed: applying it again does no harm.
    env.write(PROPOSED, &kept);
    has(
        &ended(env.ralph(&["feature", "build", "login", "--apply"]), 0).0,
        "inserted: 0, updated: 0,",
    );
}

#[test]
fn proposals_made_at_the_same_time_are_all_there() {
    let env = planned();
    let many =
        "for n in $(seq 20); do ralph task add \"Task $n\" > ../notes/id.$n 2>&1 & done; wait";
    let (out, _) = ended(feature(&env, &[&session(&[sh(many), say("x")])], &["build", "login"]), 0);
    has(&out, "inserted: 20, updated: 0, deleted: 0, skipped (done): 0\n");
    let mut seen = ids(&env);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

#[test]
fn a_build_that_is_killed_leaves_nothing_behind_and_can_be_made_again() {
    let env = planned();
    let waits =
        session(&[sh("ralph task add A --id a"), gate_step("there", "never"), say("Proposed.")]);
    cassette(&env, &[&waits]);
    let mut running = env.start(&[&["feature", "build", "login"], &SCRIPTED[..]].concat());
    wait_for(&env, "there");
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(ids(&env).len(), 0);
    assert!(!env.repo().join(PROPOSED).exists());
    // Bare ralph names the command that goes on.
    has(&env.ralph(&[]).success(), "ralph feature build login");
    let (out, _) = ended(feature(&env, &[&three()], &["build", "login"]), 0);
    has(&out, "inserted: 3,");
}
