//! Branches with the real Claude Code and a scripted model.

use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::model_server::{Script, Turn};

use super::*;
use crate::RALPH;

#[test]
fn s4_10_s4_14_the_real_agent_works_in_the_worktree_of_its_branch() {
    let Some(env) = ClaudeEnv::new(RALPH, Script::new()) else { return };
    env.write(PLAN, branches(&[("one", ""), ("two", "")]));
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let work = |branch: &str| {
        let tick = format!("sed -i 's/\\[ \\] Work on {branch}/[x] Work on {branch}/' {PLAN}");
        [
            Turn::bash(format!(
                "pwd > {branch}.txt; git add {branch}.txt; git commit -qm {branch}; {tick}"
            )),
            Turn::text("It is done."),
        ]
    };
    env.play(Script::new().session(work("one")).session(work("two")));
    let text = output_of(env.build(&["--sequential"]), 0);
    has(&text, "All 2 branches done.");
    for branch in ["one", "two"] {
        assert_eq!(subjects(&env, branch), [branch], "{text}");
        let place = env.git(&["show", &format!("{branch}:{branch}.txt")]);
        assert!(place.trim_end().ends_with(&format!(".worktrees/{branch}")), "{place}");
    }
    assert_eq!(ticks(&env), ["Work on one", "Work on two"]);
}
