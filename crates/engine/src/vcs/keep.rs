//! How long ralph keeps saved work. Work of unfinished tasks stays until you remove it; work of finished tasks is
//! removed when it is old, or when all of it together is too large.

use std::time::{Duration, SystemTime};

use ralph_core::{TaskId, Timestamp};

use super::in_place::GitVcs;
use super::start::START;
use super::traces::needed_starts;
use super::wip::Wip;
use crate::clock::now;
use crate::git::{GitError, GitResult};
use crate::ports::{Ending, KeepSaves};

impl GitVcs {
    /// Removes what no worktree needs any more, and saved work beyond the limits. Returns how many saves went.
    pub(super) fn tidy_up(
        &self,
        keep: &KeepSaves,
        ending: &mut dyn FnMut(&TaskId) -> Ending,
    ) -> GitResult<usize> {
        let at = now();
        let oldest = keep.age.map(|age| at.as_millis().saturating_sub(millis(age)));
        let since_epoch = oldest.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
        self.sweep_traces(since_epoch.map(|age| SystemTime::UNIX_EPOCH + age))?;
        let oldest = oldest.map(Timestamp::from_millis);
        let mut dead = self.old_starts(oldest)?;
        dead.extend(self.old_saves(oldest, keep.size, ending)?);
        let asked: String =
            dead.iter().map(|(name, commit)| format!("delete {name} {commit}\n")).collect();
        if !asked.is_empty() {
            self.git(&["update-ref", "--stdin"]).input(asked.as_bytes()).run()?;
        }
        Ok(dead.len())
    }

    /// Copies of your uncommitted work from before old runs, which never left your worktree.
    fn old_starts(&self, oldest: Option<Timestamp>) -> GitResult<Vec<(String, String)>> {
        let Some(oldest) = oldest else { return Ok(vec![]) };
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let printed = self.git(&["for-each-ref", format, START]).run()?;
        let text = String::from_utf8_lossy(&printed);
        let mut old: Vec<(String, String)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ');
                let (name, commit) = (words.next()?, words.next()?);
                let seconds: i64 = words.next()?.parse().ok()?;
                let at = Timestamp::from_millis(seconds.saturating_mul(1000));
                (at < oldest).then(|| (name.to_owned(), commit.to_owned()))
            })
            .collect();
        if !old.is_empty() {
            let needed = needed_starts(&self.project);
            old.retain(|(_, commit)| !needed.contains(commit));
        }
        Ok(old)
    }

    fn old_saves(
        &self,
        oldest: Option<Timestamp>,
        size: Option<u64>,
        ending: &mut dyn FnMut(&TaskId) -> Ending,
    ) -> GitResult<Vec<(String, String)>> {
        let saves = self.listed_saves()?;
        if saves.is_empty() {
            return Ok(vec![]);
        }
        let owner = self.record()?.owner.and_then(|owner| owner.save);
        let (mut finished, mut open) = (Vec::new(), Vec::new());
        for save in saves {
            match ending(&save.task) {
                _ if owner.as_ref() == Some(&save.saved.commit) => open.push(save),
                Ending::Open => open.push(save),
                ending => finished.push((ending, save)),
            }
        }
        let is_old = |save: &Wip| oldest.is_some_and(|oldest| save.at < oldest);
        let (old, mut young): (Vec<_>, Vec<_>) =
            finished.into_iter().partition(|(_, save)| is_old(save));
        let mut dead: Vec<Wip> = old.into_iter().map(|(_, save)| save).collect();
        if let Some(most) = size
            && self.bytes_of(young.iter().map(|(_, save)| save), &open)? > most
        {
            // Work of failed tasks is worth more than work of done ones, and new work more than old.
            young.sort_by(|(a, x), (b, y)| b.cmp(a).then(y.at.cmp(&x.at)));
            let mut used = 0;
            for (_, save) in young {
                let more = self.bytes_of([&save], &open)?;
                if used + more > most {
                    dead.push(save);
                } else {
                    used += more;
                    open.push(save);
                }
            }
        }
        Ok(dead.into_iter().map(|save| (save.saved.name, save.saved.commit)).collect())
    }

    /// What saves take on the disk that neither a branch nor one of `others` holds.
    fn bytes_of<'a>(
        &self,
        saves: impl IntoIterator<Item = &'a Wip>,
        others: &[Wip],
    ) -> GitResult<u64> {
        let head = self.position()?.head;
        let without = others.iter().map(|save| &save.saved.commit).chain(&head);
        let with = saves.into_iter().map(|save| format!("{}\n", save.saved.commit));
        let asked: String = with.chain(without.map(|id| format!("^{id}\n"))).collect();
        let arguments = [
            "rev-list",
            "--objects",
            "--disk-usage",
            "--stdin",
            "--not",
            "--branches",
            "--tags",
            "--remotes",
        ];
        let printed = self.git(&arguments).input(asked.as_bytes()).line()?;
        printed.parse().map_err(|_| GitError::Odd { verb: "rev-list".to_owned(), answer: printed })
    }
}

fn millis(age: Duration) -> i64 {
    i64::try_from(age.as_millis()).unwrap_or(i64::MAX)
}
