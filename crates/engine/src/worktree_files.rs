//! Reads files of a worktree: prompts, settings, `AGENTS.md`, skills and specs. A session could have written them, so
//! [`untrusted`](crate::untrusted) opens them; this module asks git whether a link on the way is committed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::git::Git;
use crate::project::Project;
use crate::untrusted::{
    below, bytes, if_there, open_file, read_through_links, refuse_private, within,
};

/// Reads a file of the worktree `root`. `path` is relative to it or below it.
pub fn read(root: &Path, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    refuse_private(&within(root, path)?)?;
    let file = open(root, path)?;
    bytes(file, most)
}

/// The first `most` bytes of a file of the worktree `root`, however long it is.
pub fn read_start(root: &Path, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    refuse_private(&within(root, path)?)?;
    let mut start = Vec::new();
    open(root, path)?.take(most).read_to_end(&mut start)?;
    Ok(start)
}

/// The same as text; `None` if there is no such file.
pub fn read_text(root: &Path, path: &Path, most: u64) -> io::Result<Option<String>> {
    let Some(bytes) = if_there(read(root, path, most))? else { return Ok(None) };
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes).map(Some).map_err(not_text)
}

/// Reads a file that the user named, on the command line or in the user's own settings. In the worktree
/// `root` its links are those of a session; elsewhere it is the user's choice, and links are followed.
pub fn read_named(root: Option<&Path>, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let path = &std::path::absolute(path)?;
    if let Some(root) = root
        && below(root, path).is_some()
    {
        return bytes(open(root, path)?, most);
    }
    read_through_links(path, most)
}

/// Opens a file of a worktree. It follows a link only if it is committed as it is.
fn open(root: &Path, path: &Path) -> io::Result<File> {
    open_file(root, path, |link, target| is_committed(root, link, target))
}

/// Whether the commit that the run began at has this link, with this target; outside of a run, the last commit.
fn is_committed(root: &Path, link: &Path, target: &Path) -> bool {
    let base = base_of(root).unwrap_or_else(|| "HEAD".to_owned());
    let asked = Git::plumbing(root, &["ls-tree", "-z", "--full-tree", &base, "--"]).arg(link);
    let Ok(listed) = asked.env("GIT_LITERAL_PATHSPECS", "1").run() else { return false };
    let about = listed.split(|byte| *byte == b'\t').next().unwrap_or_default();
    let mut words = about.split(|byte| *byte == b' ');
    let (Some(b"120000"), Some(b"blob"), Some(id)) = (words.next(), words.next(), words.next())
    else {
        return false;
    };
    let Ok(id) = std::str::from_utf8(id) else { return false };
    let output = Git::plumbing(root, &["cat-file", "blob", id]).run();
    output.is_ok_and(|output| output == target.as_os_str().as_bytes())
}

/// The commits that runs of this process began at, by the git directory.
static BASES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// A run begins at this commit: links that are committed later could be a session's.
pub(crate) fn settle_base(project: &Project, commit: &str) {
    let mut bases = BASES.lock().unwrap_or_else(PoisonError::into_inner);
    bases.entry(project.git_dir.clone()).or_insert_with(|| commit.to_owned());
}

fn base_of(root: &Path) -> Option<String> {
    let project = Project::find(root).ok()?;
    BASES.lock().unwrap_or_else(PoisonError::into_inner).get(&project.git_dir).cloned()
}

#[cfg(test)]
mod tests;
