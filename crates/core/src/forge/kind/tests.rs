//! Requests and answers of each kind of server.

use super::*;

fn route(kind: ForgeKind, target: &str, source: &str) -> Route {
    let at = |path: &str| Address::of(&format!("https://h.org/{path}")).unwrap();
    Route { kind, target: at(target), source: at(source), ids: None }
}

#[test]
fn a_branch_of_any_name_is_one_value_in_an_address() {
    let branch = "fix/ü&state=open#x?{owner}";
    let escaped = "fix%2F%C3%BC%26state%3Dopen%23x%3F%7Bowner%7D";
    let github = route(ForgeKind::GitHub, "ada/engine", "ada/engine");
    assert_eq!(
        github.list(branch, 1),
        format!("repos/ada/engine/pulls?state=all&per_page=100&head=ada%3A{escaped}&page=1")
    );
    let gitlab = route(ForgeKind::GitLab, "acme/tools/engine", "acme/tools/engine");
    assert_eq!(
        gitlab.list(branch, 1),
        format!(
            "projects/acme%2Ftools%2Fengine/merge_requests?state=all&per_page=100&source_branch={escaped}&page=1"
        )
    );
    let page = github.new_page("main", "fix/a b");
    assert_eq!(page, "https://h.org/ada/engine/compare/main...fix/a%20b?expand=1");
    let page = gitlab.new_page("main", "fix/a b");
    let query =
        "merge_request%5Bsource_branch%5D=fix%2Fa%20b&merge_request%5Btarget_branch%5D=main";
    assert_eq!(page, format!("https://h.org/acme/tools/engine/-/merge_requests/new?{query}"));
}

#[test]
fn a_branch_of_a_fork_is_named_with_its_owner() {
    let github = route(ForgeKind::GitHub, "upstream/engine", "ada/engine");
    assert!(
        github.list("fix", 1).contains("repos/upstream/engine/pulls?")
            && github.list("fix", 1).contains("ada%3Afix")
    );
    let (place, sent) = github.create("t", "b", "fix", "main");
    assert_eq!(place, "repos/upstream/engine/pulls");
    assert_eq!(sent["head"], "ada:fix");
    let (place, sent) =
        route(ForgeKind::Gitea, "upstream/engine", "ada/engine").create("t", "b", "fix", "main");
    assert_eq!((place.as_str(), &sent["head"]), ("repos/upstream/engine/pulls", &json!("ada:fix")));
    let gitlab =
        Route { ids: Some((7, 3)), ..route(ForgeKind::GitLab, "upstream/engine", "ada/engine") };
    let (place, sent) = gitlab.create("t", "b", "fix", "main");
    assert_eq!(place, "projects/ada%2Fengine/merge_requests");
    assert_eq!((&sent["source_branch"], &sent["target_project_id"]), (&json!("fix"), &json!(3)));
    assert_eq!(sent["description"], "b");
}

#[test]
fn the_state_of_a_pull_request_is_read_from_every_server() {
    let github = route(ForgeKind::GitHub, "ada/engine", "ada/engine");
    let value = |state: &str, merged: Value| {
        json!({
            "number": 3, "html_url": "p", "title": "t", "body": null, "state": state, "merged_at": merged,
            "head": { "ref": "fix", "sha": "c", "repo": { "full_name": "Ada/engine" } },
            "base": { "ref": "main", "repo": { "full_name": "Ada/engine" } },
        })
    };
    let read = |state: &str, merged| github.read(&value(state, merged)).unwrap();
    assert_eq!(read("open", Value::Null).state, PullState::Open);
    assert_eq!(read("closed", Value::Null).state, PullState::Closed);
    assert_eq!(read("closed", json!("2026-01-01T00:00:00Z")).state, PullState::Merged);
    assert!(read("open", Value::Null).is_ours);
    let fork = route(ForgeKind::GitHub, "ada/engine", "eve/engine");
    assert!(!fork.read(&value("open", Value::Null)).unwrap().is_ours);

    let gitlab = route(ForgeKind::GitLab, "ada/engine", "ada/engine");
    let value = |state: &str, source: u64| {
        json!({
            "iid": 3, "web_url": "p", "title": "t", "description": "d", "state": state, "sha": "c",
            "source_branch": "fix", "target_branch": "main", "source_project_id": source,
            "target_project_id": 1,
        })
    };
    for (word, state) in
        [("opened", PullState::Open), ("merged", PullState::Merged), ("closed", PullState::Closed)]
    {
        let read = gitlab.read(&value(word, 1)).unwrap();
        assert_eq!((read.state, read.is_ours, read.body.as_str()), (state, true, "d"));
    }
    assert!(!gitlab.read(&value("opened", 2)).unwrap().is_ours, "of a fork");
    assert!(gitlab.read(&json!({ "state": "opened" })).is_err());
}

/// Gitea names a deleted branch only in the label.
#[test]
fn a_deleted_branch_of_gitea_is_known_by_its_label() {
    let gitea = route(ForgeKind::Gitea, "ada/engine", "ada/engine");
    let value = json!({
        "number": 3, "html_url": "p", "title": "t", "body": "", "state": "closed", "merged": true,
        "head": { "ref": "refs/pull/3/head", "label": "fix", "sha": "c", "repo": { "full_name": "ada/engine" } },
        "base": { "ref": "main" },
    });
    let read = gitea.read(&value).unwrap();
    assert_eq!((read.branch.as_str(), read.state, read.is_ours), ("fix", PullState::Merged, true));
    assert_eq!(gitea.head_ref(3), "refs/pull/3/head");
}

#[test]
fn a_kind_is_known_by_its_name() {
    assert_eq!(ForgeKind::named("Forgejo"), Some(ForgeKind::Gitea));
    assert_eq!(ForgeKind::named("bitbucket"), None);
    for kind in ForgeKind::ALL {
        assert_eq!(ForgeKind::named(kind.row().name), Some(kind));
    }
}
