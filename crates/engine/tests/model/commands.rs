//! Random commands.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use ralph_core::task::{Status, StatusFilter};

use super::rules::{Model, Row};

pub(crate) const TASKS: usize = 8;
pub(crate) const FEATURES: usize = 2;
pub(crate) const AGENTS: usize = 3;
const SPECS: usize = 2;

/// Who does it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    User,
    /// Whoever holds the task, with the number of the claim.
    Holder,
    /// The same, without the number.
    HolderUnnumbered,
    /// The same, with the number of the claim before.
    HolderBefore,
    Agent(usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Scoped {
    All,
    Feature(usize),
    Task(usize),
}

/// Fields of a patch; `None` leaves one as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    pub(crate) priority: Option<i64>,
    pub(crate) spec: Option<Option<usize>>,
    pub(crate) feature: Option<Option<usize>>,
    pub(crate) parent: Option<Option<usize>>,
    pub(crate) deps: Option<BTreeSet<usize>>,
}

impl Fields {
    pub(crate) fn write(&self, row: &mut Row, title: usize) {
        row.title = title;
        row.priority = self.priority.unwrap_or(row.priority);
        row.spec = self.spec.unwrap_or(row.spec);
        row.feature = self.feature.unwrap_or(row.feature);
        row.parent = self.parent.unwrap_or(row.parent);
        row.deps = self.deps.clone().unwrap_or(row.deps.clone());
    }
}

/// Fields for one task. Mostly they point at tasks with a smaller number, which closes no cycle.
fn fields_of(task: usize, often: f64) -> impl Strategy<Value = Fields> {
    (fields(often), prop::bool::weighted(0.8)).prop_map(move |(mut fields, downhill)| {
        if downhill && task > 0 {
            let lower = |other: usize| other % task;
            fields.parent = fields.parent.map(|parent| parent.map(lower));
            fields.deps = fields.deps.map(|deps| deps.into_iter().map(lower).collect());
        } else if downhill {
            fields.parent = fields.parent.map(|_| None);
            fields.deps = fields.deps.map(|_| BTreeSet::new());
        }
        fields
    })
}

/// A line of a plan.
#[derive(Debug, Clone)]
pub(crate) struct PlanLine {
    pub(crate) task: usize,
    pub(crate) title: usize,
    pub(crate) fields: Fields,
    pub(crate) done: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Command {
    Wait(i64),
    Add(usize, usize, Fields),
    Update(usize, usize, Fields),
    Delete(Vec<usize>),
    /// Without a filter: all.
    DeleteWith(Option<StatusFilter>),
    Block(usize, usize),
    Unblock(usize, usize),
    Claim(usize, Option<usize>, Scoped, i64),
    Renew(usize, Who, i64),
    Release(usize, Who),
    Done(usize, Who),
    /// For good, and so many retries.
    Fail(usize, Who, bool, Option<u32>),
    Reset(usize),
    Reopen(usize),
    Hold(usize, Who),
    Ask(usize, Who),
    Answer(usize),
    Note(usize),
    /// With `true`, the plan replaces its specs.
    Sync(Vec<PlanLine>, bool),
    Register(usize),
    Deregister(usize),
    AddFeature(usize),
    DeleteFeature(usize, bool),
}

impl Command {
    /// The command as it is, or about a task where it has something to do. Blind numbers would
    /// mostly be refused.
    pub(crate) fn aimed(&self, model: &Model) -> Command {
        let with = |keep: &dyn Fn(&Row) -> bool| -> Vec<usize> {
            let rows = model.rows.iter();
            rows.filter(|(_, row)| keep(row)).map(|(id, _)| *id).collect()
        };
        let pick = |among: Vec<usize>, number: usize| match among.len() {
            0 => number,
            len => among[number % len],
        };
        let held = |number: usize, who: Who| match who {
            Who::Holder | Who::HolderUnnumbered | Who::HolderBefore => {
                pick(with(&|row| row.claim.is_some()), number)
            }
            Who::User | Who::Agent(_) => number,
        };
        match self.clone() {
            Command::Add(task, title, fields) if model.rows.len() == TASKS => {
                let gone = with(&|row| row.status == Status::Deleted);
                Command::Add(pick(gone, task), title, fields)
            }
            Command::Claim(agent, Some(task), scope, lease) if task % 2 == 0 => {
                let task = pick(model.claimable(scope), task);
                Command::Claim(agent, Some(task), scope, lease)
            }
            Command::Unblock(task, blocker) => {
                let task = pick(with(&|row| !row.deps.is_empty()), task);
                let deps = model.rows.get(&task).map(|row| row.deps.clone());
                let deps = deps.into_iter().flatten().chain([blocker]).collect();
                Command::Unblock(task, pick(deps, blocker))
            }
            Command::Renew(task, who, lease) => Command::Renew(held(task, who), who, lease),
            Command::Release(task, who) => Command::Release(held(task, who), who),
            Command::Done(task, who) => Command::Done(held(task, who), who),
            Command::Fail(task, who, for_good, limit) => {
                Command::Fail(held(task, who), who, for_good, limit)
            }
            Command::Ask(task, who) => Command::Ask(held(task, who), who),
            Command::Reset(task) if task % 2 == 0 => {
                Command::Reset(pick(with(&|row| row.status == Status::Failed), task))
            }
            Command::Reopen(task) if task % 3 > 0 => {
                Command::Reopen(pick(with(&|row| row.status == Status::Done), task))
            }
            Command::Answer(number) if number > 0 => {
                let questions = model.questions.iter().enumerate();
                let open = questions.filter(|(_, asked)| asked.1);
                Command::Answer(pick(open.map(|(index, _)| index).collect(), number))
            }
            other => other,
        }
    }
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        2 => Just(Who::User),
        5 => Just(Who::Holder),
        2 => Just(Who::HolderUnnumbered),
        1 => Just(Who::HolderBefore),
        2 => (0..AGENTS).prop_map(Who::Agent),
    ]
}

