//! Repositories of every kind, and sessions of ours in boxes there.

use std::process::Command;

use ralph_engine::ports::{Trees, Vcs};
use ralph_engine::project::Project;
use ralph_engine::session_git::SessionGitDir;

use super::{World, without_sandbox};
use crate::kit::Repo;

/// A session that commits and leaves something, judged and landed.
#[track_caller]
pub(super) fn works(world: &World) {
    let own = world.session(
        "git status --porcelain; echo 1 > one.txt; git add one.txt; git commit -qm one;
         echo 2 > two.txt; git rev-parse HEAD",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    world.quiet();
    assert_eq!(candidate.taken, Some(own.clone()));
    assert_eq!(world.repo.beyond_head(&candidate), ["A one.txt", "A two.txt"]);
    let made = world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.git(&["rev-parse", "HEAD", "HEAD~1"]), format!("{made}\n{own}"));
    assert_eq!(world.repo.status(), "");
    world.quiet();
    world.repo.fsck();
}

#[test]
fn on_a_branch_without_commits() {
    if without_sandbox() {
        return;
    }
    works(&World::new(Repo::unborn()));
    let world = World::new(Repo::unborn());
    world.session("echo 1 > one.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!((&candidate.head, &candidate.taken), (&None, &None));
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.git(&["log", "--format=%s"]), "subject");
}

#[test]
fn on_a_detached_head() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.git(&["checkout", "--quiet", "--detach"]);
    works(&World::new(repo));
}

#[test]
fn in_a_shallow_clone() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.write("a.txt", "second\n");
    repo.commit("second");
    let place = repo.folder().join("shallow");
    let from = format!("file://{}", repo.place().display());
    repo.git(&["clone", "--quiet", "--depth=1", &from, &place.display().to_string()]);
    let clone = Repo::at(place);
    clone.git(&["config", "user.name", "Tester"]);
    clone.git(&["config", "user.email", "tester@example.org"]);
    let before = clone.read(".git/shallow");
    let world = World::new(clone);
    works(&world);
    assert_eq!(world.repo.read(".git/shallow"), before);
    assert!(repo.exists("a.txt"));
}

#[test]
fn with_a_git_directory_elsewhere() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    let elsewhere = repo.folder().join("elsewhere.git").display().to_string();
    repo.git(&["init", "--quiet", "--template=", "--separate-git-dir", &elsewhere]);
    assert!(repo.path(".git").is_file());
    let world = World::new(repo);
    let own = world.session("echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken, Some(own.clone()));
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap();
    assert_eq!(world.repo.git(&["rev-parse", "HEAD"]), own);
    assert_eq!(world.repo.status(), "");
    world.quiet();
}

#[test]
fn with_objects_of_another_repository() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    let place = repo.folder().join("shared");
    let (from, to) = (repo.place().display().to_string(), place.display().to_string());
    repo.git(&["clone", "--quiet", "--shared", &from, &to]);
    let clone = Repo::at(place.clone());
    clone.git(&["config", "user.name", "Tester"]);
    clone.git(&["config", "user.email", "tester@example.org"]);
    // Relative, as a person may write it.
    clone.write(".git/objects/info/alternates", "../../../repo/.git/objects\n");
    works(&World::new(clone));
    assert!(repo.exists("a.txt"));
}

#[test]
fn with_a_submodule() {
    if without_sandbox() {
        return;
    }
    let inner = Repo::new();
    let repo = Repo::new();
    let from = inner.place().display().to_string();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
    repo.commit("with a submodule");
    let before = repo.git(&["rev-parse", "HEAD:sub"]);
    let world = World::new(repo);
    works(&world);
    assert_eq!(world.repo.git(&["rev-parse", "HEAD:sub"]), before);
}

/// Whether git here can make such a repository.
fn made_with(option: &str) -> Option<Repo> {
    let repo = Repo::unborn();
    let config = repo.read(".git/config");
    std::fs::remove_dir_all(repo.path(".git")).unwrap();
    let made = Command::new("git")
        .args(["init", "--quiet", "--template=", "--initial-branch=main", option])
        .current_dir(repo.place())
        .output()
        .unwrap();
    if !made.status.success() {
        ralph_testkit::skip(&format!("a repository with {option}: this git cannot make one"));
        return None;
    }
    let own = config.split_once("[user]").unwrap().1;
    let config = repo.read(".git/config");
    repo.write(".git/config", format!("{config}[user]{own}"));
    repo.write("a.txt", "a\n");
    repo.commit("first");
    Some(repo)
}

