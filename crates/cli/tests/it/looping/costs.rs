//! What sessions cost, whatever they are for: the report, the status, the summary, the budget of the day and the
//! journals agree.

use super::*;

const SCRIPTED: [&str; 4] = ["--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
const SPEC: &str = ".ralph/features/login/spec.md";
const PLAN: &str = ".ralph/features/login/plan.md";

/// A session of this price.
fn costs(usd: &str, steps: &[String]) -> String {
    let usage = format!("{{\"do\":\"usage\",\"input\":1000,\"output\":10,\"usd\":{usd}}}");
    session(&[&[usage], steps].concat())
}

/// Millionths of a dollar, as the agents told them, of each run, the oldest first.
fn by_run(env: &TestEnv) -> Vec<u64> {
    let cost = |event: &Value| event["report"]["end"]["usage"]["cost_micro_usd"].as_u64();
    let of_run = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let sessions = events
            .filter(|event| matches!(event["kind"].as_str(), Some("session_ended" | "verified")));
        sessions.filter_map(|event| cost(&event)).sum()
    };
    runs(env).into_iter().map(of_run).collect()
}

/// Runs a command and checks that everything that tells of money tells the same.
#[track_caller]
fn agree(env: &TestEnv, call: &[&str], sessions: &[&str], cents: u64) {
    let before = by_run(env);
    cassette(env, sessions);
    let ran = env.ralph(&[call, &SCRIPTED].concat());
    assert_eq!(ran.code, 0, "{call:?}: {}", ran.stderr);
    let now = by_run(env);
    let all: u64 = now.iter().sum();
    let spent = all - before.iter().sum::<u64>();
    assert_eq!(spent, cents * 10_000, "{call:?}: {}", ran.stderr);
    let summary = format!("${}.{:02} (", cents / 100, cents % 100);
    assert!(ran.stderr.contains(&summary), "{call:?}: {summary} is not in {}", ran.stderr);
    let status: Value = ralph_testkit::data(&env.ralph(&["status", "--json"]).success());
    let usage = &status["run"]["usage"]["cost_micro_usd"];
    assert_eq!(usage.as_u64(), now.last().copied(), "{call:?}: {status}");
    let report: Value = ralph_testkit::data(&env.ralph(&["report", "--json"]).success());
    assert_eq!(report["total"]["cost_micro_usd"].as_u64(), Some(all), "{call:?}: {report}");
    let csv = env.ralph(&["report", "--csv"]).success();
    let column = |line: &str| line.split(',').nth(11).unwrap().parse::<f64>().unwrap_or(0.0);
    let sum: f64 = csv.lines().skip(1).map(column).sum();
    assert!((sum * 1e6 - all as f64).abs() < 1.0, "{call:?}: {csv}");
}

#[test]
fn report_status_summary_and_day_add_up_to_the_journals_for_every_kind_of_session() {
    let mut env = project(&[]);
    let plan = "implementation_plan.md";
    let complete = say("<promise>COMPLETE</promise>");
    let drafts = costs("0.01", &[write(plan, "- [ ] Write one\n"), say("A beginning.")]);
    let plans = costs("0.02", &[write(plan, "- [ ] Write one\n- [ ] Write two\n"), complete]);
    agree(&env, &["plan"], &[&drafts, &plans], 3);
    let ticks = |name: &str, usd: &str| {
        let tick = sh(&format!("sed -i 's/\\[ \\] Write {name}/[x] Write {name}/' {plan}"));
        costs(usd, &[write(&format!("{name}.txt"), "x\n"), tick, say("ticked")])
    };
    let begins = costs("0.01", &[write("zero.txt", "x\n"), say("begun")]);
    agree(&env, &["build"], &[&begins, &ticks("one", "0.04"), &ticks("two", "0.08")], 13);
    env.git(&["rm", "-q", plan]);
    env.git(&["commit", "-qm", "the plan is done"]);
    env.write(".git/task.md", "Look around.\n");
    agree(&env, &["prompt", ".git/task.md"], &[&costs("0.16", &[say("Looked.")])], 16);
    let writes = |path: &str, usd: &str| {
        costs(usd, &[write(path, "# login\n\n1. People log in by mail.\n"), say("Written.")])
    };
    let create = ["feature", "create", "login", "--interview"];
    agree(&env, &create, &[&writes(SPEC, "0.32")], 32);
    agree(&env, &["feature", "plan", "login"], &[&writes(PLAN, "0.64")], 64);
    let proposes = costs("1.28", &[sh("ralph task add Form --id form"), say("Proposed.")]);
    agree(&env, &["feature", "build", "login"], &[&proposes], 128);
    // A refused attempt and one that is accepted, each judged by a verifier.
    env.with_verifier();
    let work = costs("2.56", &[write("form.txt", "x\n"), say("<task-done>form</task-done>")]);
    let no = costs("0.03", &[say("<verify-fail>not yet</verify-fail>")]);
    let more = costs("0.05", &[write("form.txt", "y\n"), say("<task-done>form</task-done>")]);
    let yes = costs("0.07", &[say("I looked at it.\n\n<verify-pass/>")]);
    agree(&env, &["run", "login"], &[&work, &no, &more, &yes], 271);
    assert_eq!(status(&env, "form"), "done");
    // Each kind has its row.
    let report = env.ralph(&["report"]).success();
    for row in ["form ", "(plan) ", "(checklist) ", "(prompt) ", "(feature-spec) "] {
        assert!(report.contains(row), "{row} is not in {report}");
    }
    // The budget of the day counts the same.
    env.task(&["add", "More", "--id", "more"]);
    let all: u64 = by_run(&env).iter().sum();
    let ran = build(&env, &[&works()], &["--set", "budget.day_usd=0.01"]);
    let output = format!("${}.{:02} of $0.01", all / 1_000_000, all / 10_000 % 100);
    assert_eq!(ran.code, 8, "{}", ran.stderr);
    assert!(ran.stderr.contains(&output), "{output} is not in {}", ran.stderr);
}

/// Nobody settles the session of a run that was killed, but it was paid for.
#[test]
fn what_a_killed_run_spent_is_in_the_report() {
    let mut env = project(&["a"]);
    env.leaves_processes("a run is killed");
    env.set("RALPH_TEST_CRASH", "candidate-made");
    let work = costs("0.50", &[write("a.txt", "x\n"), say("<task-done>a</task-done>")]);
    let ran = build(&env, &[&work], &[]);
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    env.set("RALPH_TEST_CRASH", "");
    let total = |env: &TestEnv| {
        let report = env.ralph(&["report", "--json"]).success();
        let report: Value = ralph_testkit::data(&report);
        report["total"]["cost_micro_usd"].as_u64()
    };
    assert_eq!(total(&env), Some(500_000));
    build(&env, &[&costs("0.25", &[works()])], &[]).success();
    assert_eq!(total(&env), Some(750_000), "also after its task was given back");
}
