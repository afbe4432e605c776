//! Watches a pull request: polls the server until there is work to do, or nothing left to wait for.

use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::forge::{Finding, FollowUp, Looking, PullState};
use ralph_core::run::{Review, ReviewEnd};
use ralph_core::text::printable_line;

use super::outlet::Outlet;
use super::record::ReviewRecord;
use crate::clock::now;
use crate::forge::paused;
use crate::git::commit_of;
use crate::ports::{Forge, ForgeError};

/// What of a pull request becomes work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchSetup {
    /// Whose comments and checks count, besides the server's own CI.
    pub authors: Vec<String>,
    pub rounds: u32,
}

#[derive(Debug)]
pub enum Watched {
    Work(Work),
    Over(Review),
}

impl Watched {
    fn is_green(&self) -> bool {
        matches!(self, Self::Over(review) if review.end == ReviewEnd::Green)
    }
}

/// What to do about a pull request.
#[derive(Debug)]
pub struct Work {
    /// Each finding, with its full text for a session.
    pub findings: Vec<(Finding, String)>,
    /// What the record says once they are tasks.
    pub record: ReviewRecord,
}

/// How long until the server is asked again: soon at first, then once a minute.
const PAUSES: [u64; 6] = [2, 4, 8, 15, 30, 60];

impl Outlet<'_> {
    pub fn watch(&self, branch: &str, number: u64, page: &str, until: Timestamp) -> Watched {
        let failed =
            |why: String| Watched::Over(Review { why, ..Review::blank(ReviewEnd::Failed, page) });
        let tip = match commit_of(self.folder, &format!("refs/heads/{branch}")) {
            Ok(Some(tip)) => tip,
            Ok(None) => return failed(format!("there is no branch `{branch}`")),
            Err(error) => return failed(error.to_string()),
        };
        let mut was_green = false;
        for asked in 0.. {
            let is_late = now() >= until;
            match self.feedback(branch, number, page, (&tip, is_late)) {
                // A check that runs after the others may not have started.
                Ok(Some(watched)) if watched.is_green() && !was_green && !is_late => {
                    was_green = true;
                }
                Ok(Some(watched)) => return watched,
                Ok(None) => was_green = false,
                Err(ForgeError::Interrupted) => break,
                // A server that is gone for a while comes back.
                Err(error) if error.passes_after().is_some() && !is_late => {}
                Err(error) => return failed(error.to_string()),
            }
            let pause = PAUSES.get(asked).or(PAUSES.last()).copied().unwrap_or_default();
            let left = Duration::from_millis(until.millis_since(now()));
            if !paused(Duration::from_secs(pause).min(left), self.stop.clone()) {
                break;
            }
        }
        Watched::Over(Review::blank(ReviewEnd::Interrupted, page))
    }

    /// Asks once; `None` means ask again.
    fn feedback(
        &self,
        branch: &str,
        number: u64,
        page: &str,
        (tip, is_late): (&str, bool),
    ) -> Result<Option<Watched>, ForgeError> {
        let watch = &self.setup.watch;
        let forge = self.forge();
        let (pull, feedback) = forge.feedback(number, tip, !watch.authors.is_empty())?;
        let blank = |end| Review::blank(end, page);
        match pull.state {
            PullState::Open => {}
            PullState::Merged => return Ok(Some(Watched::Over(blank(ReviewEnd::Merged)))),
            PullState::Closed => return Ok(Some(Watched::Over(blank(ReviewEnd::Closed)))),
        }
        let record = self.setup.records.read(branch).review.of(number);
        let rounds = watch.rounds;
        let looking = Looking {
            commit: tip,
            authors: &watch.authors,
            seen: &record.seen,
            rounds_left: rounds.saturating_sub(record.rounds),
            is_late,
        };
        let titles = |found: &[Finding]| found.iter().map(|one| one.title.clone()).collect();
        let over = match looking.verdict(&feedback) {
            FollowUp::Wait => return Ok(None),
            FollowUp::Work(found) => {
                let keys: Vec<String> = found.iter().map(|finding| finding.key.clone()).collect();
                let mut findings = vec![];
                for finding in found {
                    let reported = self.finding_text(&forge, &finding)?;
                    findings.push((finding, reported));
                }
                let record = record.after(keys);
                return Ok(Some(Watched::Work(Work { findings, record })));
            }
            FollowUp::Spent(found) => {
                Review { tasks: titles(&found), rounds, ..blank(ReviewEnd::Spent) }
            }
            FollowUp::Red(tasks) => Review { tasks, ..blank(ReviewEnd::Red) },
            FollowUp::Green => blank(ReviewEnd::Green),
            FollowUp::Quiet { unfinished } => Review {
                why: match unfinished {
                    true => "some checks have not finished".to_owned(),
                    false => "there were no checks and no new comments".to_owned(),
                },
                ..blank(ReviewEnd::Quiet)
            },
        };
        Ok(Some(Watched::Over(over)))
    }

    /// The full text of a finding for a session. A missing log is no reason not to start.
    fn finding_text(&self, forge: &dyn Forge, finding: &Finding) -> Result<String, ForgeError> {
        let log = match finding.log.as_deref().map(|resource| forge.log(resource)) {
            None => None,
            Some(Ok(log)) => Some(log),
            Some(Err(ForgeError::Interrupted)) => return Err(ForgeError::Interrupted),
            Some(Err(error)) => {
                let why = printable_line(&error.to_string()).into_owned();
                return Ok(format!(
                    "{}\n\nIts log could not be read: {why}.",
                    finding.description(None)
                ));
            }
        };
        Ok(finding.description(log.as_deref()))
    }
}
