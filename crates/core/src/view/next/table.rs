//! The table from the end of a run and the command that ran it to what the user types next. Data only: `next`
//! turns steps into commands. Every pair of an end and a command has a row; the first that fits counts.

use crate::run::{Allowance, Class, Outcome, StopReason};
use crate::view::RunView;

words! {
    /// How a run ended, as far as the next command depends on it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EndState {
        PlanWritten,
        AllDone,
        /// Every task is done or failed, and some failed.
        SomeFailed,
        NothingToDo,
        /// Tasks remain, and none is ready.
        NothingReady,
        /// The agent called the plan done, and tasks remain.
        DeclaredDone,
        /// The only session of the run succeeded.
        SessionDone,
        NoPlan,
        Asked,
        /// Tasks remain, and none can become ready by itself.
        Blocked,
        /// The agent said FAILURE.
        AgentGaveUp,
        GatesFailed,
        /// A gate cannot run here.
        GateUnusable,
        LoggedOut,
        NoAccess,
        OutOfCredit,
        UnknownModel,
        PromptTooLong,
        NotStarted,
        /// The agent failed in another way.
        AgentFailed,
        ErrorsInARow,
        GitFailed,
        OutOfMoney,
        OutOfTokens,
        OutOfTime,
        OutOfMoneyToday,
        /// Iterations without a change.
        Idle,
        Limit,
        Cancelled,
        Error,
    }
}

impl EndState {
    /// The end of a run; `None` while it has not ended.
    pub fn of(view: &RunView) -> Option<Self> {
        let outcome = view.outcome.as_ref()?;
        let open = outcome.left.unresolved();
        Some(match &outcome.reason {
            StopReason::Complete
            | StopReason::Marker { .. }
            | StopReason::Idle { .. }
            | StopReason::Limit { .. }
                if view.planned.is_some() =>
            {
                Self::PlanWritten
            }
            StopReason::Complete if outcome.left.total() == 0 => Self::NothingToDo,
            StopReason::Complete if open > 0 => Self::NothingReady,
            StopReason::Marker { .. } if open > 0 => Self::DeclaredDone,
            StopReason::Complete | StopReason::Marker { .. } => Self::finished(outcome),
            StopReason::Cancelled | StopReason::Limit { .. }
                if outcome.left.total() > 0 && open == 0 =>
            {
                Self::finished(outcome)
            }
            StopReason::Session => Self::SessionDone,
            StopReason::NoPlan { .. } => Self::NoPlan,
            StopReason::Asked { .. } => Self::Asked,
            StopReason::Blocked { .. } => Self::Blocked,
            StopReason::Failure => Self::AgentGaveUp,
            StopReason::GatesFailed => Self::GatesFailed,
            StopReason::GateUnusable { .. } => Self::GateUnusable,
            StopReason::AgentFailed { class, .. } => Self::of_class(*class),
            StopReason::Breaker { .. } => Self::ErrorsInARow,
            StopReason::GitFailed { .. } => Self::GitFailed,
            StopReason::Budget { budget, .. } => Self::of_budget(*budget, view),
            StopReason::Idle { .. } => Self::Idle,
            StopReason::Limit { .. } => Self::Limit,
            StopReason::Cancelled => Self::Cancelled,
            StopReason::Error { .. } => Self::Error,
        })
    }

    /// Whether something went wrong that the user has to fix before the next run gets further.
    pub const fn is_trouble(self) -> bool {
        !matches!(
            self,
            Self::PlanWritten
                | Self::AllDone
                | Self::SomeFailed
                | Self::NothingToDo
                | Self::NothingReady
                | Self::DeclaredDone
                | Self::SessionDone
                | Self::NoPlan
                | Self::Asked
                | Self::Blocked
                | Self::Limit
                | Self::Cancelled
        )
    }

    const fn finished(outcome: &Outcome) -> Self {
        if outcome.left.failed > 0 { Self::SomeFailed } else { Self::AllDone }
    }

    const fn of_class(class: Option<Class>) -> Self {
        match class {
            Some(Class::Auth) => Self::LoggedOut,
            Some(Class::Forbidden) => Self::NoAccess,
            Some(Class::Billing) => Self::OutOfCredit,
            Some(Class::UnknownModel) => Self::UnknownModel,
            Some(Class::TooLong) => Self::PromptTooLong,
            Some(Class::NotStarted) => Self::NotStarted,
            _ => Self::AgentFailed,
        }
    }

    /// The budget that is used up. Journals of ralph 0.1 do not name it: there the first one that is set.
    const fn of_budget(budget: Option<Allowance>, view: &RunView) -> Self {
        match budget {
            Some(Allowance::Money | Allowance::Task) => Self::OutOfMoney,
            Some(Allowance::Tokens) => Self::OutOfTokens,
            Some(Allowance::Time) => Self::OutOfTime,
            Some(Allowance::Day) => Self::OutOfMoneyToday,
            None if view.budget.micro_usd > 0 => Self::OutOfMoney,
            None if view.budget.tokens > 0 => Self::OutOfTokens,
            None if view.budget.time_ms > 0 => Self::OutOfTime,
            None => Self::OutOfMoneyToday,
        }
    }
}

