//! Each finished branch gets its pull request: real git, a bare remote, the stand-in for GitHub.

use std::collections::BTreeSet;

use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::github::{GitHubServer, REPO, has_curl};
use ralph_testkit::model_server::{Script, Turn};
use ralph_testkit::times;

use super::*;
use crate::RALPH;
use crate::publishing::remote;

fn pulls(server: &GitHubServer) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = server
        .pulls()
        .iter()
        .map(|pull| (text(&pull["head"]["ref"]), text(&pull["base"]["ref"]), text(&pull["title"])))
        .collect();
    all.sort();
    all
}

/// Where the remote really lies.
fn bare(env: &TestEnv) -> String {
    let path = env.folder().join("remotes").join(format!("{REPO}.git"));
    path.to_str().unwrap().to_owned()
}

#[test]
fn s4_3_s4_11_each_finished_branch_gets_one_pull_request() {
    if !has_curl() {
        return;
    }
    let mut env = with_plan(TWO);
    agent(&mut env, COMMITS);
    let server = remote(&mut env, "git.example");
    let text = output_of(build(&env, &[]), 0);
    let titles = ["one: The first thing", "two: The second thing"];
    let found = pulls(&server);
    assert_eq!(found.iter().map(|pull| pull.2.as_str()).collect::<Vec<_>>(), titles, "{text}");
    assert!(found.iter().all(|pull| pull.1 == "main"), "{found:?}");
    for pull in server.pulls() {
        let page = pull["html_url"].as_str().unwrap();
        has(&text, &format!("opened {page}"));
        let body = pull["body"].as_str().unwrap();
        assert!(body.contains("2 done."), "{body}");
    }
    for branch in ["one", "two"] {
        let there = env.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
        let here = env.git(&["rev-parse", branch]);
        assert!(there.starts_with(here.trim()), "{branch}: {there}");
        let files = env.git(&["diff", "--name-only", &format!("main...{branch}")]);
        assert!(!files.contains(PLAN), "{files}");
    }
    let main = env.git(&["ls-remote", "origin", "refs/heads/main"]);
    assert!(main.starts_with(env.git(&["rev-parse", "main"]).trim()), "main is as it was");
    // Again: nothing is left to do, and there is no second pull request.
    output_of(build(&env, &[]), 0);
    assert_eq!(pulls(&server).len(), 2);
}

#[test]
fn s4_11_without_a_way_to_the_server_the_command_to_type_is_reported() {
    let mut env = with_plan(TWO);
    agent(&mut env, COMMITS);
    let text = output_of(build(&env, &[]), 0);
    // Each run says it, and the summary of all.
    let prompt = text.matches("not published: there is no remote `origin`").count();
    assert!(prompt >= 4, "{prompt}: {text}");
    has(&text, "All 2 branches done.");
}

/// A branch whose section says where it begins goes back there.
#[test]
fn s4_3_a_pull_request_goes_to_where_its_section_says() {
    if !has_curl() {
        return;
    }
    let mut env = with_plan(&branches(&[("fix", "Base: develop")]));
    agent(&mut env, COMMITS);
    env.git(&["branch", "develop"]);
    let server = remote(&mut env, "git.example");
    env.git(&["push", "--quiet", &bare(&env), "develop"]);
    output_of(build(&env, &[]), 0);
    assert_eq!(pulls(&server), [("fix".into(), "develop".into(), "fix: Do fix".into())]);
}

/// The remote without its name: the stand-in for ssh is for ralph's own git.
fn at_remote(env: &TestEnv, arguments: &[&str]) -> String {
    let dir = format!("--git-dir={}", bare(env));
    env.git(&[&[dir.as_str()], arguments].concat())
}

