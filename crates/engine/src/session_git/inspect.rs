//! Reads the files of a worktree and the commits of a session from inside a sandbox: the only place where git reads
//! what a session wrote. The caller is outside and gets object ids.
//!
//! It reads the session's git directory directly as far as possible, because its settings are not ralph's: it asks
//! git only where refs are not files. It reads the worktree files through ralph's own git directory, which no
//! session sees.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use ralph_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::git::position::{Position, ask, object_id, read_position};
use crate::git::scratch::{Scratch, Survey, copy_with_time};
use crate::git::{Git, GitError, GitResult, settle_inside};

/// The name of the command that makes a look.
pub const COMMAND: &str = "__look";
/// The longest file with the name of a commit in it.
const NAME_FILE: u64 = 64 << 10;
/// The most other refs of a session that are followed.
const MOST_OTHERS: usize = 256;
/// The most files of a session's directory that are read.
const MOST_FILES: u32 = 2_000_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InspectionRequest {
    pub worktree: PathBuf,
    /// Our index of it, which this changes.
    pub index: PathBuf,
    pub head: Option<String>,
    pub head_tree: String,
    /// The session's git directory, and that of its worktree alone; `None` when no session had one, or when
    /// nothing in it can be trusted.
    #[serde(rename = "private")]
    pub git_dir: Option<(PathBuf, PathBuf)>,
    /// A file with what the user's refs lead to, a line each.
    pub known: PathBuf,
    /// How the pack with what was found begins.
    pub pack: PathBuf,
    /// Whether some files of the tree are not in the worktree: only the session's index knows which.
    pub sparse: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Inspection {
    /// The session's base commit, overlaid by its files.
    pub tree: String,
    pub head: Option<String>,
    pub branch: Option<String>,
    /// What else the session's refs lead to and the user's do not.
    pub others: Vec<String>,
    /// What the user's repository does not have of it.
    pub packed: Option<Packed>,
    pub at: Timestamp,
    /// What could not be taken in, in sentences.
    pub left_out: Vec<String>,
    /// Why nothing that the session committed was looked at.
    pub refused: Option<String>,
}

/// What was found, as a pack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Packed {
    /// A commit of the tree on top of the session's commit and of the others: it leads to all that was found.
    pub commit: String,
    /// How the file ends.
    pub name: String,
}

/// Looks, in a sandbox: what the settings of the worktree name may run.
pub fn inspect_inside(asked: &InspectionRequest) -> GitResult<Inspection> {
    settle_inside();
    inspect(asked)
}

pub fn inspect(asked: &InspectionRequest) -> GitResult<Inspection> {
    let began = clock::now();
    let user = || Position { branch: None, head: asked.head.clone() };
    let (at, refused) = match &asked.git_dir {
        None => (user(), None),
        Some((common, own)) => match committed(asked, common, own) {
            Ok(at) => (at, None),
            Err(why) => (user(), Some(why)),
        },
    };
    if asked.sparse
        && refused.is_none()
        && let Some((_, own)) = &asked.git_dir
    {
        let _ = std::fs::remove_file(&asked.index);
        copy_with_time(&own.join("index"), &asked.index)
            .map_err(|source| GitError::File { path: own.join("index"), source })?;
    }
    let scratch = Scratch::at(&asked.worktree, &asked.index);
    // The index may be that of another commit than the one that is checked out in ralph's own directory.
    let survey = match at.head == asked.head {
        true => scratch.survey(at.head.as_deref())?,
        false => Survey::UNKNOWN,
    };
    let (tree, left_out) = match survey.changed {
        false => (asked.head_tree.clone(), vec![]),
        true => {
            let left_out = scratch.overlay(at.head.as_deref(), survey)?;
            (scratch.write_tree()?, left_out)
        }
    };
    let others = match (&asked.git_dir, &refused) {
        (Some((common, _)), None) => others_in(asked, common, at.head.as_ref())?,
        _ => vec![],
    };
    let is_new = tree != asked.head_tree || at.head != asked.head || !others.is_empty();
    let packed = match is_new {
        true => Some(pack(asked, &tree, at.head.iter().chain(&others))?),
        false => None,
    };
    let Position { branch, head } = at;
    Ok(Inspection { tree, head, branch, others, packed, left_out, refused, at: began })
}

