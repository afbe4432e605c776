//! Pushes a branch with the user's own credentials: never by force, never to a protected branch, and never with a
//! prompt on the terminal.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::is_protected;
use ralph_core::time::duration;
use tokio::sync::watch;

use super::pre_push::{PrePush, RunHook, Update};
use crate::forge::shortened;
use crate::git::pinned::check_leads;
use crate::git::{Git, GitError, GitResult};
use crate::process::{Captured, Stop, capture};

/// How long a git call without a network may take.
const MOMENT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy)]
pub struct Push<'a> {
    pub folder: &'a Path,
    /// The environment of git: keys and helpers of the user are found by it.
    pub environment: &'a [(OsString, OsString)],
    pub remote: &'a str,
    /// The branch, without `refs/heads/`.
    pub branch: &'a str,
    pub protected: &'a [String],
    /// How long it may take, and the `pre-push` hook before it; see [`Push::PATIENCE`].
    pub patience: Duration,
    /// How a `pre-push` hook is run that a session could have written.
    pub sandboxed: &'a RunHook<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    New,
    Moved,
    UpToDate,
}

/// Why a branch was not pushed. The remote is as it was.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error(
        "`{branch}` is a protected branch, and ralph does not push it; see git.protected_branches"
    )]
    Protected { branch: String },
    #[error("there is no remote `{remote}`: `git remote add {remote} <url>`, or set git.remote")]
    NoRemote { remote: String },
    #[error("there is no branch `{branch}` to push")]
    NoBranch { branch: String },
    #[error(
        "`{branch}` on {remote} has commits that you do not have, and ralph never force-pushes: \
         `git fetch {remote}`, then merge or rebase"
    )]
    NotFastForward { branch: String, remote: String },
    /// The remote rejected it: a hook, or a rule for the branch.
    #[error("{remote} refused `{branch}`: {reason}")]
    Declined { branch: String, remote: String, reason: String },
    #[error("the pre-push hook rejected `{branch}`: {message}")]
    Hook { branch: String, message: String },
    #[error("ralph cannot push to {remote}: {message}; try `git push {remote} {branch}` yourself")]
    Unreachable { branch: String, remote: String, message: String },
    #[error("pushing to {remote} timed out after {}", duration(patience.as_millis() as u64))]
    TimedOut { remote: String, patience: Duration },
    #[error("pushing to {remote} was interrupted")]
    Interrupted { remote: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Push<'_> {
    /// How long a push of any size should take at most.
    pub const PATIENCE: Duration = Duration::from_secs(600);

    /// Pushes. Blocks until git has ended; not for threads of an async runtime. Also returns the page for a new
    /// pull request that the server printed.
    pub fn run(&self, stop: watch::Receiver<Stop>) -> Result<(Pushed, Option<String>), PushError> {
        let (remote, branch) = (self.remote.to_owned(), self.branch.to_owned());
        if is_protected(self.branch, self.protected) {
            return Err(PushError::Protected { branch });
        }
        check_leads(self.folder, self.remote)?;
        let full = format!("refs/heads/{branch}");
        let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options", &full];
        let Some(local) = self.asked(&verify, &stop)? else {
            return Err(PushError::NoBranch { branch });
        };
        let asked = ["remote", "get-url", "--push", "--", self.remote];
        let Some(url) = self.asked(&asked, &stop)? else {
            return Err(PushError::NoRemote { remote });
        };
        self.ask_hook(&full, &line(&local), &line(&url), &stop)?;
        let both = format!("{full}:{full}");
        let mut arguments = vec!["push", "--porcelain", "--no-follow-tags"];
        // Hooks of a submodule are the worktree's too.
        arguments.extend(["--recurse-submodules=no", "--", self.remote, &both]);
        let done = self.call(&arguments, self.patience, &stop)?;
        match &done.end {
            ProcessEnd::Exited { code } => {
                let pushed = self.meaning(*code, &done, &full)?;
                Ok((pushed, printed_link(&done.stderr)))
            }
            other => Err(self.cut_short(other)),
        }
    }

    /// Asks the `pre-push` hook, if there is one and something to push.
    fn ask_hook(
        &self,
        branch: &str,
        local: &str,
        url: &str,
        stop: &watch::Receiver<Stop>,
    ) -> Result<(), PushError> {
        // Not as plumbing: that looks for hooks where there are none.
        let place = Git::new(self.folder, &["rev-parse", "--git-path", "hooks"]);
        let place = capture(&place.spec(self.environment)?, MOMENT, stop.clone());
        if let ProcessEnd::Exited { code: 1.. } = place.end {
            let (verb, message) = ("rev-parse".to_owned(), push_error(&place.stderr));
            return Err(GitError::Failed { verb, message }.into());
        }
        self.check(&place)?;
        let place = place.stdout.strip_suffix(b"\n").unwrap_or(&place.stdout);
        let place = Path::new(OsStr::from_bytes(place));
        let Some(hook) = PrePush::find(self.folder, place) else { return Ok(()) };
        let there = self.call(&["ls-remote", "--refs", "--", url, branch], self.patience, stop)?;
        self.check(&there)?;
        let there = String::from_utf8_lossy(&there.stdout).into_owned();
        let there = there.lines().filter_map(|line| line.split_once('\t'));
        let there = there.filter(|(_, name)| *name == branch).map(|(id, _)| id).next();
        if there == Some(local) {
            return Ok(());
        }
        let update = Update { remote: self.remote, url, branch, local, there };
        let spec = hook.spec(&update, Git::new(self.folder, &[]).spec(self.environment)?);
        let (end, printed) = match hook.is_users {
            true => {
                let done = capture(&spec, self.patience, stop.clone());
                let printed = String::from_utf8_lossy(&done.stdout).into_owned();
                (done.end, printed + &done.stderr)
            }
            false => (self.sandboxed)(spec, self.patience, stop.clone()),
        };
        let (branch, text) = (self.branch.to_owned(), push_error(&printed));
        match end {
            ProcessEnd::Exited { code: 0 } => Ok(()),
            ProcessEnd::Exited { .. } | ProcessEnd::Signalled { .. } => {
                Err(PushError::Hook { branch, message: text })
            }
            ProcessEnd::NotStarted { error } => {
                Err(PushError::Hook { branch, message: short(&error) })
            }
            other => Err(self.cut_short(&other)),
        }
    }

    /// Whether a call that asks a remote ended well.
    pub(super) fn check(&self, done: &Captured) -> Result<(), PushError> {
        match &done.end {
            ProcessEnd::Exited { code: 0 } => Ok(()),
            ProcessEnd::Exited { .. } => Err(self.unreachable(done)),
            other => Err(self.cut_short(other)),
        }
    }

    fn unreachable(&self, done: &Captured) -> PushError {
        let (remote, branch) = (self.remote.to_owned(), self.branch.to_owned());
        PushError::Unreachable { remote, branch, message: push_error(&done.stderr) }
    }

    /// The error for a program that did not end by itself.
    fn cut_short(&self, end: &ProcessEnd) -> PushError {
        let remote = self.remote.to_owned();
        match end {
            ProcessEnd::Stopped => PushError::Interrupted { remote },
            ProcessEnd::TimedOut { .. } => PushError::TimedOut { remote, patience: self.patience },
            other => not_started(other).into(),
        }
    }

    /// What git printed; `None` where it said no.
    fn asked(
        &self,
        arguments: &[&str],
        stop: &watch::Receiver<Stop>,
    ) -> Result<Option<Vec<u8>>, PushError> {
        let done = self.call(arguments, MOMENT, stop)?;
        match &done.end {
            ProcessEnd::Exited { code: 0 } => Ok(Some(done.stdout)),
            ProcessEnd::Exited { .. } => Ok(None),
            ProcessEnd::Stopped => Err(PushError::Interrupted { remote: self.remote.to_owned() }),
            other => Err(not_started(other).into()),
        }
    }

    pub(super) fn call(
        &self,
        arguments: &[&str],
        limit: Duration,
        stop: &watch::Receiver<Stop>,
    ) -> GitResult<Captured> {
        // Ssh asks by this program where it would ask on the terminal, and has no for an answer.
        let git = Git::plumbing(self.folder, arguments)
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("SSH_ASKPASS", "false");
        Ok(capture(&git.spec(self.environment)?, limit, stop.clone()))
    }

    /// Git's machine-readable lines give the outcome of a branch. Only where there is none, because git
    /// did not get that far, its text for users is reported.
    fn meaning(&self, code: i32, done: &Captured, full: &str) -> Result<Pushed, PushError> {
        let (remote, branch) = (self.remote.to_owned(), self.branch.to_owned());
        let printed = String::from_utf8_lossy(&done.stdout);
        let Some((flag, summary)) = printed.lines().find_map(|line| about(line, full)) else {
            return Err(self.unreachable(done));
        };
        match flag {
            ' ' if code == 0 => Ok(Pushed::Moved),
            '*' if code == 0 => Ok(Pushed::New),
            '=' if code == 0 => Ok(Pushed::UpToDate),
            '!' if summary.starts_with("[rejected]") => {
                Err(PushError::NotFastForward { branch, remote })
            }
            _ => {
                let reason = declined(summary, &done.stderr);
                Err(PushError::Declined { branch, remote, reason })
            }
        }
    }
}

