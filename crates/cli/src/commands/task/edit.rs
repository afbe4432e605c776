//! Adding and changing tasks: `add`, `create`, `update`, `delete`, `block`, `unblock`.

use clap::Args;
use ralph_core::TaskId;
use ralph_core::amounts::count;
use ralph_core::task::{NewTask, Priority, Status, StatusFilter, TaskPatch};
use ralph_core::text::{self, Title};
use ralph_engine::clock;
use ralph_engine::ports::{DeleteWhich, Filter, StoreError};

use crate::error::{CliError, Done, Result, feature_name, task_id, with_store};
use crate::wiring::Context;

/// The fields that `add` and `update` share. An empty value clears a field.
#[derive(Debug, Args)]
pub(super) struct FieldArgs {
    /// The priority, 0 first [default: 2]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// A category of your choice
    #[arg(short, long)]
    category: Option<String>,
    /// What to do, in detail; - reads standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) description: Option<String>,
    /// The steps: a JSON array of strings
    #[arg(short, long, value_name = "JSON")]
    steps: Option<String>,
    /// The specification that the task comes from
    #[arg(short = 'r', long, value_name = "SPEC")]
    spec: Option<String>,
    /// A reference: an issue, a section, a link
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    /// The tasks that must be done first, by id
    #[arg(long, value_name = "ID,ID")]
    deps: Option<String>,
    /// The parent: the task that this one is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The feature that the task belongs to
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Globs of the files that the task will change
    #[arg(long, value_name = "GLOB,GLOB")]
    touches: Option<String>,
}

impl FieldArgs {
    fn task(&self, id: Option<&str>, title: &str, context: &mut Context<'_>) -> Result<NewTask> {
        let id = id.map(task_id).transpose()?;
        Ok(NewTask { id, title: Title::new(title)?, fields: self.patch(context)? })
    }

    fn patch(&self, context: &mut Context<'_>) -> Result<TaskPatch> {
        let label = |field: &'static str, value: &Option<String>| match value {
            None => Ok(None),
            Some(value) => text::label(field, value).map(Some).map_err(CliError::from),
        };
        let ids = |value: &str| {
            let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(task_id).collect::<Result<Vec<TaskId>>>()
        };
        Ok(TaskPatch {
            title: None,
            description: match self.description.as_deref() {
                None => None,
                Some(text) => Some(text::long("description", context.argument(text)?)?),
            },
            priority: self
                .priority
                .map(Priority::new)
                .transpose()
                .map_err(|error| CliError::failed(error.to_string()))?,
            category: label("category", &self.category)?,
            spec: label("spec", &self.spec)?,
            reference: label("reference", &self.reference)?,
            parent: match self.parent.as_deref() {
                None => None,
                Some("") => Some(None),
                Some(id) => Some(Some(task_id(id)?)),
            },
            feature: match self.feature.as_deref() {
                None => None,
                Some("") => Some(None),
                Some(name) => Some(Some(feature_name(name)?)),
            },
            branch: None,
            touches: match &self.touches {
                None => None,
                Some(globs) => Some(lines("touches", globs.split(','))?),
            },
            steps: self.steps.as_deref().map(steps).transpose()?,
            deps: self.deps.as_deref().map(ids).transpose()?,
        })
    }
}

fn lines<'a>(field: &'static str, texts: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let mut list = Vec::new();
    for one in texts {
        list.extend(text::label(field, one)?);
    }
    Ok(list)
}

fn steps(json: &str) -> Result<Vec<String>> {
    if json.trim().is_empty() {
        return Ok(vec![]);
    }
    let steps: Vec<String> = serde_json::from_str(json).map_err(|error| {
        failed!("the steps are not a JSON array of strings: {error}")
            .hint(r#"write them like this: -s '["first","second"]'"#)
    })?;
    lines("step", steps.iter().map(String::as_str))
}

/// Add a task and print its id
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task add \"Write the parser\" -p 1 --deps t-abcd2345")]
pub(super) struct AddArgs {
    /// What to do, in one line
    title: String,
    /// Your own id for it, such as task-cli/01
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    pub(super) fields: FieldArgs,
}

