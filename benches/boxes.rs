//! What the sandbox costs a session at its start.
//!
//! A repository of 2,000 files and a person's home. `/bin/true` is run to its end by the supervisor: as it is,
//! and in a box of each level, as sessions are: the git directory of its own is made, the agent's files are
//! copied in, the stages are gone through. They take turns; what counts is the difference of the medians in
//! one run. `full` has an empty home with what is listed, `masked` the home as it is with masks.
//!
//! `cargo bench --bench boxes` prints the table and fails when a figure is over its target.
//! `-- --quick` takes fewer turns.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{RALPH, figures, git};
use ralph_core::agent::ProcessEnd;
use ralph_engine::agents::claude;
use ralph_engine::ports::{Jail, SandboxMounts, SessionCommits};
use ralph_engine::process::{CommandSpec, LineEffect, Listener, Mark, Stop, Watch, supervise};
use ralph_engine::project::Project;
use ralph_engine::sandbox::{
    Caches, Home, HomeNeeds, Level, Limits, Network, ProgramKind, Sandbox, SandboxConfig,
    SandboxedCommand, Wanted, choose,
};
use ralph_engine::session_git::GitSandbox;
use ralph_engine::vcs::GitVcs;

const FILES: usize = 2_000;
/// What the box may cost at the start of a session.
const TARGET: Duration = Duration::from_millis(50);

struct IgnoreOutput;

