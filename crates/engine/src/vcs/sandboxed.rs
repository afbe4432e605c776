//! Version control for sandboxed sessions: ralph's own programs that read the sessions' files are sandboxed too,
//! and the commits of a session come out as a pack that git has checked.
//!
//! Outside the sandbox, git only reads that pack, and works on objects, refs and the user's index. Outside,
//! ralph reads no file of a session's git directory, and git reads no file of a worktree.

use std::fs::OpenOptions;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

use ralph_core::ids::RunId;

use super::in_place::GitVcs;
use super::traces::{BASES, TAKEN};
use super::trees::Author;
use crate::crash;
use crate::git::fingerprint::Fingerprint;
use crate::git::listed::{Listing, listing};
use crate::git::position::{Position, object_id};
use crate::git::{Git, GitError, GitResult};
use crate::ports::{Bind, SessionCommits};
use crate::process::{CommandSpec, Stdin};
use crate::project::Project;
use crate::session_git::inspect::{COMMAND, Inspection, Packed};
use crate::session_git::sandbox::{RALPH, inside, run};
use crate::session_git::{GitSandbox, Inspected, SessionGitDir};
use crate::sync::lock;
use crate::untrusted::open_own;

/// The ref for commits of a session that belong to no task.
const NAMELESS: &str = "refs/ralph/wip/main/1";
/// So many objects of a session are not kept as a pack.
const LOOSE: u32 = 100;

#[derive(Debug)]
pub(super) struct WorktreeSandbox {
    pub(super) sandbox: GitSandbox,
    pub(super) git_dir: SessionGitDir,
}

impl GitVcs {
    /// Sessions of this worktree are in a sandbox: each gets a git directory of its own, and everything that
    /// looks at their files runs sandboxed.
    pub fn sandboxed(mut self, sandbox: &GitSandbox) -> GitResult<Self> {
        let git_dir = SessionGitDir::of(&self.project)?;
        self.sandboxed = Some(WorktreeSandbox { sandbox: sandbox.clone(), git_dir });
        Ok(self)
    }

    /// That of a worktree whose branch is the loop's own.
    pub(super) fn linked_sandbox(&self) -> Option<&WorktreeSandbox> {
        self.sandboxed.as_ref().filter(|sandboxed| sandboxed.git_dir.is_linked())
    }

    /// A run begins. Work that another run left in a session's git directory is reused if this run continues
    /// it, and saved otherwise. A ref keeps the base commit of the new directory from being collected.
    pub(super) fn begin_sandboxed(&self, run: &RunId, resumes: bool) -> GitResult<()> {
        let Some(sandboxed) = &self.sandboxed else { return Ok(()) };
        sandboxed.git_dir.unlock();
        self.import_commits()?;
        let at = self.position()?;
        if !(resumes && sandboxed.git_dir.fits(&at)) {
            self.discard(sandboxed)?;
        }
        let Some(head) = &at.head else { return Ok(()) };
        let name = format!("{BASES}{run}");
        // Noted first: a ref without a note is removed.
        let before = sandboxed.git_dir.note_base(&name)?;
        self.git(&["update-ref", &name, head]).run()?;
        if let Some(before) = before {
            self.git(&["update-ref", "-d", &before]).run()?;
        }
        Ok(())
    }

    /// Reads the worktree and the commits of sessions, and imports both into the repository. If the commits are
    /// invalid, only the files are imported. Nothing is read again while it is the same.
    pub(super) fn see(&self, sandboxed: &WorktreeSandbox) -> GitResult<Inspection> {
        let at = self.position()?;
        let settings = listing(&self.project)?;
        if let Some(seen) = self.seen_before(sandboxed, &at, &settings)? {
            return Ok(seen);
        }
        sandboxed.git_dir.ensure(&at)?;
        let was_issued = sandboxed.git_dir.was_issued();
        let mut refused = None;
        if was_issued {
            let look = || self.inspect_and_import(sandboxed, &at, true);
            // Reading may fail on a busy machine. Commits are not dropped for that.
            match look().or_else(|_| look()) {
                Ok(found) if found.refused.is_none() => {
                    return Ok(self.remember_seen(sandboxed, found, was_issued, settings));
                }
                Ok(found) => refused = found.refused,
                Err(error) => refused = Some(error.to_string()),
            }
        }
        let mut found = self.inspect_and_import(sandboxed, &at, false)?;
        let Some(why) = refused else {
            return Ok(self.remember_seen(sandboxed, found, was_issued, settings));
        };
        self.warn(format!("ralph takes the session's files, but not its commits: {why}"));
        found.refused = Some(why);
        Ok(found)
    }