impl AddArgs {
    pub(super) fn read(&self, context: &mut Context<'_>) -> Result<NewTask> {
        self.fields.task(self.id.as_deref(), &self.title, context)
    }
}

pub(super) fn cmd_add(args: &AddArgs, context: &mut Context<'_>) -> Done {
    let id = add(&args.read(context)?, context)?;
    context.out.line(id)
}

/// Add a task with your own id and print the id
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task create task-cli/01 \"Write the parser\"")]
pub(super) struct CreateArgs {
    /// The id
    id: String,
    /// What to do, in one line
    title: String,
    #[command(flatten)]
    pub(super) fields: FieldArgs,
}

impl CreateArgs {
    pub(super) fn read(&self, context: &mut Context<'_>) -> Result<NewTask> {
        self.fields.task(Some(&self.id), &self.title, context)
    }
}

pub(super) fn cmd_create(args: &CreateArgs, context: &mut Context<'_>) -> Done {
    let id = add(&args.read(context)?, context)?;
    context.out.line(id)
}

/// Adds a task, with an id of ralph's where it has none. Returns its id.
pub(crate) fn add(new: &NewTask, context: &mut Context<'_>) -> Result<TaskId> {
    let id = &new.id;
    let by = context.actor()?;
    let mut ids = context.ids();
    let mut store = context.store()?;
    loop {
        let chosen = match id {
            Some(id) => id.clone(),
            None => ids.task()?,
        };
        match store.add(chosen.clone(), new.clone(), &by, clock::now()) {
            Ok(()) => return Ok(chosen),
            // Random ids of eight letters can collide.
            Err(StoreError::Refused(ralph_core::task::Refusal::Exists { .. })) if id.is_none() => {}
            Err(error) => return Err(with_store(error, &mut *store)),
        }
    }
}

/// Change fields or the status of a task
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task update t-abcd2345 -p 0 --deps \"\"")]
pub(super) struct UpdateArgs {
    /// The task
    id: String,
    /// A new title
    #[arg(long)]
    title: Option<String>,
    /// A new status, if the old one allows it
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    pub(super) fields: FieldArgs,
}

impl UpdateArgs {
    pub(super) fn read(
        &self,
        context: &mut Context<'_>,
    ) -> Result<(TaskId, TaskPatch, Option<Status>)> {
        let id = task_id(&self.id)?;
        let mut patch = self.fields.patch(context)?;
        patch.title = self.title.as_deref().map(Title::new).transpose()?;
        let status = self.status.as_deref().map(parse_status).transpose()?;
        if patch.is_empty() && status.is_none() {
            return Err(CliError::usage("nothing to change")
                .hint("name what to change, for example: -p 0, --title TEXT or --status open"));
        }
        Ok((id, patch, status))
    }
}

pub(super) fn cmd_update(args: &UpdateArgs, context: &mut Context<'_>) -> Done {
    let (id, patch, status) = args.read(context)?;
    let limit = context.retry_limit()?;
    context.change(|store, by, now| match status {
        Some(to) => store.amend(&id, patch, to, limit, by, now),
        None => store.update(&id, patch, by, now),
    })
}

fn parse_status(text: &str) -> Result<Status> {
    text.parse().map_err(|error: ralph_core::task::UnknownStatus| match text {
        "blocked" => CliError::usage("a task is blocked by its blockers, not by a status")
            .hint("add a blocker: ralph task block ID --by ID"),
        _ => CliError::usage(error.to_string()),
    })
}

