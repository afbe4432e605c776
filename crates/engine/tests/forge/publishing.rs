//! Pull requests that are opened and brought up to date, by `curl` and by the real `gh`.

use ralph_core::forge::{Commit, MAX_BODY};
use ralph_engine::ports::{Link, Published};
use ralph_testkit::github::{Fault, TOKEN};
use serde_json::json;

use crate::kit::{By, World, words};

fn link(number: u64) -> Link {
    Link { number, page: format!("https://github.example/ada/engine/pull/{number}") }
}

fn methods(world: &World) -> Vec<String> {
    world.server.asked().into_iter().map(|asked| asked.method).collect()
}

#[test]
fn a_branch_gets_one_pull_request_that_stays_up_to_date() {
    for (by, world) in World::both() {
        let mut words = words("feature");
        let published = world.publish(&words).unwrap();
        assert_eq!(published, Published::Created(link(1)), "{by:?}");
        let pull = world.server.pulls().remove(0);
        assert_eq!(pull["title"], "feature: People log in", "{by:?}");
        assert_eq!(pull["body"], words.body(), "{by:?}");
        assert_eq!(
            (&pull["head"]["ref"], &pull["base"]["ref"]),
            (&json!("feature"), &json!("main"))
        );
        assert_eq!(methods(&world), ["GET", "POST"], "{by:?}");

        assert_eq!(world.publish(&words).unwrap(), Published::Unchanged(link(1)), "{by:?}");
        assert_eq!(methods(&world), ["GET", "POST", "GET"], "{by:?}");

        words.goal = "People log in and out".to_owned();
        assert_eq!(world.publish(&words).unwrap(), Published::Updated(link(1)), "{by:?}");
        let pull = world.server.pulls().remove(0);
        assert_eq!(pull["title"], "feature: People log in and out", "{by:?}");
        assert_eq!(pull["body"], words.body(), "{by:?}");
        assert_eq!(world.server.pulls().len(), 1, "{by:?}");
    }
}

#[test]
fn what_users_wrote_stays() {
    for (by, world) in World::both() {
        let old = words("feature").body();
        let body = format!("Please look at b.rs.\r\n\r\n{old}\r\n\r\nThanks, Ada\r\n");
        world.server.has("feature", "main", "Logging in, at last", Some(&body));
        let mut words = words("feature");
        words.commits.push(Commit { id: "c".repeat(40), subject: "log in".to_owned() });
        assert_eq!(world.publish(&words).unwrap(), Published::Updated(link(1)), "{by:?}");
        let pull = world.server.pulls().remove(0);
        let new = format!("Please look at b.rs.\r\n\r\n{}\r\n\r\nThanks, Ada\r\n", words.body());
        assert_eq!((&pull["title"], &pull["body"]), (&json!("Logging in, at last"), &json!(new)));
        let sent = world.server.asked().pop().unwrap().body;
        assert_eq!(sent.as_object().unwrap().len(), 1, "{by:?}");
    }
}

#[test]
fn a_pull_request_of_the_user_is_left_alone() {
    for (by, world) in World::both() {
        for (branch, body) in [("one", Some("Mine.")), ("two", None)] {
            let number = world.server.has(branch, "main", &format!("{branch}: x"), body);
            let published = world.publish(&words(branch)).unwrap();
            assert_eq!(published, Published::Theirs(link(number)), "{by:?}");
        }
        assert_eq!(methods(&world), ["GET", "GET"], "{by:?}");
    }
}

#[test]
fn of_several_the_one_to_the_same_base_is_taken() {
    let Some(world) = World::by(By::Curl) else { return };
    world.server.has("feature", "next", "feature: x", Some(&words("feature").body()));
    assert_eq!(world.publish(&words("feature")).unwrap(), Published::Updated(link(1)));
    world.server.has("feature", "main", "feature: x", Some(&words("feature").body()));
    assert_eq!(world.publish(&words("feature")).unwrap(), Published::Updated(link(2)));
}

