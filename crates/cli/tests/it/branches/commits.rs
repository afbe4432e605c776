//! What is committed on the branches, by whom, and what never is.

use super::*;

#[test]
fn s4_4_the_why_of_a_task_is_in_its_prompt_and_in_the_commit() {
    let mut env = with_plan(TWO);
    let here = agent(&mut env, LEAVES);
    output_of(build(&env, &["--branch", "one"]), 0);
    let prompt = note(&here, "prompt.one.1");
    has(&prompt, "Because people ask for it.");
    has(&prompt, "- branch: one\n- goal of the branch: The first thing\n");
    assert_eq!(
        subjects(&env, "one"),
        ["build: iteration 1 - Write a", "build: iteration 2 - Write b"],
        "a commit for each task"
    );
    let body = env.git(&["log", "-1", "--format=%b", "one~1"]);
    assert!(body.starts_with("Because people ask for it.\n\nTask: t-"), "{body}");
    assert_eq!(changed(&env, "one"), ["Write-a.txt", "Write-b.txt"]);
}

#[test]
fn s4_3_s4_7_a_branch_begins_where_its_section_says() {
    let mut env = with_plan(&branches(&[("one", "Base: dev"), ("two", "")]));
    env.git(&["switch", "--quiet", "-c", "dev", "main~1"]);
    env.write("dev.txt", "dev\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "dev"]);
    env.git(&["switch", "--quiet", "main"]);
    agent(&mut env, LEAVES);
    output_of(build(&env, &[]), 0);
    assert_eq!(env.git(&["merge-base", "one", "dev"]), env.git(&["rev-parse", "dev"]));
    assert_eq!(env.git(&["merge-base", "two", "main"]), env.git(&["rev-parse", "main"]));
    let files = env.git(&["ls-tree", "--name-only", "one"]);
    assert!(files.contains("dev.txt") && !files.contains(PLAN), "as in its base: {files}");
    assert_eq!(env.git(&["config", "extensions.worktreeConfig"]), "true\n");
    assert!(worktree(&env, "one").is_dir());
}

#[test]
fn s4_8_commits_have_the_name_of_the_worktree() {
    let mut env = with_plan(&branches(&[("one", "")]));
    env.write("ralph.toml", "[git.worktree]\nname = \"ralph-bot\"\nemail = \"bot@example.org\"\n");
    let user = env.home().join(".config/ralph");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("config.toml"), "[git.worktree]\nssh_key = \"~/.ssh/bot\"\n").unwrap();
    agent(&mut env, "works; git add -A; git commit -qm mine; echo more > more.txt; done_");
    output_of(build(&env, &[]), 0);
    let authors = env.git(&["log", "--format=%an <%ae>", "main..one"]);
    assert_eq!(authors, "ralph-bot <bot@example.org>\nralph-bot <bot@example.org>\n");
    let here = worktree(&env, "one").display().to_string();
    let ssh = env.git(&["-C", &here, "config", "core.sshCommand"]);
    assert_eq!(ssh, format!("ssh -i {}/.ssh/bot -o IdentitiesOnly=yes\n", env.home().display()));
    assert_eq!(env.git(&["config", "user.name"]), "Tester\n", "the person keeps theirs");
}

/// An agent that commits its copy of the plan with its work.
pub(super) const COMMITS_PLAN: &str = "works; sed -i \"s/\\[ \\] $title/[x] $title/\" IMPLEMENTATION_PLAN.md
git update-index --no-skip-worktree IMPLEMENTATION_PLAN.md 2>/dev/null
git add -A; git add -f IMPLEMENTATION_PLAN.md; GIT_AUTHOR_DATE=2020-02-02T02:02:02Z git commit -qm \"$title\"
test $k = 2 && { echo later >> more.txt; git add -A; git add -f IMPLEMENTATION_PLAN.md; git commit -qm later; }
done_";

