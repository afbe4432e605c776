//! A repository, runs in it that hang on a seed, and what may be there afterwards.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::process::Command;

use fastrand::Rng;
use ralph_testkit::{Ran, TestEnv};

use crate::looping::{arguments, cassette, project, say, session, sh, write};
use crate::sandboxed::{as_ordinary_user, has_boxes};

/// So many runs in a row bring every plan here to its end.
const MOST_RUNS: usize = 12;

/// Points at which a run is killed.
const POINTS: [&str; 14] = [
    "session-started",
    "session-ended",
    "candidate-made",
    "gate-ended",
    "wip-saved",
    "integrating",
    "integrated",
    "landed",
    "worktree-added",
    "worktree-saved",
    "worktree-moved",
    "worktree-removed",
    "box-removed",
    "run-ending",
];

/// What a run is like.
pub(super) struct RunShape {
    random: Rng,
    level: &'static str,
    /// Side by side, or the branches of a plan, or in place.
    work: Work,
    ordinary: bool,
    submodule: bool,
    filter: bool,
    kills: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    SideBySide,
    Branches,
    InPlace,
}

impl fmt::Display for RunShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, work, .. } = self;
        write!(f, "{level:8} {work:?}")?;
        for (is_so, word) in
            [(self.ordinary, "as a user"), (self.submodule, "submodule"), (self.filter, "filter")]
        {
            if is_so {
                write!(f, ", {word}")?;
            }
        }
        match self.kills.is_empty() {
            true => Ok(()),
            false => write!(f, ", killed at {}", self.kills.join(" and ")),
        }
    }
}

impl RunShape {
    /// That of a seed. The first three are one of each level.
    pub(super) fn of(seed: u64) -> Self {
        // Small seeds alone give much the same first numbers.
        let mut random = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let level = ["full", "landlock", "none"][(seed as usize + 2) % 3];
        let work = match random.u32(0..10) {
            0..=5 => Work::SideBySide,
            6..=7 => Work::Branches,
            _ => Work::InPlace,
        };
        let kills = (0..random.usize(0..3)).map(|_| POINTS[random.usize(0..POINTS.len())]);
        Self {
            kills: kills.collect(),
            level,
            work: if seed <= 2 { Work::SideBySide } else { work },
            ordinary: random.u32(0..3) == 0,
            submodule: random.u32(0..3) == 0,
            filter: random.u32(0..4) == 0,
            random,
        }
    }
}

/// A repository with what the runs need.
pub(super) struct World {
    pub(super) env: TestEnv,
    kind: RunShape,
    /// The most bytes that the repository took after any run.
    pub(super) peak: u64,
    branches: Vec<&'static str>,
}

impl World {
    pub(super) fn new(kind: &RunShape) -> Self {
        let mut env = project(&[]);
        let level = match kind.level {
            "full" if !has_boxes("full") => "none",
            other => other,
        };
        env.at_level(level, "the campaign is about every level");
        env.leaves_processes("some of its runs are killed");
        for folder in ["tmp", "run"] {
            std::fs::create_dir(env.note(folder)).unwrap();
        }
        let folder = |name: &str| env.note(name).into_os_string().into_string().unwrap();
        let (tmp, run) = (folder("tmp"), folder("run"));
        env.set("TMPDIR", &tmp).set("XDG_RUNTIME_DIR", &run);
        env.write("shared.txt", "top\n");
        env.write(
            "ralph.toml",
            "[[gate]]\nname = \"test\"\ncommand = \"! grep -rqs wrong *.txt\"\n",
        );
        let kind = RunShape { random: kind.random.clone(), kills: kind.kills.clone(), ..*kind };
        let mut world = Self { env, kind, peak: 0, branches: vec![] };
        if world.kind.submodule {
            world.add_submodule();
        }
        if world.kind.filter {
            // Only filters of the user's own settings run.
            world.env.git(&["config", "--global", "filter.upper.clean", "tr a-z A-Z"]);
            world.env.git(&["config", "--global", "filter.upper.smudge", "tr A-Z a-z"]);
            world.env.write(".gitattributes", "*.up filter=upper\n");
            world.env.write("word.up", "word\n");
        }
        world.add_tasks();
        world.env.git(&["add", "-A"]);
        world.env.git(&["commit", "-qm", "what the runs need"]);
        world
    }