impl Listener for IgnoreOutput {
    fn stdout(&mut self, _: &[u8], _: bool, _replies: &mut Vec<u8>) -> LineEffect {
        LineEffect::Going
    }
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 10 } else { 50 };
    // Not in memory: what lies below `/dev/shm` is open to every box.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (repo, home) = (folder.path().join("repo"), folder.path().join("home"));
    files(&repo);
    let places =
        [".ssh", ".claude/projects", ".config/gh", ".cache", ".cargo/registry", ".cargo/bin"];
    let tools =
        [".rustup", ".nvm/versions/node/v1/bin", ".pyenv/shims", ".local/bin", ".local/lib"];
    for place in places.iter().chain(&tools) {
        std::fs::create_dir_all(home.join(place)).unwrap();
    }
    std::fs::write(home.join(".claude/settings.json"), "{}").unwrap();
    std::fs::write(home.join(".npmrc"), "registry=https://example.org/\n").unwrap();
    let project = Project::find(&repo).unwrap();
    let kinds = [
        (Level::Full, "full", false),
        (Level::Full, "masked", true),
        (Level::Landlock, "landlock", true),
    ];
    let made =
        |(level, name, masked)| (level, name, Arc::new(made(level, masked, &project, &home)));
    let boxes: Vec<(Level, &str, Arc<Sandbox>)> = kinds.into_iter().map(made).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut plain = Vec::new();
    let mut boxed: Vec<Vec<Duration>> = vec![Vec::new(); boxes.len()];
    let mut private = Vec::new();
    // As a run does: it looks once at what no ref reaches.
    let repository = |(_, _, sandbox): &(Level, &str, Arc<Sandbox>)| {
        let jail: Arc<dyn Jail> = Arc::<Sandbox>::clone(sandbox);
        let vcs = GitVcs::new(project.clone()).unwrap();
        vcs.sandboxed(&GitSandbox::new(jail, std::env::vars_os().collect())).unwrap()
    };
    let repositories: Vec<GitVcs> = boxes.iter().map(repository).collect();
    let (_, _, none) = made((Level::None, "none", true));
    for _ in 0..rounds {
        let started = Instant::now();
        runtime.block_on(run(&none, &repo, SandboxMounts::default()));
        plain.push(started.elapsed());
        for (number, ((level, _, sandbox), vcs)) in boxes.iter().zip(&repositories).enumerate() {
            let started = Instant::now();
            let mut shown = SandboxMounts::default();
            if *level == Level::Full {
                shown = vcs.shown().unwrap();
                private.push(started.elapsed());
            }
            runtime.block_on(run(sandbox, &repo, shown));
            boxed[number].push(started.elapsed());
            let _ = std::fs::remove_dir_all(repo.join(".ralph/box"));
        }
    }
    let floor = figures(plain);
    println!("start of a session (/bin/true), {rounds} rounds, {FILES} files\n");
    println!("  none      median {:6.1} ms (best {:5.1})", ms(floor.median), ms(floor.min));
    let mut over = false;
    let mut medians = Vec::new();
    for ((_, name, _), samples) in boxes.iter().zip(boxed) {
        let found = figures(samples);
        medians.push(found.median);
        let cost = found.median.saturating_sub(floor.median);
        let bad = cost > TARGET;
        over |= bad;
        println!(
            "  {name:<9} median {:6.1} ms (best {:5.1})  costs {:5.1} ms (best {:5.1}), target {} ms{}",
            ms(found.median),
            ms(found.min),
            ms(cost),
            ms(found.min.saturating_sub(floor.min)),
            TARGET.as_millis(),
            if bad { "  OVER" } else { "" }
        );
    }
    if let [listed, masked, ..] = medians[..] {
        println!("  full takes {:.2} times as long as masked", ms(listed) / ms(masked));
    }
    println!(
        "  of which the git directory of its own: median {:.1} ms",
        ms(figures(private).median)
    );
    if over {
        std::process::exit(1);
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn made(level: Level, masked: bool, project: &Project, home: &Path) -> Sandbox {
    let homes = vec![home.to_owned()];
    let caches = Caches::of(&home.join(".cache"), &project.root);
    let path =
        format!("{0}/.cargo/bin:{0}/.nvm/versions/node/v1/bin:{0}/.local/bin", home.display());
    let listed = Home::listed(&HomeNeeds {
        homes: &homes,
        project,
        environment: &[("PATH".into(), path.into())],
        caches: &caches,
        programs: &[],
        dependencies: &[],
    });
    let sandbox_config = SandboxConfig {
        project: project.clone(),
        homes,
        environment: vec![],
        caches,
        ralph: PathBuf::from(RALPH),
        programs: vec![],
        hidden: vec![],
        writable: vec![],
        readable: vec![],
        home: if masked { Home::masked() } else { listed },
        sockets: vec![],
        limits: Limits { processes: 4096, ..Limits::default() },
        network: Network::of_machine(),
        agents: claude::PROFILE.state.to_vec(),
    };
    sandbox_config.caches.prepare(Some(home), &[]).unwrap();
    choose(Wanted::Exactly(level), sandbox_config).expect("the level works here").sandbox
}

async fn run(sandbox: &Sandbox, repo: &Path, shown: SandboxMounts) {
    let mut sandboxed = SandboxedCommand::in_worktree(ProgramKind::Session, repo);
    sandboxed.binds = shown.binds;
    sandboxed.environment = shown.environment;
    let command = CommandSpec {
        program: "/bin/true".into(),
        folder: repo.to_owned(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..CommandSpec::default()
    };
    let wrapped = sandbox.wrap(command, &sandboxed).unwrap();
    let mark = Mark::new(repo, 1);
    let watch = Watch::default();
    let ended =
        supervise(&wrapped.command, &watch, &mark, &mut IgnoreOutput, None, Stop::never()).await;
    let ended = wrapped.program_end(ended);
    assert_eq!(ended.end, ProcessEnd::Exited { code: 0 }, "{}", ended.stderr_tail);
}

fn files(repo: &Path) {
    common::repository(repo, 0);
    for number in 0..FILES {
        let place = repo.join(format!("src/{}", number % 40));
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(format!("{number}.txt")), format!("{number}\n")).unwrap();
    }
    git(repo, &["add", "."]);
    git(repo, &["commit", "-q", "-m", "files"]);
}
