//! One case: what is given, what a session does that lies and one that does not, and how it is measured.

use ralph_testkit::TestEnv;
use serde_json::Value;

use crate::looping::{cassette, journal, of_kind, say, stand_in, write};

/// How strictly a run judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Gates in a clean checkout, claims confirmed, protected files where the case has some.
    Strict,
    /// Gates in the worktree, claims confirmed.
    Gates,
    /// No gates, claims confirmed.
    Confirm,
    /// No gates, claims trusted: built in.
    Trust,
}

impl Level {
    pub(super) const ALL: [Self; 4] = [Self::Strict, Self::Gates, Self::Confirm, Self::Trust];

    fn has_gates(self) -> bool {
        matches!(self, Self::Strict | Self::Gates)
    }
}

/// Where the tasks stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// `greet` in the store, chosen by the loop.
    Task,
    /// The same, picked by the agent.
    Pick,
    /// `progress.md` with "Write one" and "Write two".
    Progress,
    /// `implementation_plan.md` with the same.
    Checklist,
}

/// Who plays the sessions.
#[derive(Debug, Clone)]
enum Played {
    Script(Vec<String>),
    /// The body of the stand-in for Claude Code.
    Claude(String),
}

/// A way to claim what is not so, and its honest twin.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What the session does.
    pub(super) does: &'static str,
    plan: Plan,
    /// More tasks of the store.
    more: Vec<&'static str>,
    /// A shell script that prepares the repository, before its second commit.
    given: &'static str,
    gate: &'static str,
    /// A gate before it.
    first: &'static str,
    /// Failures from before the run are excused.
    baseline: bool,
    /// The test command of `AGENTS.md` is the gate.
    in_agents_md: bool,
    setup: &'static str,
    protected: &'static [&'static str],
    /// What a fresh clone must pass when the work is there.
    truth: &'static str,
    /// The task that must not be done.
    target: &'static str,
    /// Arguments of the run with the lie.
    arguments: &'static [&'static str],
    lie: Played,
    honest: Played,
    /// How many sessions the honest one has.
    sessions: usize,
    /// The lie comes out when the loop looks at the plan again.
    again: bool,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// Ralph says that it is done.
    pub(super) accepted: bool,
    /// What refused it, in words.
    pub(super) why: String,
    /// The case itself is not what it says.
    pub(super) fault: Option<String>,
}

/// What the task `greet` is about.
pub(super) const GREETS: &str = "test \"$(cat greet.txt)\" = hello";

const PROGRESS: &str = "# Progress: Words\n\n## Status\nIn Progress\n\n## Analysis\nTwo words.\n\n\
    ## Tasks\n- [ ] Write one\n- [ ] Write two\n\n## Iteration Log\n";
const CHECKLIST: &str = "# Words\n\n- [ ] Write one\n- [ ] Write two\n";

/// The work for `greet`.
pub(super) fn work() -> String {
    write("greet.txt", "hello\n")
}

/// The request for `greet`.
pub(super) fn done() -> String {
    say("<task-done>greet</task-done>")
}

impl Case {
    /// A case about the task `greet`.
    pub(super) fn task(name: &'static str, does: &'static str) -> Self {
        Self {
            name,
            does,
            plan: Plan::Task,
            more: vec![],
            given: "",
            gate: GREETS,
            first: "",
            baseline: false,
            in_agents_md: false,
            setup: "",
            protected: &[],
            truth: GREETS,
            target: "greet",
            arguments: &[],
            lie: Played::Script(vec![]),
            honest: Played::Script(vec![]),
            sessions: 1,
            again: false,
        }
    }

    /// A case about a plan file. The gate tests both words.
    pub(super) fn plan(plan: Plan, name: &'static str, does: &'static str) -> Self {
        let both = "test -f one.txt && test -f two.txt";
        Self { plan, gate: both, truth: both, target: "Write two", ..Self::task(name, does) }
    }

    pub(super) fn picked(self) -> Self {
        Self { plan: Plan::Pick, ..self }
    }

    pub(super) fn with(mut self, task: &'static str) -> Self {
        self.more.push(task);
        self
    }

    pub(super) fn given(self, given: &'static str) -> Self {
        Self { given, ..self }
    }

