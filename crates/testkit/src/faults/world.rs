//! A repository with a plan, the user's unfinished work and a stand-in for the agent, and everything that
//! must be true of it once a run has ended, however often it was killed on the way.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use ralph_core::records::LogKind;
use ralph_core::run::{Fact, RunEvent};
use ralph_core::task::Status;
use ralph_core::{TaskId, Timestamp};
use ralph_engine::clock::{Stopwatch, now};
use ralph_engine::ports::{Filter, Store};
use ralph_engine::run_files::RunLogs;
use ralph_engine::run_files::{journal, state_file};
use ralph_engine::store::SqliteStore;

use super::Setting;
use crate::{TestEnv, Times};

/// The plan, in its order, and what happens to each task.
const PLAN: [(&str, Status); 5] = [
    ("write", Status::Done),
    ("fail", Status::Failed),
    ("red", Status::Done),
    ("ask", Status::Waiting),
    ("own", Status::Done),
];
/// The exit code of the whole plan: a question remains.
pub(super) const BLOCKED: i32 = 7;
/// What the user had not committed, and never does.
const PERSONAL: [(&str, &str); 2] =
    [("notes.txt", "first\nnot committed\n"), ("mine.txt", "mine\n")];
/// The folders that sandboxed sessions may write in, made before the first session.
const BOXES: [&str; 3] = ["box", "skills", "features"];
/// What may lie in `.ralph/`.
const OWN: [&str; 4] = ["logs", "progress.db", "run.lock", "state.toml"];

/// A run that takes longer than this hangs.
const HANGS: Duration = Duration::from_secs(150);

/// A repository with a plan.
pub struct World {
    /// Where it lies.
    pub env: TestEnv,
    /// The call of ralph.
    arguments: Vec<String>,
    tasks: Vec<String>,
    sandboxed: bool,
}

/// A run that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Built {
    /// How it ended.
    pub end: ExitStatus,
    /// How long it took.
    pub took: Duration,
    /// From its start to its first event; `None` when it did not get that far.
    pub began: Option<Duration>,
    /// It did not end by itself in any reasonable time, and was killed.
    pub hung: bool,
}

impl Built {
    /// Whether it was killed.
    pub fn was_killed(&self) -> bool {
        self.end.signal() == Some(9) && !self.hung
    }
}

/// What is not as it should be.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) lost: Vec<String>,
    pub(super) duplicated: Vec<String>,
    pub(super) orphaned: Vec<String>,
    pub(super) hung: Vec<String>,
    pub(super) wrong: Vec<String>,
}

impl Findings {
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        let first = self.lost.iter().chain(&self.duplicated).chain(&self.orphaned);
        first.chain(&self.hung).chain(&self.wrong)
    }
}

impl World {
    /// A fresh one whose plan begins with its `by`-th task. What its sessions call done is verified.
    pub fn turned(setting: &Setting, by: usize) -> Self {
        let mut tasks = PLAN.map(|(id, _)| id);
        tasks.rotate_left(by % PLAN.len());
        let mut world = Self::with(setting, &tasks);
        world.env.with_verifier();
        world
    }

    /// One with other tasks. Those that are not of the plan above are done when `TASK.txt` says so.
    pub fn with(setting: &Setting, tasks: &[&str]) -> Self {
        Self::within(TestEnv::without_repository(&setting.ralph), setting, tasks)
    }

    /// The same in an environment that has no repository yet, or an empty folder for it.
    pub(super) fn within(mut env: TestEnv, setting: &Setting, tasks: &[&str]) -> Self {
        let _ = std::fs::create_dir(env.repo());
        unpack(template(), &env.repo());
        for folder in ["bin", "tmp", "run"] {
            std::fs::create_dir(env.folder().join(folder)).unwrap();
        }
        let agent = env.folder().join("bin/claude");
        std::fs::write(&agent, include_str!("claude.sh")).unwrap();
        std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let folder = |name: &str| env.folder().join(name).into_os_string().into_string().unwrap();
        let (bin, tmp, run) = (folder("bin"), folder("tmp"), folder("run"));
        env.set("PATH", &format!("{bin}:{path}"));
        env.at_level(&setting.level, "the fault campaign measures each level by itself");
        env.leaves_processes("a killed run leaves what its sessions started");
        if setting.times == Times::Short {
            env.hurry();
        }
        env.set("TMPDIR", &tmp).set("XDG_RUNTIME_DIR", &run);
        // Two runs with the same names would be one.
        env.set("RALPH_TEST_SEED", "");
        let plan: String =
            tasks.iter().map(|id| format!("{{\"id\":\"{id}\",\"t\":\"Task {id}\"}}\n")).collect();
        env.ralph_with(&["task", "plan-sync"], plan).success();
        let sandboxed = setting.level != "none";
        let mut arguments = vec![
            "build".to_owned(),
            "--set".to_owned(),
            format!("sandbox.level={}", setting.level),
        ];
        if sandboxed {
            let notes = format!("sandbox.writable=[{:?}]", env.folder().join("notes"));
            arguments.extend(["--set".to_owned(), notes]);
        }
        Self { env, arguments, tasks: tasks.iter().map(|&id| id.to_owned()).collect(), sandboxed }
    }