#[test]
fn s4_9_the_plan_is_in_no_commit_even_when_the_agent_commits_it() {
    for tracked in [true, false] {
        let mut env = with_plan(TWO);
        if !tracked {
            env.git(&["rm", "--quiet", "--cached", PLAN]);
            env.git(&["commit", "--quiet", "-m", "no plan"]);
        }
        agent(&mut env, COMMITS_PLAN);
        let text = output_of(build(&env, &[]), 0);
        has(&text, "ralph removed IMPLEMENTATION_PLAN.md from the session's commits");
        assert_eq!(subjects(&env, "one"), ["Write a", "Write b", "later"], "{text}");
        for commit in env.git(&["rev-list", "main..one", "main..two"]).lines() {
            let files = env.git(&["diff-tree", "--no-commit-id", "--name-only", "-r", commit]);
            has_not(&files, PLAN);
        }
        assert_eq!(changed(&env, "one"), ["Write-a.txt", "Write-b.txt", "more.txt"]);
        let first = env.git(&["log", "-1", "--format=%an %at", "one~2"]);
        assert_eq!(first, "Tester 1580608922\n", "author and date stay");
        assert_eq!(ticks(&env).len(), 4, "{tracked}");
        // What the agent committed can still be had.
        let saved = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/one"]);
        let saved: Vec<&str> = saved.lines().collect();
        has(&env.git(&["show", "--name-only", "--format=", saved[0]]), PLAN);
        let here = worktree(&env, "one").display().to_string();
        assert_eq!(env.git(&["-C", &here, "status", "--porcelain"]), "", "nothing is left over");
    }
}

#[test]
fn s4_15_a_commit_of_nothing_but_the_plan_is_no_change() {
    let mut env = with_plan(&branches(&[("one", "")]));
    agent(
        &mut env,
        "echo >> IMPLEMENTATION_PLAN.md; git add -f IMPLEMENTATION_PLAN.md
git update-index --no-skip-worktree IMPLEMENTATION_PLAN.md; git add IMPLEMENTATION_PLAN.md
git commit -qm plan; result hm",
    );
    let text = output_of(build(&env, &[]), 0);
    assert_eq!(stops(&env, "one"), ["idle"], "{text}");
    assert!(subjects(&env, "one").is_empty());
    has(&text, "2 iterations without a change");
}

#[test]
fn a_branch_that_was_there_is_taken_up_and_its_commits_stay() {
    let mut env = with_plan(&branches(&[("one", "")]));
    env.git(&["switch", "--quiet", "-c", "one"]);
    env.write(PLAN, "## Branch: one\n- [ ] Mine\n");
    env.git(&["commit", "--quiet", "-am", "a person's plan"]);
    env.git(&["switch", "--quiet", "main"]);
    agent(&mut env, COMMITS);
    let text = output_of(build(&env, &[]), 0);
    has(&text, "branch one already exists; ralph continues it");
    assert_eq!(subjects(&env, "one"), ["a person's plan", "Work on one"]);
    has(&env.git(&["show", &format!("one:{PLAN}")]), "Mine");
}

#[test]
fn s4_8_commits_are_signed_with_the_key_of_the_worktree() {
    let mut env = with_plan(TWO);
    let key = env.folder().join("key").display().to_string();
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f", &key])
        .status();
    if !made.is_ok_and(|made| made.success()) {
        return ralph_testkit::skip("signing: there is no ssh-keygen");
    }
    env.git(&["config", "gpg.format", "ssh"]);
    // The first session commits with the plan, the second leaves its work to the loop.
    agent(
        &mut env,
        "test $k = 2 && { works; done_; exit; }
works; git update-index --no-skip-worktree IMPLEMENTATION_PLAN.md; echo >> IMPLEMENTATION_PLAN.md
git add -A; git commit -qm mine; done_",
    );
    let set = format!("git.worktree.signing_key={key}");
    let text = output_of(build(&env, &["--branch", "one", "--set", &set]), 0);
    let commits = env.git(&["rev-list", "main..one"]);
    assert_eq!(commits.lines().count(), 2, "{text}");
    for commit in commits.lines() {
        has(&env.git(&["cat-file", "commit", commit]), "gpgsig -----BEGIN SSH SIGNATURE-----");
    }
    assert_eq!(env.git(&["log", "-1", "--format=%an %s", "one~1"]), "Tester mine\n");
    assert_eq!(changed(&env, "one"), ["Write-a.txt", "Write-b.txt"]);
}
