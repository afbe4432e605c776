//! Builds the two git directories from the real one.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::directory::{LOOK, OBJECTS, PRIVATE, SessionGitDir, private_folder};
use super::owners::copy_index;
use super::settings;
use crate::git::entries::os_path;
use crate::git::folders::gone;
use crate::git::listed::{Listed, Listing, listing, standard_file, written_path};
use crate::git::scratch::copy_with_time;
use crate::git::{Git, GitError, GitResult};
use crate::untrusted::{DOCUMENT, LARGE, SMALL, read_own, read_through_links};

/// The user's list of ignored files, and of attributes, as they are named in the directories.
const LISTS: [(&str, &str, &str); 2] = [
    ("core.excludesfile", "ralph-ignore", "ignore"),
    ("core.attributesfile", "ralph-attributes", "attributes"),
];

/// Where a directory names the objects of others.
const ALTERNATES: &str = "objects/info/alternates";

impl SessionGitDir {
    /// Fills `git` and `look`, with `head` checked out.
    pub(super) fn build(&self, git: &Path, look: &Path, head: Option<&str>) -> GitResult<()> {
        let listing = listing(&self.project)?;
        let lists = self.lists(&listing);
        let more = self.own_settings(&listing, &lists);
        let config = settings::text_of(&listing.all, &more);
        let made = || -> io::Result<()> {
            for directory in [git, look] {
                private_folder(directory)?;
                std::fs::write(directory.join("config"), &config)?;
                for (_, name, text) in &lists {
                    std::fs::write(directory.join(name), text)?;
                }
                self.copy_shared(directory)?;
                self.copy_own(directory)?;
            }
            self.copy_refs(git)?;
            self.copy_hooks(git)?;
            std::fs::write(git.join(ALTERNATES), self.alternate_lines())?;
            self.set_head(look, head)
        };
        made().map_err(|source| GitError::File { path: git.to_owned(), source })
    }

    /// Fills the directory of a gate or a verifier: the settings that ours was made with, the user's refs and
    /// hooks, and the index of the last look, or the user's where no session was running.
    pub(super) fn build_for_judges(&self, to: &Path, head: Option<&str>) -> GitResult<()> {
        let look = self.folder.join(LOOK);
        let made = || -> io::Result<()> {
            for name in std::iter::once("config").chain(LISTS.map(|(_, name, _)| name)) {
                copy_file(&look.join(name), &to.join(name))?;
            }
            self.copy_shared(to)?;
            self.copy_own(to)?;
            self.copy_refs(to)?;
            self.copy_hooks(to)?;
            std::fs::write(to.join(ALTERNATES), self.alternate_lines())?;
            let [seen, index] = [&look, to].map(|folder| folder.join(self.inside()).join("index"));
            if self.was_issued() && seen.is_file() {
                gone(std::fs::remove_file(&index))?;
                copy_with_time(&seen, &index)?;
            }
            self.set_head(to, head)
        };
        made().map_err(|source| GitError::File { path: to.to_owned(), source })
    }

    /// The user's lists, whatever their home is in a sandbox.
    fn lists(&self, listing: &Listing) -> Vec<(&'static str, &'static str, Vec<u8>)> {
        let read = |(key, name, standard): (&'static str, &'static str, &str)| {
            let path = self.list_path(listing, key, standard)?;
            Some((key, name, read_through_links(&path, DOCUMENT).ok()?))
        };
        LISTS.into_iter().filter_map(read).collect()
    }

    fn list_path(&self, listing: &Listing, key: &str, standard: &str) -> Option<PathBuf> {
        let path = match listing.value(key) {
            Some(b"") => return None,
            Some(written) => written_path(written).or_else(|| self.path_of(key))?,
            None => standard_file(standard)?,
        };
        Some(self.project.worktree.join(path))
    }

