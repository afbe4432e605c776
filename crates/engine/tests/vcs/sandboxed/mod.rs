//! Version control where sessions are in a box: what they do to their own git directory reaches the person's
//! repository only as commits that were looked at, and nothing of theirs runs outside.

mod gone;
mod hostile;
mod kills;
mod kinds;
mod linked;
mod places;
mod seen;
mod work;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ralph_engine::ports::{Bind, Jail, RunBase, SandboxMounts, SessionCommits, Vcs};
use ralph_engine::process::CommandSpec;
use ralph_engine::project::Project;
use ralph_engine::session_git::GitSandbox;
use ralph_engine::session_git::inspect::{self, InspectionRequest};
use ralph_engine::vcs::GitVcs;

use crate::kit::{Repo, run};

/// A box by plain flags of bubblewrap.
#[derive(Debug)]
pub(crate) struct TestJail {
    /// Our own program, as it is called in the box.
    ralph: PathBuf,
    _folder: tempfile::TempDir,
}

/// This very test program, in the sandbox.
const LOOKS: &str = "/run/ralph/looks";

impl TestJail {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ralph = folder.path().join("ralph");
        let script = format!(
            "#!/bin/sh\nshift\nRALPH_TEST_LOOK=\"$1\" exec {LOOKS} --exact {} --ignored --nocapture\n",
            "sandboxed::inspection_in_the_sandbox"
        );
        std::fs::write(&ralph, script).unwrap();
        std::fs::set_permissions(&ralph, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { ralph, _folder: folder }
    }
}

impl Jail for TestJail {
    fn wrap(&self, command: CommandSpec, binds: &[Bind]) -> CommandSpec {
        let mut args: Vec<OsString> = [
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--tmpfs",
            "/run",
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-net",
            "--uid",
            "1000",
            "--gid",
            "1000",
            "--new-session",
            "--die-with-parent",
            "--cap-drop",
            "ALL",
            "--clearenv",
        ]
        .into_iter()
        .map(OsString::from)
        .collect();
        let own = Bind::readable(&self.ralph).at("/run/ralph/bin/ralph");
        // Wherever it was built: the box has no `/tmp` of ours.
        let looks = Bind::readable(std::env::current_exe().unwrap()).at(LOOKS);
        for bind in binds.iter().chain([&own, &looks]) {
            args.push(if bind.writable { "--bind" } else { "--ro-bind" }.into());
            args.extend([bind.from.clone().into(), bind.to.clone().into()]);
        }
        for (name, value) in &command.env {
            args.extend(["--setenv".into(), name.clone(), value.clone()]);
        }
        args.extend(["--chdir".into(), command.folder.clone().into(), "--".into()]);
        args.push(command.program);
        args.extend(command.args);
        let folder = PathBuf::from("/");
        CommandSpec { program: bwrap().into(), args, folder, env: vec![], stdin: command.stdin }
    }
}

fn bwrap() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("bwrap"));
    found.into_iter().find(|file| file.is_file()).unwrap_or_else(|| "/usr/bin/bwrap".into())
}

/// Whether there are boxes here. Says aloud that a test is skipped where not.
pub(crate) fn without_sandbox() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    let there = *THERE.get_or_init(|| {
        let flags = ["--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "--unshare-net"];
        let tried = Command::new(bwrap()).args(flags).args(["--", "true"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    });
    if !there {
        ralph_testkit::skip("git in a box: bubblewrap is missing or may not make one here");
    }
    !there
}

#[test]
#[ignore = "only in the sandbox of the other tests"]
fn inspection_in_the_sandbox() {
    let asked: InspectionRequest =
        serde_json::from_str(&std::env::var("RALPH_TEST_LOOK").unwrap()).unwrap();
    let seen = inspect::inspect_inside(&asked).unwrap();
    let line = serde_json::to_string(&seen).unwrap();
    writeln!(std::io::stdout(), "\n{line}").unwrap();
}

pub(crate) fn git_sandbox() -> GitSandbox {
    let mut sandbox = GitSandbox::new(Arc::new(TestJail::new()), std::env::vars_os().collect());
    sandbox.patience = Duration::from_secs(60);
    sandbox
}

/// A run in a worktree whose sessions are in boxes.
pub(crate) struct World {
    pub(crate) repo: Repo,
    pub(crate) sandbox: GitSandbox,
    pub(crate) vcs: GitVcs,
    pub(crate) base: RunBase,
}

impl World {
    pub(crate) fn new(repo: Repo) -> Self {
        let sandbox = git_sandbox();
        let vcs = vcs_at(repo.place(), &sandbox);
        let base = vcs.begin(&run("r-1"), None).unwrap();
        Self { repo, sandbox, vcs, base }
    }

    /// A session that types this in the worktree, in its box.
    #[track_caller]
    pub(crate) fn session(&self, script: &str) -> String {
        session_in(&self.vcs, &self.sandbox, self.repo.place(), script)
    }

    /// No warning was given.
    #[track_caller]
    pub(crate) fn quiet(&self) {
        assert_eq!(self.vcs.warnings(), Vec::<String>::new());
    }
}

pub(crate) fn vcs_at(place: &Path, sandbox: &GitSandbox) -> GitVcs {
    GitVcs::new(Project::find(place).unwrap()).unwrap().sandboxed(sandbox).unwrap()
}

/// A session in a box of this worktree; it must end well.
#[track_caller]
pub(crate) fn session_in(vcs: &GitVcs, sandbox: &GitSandbox, place: &Path, script: &str) -> String {
    went_well(script, &try_session(vcs, sandbox, place, script))
}

/// A gate in a box of this worktree; it must end well.
#[track_caller]
pub(crate) fn judged_in(vcs: &GitVcs, sandbox: &GitSandbox, place: &Path, script: &str) -> String {
    let shown = vcs.shown_to_judges(None).unwrap();
    went_well(script, &try_in(shown, sandbox, place, script))
}

#[track_caller]
fn went_well(script: &str, output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{printed}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) fn try_session(
    vcs: &GitVcs,
    sandbox: &GitSandbox,
    place: &Path,
    script: &str,
) -> Output {
    try_in(vcs.shown().unwrap(), sandbox, place, script)
}

fn try_in(issued: SandboxMounts, sandbox: &GitSandbox, place: &Path, script: &str) -> Output {
    let mut binds = vec![Bind::writable(place)];
    binds.extend(issued.read_only.iter().map(Bind::readable));
    binds.extend(issued.binds.iter().cloned());
    let mut env: Vec<(OsString, OsString)> =
        vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("HOME".into(), "/tmp".into())];
    env.extend(issued.environment);
    let spec = CommandSpec {
        program: "sh".into(),
        args: vec!["-ec".into(), script.into()],
        folder: place.to_owned(),
        env,
        stdin: vec![].into(),
    };
    let spec = sandbox.jail.wrap(spec, &binds);
    Command::new(&spec.program).args(&spec.args).env_clear().current_dir("/").output().unwrap()
}

/// Every byte of the repository but what ralph itself keeps there: refs of ours, and packs with them.
pub(crate) fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if name == Path::new("refs/ralph") {
                continue;
            }
            if about.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}