    fn add_submodule(&self) {
        let inner = self.env.folder().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let place = inner.to_str().unwrap();
        let author = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
        self.env.git(&["init", "-q", place]);
        let mut commit = vec!["-C", place];
        commit.extend(author);
        commit.extend(["commit", "-q", "--allow-empty", "-m", "inner"]);
        self.env.git(&commit);
        let allowed = ["-c", "protocol.file.allow=always"];
        self.env.git(&[&allowed[..], &["submodule", "--quiet", "add", place, "sub"]].concat());
    }

    fn add_tasks(&mut self) {
        if self.kind.work == Work::Branches {
            self.branches = vec!["one", "two"];
            let sections = ["one", "two"].map(|name| {
                format!(
                    "## Branch: {name}\nGoal: Words\n\n- [ ] First of {name}\n- [ ] Then {name}\n\n"
                )
            });
            self.env.write("IMPLEMENTATION_PLAN.md", sections.concat());
            return;
        }
        for task in ["a", "b", "c", "d"] {
            self.env.task(&["add", task, "--id", task]);
        }
    }

    /// What a session does.
    fn session(&mut self) -> String {
        let done = || say("<task-done>{id}</task-done>");
        let work = write("{id}.txt", "work\n");
        let update = "git -c protocol.file.allow=always submodule --quiet update --init || true";
        let mut steps = match self.kind.submodule && self.kind.random.bool() {
            true => vec![sh(update)],
            false => vec![],
        };
        steps.extend(match self.kind.random.u32(0..10) {
            0 => vec![work, say("hm")],
            1 => vec![write("{id}.txt", "wrong\n"), done()],
            2..=3 => vec![work, sh("date +%N >> shared.txt"), done()],
            4..=5 => vec![work, sh("git add -A && git commit -qm own || true"), done()],
            6 => vec![
                write("half.txt", "half\n"),
                say("<task-failed>{id}</task-failed><reason>luck</reason>"),
            ],
            _ => vec![work, done()],
        });
        session(&steps)
    }

    /// Runs until nothing is left to do; some are killed. What they said last.
    pub(super) fn play(&mut self) -> String {
        let mut sessions: Vec<String> = (0..12).map(|_| self.session()).collect();
        let works = session(&[write("{id}.txt", "work\n"), say("<task-done>{id}</task-done>")]);
        sessions.extend(std::iter::repeat_n(works, 60));
        let sessions: Vec<&str> = sessions.iter().map(String::as_str).collect();
        cassette(&self.env, &sessions);
        let mut output = String::new();
        let mut kills = self.kind.kills.clone();
        for _ in 0..MOST_RUNS {
            let kill = kills.pop();
            let ran = self.run(kill.unwrap_or_default());
            output = format!("exit code {}\n{}{}", ran.code, ran.stdout, ran.stderr);
            self.peak = self.peak.max(self.bytes());
            let over = ran.stderr.contains("Nothing to do") || ran.stderr.contains("All ");
            if kill.is_none() && kills.is_empty() && (ran.code == 0 || over) {
                break;
            }
        }
        if self.kind.work == Work::Branches {
            // A branch with failed tasks is not complete, and its worktree waits for you.
            for _ in 0..MOST_RUNS {
                let failed = self.failed();
                if failed.is_empty() {
                    break;
                }
                for task in failed {
                    self.env.task(&["reset", &task]);
                }
                output += &self.run("").stderr;
            }
            for branch in self.branches.clone() {
                let names = self.env.git(&["branch", "--list", branch]);
                if !names.is_empty() {
                    let merge = ["merge", "-q", "-X", "ours", "--no-edit", branch];
                    self.env.git(&merge);
                }
            }
            // Worktrees of merged branches go with the next call.
            output += &self.run("").stderr;
        }
        output
    }

    fn failed(&self) -> Vec<String> {
        let printed = self.env.task(&["list", "--status", "failed", "--json"]);
        let tasks: serde_json::Value = ralph_testkit::data(&printed);
        let ids = tasks.as_array().into_iter().flatten().filter_map(|task| task["id"].as_str());
        ids.map(str::to_owned).collect()
    }

