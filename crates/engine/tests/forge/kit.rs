//! A repository with a bare remote beside it, or with one on a stand-in for GitHub.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::{HostEntry, Words};
use ralph_engine::forge::{ForgeContext, RemoteForge, Retry};
use ralph_engine::ports::{ForgeError, Published, PullRequest};
use ralph_engine::process::{CommandSpec, Stop};
use ralph_engine::publishing::{Push, PushError, Pushed, RunHook};
use ralph_testkit::github::{GitHubServer, REPO, Speaks, TOKEN, gh};
use tokio::sync::watch;

pub(crate) struct Repo {
    folder: tempfile::TempDir,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// Nobody says stop: the receiver keeps what it saw last.
pub(crate) fn going() -> watch::Receiver<Stop> {
    watch::channel(Stop::Go).1
}

/// Stands for the sandbox where no hook lies in the worktree.
pub(crate) fn refused(
    spec: CommandSpec,
    _: Duration,
    _: watch::Receiver<Stop>,
) -> (ProcessEnd, String) {
    panic!("{:?} is no hook of the worktree", spec.program)
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
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {message}");
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
        self.push_with(remote, branch, &refused)
    }

    /// Pushes; hooks of the worktree are run so.
    pub(crate) fn push_with(
        &self,
        remote: &str,
        branch: &str,
        sandboxed: &RunHook<'_>,
    ) -> Result<Pushed, PushError> {
        let protected = ["main", "release/*"].map(str::to_owned);
        let push = Push {
            folder: &self.place(),
            environment: &self.environment,
            remote,
            branch,
            protected: &protected,
            patience: Push::PATIENCE,
            sandboxed,
        };
        push.run(going()).map(|(pushed, _)| pushed)
    }
}

/// A way by which requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Curl,
    Gh,
}

/// A repository whose remote is on the stand-in for GitHub.
pub(crate) struct World {
    pub(crate) repo: Repo,
    pub(crate) server: GitHubServer,
    pub(crate) patience: Duration,
    pub(crate) pauses: Vec<Duration>,
    pub(crate) hosts: Vec<HostEntry>,
    pub(crate) remotes: (&'static str, &'static str),
}

impl World {
    /// Both ways, as far as the machine has them. What is not asked for is not on the `PATH`.
    pub(crate) fn both() -> Vec<(By, Self)> {
        let found = [By::Curl, By::Gh].map(|by| Some((by, Self::by(by)?)));
        found.into_iter().flatten().collect()
    }

    /// Requests go this way; `None`, said aloud, where the machine does not have it.
    pub(crate) fn by(by: By) -> Option<Self> {
        let program = match by {
            By::Gh => gh()?,
            By::Curl => which("curl").or_else(|| {
                ralph_testkit::skip("requests by curl: it is not installed");
                None
            })?,
        };
        let name = if by == By::Gh { "gh" } else { "curl" };
        let (repo, server) = (Repo::new(), GitHubServer::start());
        let mut world = Self::new(repo, server);
        world.program(name, &program);
        world.set("GH_TOKEN", TOKEN);
        let url = world.server.url();
        if by == By::Curl {
            world.set("GITHUB_API_URL", &url).set("GITHUB_SERVER_URL", "https://git.example");
            // The person has git write it in another way.
            world.repo.git(&["config", "url.git@git.example:.insteadOf", "short:"]);
            world.repo.git(&["remote", "set-url", "origin", &format!("short:{REPO}.git")]);
        } else {
            // The one server that gh speaks to without encryption, and a proxy that leads to ours.
            let config = world.repo.folder().join("gh").display().to_string();
            world.set("GH_HOST", "github.localhost").set("GH_CONFIG_DIR", &config);
            world.set("HTTP_PROXY", &url);
            let remote = format!("https://github.localhost/{REPO}.git");
            world.repo.git(&["remote", "set-url", "origin", &remote]);
        }
        Some(world)
    }

    fn new(repo: Repo, server: GitHubServer) -> Self {
        let (pauses, hosts, remotes) = (vec![], vec![], ("origin", "origin"));
        let mut world =
            Self { repo, server, patience: ForgeContext::PATIENCE, pauses, hosts, remotes };
        world.program("git", &which("git").unwrap());
        world.set("PATH", world.bin().to_str().unwrap());
        world
    }

    /// A stand-in for each server, its kind named in the settings, asked by `curl`.
    pub(crate) fn each() -> Vec<(Speaks, Self)> {
        let Some(curl) = which("curl") else {
            ralph_testkit::skip("requests by curl: it is not installed");
            return vec![];
        };
        let each =
            [("github", Speaks::GitHub), ("gitlab", Speaks::GitLab), ("forgejo", Speaks::Gitea)];
        let world = |(kind, speaks): (&str, Speaks)| {
            let mut world = Self::new(Repo::new(), GitHubServer::speaking(speaks));
            world.program("curl", &curl);
            world.set("ACME_TOKEN", TOKEN);
            let entry = format!("git.example={kind} ACME_TOKEN {}", world.server.url());
            world.hosts.push(HostEntry::read(&entry).unwrap());
            let remote = format!("git@git.example:{REPO}.git");
            world.repo.git(&["remote", "set-url", "origin", &remote]);
            (speaks, world)
        };
        each.into_iter().map(world).collect()
    }

    /// Where requests are made from.
    pub(crate) fn forge(&self, stop: watch::Receiver<Stop>) -> RemoteForge {
        let retry = Retry { pauses: self.pauses.clone(), longest: Duration::from_secs(1) };
        let place = ForgeContext {
            folder: self.repo.place(),
            environment: self.repo.environment.clone(),
            hosts: self.hosts.clone(),
            patience: self.patience,
            retry,
            stop,
        };
        RemoteForge::new(place, self.remotes.0.to_owned(), self.remotes.1.to_owned())
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.repo.folder().join("bin")
    }

    fn program(&self, name: &str, program: &Path) {
        std::fs::create_dir_all(self.bin()).unwrap();
        std::os::unix::fs::symlink(program, self.bin().join(name)).unwrap();
    }

    /// Puts a script in the place of a program; `$REAL` is that program.
    pub(crate) fn wrap(&mut self, name: &str, script: &str) {
        let place = self.bin().join(name);
        let real = std::fs::read_link(&place).unwrap();
        std::fs::remove_file(&place).unwrap();
        self.set("REAL", real.to_str().unwrap());
        self.script(name, script);
    }

    /// Puts a script on the `PATH`.
    pub(crate) fn script(&self, name: &str, script: &str) {
        let place = self.bin().join(name);
        // A link there leads to the machine's own program, which writing would replace.
        let _ = std::fs::remove_file(&place);
        std::fs::write(&place, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.repo.environment.retain(|(known, _)| known != name);
        self.repo.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn draft(&self) -> PathBuf {
        self.repo.folder().join("drafts/pull-request.md")
    }

    pub(crate) fn publish(&self, words: &Words) -> Result<Published, ForgeError> {
        self.publish_until(words, "main", going())
    }

    pub(crate) fn publish_until(
        &self,
        words: &Words,
        base: &str,
        stop: watch::Receiver<Stop>,
    ) -> Result<Published, ForgeError> {
        let wanted = PullRequest { words, base, draft: &self.draft(), link: None };
        let result = self.forge(stop).publish(&wanted);
        assert!(!format!("{result:?}").contains(TOKEN), "{result:?}");
        result
    }
}

/// A branch with a goal and nothing else.
pub(crate) fn words(branch: &str) -> Words {
    Words { branch: branch.to_owned(), goal: "People log in".to_owned(), ..Words::default() }
}

fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
