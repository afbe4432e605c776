//! Servers that say no, and ways that are not there.

use std::time::Duration;

use ralph_engine::ports::{ForgeError, Published};
use ralph_engine::process::Stop;
use ralph_testkit::github::{Fault, TOKEN};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::kit::{By, World, going, words};

fn says(status: u16, headers: &[(&str, &str)], message: &str) -> Fault {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Fault::Answer(status, headers, json!({ "message": message }))
}

#[test]
fn every_refusal_says_what_to_do() {
    for (by, world) in World::both() {
        let cases = [
            (
                says(403, &[], "Resource not accessible"),
                "(403: Resource not accessible): give the token",
            ),
            (says(403, &[("retry-after", "30")], "wait"), "try again in 30s"),
            (says(429, &[("x-ratelimit-reset", "1700000000")], "x"), "after 2023-11-14T22:13:20Z"),
            (says(404, &[], "Not Found"), "has no repository ada/engine, or"),
            (says(503, &[], "down"), "failed (503): try again later"),
            (says(401, &[], "Bad credentials"), "did not accept the token (401): "),
            (Fault::Answer(200, vec![], json!({ "no": "list" })), "did not answer as GitHub does"),
        ];
        for (fault, part) in cases {
            world.server.fault(fault);
            let error = world.publish(&words("feature")).unwrap_err().to_string();
            assert!(error.contains(part), "{by:?}: {error}");
            assert!(!error.contains('\n'), "{by:?}: {error}");
        }
        assert_eq!(world.server.pulls(), Vec::<Value>::new(), "{by:?}");
    }
}

#[test]
fn what_is_wrong_with_the_branch_is_reported() {
    for (by, world) in World::both() {
        let error = world.publish(&words("empty")).unwrap_err();
        assert!(matches!(error, ForgeError::NoCommits { .. }), "{by:?}: {error:?}");
        let error = world.publish(&words("unpushed")).unwrap_err();
        assert!(matches!(error, ForgeError::NoBranch { .. }), "{by:?}: {error:?}");
        let error = world.publish_until(&words("feature"), "nowhere", going()).unwrap_err();
        assert!(matches!(error, ForgeError::NoBase { .. }), "{by:?}: {error:?}");
        assert!(error.to_string().ends_with("base branch `nowhere`: set git.pr_base"), "{error}");
    }
}

#[test]
fn a_connection_that_breaks_is_reported() {
    for (by, world) in World::both() {
        // Once more for a client that asks again by itself.
        for _ in 0..4 {
            world.server.fault(Fault::Cut);
        }
        let error = world.publish(&words("feature")).unwrap_err();
        assert!(matches!(error, ForgeError::Network { .. }), "{by:?}: {error:?}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for() {
    let Some(mut world) = World::by(By::Curl) else { return };
    world.patience = Duration::from_secs(1);
    world.server.fault(Fault::Silent);
    let error = world.publish(&words("feature")).unwrap_err().to_string();
    assert_eq!(error, "git.example cannot be reached: no answer after 1s");
}

#[test]
fn a_server_that_is_not_there_is_reported() {
    let Some(mut world) = World::by(By::Curl) else { return };
    // Nobody listens on this port.
    world.set("GITHUB_API_URL", "http://127.0.0.1:1");
    let error = world.publish(&words("feature")).unwrap_err().to_string();
    assert!(error.starts_with("git.example cannot be reached: (7) Failed to connect"), "{error}");
}

#[test]
fn a_token_that_the_server_repeats_is_not_shown() {
    let Some(world) = World::by(By::Curl) else { return };
    world.server.fault(says(403, &[], &format!("the token {TOKEN} may not")));
    let error = world.publish(&words("feature")).unwrap_err().to_string();
    assert!(error.contains("(403: the token *** may not)"), "{error}");
}

#[test]
fn a_wrong_token_is_reported() {
    let Some(mut world) = World::by(By::Curl) else { return };
    world.set("GH_TOKEN", "wrong");
    let error = world.publish(&words("feature")).unwrap_err();
    assert!(matches!(error, ForgeError::Unauthorized { .. }), "{error:?}");
}

#[test]
fn without_a_way_the_user_gets_the_command() {
    let Some(mut world) = World::by(By::Curl) else { return };
    world.set("GH_TOKEN", "");
    let Published::Manually(manual) = world.publish(&words("feature")).unwrap() else {
        panic!("it cannot be published");
    };
    assert_eq!(manual.why, "`gh` is not installed, and GH_TOKEN is not set");
    let expected = format!(
        "gh pr create --repo=git.example/ada/engine --base=main --head=feature \
         '--title=feature: People log in' --body-file={}",
        world.draft().display()
    );
    assert_eq!(manual.command, expected);
    let page = "https://git.example/ada/engine/compare/main...feature?expand=1";
    assert_eq!(manual.page, page);
    let text = std::fs::read_to_string(world.draft()).unwrap();
    assert_eq!(text, words("feature").body() + "\n");
    assert!(world.server.asked().is_empty());
}

#[test]
fn a_gh_that_is_not_logged_in_is_not_used() {
    let Some(mut world) = World::by(By::Gh) else { return };
    world.set("GH_TOKEN", "").set("GH_HOST", "");
    let Published::Manually(manual) = world.publish(&words("feature")).unwrap() else {
        panic!("it cannot be published");
    };
    let why = "`gh auth status` says \"You are not logged into any GitHub hosts. To log in, run: gh \
               auth login\", and no token is set for github.localhost: see publish.hosts";
    assert_eq!(manual.why, why);
    assert!(world.server.asked().is_empty());
}

#[test]
fn the_token_is_used_where_gh_does_not_work() {
    let Some(mut world) = World::by(By::Curl) else { return };
    world.script("gh", "echo 'git.example' >&2; echo '  X Failed to log in.' >&2; exit 1");
    assert!(matches!(world.publish(&words("feature")).unwrap(), Published::Created(_)));
    world.set("GH_TOKEN", "");
    let Published::Manually(manual) = world.publish(&words("feature")).unwrap() else {
        panic!("it cannot be published");
    };
    let why = "`gh auth status` says \"Failed to log in\", and GH_TOKEN is not set";
    assert_eq!(manual.why, why);
}

#[test]
fn remotes_that_lead_nowhere_are_named() {
    let Some(world) = World::by(By::Curl) else { return };
    world.repo.git(&["remote", "set-url", "origin", "https://ada:secret@git.example/only"]);
    let error = world.publish(&words("feature")).unwrap_err().to_string();
    let expected = "the remote `origin` is not a repository on a server: \
                    https://git.example/only; set git.remote";
    assert_eq!(error, expected);
    world.repo.git(&["remote", "remove", "origin"]);
    let error = world.publish(&words("feature")).unwrap_err();
    assert!(matches!(error, ForgeError::NoRemote { .. }), "{error:?}");
}

#[test]
fn a_stopped_run_asks_no_question() {
    let Some(world) = World::by(By::Curl) else { return };
    let (say, stop) = watch::channel(Stop::Kill);
    let error = world.publish_until(&words("feature"), "main", stop).unwrap_err();
    assert_eq!(error, ForgeError::Interrupted);
    drop(say);
    assert!(world.server.asked().is_empty());
}
