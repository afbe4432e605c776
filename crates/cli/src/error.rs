//! Errors as the user sees them: one sentence, its cause, and the command to type.

use std::path::Path;
use std::{fmt, io};

use ralph_core::ids::IdError;
use ralph_core::nearest::nearest;
use ralph_core::records::Feature;
use ralph_core::task::{Refusal, Task};
use ralph_core::text::{TextError, printable};
use ralph_core::{FeatureName, TaskId};
use ralph_engine::ports::{GitError, Scope, Store, StoreError};
use ralph_engine::project::ProjectError;
use ralph_ui::style::{Meaning, TextStyle};

use crate::error_codes::ErrorCode;
use crate::exit_codes::Exit;

/// The constructors of [`CliError`] with the arguments of `format!`.
macro_rules! failed {
    ($($text:tt)+) => { $crate::error::CliError::failed(format!($($text)+)) };
}
macro_rules! run_failed {
    ($($text:tt)+) => { $crate::error::CliError::run_failed(format!($($text)+)) };
}
macro_rules! usage {
    ($($text:tt)+) => { $crate::error::CliError::usage(format!($($text)+)) };
}
macro_rules! no_plan {
    ($($text:tt)+) => {
        $crate::error::CliError::new($crate::exit_codes::Exit::NoPlan, format!($($text)+))
    };
}
macro_rules! refused {
    ($($text:tt)+) => { $crate::error::CliError::refused(format!($($text)+)) };
}

/// What every command returns.
pub(crate) type Done = Result<()>;

/// The result of what can fail with an error for the user.
pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

/// A failure as the user sees it.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    pub(crate) code: ErrorCode,
    message: String,
    /// Lines below the message, as they are: a source line and its caret.
    excerpt: String,
    hints: Vec<String>,
    /// A run could not start or go on: the message gets the name of its command.
    of_run: bool,
    /// The reader of our output has closed it, so nothing is printed.
    pub(crate) is_closed_pipe: bool,
    /// The failure has already been printed: only the exit code is left.
    pub(crate) already_reported: bool,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: exit.into(),
            message: message.into(),
            excerpt: String::new(),
            hints: vec![],
            of_run: false,
            is_closed_pipe: false,
            already_reported: false,
        }
    }

    /// Bad content or a bad environment.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Error, message)
    }

    /// A run that could not start or go on. The command that started it adds its name.
    pub(crate) fn run_failed(message: impl Into<String>) -> Self {
        Self { of_run: true, ..Self::failed(message) }
    }

    /// The same with the name of the command, where a run failed: "Plan failed: …".
    pub(crate) fn of_command(self, name: &str) -> Self {
        match self.of_run {
            true => {
                Self { message: format!("{name} failed: {}", self.message), of_run: false, ..self }
            }
            false => self,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Not found, or not allowed now.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Exit::NotEligible, message)
    }

    /// A file that cannot be `read`, `written` or `removed`.
    pub(crate) fn file(path: &Path, cannot: &str, error: impl fmt::Display) -> Self {
        failed!("{} cannot be {cannot}: {error}", path.display())
    }

    /// A failure that another process has already printed, with its exit code.
    pub(crate) fn already_reported(code: u8) -> Self {
        let exit = Exit::ALL.iter().find(|exit| exit.code() == code);
        Self { already_reported: true, ..Self::new(exit.copied().unwrap_or(Exit::Error), "") }
    }

    /// The end of a command whose messages have been printed.
    pub(crate) fn ended_with(code: u8) -> Done {
        if code == 0 { Ok(()) } else { Err(Self::already_reported(code)) }
    }

    /// The same for arguments that are wrong.
    pub(crate) fn by_usage(self) -> Self {
        Self { exit: Exit::Usage, code: ErrorCode::Usage, ..self }
    }

    pub(crate) fn with_exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    fn coded(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    /// Adds what to type, if there is anything.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.extend(Some(hint.into()).filter(|hint| !hint.is_empty()));
        self
    }

    /// Adds the known name that is most like this one, or else this hint.
    pub(crate) fn near<'a>(
        self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: impl Into<String>,
    ) -> Self {
        match nearest(name, known, 1).first() {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self.hint(otherwise),
        }
    }

    pub(crate) fn excerpt(mut self, lines: impl Into<String>) -> Self {
        self.excerpt = lines.into();
        self
    }

    /// The sentence, the lines that show where, and what to type.
    pub(crate) fn parts(&self) -> (&str, &str, &[String]) {
        (&self.message, &self.excerpt, &self.hints)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn render(&self, style: TextStyle) -> String {
        let message = printable(&self.message);
        let mut text = format!("{} {message}", style.paint(Meaning::Bad, "error:"));
        if !self.excerpt.is_empty() {
            text.push('\n');
            text.push_str(self.excerpt.trim_end());
        }
        for hint in &self.hints {
            let hint = printable(hint);
            text.push_str(&format!("\n  {} {hint}", style.paint(Meaning::Name, "hint:")));
        }
        text
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let mut failed = Self::failed(error.to_string());
        failed.is_closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        failed
    }
}

