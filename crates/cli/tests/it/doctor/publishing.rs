//! What it takes to publish: the way to the server, and keys that sign.

use std::process::Command;

use ralph_testkit::TestEnv;
use ralph_testkit::github::{Fault, GitHubServer, REPO, TOKEN, has_curl};
use serde_json::Value;

use super::{healthy, line, program};

fn forge(env: &TestEnv, extra: &[&str]) -> (String, String, String) {
    let mut arguments = vec!["doctor"];
    arguments.extend(extra);
    let text = env.ralph(&arguments).stdout;
    assert!(!text.contains(TOKEN), "{text}");
    let (state, says) = line(&text, "forge");
    (state.to_owned(), says.to_owned(), text.clone())
}

const WANTED: [&str; 2] = ["--set", "git.auto_pr=true"];

#[test]
fn the_way_to_the_server_is_reported_without_asking_it() {
    let mut env = healthy();
    let (state, says, _) = forge(&env, &[]);
    assert!(state == "ok" && says.contains("there is no remote `origin`"), "{says}");
    let (state, says, _) = forge(&env, &WANTED);
    assert!(state == "warn" && says.contains("git remote add origin"), "{says}");
    env.git(&["remote", "add", "origin", "../elsewhere.git"]);
    let (state, says, _) = forge(&env, &WANTED);
    assert!(state == "warn" && says.contains("is not a repository"), "{says}");
    let server = GitHubServer::start();
    env.set("GITHUB_API_URL", &server.url()).set("GITHUB_SERVER_URL", "https://git.example");
    env.git(&["remote", "set-url", "origin", &format!("git@git.example:{REPO}.git")]);
    let (state, says, text) = forge(&env, &WANTED);
    assert!(state == "warn" && says.contains("ralph needs gh, or a token and curl"), "{says}");
    assert!(text.contains("do: gh auth login --hostname git.example, or set GH_TOKEN"), "{text}");
    assert_eq!(forge(&env, &[]).0, "ok", "publishing is off");
    program(&env, "curl", "exit 1");
    env.set("GH_TOKEN", TOKEN);
    let (state, says, _) = forge(&env, &WANTED);
    assert!(
        state == "ok" && says.starts_with("ada/engine on git.example through GH_TOKEN"),
        "{says}"
    );
    program(&env, "gh", "exit 1");
    let (state, says, _) = forge(&env, &WANTED);
    assert!(state == "ok" && says.contains("through gh, if it is logged in"), "{says}");
    assert_eq!(server.asked().len(), 0, "doctor sends no request");
    env.set("GITHUB_API_URL", "ftp://x");
    assert_eq!(forge(&env, &WANTED).0, "fail");
}

#[test]
fn the_server_is_asked_only_on_request() {
    if !has_curl() {
        return;
    }
    let mut env = healthy();
    let path = std::env::var("PATH").unwrap();
    let server = GitHubServer::start();
    env.set("PATH", &format!("{}:{path}", super::tools(&env).display()));
    env.set("GITHUB_API_URL", &server.url()).set("GITHUB_SERVER_URL", "https://git.example");
    env.set("GH_TOKEN", TOKEN);
    env.git(&["remote", "add", "origin", &format!("git@git.example:{REPO}.git")]);
    program(&env, "gh", "exit 1");
    let (state, says, _) = forge(&env, &["--online"]);
    assert_eq!(
        (state.as_str(), says.as_str()),
        ("ok", "ada/engine on git.example answers, through the API with GH_TOKEN")
    );
    assert_eq!(server.asked().len(), 1);
    server.fault(Fault::Answer(401, vec![], Value::Null));
    let (state, says, text) = forge(&env, &["--online"]);
    assert!(state == "fail" && says.contains("did not accept the token"), "{says}");
    assert!(text.contains("do: gh auth login"), "{text}");
    env.set("GH_TOKEN", "");
    assert_eq!(forge(&env, &["--online"]).0, "fail");
}

#[test]
fn a_key_that_signs_is_distinguished_from_one_that_does_not() {
    let mut env = healthy();
    let text = env.ralph(&["doctor"]).stdout;
    assert!(!text.contains("signing"), "{text}");
    let path = std::env::var("PATH").unwrap();
    let key = env.folder().join("key");
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-f", key.to_str().unwrap()];
    if !Command::new("ssh-keygen").args(arguments).status().is_ok_and(|end| end.success()) {
        return ralph_testkit::skip("signing: there is no ssh-keygen");
    }
    env.set("PATH", &format!("{}:{path}", super::tools(&env).display()));
    env.git(&["config", "gpg.format", "ssh"]);
    env.git(&["config", "commit.gpgsign", "true"]);
    env.git(&["config", "user.signingkey", key.to_str().unwrap()]);
    let objects = || env.git(&["count-objects", "-v"]);
    let before = objects();
    let text = env.ralph(&["doctor"]).stdout;
    assert_eq!(line(&text, "signing").0, "ok", "{text}");
    assert_eq!(objects(), before, "nothing is left of the try");
    env.git(&["config", "user.signingkey", "/nowhere/key"]);
    let ran = env.ralph(&["doctor"]);
    let (state, says) = line(&ran.stdout, "signing");
    assert!(state == "fail" && says.starts_with("commit.gpgsign is on, but signing does not work"));
    assert!(ran.stdout.contains("do: or turn signing off here"), "{}", ran.stdout);
    assert_eq!(ran.code, 1);
    // The key of the worktrees alone.
    env.git(&["config", "commit.gpgsign", "false"]);
    let set = format!("git.worktree.signing_key={}", key.display());
    assert_eq!(line(&env.ralph(&["doctor", "--set", &set]).stdout, "signing").0, "ok");
    let text = env.ralph(&["doctor", "--set", "git.worktree.signing_key=/nowhere/key"]).stdout;
    let (state, says) = line(&text, "signing");
    assert!(state == "fail" && says.starts_with("git.worktree.signing_key is /nowhere/key"));
}