fn scope() -> impl Strategy<Value = Scoped> {
    prop_oneof![
        3 => Just(Scoped::All),
        1 => (0..FEATURES).prop_map(Scoped::Feature),
        1 => (0..TASKS).prop_map(Scoped::Task),
    ]
}

fn fields(often: f64) -> impl Strategy<Value = Fields> {
    (
        weighted(often, 0i64..4),
        weighted(often, of(0..SPECS)),
        weighted(often / 2.0, of(0..FEATURES)),
        weighted(often, of(0..TASKS)),
        weighted(often, btree_set(0..TASKS, 0..3)),
    )
        .prop_map(|(priority, spec, feature, parent, deps)| Fields {
            priority,
            spec,
            feature,
            parent,
            deps,
        })
}

fn line() -> impl Strategy<Value = PlanLine> {
    (0..TASKS, 0usize..3, prop::bool::weighted(0.2)).prop_flat_map(|(task, title, done)| {
        fields_of(task, 0.4).prop_map(move |fields| PlanLine { task, title, fields, done })
    })
}

fn filter() -> impl Strategy<Value = Option<StatusFilter>> {
    let stored = prop::sample::select(Status::ALL.to_vec()).prop_map(StatusFilter::Stored);
    of(prop_oneof![4 => stored, 1 => Just(StatusFilter::Blocked)])
}

/// Some tasks that hang together, to begin with.
pub(crate) fn start() -> impl Strategy<Value = Vec<Command>> {
    prop_oneof![1 => 0..4usize, 4 => 4..=TASKS].prop_flat_map(|tasks| {
        let add = |task| fields_of(task, 0.4).prop_map(move |f| Command::Add(task, 0, f));
        (0..tasks).map(add).collect::<Vec<_>>()
    })
}

pub(crate) fn command() -> impl Strategy<Value = Command> {
    let task = || 0..TASKS;
    let lease = || prop_oneof![1i64..10, 30i64..90];
    let plain = prop_oneof![
        3 => (1i64..60).prop_map(Command::Wait),
        8 => (task(), 0usize..3).prop_flat_map(|(task, title)| {
            fields_of(task, 0.4).prop_map(move |fields| Command::Add(task, title, fields))
        }),
        12 => (task(), 0usize..3).prop_flat_map(|(task, title)| {
            fields_of(task, 0.3).prop_map(move |fields| Command::Update(task, title, fields))
        }),
        4 => vec(task(), 1..3).prop_map(Command::Delete),
        1 => filter().prop_map(Command::DeleteWith),
        4 => (task(), task()).prop_map(|(t, b)| Command::Block(t, b)),
        3 => (task(), task()).prop_map(|(t, b)| Command::Unblock(t, b)),
        14 => (0..AGENTS, scope(), lease()).prop_map(|(a, s, l)| Command::Claim(a, None, s, l)),
        8 => (0..AGENTS, task(), lease())
            .prop_map(|(a, t, l)| Command::Claim(a, Some(t), Scoped::All, l)),
        3 => (task(), who(), lease()).prop_map(|(t, w, l)| Command::Renew(t, w, l)),
    ];
    let rest = prop_oneof![
        2 => (task(), who()).prop_map(|(t, w)| Command::Release(t, w)),
        12 => (task(), who()).prop_map(|(t, w)| Command::Done(t, w)),
        9 => (task(), who(), any::<bool>(), of(0u32..3))
            .prop_map(|(t, w, f, l)| Command::Fail(t, w, f, l)),
        4 => task().prop_map(Command::Reset),
        4 => task().prop_map(Command::Reopen),
        2 => (task(), who()).prop_map(|(t, w)| Command::Hold(t, w)),
        3 => (task(), who()).prop_map(|(t, w)| Command::Ask(t, w)),
        3 => (0usize..4).prop_map(Command::Answer),
        1 => task().prop_map(Command::Note),
        6 => (vec(line(), 1..4), any::<bool>()).prop_map(|(l, r)| Command::Sync(l, r)),
    ];
    let rare = prop_oneof![
        2 => (0..AGENTS).prop_map(Command::Register),
        2 => (0..AGENTS).prop_map(Command::Deregister),
        3 => (0..FEATURES).prop_map(Command::AddFeature),
        1 => (0..FEATURES, any::<bool>()).prop_map(|(f, c)| Command::DeleteFeature(f, c)),
    ];
    prop_oneof![58 => plain, 42 => rest, 8 => rare]
}