impl From<IdError> for CliError {
    fn from(error: IdError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<TextError> for CliError {
    fn from(error: TextError) -> Self {
        let hint = match &error {
            TextError::Empty { .. } => "say in a few words what to do",
            TextError::TooLong { field: "title", .. } => {
                "shorten the title and put the rest into -d TEXT"
            }
            TextError::Control { field: "title", .. } => {
                "a title is one line; put the rest into -d TEXT"
            }
            TextError::TooLong { .. } => {
                "put long texts into a file in the repository and name it with --ref"
            }
            TextError::Control { .. } => "this text must be one line",
        };
        Self::failed(error.to_string()).hint(hint)
    }
}

impl From<ProjectError> for CliError {
    fn from(error: ProjectError) -> Self {
        let failed = Self::failed(error.to_string()).coded((&error).into());
        match error {
            ProjectError::NoRepository(_) => {
                failed.hint("start one with `git init`, or name it with -C DIR")
            }
            ProjectError::Bare(_) => {
                failed.hint("create a checkout with `git worktree add DIR` or `git clone`")
            }
            ProjectError::BrokenLink { .. } => failed.hint("`git worktree repair` may fix it"),
            ProjectError::Foreign { path, .. } => failed.hint(move_away(&path)),
            ProjectError::OwnedByOther { path, owner } => {
                let user =
                    owner.strip_prefix("uid ").map_or(owner.clone(), |uid| format!("'#{uid}'"));
                failed
                    .hint(format!(
                        "if it is yours now, take it over: sudo chown -R \"$(id -un)\" {}",
                        quoted(&path)
                    ))
                    .hint(format!("otherwise run ralph as its owner: sudo -u {user} ralph"))
            }
            ProjectError::Io { .. } => failed,
        }
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        let failed = Self::failed(error.to_string()).coded(ErrorCode::Git);
        match error {
            GitError::NotStarted(_) => failed.hint("install git, for example: apt-get install git"),
            GitError::NoIdentity { .. } => failed
                .hint("set your name: git config user.name \"Your Name\"")
                .hint("set your email: git config user.email you@example.com"),
            GitError::Busy { path } => failed.hint(format!(
                "if no git command is running, remove the stale lock: rm {}",
                quoted(&path)
            )),
            GitError::OtherBranch { expected: Some(branch), .. } => {
                failed.hint(format!("switch back: git switch {branch}"))
            }
            GitError::TooOld { floor, .. } => failed
                .hint(format!("install git {floor} or later, for example: apt-get install git")),
            GitError::Worktree(refusal) => failed.hint(refusal.hint(quoted)),
            GitError::Project(error) => Self::from(error),
            _ => failed,
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Refused(refusal) => exit_of(refusal),
            _ => Exit::Error,
        };
        let failed = Self::new(exit, error.to_string()).coded((&error).into());
        match error {
            StoreError::Refused(refusal) => hints_of(failed, &refusal),
            StoreError::Plan { refusal, .. } => {
                hints_of(failed, &refusal).hint("nothing was applied")
            }
            StoreError::Foreign { path, .. } => failed.hint(move_away(&path)),
            StoreError::Newer { .. } => failed.hint("update ralph, then try again; nothing was changed"),
            StoreError::Corrupt { path, .. } => failed
                .hint(format!("keep the file: cp {0} {0}.damaged", quoted(&path)))
                .hint(format!("save the readable part: sqlite3 {} .recover > rescued.sql", quoted(&path))),
            StoreError::Locked { .. } => failed
                .hint("another process is writing to it; find it with `fuser .ralph/progress.db` and try again"),
            StoreError::DiskFull { .. } => failed.hint("free some space and try again; nothing was lost"),
            StoreError::NotWritable { path, .. } => failed.hint(format!(
                "check its owner and permissions: ls -ld {}",
                quoted(path.parent().unwrap_or(&path))
            )),
            StoreError::Failed { .. } => failed,
        }
    }
}

fn move_away(path: &Path) -> String {
    format!("another tool uses it; move it away to use ralph here: mv {0} {0}.other", quoted(path))
}

/// A path that can be pasted into a shell.
pub(crate) fn quoted(path: &Path) -> String {
    ralph_core::shell::quoted(&path.display().to_string())
}

/// Not found and not allowed now are 2; requests that could never succeed are 1.
fn exit_of(refusal: &Refusal) -> Exit {
    match ErrorCode::from(refusal) {
        ErrorCode::TaskExists | ErrorCode::FeatureExists | ErrorCode::Cycle => Exit::Error,
        _ => Exit::NotEligible,
    }
}

/// Adds the commands to type that follow from the refusal alone.
fn hints_of(failed: CliError, refusal: &Refusal) -> CliError {
    use ralph_core::task::{NotClaimable, Status};
    let first = |parts: &[TaskId]| parts.first().map_or("ID", TaskId::as_str).to_owned();
    let failed = failed.hint(match refusal {
        Refusal::Transition { id, from: Status::Pending, to: Status::Done | Status::Failed } => {
            format!("claim it first: ralph task claim {id}")
        }
        Refusal::Transition {
            id,
            from: Status::Done,
            to: Status::Pending | Status::InProgress,
        } => format!("reopen it: ralph task reopen {id}"),
        Refusal::Transition { id, from: Status::Failed, .. }
        | Refusal::NotClaimable { id, why: NotClaimable::Status(Status::Failed) } => {
            format!("reopen it first: ralph task reset {id}")
        }
        Refusal::NotClaimable { id, why: NotClaimable::Blocked(_) } => {
            format!("see what it waits for: ralph task deps {id}")
        }
        Refusal::NotClaimable { why: NotClaimable::Held { .. }, .. } => {
            "a claim ends when its lease expires, or with `ralph task reset ID`".to_owned()
        }
        Refusal::NotClaimable { id, why: NotClaimable::HasChildren } => {
            format!("see its parts: ralph task tree, or ralph task show {id}")
        }
        Refusal::NothingReady { counts } if counts.total() == 0 => {
            "the plan is empty; add a task: ralph task add \"What to do\"".to_owned()
        }
        Refusal::NothingReady { counts } => format!("the plan has {counts}"),
        Refusal::ClaimLost { id, .. } => {
            format!("leave the task alone; see who holds it: ralph task show {id}")
        }
        Refusal::Exists { id } => {
            format!("change it: ralph task update {id}, or omit --id for a new one")
        }
        Refusal::UnknownFeature { name } => format!("create it: ralph feature create {name}"),
        Refusal::FeatureExists { name } => {
            format!("write its spec: ralph feature create {name} --edit, or --interview")
        }
        Refusal::HasUnfinishedParts { id, children } => {
            let parts: Vec<&str> = children.iter().map(TaskId::as_str).collect();
            format!("delete them together: ralph task delete {id} {}", parts.join(" "))
        }
        Refusal::FailedParts { children, .. } => {
            format!("reset its parts, and it reopens too: ralph task reset {}", first(children))
        }
        Refusal::DoneParts { children, .. } => {
            format!("reopen a part, and it reopens too: ralph task reopen {}", first(children))
        }
        Refusal::NoSession { id, .. } => format!("reopen it first: ralph task reopen {id}"),
        Refusal::OnlyParts { children, .. } => {
            format!("name one of them: ralph tell {} \"TEXT\"", first(children))
        }
        Refusal::TooManyMessages { id, .. } => {
            format!("let an attempt read them: ralph run {id}")
        }
        Refusal::NoApproval { .. } => "see what waits: ralph approve".to_owned(),
        Refusal::NotFinished { id, .. } => format!("to start it over: ralph task reset {id}"),
        Refusal::DoneIsFinal { id } => format!("reopen it first: ralph task reopen {id}"),
        Refusal::ParentClosed { .. } => "choose another parent, or omit --parent".to_owned(),
        Refusal::FeatureUnfinished { name, .. } => {
            format!("delete its tasks too: ralph feature delete {name} --confirm")
        }
        Refusal::UnknownAgent { .. } => "see all agents: ralph task agent list".to_owned(),
        Refusal::IsDeleted { id } => format!("recreate it: ralph task add --id {id} \"TITLE\""),
        _ => String::new(),
    });
    match refusal {
        Refusal::NothingReady { counts } if counts.open > 0 => {
            failed.hint("open tasks have unfinished parts or a failed parent: ralph task tree")
        }
        _ => failed,
    }
}

/// Adds hints that need the store: similar names, and tasks that are ready instead.
pub(crate) fn with_store(error: StoreError, store: &mut dyn Store) -> CliError {
    let mut extra = Vec::new();
    if let StoreError::Refused(refusal) | StoreError::Plan { refusal, .. } = &error {
        match refusal {
            Refusal::Unknown { id } => {
                let known = store.ids().unwrap_or_default();
                let near = nearest(id.as_str(), known.iter().map(TaskId::as_str), 3);
                extra.push(match near.as_slice() {
                    [] => "see all tasks: ralph task list".to_owned(),
                    near => format!("did you mean {}?", near.join(" or ")),
                });
            }
            Refusal::UnknownFeature { name } => {
                let known = store.features().unwrap_or_default();
                let names = known.iter().map(|feature| feature.name.as_str());
                if let [near, ..] = nearest(name.as_str(), names, 1).as_slice() {
                    extra.push(format!("did you mean {near}?"));
                }
            }
            Refusal::NotClaimable { .. } => {
                let ready = store.ready(&Scope::All, 3).unwrap_or_default();
                let ids: Vec<&str> = ready.iter().map(|task| task.id.as_str()).collect();
                extra.push(match ids.as_slice() {
                    [] => "nothing is ready now".to_owned(),
                    ids => format!("ready now: {}", ids.join(", ")),
                });
            }
            _ => {}
        }
    }
    extra.into_iter().fold(CliError::from(error), CliError::hint)
}

/// The task with this id, if there is one.
pub(crate) fn known_task(id: &TaskId, store: &mut dyn Store) -> Result<Option<Task>> {
    match store.get(id) {
        Ok(task) => Ok(Some(task)),
        Err(StoreError::Refused(Refusal::Unknown { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The feature with this name, which must be there.
pub(crate) fn known_feature(name: &FeatureName, store: &mut dyn Store) -> Result<Feature> {
    let found = store.features()?.into_iter().find(|feature| feature.name == *name);
    let unknown = || Refusal::UnknownFeature { name: name.clone() }.into();
    found.ok_or_else(|| with_store(unknown(), store))
}

pub(crate) fn feature_name(text: &str) -> Result<FeatureName> {
    FeatureName::new(text).map_err(|error| {
        failed!("{text:?} is not a valid feature name: {error}")
            .hint("use letters, digits, dots and dashes, such as login-form")
    })
}

pub(crate) fn task_id(text: &str) -> Result<TaskId> {
    TaskId::new(text).map_err(|error| {
        let shown: String = text.chars().take(60).collect();
        failed!("{shown:?} is not a valid task id: {error}").hint("see all tasks: ralph task list")
    })
}