/// Delete tasks from the plan; their history stays
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ralph task delete t-abcd2345\n         ralph task delete --status open,failed --category docs"
)]
pub(super) struct DeleteArgs {
    /// The tasks
    #[arg(required_unless_present_any = ["status", "all", "spec", "category"])]
    #[arg(conflicts_with_all = ["status", "all", "spec", "category"])]
    ids: Vec<String>,
    /// Every task with one of these statuses; done ones stay
    #[arg(long, value_name = "S,S", value_delimiter = ',', conflicts_with = "all")]
    status: Vec<StatusFilter>,
    /// Every task that is not done
    #[arg(long)]
    all: bool,
    /// With --status or --all: only tasks of this spec
    #[arg(long)]
    spec: Option<String>,
    /// With --status or --all: only tasks in this category
    #[arg(long)]
    category: Option<String>,
    /// Confirm --all
    #[arg(long, requires = "all")]
    confirm: bool,
}

impl DeleteArgs {
    /// The named tasks; `None` for a whole group.
    pub(super) fn named(&self) -> Result<Option<Vec<TaskId>>> {
        match self.ids.is_empty() {
            true => Ok(None),
            false => self.ids.iter().map(|id| task_id(id)).collect::<Result<_, _>>().map(Some),
        }
    }
}

pub(super) fn cmd_delete(args: &DeleteArgs, context: &mut Context<'_>) -> Done {
    let which = match args.named()? {
        Some(ids) => DeleteWhich::Ids(ids),
        None => DeleteWhich::Matching(group(args, context)?),
    };
    let deleted = context.change(|store, by, now| store.delete(which, by, now))?;
    if deleted.is_empty() {
        context.out.note("nothing to delete; done and deleted tasks stay as they are");
    }
    for id in deleted {
        context.out.line(id)?;
    }
    Ok(())
}

/// The tasks that the options name, once the user has confirmed that it may be all of them.
fn group(args: &DeleteArgs, context: &mut Context<'_>) -> Result<Filter> {
    if args.status.is_empty() && !args.all {
        return Err(CliError::usage("--spec and --category need --status or --all")
            .hint("for example: ralph task delete --status open --category docs"));
    }
    let group = Filter {
        statuses: args.status.clone(),
        spec: args.spec.clone(),
        category: args.category.clone(),
        ..Filter::default()
    };
    if args.all && !args.confirm {
        let tasks = context.reader()?.list(&group)?;
        let left = tasks.iter().filter(|task| task.status != Status::Done).count();
        let tasks = count(left as u64, "task");
        return Err(usage!("this would delete {tasks}").hint("to delete them, add --confirm"));
    }
    Ok(group)
}

/// Make a task wait for another task
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task block t-abcd2345 --by t-efgh2345")]
pub(super) struct BlockArgs {
    /// The task that will wait
    id: String,
    /// The task that must be done first
    #[arg(long, value_name = "ID")]
    by: String,
}

impl BlockArgs {
    pub(super) fn read(&self) -> Result<(TaskId, TaskId)> {
        Ok((task_id(&self.id)?, task_id(&self.by)?))
    }
}

pub(super) fn cmd_block(args: &BlockArgs, context: &mut Context<'_>) -> Done {
    let (id, blocker) = args.read()?;
    context.change(|store, by, now| store.block(&id, &blocker, by, now))
}

/// Stop a task from waiting for another task
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task unblock t-abcd2345 --by t-efgh2345")]
pub(super) struct UnblockArgs {
    /// The task that waits
    id: String,
    /// The task that it waits for
    #[arg(long, value_name = "ID")]
    by: String,
}

impl UnblockArgs {
    pub(super) fn read(&self) -> Result<(TaskId, TaskId)> {
        Ok((task_id(&self.id)?, task_id(&self.by)?))
    }
}

pub(super) fn cmd_unblock(args: &UnblockArgs, context: &mut Context<'_>) -> Done {
    let (id, blocker) = args.read()?;
    context.change(|store, by, now| store.unblock(&id, &blocker, by, now))
}
