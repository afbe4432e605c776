//! The codes of errors in JSON: what a program goes by instead of the sentence. Every code is in docs/json.md.

use ralph_core::task::Refusal;
use ralph_engine::ports::StoreError;
use ralph_engine::project::ProjectError;

macro_rules! codes {
    ($($name:ident = $text:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ErrorCode { $($name),+ }

        impl ErrorCode {
            /// All of them, for the documentation.
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),+];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

codes! {
    Usage = "usage";
    Failed = "failed";
    NotEligible = "not_eligible";
    UnknownTask = "unknown_task";
    UnknownFeature = "unknown_feature";
    UnknownAgent = "unknown_agent";
    UnknownQuestion = "unknown_question";
    WrongStatus = "wrong_status";
    NotClaimable = "not_claimable";
    NothingReady = "nothing_ready";
    ClaimLost = "claim_lost";
    NotClaimed = "not_claimed";
    NotBlockedBy = "not_blocked_by";
    TaskDeleted = "task_deleted";
    TaskDone = "task_done";
    ParentClosed = "parent_closed";
    UnfinishedParts = "unfinished_parts";
    FailedParts = "failed_parts";
    FeatureUnfinished = "feature_unfinished";
    TooManyMessages = "too_many_messages";
    TaskExists = "task_exists";
    FeatureExists = "feature_exists";
    Cycle = "cycle";
    InvalidPlan = "invalid_plan";
    ForeignDatabase = "foreign_database";
    NewerDatabase = "newer_database";
    DamagedDatabase = "damaged_database";
    DatabaseLocked = "database_locked";
    DiskFull = "disk_full";
    NotWritable = "not_writable";
    NoRepository = "no_repository";
    Git = "git";
    NoPlan = "no_plan";
    GatesFailed = "gates_failed";
    AgentFailed = "agent_failed";
    AgentGaveUp = "agent_gave_up";
    Blocked = "blocked";
    BudgetReached = "budget_reached";
    Unfinished = "unfinished";
    SandboxUnavailable = "sandbox_unavailable";
    Cancelled = "cancelled";
}

impl From<&Refusal> for ErrorCode {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Unknown { .. } => Self::UnknownTask,
            Refusal::UnknownFeature { .. } => Self::UnknownFeature,
            Refusal::UnknownAgent { .. } => Self::UnknownAgent,
            Refusal::UnknownQuestion { .. } => Self::UnknownQuestion,
            Refusal::Transition { .. }
            | Refusal::BlockClosed { .. }
            | Refusal::DoneParts { .. }
            | Refusal::NotFinished { .. }
            | Refusal::NoSession { .. }
            | Refusal::NoApproval { .. } => Self::WrongStatus,
            Refusal::NotClaimable { .. } => Self::NotClaimable,
            Refusal::NothingReady { .. } => Self::NothingReady,
            Refusal::ClaimLost { .. } => Self::ClaimLost,
            Refusal::NotClaimed { .. } => Self::NotClaimed,
            Refusal::NotBlockedBy { .. } => Self::NotBlockedBy,
            Refusal::IsDeleted { .. } => Self::TaskDeleted,
            Refusal::DoneIsFinal { .. } => Self::TaskDone,
            Refusal::ParentClosed { .. } => Self::ParentClosed,
            Refusal::HasUnfinishedParts { .. } | Refusal::OnlyParts { .. } => Self::UnfinishedParts,
            Refusal::TooManyMessages { .. } => Self::TooManyMessages,
            Refusal::FailedParts { .. } => Self::FailedParts,
            Refusal::FeatureUnfinished { .. } => Self::FeatureUnfinished,
            Refusal::Exists { .. } => Self::TaskExists,
            Refusal::FeatureExists { .. } => Self::FeatureExists,
            Refusal::OnItself { .. } | Refusal::Cycle { .. } => Self::Cycle,
        }
    }
}

impl From<&StoreError> for ErrorCode {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Refused(refusal) => refusal.into(),
            StoreError::Plan { .. } => Self::InvalidPlan,
            StoreError::Foreign { .. } => Self::ForeignDatabase,
            StoreError::Newer { .. } => Self::NewerDatabase,
            StoreError::Corrupt { .. } => Self::DamagedDatabase,
            StoreError::Locked { .. } => Self::DatabaseLocked,
            StoreError::DiskFull { .. } => Self::DiskFull,
            StoreError::NotWritable { .. } => Self::NotWritable,
            StoreError::Failed { .. } => Self::Failed,
        }
    }
}

impl From<&ProjectError> for ErrorCode {
    fn from(error: &ProjectError) -> Self {
        match error {
            ProjectError::NoRepository(_)
            | ProjectError::Bare(_)
            | ProjectError::BrokenLink { .. } => Self::NoRepository,
            ProjectError::Foreign { .. } => Self::ForeignDatabase,
            ProjectError::OwnedByOther { .. } => Self::NotWritable,
            ProjectError::Io { .. } => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/json.md");

    #[test]
    fn the_page_names_every_code_once_and_no_other() {
        let table = PAGE.split("### Error codes").nth(1).unwrap();
        let named: Vec<&str> = table
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'))
            .skip(2)
            .filter_map(|line| line.split('`').nth(1))
            .collect();
        let all: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(named, all);
    }
}
