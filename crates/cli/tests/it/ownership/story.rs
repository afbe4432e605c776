//! A story: what each session does, what the user does between runs, and how each run ends. It hangs on its seed
//! alone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fastrand::Rng;
use ralph_testkit::TestEnv;

use crate::looping::{project, runs, say, session, sh, show};

/// The tasks; a session's files begin with the name of its task.
pub(super) const TASKS: [&str; 2] = ["a", "b"];

/// How a session ends. It has always written a file of its own first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    /// Its work is good.
    Done,
    /// It asks for done, and the gate is red.
    Red,
    /// It asks the user.
    Asks,
    /// It ends without a word.
    Silent,
    /// It crashes.
    Crashes,
    /// It commits by itself and asks for done.
    Commits,
    /// It changes a file that both tasks change, and its work is good.
    Shares,
}

/// What happens between two sessions or runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A run with so many sessions at most.
    Run(u32),
    /// A run that is killed at a point.
    Killed(&'static str),
    /// The user writes a new file.
    Creates,
    /// The user changes a tracked file and does not commit it.
    Edits,
    /// The user commits a file.
    Commits,
    /// The user makes the other task the more urgent one.
    Turns,
    /// The user answers all questions.
    Answers,
    /// The user takes a task up again from a clean slate.
    Resets(usize),
    /// While the next gate runs, the user writes a new file.
    DuringGate,
}

/// Points at which a run is killed.
const POINTS: [&str; 7] = [
    "session-started",
    "session-ended",
    "candidate-made",
    "gate-ended",
    "before-commit",
    "after-commit",
    "wip-saved",
];

/// What happens.
#[derive(Debug, Clone)]
pub(super) struct Story {
    sessions: Vec<Session>,
    steps: Vec<Step>,
}

impl Story {
    /// The story of a seed.
    pub(super) fn random(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let session = |random: &mut Rng| match random.u32(0..10) {
            0..=2 => Session::Done,
            3 => Session::Red,
            4 | 5 => Session::Asks,
            6 => Session::Silent,
            7 => Session::Crashes,
            8 => Session::Commits,
            _ => Session::Shares,
        };
        let sessions = (0..8).map(|_| session(&mut random)).collect();
        let step = |random: &mut Rng| match random.u32(0..12) {
            0..=3 => Step::Run(random.u32(1..4)),
            4 => Step::Killed(POINTS[random.usize(..POINTS.len())]),
            5 => Step::Creates,
            6 => Step::Edits,
            7 => Step::Commits,
            8 => Step::Turns,
            9 => Step::Answers,
            10 => Step::Resets(random.usize(..TASKS.len())),
            _ => Step::DuringGate,
        };
        let steps = (0..random.usize(4..9)).map(|_| step(&mut random)).collect();
        Self { sessions, steps }
    }

    /// How many things could be left out.
    pub(super) fn len(&self) -> usize {
        self.sessions.len() + self.steps.len()
    }

    /// The same without one of them.
    pub(super) fn without(&self, index: usize) -> Self {
        let mut shorter = self.clone();
        if index < self.steps.len() {
            shorter.steps.remove(index);
        } else {
            shorter.sessions.remove(index - self.steps.len());
        }
        shorter
    }
}

/// The repository, and what the user wrote into it.
pub(super) struct World {
    pub(super) env: TestEnv,
    /// Files of the user, and their text.
    pub(super) users: BTreeMap<PathBuf, String>,
    /// Counts what the user does.
    acts: u32,
}

/// The tracked file that the user edits.
pub(super) const MINE: &str = "mine.txt";

impl World {
    pub(super) fn new(story: &Story) -> Self {
        let mut env = project(&TASKS);
        env.without_sandbox("in place without a sandbox nothing else keeps work apart");
        env.leaves_processes("runs are killed");
        env.write(MINE, "the user's\n");
        env.write("shared.txt", "");
        // Red as long as a file says so. Once, the user writes a file meanwhile.
        let gate = "if mv ../notes/during . 2>/dev/null; then mv during user-gate.txt; fi; ! grep -l red [ab]-*.txt";
        let gate = toml::Value::String(gate.to_owned());
        env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {gate}\n"));
        env.git(&["add", "-A"]);
        env.git(&["commit", "-qm", "given"]);
        let mut sessions: Vec<String> =
            story.sessions.iter().enumerate().map(|(n, kind)| played(n, *kind)).collect();
        let last = sessions.len();
        // So that every story can come to an end.
        sessions.extend((last..last + 40).map(|n| played(n, Session::Done)));
        let text: String =
            sessions.iter().map(|one| format!("{{\"do\":\"session\"}}\n{one}\n")).collect();
        std::fs::write(env.folder().join("cassette.jsonl"), text).unwrap();
        Self { env, users: BTreeMap::new(), acts: 0 }
    }

