//! A session of the fake agent, and an ear that hears it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::agent::ProcessEnd;
use ralph_engine::process::{
    CommandSpec, Control, Delivery, Ended, LineEffect, Listener, Mark, Said, Stdin, Stop, Watch,
    supervise,
};
use tokio::sync::{mpsc, watch};

pub(crate) const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_fake_agent");
pub(crate) const SUPERVISED: &str = env!("CARGO_BIN_EXE_supervised");

/// How much later than promised something may be on a machine that does other things too.
pub(crate) const SLACK: Duration = Duration::from_millis(2_500);

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// No watchdog but one that ends a test that hangs.
pub(crate) fn patient() -> Watch {
    Watch {
        timeout: Some(Duration::from_secs(60)),
        silence: None,
        after_result: None,
        grace: ms(300),
        ..Watch::default()
    }
}

/// Hears everything; wants a stop when it hears a certain line.
pub(crate) struct RecordingListener {
    pub(crate) lines: Vec<String>,
    pub(crate) errors: Vec<String>,
    pub(crate) cut: usize,
    pub(crate) stop_at: Option<(&'static str, Stop)>,
    pub(crate) stop: watch::Sender<Stop>,
    pub(crate) printed_ready: watch::Sender<bool>,
    /// How often the lines that ask for a reply are repeated in it.
    pub(crate) reply: usize,
    /// What asks the agent to come to an end, where it can be asked.
    pub(crate) interrupt: Option<&'static str>,
    /// Texts that were passed on.
    pub(crate) said: Vec<Said>,
}

impl Listener for RecordingListener {
    fn stdout(&mut self, line: &[u8], cut: bool, replies: &mut Vec<u8>) -> LineEffect {
        let line = String::from_utf8_lossy(line).into_owned();
        if let Some((at, stop)) = self.stop_at
            && line == at
        {
            self.stop.send_replace(stop);
        }
        if line.starts_with("ask ") {
            replies.extend_from_slice(line.repeat(self.reply).as_bytes());
            replies.push(b'\n');
        }
        if line == "ready" {
            self.printed_ready.send_replace(true);
        }
        let effect = match &line {
            line if line.contains(r#""type":"result""#) => LineEffect::Result,
            line if line == "heard bye" => LineEffect::Result,
            line if line == "resumed" => LineEffect::Resumed,
            _ => LineEffect::Going,
        };
        self.cut += usize::from(cut);
        self.lines.push(line);
        effect
    }

    fn say(&mut self, said: Said) -> Option<Vec<u8>> {
        let words = format!("{}\n", said.text).into_bytes();
        said.report(Delivery::Sent);
        self.said.push(said);
        Some(words)
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.interrupt.map(|words| format!("{words}\n").into_bytes())
    }

    fn stderr(&mut self, line: &[u8]) {
        self.errors.push(String::from_utf8_lossy(line).into_owned());
    }
}

/// One session in a folder of its own.
pub(crate) struct Session {
    folder: tempfile::TempDir,
    pub(crate) spec: CommandSpec,
    pub(crate) watch: Watch,
    pub(crate) mark: Mark,
    pub(crate) listener: RecordingListener,
    pub(crate) say: mpsc::Sender<Said>,
    says: mpsc::Receiver<Said>,
}

impl Session {
    /// The fake agent; its pids are noted.
    pub(crate) fn of(arguments: &[&str]) -> Self {
        let mut session = Self::of_program(FAKE_AGENT, &[]);
        let pids = session.pids_file().into_os_string();
        session.spec.args = vec!["--pids".into(), pids];
        session.spec.args.extend(arguments.iter().map(Into::into));
        session
    }

    pub(crate) fn of_program(program: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spec = CommandSpec {
            program: program.as_ref().into(),
            args: arguments.iter().map(Into::into).collect(),
            folder: folder.path().to_owned(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdin: Stdin::default(),
        };
        let listener = RecordingListener {
            lines: vec![],
            errors: vec![],
            cut: 0,
            stop_at: None,
            stop: watch::Sender::new(Stop::Go),
            printed_ready: watch::Sender::new(false),
            reply: 1,
            interrupt: None,
            said: vec![],
        };
        let mark = Mark::new(folder.path(), 1);
        let (say, says) = mpsc::channel(16);
        Self { folder, spec, watch: patient(), mark, listener, say, says }
    }

    /// Wants a stop as soon as the agent says `ready`.
    pub(crate) fn stop_when_ready(mut self, stop: Stop) -> Self {
        self.listener.stop_at = Some(("ready", stop));
        self
    }

    pub(crate) fn watched(mut self, change: impl FnOnce(&mut Watch)) -> Self {
        change(&mut self.watch);
        self
    }

    pub(crate) fn with_stdin(mut self, stdin: Vec<u8>) -> Self {
        self.spec.stdin = stdin.into();
        self
    }

    /// It stays open for replies.
    pub(crate) fn conversation(mut self, opening: &str) -> Self {
        self.spec.stdin = Stdin::Conversation(opening.into());
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn pids_file(&self) -> PathBuf {
        self.folder.path().join("pids")
    }

    pub(crate) async fn run(&mut self) -> Ended {
        let stop = self.listener.stop.subscribe();
        let control = Control { stop, says: Some(&mut self.says) };
        supervise(&self.spec, &self.watch, &self.mark, &mut self.listener, None, control).await
    }

    /// Runs it; nobody may be left afterwards.
    pub(crate) async fn end(&mut self) -> ProcessEnd {
        let ended = self.run().await;
        assert_eq!(self.survivors(), Vec::<u32>::new(), "after {:?}", ended.end);
        ended.end
    }

    /// How many processes it had.
    pub(crate) fn processes(&self) -> usize {
        pids(&self.pids_file()).len()
    }

    pub(crate) fn survivors(&self) -> Vec<u32> {
        survivors(&self.pids_file())
    }
}

pub(crate) fn pids(file: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Which of the processes in the file still run.
pub(crate) fn survivors(file: &Path) -> Vec<u32> {
    pids(file).into_iter().filter(|pid| runs(*pid)).collect()
}

fn runs(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.starts_with("Name:\tfake_agent") && !status.contains("State:\tZ")
}

/// Processes that carry this mark.
pub(crate) fn marked(mark: &Mark) -> Vec<String> {
    let wanted = format!("RALPH_MARK={}", mark.as_str());
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Waits until something is so. Fails after a while.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}: it never came to that");
        std::thread::sleep(ms(2));
    }
}
