//! Branches side by side whose sessions are in boxes: what they commit is on the branch right after them.

use std::process::Command;

use super::*;

#[test]
fn commits_from_sandboxes_are_on_their_branches_and_the_plan_is_in_none() {
    let tried =
        Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-user", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        ralph_testkit::skip("branches in boxes: bubblewrap does not work here");
        return;
    }
    let mut env = with_plan(TWO);
    env.at_level("full", "only level full gives sessions a git directory of their own");
    let here = agent(&mut env, commits::COMMITS_PLAN);
    let notes = format!("sandbox.writable=[{:?}]", here.display().to_string());
    let text = output_of(build(&env, &["--set", &notes]), 0);
    has(&text, "ralph removed IMPLEMENTATION_PLAN.md from the session's commits");
    assert_eq!(subjects(&env, "one"), ["Write a", "Write b", "later"], "{text}");
    assert_eq!(changed(&env, "one"), ["Write-a.txt", "Write-b.txt", "more.txt"]);
    assert_eq!(changed(&env, "two"), ["Write-c.txt", "Write-d.txt", "more.txt"]);
    assert_eq!(ticks(&env).len(), 4);
    for branch in ["one", "two"] {
        let place = worktree(&env, branch).display().to_string();
        assert_eq!(env.git(&["-C", &place, "status", "--porcelain"]), "", "nothing is left over");
        assert_eq!(env.git(&["-C", &place, "symbolic-ref", "--short", "HEAD"]).trim(), branch);
    }
    env.git(&["fsck", "--strict", "--no-dangling"]);
}