#[test]
fn a_branch_that_was_squashed_on_the_server_is_removed_and_not_pushed_again() {
    if !has_curl() {
        return;
    }
    let mut env = with_plan(&branches(&[("one", ""), ("two", "")]));
    agent(&mut env, COMMITS);
    let server = remote(&mut env, "git.example");
    output_of(build(&env, &[]), 0);
    assert_eq!(pulls(&server).len(), 2);
    for pull in server.pulls() {
        let branch = pull["head"]["ref"].as_str().unwrap().to_owned();
        let tip = env.git(&["rev-parse", &branch]);
        server.becomes(pull["number"].as_u64().unwrap(), "merged", tip.trim());
        at_remote(&env, &["update-ref", "-d", &format!("refs/heads/{branch}")]);
    }
    // One of them has lost its worktree before.
    env.git(&["worktree", "remove", "--force", worktree(&env, "two").to_str().unwrap()]);
    let text = output_of(build(&env, &[]), 0);
    for branch in ["one", "two"] {
        has(&text, &format!("{branch} is merged (https://"));
        assert_eq!(env.git(&["branch", "--list", branch]), "", "{text}");
        assert!(!worktree(&env, branch).exists(), "{text}");
        assert_eq!(at_remote(&env, &["for-each-ref", &format!("refs/heads/{branch}")]), "");
    }
    assert_eq!(pulls(&server).len(), 2, "no second pull request");
    let text = output_of(build(&env, &[]), 0);
    assert!(!text.contains("is merged"), "{text}");
}

#[test]
fn a_branch_that_only_the_remote_has_is_continued_from_there() {
    if !has_curl() {
        return;
    }
    let mut env = with_plan(&branches(&[("one", "")]));
    agent(&mut env, COMMITS);
    let server = remote(&mut env, "git.example");
    // As another clone left it.
    env.git(&["switch", "--quiet", "-c", "one"]);
    env.write("theirs.txt", "from the other clone\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "theirs"]);
    let theirs = env.git(&["rev-parse", "HEAD"]).trim().to_owned();
    env.git(&["push", "--quiet", &bare(&env), "one"]);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["branch", "--quiet", "-D", "one"]);
    let text = output_of(build(&env, &[]), 0);
    has(&text, "branch one already exists on origin; ralph continues it");
    env.git(&["merge-base", "--is-ancestor", &theirs, "one"]);
    assert_eq!(at_remote(&env, &["rev-parse", "one"]), env.git(&["rev-parse", "one"]));
    assert_eq!(pulls(&server).len(), 1);
}

#[test]
fn a_plan_that_only_the_local_base_has_is_in_no_pull_request() {
    if !has_curl() {
        return;
    }
    for set in [&[][..], &["--set", "git.pr_base=main"][..]] {
        let mut env = project(&[]);
        agent(&mut env, COMMITS);
        let server = remote(&mut env, "git.example");
        env.write(PLAN, branches(&[("one", ""), ("two", "Base: main")]));
        env.git(&["add", "-A"]);
        env.git(&["commit", "--quiet", "-m", "plan: written"]);
        let text = output_of(build(&env, set), 0);
        assert!(!text.contains("push main first"), "only the plan is missing there: {text}");
        assert_eq!(pulls(&server).len(), 2, "{text}");
        for branch in ["one", "two"] {
            let log =
                at_remote(&env, &["log", "--format=%s", "--name-only", &format!("main..{branch}")]);
            assert!(log.contains(&format!("Work on {branch}")), "{log}");
            assert!(!log.contains(PLAN) && !log.contains("plan: written"), "{log}");
        }
    }
}

