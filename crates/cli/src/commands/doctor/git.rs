//! Checks git, the author of commits, signing and the repository.

use std::path::Path;
use std::time::Duration;

use ralph_engine::git::{self, GitError, Signing, git};
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::{Config, key};
use crate::environment::Environment;
use crate::error::CliError;

/// How long a key may take to sign.
const SIGNING: Duration = Duration::from_secs(20);

pub(super) fn present() -> Check {
    match git::version() {
        Ok((output, Some(found))) if found >= git::FLOOR => Check::ok("git", output),
        Ok((output, Some(_))) => Check::fail("git", format!("{output} is too old"))
            .remedy(format!("install git {} or later", git::FLOOR)),
        Ok((output, None)) => Check::warn("git", format!("unknown version: {output}")),
        Err(error) => Check::fail("git", error.to_string())
            .remedy("install git, for example: apt-get install git"),
    }
}

pub(super) fn identity(folder: &Path) -> Check {
    const TELL: &str = "git config --global user.name \"Your Name\" && git config --global user.email you@example.org";
    // Without settings git makes up a name and an email.
    let set = git(folder, &["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]);
    match (set, git(folder, &["var", "GIT_COMMITTER_IDENT"])) {
        (Ok(ident), _) => Check::ok("identity", without_time(&ident)),
        (Err(_), Ok(ident)) => {
            let says = format!("not set; git makes up {}", without_time(&ident));
            Check::warn("identity", says).remedy(TELL)
        }
        (Err(_), Err(GitError::NotStarted(_))) => {
            Check::fail("identity", "git could not be started")
        }
        (Err(_), Err(_)) => {
            Check::fail("identity", "no name and email are set for commits").remedy(TELL)
        }
    }
}

/// Whether commits can be signed, if the settings ask for it.
pub(super) fn signed(folder: &Path, config: &Config, environment: &Environment) -> Option<Check> {
    const UNATTENDED: &str =
        "make sure that git signs without asking: git commit-tree -S HEAD^{tree} -m try";
    let key = config.get(key::GIT_WORKTREE_SIGNING_KEY);
    let tried = git::signing(folder, key, &environment.all, SIGNING);
    Some(match tried {
        Ok(Signing::Off) => return None,
        Ok(Signing::Works) => Check::ok("signing", "a commit can be signed without asking"),
        Ok(Signing::Broken(why)) => {
            let which = match key {
                "" => "commit.gpgsign is on".to_owned(),
                key => format!("git.worktree.signing_key is {key}"),
            };
            Check::fail("signing", format!("{which}, but signing does not work: {why}"))
                .remedy(UNATTENDED)
                .remedy("or turn signing off here: git config commit.gpgsign false")
        }
        Err(error) => Check::error("signing", &CliError::from(error)),
    })
}

/// Git's answer ends with the time.
fn without_time(ident: &str) -> &str {
    ident.rfind('>').map_or(ident, |end| &ident[..=end])
}

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
        (Err(_), _) => Check::warn("repository", format!("{place} has no commits yet"))
            .remedy("git add --all && git commit -m \"Start\""),
        (Ok(_), Ok(branch)) => Check::ok("repository", format!("{place} on {branch}")),
        (Ok(_), Err(_)) => Check::warn("repository", format!("{place} is not on a branch"))
            .remedy("create a branch for the loop's commits: git switch -c NAME"),
    }
}
