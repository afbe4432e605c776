//! Sets up the worktree of a branch: the git identity, ignored files, and a copy of the plan that is never
//! committed.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::pinned::trust;
use crate::git::{Git, GitError, GitResult};
use crate::project::Project;
use crate::vcs::copy_inside;

/// Who commits in the worktrees, from `[git.worktree]`. What is empty is as everywhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
    pub signing_key: String,
    /// The key that pushes use; `~/` is the home.
    pub ssh_key: String,
    pub home: Option<PathBuf>,
}

impl Identity {
    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = Vec::new();
        let mut set = |key, value: &str| settings.push((key, value.to_owned()));
        if !self.name.is_empty() {
            set("user.name", &self.name);
        }
        if !self.email.is_empty() {
            set("user.email", &self.email);
        }
        if !self.signing_key.is_empty() {
            set("user.signingkey", &self.signing_key);
            set("commit.gpgsign", "true");
        }
        if !self.ssh_key.is_empty() {
            set("core.sshCommand", &ssh_command(&self.ssh_key, self.home.as_deref()));
        }
        settings
    }
}

/// Git hands it to a shell.
fn ssh_command(key: &str, home: Option<&Path>) -> String {
    let path = match (key.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest).display().to_string(),
        _ => key.to_owned(),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,".contains(c);
    let quoted = match path.chars().all(plain) && !path.starts_with('-') {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    format!("ssh -i {quoted} -o IdentitiesOnly=yes")
}

/// Sets the settings of a worktree and returns which they are. Settings that ralph set there before and that
/// are no longer wanted are removed.
pub(super) fn set_identity(
    worktree: &Path,
    identity: &Identity,
    before: &[String],
) -> GitResult<Vec<String>> {
    let list = Git::plumbing(worktree, &["config", "--worktree", "--list", "-z"]).run();
    // There is no file yet.
    let list = list.unwrap_or_default();
    let text = String::from_utf8_lossy(&list);
    let known: BTreeMap<&str, &str> =
        text.split('\0').filter_map(|entry| entry.split_once('\n')).collect();
    let wanted = identity.settings();
    for (key, value) in &wanted {
        // The user's settings say so, and git reads it here.
        trust(key, value);
        // Git lists keys in small letters.
        if known.get(key.to_ascii_lowercase().as_str()) != Some(&value.as_str()) {
            let set = ["config", "--worktree", "--replace-all", key, value];
            Git::plumbing(worktree, &set).run()?;
        }
    }
    let stale = before.iter().filter(|key| !wanted.iter().any(|(wanted, _)| wanted == key));
    for key in stale.filter(|key| known.contains_key(key.to_ascii_lowercase().as_str())) {
        Git::plumbing(worktree, &["config", "--worktree", "--unset-all", key]).run()?;
    }
    Ok(wanted.into_iter().map(|(key, _)| key.to_owned()).collect())
}

/// Copies a file of the project's worktree into another one, where no status and no commit sees it. An existing
/// file stays unless the worktree is `fresh`: it may contain changes that ralph has not read yet.
pub(super) fn carry(
    project: &Project,
    file: &Path,
    worktree: &Path,
    identity: &Identity,
    fresh: bool,
) -> GitResult<()> {
    let (from, to) = (project.worktree.join(file), worktree.join(file));
    if fresh || to.symlink_metadata().is_err() {
        copy_inside(&from, worktree, file)
            .map_err(|source| GitError::File { path: from, source })?;
    }
    let asked = Git::plumbing(worktree, &["ls-files", "-z", "--"]).arg(file);
    let is_tracked = !asked.env("GIT_LITERAL_PATHSPECS", "1").run()?.is_empty();
    if is_tracked {
        let call = Git::plumbing(worktree, &["update-index", "--skip-worktree", "--"]).arg(file);
        return call.run().map(drop);
    }
    ignore_in(project, worktree, file, identity.home.as_deref())
}

/// Has git ignore an untracked file in this worktree alone. Git has one list for all worktrees, and one
/// of the user's; so the worktree gets a list of its own that says what the user's says, and this.
fn ignore_in(
    project: &Project,
    worktree: &Path,
    file: &Path,
    home: Option<&Path>,
) -> GitResult<()> {
    const LIST: &str = "ralph-exclude";
    let own = Project::find(worktree)?.own_git_dir()?;
    let list = own.join(LIST);
    let asked = ["config", "--type=path", "--get", "core.excludesFile"];
    let named = Git::plumbing(&project.root, &asked).line().ok().map(PathBuf::from);
    let persons = named.or_else(|| {
        let standard = home?.join(".config/git/ignore");
        standard.exists().then_some(standard)
    });
    let mut text = persons.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.push(b'/');
    for byte in file.as_os_str().as_bytes() {
        if b"*?[\\ ".contains(byte) {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'\n');
    std::fs::write(&list, text).map_err(|source| GitError::File { path: list.clone(), source })?;
    let set = ["config", "--worktree", "core.excludesFile"];
    Git::plumbing(worktree, &set).arg(&list).run().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_one_word_for_the_shell_and_the_home_is_known() {
        let home = Some(Path::new("/home/ada"));
        for (key, command) in [
            ("/k/id", "ssh -i /k/id -o IdentitiesOnly=yes"),
            ("~/.ssh/id", "ssh -i /home/ada/.ssh/id -o IdentitiesOnly=yes"),
            ("/my keys/it's", "ssh -i '/my keys/it'\\''s' -o IdentitiesOnly=yes"),
            ("/k/$(touch x)", "ssh -i '/k/$(touch x)' -o IdentitiesOnly=yes"),
        ] {
            assert_eq!(ssh_command(key, home), command);
        }
    }

    #[test]
    fn only_what_is_set_is_set_and_signing_comes_with_the_key() {
        let keys = |identity: &Identity| {
            identity.settings().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert!(keys(&Identity::default()).is_empty());
        let signing = Identity { signing_key: "K".to_owned(), ..Identity::default() };
        assert_eq!(keys(&signing), ["user.signingkey", "commit.gpgsign"]);
    }
}