    fn remember_seen(
        &self,
        sandboxed: &WorktreeSandbox,
        found: Inspection,
        was_issued: bool,
        settings: Arc<Listing>,
    ) -> Inspection {
        let files = self.fingerprint(sandboxed, &settings).filter(|now| now.holds_since(found.at));
        let inspected = Inspected { found: found.clone(), was_issued, files, settings };
        *lock(&sandboxed.git_dir.shared().inspected) = Some(Arc::new(inspected));
        found
    }

    /// The worktree as it is on the disk; `None` where only git can tell whether it is the same.
    fn fingerprint(&self, sandboxed: &WorktreeSandbox, settings: &Listing) -> Option<Fingerprint> {
        let lists = sandboxed.git_dir.list_paths(settings);
        let is_state = |path: &[u8]| self.is_state(path);
        Fingerprint::of(self.worktree(), is_state, lists).filter(|_| !is_sparse(settings))
    }

    /// What another look would find, where nothing has changed since the last one.
    fn seen_before(
        &self,
        sandboxed: &WorktreeSandbox,
        at: &Position,
        settings: &Arc<Listing>,
    ) -> GitResult<Option<Inspection>> {
        let Some(before) = lock(&sandboxed.git_dir.shared().inspected).clone() else {
            return Ok(None);
        };
        let mut found = before.found.clone();
        if sandboxed.git_dir.was_issued() {
            if !before.was_issued {
                return Ok(None);
            }
        } else {
            // The files are laid over what is checked out now.
            if at.head != found.head && self.tree_of(at.head.as_deref())? != found.tree {
                return Ok(None);
            }
            found = Inspection { head: at.head.clone(), branch: None, others: vec![], ..found };
        }
        let is_same = Arc::ptr_eq(settings, &before.settings)
            && before.files.is_some()
            && before.files == self.fingerprint(sandboxed, settings);
        if is_same {
            found.left_out.iter().for_each(|left_out| self.warn(left_out.clone()));
        }
        Ok(is_same.then_some(found))
    }

