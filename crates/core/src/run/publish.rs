//! Publishing the branch of a complete run: pushing it, opening a pull request, and the result. Publishing does
//! not change the outcome of the run, and its exit code only where codes are strict.

use serde::{Deserialize, Serialize};

use super::fact::Fact;
use super::outcome::StopReason;
use super::state::RunState;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Publish {
    /// The branch is pushed after each green iteration, and at the end.
    pub auto_push: bool,
    /// The branch is pushed at the end and gets a pull request.
    pub auto_pr: bool,
    /// How long the pull request is watched for failed checks and comments, in milliseconds; 0 is not at all.
    #[serde(default)]
    pub watch_ms: u64,
}

/// How far publishing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Publishing {
    /// Not started.
    #[default]
    No,
    UnderWay,
    /// Published; ralph watches the pull request.
    Watching,
    /// Finished, and nothing is left to do.
    Over,
    /// Failed; the next run has to try again.
    Failed,
}

/// How publishing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishEnd {
    /// A pull request was opened.
    Opened,
    /// An existing pull request was updated.
    Updated,
    /// An existing pull request was already up to date.
    Unchanged,
    /// Someone else opened the pull request; ralph leaves it alone.
    Theirs,
    /// The branch is pushed, and no pull request was asked for.
    Pushed,
    /// There is nothing to publish.
    Nothing,
    /// The branch is merged already, by whatever method: nothing was pushed.
    Merged,
    /// Its pull request was closed: nothing was pushed.
    Closed,
    /// The branch was deleted on the server: nothing was pushed.
    Deleted,
    /// The branch is pushed; you have to open the pull request.
    ByHand,
    /// There is no remote to publish to, so the next run does not try again.
    NoRemote,
    Failed,
    /// The user cancelled.
    Interrupted,
}

/// The result of publishing, as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    pub end: PublishEnd,
    /// The branch; empty where none is checked out.
    pub branch: String,
    /// The number of the pull request, where there is one that is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The page of the pull request, or the one on which you open it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub page: String,
    /// Why there is no pull request, as the middle of a sentence; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What you can type; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

impl Publication {
    /// A result without page, reason or command.
    pub fn blank(end: PublishEnd, branch: &str) -> Self {
        let branch = branch.to_owned();
        let (page, why, command) = (String::new(), String::new(), String::new());
        Self { end, branch, number: None, page, why, command }
    }

    /// Whether the next run has to try again.
    pub const fn is_pending(&self) -> bool {
        matches!(self.end, PublishEnd::Failed | PublishEnd::Interrupted)
    }

    /// Whether there is an open pull request that ralph wrote.
    pub const fn is_open(&self) -> bool {
        let ours =
            matches!(self.end, PublishEnd::Opened | PublishEnd::Updated | PublishEnd::Unchanged);
        ours && self.number.is_some()
    }

    /// Whether you have to do something about it.
    pub const fn is_warning(&self) -> bool {
        self.is_pending() || matches!(self.end, PublishEnd::ByHand | PublishEnd::NoRemote)
    }

    /// A sentence without a full stop.
    pub fn sentence(&self) -> String {
        let Self { branch, page, why, .. } = self;
        match self.end {
            PublishEnd::Opened => format!("opened {page}"),
            PublishEnd::Updated => format!("updated {page}"),
            PublishEnd::Unchanged => format!("up to date: {page}"),
            PublishEnd::Theirs => format!("left {page} alone: someone else opened it"),
            PublishEnd::Pushed => format!("`{branch}` is pushed"),
            PublishEnd::Nothing => format!("nothing to publish: {why}"),
            PublishEnd::Merged => format!("`{branch}` is merged, so nothing was pushed: {page}"),
            PublishEnd::Closed => {
                format!("{page} was closed, so `{branch}` was not pushed; {why}")
            }
            PublishEnd::Deleted => {
                format!("`{branch}` was deleted on the server, so it was not pushed again; {why}")
            }
            PublishEnd::ByHand if page.is_empty() => {
                format!("`{branch}` is pushed; open the pull request yourself, because {why}")
            }
            PublishEnd::ByHand => {
                format!(
                    "`{branch}` is pushed; open the pull request yourself on {page}, because {why}"
                )
            }
            PublishEnd::NoRemote | PublishEnd::Failed => format!("not published: {why}"),
            PublishEnd::Interrupted => "publishing was interrupted".to_owned(),
        }
    }
}

impl Publishing {
    pub(super) const fn evolve(&mut self, fact: &Fact) {
        *self = match fact {
            Fact::Publishing => Self::UnderWay,
            Fact::Published { publication } if publication.is_pending() => Self::Failed,
            Fact::Published { .. } => Self::Over,
            Fact::Watching { .. } => Self::Watching,
            Fact::Reviewed { .. } => Self::Over,
            _ => *self,
        };
    }
}

impl RunState {
    /// Whether the run, which is over but for this, is to publish its branch.
    pub(super) fn is_to_publish(&self, reason: &StopReason) -> bool {
        self.policy.publish.is_some_and(|wanted| wanted.auto_push || wanted.auto_pr)
            && matches!(reason, StopReason::Complete | StopReason::Marker { .. })
            && self.publishing == Publishing::No
            && self.cancel.is_none()
    }
}
