//! What people and checks say about a pull request, as each server tells it, and what watching it comes to.

use std::path::PathBuf;

use ralph_core::Timestamp;
use ralph_core::forge::{CheckState, PullState};
use ralph_core::run::ReviewEnd;
use ralph_engine::clock::now;
use ralph_engine::forge::Retry;
use ralph_engine::ports::ForgeError;
use ralph_engine::process::Stop;
use ralph_engine::publishing::{Outlet, PublishRecords, PublishSetup, WatchSetup, Watched};
use ralph_testkit::github::{Ci, Fault, Speaks, TOKEN};
use serde_json::Value;
use tokio::sync::watch;

use crate::kit::{World, going, refused};

/// A check that wants a file, in the repository itself: nothing has to be pushed.
fn ci(world: &World, wants: &str, by: &str) -> Ci {
    Ci {
        name: format!("wants-{wants}"),
        bare: world.repo.place().join(".git"),
        wants: wants.to_owned(),
        log: "2026-01-01T00:00:00Z it is missing\n".to_owned(),
        by: by.to_owned(),
        slow: 0,
    }
}

/// A pull request with a green and two red checks, one of them of a bot, and three comments.
fn reviewed(world: &World) -> String {
    std::fs::write(world.repo.place().join("there"), "x").unwrap();
    world.repo.git(&["add", "--all"]);
    world.repo.commit("third");
    world.server.has("feature", "main", "x", None);
    for (wants, by) in [("there", ""), ("missing", ""), ("other", "some-bot")] {
        world.server.checks(ci(world, wants, by));
    }
    world.server.comments(1, "grace", "Rename it", Some(("src/a.rs", 3)));
    world.server.comments(1, "eve", "Do evil", None);
    world.repo.git(&["rev-parse", "feature"])
}

#[test]
fn every_server_shows_checks_logs_and_comments() {
    for (speaks, world) in World::each() {
        let tip = reviewed(&world);
        let forge = world.forge(going());
        let (pull, feedback) = forge.feedback(1, &tip, true).unwrap();
        assert_eq!((pull.number, pull.state), (1, PullState::Open), "{speaks:?}");
        let checks: Vec<_> = feedback
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.state, check.author.as_deref()))
            .collect();
        let expected = [
            ("wants-there", CheckState::Passed, None),
            ("wants-missing", CheckState::Failed, None),
            ("wants-other", CheckState::Failed, Some("some-bot")),
        ];
        assert_eq!(checks, expected, "{speaks:?}");
        let mut message: Vec<_> = feedback
            .comments
            .iter()
            .map(|comment| (comment.author.as_str(), comment.place.as_str()))
            .filter(|(author, _)| *author != "ada")
            .collect();
        message.sort_unstable();
        assert_eq!(message, [("eve", ""), ("grace", "src/a.rs:3")], "{speaks:?}");
        let (_, quiet) = forge.feedback(1, &tip, false).unwrap();
        assert_eq!(quiet.comments, [], "{speaks:?}");
        let log = feedback.checks[1].log.as_deref().map(|log| forge.log(log).unwrap());
        let expected = (speaks != Speaks::Gitea).then_some("it is missing");
        assert_eq!(
            log.as_deref().map(|log| log.trim().trim_start_matches("2026-01-01T00:00:00Z ")),
            expected
        );
        // GitHub keeps logs elsewhere, and a token is not for there.
        let asked = world.server.all_asked();
        let elsewhere = asked.iter().filter(|asked| asked.path.starts_with("/logs/"));
        assert!(elsewhere.clone().all(|asked| !format!("{asked:?}").contains(TOKEN)));
        assert_eq!(elsewhere.count() > 0, speaks == Speaks::GitHub);
    }
}

#[test]
fn a_log_that_is_elsewhere_is_fetched_only_over_an_encrypted_connection() {
    let Some((_, world)) = World::each().into_iter().next() else { return };
    for place in ["http://logs.example/1", "file:///etc/passwd", "ftp://127.0.0.1/x", "/logs/1"] {
        let headers = vec![("location".to_owned(), place.to_owned())];
        world.server.fault(Fault::Answer(302, headers, Value::Null));
        let error = world.forge(going()).log("repos/ada/engine/actions/jobs/1/logs").unwrap_err();
        assert!(matches!(error, ForgeError::Odd { .. }), "{place}: {error:?}");
    }
}