words! {
    /// The command that ran, with its mode in the journal.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CommandKind {
        /// `ralph build`, `ralph run`, `ralph loop build`.
        Build = "build",
        /// `ralph plan`, `ralph loop plan`.
        Plan = "plan",
        Prompt = "prompt",
        /// `ralph feature create --interview`.
        FeatureSpec = "feature-spec",
        /// `ralph feature plan`.
        FeaturePlan = "feature-plan",
        /// `ralph feature build`.
        FeatureTasks = "feature-tasks",
    }
}

impl CommandKind {
    /// The command of a run, from its mode.
    pub fn of(mode: &str) -> Self {
        mode.parse().unwrap_or(Self::Build)
    }
}

words! {
    /// One thing to type, and what it is for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum NextStep {
        /// The same command.
        Again = "then run it again",
        AgainWithModel = "use a model that your account has",
        AgainWithShorterPrompt = "send a shorter prompt",
        AgainWithMoney = "continue with twice the budget",
        AgainWithTokens = "continue with twice the budget",
        AgainWithTime = "continue with twice the budget",
        AgainWithMoneyToday = "continue with twice the budget",
        ReadPlan = "read the plan",
        BuildPlan = "work through the plan",
        WritePlan = "let the agent write a plan",
        AddTask = "add a task yourself",
        /// The question about the feature.
        Answer = "answer the agent's question",
        LogIn = "log in",
        Doctor = "see what is missing",
        Logs = "see what happened",
        TaskList = "see all tasks",
        /// Where no task is named that waits for the user.
        TaskTree = "see the whole plan",
        GitStatus = "see the state of the repository",
    }
}

/// A row: what to type after this end of one of these commands.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub end: EndState,
    pub kinds: &'static [CommandKind],
    /// What to type, the first first.
    pub steps: &'static [NextStep],
}

const ANY: &[CommandKind] = &CommandKind::ALL;
const PLAN: &[CommandKind] = &[CommandKind::Plan];
const ONE_TEXT: &[CommandKind] =
    &[CommandKind::Plan, CommandKind::FeatureSpec, CommandKind::FeaturePlan];

const fn row(end: EndState, kinds: &'static [CommandKind], steps: &'static [NextStep]) -> Row {
    Row { end, kinds, steps }
}

use EndState as E;
use NextStep as S;

pub const ROWS: &[Row] = &[
    row(E::PlanWritten, ANY, &[S::ReadPlan, S::BuildPlan]),
    // A planning run that ended well and wrote no plan that ralph can read.
    row(E::AllDone, PLAN, &[S::Logs, S::Again]),
    row(E::NothingToDo, ONE_TEXT, &[S::Logs, S::Again]),
    row(E::DeclaredDone, PLAN, &[S::Logs, S::Again]),
    row(E::AllDone, ANY, &[]),
    // Followed by the failed tasks, as every end is.
    row(E::SomeFailed, ANY, &[]),
    row(E::NothingToDo, ANY, &[S::WritePlan, S::AddTask]),
    row(E::NothingReady, ANY, &[S::TaskTree]),
    row(E::DeclaredDone, ANY, &[S::TaskList, S::Again]),
    // Commands about features say themselves what comes next.
    row(E::SessionDone, ANY, &[]),
    row(E::NoPlan, ANY, &[S::WritePlan, S::AddTask]),
    row(E::Asked, ANY, &[S::Answer]),
    row(E::Blocked, ANY, &[S::TaskTree]),
    row(E::AgentGaveUp, ANY, &[S::Logs, S::Again]),
    row(E::GatesFailed, ANY, &[S::Logs, S::Again]),
    row(E::GateUnusable, ANY, &[S::Doctor, S::Again]),
    row(E::LoggedOut, ANY, &[S::LogIn, S::Again]),
    row(E::NoAccess, ANY, &[S::AgainWithModel]),
    // The sentence says where to add credit: no command does.
    row(E::OutOfCredit, ANY, &[S::Again]),
    row(E::UnknownModel, ANY, &[S::AgainWithModel]),
    row(E::PromptTooLong, ANY, &[S::AgainWithShorterPrompt, S::AgainWithModel]),
    row(E::NotStarted, ANY, &[S::Doctor, S::Again]),
    row(E::AgentFailed, ANY, &[S::Logs, S::Again]),
    row(E::ErrorsInARow, ANY, &[S::Logs, S::Again]),
    row(E::GitFailed, ANY, &[S::GitStatus, S::Again]),
    row(E::OutOfMoney, ANY, &[S::AgainWithMoney]),
    row(E::OutOfTokens, ANY, &[S::AgainWithTokens]),
    row(E::OutOfTime, ANY, &[S::AgainWithTime]),
    row(E::OutOfMoneyToday, ANY, &[S::AgainWithMoneyToday]),
    row(E::Idle, ANY, &[S::Logs, S::Again]),
    row(E::Limit, ANY, &[S::Again]),
    row(E::Cancelled, ANY, &[S::Again]),
    row(E::Error, ANY, &[S::Doctor, S::Again]),
];

/// The steps after this end of this command.
pub fn steps(end: EndState, kind: CommandKind) -> &'static [NextStep] {
    let fits = |row: &&Row| row.end == end && row.kinds.contains(&kind);
    ROWS.iter().find(fits).map_or(&[], |row| row.steps)
}