    fn inspect_and_import(
        &self,
        sandboxed: &WorktreeSandbox,
        at: &Position,
        seeing: bool,
    ) -> GitResult<Inspection> {
        let shared = sandboxed.git_dir.shared();
        let _held = lock(&shared.turn);
        let mut binds = vec![Bind::readable(self.worktree())];
        binds.extend(sandboxed.git_dir.inspection_binds(seeing)?);
        let refs = self.git(&["for-each-ref", "--format=%(objectname)"]).run()?;
        sandboxed.git_dir.note_known(&refs)?;
        let head_tree = self.tree_of(at.head.as_deref())?;
        let sparse = is_sparse(&*listing(&self.project)?);
        let asked = sandboxed.git_dir.request(at.head.clone(), head_tree.clone(), seeing, sparse);
        let asked = serde_json::to_string(&asked).map_err(|error| odd(&error))?;
        let spec = CommandSpec {
            program: RALPH.into(),
            args: vec![COMMAND.into(), asked.into()],
            folder: self.worktree().to_owned(),
            env: inside(&sandboxed.sandbox),
            stdin: Stdin::default(),
        };
        let printed = run("reading the worktree", &sandboxed.sandbox, &spec, &binds)?;
        let line = printed.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"{"));
        let seen: Inspection =
            serde_json::from_slice(line.unwrap_or_default()).map_err(|error| odd(&error))?;
        for left_out in &seen.left_out {
            self.warn(left_out.clone());
        }
        let packed = seen.packed.iter().flat_map(|packed| [&packed.commit, &packed.name]);
        let ids = std::iter::once(&seen.tree).chain(&seen.head).chain(&seen.others).chain(packed);
        if !ids.into_iter().all(|id| object_id(id).is_some()) {
            return Err(odd(&"invalid object names"));
        }
        match &seen.packed {
            Some(packed) => {
                self.import_pack(sandboxed, packed)?;
                crash::point("commits-taken");
            }
            // Then it is what is checked out.
            None if seen.tree == head_tree && seen.head == at.head && seen.others.is_empty() => {}
            None => return Err(odd(&"objects without a pack")),
        }
        Ok(seen)
    }

    /// Imports what was read into the repository: git checks it object by object, and that all they lead to is
    /// there. A ref keeps it.
    fn import_pack(&self, sandboxed: &WorktreeSandbox, packed: &Packed) -> GitResult<()> {
        let path = sandboxed.git_dir.pack(&packed.name);
        let failed = |source| GitError::File { path: path.clone(), source };
        let mut file = open_own(&path, OpenOptions::new().read(true)).map_err(failed)?;
        let mut header = [0; 12];
        file.read_exact(&mut header).and_then(|()| file.rewind()).map_err(failed)?;
        let [.., a, b, c, d] = header;
        let unpack: &[&str] = match u32::from_be_bytes([a, b, c, d]) <= LOOSE {
            true => &["unpack-objects", "-q", "--strict"],
            false => &["index-pack", "--stdin", "--strict"],
        };
        self.git(unpack).reading(&file).run()?;
        let asked = format!("{}\n", packed.commit);
        let whole = ["rev-list", "--objects", "--stdin", "--not", "--all", "--quiet"];
        self.git(&whole).input(asked.as_bytes()).run()?;
        self.git(&["update-ref", &imported_ref(&sandboxed.git_dir), &packed.commit]).run()?;
        // The next look would replace it.
        let _ = std::fs::remove_file(path);
        Ok(())
    }

    /// Runs git in a sandbox. `binds` come first, our own directory behind them.
    pub(super) fn sandboxed_git(
        &self,
        sandboxed: &WorktreeSandbox,
        call: &Git<'_>,
        mut binds: Vec<Bind>,
    ) -> GitResult<Vec<u8>> {
        sandboxed.git_dir.ensure(&self.position()?)?;
        let shared = sandboxed.git_dir.shared();
        let _held = lock(&shared.turn);
        binds.extend(sandboxed.git_dir.inspection_binds(false)?);
        let spec = call.sandboxed_spec(&inside(&sandboxed.sandbox))?;
        run("git", &sandboxed.sandbox, &spec, &binds)
    }

    /// Removes the session's directory. Unreachable commits in it are saved first.
    pub(super) fn discard(&self, sandboxed: &WorktreeSandbox) -> GitResult<()> {
        let was_issued = sandboxed.git_dir.was_issued();
        if was_issued {
            // Only what a session did to the directory counts, and none had it since.
            let before = lock(&sandboxed.git_dir.shared().inspected).clone();
            let seen = match before.filter(|before| before.was_issued) {
                Some(before) => before.found.clone(),
                None => self.see(sandboxed)?,
            };
            if let Some(why) = seen.refused {
                let aside = sandboxed.git_dir.set_aside()?;
                let aside = aside.display();
                self.warn(format!("the session's git directory is kept in {aside}: {why}"));
                return Ok(());
            }
            for commit in seen.head.iter().chain(&seen.others) {
                self.save_commits(commit)?;
            }
        }
        if sandboxed.git_dir.is_there() {
            self.git(&["update-ref", "-d", &imported_ref(&sandboxed.git_dir)]).run()?;
        }
        sandboxed.git_dir.remove()?;
        if was_issued {
            crash::point("box-removed");
        }
        Ok(())
    }

    /// The run is over. A directory whose commits are all on the branch is removed; one with commits of an
    /// unfinished session stays, because the next session starts there.
    pub(super) fn end_sandboxed(&self) -> GitResult<()> {
        let Some(sandboxed) = &self.sandboxed else { return Ok(()) };
        sandboxed.git_dir.forget_seen();
        if sandboxed.git_dir.was_issued() {
            let seen = self.see(sandboxed)?;
            let head = self.position()?.head;
            if seen.refused.is_some() {
                return Ok(());
            }
            for id in seen.head.iter().chain(&seen.others) {
                let landed = head.as_ref().map_or(Ok(false), |head| self.is_ancestor(id, head))?;
                if !landed {
                    return Ok(());
                }
            }
        }
        forget_sandbox(&self.project, &sandboxed.git_dir, true).map(drop)
    }

    /// Saves commits that neither the user's refs nor a save reaches.
    fn save_commits(&self, head: &str) -> GitResult<()> {
        let at = self.position()?;
        // Signed, it is another commit.
        let signed = lock(&self.renames).iter().rfind(|(old, _)| old == head).cloned();
        let now = signed.map_or_else(|| head.to_owned(), |(_, new)| new);
        if let Some(real) = &at.head
            && self.is_ancestor(&now, real)?
        {
            return Ok(());
        }
        let contains = format!("--contains={head}");
        let places = ["refs/ralph/wip/", "refs/heads/", "refs/tags/", "refs/remotes/"];
        let mut asked = vec!["for-each-ref", "--count=1", "--format=%(refname)", &contains];
        asked.extend(places);
        if !self.git(&asked).run()?.is_empty() {
            return Ok(());
        }
        let branch = at.branch.as_deref().unwrap_or("main");
        let name = self.free_name(branch)?.unwrap_or_else(|| NAMELESS.to_owned());
        let fork = match &at.head {
            Some(real) => self.git(&["merge-base", real, head]).line().ok().or(Some(real.clone())),
            None => None,
        };
        let parents = fork.as_deref().into_iter().chain([head]);
        let words = "ralph: commits of a session that are not on the branch\n";
        let tree = self.tree_of(Some(head))?;
        let commit = self.commit_tree(&tree, parents, words, Author::Ralph)?;
        self.git(&["update-ref", &name, &commit]).run()?;
        self.warn(format!(
            "a session's commits are not based on the current checkout; they are saved under {name}"
        ));
        Ok(())
    }

    /// The commit that sessions made on top of what is checked out. Where the user has moved the branch since
    /// the session began, its commits stand on something else: then its files alone count.
    pub(super) fn beyond(
        &self,
        sandboxed: &WorktreeSandbox,
        at: &Position,
        seen: &Inspection,
    ) -> GitResult<Option<String>> {
        let is_based_here = seen.refused.is_none() && sandboxed.git_dir.fits(at);
        match (&seen.head, &at.head) {
            (Some(_), _) if !is_based_here => Ok(None),
            (Some(found), Some(head)) if head == found || !self.is_ancestor(head, found)? => {
                Ok(None)
            }
            (found, _) => Ok(found.clone()),
        }
    }
}