    fn run(&mut self, kill: &str) -> Ran {
        self.env.set("RALPH_TEST_CRASH", kill);
        let extra: &[&str] = match self.kind.work {
            Work::SideBySide => &["-j", "3", "--set", "loop.max_retries=2"],
            Work::Branches => &["--preset", "branches", "--set", "git.auto_pr=false"],
            Work::InPlace => &["--set", "loop.max_retries=2"],
        };
        let arguments = arguments(extra);
        if !self.kind.ordinary {
            return self.env.ralph(&arguments);
        }
        let ran = as_ordinary_user(&self.env, &arguments);
        let ran = ran.unwrap_or_else(|| self.env.ralph(&arguments));
        // What looks at it is root.
        let user = Command::new("id").arg("-u").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        let owned = Command::new("chown").args(["-R", user.trim()]).arg(self.env.folder()).status();
        assert!(owned.unwrap().success());
        ran
    }

    pub(super) fn refs(&self) -> Vec<String> {
        let printed = self.env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"]);
        printed.lines().map(str::to_owned).collect()
    }

    /// What the repository takes on the disk, with the worktrees in it.
    pub(super) fn bytes(&self) -> u64 {
        bytes_of(&self.env.repo())
    }

    /// Everything that should not be there.
    pub(super) fn unexpected(&self) -> Vec<String> {
        let mut wrong = vec![];
        let worktrees = self.env.git(&["worktree", "list"]);
        for line in worktrees.lines().skip(1) {
            let place = line.split(' ').next().unwrap_or_default();
            let status = Command::new("git").args(["-C", place, "status", "-s"]).output().unwrap();
            let status =
                String::from_utf8_lossy(&[status.stdout, status.stderr].concat()).into_owned();
            let asked = self.env.ralph(&["clean", "--worktrees", "--dry-run"]);
            wrong.push(format!("worktree {line}\n{status}\n{}{}", asked.stdout, asked.stderr));
        }
        let branches = self.env.git(&["branch", "--format=%(refname:short)"]);
        let is_known = |name: &&str| *name == "main" || self.branches.contains(name);
        wrong
            .extend(branches.lines().filter(|n| !is_known(n)).map(|name| format!("branch {name}")));
        // Saved work stays for 30 days.
        let is_kept = |name: &&String| {
            ["wip", "start"].iter().any(|k| name.starts_with(&format!("refs/ralph/{k}/")))
        };
        wrong.extend(self.refs().iter().filter(|name| !is_kept(name)).cloned());
        let repo = self.env.repo();
        let known: BTreeSet<&str> = [
            "progress.db",
            "progress.db-wal",
            "progress.db-shm",
            "progress.db-lock",
            "state.toml",
            "run.lock",
            "logs",
            "plans",
        ]
        .into();
        let of_ralph = names(&repo.join(".ralph")).into_iter();
        // The first sandbox in a repository makes the folders of features and skills, as `ralph init` does.
        let of_ralph = of_ralph.filter(|name| {
            let is_empty = || names(&repo.join(".ralph").join(name)).is_empty();
            let is_mount = ["features", "skills"].contains(&name.as_str());
            !(known.contains(name.as_str()) || is_mount && is_empty())
        });
        wrong.extend(of_ralph.flat_map(|name| {
            let inside = names(&repo.join(".ralph").join(&name));
            match name == "box" && inside == ["found"] {
                true => vec![],
                false => vec![format!(".ralph/{name} {inside:?}")],
            }
        }));
        let top = names(&repo).into_iter().filter(|name| name.starts_with(".worktrees"));
        wrong.extend(top);
        let of_git = names(&repo.join(".git")).into_iter();
        let of_git = of_git.filter(|name| name.ends_with(".lock") || name == "worktrees");
        wrong.extend(of_git.map(|name| format!(".git/{name}")));
        let left = names(&self.env.note("tmp")).into_iter();
        wrong.extend(left.map(|name| format!("temporary folder: tmp/{name}")));
        // The lock of all runs stays, and their sockets go.
        let left = names(&self.env.note("run/ralph")).into_iter().filter(|name| name != "lock");
        wrong.extend(left.map(|name| format!("sockets: run/ralph/{name}")));
        self.env.git(&["fsck", "--no-dangling"]);
        wrong
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(super) fn bytes_of(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    names(path).iter().map(|name| bytes_of(&path.join(name))).sum()
}

pub(super) fn files_in(path: &Path) -> usize {
    match path.is_dir() && !path.is_symlink() {
        true => names(path).iter().map(|name| files_in(&path.join(name))).sum(),
        false => usize::from(path.symlink_metadata().is_ok()),
    }
}
