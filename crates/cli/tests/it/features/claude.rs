//! The way of a feature with the real Claude Code and a scripted model.

use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::model_server::{Script, Turn};

use super::*;

/// A command of the model's.
fn adds(words: &str) -> Turn {
    Turn::bash(format!("ralph task add {words}"))
}

/// A session on the task that the loop has chosen.
fn does(file: &str) -> [Turn; 2] {
    let command = format!("echo work > {file} && git add {file} && git commit --quiet -m {file}");
    [Turn::bash(command), Turn::text("Done. <task-done>{id}</task-done>")]
}

#[test]
fn s1_53_claude_proposes_a_graph_fixes_a_cycle_and_works_through_it() {
    let script = Script::new()
        .session([
            adds("'The login' --id login/all"),
            adds("Mailer --id login/mail --parent login/all -p 1 -d 'Sends the link'"),
            adds("Form --id login/form --parent login/all --deps login/mail -p 0"),
            adds("Docs --id login/docs --deps login/form -p 3"),
            Turn::bash("ralph task block login/mail --by login/docs"),
            Turn::bash("ralph task block login/docs --by login/mail"),
            Turn::text("Four tasks are proposed."),
        ])
        .session(does("mail.txt"))
        .session(does("form.txt"))
        .session(does("docs.txt"));
    let Some(env) = ClaudeEnv::new(crate::RALPH, script) else { return };
    env.ralph(&["feature", "create", "login"]).success();
    env.write(SPEC, "# login\n\nPeople log in by mail.\n");
    env.write(PLAN, "# Plan: login\n\nFirst the mailer.\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "login"]);
    env.task(&["add", "Somebody else's", "--id", "other", "-p", "0"]);
    let built = env.ralph(&["feature", "build", "login", "--agent", "claude"]);
    let (out, output) = ended(built, 0);
    assert_eq!(
        out,
        "login/all  open  The login\n├─ login/mail  open  Mailer\n└─ login/form  blocked  Form  after \
         login/mail\nlogin/docs  blocked  Docs  after login/mail, login/form\ninserted: 4, updated: 0, \
         deleted: 0, skipped (done): 0\n",
        "{output}"
    );
    let sessions = env.sessions_seen();
    let opening = sessions[0][0].user_text();
    has(&opening, "People log in by mail.");
    has(&opening, "First the mailer.");
    let answers = sessions[0].last().unwrap().tool_results();
    let refused: Vec<&(String, bool)> = answers.iter().filter(|(_, is_error)| *is_error).collect();
    assert_eq!(refused.len(), 1, "{answers:?}");
    has(&refused[0].0, "that would create a cycle");
    let (_, output) =
        ended(env.ralph(&["run", "login", "--agent", "claude", "--model", "sonnet"]), 0);
    has(&output, "tasks done.");
    let listed: Vec<serde_json::Value> = ralph_testkit::data(&env.task(&["list", "--json"]));
    for task in &listed {
        let expected = if task["id"] == "other" { "open" } else { "done" };
        assert_eq!(task["status"], expected, "{task}");
    }
    assert_eq!(listed.len(), 5);
    let files = env.git(&["log", "--format=%s", "-3"]);
    assert_eq!(files, "docs.txt\nform.txt\nmail.txt\n", "in the order of the graph");
}

#[test]
fn claude_asks_is_answered_and_writes_spec_and_plan() {
    let spec = format!("printf '# login\\n\\nBy mail.\\n' > {SPEC}");
    let plan = format!("printf '# Plan\\n\\n1. The mailer\\n' > {PLAN}");
    let script = Script::new()
        .session([Turn::bash("ls"), Turn::text("<question>By mail or by name?</question>")])
        .session([Turn::bash(spec), Turn::text("The spec is written.")])
        .session([Turn::text("It is planned.")])
        .session([Turn::bash(plan), Turn::text("The plan is written.")]);
    let Some(env) = ClaudeEnv::new(crate::RALPH, script) else { return };
    let call = |words: &[&str]| env.ralph(&[&["feature"], words, &["--agent", "claude"]].concat());
    let (_, output) = ended(call(&["create", "login", "--interview", "Log in"]), 7);
    has(&output, "By mail or by name?");
    ended(call(&["create", "login", "--answer", "By mail"]), 0);
    // A session that leaves the template is told so.
    ended(call(&["plan", "login"]), 0);
    let text: Vec<String> =
        env.sessions_seen().iter().map(|session| session[0].user_text()).collect();
    assert_eq!(text.len(), 4);
    has(&text[0], "Log in");
    has(&text[1], "> By mail or by name?");
    has(&text[1], "> By mail\n");
    has(&text[2], "By mail.");
    has(&text[3], "plan.md is still the template that ralph wrote");
    assert_eq!(
        env.git(&["log", "--format=%s", "-2"]),
        "feature-plan: iteration 1 - the plan of login\nfeature-spec: iteration 1 - the spec of login\n"
    );
}
