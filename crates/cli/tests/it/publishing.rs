//! The branch of a run goes out: to a real bare remote, which git reaches by a stand-in for ssh, and to the
//! stand-in for GitHub on loopback.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use ralph_testkit::github::{Fault, GitHubServer, REPO, Speaks, TOKEN, gh, has_curl};
use ralph_testkit::{Ran, TestEnv, send_signal, wait_until};
use serde_json::Value;

use crate::looping::{
    PATIENCE, again, arguments, build, cassette, journal, of_kind, project, runs, start, status,
    wait_for_event, works,
};

/// A repository on the branch `feature` with one task, and its remote on the stand-in for GitHub.
struct World {
    env: TestEnv,
    server: GitHubServer,
}

/// Gives the repository, which is on its first branch, a remote on this server: real git behind a stand-in
/// for ssh, and the stand-in for GitHub.
pub(crate) fn remote(env: &mut TestEnv, host: &str) -> GitHubServer {
    let server = GitHubServer::start();
    let remotes = env.folder().join("remotes");
    std::fs::create_dir_all(&remotes).unwrap();
    let bare = format!("../remotes/{REPO}.git");
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", &bare]);
    // What ssh would do on the other side.
    let ssh = env.folder().join("ssh");
    let script = format!("#!/bin/sh\ncd {} && exec sh -c \"$2\"\n", remotes.display());
    std::fs::write(&ssh, script).unwrap();
    std::fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).unwrap();
    env.set("GIT_SSH_COMMAND", ssh.to_str().unwrap()).set("GIT_SSH_VARIANT", "simple");
    env.set("GITHUB_API_URL", &server.url()).set("GITHUB_SERVER_URL", "https://git.example");
    env.set("GH_TOKEN", TOKEN);
    env.git(&["branch", "--move", "main"]);
    env.git(&["remote", "add", "origin", &bare]);
    env.git(&["push", "--quiet", "origin", "main"]);
    env.git(&["remote", "set-head", "origin", "main"]);
    env.git(&["remote", "set-url", "origin", &format!("git@{host}:{REPO}.git")]);
    server
}

const PUBLISH: [&str; 2] = ["--set", "git.auto_pr=true"];
const PUSH: [&str; 2] = ["--set", "git.auto_push=true"];

impl World {
    fn new(tasks: &[&str]) -> Self {
        Self::on("git.example", tasks)
    }

    /// The remote is on this server, and the branch `main` is there already.
    fn on(host: &str, tasks: &[&str]) -> Self {
        let mut env = project(tasks);
        let server = remote(&mut env, host);
        env.git(&["switch", "--quiet", "-c", "feature"]);
        Self { env, server }
    }

    fn bare(&self) -> PathBuf {
        self.env.folder().join("remotes").join(format!("{REPO}.git"))
    }

    /// The commit of a branch at the remote.
    fn remote_has(&self, branch: &str) -> Option<String> {
        let bare = format!("--git-dir={}", self.bare().display());
        let name = format!("refs/heads/{branch}");
        let found = self.env.git(&[&bare, "for-each-ref", "--format=%(objectname)", &name]);
        Some(found.trim().to_owned()).filter(|found| !found.is_empty())
    }

    fn branches(&self) -> usize {
        let bare = format!("--git-dir={}", self.bare().display());
        self.env.git(&[&bare, "for-each-ref", "refs/heads"]).lines().count()
    }

    fn head(&self) -> Option<String> {
        Some(self.env.git(&["rev-parse", "HEAD"]).trim().to_owned())
    }

