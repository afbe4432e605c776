//! Sessions of real agents that the user talks to, with the drivers and the supervisor of the engine.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::path::PathBuf;
use std::time::Duration;

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};
use ralph_engine::agents::{Driver, Permissions, PromptBy, SessionSpec, Written, find};
use ralph_engine::process::{
    Control, Delivery, LineEffect, Listener, Mark, Said, Stop, Watch, supervise,
};
use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::model_server::{Request, Script, Turn};
use tokio::sync::{mpsc, watch};

/// What happens when the agent uses its first tool.
#[derive(Clone, Copy)]
enum Then {
    Say(&'static [&'static str]),
    Interrupt,
}

/// Shows a session to its driver, and does something when it uses a tool.
struct Talk {
    driver: Box<dyn Driver>,
    events: Vec<AgentEvent>,
    then: Option<Then>,
    says: mpsc::Sender<Said>,
    stop: watch::Sender<Stop>,
    unconfirmed: Vec<Said>,
    sent: Vec<watch::Receiver<Delivery>>,
}

impl Listener for Talk {
    fn stdout(&mut self, line: &[u8], cut: bool, replies: &mut Vec<u8>) -> LineEffect {
        let mut events = vec![];
        let effect = self.driver.line(line, cut, &mut events, replies);
        for event in &events {
            if let AgentEvent::UserMessage { text } = event {
                self.unconfirmed.retain(|said| {
                    let arrived = said.text == *text;
                    if arrived {
                        said.report(Delivery::Arrived);
                    }
                    !arrived
                });
            }
            if let AgentEvent::ToolStarted { input, .. } = event
                && self.is_time(input)
            {
                self.act();
            }
        }
        self.events.extend(events);
        effect
    }

    fn say(&mut self, said: Said) -> Option<Vec<u8>> {
        let words = self.driver.say(&said.text)?;
        said.report(Delivery::Sent);
        self.unconfirmed.push(said);
        Some(words)
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.driver.interrupt()
    }
}

impl Talk {
    /// At its first tool; to interrupt it, at the one that takes long: what it has used before is known then.
    fn is_time(&self, input: &str) -> bool {
        !matches!(self.then, Some(Then::Interrupt)) || input.contains("sleep 60")
    }

    fn act(&mut self) {
        match self.then.take() {
            Some(Then::Say(texts)) => {
                for text in texts {
                    let (said, delivery) = Said::new(*text);
                    self.says.try_send(said).unwrap();
                    self.sent.push(delivery);
                }
            }
            Some(Then::Interrupt) => drop(self.stop.send_replace(Stop::Interrupt)),
            None => {}
        }
    }
}

/// How a session went.
struct Session {
    events: Vec<AgentEvent>,
    process: ProcessEnd,
    end: SessionEnd,
    sent: Vec<Delivery>,
    took: Duration,
}

/// Runs a session with this prompt.
fn run(agent: &str, env: &ClaudeEnv, prompt: PromptBy, then: Then) -> Session {
    let profile = find(agent).unwrap();
    let spec = SessionSpec {
        executable: env.claude_command(&[]).get_program().to_owned(),
        extra_args: vec![],
        folder: env.repo(),
        environment: environment(env),
        prompt,
        model: None,
        permissions: Permissions::Boxed,
        sandboxed: true,
        cassette: None,
        session: None,
        verifies: false,
    };
    let (says, mut received) = mpsc::channel(16);
    let (stop, stopped) = watch::channel(Stop::Go);
    let driver = (profile.driver)(Some(&spec));
    let mut talk = Talk {
        driver,
        events: vec![],
        then: Some(then),
        says,
        stop,
        unconfirmed: vec![],
        sent: vec![],
    };
    let watch = Watch { timeout: Some(Duration::from_secs(120)), ..Watch::default() };
    let mark = Mark::new(env.folder(), 1);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let command = (profile.command)(&spec);
    let control = Control { stop: stopped, says: Some(&mut received) };
    let ended = runtime.block_on(supervise(&command, &watch, &mark, &mut talk, None, control));
    let sent = talk.sent.iter().map(|delivery| *delivery.borrow()).collect();
    let end = match ended.end {
        ProcessEnd::Stopped => ProcessEnd::Exited { code: 0 },
        ref end => end.clone(),
    };
    let end = talk.driver.end(&end, &ended.stderr_tail);
    Session { events: talk.events, process: ended.end, end, sent, took: ended.duration }
}

