//! Runs the user's hooks on ralph's own commits, as `git commit` would.
//!
//! The supervisor starts them and not git, because `git hook run` is newer than the oldest git that ralph supports,
//! and because a hook that hangs must not hang the loop.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::in_place::GitVcs;
use super::sandboxed::WorktreeSandbox;
use crate::git::listed::listing;
use crate::git::scratch::Scratch;
use crate::git::{ELSEWHERE, Git, GitError, GitResult};
use crate::host::may_run;
use crate::ports::{Bind, Candidate, HookSandbox, ProbeEnd, RunBase, SessionCommits, Vcs};
use crate::probe;
use crate::process::{CommandSpec, Stdin};
use crate::session_git::sandbox::is_no;
use crate::untrusted::read_own;

/// How often in a row the hook may change what is to be committed.
const MAX_CHANGES: u32 = 2;
/// How much of a hook's output an error shows: the end of it.
const SHOWN: usize = 2_000;

/// The longest message that a hook may leave.
const MOST_WORDS: u64 = 1 << 20;
/// Where the user's hooks are in a sandbox.
const HOOKS: &str = "/run/ralph/hooks";

/// What hooks are run with.
#[derive(Debug)]
pub(super) struct Hooks {
    environment: Vec<(OsString, OsString)>,
    timeout: Duration,
    /// Where they run when sessions have no git directory of their own.
    sandbox: Option<Arc<dyn HookSandbox>>,
    /// How often in a row the hook changed what was to be committed.
    changes: AtomicU32,
}

impl GitVcs {
    /// Runs the user's hooks on the commits of the loop, in this environment and each for at most so
    /// long. Without this none is run.
    #[must_use]
    pub fn with_hooks(mut self, environment: &[(OsString, OsString)], timeout: Duration) -> Self {
        // What sends git elsewhere would send the git in a hook elsewhere.
        let stays = |name: &OsString| !ELSEWHERE.iter().any(|elsewhere| name == elsewhere);
        let environment = environment.iter().filter(|(name, _)| stays(name)).cloned().collect();
        let changes = AtomicU32::new(0);
        self.hooks = Some(Hooks { environment, timeout, sandbox: None, changes });
        self
    }

    /// Runs the hooks in this sandbox: a session could have written them.
    #[must_use]
    pub fn hooks_in(mut self, sandbox: Option<Arc<dyn HookSandbox>>) -> Self {
        if let Some(hooks) = &mut self.hooks {
            hooks.sandbox = sandbox;
        }
        self
    }

    /// The folder with the hooks, where there is something to run.
    pub(super) fn hooks_folder(&self) -> GitResult<Option<PathBuf>> {
        if self.hooks.is_none() {
            return Ok(None);
        }
        let folder = match listing(&self.project)?.value("core.hookspath") {
            None => self.project.git_dir.join("hooks"),
            Some(_) => {
                // Not as plumbing: that looks for hooks where there are none.
                let asked = ["rev-parse", "--git-path", "hooks"];
                let printed = Git::new(self.worktree(), &asked).run()?;
                let name = printed.strip_suffix(b"\n").unwrap_or(&printed);
                self.worktree().join(OsStr::from_bytes(name))
            }
        };
        Ok(folder.is_dir().then_some(folder))
    }

    /// Runs `pre-commit` on the candidate.
    ///
    /// What the hook adds was not judged, so it is not committed: the error says that the tree has to be
    /// judged again. A formatter changes the files, and either adds them or fails so that the user does;
    /// the new candidate has them, and the second time there is nothing left to change.
    pub(super) fn pre_commit(
        &self,
        folder: &Path,
        base: &RunBase,
        candidate: &Candidate,
    ) -> GitResult<()> {
        let (Some(hooks), Some(hook)) = (&self.hooks, executable(folder, "pre-commit")) else {
            return Ok(());
        };
        // Not the user's index: what is staged there is not a part of this commit.
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        scratch.git(&["read-tree", "--reset", &candidate.tree]).run()?;
        // It says no where a file differs, which is what it was asked to find out.
        let places = vec![Bind::readable(self.worktree()), Bind::writable(scratch.folder())];
        let _ = self.run_on(scratch.git(&["update-index", "-q", "--refresh"]), places);
        let ran = self.run_hook(hooks, &hook, &[], Some(&scratch.path()), scratch.folder());
        let error = match ran {
            Ok(()) if self.is_still(&scratch, &candidate.tree)? => {
                hooks.changes.store(0, Ordering::Relaxed);
                return Ok(());
            }
            Ok(()) => refused("pre-commit", "it changes the files to commit every time".to_owned()),
            Err(error) if self.candidate(base)?.tree == candidate.tree => return Err(error),
            Err(error) => error,
        };
        // Once the limit is reached it stays reached: a retry must not reset the count.
        match hooks.changes.fetch_add(1, Ordering::Relaxed) < MAX_CHANGES {
            true => Err(GitError::HookChanged { hook: "pre-commit".to_owned() }),
            false => Err(error),
        }
    }

