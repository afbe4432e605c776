//! What tests share: a hermetic environment that runs the real binary, and honest skipping. Never
//! part of the product.

#![expect(clippy::disallowed_methods, reason = "tests start programs and read the environment")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

pub mod acp;
pub mod agents;
pub mod claude;
pub mod fake_vcs;
pub mod faults;
pub mod github;
pub mod leftovers;
mod levels;
mod memory_store;
pub mod model_server;
pub mod real_agent;
pub mod setup;
pub mod shared_store;
pub mod threats;

use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

pub use memory_store::{MemoryStore, MemoryTable, memory_store};
use ralph_engine::clock::Stopwatch;

/// A git repository and a home of its own, and a way to call the binary in it.
pub struct TestEnv {
    folder: tempfile::TempDir,
    binary: PathBuf,
    variables: Vec<(String, String)>,
    verifies: bool,
    level: levels::Level,
    /// Why processes may be left when the test ends.
    kills: Option<&'static str>,
}

/// The data of an answer that a command printed with `--json`.
pub fn data<T: serde::de::DeserializeOwned>(answer: &str) -> T {
    let mut answer: serde_json::Value = serde_json::from_str(answer).unwrap();
    assert!(answer["v"] == 1 && answer["kind"].is_string(), "{answer}");
    let data = answer.as_object_mut().and_then(|answer| answer.remove("data"));
    serde_json::from_value(data.unwrap()).unwrap()
}

/// No test leaves a process behind.
impl Drop for TestEnv {
    fn drop(&mut self) {
        leftovers::check(self.folder.path(), self.kills);
    }
}

impl TestEnv {
    /// An empty repository. `binary` is the ralph to test.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let env = Self::without_repository(binary);
        std::fs::create_dir(env.repo()).unwrap();
        env.git(&["init", "--quiet", "--initial-branch=main"]);
        env
    }

    /// A home and no repository.
    pub fn without_repository(binary: impl Into<PathBuf>) -> Self {
        Self::within(binary.into(), tempfile::tempdir().unwrap())
    }

    fn within(binary: PathBuf, folder: tempfile::TempDir) -> Self {
        for name in ["home", "notes"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let level = levels::Level::default();
        Self { folder, binary, variables: vec![], verifies: false, level, kills: None }
    }

    /// A home and no repository, below this folder and not where temporary files lie.
    pub fn below(binary: impl Into<PathBuf>, place: &Path) -> Self {
        std::fs::create_dir_all(place).unwrap();
        Self::within(binary.into(), tempfile::tempdir_in(place).unwrap())
    }

    /// An empty repository in memory, where the machine has such a place: for tests that are many and ask
    /// nothing of the disk. What ralph itself writes to temporary folders lies there too.
    pub fn in_memory(binary: impl Into<PathBuf>) -> Self {
        let folder = tempfile::Builder::new().prefix("ralph-test-").tempdir_in("/dev/shm");
        let folder = folder.or_else(|_| tempfile::tempdir()).unwrap();
        let mut env = Self::within(binary.into(), folder);
        for name in ["tmp", "repo"] {
            std::fs::create_dir(env.folder().join(name)).unwrap();
        }
        let tmp = env.folder().join("tmp").display().to_string();
        env.set("TMPDIR", &tmp);
        env.git(&["init", "--quiet", "--initial-branch=main"]);
        env
    }

    /// The folder that holds everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The repository.
    pub fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A file in the folder for notes, beside the repository. Sessions and gates may write there at every
    /// level: `../notes/NAME` from the repository.
    pub fn note(&self, name: &str) -> PathBuf {
        self.folder.path().join("notes").join(name)
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.repo().join(".ralph/progress.db")
    }

    /// Sets a variable for every later call.
    pub fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves it to the preset whether a verifier looks at the work. Otherwise no run has one unless it
    /// asks for it: most tests are about something else.
    pub fn with_verifier(&mut self) -> &mut Self {
        self.verifies = true;
        self
    }

    /// Runs ask for this sandbox level. Otherwise it is `auto`, the default of every user. `./check` lists how
    /// many tests run at another level, and the reasons.
    pub fn at_level(&mut self, level: &str, reason: &'static str) -> &mut Self {
        self.level = levels::Level::new(level, reason);
        self
    }

    /// Runs have no sandbox, for this reason.
    pub fn without_sandbox(&mut self, reason: &'static str) -> &mut Self {
        self.at_level("none", reason)
    }

    /// This test kills ralph, so processes of its sessions may be left. They end with the test.
    pub fn leaves_processes(&mut self, reason: &'static str) -> &mut Self {
        self.kills = Some(reason);
        self
    }

    /// ralph makes the pauses before another try a hundred times shorter.
    pub fn hurry(&mut self) -> &mut Self {
        self.set("RALPH_TEST_HURRY", "100")
    }

    /// Writes a file of the repository.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs git in the repository.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output =
            self.clean(Command::new("git")).args(arguments).current_dir(self.repo()).output();
        let output = output.unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Gives the repository a user who commits: Tester, tester@example.org. Without git, which takes longer.
    pub fn identify(&self) {
        let config = self.repo().join(".git/config");
        let mut config = OpenOptions::new().append(true).open(config).unwrap();
        config.write_all(b"[user]\n\tname = Tester\n\temail = tester@example.org\n").unwrap();
    }

    fn clean(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("USER", "tester")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RALPH_TEST_SEED", "7")
            .stdin(Stdio::null());
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }

    /// A call of another program in the repository, not started. It finds the ralph under test by its name.
    pub fn program(&self, name: &str) -> Command {
        let mut command = self.clean(Command::new(name));
        let own = self.binary.parent().into_iter().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all: Vec<PathBuf> = own.chain(std::env::split_paths(&path)).collect();
        command.env("PATH", std::env::join_paths(all).unwrap()).current_dir(self.repo());
        command
    }

    /// A call of ralph in the repository, not started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.clean(Command::new(&self.binary));
        let place = if self.repo().is_dir() { self.repo() } else { self.folder().to_owned() };
        command.current_dir(place).args(arguments);
        let loops = arguments.iter().any(|argument| matches!(*argument, "build" | "run" | "loop"));
        let works = ["plan", "--plan", "prompt", "feature"];
        if loops || arguments.iter().any(|argument| works.contains(argument)) {
            command.env("RALPH_SANDBOX_LEVEL", self.level.name());
            if !self.variables.iter().any(|(name, _)| name == "RALPH_SANDBOX_WRITABLE") {
                command.env("RALPH_SANDBOX_WRITABLE", self.folder().join("notes"));
            }
            self.level.record();
        }
        if loops && !self.verifies {
            command.env("RALPH_LOOP_VERIFY", "false");
        }
        command
    }

    /// Runs ralph.
    pub fn ralph(&self, arguments: &[&str]) -> Ran {
        Ran::of(arguments, self.command(arguments).output().unwrap())
    }

    /// Runs ralph with something on its standard input.
    pub fn ralph_with(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_owned();
        let writer = std::thread::spawn(move || {
            // The program may end before it has read everything.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::of(arguments, output)
    }

    /// Starts ralph and does not wait for it.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs `ralph task` and returns what it printed; it must succeed.
    pub fn task(&self, arguments: &[&str]) -> String {
        let mut all = vec!["task"];
        all.extend(arguments);
        self.ralph(&all).success()
    }

    /// Runs a command with `--json` and returns the data of its answer; it must succeed.
    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        data(&self.ralph(&all).success())
    }

    /// Runs `ralph task` as an agent.
    pub fn task_as(&self, agent: &str, arguments: &[&str]) -> Ran {
        let mut all = vec!["task"];
        all.extend(arguments);
        let output = self.command(&all).env("RALPH_AGENT_ID", agent).output().unwrap();
        Ran::of(&all, output)
    }
}

