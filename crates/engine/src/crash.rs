//! What tests do to a run from outside: kill the process at a point, like a power cut, and shorten its pauses. Otherwise
//! each point costs one atomic load.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Every point, in the order in which a run passes them. The first two only after one that was killed.
pub const POINTS: &[&str] = &[
    "unfinished-saved",
    "claims-taken-back",
    "run-started",
    "surveyed",
    "claimed",
    "prompt-written",
    "attempt-begun",
    "session-started",
    "session-ended",
    "candidate-made",
    "gate-ended",
    "verified",
    "evidence-written",
    "plan-written",
    "before-commit",
    "after-commit",
    "wip-saved",
    "put-back",
    "task-settled",
    "attempt-ended",
    "iteration-ended",
    "state-written",
    "run-ending",
];

/// The points on the way of a worktree of a branch: made, then removed.
pub const WORKTREE_POINTS: &[&str] = &[
    "worktree-marked",
    "worktree-added",
    "worktree-named",
    "worktree-filled",
    "worktree-saved",
    "worktree-moved",
    "worktree-forgotten",
    "worktree-removed",
];

/// The points on the way of work from a worktree of its own onto the branch of the run.
pub const LANDING_POINTS: &[&str] =
    &["integrating", "integrated", "landing-noted", "landing-written", "landed"];
/// The points on the way of a branch to its remote and to its pull request.
pub const PUBLISH_POINTS: &[&str] = &["before-push", "after-push", "after-pr"];
/// The points of a run on a branch that no other run passes.
pub const BRANCH_POINTS: &[&str] = &["worktree-set-up", "commits-saved"];

/// The points just before the work in a session's own git directory is imported or given up.
pub const BOX_POINTS: &[&str] =
    &["commits-taken", "commits-mirrored", "commits-landed", "box-removed"];

struct Armed {
    point: String,
    left: AtomicU32,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

/// Arms a point, written `name` or `name:N` for the N-th time it is passed. `false` when there is no
/// such point.
pub fn arm(text: &str) -> bool {
    let (name, nth) = text.split_once(':').unwrap_or((text, "1"));
    let Ok(nth) = nth.parse::<u32>() else { return false };
    if !is_point(name) {
        return false;
    }
    ARMED.set(Armed { point: name.to_owned(), left: AtomicU32::new(nth.max(1)) }).is_ok()
}

fn is_point(name: &str) -> bool {
    [POINTS, WORKTREE_POINTS, LANDING_POINTS, PUBLISH_POINTS, BRANCH_POINTS, BOX_POINTS]
        .iter()
        .any(|points| points.contains(&name))
}

/// Passes a point.
pub(crate) fn point(name: &'static str) {
    debug_assert!(is_point(name), "{name} is not listed");
    let Some(armed) = ARMED.get() else { return };
    if armed.point == name && armed.left.fetch_sub(1, Ordering::SeqCst) == 1 {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

static HURRY: AtomicU32 = AtomicU32::new(1);

/// Divides the pauses before another try by this; only tests do.
pub fn hurry(by: u32) {
    HURRY.store(by.max(1), Ordering::Relaxed);
}

/// How long a pause is that should take so long.
pub(crate) fn pause(full: Duration) -> Duration {
    full / HURRY.load(Ordering::Relaxed)
}
