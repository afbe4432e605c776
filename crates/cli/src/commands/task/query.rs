//! Commands that only read: `list`, `show`, `tree`, `deps`, `ready`, `peek`.

use std::collections::{HashSet, VecDeque};

use clap::Args;
use ralph_core::TaskId;
use ralph_core::records::{Attempt, Evidence, LogEntry, Question};
use ralph_core::run::NeedsMerge;
use ralph_core::task::{StatusFilter, Task};
use ralph_core::time::Zone;
use ralph_engine::clock;
use ralph_engine::ports::{Filter, Scope, Store, StoreError};
use ralph_ui::tasks::{self, Chain, Details, Kv};

use crate::error::{Done, Result, feature_name, known_feature, task_id, with_store};
use crate::output::Output;
use crate::wiring::{Context, agent_id};

/// List tasks by priority, then in the order in which they were added
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task list --status open,active")]
pub(super) struct ListArgs {
    /// Only these statuses: open, active, blocked, waiting, done, failed, deleted
    #[arg(long, value_name = "S,S", value_delimiter = ',')]
    status: Vec<StatusFilter>,
    /// Include deleted tasks
    #[arg(long, conflicts_with = "status")]
    all: bool,
    /// Only tasks that this agent has claimed
    #[arg(long, value_name = "AGENT")]
    assignee: Option<String>,
    /// Only tasks of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Print markdown-KV
    #[arg(long)]
    markdown: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
}

pub(super) fn cmd_list(args: &ListArgs, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let feature = match scope(args.feature.as_deref(), &mut *store)? {
        Scope::Feature(name) => Some(name),
        _ => None,
    };
    let filter = Filter {
        statuses: args.status.clone(),
        deleted_too: args.all,
        assignee: args.assignee.as_deref().map(agent_id).transpose()?,
        feature,
        ..Filter::default()
    };
    let mut tasks = store.list(&filter)?;
    // Tasks of one priority stay in the order of their creation.
    tasks.sort_by_key(|task| task.priority);
    if args.markdown {
        let shown = tasks.iter().map(|task| Kv {
            task,
            status: task.shown().as_str(),
            assignee: true,
            claim: None,
        });
        return context.out.data(tasks::markdown_kv(shown));
    }
    if tasks.is_empty() && !args.json {
        tell_empty("no task matches; see all tasks: ralph task list", &mut *store, context)?;
    }
    table_or_json(&tasks, args.json, &mut context.out)
}

/// Says what to type when there is nothing to show.
fn tell_empty(otherwise: &str, store: &mut dyn Store, context: &mut Context<'_>) -> Done {
    context.out.conclude(match store.counts(&Scope::All)?.total() {
        0 => "no tasks yet; add one: ralph task add \"What to do\"",
        _ => otherwise,
    })
}

fn table_or_json(tasks: &[Task], json: bool, out: &mut Output) -> Done {
    if json {
        return out.json(&tasks.iter().map(tasks::task_json).collect::<Vec<_>>());
    }
    match tasks.is_empty() {
        true => Ok(()),
        false => out.data(tasks::table(tasks, out.style)),
    }
}

/// Show a task: its attempts, gate results, changes and cost
///
/// Shows the newest attempt in full and a line for each of the others. JSON has everything.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task show t-abcd2345 --with-deps")]
pub(super) struct ShowArgs {
    /// The task
    id: String,
    /// Also show the tasks that it waits for, their results, and the tasks that wait for it
    #[arg(long)]
    with_deps: bool,
    /// Show every attempt in full, and the whole log
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_show(args: &ShowArgs, context: &mut Context<'_>) -> Done {
    let looked = Looked::at(&task_id(&args.id)?, args.with_deps, context)?;
    let zone = clock::zone();
    let details = looked.details(args.all, &zone);
    if args.json {
        return context.out.json(&tasks::details(&looked.task, details));
    }
    context.out.data(tasks::page(&looked.task, details, context.out.style))
}

/// A task with everything that is recorded about it.
pub(crate) struct Looked {
    pub(crate) task: Task,
    needs_merge: Option<NeedsMerge>,
    log: Vec<LogEntry>,
    attempts: Vec<Attempt>,
    evidence: Vec<Evidence>,
    questions: Vec<Question>,
    /// The tasks that it waits for, and those that wait for it, if asked for.
    around: Option<(Vec<Task>, Vec<Task>)>,
}

impl Looked {
    pub(crate) fn at(id: &TaskId, with_deps: bool, context: &mut Context<'_>) -> Result<Self> {
        let mut store = context.reader()?;
        let store = &mut *store;
        let mut looked =
            Self::read(id, with_deps, store).map_err(|error| with_store(error, store))?;
        let task = &looked.task;
        let ready = if task.is_ready() { std::slice::from_ref(task) } else { &[] };
        looked.needs_merge =
            crate::status_query::merges_of(&context.project()?, store, ready).pop();
        Ok(looked)
    }

    fn read(id: &TaskId, with_deps: bool, store: &mut dyn Store) -> Result<Self, StoreError> {
        let task = store.get(id)?;
        let around = match with_deps {
            true => Some((blockers_of(&task, store)?, store.dependents(id)?)),
            false => None,
        };
        Ok(Self {
            task,
            needs_merge: None,
            log: store.log(id)?,
            attempts: store.attempts(id)?,
            evidence: store.evidence(id)?,
            questions: store.questions(Some(id), false)?,
            around,
        })
    }