    /// Whether an index that a hook was given still holds this tree.
    fn is_still(&self, scratch: &Scratch<'_>, tree: &str) -> GitResult<bool> {
        let Some(sandboxed) = &self.sandboxed else { return Ok(scratch.write_tree()? == tree) };
        let call = scratch.git(&["diff-index", "--cached", "--quiet", tree, "--"]);
        match self.sandboxed_git(sandboxed, &call, vec![Bind::readable(scratch.folder())]) {
            Ok(_) => Ok(true),
            Err(error) if is_no(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The message as `prepare-commit-msg` and `commit-msg` leave it.
    pub(super) fn message_by_hooks(&self, folder: &Path, message: String) -> GitResult<String> {
        let Some(hooks) = &self.hooks else { return Ok(message) };
        let prepare = executable(folder, "prepare-commit-msg");
        let check = executable(folder, "commit-msg");
        if prepare.is_none() && check.is_none() {
            return Ok(message);
        }
        // Hooks in a sandbox do not reach git's own folder.
        let scratch = Scratch::empty(self.worktree())?;
        let path = match &self.sandboxed {
            None => self.project.own_git_dir()?.join("COMMIT_EDITMSG"),
            Some(_) => scratch.folder().join("COMMIT_EDITMSG"),
        };
        let file_error = |source| GitError::File { path: path.clone(), source };
        std::fs::write(&path, &message).map_err(file_error)?;
        if let Some(hook) = prepare {
            let arguments = [path.as_os_str(), OsStr::new("message")];
            self.run_hook(hooks, &hook, &arguments, None, scratch.folder())?;
        }
        if let Some(hook) = check {
            self.run_hook(hooks, &hook, &[path.as_os_str()], None, scratch.folder())?;
        }
        let left = read_own(&path, MOST_WORDS).map_err(file_error)?;
        let left = self.git(&["stripspace"]).input(&left).run()?;
        match String::from_utf8_lossy(&left).into_owned() {
            text if text.trim().is_empty() => {
                Err(refused("commit-msg", "it left an empty message".to_owned()))
            }
            text => Ok(text.replace('\0', "")),
        }
    }

    /// Runs `post-commit`. The commit stays, whatever the hook says.
    pub(super) fn post_commit(&self, folder: &Path) {
        let (Some(hooks), Some(hook)) = (&self.hooks, executable(folder, "post-commit")) else {
            return;
        };
        let ran = Scratch::empty(self.worktree())
            .and_then(|scratch| self.run_hook(hooks, &hook, &[], None, scratch.folder()));
        if let Err(error) = ran {
            self.warn(format!("the commit is made, but {error}"));
        }
    }

    fn run_hook(
        &self,
        hooks: &Hooks,
        hook: &Path,
        arguments: &[&OsStr],
        index: Option<&Path>,
        scratch: &Path,
    ) -> GitResult<()> {
        let issued = self.shown()?;
        let mut env = hooks.environment.clone();
        let mut set = |name: OsString, value: OsString| {
            env.retain(|(known, _)| *known != name);
            env.push((name, value));
        };
        // There is no user to edit anything.
        set("GIT_EDITOR".into(), ":".into());
        set("GIT_TERMINAL_PROMPT".into(), "0".into());
        if let Some(index) = index {
            set("GIT_INDEX_FILE".into(), index.into());
        }
        issued.environment.into_iter().for_each(|(name, value)| set(name, value));
        let args = arguments.iter().map(Into::into).collect();
        let (program, folder) = (hook.into(), self.worktree().to_owned());
        let spec = CommandSpec { program, args, folder, env, stdin: Stdin::default() };
        let ran = match (&self.sandboxed, &hooks.sandbox) {
            (Some(sandboxed), _) => {
                let spec = self.hook_in_sandbox(sandboxed, hook, spec, scratch, issued.binds);
                probe::finish(&spec, hooks.timeout)
            }
            (None, None) => probe::finish(&spec, hooks.timeout),
            (None, Some(sandbox)) => {
                let ended = sandbox.run(spec, self.worktree(), scratch, hooks.timeout);
                ended.notes.into_iter().for_each(|note| self.warn(note));
                ended.probe
            }
        };
        let why = match ran.end {
            ProbeEnd::Exited(0) => return Ok(()),
            ProbeEnd::Exited(code) => format!("exit code {code}"),
            ProbeEnd::TimedOut => format!("timed out after {}s", hooks.timeout.as_secs()),
            ProbeEnd::Interrupted => "it was stopped".to_owned(),
            ProbeEnd::NotStarted(error) => error,
        };
        let output = ran.output.trim();
        let output = &output[output.ceil_char_boundary(output.len().saturating_sub(SHOWN))..];
        let message = if output.is_empty() { why } else { format!("{why}: {output}") };
        Err(refused(&hook.file_name().unwrap_or_default().to_string_lossy(), message))
    }

    /// A hook in a sandbox: the worktree is its to change, and git's own folder is that of the session.
    fn hook_in_sandbox(
        &self,
        sandboxed: &WorktreeSandbox,
        hook: &Path,
        mut spec: CommandSpec,
        scratch: &Path,
        git: Vec<Bind>,
    ) -> CommandSpec {
        let mut binds = vec![Bind::writable(self.worktree())];
        let own = self.worktree().join(".ralph");
        if own.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            binds.push(Bind::readable(own));
        }
        binds.extend(git);
        binds.push(sandboxed.git_dir.own_settings_over());
        binds.push(Bind::writable(scratch));
        let folder = hook.parent().and_then(|folder| folder.canonicalize().ok());
        let is_in_git_dir = |folder: &Path| folder.starts_with(sandboxed.git_dir.common());
        // What a session could have put in its place is not the user's hook.
        if let (Some(folder), Some(name)) = (folder, hook.file_name())
            && (!folder.starts_with(self.worktree()) || is_in_git_dir(&folder))
        {
            spec.program = Path::new(HOOKS).join(name).into_os_string();
            binds.push(Bind::readable(folder).at(HOOKS));
        }
        sandboxed.sandbox.jail.wrap(spec, &binds)
    }
}

fn refused(hook: &str, message: String) -> GitError {
    GitError::Hook { hook: hook.to_owned(), message }
}

/// The hook, if git would run it.
fn executable(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(name)).filter(|path| may_run(path))
}
