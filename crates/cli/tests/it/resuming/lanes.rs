//! Branches side by side: each has its record, and the call has one for what they share.

use super::{killed_at, project};
use crate::looping::{journal, of_kind, runs};

const PLAN: &str =
    "# Plan\n\n## Branch: one\nGoal: One\nBase: main\n\n- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n";

#[test]
fn a_loop_that_was_cut_off_goes_on_with_its_limit_and_its_flags() {
    let env = project(&[]);
    env.write("IMPLEMENTATION_PLAN.md", PLAN);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let works = crate::looping::works();
    crate::looping::cassette(&env, &[&works, &works, &works, &works]);
    let cassette = env.folder().join("cassette.jsonl");
    let set = format!("agent.script.path={}", cassette.display());
    let call = [
        "loop",
        "build",
        "--max",
        "2",
        "--agent",
        "script",
        "--set",
        &set,
        "--set",
        "git.auto_pr=false",
    ];
    killed_at(&env, "iteration-ended", &call);
    let ran = env.ralph(&["loop"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(runs(&env).len(), 2);
    assert_eq!(of_kind(&journal(&env), "session_started").len(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("1 of 2 sessions used"), "{}", ran.stderr);
}