    /// Gives every later run these arguments too.
    pub(super) fn and(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Tasks that came to the plan later.
    pub(super) fn expect(&mut self, tasks: &[String]) {
        self.tasks.extend_from_slice(tasks);
    }

    /// What happens to each task.
    fn wanted(&self) -> Vec<(&str, Status)> {
        let of = |id: &str| PLAN.iter().find(|(known, _)| *known == id).map(|(_, status)| *status);
        self.tasks.iter().map(|id| (id.as_str(), of(id).unwrap_or(Status::Done))).collect()
    }

    /// What is committed in the end.
    fn committed(&self) -> Vec<(String, String)> {
        let done = self.wanted().into_iter().filter(|(_, status)| *status == Status::Done);
        let of = |id: &str| match id {
            "write" => ("src/write.txt".to_owned(), "write\n".to_owned()),
            "red" => ("red.txt".to_owned(), "right\n".to_owned()),
            id => (format!("{id}.txt"), format!("{id}\n")),
        };
        let mut all: Vec<(String, String)> = done.map(|(id, _)| of(id)).collect();
        if self.tasks.iter().any(|id| id == "top") {
            let shared = "top changed\n\n\n\nbottom changed\n";
            all.push(("shared.txt".to_owned(), shared.to_owned()));
        }
        all
    }

    /// The call of `ralph build`, not started.
    pub(super) fn command(&self) -> Command {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.env.command(&arguments)
    }

    /// `ralph build`, told to a file: what a killed run leaves must not hold a pipe of ours.
    pub fn start(&self, crash: Option<&str>) -> Child {
        let mut command = self.command();
        self.append_output_to(&mut command, "said.txt");
        if let Some(crash) = crash {
            command.env("RALPH_TEST_CRASH", crash);
        }
        command.spawn().unwrap()
    }

    /// Has a call say what it says to a file of the world.
    pub(super) fn append_output_to(&self, command: &mut Command, file: &str) {
        let output = self.env.folder().join(file);
        let output =
            || -> File { OpenOptions::new().create(true).append(true).open(&output).unwrap() };
        command.stdout(output()).stderr(output());
    }

    /// Builds to the end, or to the armed point.
    pub fn build(&self, crash: Option<&str>) -> Built {
        self.build_disturbed(crash, |_| {})
    }

    /// The same; `disturb` may do something to the process.
    pub fn build_disturbed(&self, crash: Option<&str>, disturb: impl FnOnce(&mut Child)) -> Built {
        let (at, clock) = (now(), Stopwatch::start());
        let mut child = self.start(crash);
        disturb(&mut child);
        self.ended(child, at, clock)
    }

    /// Waits for a run that was started then.
    pub(super) fn ended(&self, mut child: Child, at: Timestamp, clock: Stopwatch) -> Built {
        let mut hung = false;
        let end = loop {
            if let Some(end) = child.try_wait().unwrap() {
                break end;
            }
            if clock.elapsed() > HANGS {
                hung = true;
                let _ = child.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        Built { end, took: clock.elapsed(), began: self.began_since(at), hung }
    }

    /// How long after `at` the last run told its first event.
    fn began_since(&self, at: Timestamp) -> Option<Duration> {
        let starts = self.journals().into_iter().filter_map(|events| Some(events.first()?.at));
        let last = starts.max().filter(|last| *last >= at)?;
        Some(Duration::from_millis(last.millis_since(at)))
    }

    fn logs(&self) -> Vec<RunLogs> {
        RunLogs::all(&self.env.repo().join(".ralph/logs")).unwrap()
    }

    /// The journals of all runs.
    pub(super) fn journals(&self) -> Vec<Vec<RunEvent>> {
        self.logs().iter().filter_map(|run| journal::read(&run.journal()).ok()).collect()
    }

    /// What the runs said.
    pub fn output(&self) -> String {
        std::fs::read_to_string(self.env.folder().join("said.txt")).unwrap_or_default()
    }

    /// What sessions leave beside the repository.
    pub fn note(&self, name: &str) -> PathBuf {
        self.env.folder().join("notes").join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.env.repo().join(name)
    }

    pub(super) fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.env.store()).unwrap()
    }

    /// The plan.
    pub fn statuses(&self) -> BTreeMap<String, Status> {
        let tasks = self.store().list(&Filter::default()).unwrap();
        tasks.into_iter().map(|task| (task.id.to_string(), task.status)).collect()
    }

    /// Whether every task is as it is to be in the end.
    pub(super) fn is_finished(&self) -> bool {
        let statuses = self.statuses();
        self.wanted().iter().all(|(id, wanted)| statuses.get(*id) == Some(wanted))
    }

    /// Has the gate note that it runs, and take its time.
    pub(super) fn gate_notes(&self, name: &str) {
        let command =
            format!("touch ../notes/{name}; sleep 0.5; test ! -e red.txt || grep -q right red.txt");
        let text = format!("[[gate]]\nname = \"right\"\ncommand = \"{command}\"\n");
        self.env.write("ralph.toml", text);
        self.env.git(&["commit", "--quiet", "-m", "gate", "--", "ralph.toml"]);
    }

    /// Tasks that are claimed.
    pub fn claimed(&self) -> Vec<String> {
        let tasks = self.store().list(&Filter::default()).unwrap();
        let claimed = tasks.iter().filter(|task| task.claim.is_some());
        claimed.map(|task| task.id.to_string()).collect()
    }

    /// Looks at everything after the last build.
    pub(super) fn check(&self, last: &Built) -> Findings {
        let mut found = Findings::default();
        let code = if self.tasks.iter().any(|id| id == "ask") { BLOCKED } else { 0 };
        if last.hung {
            found.hung.push(format!("the last build was killed after {:?}", last.took));
        }
        if last.end.code() != Some(code) {
            found.wrong.push(format!("the last build ended with {}", last.end));
        }
        self.check_tasks(&mut found);
        self.check_git(&mut found);
        self.check_files(&mut found);
        let orphans = self.processes();
        found.orphaned.extend(orphans.iter().map(|process| format!("process {process}")));
        found
    }

    fn check_tasks(&self, found: &mut Findings) {
        let statuses = self.statuses();
        let mut store = self.store();
        let mut reported: BTreeMap<String, u32> = BTreeMap::new();
        for event in self.journals().into_iter().flatten() {
            if let Fact::TaskSettled { task, status: Status::Done, .. } = event.fact {
                *reported.entry(task.to_string()).or_default() += 1;
            }
        }
        for (id, wanted) in self.wanted() {
            let status = statuses.get(id).copied();
            if status != Some(wanted) {
                found.lost.push(format!("{id} is {status:?} and not {wanted}"));
            }
            let kind = match wanted {
                Status::Done => LogKind::Done,
                Status::Failed => LogKind::Failed,
                _ => LogKind::Asked,
            };
            let log = store.log(&TaskId::new(id).unwrap()).unwrap();
            let entries = log.iter().filter(|entry| entry.kind == kind).count();
            if entries > 1 {
                found.duplicated.push(format!("{id} was {kind} {entries} times"));
            }
            let reported = reported.get(id).copied().unwrap_or(0);
            if reported > u32::from(wanted == Status::Done) {
                found.duplicated.push(format!("{id} was told to be done {reported} times"));
            }
        }
        let journals = self.journals();
        let ended = |events: &Vec<RunEvent>| {
            events.iter().any(|event| matches!(event.fact, Fact::RunEnded { .. }))
        };
        if !journals.iter().any(ended) {
            found.lost.push("no journal has the end of the run".to_owned());
        }
    }

    fn check_git(&self, found: &mut Findings) {
        let git = |arguments: &[&str]| self.env.git(arguments);
        let head: HashSet<String> =
            git(&["ls-tree", "-r", "--name-only", "HEAD"]).lines().map(str::to_owned).collect();
        for (file, text) in self.committed() {
            let there = head.contains(&file) && git(&["show", &format!("HEAD:{file}")]) == text;
            if !there {
                found.lost.push(format!("{file} is not as it should be in HEAD"));
            }
        }
        for file in head.iter().filter(|file| file.contains("fail") || file.contains(".ralph")) {
            found.wrong.push(format!("{file} was committed"));
        }
        // Everything that any ref leads to.
        let kept = git(&["rev-list", "--objects", "--all"]);
        let kept: HashSet<&str> =
            kept.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        let ledger = std::fs::read_to_string(self.note("ledger")).unwrap_or_default();
        let half =
            ["fail", "ask"].into_iter().filter(|id| self.tasks.iter().any(|task| task == id));
        let half: Vec<String> = half.map(|id| format!("{id}.txt")).collect();
        for file in ledger.lines().chain(half.iter().map(String::as_str)) {
            if !kept.contains(file) && !self.file(file).exists() {
                found.lost.push(format!("{file} is neither in the worktree nor saved"));
            }
        }
        if self.file("fail.txt").exists() {
            found.wrong.push("the work of the failed task was not put back".to_owned());
        }
        for (file, text) in PERSONAL {
            if std::fs::read_to_string(self.file(file)).ok().as_deref() != Some(text) {
                found.lost.push(format!("the person's {file}"));
            }
        }
        if head.contains("mine.txt") || git(&["show", "HEAD:notes.txt"]) != "first\n" {
            found.wrong.push("the person's work was committed".to_owned());
        }
        let fsck = Command::new("git")
            .args(["fsck", "--no-dangling", "--no-progress"])
            .current_dir(self.env.repo())
            .output()
            .unwrap();
        if !fsck.status.success() {
            found.wrong.push(format!("git fsck: {}", String::from_utf8_lossy(&fsck.stderr)));
        }
    }

    fn check_files(&self, found: &mut Findings) {
        let state = state_file::read(&self.file(".ralph/state.toml"));
        match state {
            Ok(Some(state))
                if !state.active && state.finished && state.control_socket.is_none() => {}
            other => found.wrong.push(format!("state.toml is {other:?}")),
        }
        for name in names(&self.file(".ralph")) {
            let markers = name == "worktrees" && names(&self.file(".ralph/worktrees")).is_empty();
            let boxes = BOXES.contains(&name.as_str());
            if !OWN.contains(&name.as_str())
                && !name.starts_with("progress.db-")
                && !markers
                && !boxes
            {
                found.wrong.push(format!(".ralph/{name} was left"));
            }
        }
        for lock in locks(&self.file(".git")) {
            found.orphaned.push(lock.display().to_string());
        }
        if self.file(".worktrees").exists() || !names(&self.file(".git/worktrees")).is_empty() {
            found.orphaned.push("worktrees".to_owned());
        }
        let branches = self.env.git(&["branch", "--list", "--format=%(refname:short)", "ralph/*"]);
        found.orphaned.extend(branches.lines().map(|branch| format!("the branch {branch}")));
        // The lock that all runs of the user share stays.
        for name in names(&self.env.folder().join("run/ralph")) {
            if name != "lock" {
                found.orphaned.push(format!("a folder of sockets, {name}"));
            }
        }
        for name in names(&self.env.folder().join("tmp")) {
            found.orphaned.push(format!("a temporary file, {name}"));
        }
    }

    /// Processes of sessions of this world that live.
    pub fn processes(&self) -> Vec<u32> {
        let all = names(Path::new("/proc"));
        let all = all.iter().filter_map(|name| name.parse().ok());
        all.filter(|pid| self.is_of_session(*pid)).collect()
    }

    fn is_of_session(&self, pid: u32) -> bool {
        let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
        let text = String::from_utf8_lossy(&environment);
        text.contains(&format!("HOME={}\0", self.env.home().display()))
            && text.contains("RALPH_MARK=")
    }

    /// The process of the session that runs now.
    pub(super) fn agent(&self) -> Option<u32> {
        if self.sandboxed {
            // In a box it may have another number.
            return self.processes().into_iter().find(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line);
                line.starts_with("/bin/sh\0") && line.contains("/bin/claude\0")
            });
        }
        let text = std::fs::read_to_string(self.note("agent.pid")).ok()?;
        text.trim().parse().ok().filter(|pid| self.is_of_session(*pid))
    }
}