/// A call that has ended.
#[derive(Debug)]
pub struct Ran {
    call: String,
    /// The exit code; 128 and more for a signal.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it said.
    pub stderr: String,
}

impl Ran {
    /// The result of a call.
    pub fn of(arguments: &[&str], output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Self {
            call: arguments
                .iter()
                .map(|word| word.chars().take(60).collect::<String>() + " ")
                .collect(),
            code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Waits for a call that was started with pipes.
    pub fn end_of(child: Child) -> Self {
        Self::of(&["(started)"], child.wait_with_output().unwrap())
    }

    /// What it printed; it must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.code, 0, "ralph {}\n{}", self.call, self.stderr);
        self.stdout
    }

    /// What it said; it must have failed with this code, in a sentence, without printing data.
    #[track_caller]
    pub fn failure(self, code: i32) -> String {
        assert_eq!(self.code, code, "ralph {}\n{}{}", self.call, self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "ralph {} printed data", self.call);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert!(self.stderr.starts_with("error:"), "{}", self.stderr);
        self.stderr
    }
}

/// Prints that a test could not check something here, and why. `./check` counts these.
pub fn skip(what: &str) {
    if let Some(file) = std::env::var_os("RALPH_SKIPS") {
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        writeln!(file, "{what}").unwrap();
    }
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

/// Waits until something is so; what it is goes into the message when it never is.
#[track_caller]
pub fn wait_until(what: &str, at_most: Duration, mut so: impl FnMut() -> bool) {
    let clock = Stopwatch::start();
    while !so() {
        assert!(clock.elapsed() < at_most, "waited {at_most:?}, and still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, such as `TERM`, to a process.
pub fn send_signal(name: &str, pid: u32) {
    // The shell's own: not every machine has the program.
    let status = Command::new("sh").args(["-c", &format!("kill -s {name} {pid}")]).status();
    assert!(status.unwrap().success(), "no process {pid} to send {name} to");
}

/// How long a campaign is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// As in a normal run of the tests.
    Short,
    /// As under `./check --full`.
    Full,
    /// So many tries of each.
    Number(usize),
}

impl Times {
    /// `short`, `full` or a number.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "short" => Some(Self::Short),
            "full" => Some(Self::Full),
            number => Some(Self::Number(number.parse().ok().filter(|times| *times > 0)?)),
        }
    }

    /// What `./check` asks for.
    pub fn from_environment() -> Self {
        let wanted = std::env::var("RALPH_CAMPAIGN").unwrap_or_default();
        Self::parse(&wanted).unwrap_or(Self::Short)
    }

    /// One in `every` of the cases in a short campaign, beginning with another one for each seed; otherwise all.
    pub fn sampled<T>(self, seed: u64, every: usize, cases: Vec<T>) -> Vec<T> {
        let every = match self {
            Self::Short => every.min(cases.len()).max(1),
            Self::Full | Self::Number(_) => 1,
        };
        cases.into_iter().skip(seed as usize % every).step_by(every).collect()
    }

    /// How often a campaign goes round that is so long in each.
    pub fn of(self, short: usize, full: usize) -> usize {
        match self {
            Self::Short => short,
            Self::Full => full,
            Self::Number(times) => times,
        }
    }
}

/// How often a campaign goes round: `short` in a normal run, `full` under `./check --full`.
pub fn times(short: usize, full: usize) -> usize {
    Times::from_environment().of(short, full)
}

/// What chance hangs on in a normal run of the tests. `./check` takes another number for each commit, so that in
/// the course of time a sample covers everything.
pub fn sample() -> u64 {
    std::env::var("RALPH_SAMPLE").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The cases that a run of the tests looks at: one in `every` in a normal run, all of them under `./check --full`.
pub fn sampled<T>(every: usize, cases: Vec<T>) -> Vec<T> {
    Times::from_environment().sampled(sample(), every, cases)
}

/// Whether `./check` plays this test for this [`sample`]: by chance one in `every` of those that ask. A test that you
/// call alone always plays, and so does every one under `./check --full`.
pub fn has_turn(every: u64) -> bool {
    let is_sample = std::env::var_os("RALPH_SAMPLE").is_some();
    if !is_sample || Times::from_environment() != Times::Short {
        return true;
    }
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    let plays = is_drawn(name, sample(), every);
    if !plays && let Some(file) = std::env::var_os("RALPH_LEFT_OUT") {
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        writeln!(file, "{name}").unwrap();
    }
    plays
}

fn is_drawn(name: &str, seed: u64, every: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    (name, seed).hash(&mut hasher);
    hasher.finish().is_multiple_of(every)
}

/// The numbers of the cases that a campaign of numbered cases tries: `short` of the `full` ones in a normal run,
/// another part of them for each [`sample`].
pub fn numbers(short: usize, full: usize) -> impl Iterator<Item = u64> {
    let count = times(short, full);
    let first = if count < full { sample() as usize * count % full } else { 0 };
    (0..count).map(move |number| ((first + number) % full.max(count)) as u64)
}

/// A namespace of our own, where anybody may mount: `unshare` and a shell script. `None`, with a printed
/// warning, where the machine does not allow it.
pub fn private_mounts(what: &str, script: &str) -> Option<Command> {
    let mut probe = Command::new("unshare");
    probe.args(["--user", "--map-root-user", "--mount", "true"]);
    let works = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        skip(&format!("{what}: no user namespaces here"));
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "bash", "-euc", script]);
    Some(command)
}

/// The text with `TIME` in place of each time that ralph shows: `2026-11-15 02:45:00 UTC`, or RFC 3339.
pub fn without_times(text: &str) -> String {
    const SHAPES: [&str; 2] = ["0000-00-00 00:00:00 UTC", "0000-00-00T00:00:00Z"];
    let mut shown = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let is_time = |shape: &&str| {
            let part = rest.get(..shape.len()).unwrap_or_default();
            part.replace(|c: char| c.is_ascii_digit(), "0") == **shape
        };
        match SHAPES.iter().find(|shape| is_time(shape)) {
            Some(shape) => {
                shown.push_str("TIME");
                rest = &rest[shape.len()..];
            }
            None => {
                shown.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_turn_and_no_commit_plays_them_all() {
        let names = ["real_agents::gemini::a", "real_agents::opencode::b", "acp::c"];
        for name in names {
            let played = (0..300).filter(|seed| is_drawn(name, *seed, 3)).count();
            assert!((60..140).contains(&played), "{name}: {played} of 300");
        }
        let all = |seed: &u64| names.iter().all(|name| is_drawn(name, *seed, 3));
        assert!((0..300).filter(all).count() < 60);
    }
}
