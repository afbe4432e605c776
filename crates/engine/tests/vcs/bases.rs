//! The branch that pull requests go to, and where a branch begins.

use ralph_engine::git::base::{Base, branch_named, pr_base, start_of};
use ralph_engine::project::Project;

use crate::kit::Repo;

fn base(name: &str, commit: &str) -> Option<Base> {
    Some(Base { name: name.to_owned(), commit: commit.to_owned() })
}

#[test]
fn s4_3_the_base_is_what_is_set_else_the_remotes_default_else_the_current_branch() {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "-c", "work"]);
    let project = Project::find(repo.place()).unwrap();
    let found = |set: &str| pr_base(&project, "origin", set).unwrap();
    assert_eq!(found(""), base("work", "work"));
    assert_eq!(found("main"), base("main", "main"));
    assert_eq!(found("nowhere"), None);
    repo.git(&["update-ref", "refs/remotes/origin/trunk", "main"]);
    assert_eq!(found("trunk"), base("trunk", "origin/trunk"), "only the remote has it");
    repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    assert_eq!(found(""), base("trunk", "origin/trunk"));
    repo.git(&["update-ref", "-d", "refs/remotes/origin/trunk"]);
    assert_eq!(found(""), base("work", "work"), "a default that is gone is none");
    repo.git(&["switch", "--quiet", "--detach"]);
    assert_eq!(found(""), None);
}

#[test]
fn a_base_is_a_commit_and_never_an_option() {
    let repo = Repo::new();
    let project = Project::find(repo.place()).unwrap();
    let found = |base: &str| start_of(&project, "origin", base).unwrap();
    assert_eq!(found("HEAD~0").as_deref(), Some("HEAD~0"));
    for none in ["", "--all", "-x", "main:a.txt", "main^{tree}", "no such", "../main"] {
        assert_eq!(found(none), None, "{none}");
    }
}

#[test]
fn a_tag_or_a_commit_is_no_branch_to_go_back_to() {
    let repo = Repo::new();
    let project = Project::find(repo.place()).unwrap();
    repo.git(&["tag", "v1"]);
    repo.git(&["update-ref", "refs/remotes/origin/far", "main"]);
    let found = |base: &str| branch_named(&project, "origin", base).unwrap();
    assert_eq!(found("main").as_deref(), Some("main"));
    assert_eq!(found("far").as_deref(), Some("far"));
    assert_eq!(found("origin/far").as_deref(), Some("far"));
    for none in ["v1", "HEAD", "HEAD~0", "--all", "", "nowhere"] {
        assert_eq!(found(none), None, "{none}");
    }
}
