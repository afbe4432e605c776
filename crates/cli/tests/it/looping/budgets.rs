//! Budgets per task and per day, what is said before they are used up, the forecast, and `ralph report`.

use super::*;

/// A step that tells what the session used.
fn usage(usd: &str) -> String {
    format!("{{\"do\":\"usage\",\"input\":1000,\"output\":10,\"usd\":{usd}}}")
}

/// A session of this price that does its task.
fn works_for(usd: &str) -> String {
    session(&[usage(usd), works()])
}

/// A session of this price that gets nowhere.
fn idles_for(usd: &str) -> String {
    session(&[usage(usd), say("thinking")])
}

fn notices(env: &TestEnv, name: &str) -> usize {
    let journal = journal(env);
    of_kind(&journal, "noticed").iter().filter(|event| event["notice"] == name).count()
}

fn report(env: &TestEnv, arguments: &[&str]) -> Ran {
    env.ralph(&[&["report"], arguments].concat())
}

#[test]
fn a_task_that_costs_too_much_waits_for_you_and_you_may_reopen_it() {
    let env = project(&["a", "b"]);
    let budget = ["--set", "budget.task_usd=0.5"];
    let played = [idles_for("0.3"), idles_for("0.3"), works_for("0.1")];
    let ran = build(&env, &played.each_ref().map(String::as_str), &budget);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert_eq!((status(&env, "a"), status(&env, "b")), ("waiting".into(), "done".into()));
    let why = "the budget for one task is used up: $0.60 of $0.50 (budget.task_usd)";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    assert!(ran.stderr.contains("ralph retry a"), "{}", ran.stderr);
    assert!(env.task(&["log", "a"]).contains(why));
    // A clean slate is one for the budget too: it counts what was spent since.
    env.ralph(&["retry", "a"]).success();
    build(&env, &[&works_for("0.4")], &budget).success();
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn the_budget_of_a_day_is_one_for_all_runs() {
    let env = project(&["a", "b", "c", "d"]);
    let budget = ["--set", "budget.day_usd=1"];
    build(&env, &[&works_for("0.5")], &["--once"]).success();
    // Two more: 0.85 is close, 1.20 is over by less than a session.
    let ran = build(&env, &[&works_for("0.35"), &works_for("0.35"), &works_for("0.35")], &budget);
    assert_eq!(ran.code, 8, "{}", ran.stderr);
    assert_eq!((status(&env, "c"), status(&env, "d")), ("done".into(), "open".into()));
    let output = "used up (money for today, all runs together: $1.20 of $1.00)";
    assert!(ran.stderr.contains(output), "{}", ran.stderr);
    assert!(ran.stderr.contains("nearly used up (money for today"), "{}", ran.stderr);
    assert_eq!(notices(&env, "budget_near"), 1);
    // The next run starts nothing, whatever it is.
    let ran = again(&env, &budget);
    assert_eq!((ran.code, of_kind(&journal(&env), "session_started").len()), (8, 0));
    again(&env, &["--set", "budget.day_usd=0"]).success();
}

#[test]
fn a_missing_price_is_reported_once_and_not_guessed() {
    let env = project(&["a", "b"]);
    let played = [works_for("null"), works_for("null")];
    let ran = build(&env, &played.each_ref().map(String::as_str), &["--budget", "0.01"]);
    assert_eq!((ran.code, notices(&env, "unpriced")), (0, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("the agent reported no price"), "{}", ran.stderr);
    let text = report(&env, &[]).success();
    assert!(text.contains("unknown"), "{text}");
}

#[test]
fn after_three_tasks_the_forecast_is_shown() {
    let env = project(&["a", "b", "c", "d", "e"]);
    let played = [works_for("0.2"), works_for("0.3"), works_for("0.4")];
    let ran = build(&env, &played.each_ref().map(String::as_str)[..2], &["2"]);
    assert!(!ran.stderr.contains("\n  remaining "), "too early: {}", ran.stderr);
    let page = env.ralph(&["status"]).success();
    assert!(!page.contains("\n  remaining "), "{page}");
    // The second run has done one; the store knows of three.
    build(&env, &[&played[2]], &["1"]).success();
    let page = env.ralph(&["status"]).success();
    assert!(page.contains("about $0.60 and") && page.contains("for 2 tasks"), "{page}");
    let json: Value = ralph_testkit::data(&env.ralph(&["status", "--json"]).success());
    let text = &json["forecast"];
    assert_eq!((&text["tasks"], &text["from_tasks"]), (&2.into(), &3.into()));
    assert_eq!(text["cost_micro_usd"], 600_000);
    let env = project(&["a", "b", "c", "d"]);
    let ran = build(&env, &played.each_ref().map(String::as_str), &["3"]);
    assert!(ran.stderr.contains("about $0.30 and"), "{}", ran.stderr);
}

/// Three tasks tell little; those of earlier runs steady them.
#[test]
fn earlier_runs_have_a_say_in_what_the_rest_will_take() {
    let env = project(&["a", "b", "c", "d", "e", "f", "g"]);
    let dear = [works_for("0.4"), works_for("0.4"), works_for("0.4")];
    build(&env, &dear.each_ref().map(String::as_str), &["3"]).success();
    let cheap = [works_for("0.2"), works_for("0.2"), works_for("0.2")];
    let ran = build(&env, &cheap.each_ref().map(String::as_str), &["3"]);
    assert!(ran.stderr.contains("about $0.30 and"), "{}", ran.stderr);
    assert_eq!(journal(&env)[0]["earlier"]["tasks"], 3);
    assert_eq!(journal(&env)[0]["earlier"]["micro_usd"], 1_200_000);
    let json: Value = ralph_testkit::data(&env.ralph(&["status", "--json"]).success());
    assert_eq!(json["forecast"]["from_tasks"], 6);
}

#[test]
fn a_report_has_every_attempt_of_all_runs_or_of_one() {
    let env = project(&["a", "b"]);
    assert_eq!(report(&env, &["--csv"]).success().lines().count(), 1, "a header");
    assert_eq!(report(&env, &[]).success(), "");
    build(&env, &[&idles_for("0.25")], &["--once"]).success();
    let first = journal(&env)[0]["run"].as_str().unwrap().to_owned();
    build(&env, &[&works_for("0.5"), &works_for("1")], &[]).success();
    let csv = report(&env, &["--csv"]).success();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let heads = "attempt,run,task,model,day,started_at,ended_at,duration_ms,outcome,input_tokens,output_tokens,cost_usd,kind,agent,gates";
    assert_eq!(csv.lines().next(), Some(heads));
    let short = |row: &Vec<&str>| [row[2], row[8], row[9], row[10], row[11]].join(" ");
    assert_eq!(
        rows[1..].iter().map(short).collect::<Vec<_>>(),
        ["a no-signal 1000 10 0.250000", "a done 1000 10 0.500000", "b done 1000 10 1.000000"]
    );
    assert!(rows[1..].iter().all(|row| row.len() == 15 && row[4].len() == 10), "{csv}");
    let one = report(&env, &[&first, "--csv"]).success();
    assert_eq!((one.lines().count(), one.contains("no-signal")), (2, true));
    let text = report(&env, &[]).success();
    assert!(text.contains("TASK") && text.contains("MODEL") && text.contains("DAY"), "{text}");
    assert!(text.contains("Total: 3 attempts, 3k tokens in, 30 out, "), "{text}");
    assert!(text.trim_end().ends_with("$1.75"), "{text}");
    let done = rows[1..].iter().filter(|row| row[8] == "done");
    assert!(done.clone().count() == 2 && done.clone().all(|row| row[13] == "script"), "{csv}");
    let junit = report(&env, &["--junit"]).success();
    assert!(junit.starts_with("<?xml version=\"1.0\"") && junit.contains(&first), "{junit}");
    assert_eq!(junit.matches("<testsuite ").count(), 2, "{junit}");
    assert_eq!(junit.matches("<testcase ").count(), 3, "{junit}");
    let ran = report(&env, &[&first, "--junit=junit.xml"]);
    assert!(ran.stderr.contains("Wrote junit.xml") && ran.success().is_empty());
    let written = std::fs::read_to_string(env.repo().join("junit.xml")).unwrap();
    assert_eq!(written.matches("<testsuite ").count(), 1, "{written}");
    let json: Value = ralph_testkit::data(&report(&env, &["--json"]).success());
    assert_eq!(json["total"]["cost_micro_usd"], 1_750_000);
    assert_eq!(
        (&json["tasks"][0]["name"], &json["tasks"][0]["attempts"]),
        (&"a".into(), &2.into())
    );
    assert_eq!(json["attempts"].as_array().unwrap().len(), 3);
}

/// The data inside of a page.
fn data_in(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"frozen\">").unwrap();
    serde_json::from_str(rest.split_once("</script").unwrap().0).unwrap()
}

#[test]
fn a_report_is_a_page_of_its_own_for_all_runs_for_one_or_for_a_day() {
    let env = project(&["a", "b", "c"]);
    env.task(&["update", "c", "--title", "</script>"]);
    report(&env, &["--html"]).success();
    assert!(!env.repo().join("ralph-report.html").exists(), "nothing to report yet");
    build(&env, &[&works_for("0.5")], &["--once"]).success();
    let first = journal(&env)[0]["run"].as_str().unwrap().to_owned();
    build(&env, &[&works_for("1")], &["--once"]).success();
    report(&env, &["--html"]).success();
    let html = std::fs::read_to_string(env.repo().join("ralph-report.html")).unwrap();
    assert!(html.contains("default-src 'none'") && !html.contains("src=\"/"));
    let all = data_in(&html);
    let json: Value = ralph_testkit::data(&report(&env, &["--json"]).success());
    assert_eq!(all["report"], json);
    assert_eq!(
        (&all["session"]["frozen"], &all["session"]["read_only"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        (all["runs"].as_array().unwrap().len(), all["tasks"].as_array().unwrap().len()),
        (2, 3)
    );
    assert!(all["diff"]["a"].as_str().unwrap().contains("diff --git"), "{}", all["diff"]);
    assert_eq!(all["task"]["a"]["attempts"].as_array().unwrap().len(), 1);
    let one = data_in(&report(&env, &[&first, "--html=-"]).success());
    assert_eq!(one["report"]["total"]["cost_micro_usd"], 500_000);
    assert_eq!(
        (&one["runs"][0]["run"], &one["live"]["runs"][0]["view"]["run"]),
        (&first.as_str().into(), &first.as_str().into())
    );
    assert_eq!(
        (one["runs"].as_array().unwrap().len(), one["tasks"][0]["id"].as_str()),
        (1, Some("a"))
    );
    let day = json["days"][0]["name"].as_str().unwrap();
    let of_day = data_in(&report(&env, &["--day", day, "--html=-"]).success());
    assert_eq!(
        of_day["report"]["attempts"].as_array().unwrap().len(),
        json["days"][0]["attempts"].as_u64().unwrap() as usize
    );
    assert_eq!(report(&env, &["--day", "2001-01-01", "--csv"]).success().lines().count(), 1);
}

#[test]
fn a_report_on_what_is_not_there_and_budgets_that_are_no_numbers() {
    let env = project(&["a"]);
    build(&env, &[&works_for("0.1")], &[]).success();
    let run = journal(&env)[0]["run"].as_str().unwrap().to_owned();
    let output = report(&env, &["r-aaaaaaaa"]).failure(1);
    assert!(output.contains("there is no run r-aaaaaaaa"), "{output}");
    let near = report(&env, &[&run[..run.len() - 1], "--csv"]).failure(1);
    assert!(near.contains(&format!("did you mean {run}?")), "{near}");
    report(&env, &["../etc/passwd"]).failure(64);
    assert_eq!(report(&env, &["--csv", "--json"]).code, 64);
    assert_eq!(report(&env, &["--html", "--json"]).code, 64);
    let day = report(&env, &["--day", "15.11.2026"]).failure(64);
    assert!(day.contains("write a day as YYYY-MM-DD"), "{day}");
    assert_eq!(report(&env, &["--day", "2001-01-01"]).success(), "");
    let lost = report(&env, &["--html=missing/report.html"]).failure(1);
    assert!(lost.contains("missing/report.html cannot be written"), "{lost}");
    for value in ["-1", "lots", "nan", "inf", "1,5"] {
        for key in ["budget.task_usd", "budget.day_usd"] {
            let ran = again(&env, &["--set", &format!("{key}={value}")]);
            assert_eq!(ran.code, 64, "{key}={value}: {}", ran.stderr);
            assert!(ran.stderr.contains(key), "{}", ran.stderr);
        }
    }
    // Very little is not the same as no limit.
    let env = project(&["a", "b"]);
    let tiny = ["--set", "budget.day_usd=0.0000001"];
    assert_eq!(build(&env, &[&works_for("0.01"), &works_for("0.01")], &tiny).code, 8);
}

#[test]
fn the_budget_of_a_day_counts_sessions_without_a_task() {
    let env = project(&["a"]);
    env.write("ask.md", "Look around.\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "prompt"]);
    cassette(&env, &[&idles_for("0.7"), &works_for("0.1")]);
    let mut prompt = arguments(&[]);
    prompt.splice(0..1, ["prompt", "ask.md"]);
    env.ralph(&prompt).success();
    let ran = again(&env, &["--set", "budget.day_usd=0.5"]);
    assert_eq!((ran.code, status(&env, "a")), (8, "open".into()), "{}", ran.stderr);
    assert!(ran.stderr.contains("$0.70 of $0.50"), "{}", ran.stderr);
    // A prompt has the same budget; and it is a run without an attempt.
    prompt.extend(["--set", "budget.day_usd=0.5"]);
    assert_eq!(env.ralph(&prompt).code, 8);
    let run = journal(&env)[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(report(&env, &[&run, "--csv"]).success().lines().count(), 1);
    again(&env, &["--set", "budget.day_usd=0.9"]).success();
}

#[test]
fn a_task_of_a_progress_file_is_held_and_its_line_stays_open() {
    let env = project(&[]);
    let plan = "# Progress: plan\n\n## Status\n\nIn Progress\n\n## Tasks\n\n- [ ] one\n- [ ] two\n";
    env.write("progress.md", plan);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let budget = ["--set", "budget.task_usd=0.5"];
    let ran = build(&env, &[&idles_for("0.6"), &works_for("0.1")], &budget);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    let plan = std::fs::read_to_string(env.repo().join("progress.md")).unwrap();
    assert!(plan.contains("- [ ] one\n- [x] two\n"), "{plan}");
    // Nothing is started on it by the next run either.
    let ran = build(&env, &[&works_for("0.1")], &budget);
    assert_eq!((ran.code, of_kind(&journal(&env), "session_started").len()), (7, 0));
}