fn line(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).trim_end_matches('\n').to_owned()
}

/// The flag and the summary of a line `<flag>\t<from>:<to>\t<summary>` about this ref.
fn about<'a>(line: &'a str, full: &str) -> Option<(char, &'a str)> {
    let mut fields = line.splitn(3, '\t');
    let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
    (refs.split_once(':')?.1 == full).then_some((flag.chars().next()?, summary))
}

/// Why the remote refused: what git sums it up as, and the words of the hook.
fn declined(summary: &str, stderr: &str) -> String {
    let reason = summary.strip_prefix("[remote rejected]").unwrap_or(summary).trim();
    let reason = reason.strip_prefix('(').and_then(|r| r.strip_suffix(')')).unwrap_or(reason);
    let words: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    match words.is_empty() {
        true => short(reason),
        false => short(&format!("{reason}: {}", words.join(" "))),
    }
}

/// The last address that the server printed: GitLab, Gitea, Bitbucket and others say where to open a pull request.
fn printed_link(stderr: &str) -> Option<String> {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("remote:"));
    let mut words = lines.flat_map(str::split_whitespace);
    let is_link = |word: &&str| {
        let rest = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('@'))
            && word.len() <= 500
            && word.chars().all(|c| c.is_ascii_graphic())
    };
    words.rfind(is_link).map(str::to_owned)
}