/// The ref that holds what was taken last.
fn imported_ref(git_dir: &SessionGitDir) -> String {
    format!("{TAKEN}{}", git_dir.name())
}

/// Removes the directory of a worktree, which may be gone itself, and the refs for it. A directory that a
/// session used and that was not inspected since is kept under another name, which is returned.
pub(crate) fn forget_sandbox(
    project: &Project,
    git_dir: &SessionGitDir,
    looked_at: bool,
) -> GitResult<Option<PathBuf>> {
    let aside = match git_dir.was_issued() && !looked_at {
        true => Some(git_dir.set_aside()?),
        false => None,
    };
    let refs = git_dir.base().into_iter().chain([imported_ref(git_dir)]);
    let asked: String = refs.map(|name| format!("delete {name}\n")).collect();
    // In the main worktree: the one that it is about may be gone.
    let call = Git::plumbing(&project.root, &["update-ref", "--stdin"]);
    call.input(asked.as_bytes()).run()?;
    git_dir.clear()?;
    Ok(aside)
}

/// Whether some files of a tree are not in the worktree.
fn is_sparse(settings: &Listing) -> bool {
    settings.is_on("core.sparsecheckout")
}

fn odd(answer: &dyn std::fmt::Display) -> GitError {
    GitError::Odd { verb: "look".to_owned(), answer: answer.to_string() }
}