    /// Plays the story and brings it to an end; what went wrong on the way.
    pub(super) fn play(&mut self, story: &Story) -> Vec<String> {
        let mut wrong = vec![];
        for step in &story.steps {
            wrong.extend(self.step(*step));
        }
        // Every session may ask once.
        for _ in 0..12 {
            self.step(Step::Answers);
            wrong.extend(self.run(&["--max-iterations", "12"], None));
            let open = |task: &&str| {
                !["done", "failed"].contains(&show(&self.env, task)["status"].as_str().unwrap())
            };
            if !TASKS.iter().any(open) {
                return wrong;
            }
        }
        wrong.push("the plan does not come to an end".to_owned());
        wrong
    }

    fn step(&mut self, step: Step) -> Option<String> {
        self.acts += 1;
        let name = format!("user-{}.txt", self.acts);
        match step {
            Step::Run(sessions) => {
                return self.run(&["--max-iterations", &sessions.to_string()], None);
            }
            Step::Killed(point) => return self.run(&["--max-iterations", "3"], Some(point)),
            Step::Creates => self.writes(&name, "new\n"),
            Step::Edits => self.writes(MINE, &format!("edited {}\n", self.acts)),
            Step::Commits => {
                let text = format!("committed {}\n", self.acts);
                self.env.write(&name, &text);
                self.env.git(&["add", "--", &name]);
                self.env.git(&["commit", "-q", "-m", "user", "--", &name]);
            }
            Step::Turns => {
                let _ = self.env.ralph(&["task", "update", "b", "-p", "0"]);
            }
            Step::Answers => {
                let open = self.env.ralph(&["answer", "--json"]).stdout;
                let open: serde_json::Value = serde_json::from_str(&open).unwrap_or_default();
                for question in open["data"].as_array().into_iter().flatten() {
                    let id = question["id"].as_str().unwrap();
                    self.env.ralph(&["answer", id, "Yes."]).success();
                }
            }
            // A done task stays done.
            Step::Resets(task) => {
                let _ = self.env.ralph(&["retry", TASKS[task]]);
            }
            Step::DuringGate => {
                std::fs::write(self.env.note("during"), "while gates ran\n").unwrap();
            }
        }
        None
    }

    fn writes(&mut self, name: &str, text: &str) {
        // Nobody edits within a tick of the file system's clock after a kill.
        std::thread::sleep(std::time::Duration::from_millis(25));
        self.env.write(name, text);
        self.users.insert(name.into(), text.to_owned());
    }

    /// A run of the loop. It may end as it likes, but not by a mistake of its own.
    fn run(&mut self, extra: &[&str], point: Option<&str>) -> Option<String> {
        let mut command = self.env.command(&crate::looping::arguments(extra));
        command.env("RALPH_TEST_CRASH", point.unwrap_or_default());
        let ran = ralph_testkit::Ran::of(extra, command.output().unwrap());
        if self.env.repo().join("user-gate.txt").exists() {
            self.users.insert("user-gate.txt".into(), "while gates ran\n".to_owned());
        }
        let killed = point.is_some() && ran.code == 128 + 9;
        let right = killed || [0, 3, 7].contains(&ran.code);
        (!right || ran.stderr.contains("panicked"))
            .then(|| format!("a run ended with {}: {}", ran.code, ran.stderr))
    }

    /// The journals of all runs, oldest first.
    pub(super) fn journals(&self) -> Vec<serde_json::Value> {
        let read = |folder: PathBuf| {
            let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            whole.map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
        };
        runs(&self.env).into_iter().flat_map(read).collect()
    }
}

/// The steps of the N-th session. Its file says its task and number; what it wrote is noted outside.
fn played(number: usize, kind: Session) -> String {
    let red = if kind == Session::Red { "red" } else { "good" };
    let mut script = format!(
        "t=$RALPH_TASK_ID; rm -f $(grep -l red $t-*.txt 2>/dev/null); \
         echo $t {number} {red} > $t-{number}.txt; echo $t-{number}.txt >> ../notes/written.$t; "
    );
    match kind {
        Session::Commits => script.push_str("git add $t-*.txt; git commit -qm \"own $t\"; "),
        Session::Shares => script.push_str("echo $t {number} >> shared.txt; "),
        _ => {}
    }
    let cost =
        format!("{{\"do\":\"usage\",\"input\":10,\"output\":1,\"usd\":0.{:02}}}", number + 1);
    let end = match kind {
        Session::Done | Session::Red | Session::Commits | Session::Shares => {
            say("<task-done>{id}</task-done>")
        }
        Session::Asks => say("<question>Which?</question>"),
        Session::Silent => say("Not yet."),
        Session::Crashes => "{\"do\":\"exit\",\"code\":1}".to_owned(),
    };
    session(&[sh(&script), cost, end])
}