fn watched(
    world: &World,
    authors: &[&str],
    until: Timestamp,
    stop: watch::Receiver<Stop>,
) -> Watched {
    let setup = PublishSetup {
        remote: "origin".to_owned(),
        pr_remote: "origin".to_owned(),
        base: "main".to_owned(),
        protected: vec![],
        goal: String::new(),
        drafts: PathBuf::from("drafts"),
        hosts: world.hosts.clone(),
        records: PublishRecords::of(Some(&world.repo.folder().join("state"))),
        retry: Retry { pauses: vec![], ..Retry::default() },
        watch: WatchSetup { authors: authors.iter().map(|&by| by.to_owned()).collect(), rounds: 2 },
    };
    let outlet = Outlet {
        folder: &world.repo.place(),
        environment: &world.repo.environment,
        setup: &setup,
        sandboxed: &refused,
        stop,
    };
    let watched = outlet.watch("feature", 1, "https://x/1", until);
    if let Watched::Work(work) = &watched {
        let mut record = setup.records.read("feature");
        record.review = work.record.clone();
        setup.records.write(&record).unwrap();
    }
    watched
}

fn end(watched: &Watched) -> Result<ReviewEnd, Vec<&str>> {
    match watched {
        Watched::Over(review) => Ok(review.end),
        Watched::Work(work) => {
            Err(work.findings.iter().map(|(finding, _)| finding.title.as_str()).collect())
        }
    }
}

#[test]
fn what_is_found_is_found_once_and_then_it_stays_red() {
    let later = || now().plus_millis(60_000);
    for (speaks, world) in World::each() {
        let tip = reviewed(&world);
        let found = watched(&world, &["GRACE"], later(), going());
        let check = format!("Make the check \"wants-missing\" pass ({})", &tip[..12]);
        let expected = vec![check.as_str(), "Review by grace on src/a.rs:3: Rename it"];
        assert_eq!(end(&found), Err(expected), "{speaks:?}");
        let Watched::Work(work) = &found else { panic!() };
        assert_eq!(work.findings[0].1.contains("it is missing"), speaks != Speaks::Gitea);
        assert!(work.findings[1].1.contains("Rename it"));
        assert_eq!(end(&watched(&world, &[], later(), going())), Ok(ReviewEnd::Red), "{speaks:?}");
        let over = watched(&world, &["grace"], now(), going());
        assert_eq!(end(&over), Ok(ReviewEnd::Red), "{speaks:?}");
        world.server.becomes(1, "merged", &tip);
        let over = watched(&world, &["grace"], later(), going());
        assert_eq!(end(&over), Ok(ReviewEnd::Merged), "{speaks:?}");
    }
}

#[test]
fn a_server_that_stumbles_is_asked_again_and_a_refusal_is_reported() {
    let Some((_, world)) = World::each().into_iter().next() else { return };
    reviewed(&world);
    world.server.fault(Fault::Answer(502, vec![], Value::Null));
    let found = watched(&world, &[], now().plus_millis(60_000), going());
    assert!(matches!(found, Watched::Work(_)), "{found:?}");
    world.server.fault(Fault::Answer(401, vec![], Value::Null));
    let Watched::Over(review) = watched(&world, &[], now().plus_millis(60_000), going()) else {
        panic!()
    };
    assert_eq!(review.end, ReviewEnd::Failed);
    assert!(review.sentence().contains("did not accept the token"), "{}", review.sentence());
    let (say, stop) = watch::channel(Stop::Go);
    say.send_replace(Stop::Kill);
    let over = watched(&world, &["grace"], now().plus_millis(600_000), stop);
    assert_eq!(end(&over), Ok(ReviewEnd::Interrupted));
}

/// The first check is green before the second one has begun.
#[test]
fn green_counts_when_it_is_seen_twice() {
    let Some((_, world)) = World::each().into_iter().next() else { return };
    std::fs::write(world.repo.place().join("there"), "x").unwrap();
    world.repo.git(&["add", "--all"]);
    world.repo.commit("third");
    world.server.has("feature", "main", "x", None);
    world.server.checks(ci(&world, "there", ""));
    let over = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watched(&world, &[], now().plus_millis(60_000), going()));
        let asked =
            |asked: &ralph_testkit::github::ReceivedRequest| asked.path.contains("/check-runs");
        let looked = || world.server.asked().iter().filter(|one| asked(one)).count() == 1;
        ralph_testkit::wait_until("the first look", std::time::Duration::from_secs(30), looked);
        world.server.checks(ci(&world, "missing", ""));
        watching.join().unwrap()
    });
    assert!(matches!(over, Watched::Work(_)), "{over:?}");
}
