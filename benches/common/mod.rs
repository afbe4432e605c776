//! What the benchmarks share: C programs, times and the table.

#![allow(dead_code, reason = "each benchmark uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program that is measured.
pub(crate) const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Builds a C program of this folder.
pub(crate) fn compile(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches").join(format!("{name}.c"));
    let output = folder.join(name);
    let mut cc = Command::new("cc");
    cc.arg("-O2").arg("-o").arg(&output).arg(source).args(flags);
    assert!(cc.status().expect("cc is needed").success(), "cc failed");
    output
}

/// A folder in memory where there is one: what a disk does is not measured.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("ralph-bench-").tempdir_in(place).unwrap()
}

/// A repository with one commit and so many tasks in its plan.
pub(crate) fn repository(folder: &Path, tasks: usize) {
    std::fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q"]);
    for (name, value) in [("user.name", "bench"), ("user.email", "bench@localhost")] {
        git(folder, &["config", name, value]);
    }
    git(folder, &["commit", "-q", "--allow-empty", "-m", "start"]);
    let plan: String =
        (1..=tasks).map(|n| format!("{{\"id\":\"b-{n:04}\",\"t\":\"Task {n}\"}}\n")).collect();
    std::fs::write(folder.join(".git/plan.jsonl"), plan).unwrap();
    let input = std::fs::File::open(folder.join(".git/plan.jsonl")).unwrap();
    let mut sync = Command::new(RALPH);
    sync.arg("-C").arg(folder).args(["task", "plan-sync"]).stdin(input);
    assert!(sync.output().unwrap().status.success(), "plan-sync failed");
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git").current_dir(folder).args(arguments).output().unwrap();
    assert!(done.status.success(), "git {arguments:?}: {done:?}");
}

#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) median: Duration,
    pub(crate) min: Duration,
    pub(crate) p90: Duration,
}

pub(crate) fn figures(mut samples: Vec<Duration>) -> Figures {
    samples.sort();
    Figures {
        median: samples[samples.len() / 2],
        min: samples[0],
        p90: samples[samples.len() * 9 / 10],
    }
}

impl Figures {
    /// `median [min..p90]` in milliseconds.
    pub(crate) fn text(&self) -> String {
        format!("{} [{}..{}]", ms(self.median), ms(self.min), ms(self.p90))
    }
}

pub(crate) fn ms(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1000.0)
}

pub(crate) fn ratio(ours: Duration, floor: Duration) -> f64 {
    ours.as_secs_f64() / floor.as_secs_f64()
}

/// What was over its target.
#[derive(Default)]
pub(crate) struct Verdicts(Vec<String>);

impl Verdicts {
    pub(crate) fn judge(&mut self, what: &str, value: f64, most: f64) -> &'static str {
        if value <= most {
            return "ok";
        }
        self.0.push(format!("{what}: {value:.2} (at most {most})"));
        "OVER"
    }

    /// Ends the process with a failure when something was.
    pub(crate) fn finish(self) {
        if !self.0.is_empty() {
            println!("\nover target:\n  {}", self.0.join("\n  "));
            std::process::exit(1);
        }
    }
}

/// The agent (`agent.c`), and the file that takes its times.
pub(crate) struct Stamped {
    pub(crate) program: PathBuf,
    stamps: PathBuf,
}

impl Stamped {
    /// `stamps` is where the agent writes when it started; a relative path counts from where it runs.
    pub(crate) fn build_in(folder: &Path, stamps: &str, flags: &[&str]) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let named = format!("-DSTAMPS=\"{stamps}\"");
        let mut all = vec!["-static", &named];
        all.extend(flags);
        Self { program: compile(folder, "agent", &all), stamps: stamps.into() }
    }

    /// The times from one start to the next while `act` ran in `folder`.
    pub(crate) fn between_in(
        &self,
        folder: &Path,
        count: usize,
        act: impl FnOnce(),
    ) -> Vec<Duration> {
        let stamps = folder.join(&self.stamps);
        let _ = std::fs::remove_file(&stamps);
        act();
        let bytes = std::fs::read(&stamps).unwrap();
        let times: Vec<u64> =
            bytes.chunks_exact(8).map(|one| u64::from_ne_bytes(one.try_into().unwrap())).collect();
        assert_eq!(times.len(), count, "the agent ran once for each task");
        times.windows(2).map(|two| Duration::from_nanos(two[1] - two[0])).collect()
    }
}