/// The repository that worlds are copies of, as an archive: a folder would be left when the test ends.
fn template() -> &'static [u8] {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    let make = || {
        // Nothing here calls ralph.
        let env = TestEnv::new("ralph");
        for name in ["user.name", "user.email"] {
            env.git(&["config", name, "tester"]);
        }
        std::fs::remove_dir_all(env.repo().join(".git/hooks")).unwrap();
        env.write("notes.txt", "first\n");
        env.write("shared.txt", "top\n\n\n\nbottom\n");
        let gate = "[[gate]]\nname = \"right\"\ncommand = \"test ! -e red.txt || grep -q right red.txt\"\n";
        env.write("ralph.toml", gate);
        env.git(&["add", "-A"]);
        env.git(&["commit", "--quiet", "-m", "first"]);
        for (file, text) in PERSONAL {
            env.write(file, text);
        }
        let packed = Command::new("tar").arg("-C").arg(env.repo()).args(["-c", "."]).output();
        let packed = packed.unwrap();
        assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
        packed.stdout
    };
    TEMPLATE.get_or_init(make)
}

fn unpack(archive: &[u8], folder: &Path) {
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(folder).arg("-x").stdin(Stdio::piped());
    let mut tar = tar.spawn().unwrap();
    tar.stdin.take().unwrap().write_all(archive).unwrap();
    assert!(tar.wait().unwrap().success());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn locks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("objects") {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}