    /// The files beside the worktree that say which files git ignores, and how it reads the others.
    pub(crate) fn list_paths(&self, listing: &Listing) -> Vec<PathBuf> {
        let users = |(key, _, standard): (&str, &str, &str)| self.list_path(listing, key, standard);
        let own = ["info/exclude", "info/attributes"].map(|name| self.common.join(name));
        LISTS.into_iter().filter_map(users).chain(own).collect()
    }

    /// The path that a setting has, as git reads it.
    fn path_of(&self, key: &str) -> Option<PathBuf> {
        let call = ["config", "--type=path", "--get", key];
        Git::new(&self.project.worktree, &call).line().ok().map(PathBuf::from)
    }

    /// Settings of the directories besides the effective ones: the identity, and nothing in the background.
    fn own_settings(
        &self,
        listing: &Listing,
        lists: &[(&'static str, &'static str, Vec<u8>)],
    ) -> Vec<Listed> {
        let mut more = vec![Listed::new("gc.auto", "0"), Listed::new("maintenance.auto", "false")];
        // Without an identity, git itself says so in sessions.
        if let Some((name, email)) = listing.author(&self.project.worktree) {
            more.push(Listed::new("user.name", name));
            more.push(Listed::new("user.email", email));
        }
        for (key, name, _) in lists {
            more.push(Listed::new(key, self.common.join(name)));
        }
        more
    }