/// Packs what the user's refs do not lead to of a tree and of commits.
fn pack<'a>(
    asked: &InspectionRequest,
    tree: &str,
    commits: impl Iterator<Item = &'a String>,
) -> GitResult<Packed> {
    let git = |arguments: &[&'static str]| Git::plumbing(&asked.worktree, arguments);
    let mut call = git(&["commit-tree"]).arg(tree);
    for id in commits {
        call = call.arg("-p").arg(id);
    }
    // The same is found under the same name.
    let when = "1700000000 +0000";
    let call = call.env("GIT_AUTHOR_DATE", when).env("GIT_COMMITTER_DATE", when);
    let commit = call.input(b"ralph: taken\n").as_ralph().line()?;
    let known = std::fs::read_to_string(&asked.known).unwrap_or_default();
    let without = |known: &str| {
        let wanted = format!("{commit}\n--not\n{known}\n");
        let call = git(&["pack-objects", "--revs", "--quiet"]).set(&["core.fsync=none"]);
        call.arg(&asked.pack).input(wanted.as_bytes()).line()
    };
    // A ref may lead to an object that is missing.
    let head = asked.head.clone().unwrap_or_default();
    let name = without(known.trim_end()).or_else(|_| without(&head))?;
    Ok(Packed { commit, name })
}

/// Commits that refs of the session lead to beside its HEAD, as far as refs are files.
fn others_in(
    asked: &InspectionRequest,
    common: &Path,
    head: Option<&String>,
) -> GitResult<Vec<String>> {
    let known = std::fs::read_to_string(&asked.known).unwrap_or_default();
    let known: HashSet<&str> = known.lines().collect();
    let mut found = BTreeSet::new();
    let mut folders = vec![common.join("refs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != "ralph" => {
                    folders.push(entry.path());
                }
                Ok(kind) if kind.is_file() && check_short(&entry.path()).is_ok() => {
                    found.extend(std::fs::read_to_string(entry.path()));
                }
                _ => {}
            }
        }
    }
    let packed = std::fs::read(common.join("packed-refs")).unwrap_or_default();
    let packed = String::from_utf8_lossy(&packed).into_owned();
    let packed = packed.lines().filter_map(|line| line.split_once(' '));
    found.extend(
        packed.filter(|(_, name)| !name.starts_with("refs/ralph/")).map(|(id, _)| id.to_owned()),
    );
    let is_new = |id: &&str| {
        object_id(id).is_some() && !known.contains(id) && head.map(String::as_str) != Some(id)
    };
    let new: BTreeSet<&str> = found.iter().map(|id| id.trim()).filter(is_new).collect();
    let wanted: String = new.iter().take(MOST_OTHERS).map(|id| format!("{id}\n")).collect();
    if wanted.is_empty() {
        return Ok(vec![]);
    }
    let call = Git::plumbing(&asked.worktree, &["cat-file", "--batch-check"]);
    let reported = call.input(wanted.as_bytes()).lines()?;
    let commits = reported.iter().filter_map(|line| line.split_once(" commit "));
    Ok(commits.map(|(id, _)| id.to_owned()).collect())
}

/// The HEAD of a session in its own directory, or why it is not trusted.
fn committed(asked: &InspectionRequest, common: &Path, own: &Path) -> Result<Position, String> {
    let mut left = MOST_FILES;
    for (folder, name) in [
        (common, "HEAD"),
        (common, "packed-refs"),
        (common, "refs"),
        (common, "reftable"),
        (common, "objects"),
        (common, "config"),
        (own, "HEAD"),
        (own, "index"),
        (own, "commondir"),
        (own, "reftable"),
    ] {
        check_plain(&folder.join(name), &mut left)?;
    }
    check_short(&own.join("HEAD"))?;
    let at = match read_position(own, common).map_err(|error| error.to_string())? {
        Some(at) => at,
        None => ask(&asked.worktree, own).map_err(|error| error.to_string())?,
    };
    if let Some(head) = at.head.as_ref().filter(|head| asked.head.as_ref() != Some(*head)) {
        let kind = Git::plumbing(&asked.worktree, &["cat-file", "-t", head]).line();
        match kind {
            Ok(kind) if kind == "commit" => {}
            Ok(kind) => return Err(format!("its HEAD is a {kind}, not a commit")),
            Err(error) => return Err(format!("its HEAD is invalid: {error}")),
        }
    }
    Ok(at)
}

/// Nothing that git reads there leads elsewhere or never ends.
fn check_plain(path: &Path, left: &mut u32) -> Result<(), String> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    *left = left.checked_sub(1).ok_or("it has too many files")?;
    if found.is_dir() {
        let entries = path.read_dir().map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in entries.flatten() {
            check_plain(&entry.path(), left)?;
        }
        return Ok(());
    }
    match found.is_file() {
        true => Ok(()),
        false => Err(format!("its {} is neither a file nor a folder", path.display())),
    }
}

fn check_short(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Ok(found) if found.len() > NAME_FILE => Err(format!("its {} is too long", path.display())),
        _ => Ok(()),
    }
}
