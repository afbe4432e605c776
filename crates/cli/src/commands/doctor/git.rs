//! Git, the identity that commits get, and the repository.

use std::path::Path;

use ralph_engine::project::Project;
use ralph_engine::vcs::git::{GitError, git};

use super::check::Check;
use crate::error::CliError;

/// The oldest git that will do. Since 2.31 settings can be given by the environment, so that they
/// also reach the git that a hook or a worktree command starts; it also has everything else that is
/// used (`--no-write-fetch-head` came with 2.29). Supported systems ship 2.34 and later.
const FLOOR: (u32, u32) = (2, 31);

/// Whether there is a git that is new enough.
pub(super) fn present() -> Check {
    match git(Path::new("/"), &["--version"]) {
        Ok(text) => judge(&text),
        Err(error) => Check::fail("git", error.to_string())
            .remedy("install git, such as: apt-get install git"),
    }
}

fn judge(text: &str) -> Check {
    let version = text.trim().strip_prefix("git version ").unwrap_or(text).trim();
    let mut numbers = version.split(['.', ' ', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = numbers.next().zip(numbers.next());
    match found {
        Some(found) if found >= FLOOR => Check::ok("git", version),
        Some(_) => Check::fail("git", format!("{version} is too old"))
            .remedy(format!("install git {}.{} or later", FLOOR.0, FLOOR.1)),
        None => Check::warn("git", format!("it does not tell its version: {version}")),
    }
}

/// Whose name commits will carry.
pub(super) fn identity(folder: &Path) -> Check {
    const TELL: &str = "git config --global user.name \"Your Name\" && git config --global user.email you@example.org";
    // By itself git makes up a name and an address where nobody has set any.
    let set = git(folder, &["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]);
    match (set, git(folder, &["var", "GIT_COMMITTER_IDENT"])) {
        (Ok(ident), _) => Check::ok("identity", without_time(&ident)),
        (Err(_), Ok(ident)) => {
            let says = format!("nobody has set one; git makes up {}", without_time(&ident));
            Check::warn("identity", says).remedy(TELL)
        }
        (Err(_), Err(GitError::NotStarted(_))) => Check::fail("identity", "git cannot be asked"),
        (Err(_), Err(_)) => {
            Check::fail("identity", "nobody has set a name and an address for commits").remedy(TELL)
        }
    }
}

/// Git's answer ends with the time.
fn without_time(ident: &str) -> &str {
    ident.rfind('>').map_or(ident, |end| &ident[..=end])
}

/// Whether the repository can be worked in.
pub(super) fn repository(project: &Project) -> Check {
    if let Err(error) = project.check_ours() {
        return Check::error("repository", &CliError::from(error));
    }
    for folder in [&project.worktree, &project.git_dir] {
        if let Err(error) = tempfile::Builder::new().prefix(".ralph-doctor-").tempfile_in(folder) {
            let says = format!("{} cannot be written: {error}", folder.display());
            let remedy = format!("see who owns it: ls -ld {}", crate::error::quoted(folder));
            return Check::fail("repository", says).remedy(remedy);
        }
    }
    let place = project.worktree.display();
    let branch = git(&project.worktree, &["symbolic-ref", "--quiet", "--short", "HEAD"]);
    match (git(&project.worktree, &["rev-parse", "--quiet", "--verify", "HEAD"]), branch) {
        (Err(_), _) => Check::warn("repository", format!("{place} has no commit to start from"))
            .remedy("git add --all && git commit -m \"Start\""),
        (Ok(_), Ok(branch)) => Check::ok("repository", format!("{place} on {branch}")),
        (Ok(_), Err(_)) => Check::warn("repository", format!("{place} is on no branch"))
            .remedy("commits of the loop want a branch: git switch -c NAME"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn the_version_of_git_is_judged() {
        for (text, state) in [
            ("git version 2.47.3", State::Ok),
            ("git version 2.31.0", State::Ok),
            ("git version 2.39.3 (Apple Git-146)", State::Ok),
            ("git version 3.0-rc1", State::Ok),
            ("git version 2.30.9", State::Fail),
            ("git version 1.99.1", State::Fail),
            ("gut", State::Warn),
            ("", State::Warn),
        ] {
            assert_eq!(judge(text).state, state, "{text}");
        }
    }
}
