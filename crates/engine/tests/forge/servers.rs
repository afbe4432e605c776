//! The stand-ins for GitHub, GitLab and Gitea: one pull request per branch, forks, tokens, limits and pauses.

use std::time::Duration;

use ralph_core::forge::{HostEntry, PullState};
use ralph_engine::ports::{ForgeError, Published, Survey};
use ralph_testkit::github::{Fault, GitHubServer, Speaks, TOKEN};
use serde_json::{Value, json};

use crate::kit::{World, going, words};

fn says(status: u16, headers: &[(&str, &str)], message: &str) -> Fault {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Fault::Answer(status, headers, json!({ "message": message }))
}

fn states(world: &World, branch: &str) -> Vec<(u64, PullState)> {
    match world.forge(going()).survey(branch).unwrap() {
        Survey::Asked { pulls, .. } => pulls.iter().map(|pull| (pull.number, pull.state)).collect(),
        Survey::Unasked { why } => panic!("{why}"),
    }
}

#[test]
fn every_server_gets_one_pull_request_that_stays_up_to_date() {
    for (speaks, world) in World::each() {
        // Others' pull requests are more than one list of the server holds.
        for other in ["a", "b", "c"] {
            world.server.has(other, "main", other, None);
        }
        let mut words = words("fix/ü");
        let made = world.publish(&words).unwrap();
        assert!(
            matches!(&made, Published::Created(link) if link.number == 4),
            "{speaks:?}: {made:?}"
        );
        assert!(matches!(world.publish(&words).unwrap(), Published::Unchanged(_)), "{speaks:?}");
        words.goal = "People log in and out".to_owned();
        assert!(matches!(world.publish(&words).unwrap(), Published::Updated(_)), "{speaks:?}");
        let pulls = world.server.pulls();
        assert_eq!(pulls.len(), 4, "{speaks:?}");
        assert_eq!(
            (&pulls[3]["title"], &pulls[3]["body"]),
            (&json!(words.title()), &json!(words.body()))
        );
    }
}

#[test]
fn every_server_distinguishes_open_merged_and_closed() {
    for (speaks, world) in World::each() {
        let tip = world.repo.git(&["rev-parse", "feature"]);
        for state in ["open", "closed", "merged"] {
            let number = world.server.has("feature", "main", "x", None);
            world.server.becomes(number, state, &tip);
        }
        world.server.deletes_branch_of(3);
        let mut found = states(&world, "feature");
        found.sort_by_key(|(number, _)| *number);
        let expected = [(1, PullState::Open), (2, PullState::Closed), (3, PullState::Merged)];
        assert_eq!(found, expected, "{speaks:?}");
        assert_eq!(states(&world, "other"), [], "{speaks:?}");
    }
}

#[test]
fn a_branch_of_a_fork_gets_its_pull_request_in_the_upstream() {
    for (speaks, mut world) in World::each() {
        world.repo.git(&["remote", "add", "mine", "https://git.example/eve/engine.git"]);
        world.remotes = ("mine", "origin");
        // One of the same name that is not from the fork.
        world.server.has("feature", "main", "theirs", Some("Mine."));
        let made = world.publish(&words("feature")).unwrap();
        assert!(
            matches!(&made, Published::Created(link) if link.number == 2),
            "{speaks:?}: {made:?}"
        );
        let pull = world.server.pulls().pop().unwrap();
        assert_eq!(pull["head"]["label"], "eve:feature", "{speaks:?}");
        assert!(
            matches!(world.publish(&words("feature")).unwrap(), Published::Unchanged(_)),
            "{speaks:?}"
        );
        world.repo.git(&["remote", "set-url", "mine", "https://other.example/eve/engine.git"]);
        let error = world.publish(&words("feature")).unwrap_err();
        assert!(matches!(error, ForgeError::TwoServers { .. }), "{speaks:?}: {error:?}");
    }
}

#[test]
fn a_pull_request_opened_meanwhile_on_any_server_is_used() {
    for (speaks, world) in World::each() {
        let pull = json!({
            "number": 1, "state": "open", "merged_at": null, "html_url": "https://git.example/1", "title": "feature: x",
            "body": words("feature").body(),
            "head": { "ref": "feature", "label": "ada:feature", "sha": "", "repo": { "full_name": "ada/engine" } },
            "base": { "ref": "main", "repo": { "full_name": "ada/engine" } },
        });
        world.server.fault(Fault::Raced(pull));
        let made = world.publish(&words("feature")).unwrap();
        assert!(matches!(made, Published::Updated(_)), "{speaks:?}: {made:?}");
    }
}

#[test]
fn limits_broken_servers_and_broken_connections_are_tried_again() {
    for (speaks, mut world) in World::each() {
        world.pauses = vec![Duration::from_millis(1); 4];
        for fault in [
            says(429, &[("retry-after", "0")], "slow down"),
            says(403, &[("retry-after", "0")], "secondary rate limit"),
            says(502, &[], "bad gateway"),
            Fault::Cut,
        ] {
            world.server.fault(fault);
        }
        let made = world.publish(&words("feature")).unwrap();
        assert!(matches!(made, Published::Created(_)), "{speaks:?}: {made:?}");
        let methods: Vec<String> =
            world.server.asked().into_iter().map(|asked| asked.method).collect();
        assert_eq!(methods, ["GET", "GET", "GET", "GET", "GET", "POST"], "{speaks:?}");
        // Not for ever, and not for as long as a server likes.
        for _ in 0..5 {
            world.server.fault(says(503, &[], "down"));
        }
        let error = world.publish(&words("feature")).unwrap_err();
        assert!(matches!(error, ForgeError::Server { status: 503, .. }), "{speaks:?}: {error:?}");
        let before = world.server.asked().len();
        world.server.fault(says(429, &[("retry-after", "3600")], "slow down"));
        let error = world.publish(&words("feature")).unwrap_err().to_string();
        assert_eq!(error, "git.example limits requests; try again in 3600s", "{speaks:?}");
        assert_eq!(world.server.asked().len(), before + 1, "{speaks:?}");
    }
}