    fn hook(&self, name: &str, script: &str) {
        let path = self.bare().join("hooks").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// The pull requests: title and body.
    fn pulls(&self) -> Vec<(String, String)> {
        let text = |pull: &Value, name: &str| pull[name].as_str().unwrap_or_default().to_owned();
        self.server.pulls().iter().map(|pull| (text(pull, "title"), text(pull, "body"))).collect()
    }

    /// What the newest run reported about publishing: nothing, or one line.
    fn publication(&self) -> Option<Value> {
        let journal = journal(&self.env);
        let text = of_kind(&journal, "published");
        assert!(text.len() <= 1, "{text:?}");
        assert_eq!(text.len(), of_kind(&journal, "publishing").len());
        text.first().map(|text| (*text).clone())
    }

    fn end(&self) -> String {
        self.publication().map(|text| text["end"].as_str().unwrap().to_owned()).unwrap_or_default()
    }
}

/// The run ended well; what it said.
#[track_caller]
fn complete(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let done = ["✓ All ", "✓ The task is done."];
    assert!(done.iter().any(|words| ran.stderr.contains(words)), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn s4_11_a_complete_run_opens_one_pull_request_and_the_next_brings_it_up_to_date() {
    if !has_curl() {
        return;
    }
    let world = World::new(&["one"]);
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    let page = world.server.pulls()[0]["html_url"].as_str().unwrap().to_owned();
    assert!(output.contains(&format!("opened {page}")), "{output}");
    assert_eq!((world.remote_has("feature"), world.end().as_str()), (world.head(), "opened"));
    let pulls = world.pulls();
    let [(title, body)] = &pulls[..] else { panic!("{pulls:?}") };
    assert_eq!(title, "feature");
    for part in ["1 done.", "- [x] `one` one", "## Checks", "## Commits", "## Cost", "1 attempt"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    // Everything is done: nothing changes, and it is said.
    let output = complete(again(&world.env, &PUBLISH));
    assert!(output.contains(&format!("up to date: {page}")), "{output}");
    assert!(world.env.ralph(&["status"]).success().contains(&page));
    world.env.task(&["add", "two", "--id", "two"]);
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    assert!(output.contains(&format!("updated {page}")), "{output}");
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert!(pulls[0].1.contains("2 done."), "{}", pulls[0].1);
    assert_eq!((world.remote_has("feature"), world.branches()), (world.head(), 2));
    let other =
        world.server.asked().into_iter().any(|asked| asked.body.to_string().contains(TOKEN));
    assert!(!other && !output.contains(TOKEN));
}

/// A store knows the tasks of other branches, too; ralph does not report them twice.
#[test]
fn a_pull_request_shows_the_tasks_of_its_own_branch() {
    if !has_curl() {
        return;
    }
    let world = World::new(&["one"]);
    complete(build(&world.env, &[&works()], &PUBLISH));
    world.env.git(&["switch", "--quiet", "-c", "other", "main"]);
    world.env.task(&["add", "two", "--id", "two"]);
    complete(build(&world.env, &[&works()], &PUBLISH));
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 2, "{pulls:?}");
    assert!(pulls[1].1.contains("- [x] `two` two"), "{}", pulls[1].1);
    assert!(!pulls[1].1.contains("`one`"), "{}", pulls[1].1);
}

#[test]
fn the_real_gh_opens_it_too() {
    let Some(gh) = gh() else { return };
    let mut world = World::on("github.localhost", &["one"]);
    let bin = world.env.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(gh, bin.join("gh")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let config = world.env.folder().join("gh-config");
    let url = world.server.url();
    world.env.set("PATH", &format!("{}:{path}", bin.display()));
    world.env.set("GH_HOST", "github.localhost").set("HTTP_PROXY", &url);
    world.env.set("GH_CONFIG_DIR", config.to_str().unwrap()).set("GITHUB_API_URL", "");
    complete(build(&world.env, &[&works()], &PUBLISH));
    assert_eq!((world.pulls().len(), world.end().as_str()), (1, "opened"));
    let agent = |asked: &ralph_testkit::github::ReceivedRequest| {
        asked
            .headers
            .iter()
            .any(|(name, value)| name == "user-agent" && value.contains("GitHub CLI"))
    };
    assert!(world.server.asked().iter().all(agent), "{:?}", world.server.asked());
}

/// Without gh and token the branch is pushed, and the person gets the command and the text.
#[test]
fn without_a_way_to_the_server_the_user_gets_the_command() {
    let mut world = World::new(&["one"]);
    world.env.set("GH_TOKEN", "");
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    assert_eq!((world.remote_has("feature"), world.end().as_str()), (world.head(), "by_hand"));
    assert!(output.contains("gh pr create --repo=git.example/ada/engine --base=main"), "{output}");
    assert!(
        output.contains("GH_ENTERPRISE_TOKEN is not set") || output.contains("GH_TOKEN is not set")
    );
    let draft = runs(&world.env).pop().unwrap().join("pull-request.md");
    assert!(std::fs::read_to_string(&draft).unwrap().contains("- [x] `one` one"));
    assert_eq!(std::fs::metadata(&draft).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(world.pulls(), []);
}

/// Whatever refuses, the run is complete, the branch stays, and the next run tries again.
#[test]
fn what_refuses_a_branch_is_a_warning_with_the_command_and_is_tried_again() {
    if !has_curl() {
        return;
    }
    let world = World::new(&["one"]);
    world.hook("pre-receive", "echo 'Not on Sundays.' >&2; exit 1");
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    assert!(output.contains("not published: origin refused `feature`"), "{output}");
    assert!(
        output.contains("Not on Sundays") && output.contains("git push origin feature"),
        "{output}"
    );
    assert!(output.contains("ralph build"), "{output}");
    assert_eq!((world.end().as_str(), world.remote_has("feature")), ("failed", None));
    assert_eq!((status(&world.env, "one").as_str(), world.pulls().len()), ("done", 0));
    std::fs::remove_file(world.bare().join("hooks/pre-receive")).unwrap();
    // A server that cannot say what became of the branch: nothing is pushed until it can.
    let busy = vec![("retry-after".to_owned(), "3600".to_owned())];
    world.server.fault(Fault::Answer(429, busy, Value::Null));
    let output = complete(again(&world.env, &PUBLISH));
    assert!(output.contains("git.example limits requests; try again in 3600s"), "{output}");
    assert!(output.contains("the next run retries it"), "{output}");
    assert_eq!((world.end().as_str(), world.remote_has("feature")), ("failed", None));
    // The next run is on another branch.
    world.env.git(&["switch", "--quiet", "-c", "other", "main"]);
    world.env.task(&["add", "two", "--id", "two"]);
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    assert!(output.contains("retried feature: opened"), "{output}");
    let mut heads: Vec<String> =
        world.server.pulls().iter().map(|pull| pull["head"]["ref"].to_string()).collect();
    heads.sort();
    assert_eq!(heads, ["\"feature\"", "\"other\""]);
    assert!(!complete(again(&world.env, &PUBLISH)).contains("retried"));
}

/// Your own checkout and branch are yours: ralph says that it is merged, and pushes nothing.
#[test]
fn a_branch_that_was_squashed_or_closed_on_the_server_is_not_pushed_again() {
    if !has_curl() {
        return;
    }
    let world = World::new(&["one"]);
    complete(build(&world.env, &[&works()], &PUBLISH));
    let tip = world.head().unwrap();
    let bare = format!("--git-dir={}", world.bare().display());
    world.env.git(&[&bare, "update-ref", "-d", "refs/heads/feature"]);
    for (state, words) in [
        ("merged", "`feature` is merged, so nothing was pushed"),
        ("closed", "was closed, so `feature` was not pushed"),
    ] {
        world.server.becomes(1, state, &tip);
        let output = complete(again(&world.env, &PUBLISH));
        assert!(output.contains(words), "{output}");
        assert_eq!((world.end().as_str(), world.remote_has("feature")), (state, None));
        assert_eq!(world.pulls().len(), 1, "{state}");
    }
}

#[test]
fn a_gitlab_that_the_settings_name_gets_a_merge_request() {
    if !has_curl() {
        return;
    }
    let mut world = World::new(&["one"]);
    let server = GitHubServer::speaking(Speaks::GitLab);
    world.env.set("GITHUB_API_URL", "").set("GH_TOKEN", "").set("ACME_TOKEN", TOKEN);
    let hosts = format!("publish.hosts=[\"git.example=gitlab ACME_TOKEN {}\"]", server.url());
    let all = [&PUBLISH[..], &["--set", &hosts]].concat();
    let output = complete(build(&world.env, &[&works()], &all));
    assert!(output.contains("opened https://"), "{output}");
    assert_eq!((server.pulls().len(), world.remote_has("feature")), (1, world.head()));
    assert!(server.asked()[0].path.starts_with("/projects/ada%2Fengine/merge_requests?"));
    // Without the setting ralph does not know that the token is for this server.
    let output = complete(again(&world.env, &PUBLISH));
    assert!(output.contains("open the pull request yourself"), "{output}");
}

/// GitLab, Gitea and others print where to open a pull request.
#[test]
fn the_page_that_an_unknown_server_prints_is_passed_on() {
    let mut world = World::new(&["one"]);
    world.env.set("GITHUB_API_URL", "").set("GH_TOKEN", "");
    let page = "https://git.example/ada/engine/new?branch=feature";
    world.hook("post-receive", &format!("echo 'To open one, visit:'; echo '  {page}'"));
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    assert!(output.contains(&format!("open the pull request yourself on {page}")), "{output}");
    assert!(!output.contains("gh pr create"), "{output}");
    assert_eq!((world.end().as_str(), world.remote_has("feature")), ("by_hand", world.head()));
}

#[test]
fn a_remote_that_moved_on_is_never_forced() {
    let world = World::new(&["one"]);
    // Somebody else pushed to the branch.
    world.env.git(&["commit", "--quiet", "--allow-empty", "-m", "theirs"]);
    world.env.git(&["push", "--quiet", world.bare().to_str().unwrap(), "feature"]);
    let theirs = world.remote_has("feature");
    world.env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let output = complete(build(&world.env, &[&works()], &PUBLISH));
    assert!(output.contains("ralph never force-pushes"), "{output}");
    assert!(output.contains("git fetch origin"), "{output}");
    assert_eq!((world.remote_has("feature"), world.pulls().len()), (theirs, 0));
}

#[test]
fn a_run_without_a_remote_says_so() {
    let world = World::new(&["one"]);
    world.env.git(&["remote", "remove", "origin"]);
    let all = [&PUBLISH[..], &["--set", "git.pr_base=main"]].concat();
    let output = complete(build(&world.env, &[&works()], &all));
    assert!(output.contains("there is no remote `origin`"), "{output}");
    assert!(output.contains("git remote add origin URL"), "{output}");
}

#[test]
fn a_protected_branch_is_untouched() {
    let world = World::new(&["one", "two"]);
    let before = world.remote_has("main");
    world.env.git(&["switch", "--quiet", "main"]);
    // It is where pull requests go: there is nothing to open, and that is no error.
    let output = complete(build(&world.env, &[&works(), &works()], &PUBLISH));
    assert!(output.contains("nothing to publish: `main` is the base branch of pull requests"));
    assert!(!output.contains("not published"), "{output}");
    assert_eq!((world.end().as_str(), world.remote_has("main")), ("nothing", before.clone()));
    // Pushed it is not either: said once, not after each iteration and at the end.
    for task in ["three", "four"] {
        world.env.task(&["add", task, "--id", task]);
    }
    let output = complete(build(&world.env, &[&works(), &works()], &PUSH));
    let sentence = "`main` is a protected branch, and ralph does not push it";
    let warnings = output.split("Warnings").nth(1).unwrap();
    assert_eq!(warnings.matches(sentence).count(), 1, "{output}");
    let notices = journal(&world.env);
    let notices = of_kind(&notices, "noticed");
    let text = notices.iter().filter(|notice| notice.to_string().contains(sentence)).count();
    assert_eq!((text, world.remote_has("main")), (1, before));
    // Another name for it is as protected.
    world.env.git(&["switch", "--quiet", "-c", "release/2"]);
    world.env.task(&["add", "five", "--id", "five"]);
    let all = [&PUBLISH[..], &["--set", "git.protected_branches=[\"release/*\"]"]].concat();
    let output = complete(build(&world.env, &[&works()], &all));
    assert!(output.contains("`release/2` is a protected branch"), "{output}");
    assert_eq!((world.end().as_str(), world.branches()), ("failed", 1));
}

#[test]
fn a_branch_without_commits_has_nothing_to_publish() {
    let world = World::new(&["one"]);
    world.env.ralph(&["task", "claim", "one"]).success();
    world.env.ralph(&["task", "done", "one"]).success();
    let output = complete(build(&world.env, &[], &PUBLISH));
    assert!(
        output.contains("nothing to publish: `feature` has no commits beyond `main`"),
        "{output}"
    );
    assert_eq!((world.end().as_str(), world.branches()), ("nothing", 1));
}

#[test]
fn s4_14_each_green_iteration_is_pushed_where_that_is_wanted() {
    let world = World::new(&["one", "two"]);
    let pushes = world.env.folder().join("pushes");
    world.hook("post-receive", &format!("cat >> {}", pushes.display()));
    complete(build(&world.env, &[&works(), &works()], &PUSH));
    let count = || std::fs::read_to_string(&pushes).unwrap_or_default().lines().count();
    assert_eq!((world.remote_has("feature"), count()), (world.head(), 2));
    assert_eq!((world.end().as_str(), world.pulls().len()), ("pushed", 0));
    // By default nothing goes out.
    world.env.task(&["add", "three", "--id", "three"]);
    complete(build(&world.env, &[&works()], &[]));
    assert_eq!((world.publication(), count()), (None, 2));
    assert_ne!(world.remote_has("feature"), world.head());
}

/// The first push is refused, the second is not: one warning, and in the end all of it is there.
#[test]
fn a_push_that_failed_is_made_up_for_by_the_next() {
    let world = World::new(&["one", "two", "three"]);
    let count = world.env.folder().join("count");
    let script = format!(
        "echo x >> {0}; test $(wc -l < {0}) -gt 2 || {{ echo 'Later.' >&2; exit 1; }}",
        count.display()
    );
    world.hook("pre-receive", &script);
    let output = complete(build(&world.env, &[&works(), &works(), &works()], &PUSH));
    let warnings = output.split("Warnings").nth(1).unwrap();
    assert_eq!(warnings.matches("Later").count(), 1, "{output}");
    assert_eq!(world.remote_has("feature"), world.head());
}

#[test]
fn a_run_killed_while_it_publishes_is_made_up_for_by_the_next() {
    if !has_curl() {
        return;
    }
    for point in ["before-push", "after-push", "after-pr"] {
        let mut world = World::new(&["one"]);
        world.env.set("RALPH_TEST_CRASH", point);
        let mut killed = start(&world.env, &[&works()], &PUBLISH);
        assert_eq!(killed.wait().unwrap().signal(), Some(9), "{point}");
        assert_eq!(status(&world.env, "one"), "done");
        world.env.set("RALPH_TEST_CRASH", "");
        complete(again(&world.env, &PUBLISH));
        let end = if point == "after-pr" { "unchanged" } else { "opened" };
        assert_eq!((world.end().as_str(), world.pulls().len()), (end, 1), "{point}");
        assert_eq!((world.remote_has("feature"), world.branches()), (world.head(), 2), "{point}");
    }
}

/// A server that never answers does not hold up somebody who wants it to end.
#[test]
fn a_cancellation_ends_publishing_at_once_and_the_run_is_complete() {
    if !has_curl() {
        return;
    }
    let world = World::new(&["one"]);
    world.server.fault(Fault::Silent);
    cassette(&world.env, &[&works()]);
    let child = world.env.start(&arguments(&PUBLISH));
    wait_for_event(&world.env, "publishing", |event| event["kind"] == "publishing");
    wait_until("a request", PATIENCE, || !world.server.asked().is_empty());
    send_signal("INT", child.id());
    let ran = Ran::end_of(child);
    let output = complete(ran);
    assert!(
        output.contains("publishing was interrupted") && output.contains("ralph build"),
        "{output}"
    );
    assert_eq!((world.end().as_str(), status(&world.env, "one").as_str()), ("interrupted", "done"));
    complete(again(&world.env, &PUBLISH));
    assert_eq!((world.end().as_str(), world.pulls().len()), ("opened", 1));
}

/// A push between iterations that never ends does not hold up somebody who wants all of it to end now.
#[test]
fn a_push_that_hangs_ends_with_the_run() {
    let mut world = World::new(&["one", "two"]);
    let reached = world.env.folder().join("reached");
    let hangs = world.env.folder().join("hangs");
    let script = format!("#!/bin/sh\ntouch {}\nexec sleep 600\n", reached.display());
    std::fs::write(&hangs, script).unwrap();
    std::fs::set_permissions(&hangs, PermissionsExt::from_mode(0o755)).unwrap();
    world.env.set("GIT_SSH_COMMAND", hangs.to_str().unwrap());
    let child = start(&world.env, &[&works(), &works()], &PUSH);
    wait_until("the push", PATIENCE, || reached.exists());
    send_signal("TERM", child.id());
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("publishing was interrupted"), "{}", ran.stderr);
    // What was settled is settled.
    let statuses = ["one", "two"].map(|task| status(&world.env, task));
    assert_eq!(statuses, ["done", "open"]);
    assert_eq!(world.remote_has("feature"), None);
}
