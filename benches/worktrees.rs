//! What a worktree of a branch costs over plain git.
//!
//! A repository of 2,000 files. The floor is what one would type: `git worktree add` with a new branch and
//! a name and an address of its own, and `git worktree remove`, which refuses where something is unsaved.
//! Beside it `Worktrees::prepare` and `Worktrees::remove`: marked before git is asked, so that a crash at any
//! moment can be mended, and unsaved work saved. Landing is `git rebase` and `git merge --ff-only`, and beside it
//! what `-j N` does: the work on top of what has landed, a look whether a person's changes are in the way, the
//! branch and its files moved so that a crash can be mended. They take turns; what counts is the ratio.
//! All files lie in memory (`/dev/shm`).
//!
//! `cargo bench --bench worktrees` prints the table and fails when a figure is over its target.
//! `-- --quick` takes fewer turns.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Verdicts, figures, git, ratio};
use ralph_core::branch::BranchName;
use ralph_engine::ports::Vcs;
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;
use ralph_engine::vcs::trunk::{Replayed, Trunk};
use ralph_engine::worktrees::{Identity, Wanted, Worktrees};

const FILES: usize = 2_000;
/// What making or removing one, or landing its work, may take of the floor.
const OF_FLOOR: f64 = 1.3;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let mut verdicts = Verdicts::default();
    compare(if quick { 7 } else { 25 }, &mut verdicts);
    verdicts.finish();
}

fn compare(rounds: usize, verdicts: &mut Verdicts) {
    let folder = common::folder();
    let repo = folder.path().join("repo");
    files(&repo);
    let project = Project::find(&repo).unwrap();
    let worktrees = Worktrees::new(&project, &repo.join(".worktrees"));
    let identity = Identity {
        name: "bench".to_owned(),
        email: "bench@example.org".to_owned(),
        ..Identity::default()
    };
    let [mut made, mut floor_made, mut removed, mut floor_removed] = [(); 4].map(|()| Vec::new());
    let (mut landed, mut floor_landed) = (Vec::new(), Vec::new());
    let trunk = Trunk::new(&project).unwrap();
    for round in 0..rounds {
        let (name, place) = (format!("plain-{round}"), format!(".plain/{round}"));
        floor_made.push(timed(|| plain(&repo, &name, &place, &identity)));
        let branch = BranchName::new(&format!("ours-{round}")).unwrap();
        let wanted = Wanted {
            branch: &branch,
            base: "main",
            identity: &identity,
            include: "",
            carried: None,
        };
        made.push(timed(|| assert!(worktrees.prepare(&wanted).unwrap().made)));
        let ours = worktrees.path_of(&branch).unwrap();
        let from = trunk.tip().unwrap();
        change(&repo.join(&place), round, "plain");
        change(&ours, round, "ours");
        change(&repo, round, "person");
        floor_landed.push(timed(|| {
            git(&repo.join(&place), &["rebase", "--quiet", "main"]);
            git(&repo, &["merge", "--quiet", "--ff-only", &name]);
        }));
        let vcs = GitVcs::new(Project::find(&ours).unwrap()).unwrap();
        landed.push(timed(|| land(&trunk, &vcs, &from)));
        floor_removed.push(timed(|| git(&repo, &["worktree", "remove", &place])));
        removed.push(timed(|| assert!(worktrees.remove(&branch).unwrap().is_some())));
    }
    println!("## A worktree of {FILES} files, ms: median [min..p90]\n");
    println!("{rounds} of each in turns, all files in memory\n");
    println!("| | ralph | plain git | ratio of medians | target |");
    println!("|---|---|---|---|---|");
    for (what, ours, floor) in [
        ("make", made, floor_made),
        ("land", landed, floor_landed),
        ("remove", removed, floor_removed),
    ] {
        let (ours, floor) = (figures(ours), figures(floor));
        let times = ratio(ours.median, floor.median);
        let verdict = verdicts.judge(&format!("{what} a worktree"), times, OF_FLOOR);
        let (ours, floor) = (ours.text(), floor.text());
        println!("| {what} | {ours} | {floor} | {times:.2} | {OF_FLOOR} {verdict} |");
    }
}

/// A commit of one more file.
fn change(worktree: &Path, round: usize, who: &str) {
    std::fs::write(worktree.join(format!("{who}-{round}.txt")), "work\n").unwrap();
    git(worktree, &["add", "-A"]);
    git(worktree, &["commit", "-q", "-m", who]);
}

/// What `-j N` does with work that is good.
fn land(trunk: &Trunk, vcs: &GitVcs, from: &str) {
    let (head, tip) = (vcs.head().unwrap().unwrap(), trunk.tip().unwrap());
    let Replayed::Clean { head } = trunk.replay(vcs, from, &head, &tip, None).unwrap() else {
        panic!("nothing conflicts here");
    };
    vcs.move_to(&head).unwrap();
    assert!(trunk.in_the_way(&tip, &head).unwrap().is_empty());
    trunk.advance(&tip, &head).unwrap();
}

/// A repository with this many files in folders of a hundred.
fn files(repo: &Path) {
    for n in 0..FILES {
        let folder = repo.join(format!("part-{:02}", n / 100));
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("// file {n}\n").repeat(40);
        std::fs::write(folder.join(format!("file-{n:04}.rs")), text).unwrap();
    }
    git(repo, &["init", "-q", "--initial-branch=main"]);
    git(repo, &["config", "user.name", "bench"]);
    git(repo, &["config", "user.email", "bench@localhost"]);
    git(repo, &["config", "extensions.worktreeConfig", "true"]);
    std::fs::write(repo.join(".git/info/exclude"), "/.plain/\n").unwrap();
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-q", "-m", "start"]);
}

/// What one would type.
fn plain(repo: &Path, branch: &str, place: &str, identity: &Identity) {
    git(repo, &["worktree", "add", "--quiet", place, "-b", branch, "--no-track", "main"]);
    let worktree = repo.join(place);
    git(&worktree, &["config", "--worktree", "user.name", &identity.name]);
    git(&worktree, &["config", "--worktree", "user.email", &identity.email]);
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}
