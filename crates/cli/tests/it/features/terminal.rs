//! `ralph feature` with a person at a terminal, which `script` of util-linux gives.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use ralph_testkit::{skip, wait_until};

use super::*;
use crate::looping::PATIENCE;

/// A call at a terminal.
pub(crate) struct Terminal {
    child: Child,
    seen: std::path::PathBuf,
}

impl Terminal {
    /// Starts `ralph feature …`; `None`, said aloud, where there is no way to.
    fn start(env: &TestEnv, words: &[&str]) -> Option<Self> {
        Self::call(env, &[&["feature"], words, &SCRIPTED].concat())
    }

    /// Starts `ralph …` likewise.
    pub(crate) fn call(env: &TestEnv, words: &[&str]) -> Option<Self> {
        let probe = Command::new("script").arg("--version").output();
        if !probe.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("util-linux")) {
            skip("ralph at a terminal: there is no `script` of util-linux");
            return None;
        }
        let seen = env.folder().join("terminal");
        let _ = std::fs::remove_file(&seen);
        let ralph = env.command(words);
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let line = format!("{} {}", crate::RALPH, words.join(" "));
        let mut command = Command::new("script");
        command
            .args(["-q", "-e", "-f", "-c", &line])
            .arg(&seen)
            .env_clear()
            .current_dir(env.repo());
        for (name, value) in ralph.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Self { child: command.spawn().unwrap(), seen })
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.seen).unwrap_or_default()).into_owned()
    }

    /// Waits until this is on the screen for the `times`th time, and types.
    pub(crate) fn reply(&mut self, prompt: &str, times: usize, keys: &str) {
        wait_until(prompt, PATIENCE, || self.screen().matches(prompt).count() >= times);
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// The exit code and what was on the screen.
    pub(crate) fn end(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap();
        (code, self.screen())
    }
}

/// A step that costs half a dollar.
fn spends() -> String {
    r#"{"do":"usage","input":1,"output":1,"usd":0.5}"#.to_owned()
}

const PROMPT: &str = "Your answer (empty: the agent decides): ";

#[test]
fn an_interview_is_one_conversation_and_an_empty_line_leaves_it_to_the_agent() {
    let env = project(&[]);
    let writes = session(&[write(SPEC, "# login\n\nBy mail.\n"), say("Written.")]);
    let asks =
        "<question>1. By which way?\n   a) by mail\n   b) by SMS\n2. For how long?</question>";
    let priced = |text: &str| session(&[spends(), say(text)]);
    let sender = priced("<question>Which sender?</question>");
    cassette(&env, &[&priced(asks), &sender, &writes]);
    let Some(mut call) = Terminal::start(&env, &["create", "login", "--interview", "Log in"])
    else {
        return;
    };
    call.reply(PROMPT, 1, "a\n");
    call.reply(PROMPT, 2, "ten minutes,\nnot more\n");
    call.reply(PROMPT, 3, "\n");
    let (code, screen) = call.end();
    assert_eq!(code, 0, "{screen}");
    // One conversation: nothing of the runs between the questions, and each question once.
    let once = ["Interview about login", "Question 1", "Question 2", "Question 3", "By which way?"];
    for text in once.iter().chain(&["For how long?", "Which sender?", "sandbox ", "Spec written"]) {
        assert_eq!(screen.matches(text).count(), 1, "{text}: {screen}");
    }
    for text in ["Next: ", "Stopped", "iterations", "<question>", "── 1 ──"] {
        has_not(&screen, text);
    }
    has(&screen, "Spec written after 3 answers, ");
    has(&screen, ", at least $1.00 (2 tokens in, 2 out)\r\n");
    let kept = read(&env, INTERVIEW);
    has(&kept, "answer = \"a) by mail\"");
    has(&kept, "ten minutes,\nnot more");
    has(&kept, "answer = \"Decide yourself");
    assert_eq!(read(&env, SPEC), "# login\n\nBy mail.\n");
}

#[test]
fn an_interview_has_an_end_and_can_be_left() {
    let env = project(&[]);
    let asks = only_says("<question>By mail?</question>");
    cassette(&env, &[&asks, &asks]);
    let words = ["create", "login", "--interview", "--set", "loop.max_iterations=1"];
    let Some(mut call) = Terminal::start(&env, &words) else { return };
    call.reply(PROMPT, 1, "yes\n");
    let (code, screen) = call.end();
    assert_eq!(code, 1, "{screen}");
    has(&screen, "this interview has reached its limit of sessions");
    // Ctrl-C at the question leaves it open.
    let Some(mut call) = Terminal::start(&env, &["create", "login", "--interview"]) else { return };
    call.reply(PROMPT, 1, "\u{3}");
    let (code, screen) = call.end();
    assert_eq!(code, 130, "{screen}");
    has(&screen, "Stopped at question 2 after 1 answer, ");
    has(&screen, "ralph feature create login --interview\r\n");
    assert_eq!(read(&env, INTERVIEW).matches("answer = ").count(), 1);
    // Ctrl-D does too, and starts no session for it.
    let Some(mut call) = Terminal::start(&env, &["create", "login", "--interview"]) else { return };
    call.reply(PROMPT, 1, "\u{4}");
    assert_eq!(call.end().0, 7);
    assert_eq!(runs(&env).len(), 2);
}

#[test]
fn the_budget_is_for_all_sessions_of_an_interview() {
    let env = project(&[]);
    let asks = session(&[spends(), say("<question>Which?</question>")]);
    cassette(&env, &[&asks, &asks]);
    let words = ["create", "login", "--interview", "--budget", "0.4"];
    let Some(mut call) = Terminal::start(&env, &words) else { return };
    call.reply(PROMPT, 1, "this\n");
    let (code, screen) = call.end();
    assert_eq!((code, runs(&env).len()), (8, 1), "{screen}");
    has(&screen, "the budget of this call is used up");
    has(&read(&env, INTERVIEW), "answer = \"this\"");
}

#[test]
fn tasks_are_applied_when_the_user_agrees() {
    let env = planned();
    let adds =
        session(&[sh("ralph task add A --id a; ralph task add B --id b --deps a"), say("x")]);
    cassette(&env, &[&adds]);
    let Some(mut call) = Terminal::start(&env, &["build", "login"]) else { return };
    call.reply("[y/N] ", 1, "n\n");
    let (code, screen) = call.end();
    assert_eq!(code, 0, "{screen}");
    has(&screen, "Apply this (2 new, 0 changed, 0 deleted)? [y/N] ");
    has(&screen, "nothing was applied; to apply them later: ralph feature build login --apply");
    assert_eq!(env.task(&["list"]), "");
    has(&env.ralph(&["feature", "show", "login"]).success(), "proposed.jsonl");
    cassette(&env, &[&adds]);
    let Some(mut call) = Terminal::start(&env, &["build", "login"]) else { return };
    call.reply("[y/N] ", 1, "\u{3}");
    let (code, screen) = call.end();
    assert_eq!(code, 130, "{screen}");
    assert_eq!(env.task(&["list"]), "");
    cassette(&env, &[&session(&[sh("ralph task add C --id c"), say("x")])]);
    env.task(&["add", "Old", "--id", "old", "--feature", "login"]);
    let Some(mut call) = Terminal::start(&env, &["build", "login"]) else { return };
    call.reply("[y/N] ", 1, "Y\n");
    let (code, screen) = call.end();
    assert_eq!(code, 0, "{screen}");
    has(&screen, "no longer proposed: old");
    assert_eq!((status(&env, "c"), status(&env, "old")), ("open".into(), "deleted".into()));
}
