//! Locks a branch while ralph judges work for it: with git's own lock, held by an open git transaction. Git refuses
//! every other update of that branch meanwhile, and nothing else in the repository.
//!
//! Git ends the transaction and removes the lock when its input ends, so a killed ralph leaves no lock behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use super::in_place::GitVcs;
use crate::git::{Git, GitError, GitResult};
use crate::ports::Vcs;
use crate::sync::lock;

/// How often ralph retries a branch that another git has locked.
const TRIES: u32 = 5;

/// An open transaction on a branch.
#[derive(Debug)]
pub(super) struct BranchHold {
    git: Child,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    name: String,
    from: String,
    /// Where the branch goes when the transaction is carried out; `None` where that is not known yet.
    to: Option<String>,
}

impl BranchHold {
    fn take(vcs: &GitVcs, name: &str, from: &str, to: Option<&str>) -> GitResult<Self> {
        let why = format!("ralph: {} has landed", to.unwrap_or(from));
        let call = Git::plumbing(vcs.worktree(), &["update-ref", "-m", &why, "--stdin"]);
        let mut git = call.open()?;
        let (Some(input), Some(answers)) = (git.stdin.take(), git.stdout.take()) else {
            return Err(failed("git has no input"));
        };
        let (name, from) = (name.to_owned(), from.to_owned());
        let to = to.map(str::to_owned);
        let answers = BufReader::new(answers);
        let mut hold = Self { git, input: Some(input), answers, name, from, to };
        let (name, from) = (&hold.name, &hold.from);
        let what = match &hold.to {
            Some(to) => format!("update {name} {to} {from}"),
            None => format!("verify {name} {from}"),
        };
        hold.say(&format!("start\n{what}\nprepare\n"), &["start: ok", "prepare: ok"])?;
        Ok(hold)
    }

    /// Sends lines, and reads what git must answer.
    fn say(&mut self, lines: &str, expected: &[&str]) -> GitResult<()> {
        let sent = self.input.as_mut().map(|input| input.write_all(lines.as_bytes()));
        for answer in expected {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line);
            if !matches!(sent, Some(Ok(()))) || read.is_err() || line.trim_end() != *answer {
                let mut output = String::new();
                self.input = None;
                if let Some(errors) = &mut self.git.stderr {
                    let _ = errors.read_to_string(&mut output);
                }
                return Err(failed(output.trim()));
            }
        }
        Ok(())
    }

    /// Moves the branch to where it was to go.
    fn carry_out(mut self) -> GitResult<()> {
        self.say("commit\n", &["commit: ok"])
    }
}

impl Drop for BranchHold {
    fn drop(&mut self) {
        self.input = None;
        // The lock is gone when git is.
        let _ = self.git.wait();
    }
}

fn failed(message: &str) -> GitError {
    GitError::Failed { verb: "update-ref".to_owned(), message: message.to_owned() }
}

impl GitVcs {
    /// Keeps the branch that is checked out from moving, until it moves by [`GitVcs::advance`] or is
    /// released. `false` when it is not at `from` any more.
    pub(super) fn hold_branch(&self, from: &str, to: Option<&str>) -> GitResult<bool> {
        self.release();
        if self.project.git_dir.join("reftable").is_dir() {
            // There is one lock for all refs, and ralph's own would have to wait as well.
            return Err(failed("this repository keeps its refs in a reftable"));
        }
        let mut refused = failed("no branch is checked out");
        for _ in 0..TRIES {
            let at = self.position()?;
            if at.head.as_deref() != Some(from) {
                return Ok(false);
            }
            let Some(branch) = at.branch else { break };
            match BranchHold::take(self, &format!("refs/heads/{branch}"), from, to) {
                Ok(hold) => {
                    *lock(&self.held) = Some(hold);
                    return Ok(true);
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Moves a ref from where it is expected, under the hold on it where there is one.
    pub(super) fn move_ref(&self, name: &str, to: &str, before: &str, why: &str) -> GitResult<()> {
        let held = lock(&self.held).take();
        if let Some(hold) = held {
            let fits = hold.name == name && hold.from == before && hold.to.as_deref() == Some(to);
            if fits {
                return hold.carry_out();
            }
        }
        self.git(&["update-ref", "-m", why, name, to, before]).run().map(drop)
    }
}
