//! Settings of the repository that name programs: ralph's own git starts none of them.

use std::os::unix::fs::PermissionsExt;

use ralph_engine::git::{Git, git};
use ralph_engine::ports::{GitError, Vcs};

use crate::kit::{Repo, run};

/// A program in the worktree that leaves a mark, and how the settings name it.
fn evil(repo: &Repo) -> String {
    let path = repo.folder().canonicalize().unwrap().join("evil");
    let ran = path.with_file_name("ran");
    std::fs::write(&path, format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", ran.display()))
        .unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[track_caller]
fn nothing_ran(repo: &Repo, what: &str) {
    let ran = std::fs::read_to_string(repo.folder().join("ran")).unwrap_or_default();
    assert_eq!(ran, "", "{what}");
}

/// A bare repository beside this one, to push to.
fn remote(repo: &Repo) -> String {
    let place = repo.folder().canonicalize().unwrap().join("remote.git");
    let path = place.display().to_string();
    repo.git(&["init", "--quiet", "--bare", &path]);
    path
}

#[test]
fn no_program_that_the_repository_names_runs_by_a_call_of_ralphs_own() {
    let repo = Repo::new();
    let evil = evil(&repo);
    let remote = remote(&repo);
    repo.git(&["push", "--quiet", &remote, "main"]);
    let calls: [(&str, &[&str]); 12] = [
        ("core.fsmonitor", &["status"]),
        ("core.sshCommand", &["ls-remote", "ssh://nobody@127.0.0.1:1/x"]),
        ("core.gitProxy", &["ls-remote", "git://127.0.0.1:1/x"]),
        ("credential.helper", &["credential", "fill"]),
        ("credential.https://x.example.helper", &["credential", "fill"]),
        ("core.askPass", &["credential", "fill"]),
        ("remote.there.uploadpack", &["ls-remote", "there"]),
        ("remote.there.receivepack", &["push", "there", "main"]),
        ("gpg.program", &["commit-tree", "-S", "HEAD^{tree}", "-m", "x"]),
        ("diff.external", &["diff", "HEAD~1"]),
        ("core.pager", &["log", "-1"]),
        ("core.editor", &["var", "GIT_EDITOR"]),
    ];
    repo.write("a.txt", "other\n");
    repo.commit("second");
    repo.git(&["config", "remote.there.url", &remote]);
    for (key, call) in calls {
        repo.git(&["config", key, &evil]);
        let asked = b"protocol=https\nhost=x.example\n\n";
        let call = Git::plumbing(repo.place(), call).env("SSH_ASKPASS", "false");
        let _ = call.env("GIT_SSH_VARIANT", "simple").input(asked).run();
        nothing_ran(&repo, key);
        repo.git(&["config", "--unset", key]);
    }
    repo.git(&["config", "protocol.allow", "always"]);
    let address = format!("ext::{evil} %S");
    let _ = Git::plumbing(repo.place(), &["ls-remote", &address]).run();
    nothing_ran(&repo, "protocol.allow");
}

#[test]
fn a_filter_of_the_repository_alone_is_named_and_leaves_nothing_unfiltered() {
    for name in ["clean", "process"] {
        let repo = Repo::new();
        let evil = evil(&repo);
        repo.git(&["config", &format!("filter.x.{name}"), &evil]);
        let vcs = repo.vcs();
        let base = vcs.begin(&run("r-1"), None).unwrap();
        repo.write("b.txt", "b\n");
        assert!(vcs.candidate(&base).is_ok(), "no file is filtered");
        repo.write(".gitattributes", "*.txt filter=x\n");
        repo.write("c.txt", "c\n");
        let output = vcs.candidate(&base).unwrap_err().to_string();
        assert!(output.contains("ralph runs filters only from your own git config"), "{output}");
        nothing_ran(&repo, name);
    }
}

#[test]
fn drivers_of_the_repository_and_files_that_it_includes_merge_nothing() {
    let repo = Repo::new();
    let evil = evil(&repo);
    repo.write(".gitattributes", "*.txt merge=x\n");
    repo.commit("attributes");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("a.txt", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("a.txt", "main\n");
    repo.commit("main");
    // Not in `.git/config` itself, and changed after it was first read.
    repo.git(&["config", "include.path", "../included.config"]);
    let _ = git(repo.place(), &["status"]);
    repo.write("included.config", format!("[merge \"x\"]\n\tdriver = {evil}\n"));
    let merged = Git::plumbing(repo.place(), &["merge-tree", "--write-tree", "main", "side"]).run();
    assert!(merged.is_err());
    nothing_ran(&repo, "merge.x.driver");
}

#[test]
fn a_worktree_that_the_settings_lead_away_is_refused() {
    let repo = Repo::new();
    let elsewhere = repo.folder().canonicalize().unwrap().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("private"), "words").unwrap();
    repo.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    match Git::plumbing(repo.place(), &["add", "-A"]).run() {
        Err(GitError::Led { key, .. }) => assert_eq!(key, "core.worktree"),
        other => panic!("{other:?}"),
    }
    repo.write(".git/config", repo.read(".git/config").replace(elsewhere.to_str().unwrap(), ".."));
    Git::plumbing(repo.place(), &["add", "-A"]).run().unwrap();
}
