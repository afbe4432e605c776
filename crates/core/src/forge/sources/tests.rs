//! Lists of each server as they come, and what they say.

use serde_json::json;

use super::*;
use crate::forge::Address;

fn route(kind: ForgeKind) -> Route {
    let target = Address::of("https://h.org/ada/engine").unwrap();
    let source = Address::of("https://h.org/eve/engine").unwrap();
    Route { kind, target, source, ids: None }
}

/// The lists of a server, and what each says to these answers.
fn read(sources: Vec<Source>, kind: ForgeKind, answers: &[Value]) -> Vec<ForgeEntry> {
    let route = route(kind);
    let pairs = sources.into_iter().zip(answers);
    pairs.flat_map(|(source, answer)| source.read(&route, answer)).collect()
}

fn checks(kind: ForgeKind, answers: &[Value]) -> Vec<Check> {
    let all = read(route(kind).checks("abc"), kind, answers);
    let check = |summary| match summary {
        ForgeEntry::Check(check) => check,
        other => panic!("{other:?}"),
    };
    all.into_iter().map(check).collect()
}

fn comments(kind: ForgeKind, answers: &[Value]) -> Vec<(String, String, String, String)> {
    let mut all = read(route(kind).comments(7), kind, answers);
    let mut found = vec![];
    while !all.is_empty() {
        match all.remove(0) {
            ForgeEntry::Comment(Comment { key, author, text, place, .. }) => {
                found.push((key, author, text, place));
            }
            ForgeEntry::More(source) => {
                found.push((source.path, String::new(), String::new(), String::new()));
            }
            ForgeEntry::Check(check) => panic!("{check:?}"),
        }
    }
    found
}

fn row(key: &str, author: &str, text: &str, place: &str) -> (String, String, String, String) {
    (key.to_owned(), author.to_owned(), text.to_owned(), place.to_owned())
}

fn states(checks: &[Check]) -> Vec<(&str, CheckState, Option<&str>)> {
    checks.iter().map(|check| (check.name.as_str(), check.state, check.author.as_deref())).collect()
}

use CheckState::{Failed, Passed, Pending};

#[test]
fn github_shows_checks_in_two_lists_and_comments_in_three() {
    let paths: Vec<String> =
        route(ForgeKind::GitHub).checks("abc").into_iter().map(|source| source.path).collect();
    assert_eq!(paths[0], "repos/ada/engine/commits/abc/check-runs?per_page=100");
    assert_eq!(paths[1], "repos/ada/engine/commits/abc/statuses?per_page=100");
    let run = |id: u64, name: &str, status: &str, conclusion: Value, app: &str| {
        json!({ "id": id, "name": name, "status": status, "conclusion": conclusion,
                "app": { "slug": app }, "html_url": "https://h.org/run",
                "output": { "title": "2 errors", "summary": null } })
    };
    let runs = json!({ "total_count": 5, "check_runs": [
        run(5, "test", "completed", json!("failure"), "github-actions"),
        run(6, "lint", "in_progress", Value::Null, "github-actions"),
        run(7, "docs", "completed", json!("skipped"), "github-actions"),
        run(8, "cover", "completed", json!("timed_out"), "some-app"),
        run(9, "old", "completed", json!("cancelled"), "github-actions"),
    ] });
    let status = |context: &str, state: &str| {
        json!({ "context": context, "state": state, "creator": { "login": "eve" },
                "target_url": "https://ci.org/1", "description": "it broke" })
    };
    let statuses =
        json!([status("ext", "failure"), status("ext", "pending"), status("ok", "success")]);
    let found = checks(ForgeKind::GitHub, &[runs, statuses]);
    let expected = [
        ("test", Failed, None),
        ("lint", Pending, None),
        ("docs", Passed, None),
        ("cover", Failed, Some("some-app")),
        ("old", Pending, None),
        ("ext", Failed, Some("eve")),
        ("ok", Passed, Some("eve")),
    ];
    assert_eq!(states(&found), expected);
    assert_eq!(found[0].log.as_deref(), Some("repos/ada/engine/actions/jobs/5/logs"));
    assert_eq!((found[0].summary.as_str(), found[3].log.as_deref()), ("2 errors", None));

    let user = json!({ "login": "ada" });
    let inline = json!([
        { "id": 1, "user": user, "body": "rename", "path": "src/a.rs", "line": 3 },
        { "id": 2, "user": user, "body": "old", "path": "src/a.rs", "line": null, "original_line": 9 },
    ]);
    let reviews = json!([
        { "id": 3, "user": user, "body": "please", "state": "CHANGES_REQUESTED" },
        { "id": 4, "user": user, "body": "fine", "state": "APPROVED" },
    ]);
    let plain = json!([{ "id": 5, "user": user, "body": "and a test" }, "odd", { "user": user }]);
    let expected = [
        row("comment 1", "ada", "rename", "src/a.rs:3"),
        row("comment 2", "ada", "old", "src/a.rs:9"),
        row("review 3", "ada", "please", ""),
        row("remark 5", "ada", "and a test", ""),
    ];
    assert_eq!(comments(ForgeKind::GitHub, &[inline, reviews, plain]), expected);
}