/// A server that ignores the filter, and a branch of the same name in a fork.
#[test]
fn a_branch_of_another_user_is_not_ours() {
    let Some(world) = World::by(By::Curl) else { return };
    let body = words("feature").body();
    let pull = |branch: &str, repo: serde_json::Value| {
        json!({
            "number": 77, "html_url": "x", "title": "x", "body": body, "base": { "ref": "main" },
            "head": { "ref": branch, "repo": repo }, "state": "open",
        })
    };
    let all = json!([
        pull("feature", json!({ "full_name": "eve/engine" })),
        pull("feature", json!(null)),
        pull("other", json!({ "full_name": "ada/engine" })),
    ]);
    world.server.fault(Fault::Answer(200, vec![], all));
    assert_eq!(world.publish(&words("feature")).unwrap(), Published::Created(link(1)));
}

#[test]
fn a_pull_request_opened_meanwhile_is_used() {
    for (by, world) in World::both() {
        let body = words("feature").body();
        world.server.has("feature", "main", "feature: x", Some(&body));
        let pull = world.server.pulls().remove(0);
        let Some(world) = World::by(by) else { continue };
        world.server.fault(Fault::Raced(pull));
        assert_eq!(
            world.publish(&words("feature")).unwrap(),
            Published::Updated(link(1)),
            "{by:?}"
        );
        assert_eq!(methods(&world), ["GET", "POST", "GET", "PATCH"], "{by:?}");
    }
}

#[test]
fn branches_of_odd_names_are_names() {
    for (by, world) in World::both() {
        let names = [
            "-x",
            "--hostname=evil.org",
            "ü/日本",
            "a&state=closed#?%41",
            "{owner}/{branch}",
            "@file",
        ];
        for (at, branch) in names.iter().enumerate() {
            let number = at as u64 + 1;
            let words = words(branch);
            assert_eq!(
                world.publish(&words).unwrap(),
                Published::Created(link(number)),
                "{branch}"
            );
            assert_eq!(
                world.publish(&words).unwrap(),
                Published::Unchanged(link(number)),
                "{branch}"
            );
            let pull = &world.server.pulls()[at];
            assert_eq!(pull["head"]["ref"], *branch, "{by:?}");
        }
    }
}

#[test]
fn the_longest_body_arrives_whole() {
    for (by, world) in World::both() {
        let mut words = words("feature");
        let commit = |n: usize| Commit { id: format!("{n:040}"), subject: "日本\"\\".repeat(60) };
        words.commits = (0..5_000).map(commit).collect();
        let length = words.body().chars().count();
        assert!(length > MAX_BODY / 4 && words.body().len() > 20_000, "{length}");
        assert_eq!(world.publish(&words).unwrap(), Published::Created(link(1)), "{by:?}");
        assert_eq!(world.server.pulls()[0]["body"], words.body(), "{by:?}");
    }
}

#[test]
fn no_secret_and_no_text_is_among_arguments() {
    for (by, mut world) in World::both() {
        let name = if by == By::Gh { "gh" } else { "curl" };
        let seen = world.repo.folder().join("seen");
        let path = seen.display();
        // The environment of curl is looked at too: gh has its token from there.
        let env = if by == By::Curl { "/usr/bin/env; " } else { "" };
        world.wrap(
            name,
            &format!("{{ {env}printf '%s\\n' \"$@\"; }} >> {path}\nexec \"$REAL\" \"$@\""),
        );
        world.publish(&words("feature")).unwrap();
        let seen = std::fs::read_to_string(&seen).unwrap();
        assert!(!seen.contains(TOKEN) && !seen.contains("People log in"), "{seen}");
        let reported = match by {
            By::Curl => "--disable\n--config\n-\n",
            By::Gh => {
                "api\n--hostname\ngithub.localhost\n--method\nPOST\n--include\n\
                 --header\nAccept: application/vnd.github+json\n\
                 --header\nX-GitHub-Api-Version: 2022-11-28\n\
                 --input\n-\n--\nrepos/ada/engine/pulls\n"
            }
        };
        assert!(seen.contains(reported), "{seen}");
    }
}
