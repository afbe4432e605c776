//! Finds work in submodules where no sandbox is at hand to ask git in them. A session may have written their settings,
//! so git works with the settings of the main repository, and only borrows their objects and their index.

use std::path::{Path, PathBuf};

use super::entries::os_path;
use super::folders::named_admin;
use super::spelling::spelled;
use super::{Git, GitResult};
use crate::project::Project;
use crate::untrusted::{SMALL, read_own};

/// The submodules of a worktree with uncommitted files or other commits than its index names, where no sandbox is at
/// hand to ask git in them.
pub(crate) fn with_work(project: &Project, index: &Path) -> GitResult<Vec<String>> {
    let mut found = Vec::new();
    for Submodule { name, commit, place, own } in listed(project, &project.worktree, index)? {
        if !own.starts_with(&project.git_dir) {
            continue;
        }
        let is_moved = head_of(&own).is_some_and(|head| head != commit);
        if is_moved || is_dirty_by_index(project, &place, &own)? {
            found.push(name);
        }
    }
    Ok(found)
}

/// A submodule that is checked out.
pub(crate) struct Submodule {
    /// Its path in the worktree, as text.
    pub(crate) name: String,
    /// The commit that the index has of it.
    commit: String,
    pub(crate) place: PathBuf,
    /// Its git directory.
    pub(crate) own: PathBuf,
}

/// The submodules of a worktree by its index.
pub(crate) fn listed(
    project: &Project,
    worktree: &Path,
    index: &Path,
) -> GitResult<Vec<Submodule>> {
    let list = ["ls-files", "--stage", "-z"];
    let listed = Git::plumbing(&project.worktree, &list).env("GIT_INDEX_FILE", index).run()?;
    let submodule = |line: &[u8]| {
        // Mode, commit and stage, then the path.
        let rest = line.strip_prefix(b"160000 ")?;
        let end = rest.iter().position(|byte| *byte == b'\t')?;
        let (about, path) = (String::from_utf8_lossy(&rest[..end]), &rest[end + 1..]);
        let place = worktree.join(os_path(path));
        let (commit, own) = (about.split(' ').next()?.to_owned(), named_admin(&place)?);
        Some(Submodule { name: spelled(path), commit, place, own })
    };
    Ok(listed.split(|byte| *byte == 0).filter_map(submodule).collect())
}

/// Whether a submodule has uncommitted files. Git works with the settings of the main repository.
pub(crate) fn is_dirty_by_index(project: &Project, place: &Path, own: &Path) -> GitResult<bool> {
    let git = |arguments: &[&'static str]| {
        Git::plumbing(&project.worktree, arguments)
            .env("GIT_DIR", &project.git_dir)
            .env("GIT_WORK_TREE", place)
            .env("GIT_INDEX_FILE", own.join("index"))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", own.join("objects"))
    };
    let differs = git(&["diff-files", "--name-only", "--ignore-submodules=all"]).run()?;
    let others = git(&["ls-files", "--others", "--exclude-standard"]).run()?;
    let staged = git(&["diff-index", "--cached", "--name-only", "--ignore-submodules=all"]);
    let staged = match head_of(own) {
        Some(head) => staged.arg(&head).arg("--").run()?,
        None => vec![],
    };
    Ok([differs, others, staged].iter().any(|printed| !printed.is_empty()))
}

/// The commit that is checked out in a submodule; `None` where its branch is packed away.
fn head_of(own: &Path) -> Option<String> {
    let head = read_own(&own.join("HEAD"), SMALL).unwrap_or_default();
    let head = match head.trim_ascii().strip_prefix(b"ref: ") {
        Some(name) => read_own(&own.join(os_path(name)), SMALL).unwrap_or_default(),
        None => head,
    };
    let head = String::from_utf8_lossy(head.trim_ascii()).into_owned();
    (!head.is_empty() && head.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(head)
}