    /// What all worktrees share and both directories have.
    fn copy_shared(&self, to: &Path) -> io::Result<()> {
        for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
            let is_file = self.common.join(folder).is_file();
            let place = if is_file { to.join("refs") } else { to.join(folder) };
            private_folder(&place)?;
        }
        copy_file(&self.common.join("HEAD"), &to.join("HEAD"))?;
        copy_file(&self.common.join("shallow"), &to.join("shallow"))?;
        copy_tree(&self.common.join("info"), &to.join("info"), &|_| true)?;
        copy_tree(&self.common.join("reftable"), &to.join("reftable"), &|_| true)?;
        if to.join("reftable").is_dir() {
            copy_tree(&self.common.join("refs"), &to.join("refs"), &|_| true)?;
        }
        for modules in self.modules() {
            private_folder(&to.join(modules.strip_prefix(&self.common).unwrap_or(&modules)))?;
        }
        Ok(())
    }

    /// HEAD and index of this worktree, and for a linked one what leads from and to it.
    fn copy_own(&self, to: &Path) -> io::Result<()> {
        let to = to.join(self.inside());
        private_folder(&to)?;
        if self.is_linked() {
            for name in ["HEAD", "commondir", "gitdir", "ralph"] {
                copy_file(&self.own.join(name), &to.join(name))?;
            }
            for name in ["info", "reftable", "refs"] {
                copy_tree(&self.own.join(name), &to.join(name), &|_| true)?;
            }
        }
        let id = match listing(&self.project)
            .map_err(io::Error::other)?
            .value("extensions.objectformat")
        {
            Some(b"sha256") => 32,
            _ => 20,
        };
        // A repository in which nothing was ever added has no index.
        gone(copy_index(&self.own.join("index"), &to.join("index"), id))?;
        for entry in std::fs::read_dir(&self.own)?.flatten() {
            if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                copy_file(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Puts the branch that is checked out in a directory, or a HEAD that is on none, onto a commit.
    fn set_head(&self, common: &Path, commit: Option<&str>) -> io::Result<()> {
        let Some(commit) = commit.filter(|_| !common.join("reftable").is_dir()) else {
            return Ok(());
        };
        let own = common.join(self.inside());
        let head = read_own(&own.join("HEAD"), SMALL)?;
        let head = String::from_utf8_lossy(&head);
        let leads_on =
            |branch: &&str| !branch.split('/').any(|part| part.is_empty() || part == "..");
        let path = match head.trim_end().strip_prefix("ref: refs/heads/").filter(leads_on) {
            Some(branch) => common.join("refs/heads").join(branch),
            None => own.join("HEAD"),
        };
        path.parent().map_or(Ok(()), private_folder)?;
        std::fs::write(path, format!("{commit}\n"))
    }

    /// Refs, without ours and without what the user has put aside.
    fn copy_refs(&self, to: &Path) -> io::Result<()> {
        if to.join("reftable").is_dir() {
            return Ok(());
        }
        let hidden = |name: &Path| name == Path::new("ralph") || name == Path::new("stash");
        copy_tree(&self.common.join("refs"), &to.join("refs"), &|name| !hidden(name))?;
        let packed = match read_through_links(&self.common.join("packed-refs"), LARGE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        std::fs::write(to.join("packed-refs"), without_ours(&packed))
    }

    /// Hooks, without the examples, which git never runs.
    fn copy_hooks(&self, to: &Path) -> io::Result<()> {
        let is_example = |name: &Path| name.extension().is_some_and(|end| end == "sample");
        copy_tree(&self.common.join("hooks"), &to.join("hooks"), &|name| !is_example(name))
    }

    /// The folders that the real objects lead on to, absolute.
    pub(super) fn alternates(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut next = vec![self.common.join("objects")];
        while let Some(objects) = next.pop() {
            let text =
                read_through_links(&objects.join("info/alternates"), SMALL).unwrap_or_default();
            for line in text.split(|byte| *byte == b'\n') {
                if line.is_empty() || line.starts_with(b"#") {
                    continue;
                }
                let Ok(place) = objects.join(os_path(line)).canonicalize() else { continue };
                if !found.contains(&place) {
                    found.push(place.clone());
                    next.push(place);
                }
            }
        }
        found
    }

    /// Our own directory finds what a session committed, or does not.
    pub(super) fn set_seeing(&self, look: &Path, seeing: bool) -> GitResult<()> {
        let mut lines = self.alternate_lines();
        if seeing {
            lines.extend(format!("{PRIVATE}/objects\n").into_bytes());
        }
        let path = look.join(ALTERNATES);
        std::fs::write(&path, lines).map_err(|source| GitError::File { path, source })
    }

    fn alternate_lines(&self) -> Vec<u8> {
        let mut lines = format!("{OBJECTS}\n").into_bytes();
        for place in self.alternates() {
            lines.extend(place.as_os_str().as_bytes());
            lines.push(b'\n');
        }
        lines
    }
}

fn without_ours(packed: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut drops = false;
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        // A line that begins so belongs to the one above.
        if !line.starts_with(b"^") {
            let name = line.iter().position(|byte| *byte == b' ').map(|end| &line[end + 1..]);
            drops = name.is_some_and(|name| {
                name.starts_with(b"refs/ralph/") || name.trim_ascii_end() == b"refs/stash"
            });
        }
        if !drops {
            kept.extend(line);
        }
    }
    kept
}

/// Copies a file with its permissions, if it is there.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    gone(std::fs::copy(from, to).map(drop))
}

/// Copies files, folders and links below a folder, if it is there; at its top only those that are wanted.
fn copy_tree(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    let entries = match std::fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    private_folder(to)?;
    for entry in entries {
        let entry = entry?;
        if !wanted(Path::new(&entry.file_name())) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&from, &to, &|_| true)?;
        } else if kind.is_symlink() {
            let _ = std::fs::remove_file(&to);
            std::os::unix::fs::symlink(std::fs::read_link(&from)?, &to)?;
        } else if kind.is_file() && from.extension() != Some("lock".as_ref()) {
            copy_file(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_refs_lose_ours_with_what_belongs_to_them() {
        let packed = b"# pack-refs with: peeled\naa refs/heads/main\nbb refs/ralph/wip/x/1\n^cc\n\
                       dd refs/stash\nee refs/tags/v\n^ff\n";
        let kept = String::from_utf8(without_ours(packed)).unwrap();
        assert_eq!(kept, "# pack-refs with: peeled\naa refs/heads/main\nee refs/tags/v\n^ff\n");
    }
}