    /// The same as displays take it, with times in a zone.
    pub(crate) fn details<'a>(&'a self, all: bool, zone: &'a Zone) -> Details<'a> {
        Details {
            zone,
            needs_merge: self.needs_merge.as_ref(),
            log: &self.log,
            attempts: &self.attempts,
            evidence: &self.evidence,
            questions: &self.questions,
            blockers: self.around.as_ref().map(|(blockers, _)| blockers.as_slice()),
            dependents: self.around.as_ref().map(|(_, dependents)| dependents.as_slice()),
            all,
        }
    }
}

fn blockers_of(task: &Task, store: &mut dyn Store) -> Result<Vec<Task>, StoreError> {
    task.deps.iter().map(|id| store.get(id)).collect()
}

/// Show the plan as a tree of tasks and their parts
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task tree")]
pub(super) struct TreeArgs {
    /// Print JSON: the tasks as `list` does, each with its parent
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_tree(args: &TreeArgs, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let tasks = store.list(&Filter::default())?;
    if tasks.is_empty() && !args.json {
        tell_empty("no tasks; see deleted ones: ralph task list --all", &mut *store, context)?;
    }
    tree_or_json(&tasks, args, context)
}

/// Prints tasks as a tree, or as JSON in the same order.
pub(super) fn tree_or_json(tasks: &[Task], args: &TreeArgs, context: &mut Context<'_>) -> Done {
    if args.json {
        return table_or_json(tasks, true, &mut context.out);
    }
    context.out.data(tasks::tree(tasks, context.out.style))
}

/// Show everything that a task waits for, and everything that waits for it
///
/// Both are trees: below each task are its own blockers, or the tasks that wait for it.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task deps t-abcd2345")]
pub(super) struct DepsArgs {
    /// The task
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_deps(args: &DepsArgs, context: &mut Context<'_>) -> Done {
    let id = task_id(&args.id)?;
    let mut store = context.reader()?;
    let store = &mut *store;
    let looked = (|| {
        let task = store.get(&id)?;
        let blockers = chain_from(&task, store, blockers_of)?;
        Ok((blockers, chain_from(&task, store, |task, store| store.dependents(&task.id))?))
    })();
    let (blockers, dependents) = looked.map_err(|error| with_store(error, store))?;
    if args.json {
        let both = serde_json::json!({
            "id": id,
            "blockers": tasks::chain_json(&blockers),
            "dependents": tasks::chain_json(&dependents),
        });
        return context.out.json(&both);
    }
    let style = context.out.style;
    for (word, chain) in [("waits for", &blockers), ("blocks", &dependents)] {
        if chain.tasks.is_empty() {
            context.out.line(format!("{id} {word} nothing"))?;
        } else {
            context.out.line(format!("{id} {word}:"))?;
            context.out.data(tasks::chain(&id, chain, style))?;
        }
    }
    Ok(())
}

/// Every task that can be reached from `start` by going to the `next` ones, the nearest first.
fn chain_from(
    start: &Task,
    store: &mut dyn Store,
    next: impl Fn(&Task, &mut dyn Store) -> Result<Vec<Task>, StoreError>,
) -> Result<Chain, StoreError> {
    let mut chain = Chain::default();
    let mut seen = HashSet::from([start.id.clone()]);
    let mut queue = VecDeque::from([(0, start.clone())]);
    while let Some((distance, task)) = queue.pop_front() {
        let found = next(&task, store)?;
        chain.next.insert(task.id.clone(), found.iter().map(|task| task.id.clone()).collect());
        for task in found {
            if seen.insert(task.id.clone()) {
                chain.tasks.push((distance + 1, task.clone()));
                queue.push_back((distance + 1, task));
            }
        }
    }
    Ok(chain)
}

/// List the tasks that are ready now, in the order in which ralph takes them
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task ready -n 5 --json")]
pub(super) struct ReadyArgs {
    /// Maximum number of tasks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only tasks of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_ready(args: &ReadyArgs, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let scope = scope(args.feature.as_deref(), &mut *store)?;
    // Ask for one more, to see whether there are more.
    let mut tasks = store.ready(&scope, args.limit.saturating_add(1))?;
    let more = tasks.len() > args.limit;
    tasks.truncate(args.limit);
    if tasks.is_empty() && !args.json {
        let why = "nothing is ready; see what is left: ralph task tree";
        tell_empty(why, &mut *store, context)?;
    }
    table_or_json(&tasks, args.json, &mut context.out)?;
    if more && !args.json {
        context
            .out
            .note(format!("there are more: ralph task ready -n {}", args.limit.saturating_mul(10)));
    }
    Ok(())
}

/// The scope that `--feature` names; an unknown feature is an error.
pub(super) fn scope(feature: Option<&str>, store: &mut dyn Store) -> Result<Scope> {
    let Some(name) = feature else { return Ok(Scope::All) };
    Ok(Scope::Feature(known_feature(&feature_name(name)?, store)?.name))
}

/// Show the first claimable tasks and all claimed ones, for an agent to choose from
///
/// Prints nothing, and succeeds, if there are none.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task peek -n 10")]
pub(super) struct PeekArgs {
    /// Maximum number of claimable tasks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Only tasks of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_peek(args: &PeekArgs, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let scope = scope(args.feature.as_deref(), &mut *store)?;
    let peek = store.peek(&scope, args.limit, clock::now())?;
    if args.json {
        return context.out.json(&tasks::peek_json(&peek.claimable, &peek.claimed));
    }
    let claimable =
        peek.claimable.iter().map(|task| Kv { task, status: "open", assignee: false, claim: None });
    let claimed =
        peek.claimed.iter().map(|task| Kv { task, status: "active", assignee: true, claim: None });
    context.out.data(tasks::markdown_kv(claimable.chain(claimed)))
}