#[test]
fn with_long_names_of_objects() {
    if without_sandbox() {
        return;
    }
    if let Some(repo) = made_with("--object-format=sha256") {
        works(&World::new(repo));
    }
}

#[test]
fn where_refs_are_no_files() {
    if without_sandbox() {
        return;
    }
    if let Some(repo) = made_with("--ref-format=reftable") {
        let world = World::new(repo);
        works(&world);
        world.session("git switch -qc other; echo 3 > 3.txt; git add -A; git commit -qm 3");
        let candidate = world.vcs.candidate(&world.base).unwrap();
        assert!(candidate.taken.is_some());
        world.quiet();
    }
}

#[test]
fn with_a_sparse_checkout() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.write("far/away.txt", "far\n");
    repo.commit("far");
    repo.git(&["sparse-checkout", "set", "src"]);
    assert!(!repo.exists("far/away.txt"));
    let world = World::new(repo);
    works(&world);
    // What the session adds outside of its view stays, though its file is nowhere.
    world.session(
        "git sparse-checkout add far; echo more > far/more.txt; git add far; git commit -qm more;
         git sparse-checkout set src; test ! -e far/more.txt",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.repo.beyond_head(&candidate), ["A far/more.txt"]);
}

#[test]
fn with_a_split_index_and_files_that_only_the_user_ignores() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.git(&["update-index", "--split-index"]);
    let list = repo.folder().join("ignored by me");
    std::fs::write(&list, "*.mine\n").unwrap();
    repo.git(&["config", "core.excludesFile", &list.display().to_string()]);
    repo.write("x.mine", "x\n");
    works(&World::new(repo));
}

#[test]
fn settings_come_along_and_secrets_do_not() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("user.signingkey", "KEY"),
        ("credential.helper", "!echo password=secret-one"),
        ("http.https://x.example/.extraheader", "Authorization: secret-two"),
        ("remote.origin.url", "https://me:secret-three@x.example/r.git"),
        ("url.https://secret-four@y.example/.insteadOf", "https://y.example/"),
        ("core.sshCommand", "ssh -i /secret-five"),
        ("alias.lines", "!git log --format='%s \"quoted\"' # end"),
        ("filter.up.clean", "tr a-z A-Z"),
    ] {
        repo.git(&["config", key, value]);
    }
    repo.write(".gitattributes", "*.up filter=up\n");
    repo.commit_unsigned("settings");
    let world = World::new(repo);
    let output = world.session(
        "cat .git/config; env; git config remote.origin.url; git lines; echo text > x.up; git add x.up;
         git commit -qm up; git show HEAD:x.up",
    );
    assert!(!output.contains("secret"), "{output}");
    assert!(output.contains("https://x.example/r.git"), "{output}");
    assert!(output.contains("settings \"quoted\""), "{output}");
    assert!(output.ends_with("TEXT"), "{output}");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    let file = world.vcs.file(&candidate.tree, "x.up").unwrap();
    assert_eq!(file.as_deref(), Some(&b"TEXT\n"[..]));
    world.quiet();
}

#[test]
fn files_by_which_programs_run_outside_are_known() {
    let repo = Repo::new();
    repo.write("tools/clean.sh", "cat\n");
    repo.write("more.config", "[alias]\n\tst = status\n");
    repo.write("other.sh", "cat\n");
    repo.git(&["config", "filter.x.clean", "sh 'tools/clean.sh' %f"]);
    repo.git(&["config", "include.path", "../more.config"]);
    repo.git(&["config", "some.thing", "other.sh"]);
    let git_dir = SessionGitDir::of(&Project::find(repo.place()).unwrap()).unwrap();
    let found = git_dir.protected_files().unwrap();
    assert_eq!(found, [repo.path("more.config"), repo.path("tools/clean.sh")]);
}