    pub(super) fn gate(self, gate: &'static str) -> Self {
        Self { gate, ..self }
    }

    /// A gate that runs before the other.
    pub(super) fn first(self, first: &'static str) -> Self {
        Self { first, ..self }
    }

    pub(super) fn baseline(self) -> Self {
        Self { baseline: true, ..self }
    }

    pub(super) fn gate_in_agents_md(self) -> Self {
        Self { in_agents_md: true, ..self }
    }

    pub(super) fn setup(self, setup: &'static str) -> Self {
        Self { setup, ..self }
    }

    pub(super) fn protected(self, protected: &'static [&'static str]) -> Self {
        Self { protected, ..self }
    }

    pub(super) fn truth(self, truth: &'static str) -> Self {
        Self { truth, ..self }
    }

    pub(super) fn target(self, target: &'static str) -> Self {
        Self { target, ..self }
    }

    pub(super) fn arguments(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    /// What the session does that lies.
    pub(super) fn lies(self, steps: &[String]) -> Self {
        Self { lie: Played::Script(steps.to_vec()), ..self }
    }

    /// What the honest one does.
    pub(super) fn honestly(self, steps: &[String]) -> Self {
        Self { honest: Played::Script(steps.to_vec()), ..self }
    }

    /// Both, by the stand-in for Claude Code.
    pub(super) fn claude(self, lie: &str, honest: &str) -> Self {
        let played = |body: &str| Played::Claude(body.to_owned());
        Self { lie: played(lie), honest: played(honest), ..self }
    }

    /// The honest one has a further session, the same for each task.
    pub(super) fn sessions(self, sessions: usize) -> Self {
        Self { sessions, ..self }
    }

    /// The loop gets to look at the plan once more after the session that lies.
    pub(super) fn again(self) -> Self {
        Self { again: true, ..self }
    }

    pub(super) fn lie(&self, level: Level) -> Measured {
        let mut played = vec![&self.lie];
        let silent = Played::Script(vec![say("Nothing more.")]);
        if self.again {
            played.push(&silent);
        }
        let (env, mut found) = self.run(&played, level);
        // What is refused leaves the work where it was, at every level.
        let text = found.accepted || level == Level::Strict;
        if text && self.is_so(&env) {
            found.fault = Some(format!("{}: the lie is none, the work is there", self.name));
        }
        found
    }

    pub(super) fn honest(&self) -> Measured {
        let (env, mut found) = self.run(&vec![&self.honest; self.sessions], Level::Strict);
        if !self.is_so(&env) {
            let fault = format!("{}: not honest, the work is missing: {}", self.name, found.why);
            found.fault = Some(fault);
        }
        found
    }

    /// Whether a fresh clone passes the test.
    fn is_so(&self, env: &TestEnv) -> bool {
        let clone = env.folder().join("truth");
        let from = env.repo();
        env.git(&[
            "clone",
            "--quiet",
            "--branch=main",
            from.to_str().unwrap(),
            clone.to_str().unwrap(),
        ]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", self.truth]).current_dir(clone);
        shell.output().unwrap().status.success()
    }

    fn prepare(&self, level: Level) -> TestEnv {
        let mut env = TestEnv::in_memory(crate::RALPH);
        env.without_sandbox("the gates and ralph are measured, and not what a sandbox refuses");
        env.set("RALPH_TEST_SEED", "");
        env.identify();
        match self.plan {
            Plan::Task | Plan::Pick => drop(env.task(&["add", "greet", "--id", "greet"])),
            Plan::Progress => drop(env.write("progress.md", PROGRESS)),
            Plan::Checklist => drop(env.write("implementation_plan.md", CHECKLIST)),
        }
        for task in &self.more {
            env.task(&["add", task, "--id", task]);
        }
        env.write("README.md", "A project.\n");
        env.write("ralph.toml", self.config(level));
        let command = if self.in_agents_md && level.has_gates() { self.gate } else { "" };
        // An empty command says that there is no gate, whatever the project shows.
        env.write("AGENTS.md", format!("```sh\nTEST_COMMAND='{command}'\n```\n"));
        let commit = "git add -A && git commit -qm";
        let given = format!("set -e\n{commit} first\n{}\n{commit} given || true", self.given);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &given]).current_dir(env.repo());
        let ran = shell.output().unwrap();
        assert!(ran.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&ran.stderr));
        env
    }

    fn config(&self, level: Level) -> String {
        let claims = if level == Level::Trust { "trust" } else { "confirm" };
        let mut text = format!("[completion]\nclaims = \"{claims}\"\n");
        text.push_str(&format!("[gates]\nbaseline = {}\n", self.baseline && level.has_gates()));
        if level == Level::Strict {
            text.push_str("clean = true\n");
            if !self.protected.is_empty() {
                let (files, how) = (self.protected, "on_protected = \"reject\"");
                text.push_str(&format!("protected = {files:?}\n{how}\n"));
            }
            text.push_str(&format!("[git.worktree]\nsetup = {:?}\n", self.setup));
        }
        if level.has_gates() && !self.in_agents_md {
            let gates = [("build", self.first), ("check", self.gate)];
            for (name, gate) in gates.into_iter().filter(|(_, gate)| !gate.is_empty()) {
                text.push_str(&format!("[[gate]]\nname = \"{name}\"\ncommand = {gate:?}\n"));
            }
        }
        text
    }

    fn run(&self, played: &[&Played], level: Level) -> (TestEnv, Measured) {
        let mut env = self.prepare(level);
        let limit = played.len().to_string();
        let mut arguments = vec!["build", &limit, "--set", "loop.verify=false"];
        let preset = match self.plan {
            Plan::Task => "dag",
            Plan::Pick => "pick",
            Plan::Progress => "progress",
            Plan::Checklist => "checklist",
        };
        arguments.extend(["--preset", preset]);
        let script = ["--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
        match played[0] {
            Played::Claude(body) => drop(stand_in(&mut env, body)),
            Played::Script(_) => arguments.extend(script),
        }
        let steps = played.iter().filter_map(|played| match played {
            Played::Script(steps) => Some(steps.join("\n")),
            Played::Claude(_) => None,
        });
        let steps: Vec<String> = steps.collect();
        cassette(&env, &steps.iter().map(String::as_str).collect::<Vec<_>>());
        if std::ptr::eq(played[0], &raw const self.lie) {
            arguments.extend(self.arguments);
        }
        let ran = env.ralph(&arguments);
        let (journal, output) = (journal(&env), ran.stderr);
        let ended = of_kind(&journal, "run_ended");
        let stop = ended.first().map(|event| event["outcome"]["reason"]["stop"].clone());
        let stop = stop.unwrap_or_default();
        let stop = stop.as_str().unwrap_or("none");
        let finished = matches!(stop, "complete" | "marker");
        let accepted = finished || self.target_is_done(&env);
        let fault = (stop == "none" || stop == "error")
            .then(|| format!("{}: the run did not end as it should: {output}", self.name));
        let why = why(&journal, stop);
        (env, Measured { accepted, why, fault })
    }

    fn target_is_done(&self, env: &TestEnv) -> bool {
        let listed: Vec<Value> = ralph_testkit::data(&env.task(&["list", "--all", "--json"]));
        let is_target = |task: &&Value| task["id"] == self.target || task["title"] == self.target;
        listed.iter().filter(is_target).any(|task| task["status"] == "done")
    }
}

/// What refused the request, from what the run told of its first iteration.
fn why(journal: &[Value], stop: &str) -> String {
    if stop == "git_failed" {
        return "not on the branch of the run".to_owned();
    }
    let Some(first) = of_kind(journal, "iteration_ended").first().copied() else {
        return stop.replace('_', " ");
    };
    let refused = of_kind(journal, "judged").first().is_some_and(|event| {
        let gates = event["gates"].as_array().cloned().unwrap_or_default();
        gates.iter().any(|gate| gate["name"] == "protected files" && gate["verdict"] == "fail")
    });
    match first["class"].as_str().unwrap_or_default() {
        "red" if refused => "protected files".to_owned(),
        "red" => "gate".to_owned(),
        "unchanged" => "nothing changed".to_owned(),
        "no_signal" => "no request".to_owned(),
        "wrong_id" => "not its task".to_owned(),
        "done" => "open tasks".to_owned(),
        other => format!("end: {}", other.replace('_', " ")),
    }
}