#[test]
fn an_answer_that_got_lost_makes_no_second_pull_request() {
    for (speaks, mut world) in World::each() {
        world.pauses = vec![Duration::from_millis(1)];
        world.patience = Duration::from_secs(1);
        world.server.fault(Fault::Silent);
        let made = world.publish(&words("feature")).unwrap();
        assert!(matches!(made, Published::Created(_)), "{speaks:?}: {made:?}");
        assert_eq!(world.server.pulls().len(), 1, "{speaks:?}");
    }
}

#[test]
fn a_wrong_token_is_one_sentence_with_its_variable() {
    for (speaks, mut world) in World::each() {
        world.set("ACME_TOKEN", "wrong");
        let error = world.publish(&words("feature")).unwrap_err().to_string();
        let expected =
            "git.example did not accept the token (401): create a new one and set ACME_TOKEN";
        assert_eq!(error, expected, "{speaks:?}");
        world.set("ACME_TOKEN", "");
        let Published::Manually(manual) = world.publish(&words("feature")).unwrap() else {
            panic!("{speaks:?}: it cannot be published");
        };
        assert!(manual.why.ends_with("ACME_TOKEN is not set"), "{speaks:?}: {}", manual.why);
    }
}

/// The remote names the server; only the user says that a token is for it.
#[test]
fn a_server_that_only_the_remote_names_gets_no_token_by_curl_and_none_by_gh() {
    let Some((_, mut world)) = World::each().into_iter().next() else { return };
    world.hosts.clear();
    world.set("ACME_TOKEN", "");
    let seen = world.repo.folder().join("seen");
    let all = ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"];
    for name in all {
        world.set(name, TOKEN);
    }
    // Gh says that it is logged in wherever a token is in its environment.
    let script = "/usr/bin/env > $SEEN; test -n \"$GH_ENTERPRISE_TOKEN$GH_TOKEN\"";
    world.set("SEEN", seen.to_str().unwrap());
    world.script("gh", script);
    world.script("curl", ": > $SEEN.curl; exit 7");
    for url in [
        "https://gitlab.evil.org/ada/engine.git",
        "https://evil.org/ada/engine.git",
        "git@git.evil.org:ada/engine.git",
        "https://github.com.evil.org/ada/engine",
    ] {
        world.repo.git(&["remote", "set-url", "origin", url]);
        let made = world.publish(&words("feature")).unwrap();
        assert!(matches!(made, Published::Manually(_)), "{url}: {made:?}");
        assert!(!seen.with_extension("curl").exists(), "{url}");
    }
    assert!(!std::fs::read_to_string(&seen).unwrap().contains(TOKEN));
}

#[test]
fn a_name_of_the_ssh_settings_leads_to_its_server() {
    for (speaks, mut world) in World::each() {
        let asked = world.repo.folder().join("asked");
        world.script(
            "ssh",
            &format!("echo \"$@\" > {}; echo user git; echo hostname git.example", asked.display()),
        );
        world.repo.git(&["remote", "set-url", "origin", "git@work:ada/engine.git"]);
        assert!(
            matches!(world.publish(&words("feature")).unwrap(), Published::Created(_)),
            "{speaks:?}"
        );
        assert_eq!(std::fs::read_to_string(&asked).unwrap(), "-G -- work\n");
        // A port is that of ssh and names no other server.
        world.repo.git(&[
            "remote",
            "set-url",
            "origin",
            "ssh://git@git.example:2222/ada/engine.git",
        ]);
        world.set("SSH", "unused");
        assert!(
            matches!(world.publish(&words("feature")).unwrap(), Published::Unchanged(_)),
            "{speaks:?}"
        );
    }
}

#[test]
fn what_a_server_answers_is_bounded_and_safe_to_print() {
    for (speaks, world) in World::each() {
        let long = format!("\u{1b}[2J{}\nnext", "x".repeat(5_000));
        world.server.fault(says(400, &[], &long));
        let error = world.publish(&words("feature")).unwrap_err().to_string();
        assert!(error.len() < 600 && !error.contains(['\u{1b}', '\n']), "{speaks:?}: {error}");
        world.server.fault(Fault::Answer(200, vec![], json!([{ "number": "7" }])));
        let error = world.publish(&words("feature")).unwrap_err();
        assert!(matches!(error, ForgeError::Odd { .. }), "{speaks:?}: {error:?}");
        world.server.fault(Fault::Answer(200, vec![], Value::String("no".to_owned())));
        assert!(world.publish(&words("feature")).is_err(), "{speaks:?}");
    }
}

#[test]
fn subgroups_are_a_path_on_gitlab_alone() {
    let server = GitHubServer::speaking(Speaks::GitLab);
    for (speaks, mut world) in World::each() {
        let url = "https://git.example/acme/tools/engine.git";
        world.repo.git(&["remote", "set-url", "origin", url]);
        let result = world.publish(&words("feature"));
        match speaks {
            Speaks::GitLab => {
                let asked = world.server.asked().remove(0).path;
                assert!(
                    asked.starts_with("/projects/acme%2Ftools%2Fengine/merge_requests?"),
                    "{asked}"
                );
            }
            _ => assert!(
                matches!(result, Err(ForgeError::NoAddress { .. })),
                "{speaks:?}: {result:?}"
            ),
        }
        let entry = format!("other.example=gitlab {}", server.url());
        world.hosts.push(HostEntry::read(&entry).unwrap());
    }
}
