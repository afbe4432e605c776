//! A repository with a bare remote beside it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_engine::process::Stop;
use ralph_engine::vcs::{Push, PushError, Pushed};
use tokio::sync::watch;

pub(crate) struct Repo {
    folder: tempfile::TempDir,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// Nobody says stop: the receiver keeps what it saw last.
pub(crate) fn going() -> watch::Receiver<Stop> {
    watch::channel(Stop::Go).1
}

impl Repo {
    /// One commit on `main`, a branch `feature` with one more, and the remote `origin` without any.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        let environment = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), folder.path().join("home").into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            // As inside of a hook: it must not send us elsewhere.
            ("GIT_DIR".into(), "/nowhere".into()),
        ];
        let repo = Self { folder, environment };
        repo.git_in(repo.folder(), &["init", "--quiet", "--bare", "remote.git"]);
        repo.git_in(repo.folder(), &["init", "--quiet", "--initial-branch=main", "work"]);
        repo.git(&["config", "user.name", "Tester"]);
        repo.git(&["config", "user.email", "tester@example.org"]);
        repo.git(&["remote", "add", "origin", "../remote.git"]);
        repo.commit("first");
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.commit("second");
        repo
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn place(&self) -> PathBuf {
        self.folder().join("work")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.place(), arguments)
    }

    pub(crate) fn git_in(&self, place: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(place).env_clear();
        command.envs(self.environment.iter().filter(|(name, _)| name != "GIT_DIR").cloned());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["commit", "--quiet", "--allow-empty", "--message", subject]);
    }

    /// The commit of a branch at the remote.
    pub(crate) fn remote_has(&self, branch: &str) -> Option<String> {
        let place = self.folder().join("remote.git");
        let format = "--format=%(objectname)";
        let found = self.git_in(&place, &["for-each-ref", format, &format!("refs/heads/{branch}")]);
        Some(found).filter(|found| !found.is_empty())
    }

    /// Writes a hook.
    pub(crate) fn hook(&self, git_dir: &str, name: &str, script: &str) {
        let path = self.folder().join(git_dir).join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(crate) fn push(&self, remote: &str, branch: &str) -> Result<Pushed, PushError> {
        let protected = ["main", "release/*"].map(str::to_owned);
        let push = Push {
            folder: &self.place(),
            environment: &self.environment,
            remote,
            branch,
            protected: &protected,
        };
        push.run(going())
    }
}