/// What git said that matters: its last complaint and what came before it, without its advice.
fn push_error(stderr: &str) -> String {
    let advice = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("hint:")
            && !line.starts_with("error: failed to push some refs")
            // ralph disables prompts; the next line says what was asked.
            && !line.starts_with("error: unable to read askpass response")
            && !line.starts_with("Please make sure you have the correct access rights")
            && *line != "and the repository exists."
    };
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(advice).collect();
    match lines.is_empty() {
        true => "git gave no reason".to_owned(),
        false => short(&lines.join("; ")),
    }
}

fn short(text: &str) -> String {
    shortened(text, 500)
}

fn not_started(end: &ProcessEnd) -> GitError {
    let message = match end {
        ProcessEnd::NotStarted { error } => {
            return GitError::NotStarted(std::io::Error::other(error.clone()));
        }
        ProcessEnd::Signalled { signal } => format!("it was killed by signal {signal}"),
        _ => "it timed out".to_owned(),
    };
    GitError::Failed { verb: "push".to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_about_the_branch_is_found_and_no_other() {
        let full = "refs/heads/x";
        assert_eq!(
            about("*\trefs/heads/x:refs/heads/x\t[new branch]", full),
            Some(('*', "[new branch]"))
        );
        assert_eq!(about(" \trefs/heads/x:refs/heads/x\t1..2", full), Some((' ', "1..2")));
        assert_eq!(about("*\trefs/heads/xy:refs/heads/xy\t[new branch]", full), None);
        assert_eq!(about("To https://example.org/x", full), None);
        assert_eq!(about("Done", full), None);
    }

    #[test]
    fn the_page_that_the_server_prints_is_found() {
        let gitlab = "remote: \nremote: To create a merge request for x, visit:        \n\
                      remote:   https://gl.acme.org/a/b/-/merge_requests/new?x%5By%5D=x        \nremote: \n";
        let page = "https://gl.acme.org/a/b/-/merge_requests/new?x%5By%5D=x";
        assert_eq!(printed_link(gitlab).as_deref(), Some(page));
        let long = format!("remote: https://h.org/{}", "x".repeat(500));
        for odd in [
            "To https://h.org/x",
            "remote: https://a:b@h.org/x",
            "remote: https://h\u{1b}[2J",
            &long,
        ] {
            assert_eq!(printed_link(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_a_remote_says_is_reported_in_one_line() {
        let stderr =
            "remote: \nremote: No tabs, please.\u{1b}[2J        \nerror: failed to push some\n";
        let reason = declined("[remote rejected] (pre-receive hook declined)", stderr);
        assert_eq!(reason, "pre-receive hook declined: No tabs, please");
        assert_eq!(declined("[remote failure]", ""), "[remote failure]");
        let stderr = "fatal: unable to access 'https://ada:secret@h.org/x/': 403\nhint: x\n";
        assert_eq!(push_error(stderr), "fatal: unable to access 'https://h.org/x/': 403");
        assert_eq!(push_error(""), "git gave no reason");
    }
}
