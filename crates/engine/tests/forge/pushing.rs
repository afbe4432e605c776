//! Pushing to a real bare repository: what goes, and every way in which it does not.

use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_engine::ports::GitError;
use ralph_engine::process::{CommandSpec, Stop};
use ralph_engine::publishing::{Push, PushError, Pushed};
use ralph_testkit::github::GitHubServer;
use tokio::sync::watch;

use crate::kit::{Repo, going, refused};

#[test]
fn a_branch_is_new_then_moves_then_is_there() {
    let repo = Repo::new();
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::New);
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::UpToDate);
    repo.commit("third");
    repo.git(&["tag", "--annotate", "--message=x", "v1"]);
    repo.git(&["config", "push.followTags", "true"]);
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::Moved);
    assert_eq!(repo.remote_has("feature"), Some(repo.git(&["rev-parse", "feature"])));
    let tags = repo.git_in(&repo.folder().join("remote.git"), &["tag"]);
    assert_eq!((tags.as_str(), repo.remote_has("main")), ("", None));
}

#[test]
fn what_is_at_the_remote_alone_is_never_overwritten() {
    let repo = Repo::new();
    repo.push("origin", "feature").unwrap();
    let there = repo.remote_has("feature");
    repo.git(&["commit", "--quiet", "--amend", "--allow-empty", "--message", "other"]);
    // Even a person whose settings force everything has not told us to.
    repo.git(&["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    let error = repo.push("origin", "feature").unwrap_err();
    assert!(matches!(error, PushError::NotFastForward { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "`feature` on origin has commits that you do not have, and ralph never force-pushes: `git \
         fetch origin`, then merge or rebase"
    );
    assert_eq!(repo.remote_has("feature"), there);
}

#[test]
fn a_remote_that_says_no_is_quoted() {
    let repo = Repo::new();
    repo.hook("remote.git", "pre-receive", "echo 'Only on weekdays.' >&2; exit 1");
    let error = repo.push("origin", "feature").unwrap_err();
    assert!(matches!(error, PushError::Declined { .. }), "{error:?}");
    let message = "origin refused `feature`: pre-receive hook declined: Only on weekdays";
    assert_eq!(error.to_string(), message);
    assert_eq!(repo.remote_has("feature"), None);
}

#[test]
fn the_users_own_hook_is_asked() {
    let repo = Repo::new();
    repo.hook("work/.git", "pre-push", "echo 'Tests first.' >&2; exit 1");
    let error = repo.push("origin", "feature").unwrap_err();
    assert!(matches!(error, PushError::Hook { .. }), "{error:?}");
    assert_eq!(error.to_string(), "the pre-push hook rejected `feature`: Tests first");
    assert_eq!(repo.remote_has("feature"), None);
}

#[test]
fn the_users_hook_gets_what_git_would_give_it() {
    let repo = Repo::new();
    repo.hook("work/.git", "pre-push", "{ echo \"$@\"; cat; } >> ../told");
    let reported = || std::fs::read_to_string(repo.folder().join("told")).unwrap_or_default();
    let (name, first) = ("refs/heads/feature", repo.git(&["rev-parse", "feature"]));
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::New);
    let none = "0".repeat(first.len());
    let begins = format!("origin ../remote.git\n{name} {first} {name} {none}\n");
    assert_eq!(reported(), begins);
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::UpToDate);
    assert_eq!(reported(), begins, "there was nothing to push");
    repo.commit("third");
    let next = repo.git(&["rev-parse", "feature"]);
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::Moved);
    let moved = format!("origin ../remote.git\n{name} {next} {name} {first}\n");
    assert_eq!(reported(), begins + &moved);
}

#[test]
fn a_hook_of_the_worktree_is_left_to_the_sandbox() {
    let repo = Repo::new();
    repo.git(&["config", "core.hooksPath", ".githooks/hooks"]);
    for name in ["pre-push", "reference-transaction"] {
        repo.hook("work/.githooks", name, "touch ../ran");
    }
    let hook = repo.place().join(".githooks/hooks/pre-push").canonicalize().unwrap();
    let says = |code: i32| {
        let hook = hook.clone();
        move |spec: CommandSpec, _: Duration, _: watch::Receiver<Stop>| {
            assert_eq!(spec.program, hook.as_os_str());
            assert!(spec.stdin.opening().starts_with(b"refs/heads/feature "), "{:?}", spec.stdin);
            (ProcessEnd::Exited { code }, "No tabs.\n".to_owned())
        }
    };
    let error = repo.push_with("origin", "feature", &says(1)).unwrap_err();
    assert!(matches!(error, PushError::Hook { .. }), "{error:?}");
    assert_eq!(error.to_string(), "the pre-push hook rejected `feature`: No tabs");
    assert_eq!(repo.remote_has("feature"), None);
    assert_eq!(repo.push_with("origin", "feature", &says(0)).unwrap(), Pushed::New);
    assert!(!repo.folder().join("ran").exists(), "a hook of the worktree ran outside the sandbox");
}

#[test]
fn protected_branches_are_refused_before_anything_happens() {
    let repo = Repo::new();
    repo.hook("work/.git", "pre-push", "touch ../hook-ran");
    for branch in ["main", "release/1.0"] {
        // There is no such remote; nobody gets to know.
        let error = repo.push("nowhere", branch).unwrap_err();
        assert!(matches!(error, PushError::Protected { .. }), "{error:?}");
    }
    let error = repo.push("origin", "main").unwrap_err().to_string();
    assert!(error.contains("git.protected_branches"), "{error}");
    assert!(!repo.folder().join("hook-ran").exists());
    assert_eq!(repo.remote_has("main"), None);
}

#[test]
fn what_is_missing_is_named() {
    let repo = Repo::new();
    repo.git(&["remote", "add", "gone", "../gone.git"]);
    let error = repo.push("upstream", "feature").unwrap_err();
    assert!(matches!(error, PushError::NoRemote { .. }), "{error:?}");
    let error = repo.push("--mirror", "feature").unwrap_err();
    assert!(matches!(error, PushError::NoRemote { .. }), "{error:?}");
    for branch in ["nope", "--all", "", "+feature", "feature:main", "HEAD"] {
        let error = repo.push("origin", branch).unwrap_err();
        assert!(matches!(error, PushError::NoBranch { .. }), "{branch}: {error:?}");
    }
    let error = repo.push("gone", "feature").unwrap_err();
    assert!(matches!(error, PushError::Unreachable { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("does not appear to be a git repository"), "{message}");
    assert!(
        !message.contains('\n') && message.contains("try `git push gone feature`"),
        "{message}"
    );
}

#[test]
fn branches_of_odd_names_are_names() {
    let repo = Repo::new();
    for branch in ["ü/日本 x".replace(' ', "\u{3000}"), "-x".to_owned(), "a'b$(id)".to_owned()] {
        repo.git(&["update-ref", &format!("refs/heads/{branch}"), "HEAD"]);
        assert_eq!(repo.push("origin", &branch).unwrap(), Pushed::New, "{branch}");
        assert!(repo.remote_has(&branch).is_some(), "{branch}");
    }
}

#[test]
fn a_push_ends_when_the_run_is_stopped() {
    let repo = Repo::new();
    repo.hook("work/.git", "pre-push", "touch ../began; exec sleep 300");
    let (say, stop) = watch::channel(Stop::Go);
    let began = repo.folder().join("began");
    let stopper = std::thread::spawn(move || {
        let minute = Duration::from_secs(60);
        ralph_testkit::wait_until("the hook began", minute, || began.exists());
        say.send_replace(Stop::Kill);
        say
    });
    let push = Push {
        folder: &repo.place(),
        environment: &repo.environment,
        remote: "origin",
        branch: "feature",
        protected: &[],
        patience: Push::PATIENCE,
        sandboxed: &refused,
    };
    let error = push.run(stop).unwrap_err();
    assert!(matches!(error, PushError::Interrupted { .. }), "{error:?}");
    drop(stopper.join().unwrap());
}

#[test]
fn a_push_that_hangs_is_ended() {
    let repo = Repo::new();
    repo.hook("work/.git", "pre-push", "exec sleep 300");
    let push = Push {
        folder: &repo.place(),
        environment: &repo.environment,
        remote: "origin",
        branch: "feature",
        protected: &[],
        patience: Duration::from_secs(1),
        sandboxed: &refused,
    };
    let error = push.run(going()).unwrap_err();
    assert_eq!(error.to_string(), "pushing to origin timed out after 1s");
}

/// The person's ssh is used, and has nobody to ask.
#[test]
fn ssh_is_the_users_own_and_asks_nobody() {
    let repo = Repo::new();
    repo.git(&["remote", "set-url", "origin", "git@git.example:ada/engine.git"]);
    let seen = repo.folder().join("seen");
    let ssh = repo.folder().join("ssh");
    let script = "echo \"$SSH_ASKPASS $SSH_ASKPASS_REQUIRE $GIT_TERMINAL_PROMPT\"";
    let text = format!(
        "#!/bin/sh\n{script} > {}\necho 'Permission denied.' >&2\nexit 255\n",
        seen.display()
    );
    std::fs::write(&ssh, text).unwrap();
    repo.git(&["config", "--global", "core.sshCommand", &format!("sh {}", ssh.display())]);
    let error = repo.push("origin", "feature").unwrap_err();
    assert!(matches!(error, PushError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("Permission denied"), "{error}");
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "false force 0\n");
}

#[test]
fn a_server_that_wants_a_password_is_reported_and_nobody_is_asked() {
    let repo = Repo::new();
    let server = GitHubServer::start();
    let url = server.url().replace("://", "://ada@") + "/ada/engine.git";
    repo.git(&["remote", "set-url", "origin", &url]);
    let error = repo.push("origin", "feature").unwrap_err();
    assert!(matches!(error, PushError::Unreachable { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("could not read Password") && !message.contains("ada@"), "{message}");
    assert!(!message.contains("askpass"), "{message}");
}

/// A session can write the settings where the sandbox has no mounts.
#[test]
fn a_push_follows_where_the_settings_led_before_the_first_session() {
    let repo = Repo::new();
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::New);
    repo.git_in(repo.folder(), &["init", "--quiet", "--bare", "theirs.git"]);
    repo.git(&["remote", "add", "other", "../theirs.git"]);
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::UpToDate, "another remote");
    let theirs = repo.folder().join("theirs.git").display().to_string();
    let before = repo.git(&["remote", "get-url", "origin"]);
    for (key, value) in [
        ("remote.origin.url".to_owned(), theirs.clone()),
        ("remote.origin.pushurl".to_owned(), theirs.clone()),
        (format!("url.{theirs}.insteadof"), before.clone()),
    ] {
        repo.git(&["config", &key, &value]);
        let error = repo.push("origin", "feature").unwrap_err();
        assert!(matches!(error, PushError::Git(GitError::Led { .. })), "{key}: {error:?}");
        assert!(error.to_string().contains(&key), "{error}");
        repo.git(&["config", "--unset", &key]);
        repo.git(&["config", "remote.origin.url", &before]);
    }
    assert_eq!(repo.push("origin", "feature").unwrap(), Pushed::UpToDate);
}
