//! Where nothing can be mounted: agents commit on their branch, and the settings of git are put back.

use super::*;
use crate::RALPH;

const CLAUDE: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "2.1.325 (Claude Code)"; exit; }
git config core.fsmonitor "touch $HOME/ran; false"
printf '#!/bin/sh\ntouch "$HOME/ran"\n' > "$(git rev-parse --git-common-dir)/hooks/post-index-change" && \
  chmod +x "$(git rev-parse --git-common-dir)/hooks/post-index-change"
echo "$RALPH_TASK_ID" > "$RALPH_TASK_ID.txt"
git add . && git -c core.fsmonitor=false commit --quiet -m "Work on $RALPH_TASK_ID" || exit 1
touch "$HOME/outside" 2>/dev/null && exit 1
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"<task-done>$RALPH_TASK_ID</task-done>\",\"session_id\":\"x\"}"
"#;

fn env() -> TestEnv {
    use std::os::unix::fs::PermissionsExt;
    let mut env = TestEnv::new(RALPH);
    env.at_level("landlock", "it is about level landlock");
    let bin = env.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("claude"), CLAUDE).unwrap();
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    env.set("PATH", &format!("{}:{path}", bin.display()));
    env.git(&["config", "user.name", "Tester"]);
    env.git(&["config", "user.email", "tester@example.com"]);
    env.write("README.md", "x");
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "start"]);
    for id in ["a", "b"] {
        env.task(&["add", id, "--id", id]);
    }
    env
}

/// The level is there wherever the kernel has it: only that is no reason to fail.
fn is_there(ran: &Ran) -> bool {
    let there = ran.code != 10 || !ran.stderr.contains("has no Landlock");
    if !there {
        skip("landlock: this kernel has none");
    }
    there
}

#[test]
fn what_a_session_plants_in_the_settings_of_git_is_put_back_before_git_runs() {
    let env = env();
    let config = std::fs::read(env.repo().join(".git/config")).unwrap();
    let ran = env.ralph(&["build"]);
    if !is_there(&ran) {
        return;
    }
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read(env.repo().join(".git/config")).unwrap(), config);
    assert!(!env.repo().join(".git/hooks/post-index-change").exists());
    assert!(env.repo().join(".ralph/box/found/config").exists());
    for name in ["outside", "ran"] {
        assert!(!env.home().join(name).exists(), "{name}");
    }
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert!(text.contains(".git/config; ralph restored it"), "{text}");
    assert!(env.git(&["log", "--format=%s"]).contains("Work on a"));
}

#[test]
fn a_session_in_a_worktree_of_its_own_can_commit() {
    let env = env();
    let ran = env.ralph(&["build", "-j", "2"]);
    if !is_there(&ran) {
        return;
    }
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for id in ["a", "b"] {
        assert_eq!(env.git(&["show", &format!("HEAD:{id}.txt")]), format!("{id}\n"));
    }
    assert!(!env.home().join("outside").exists());
}
