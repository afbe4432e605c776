//! One plan with each of the real agents, changed by one flag: the same tree, the same history and the same records,
//! apart from names, prices and times.
//!
//! The plan has ten tasks, a gate, a task that is retried, a question and an approval. Each agent runs in the full
//! sandbox, with no network but its model.

use std::collections::BTreeMap;

use ralph_testkit::model_server::{Request, Script, Turn};
use ralph_testkit::real_agent::{AgentName, RealAgent};
use ralph_testkit::{TestEnv, has_turn, times};
use serde_json::{Value, json};

use crate::RALPH;
use crate::sandboxed::has_boxes;

const TASKS: usize = 10;
/// Its first attempt fails the gate.
const RETRIED: &str = "t-03";
/// Its first attempt asks.
const ASKED: &str = "t-05";
/// Its change is larger than what lands without approval.
const LARGE: &str = "t-08";

/// What the model does: everything it needs to know is in the request.
fn answer(request: &Request) -> Turn {
    let text = request.user_text();
    let Some(id) = (1..=TASKS).map(task).find(|id| text.contains(&format!("<task-done>{id}<")))
    else {
        return Turn::text("This is about no task.");
    };
    if !request.tool_results().is_empty() {
        return Turn::text(format!("Done.\n\n<task-done>{id}</task-done>"));
    }
    let again = text.contains("forbidden word");
    let answered = text.contains("paint it blue");
    match id.as_str() {
        ASKED if !answered => Turn::text("<question>Which color?</question>"),
        ASKED => Turn::bash(format!("echo blue > {id}.txt")),
        RETRIED if !again => Turn::bash(format!("echo bad > {id}.txt")),
        LARGE => Turn::bash(format!("printf '1\\n2\\n3\\n4\\n5\\n' > {id}.txt")),
        _ => Turn::bash(format!("echo good > {id}.txt")),
    }
}

fn task(number: usize) -> String {
    format!("t-{number:02}")
}

/// What is compared: everything that does not depend on who worked.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    tree: String,
    history: String,
    tasks: BTreeMap<String, Value>,
    report: Vec<Value>,
}

fn run(agent: AgentName) -> Option<Result> {
    let name = agent.program();
    let mut agent = RealAgent::new(RALPH, agent, Script::answering(answer))?;
    agent.at_level("full", "the network of a sandbox is that of level full");
    let port = agent.server().url().rsplit(':').next().unwrap_or_default().to_owned();
    let user = format!(
        "[agent]\nenv = [\"SCRIPTED_API_KEY\"]\n\n[sandbox.network]\npolicy = \"allowlist\"\nallowed = [\"localhost:{port}\"]\n"
    );
    let config = agent.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, user).unwrap();
    let settings = [
        "[completion]\napprove = \"risky\"\napprove_lines = 3\n",
        "[loop]\nverify = false\n\n[models]\nstrategy = \"agent\"\n",
        "[[gate]]\nname = \"words\"\ncommand = \"! grep -l bad *.txt || { echo forbidden word; exit 1; }\"\n",
    ];
    agent.write("ralph.toml", settings.join("\n"));
    agent.git(&["add", "."]);
    agent.git(&["commit", "--quiet", "--message", "settings"]);
    for number in 1..=TASKS {
        let id = task(number);
        agent.task(&["add", &format!("Write {id}"), "--id", &id, "-p", &number.to_string()]);
    }
    let build = ["build", "--agent", name, "--strict-exit"];
    let first = agent.ralph(&build);
    assert_eq!(first.code, 7, "{name}: {}", first.stderr);
    assert!(first.stderr.contains("sandbox    full"), "{name}: {}", first.stderr);
    agent.ralph(&["answer", ASKED, "paint it blue"]).success();
    agent.ralph(&["approve", LARGE]).success();
    let second = agent.ralph(&build);
    assert_eq!(second.code, 0, "{name}: {}", second.stderr);
    Some(Result {
        tree: agent.git(&["rev-parse", "HEAD^{tree}"]),
        history: agent.git(&["log", "--format=%s"]),
        tasks: (1..=TASKS).map(task).map(|id| (id.clone(), record(&agent, &id))).collect(),
        report: report(&agent),
    })
}

/// What `ralph report` says of each task and of all, apart from tokens, prices and times.
fn report(env: &TestEnv) -> Vec<Value> {
    let report: Value = ralph_testkit::data(&env.ralph(&["report", "--json"]).success());
    let counts = |row: &Value| json!([row["name"], row["attempts"], row["finished"]]);
    let rows = report["tasks"].as_array().unwrap().iter().map(counts);
    rows.chain([counts(&report["total"])]).collect()
}

/// What the records say about a task: its status, and of each attempt how it ended and what the gates said.
fn record(env: &TestEnv, id: &str) -> Value {
    let shown: Value = ralph_testkit::data(&env.task(&["show", id, "--json"]));
    let attempts = shown["attempts"].as_array().unwrap().iter();
    let ends: Vec<Value> = attempts.map(|attempt| attempt["end"]["outcome"].clone()).collect();
    let evidence = shown["evidence"].as_array().unwrap().iter();
    let verdicts: Vec<Value> = evidence
        .map(|row| json!([row["judge"], row["verdict"], row["exit_code"], row["tree"]]))
        .collect();
    json!({ "status": shown["status"], "retries": shown["retry_count"], "ends": ends, "evidence": verdicts })
}

/// The same plan with these agents.
fn compare(agents: &[AgentName]) {
    if !has_boxes("one plan with several agents") {
        return;
    }
    let results: Vec<(&str, Result)> =
        agents.iter().filter_map(|agent| Some((agent.program(), run(*agent)?))).collect();
    for pair in results.windows(2) {
        let [(one, first), (other, second)] = pair else { continue };
        assert_eq!(first, second, "{one} and {other}");
    }
    let Some((_, result)) = results.first() else { return };
    assert_eq!(result.report.last(), Some(&json!([Value::Null, TASKS + 2, TASKS])), "{result:?}");
    assert_eq!(result.tasks[RETRIED]["ends"], json!(["red", "done"]));
    assert_eq!(result.tasks[ASKED]["ends"], json!(["question", "done"]));
    assert!(result.tasks.values().all(|task| task["status"] == "done"), "{result:?}");
}

#[test]
fn claude_and_codex_give_the_same_tree_history_and_records() {
    if !has_turn(3) {
        return;
    }
    compare(&AgentName::NATIVE[..2]);
}

#[test]
fn four_agents_give_the_same_tree_history_and_records() {
    if times(0, 1) == 0 {
        return;
    }
    compare(&AgentName::NATIVE);
}
