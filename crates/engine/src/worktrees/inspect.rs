//! Reports the state of ralph's worktrees, for users who ask. Changes nothing.

use std::path::PathBuf;
use std::time::Duration;

use ralph_core::branch::BranchName;

use super::admin_folder::is_free;
use super::marker::WorktreeStage;
use super::prepare::Worktrees;
use super::repair::is_ours;
use crate::git::GitResult;
use crate::git::folders::named_admin;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Whole,
    /// Its creation was killed. Nobody has worked in it.
    HalfMade,
    /// Its folder is gone, and git and ralph still remember it.
    Gone,
    /// Its removal was killed. Its work is saved.
    HalfRemoved,
    /// Git has forgotten it, or does not know it by that place.
    Forgotten,
    /// There is a worktree of the user in its place.
    Persons,
    /// A marker speaks of a folder that is not ours.
    Outside,
    /// Another process is creating or removing it right now.
    AtWork,
}

impl Condition {
    /// Whether its rest can be removed without losing anything.
    pub const fn is_debris(self) -> bool {
        matches!(self, Self::HalfMade | Self::Gone | Self::HalfRemoved)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    pub branch: BranchName,
    pub path: PathBuf,
    pub condition: Condition,
}

impl Worktrees {
    /// Every worktree that ralph made or began to make, and its state.
    pub fn inspect(&self) -> GitResult<Vec<Inspected>> {
        let all = self.markers.all()?.into_iter().map(|(branch, marker)| {
            let admin = self.admin_at(&marker.path);
            let free = is_free(&marker.path);
            let condition = match (marker.stage, &admin) {
                _ if !is_ours(&marker, admin.as_ref()) => Condition::Persons,
                _ if self.check_place(&branch, &marker.path).is_err() => Condition::Outside,
                (WorktreeStage::Making, _) => Condition::HalfMade,
                (WorktreeStage::Removing, _) => Condition::HalfRemoved,
                (WorktreeStage::Equipping | WorktreeStage::Made, _) if free => Condition::Gone,
                (WorktreeStage::Equipping | WorktreeStage::Made, Some(admin))
                    if named_admin(&marker.path).as_ref() == Some(&admin.folder) =>
                {
                    Condition::Whole
                }
                (WorktreeStage::Equipping | WorktreeStage::Made, _) => Condition::Forgotten,
            };
            let busy = condition.is_debris() && self.markers.hold(&branch, Duration::ZERO).is_err();
            let condition = if busy { Condition::AtWork } else { condition };
            Inspected { branch, path: marker.path, condition }
        });
        Ok(all.collect())
    }
}