#[test]
fn gitlab_shows_jobs_where_the_branch_is_and_discussions_where_the_request_is() {
    let path = &route(ForgeKind::GitLab).checks("abc")[0].path;
    assert_eq!(path, "projects/eve%2Fengine/repository/commits/abc/statuses?per_page=100");
    let status = |id: u64, name: &str, status: &str, page: &str| {
        json!({ "id": id, "name": name, "status": status, "target_url": page,
                "author": { "username": "eve" }, "allow_failure": name == "may" })
    };
    let answer = json!([
        status(5, "test", "failed", "https://h.org/eve/engine/-/jobs/5"),
        status(6, "may", "failed", "https://h.org/eve/engine/-/jobs/6"),
        status(7, "ext", "failed", "https://h.org/eve/engine/-/jobs/5"),
        status(8, "far", "failed", "https://h.org.evil.org/eve/engine/-/jobs/8"),
        status(9, "lint", "running", "https://h.org/eve/engine/-/jobs/9"),
        status(10, "deploy", "manual", "https://h.org/eve/engine/-/jobs/10"),
    ]);
    let found = checks(ForgeKind::GitLab, &[answer]);
    let expected = [
        ("test", Failed, None),
        ("may", Passed, None),
        ("ext", Failed, Some("eve")),
        ("far", Failed, Some("eve")),
        ("lint", Pending, None),
        ("deploy", Passed, None),
    ];
    assert_eq!(states(&found), expected);
    assert_eq!(found[0].log.as_deref(), Some("projects/eve%2Fengine/jobs/5/trace"));
    assert_eq!(found[2].log, None);

    let note = |id: u64, system: bool, resolved: bool| {
        json!({ "id": id, "body": "rename", "author": { "username": "ada" }, "system": system,
                "resolved": resolved, "noteable_iid": 7,
                "position": { "new_path": "src/a.rs", "new_line": 3 } })
    };
    let answer = json!([{ "id": "x", "notes": [note(1, false, false), note(2, true, false)] },
                        { "id": "y", "notes": [note(3, false, true)] }]);
    let expected = [row("comment 1", "ada", "rename", "src/a.rs:3")];
    assert_eq!(comments(ForgeKind::GitLab, &[answer]), expected);
}

#[test]
fn gitea_shows_the_comments_of_each_review_in_a_list_of_its_own() {
    let status = |context: &str, status: &str, by: &str| json!({ "context": context, "status": status, "creator": { "login": by } });
    let answer = json!([
        status("test", "failure", "gitea-actions"),
        status("test", "pending", "gitea-actions"),
        status("ext", "error", "drone"),
        status("ok", "success", "forgejo-actions"),
    ]);
    let found = checks(ForgeKind::Gitea, &[answer]);
    let expected = [("test", Failed, None), ("ext", Failed, Some("drone")), ("ok", Passed, None)];
    assert_eq!(states(&found), expected);

    let review = |id: u64, state: &str, count: u64| {
        json!({ "id": id, "user": { "login": "ada" }, "body": "please", "state": state,
                "comments_count": count, "pull_request_url": "https://h.org/ada/engine/pulls/7" })
    };
    let answer = json!([review(3, "REQUEST_CHANGES", 2), review(4, "APPROVED", 0)]);
    let plain = json!([{ "id": 5, "user": { "login": "ada" }, "body": "and a test" }]);
    let list = "repos/ada/engine/pulls/7/reviews/3/comments?limit=50";
    let expected = [
        row("review 3", "ada", "please", ""),
        row(list, "", "", ""),
        row("remark 5", "ada", "and a test", ""),
    ];
    assert_eq!(comments(ForgeKind::Gitea, &[answer, plain]), expected);
    let answer = json!([
        { "id": 8, "user": { "login": "ada" }, "body": "rename", "path": "a.rs", "position": 3, "resolver": null },
        { "id": 9, "user": { "login": "ada" }, "body": "old", "path": "a.rs", "position": 4,
          "resolver": { "login": "eve" } },
    ]);
    let summary = gitea_comments(&route(ForgeKind::Gitea), &answer);
    assert!(
        matches!(&summary[..], [ForgeEntry::Comment(one)] if one.place == "a.rs:3"),
        "{summary:?}"
    );
}

#[test]
fn answers_of_another_shape_say_nothing() {
    for kind in ForgeKind::ALL {
        for odd in [json!(null), json!({}), json!([1, "x", null, []]), json!({ "check_runs": 3 })] {
            let sources = [route(kind).checks("abc"), route(kind).comments(7)].concat();
            for source in sources {
                let summary = source.read(&route(kind), &odd);
                assert!(summary.is_empty(), "{kind}: {summary:?}");
            }
        }
    }
}
