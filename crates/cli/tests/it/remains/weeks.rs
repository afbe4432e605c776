//! A week of use: runs day after day in one repository, and what has gathered there at its end.

use ralph_testkit::times;

use super::print;
use super::world::{bytes_of, files_in};
use crate::looping::{build, project, say, session, works, write};

/// What may gather: a line for each kind of thing, as the docs show it.
#[test]
fn a_week_of_runs_leaves_records_and_saved_work_only() {
    let env = project(&[]);
    let before = bytes_of(&env.repo());
    let half = session(&[write("{id}-half.txt", "half\n"), say("hm")]);
    let runs = times(2, 20);
    for run in 0..runs {
        for part in ["x", "y"] {
            let id = format!("t{run:02}{part}");
            env.task(&["add", &id, "--id", &id]);
        }
        let extra: &[&str] = if run % 2 == 0 { &["-j", "2"] } else { &[] };
        let ran = build(&env, &[&half, &works(), &works(), &works()], extra);
        assert_eq!(ran.code, 0, "run {run}: {}", ran.stderr);
    }
    let refs = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    let count = |kind: &str| refs.lines().filter(|name| name.contains(kind)).count();
    let repo = env.repo();
    print(&format!("after {runs} runs with {} tasks:", runs * 2));
    for part in [".ralph/progress.db", ".ralph/logs", ".ralph/box", ".worktrees", ".git"] {
        let path = repo.join(part);
        print(&format!("  {part}: {} files, {} B", files_in(&path), bytes_of(&path)));
    }
    print(&format!("  refs/ralph: {} saved, {} in all", count("/wip/"), refs.lines().count()));
    print(&format!("  repository: {before} B before, {} B after", bytes_of(&repo)));
    assert_eq!(env.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(env.git(&["branch", "--format=%(refname:short)"]), "main\n");
    assert!(
        count("/wip/") <= runs * 2 && count("/wip/") + count("/start/") == refs.lines().count(),
        "{refs}"
    );
    assert!(!repo.join(".ralph/box").exists() && !repo.join(".worktrees").exists());
}
