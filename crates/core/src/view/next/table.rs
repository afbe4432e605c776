//! The table from the end of a run and the command that ran it to what the user types next. Data only: `next`
//! turns steps into commands. Every pair of an end and a command has a row; the first that fits counts.

use crate::run::{Allowance, Class, Outcome, StopReason};
use crate::view::RunView;

/// How a run ended, as far as the next command depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndState {
    /// A planning run wrote the plan.
    PlanWritten,
    /// Every task is done.
    AllDone,
    /// Every task is done or failed, and some failed.
    SomeFailed,
    /// The plan has no tasks.
    NothingToDo,
    /// Tasks remain, and none is ready.
    NothingReady,
    /// The agent called the plan done, and tasks remain.
    DeclaredDone,
    /// The only session of the run succeeded.
    SessionDone,
    /// There is no plan.
    NoPlan,
    /// The agent asked something about a feature.
    Asked,
    /// Tasks remain, and none can become ready by itself.
    Blocked,
    /// The agent said FAILURE.
    AgentGaveUp,
    /// The gates still fail after every retry.
    GatesFailed,
    /// A gate cannot run here.
    GateUnusable,
    /// The agent is not logged in.
    LoggedOut,
    /// The account may not use the model.
    NoAccess,
    /// No credit is left at the provider.
    OutOfCredit,
    /// The model does not exist.
    UnknownModel,
    /// The prompt is longer than the model allows.
    PromptTooLong,
    /// The agent's program did not start.
    NotStarted,
    /// The agent failed in another way.
    AgentFailed,
    /// Too many errors in a row.
    ErrorsInARow,
    /// Git failed.
    GitFailed,
    /// The money for the run is used up.
    OutOfMoney,
    /// The tokens for the run are used up.
    OutOfTokens,
    /// The time for the run is used up.
    OutOfTime,
    /// The money for the day is used up.
    OutOfMoneyToday,
    /// Iterations without a change.
    Idle,
    /// The limit of sessions.
    Limit,
    /// The user stopped it.
    Cancelled,
    /// Ralph failed.
    Error,
}

impl EndState {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::PlanWritten,
        Self::AllDone,
        Self::SomeFailed,
        Self::NothingToDo,
        Self::NothingReady,
        Self::DeclaredDone,
        Self::SessionDone,
        Self::NoPlan,
        Self::Asked,
        Self::Blocked,
        Self::AgentGaveUp,
        Self::GatesFailed,
        Self::GateUnusable,
        Self::LoggedOut,
        Self::NoAccess,
        Self::OutOfCredit,
        Self::UnknownModel,
        Self::PromptTooLong,
        Self::NotStarted,
        Self::AgentFailed,
        Self::ErrorsInARow,
        Self::GitFailed,
        Self::OutOfMoney,
        Self::OutOfTokens,
        Self::OutOfTime,
        Self::OutOfMoneyToday,
        Self::Idle,
        Self::Limit,
        Self::Cancelled,
        Self::Error,
    ];

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
        match self {
            Self::AgentGaveUp
            | Self::GatesFailed
            | Self::GateUnusable
            | Self::LoggedOut
            | Self::NoAccess
            | Self::OutOfCredit
            | Self::UnknownModel
            | Self::PromptTooLong
            | Self::NotStarted
            | Self::AgentFailed
            | Self::ErrorsInARow
            | Self::GitFailed
            | Self::OutOfMoney
            | Self::OutOfTokens
            | Self::OutOfTime
            | Self::OutOfMoneyToday
            | Self::Idle
            | Self::Error => true,
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
            | Self::Cancelled => false,
        }
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

/// The command that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// `ralph build`, `ralph run`, `ralph loop build`.
    Build,
    /// `ralph plan`, `ralph loop plan`.
    Plan,
    /// `ralph prompt`.
    Prompt,
    /// `ralph feature create --interview`.
    FeatureSpec,
    /// `ralph feature plan`.
    FeaturePlan,
    /// `ralph feature build`.
    FeatureTasks,
}

impl CommandKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Build,
        Self::Plan,
        Self::Prompt,
        Self::FeatureSpec,
        Self::FeaturePlan,
        Self::FeatureTasks,
    ];

    /// The command of a run, from its mode.
    pub fn of(mode: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.mode() == mode).unwrap_or(Self::Build)
    }

    /// Its mode in the journal.
    pub const fn mode(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Plan => "plan",
            Self::Prompt => "prompt",
            Self::FeatureSpec => "feature-spec",
            Self::FeaturePlan => "feature-plan",
            Self::FeatureTasks => "feature-tasks",
        }
    }
}

/// One thing to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// The same command again.
    Again,
    /// The same with another model.
    AgainWithModel,
    /// The same with a shorter prompt.
    AgainWithShorterPrompt,
    /// The same with twice the money.
    AgainWithMoney,
    /// The same with twice the tokens.
    AgainWithTokens,
    /// The same with twice the time.
    AgainWithTime,
    /// The same with twice the money for the day.
    AgainWithMoneyToday,
    /// Read the plan that was written.
    ReadPlan,
    /// Build the plan that was written.
    BuildPlan,
    /// Have the agent write a plan.
    WritePlan,
    /// Add a task.
    AddTask,
    /// Answer the question about the feature.
    Answer,
    /// Log the agent in.
    LogIn,
    /// Check the setup.
    Doctor,
    /// See what happened.
    Logs,
    /// See all tasks.
    TaskList,
    /// See what blocks what, where no task is named that waits for the user.
    TaskTree,
    /// See what git has to say.
    GitStatus,
}

impl NextStep {
    /// What it is for.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Again => "then run it again",
            Self::AgainWithModel => "use a model that your account has",
            Self::AgainWithShorterPrompt => "send a shorter prompt",
            Self::AgainWithMoney
            | Self::AgainWithTokens
            | Self::AgainWithTime
            | Self::AgainWithMoneyToday => "continue with twice the budget",
            Self::ReadPlan => "read the plan",
            Self::BuildPlan => "work through the plan",
            Self::WritePlan => "let the agent write a plan",
            Self::AddTask => "add a task yourself",
            Self::Answer => "answer the agent's question",
            Self::LogIn => "log in",
            Self::Doctor => "see what is missing",
            Self::Logs => "see what happened",
            Self::TaskList => "see all tasks",
            Self::TaskTree => "see the whole plan",
            Self::GitStatus => "see the state of the repository",
        }
    }
}

/// A row: what to type after this end of one of these commands.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The end.
    pub end: EndState,
    /// The commands.
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

/// The table.
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