#[test]
fn a_branch_that_could_not_be_published_is_tried_again_without_its_worktree() {
    if !has_curl() {
        return;
    }
    let mut env = with_plan(&branches(&[("one", "")]));
    agent(&mut env, COMMITS);
    let server = remote(&mut env, "git.example");
    let hook = Path::new(&bare(&env)).join("hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\necho 'Not on Sundays.' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let never = ["--set", "git.worktree.keep=never"];
    let text = output_of(build(&env, &never), 0);
    has(&text, "1 branch done, but 1 is not published; to retry: ralph loop");
    assert!(!worktree(&env, "one").exists() && pulls(&server).is_empty(), "{text}");
    // Still in the way: still said.
    let text = output_of(build(&env, &never), 0);
    has(&text, "one is not published yet");
    has(&text, "but 1 is not published");
    std::fs::remove_file(&hook).unwrap();
    let text = output_of(build(&env, &never), 0);
    has(&text, "ralph retries");
    has(&text, "opened https://");
    assert_eq!(pulls(&server).len(), 1);
    let text = output_of(build(&env, &never), 0);
    assert!(!text.contains("not published"), "{text}");
}

/// Eight branches of five tasks in a full campaign, all at once, with the real Claude Code.
#[test]
fn s4_5_s4_8_s4_11_many_branches_with_the_real_agent_and_a_pull_request_each() {
    let (lanes, tasks) = if times(0, 1) == 0 { (3, 2) } else { (8, 5) };
    if !has_curl() {
        return;
    }
    let work = "test -n \"$RALPH_TASK_ID\" && echo $RALPH_TASK_ID > $RALPH_TASK_ID.txt && \
        git add -A && git commit -qm \"work $RALPH_TASK_ID\"";
    let script = Script::answering(move |request| match request.tool_results().is_empty() {
        true => Turn::bash(work),
        false => Turn::text("<task-done>{id}</task-done>"),
    });
    let Some(mut env) = ClaudeEnv::new(RALPH, script) else { return };
    let mut plan = String::from("# Plan\n\n");
    for lane in 0..lanes {
        plan.push_str(&format!("## Branch: lane-{lane}\nGoal: Lane {lane}\n\n"));
        for task in 0..tasks {
            plan.push_str(&format!("- [ ] Part {task} of lane {lane}\n"));
        }
        plan.push('\n');
    }
    env.write(PLAN, &plan);
    env.write("ralph.toml", "[git.worktree]\nname = \"ralph-bot\"\nemail = \"bot@example.org\"\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let server = remote(&mut env, "git.example");
    let text = output_of(env.ralph(&["loop", "build"]), 0);
    has(&text, &format!("All {lanes} branches done."));
    let found = pulls(&server);
    assert_eq!(found.len(), lanes, "{found:?}\n{text}");
    let mut all = BTreeSet::new();
    for (lane, (head, base, title)) in found.iter().enumerate() {
        let branch = format!("lane-{lane}");
        assert_eq!((head, base.as_str()), (&branch, "main"));
        assert_eq!(title, &format!("{branch}: Lane {lane}"));
        let log = env.git(&["log", "--format=%an <%ae> %s", &format!("main..{branch}")]);
        assert_eq!(log.lines().count(), tasks, "{log}");
        for line in log.lines() {
            assert!(line.starts_with("ralph-bot <bot@example.org> work t-"), "{line}");
        }
        let files = changed(&env, &branch);
        assert_eq!(files.len(), tasks, "{files:?}");
        all.extend(files);
        let there = env.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
        assert!(there.starts_with(env.git(&["rev-parse", &branch]).trim()));
        assert_eq!(
            env.git(&["-C", worktree(&env, &branch).to_str().unwrap(), "status", "--porcelain"]),
            ""
        );
    }
    assert_eq!(all.len(), lanes * tasks, "each task once");
    assert_eq!(ticks(&env).len(), lanes * tasks);
    // Nothing is left behind but the worktrees, which wait for the branches to be merged.
    assert_eq!(env.git(&["status", "--porcelain", "--", ":!IMPLEMENTATION_PLAN.md"]), "");
    env.git(&["fsck", "--strict", "--no-dangling"]);
    for lane in 0..lanes {
        env.git(&["merge", "--quiet", "--no-edit", &format!("lane-{lane}")]);
    }
    env.git(&["push", "--quiet", &bare(&env), "main"]);
    env.git(&["fetch", "--quiet", &bare(&env), "main:refs/remotes/origin/main"]);
    output_of(env.ralph(&["loop", "build"]), 0);
    assert!(!env.repo().join(".worktrees").exists(), "merged branches have no worktree");
    assert_eq!(pulls(&server).len(), lanes);
}