/// The environment that the harness gives Claude Code.
fn environment(env: &ClaudeEnv) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let command = env.claude_command(&[]);
    command.get_envs().filter_map(|(name, value)| Some((name.into(), value?.into()))).collect()
}

/// The task as a file, the way of most presets.
fn as_file(env: &ClaudeEnv) -> PromptBy {
    let written = |name: &str, text: &str| {
        let file: PathBuf = env.folder().join(name);
        std::fs::write(&file, text).unwrap();
        Written { text: text.to_owned(), file }
    };
    PromptBy::System {
        system: written("system.md", "You are a tester."),
        task: written("task.md", "Count to three.\n"),
    }
}

fn claude(turns: impl IntoIterator<Item = Turn>) -> Option<ClaudeEnv> {
    ClaudeEnv::new("/no/ralph/here", Script::new().session(turns))
}

/// Everything that the model was shown with this request.
fn shown(request: &Request) -> String {
    request.body["messages"].to_string()
}

#[test]
fn a_text_reaches_claude_code_within_the_turn_that_runs() {
    let Some(env) = claude([Turn::bash("sleep 1"), Turn::text("Done.")]) else { return };
    let texts = &["greet the moon too", "/etc/hosts stays as it is"];
    let session = run("claude", &env, as_file(&env), Then::Say(texts));
    assert_eq!((session.end.class, session.end.text.as_str()), (EndClass::Completed, "Done."));
    assert_eq!(session.process, ProcessEnd::Exited { code: 0 });
    assert_eq!(session.sent, [Delivery::Arrived, Delivery::Arrived]);
    let turns = env.server().turns();
    assert_eq!(turns.len(), 2, "the texts cost no turn of their own");
    assert!(shown(&turns[0]).contains("Count to three."), "{}", shown(&turns[0]));
    assert!(turns[0].system_text().contains("You are a tester."));
    for text in texts {
        assert!(!shown(&turns[0]).contains(text));
        assert!(shown(&turns[1]).contains(text), "{}", shown(&turns[1]));
    }
    let heard = session.events.iter().filter_map(|event| match event {
        AgentEvent::UserMessage { text } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(heard.collect::<Vec<_>>(), texts);
    assert_eq!(session.end.usage.turns, Some(2));
}

#[test]
fn a_text_that_comes_with_the_last_answer_gets_a_turn_of_its_own() {
    // It is said while the last tool runs, and taken up only after a slow answer began.
    let slow = Turn::text("Nearly.").after(Duration::from_millis(800));
    let script = [Turn::bash("true"), slow, Turn::text("Now it is done.")];
    let Some(env) = claude(script) else { return };
    let session = run("claude", &env, as_file(&env), Then::Say(&["one more thing"]));
    assert_eq!(session.end.class, EndClass::Completed);
    assert_eq!(session.sent, [Delivery::Arrived]);
    let last = env.server().turns().pop().unwrap();
    assert!(shown(&last).contains("one more thing"), "{}", shown(&last));
}

#[test]
fn claude_code_comes_to_an_end_when_it_is_asked() {
    let script = [Turn::bash("true"), Turn::bash("sleep 60"), Turn::text("Never.")];
    let Some(env) = claude(script) else { return };
    let session = run("claude", &env, as_file(&env), Then::Interrupt);
    assert_eq!(session.process, ProcessEnd::Stopped);
    assert!(session.took < Duration::from_secs(30), "{:?}", session.took);
    assert_ne!(session.end.class, EndClass::Completed);
    assert!(session.end.usage.output_tokens > 0, "it reported what it used: {:?}", session.end);
}

#[test]
fn a_slash_command_is_one_in_a_session_that_can_be_talked_to() {
    let Some(env) = claude([Turn::text("Built.")]) else { return };
    env.write(
        ".claude/skills/ralph-build/SKILL.md",
        "---\nname: ralph-build\ndescription: Builds.\n---\nBUILD THIS: $ARGUMENTS\n",
    );
    let prompt = PromptBy::Argument("/ralph-build one two".to_owned());
    let session = run("claude", &env, prompt, Then::Say(&[]));
    assert_eq!(session.end.class, EndClass::Completed);
    let turns = env.server().turns();
    assert!(shown(&turns[0]).contains("BUILD THIS: one two"), "{}", shown(&turns[0]));
}
