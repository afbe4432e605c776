//! Random commands on every store and on a naive model of the rules: all of them must agree.
//!
//! 256 runs of up to 60 commands; `PROPTEST_CASES` sets another number.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test, a surprise is a failure")]

#[path = "model/commands.rs"]
mod commands;
#[path = "model/rules.rs"]
mod rules;

use std::path::Path;

use commands::{AGENTS, Command, FEATURES, Fields, PlanLine, Scoped, TASKS, Who, command, start};
use proptest::collection::vec;
use proptest::prelude::*;
use ralph_core::ids::QuestionId;
use ralph_core::plan::{Done, PlanTask};
use ralph_core::task::{Actor, NewTask, Priority, Refusal, RetryLimit, Status, Task, TaskPatch};
use ralph_core::text::Title;
use ralph_core::{AgentId, FeatureId, FeatureName, Lease, TaskId, Timestamp};
use ralph_engine::ports::{
    ClaimRequest, DeleteWhich, Filter, Scope, Store, StoreError, SyncMode, SyncReport,
};
use ralph_engine::store::SqliteStore;
use ralph_testkit::memory_store;
use rules::{Answer, Model};

type Outcome = Result<(), TestCaseError>;

fn task_id(task: usize) -> TaskId {
    TaskId::new(format!("t{task}")).unwrap()
}

fn number(id: &TaskId) -> usize {
    id.as_str()[1..].parse().unwrap()
}

fn agent_id(agent: usize) -> AgentId {
    AgentId::new(format!("a{agent}")).unwrap()
}

fn feature_name(feature: usize) -> FeatureName {
    FeatureName::new(format!("f{feature}")).unwrap()
}

fn title(number: usize) -> Title {
    Title::new(format!("title {number}")).unwrap()
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn lease(seconds: i64) -> Lease {
    Lease::seconds(seconds.unsigned_abs()).unwrap()
}

fn scope(scoped: Scoped) -> Scope {
    match scoped {
        Scoped::All => Scope::All,
        Scoped::Feature(feature) => Scope::Feature(feature_name(feature)),
        Scoped::Task(task) => Scope::Task(task_id(task)),
    }
}

fn patch(fields: &Fields) -> TaskPatch {
    TaskPatch {
        priority: fields.priority.map(|number| Priority::new(number).unwrap()),
        spec: fields.spec.map(|spec| spec.map(|n| format!("spec {n}"))),
        feature: fields.feature.map(|feature| feature.map(feature_name)),
        parent: fields.parent.map(|parent| parent.map(task_id)),
        deps: fields.deps.as_ref().map(|deps| deps.iter().copied().map(task_id).collect()),
        ..TaskPatch::default()
    }
}

fn plan(lines: &[PlanLine]) -> Vec<PlanTask> {
    let line = |(index, line): (usize, &PlanLine)| PlanTask {
        line: index + 1,
        id: task_id(line.task),
        title: title(line.title),
        fields: patch(&line.fields),
        done: line.done.then_some(Done { at: None }),
        waits: None,
    };
    lines.iter().enumerate().map(line).collect()
}

/// Who that is, given who holds the task now.
fn actor(model: &Model, task: usize, who: Who) -> Actor {
    let claim = model.rows.get(&task).and_then(|row| row.claim.as_ref());
    let holder = claim.map_or(0, |claim| claim.agent);
    let generation = claim.map_or(1, |claim| claim.generation);
    match who {
        Who::User => Actor::User(AgentId::new("pat").unwrap()),
        Who::Holder => Actor::Agent(agent_id(holder), Some(generation)),
        Who::HolderUnnumbered => Actor::Agent(agent_id(holder), None),
        Who::HolderBefore => Actor::Agent(agent_id(holder), Some(generation - 1)),
        Who::Agent(agent) => Actor::Agent(agent_id(agent), None),
    }
}

fn tasks_answer(tasks: Vec<TaskId>) -> Answer {
    Answer::Tasks(tasks.iter().map(number).collect())
}

/// Carries a command out on a store. `model` is the state before it.
fn carry_out(
    store: &mut dyn Store,
    command: &Command,
    model: &Model,
    step: usize,
) -> Result<Answer, StoreError> {
    let now = time(model.now);
    let pat = actor(model, 0, Who::User);
    let by = |task: &usize, who: &Who| actor(model, *task, *who);
    let nothing = |()| Answer::Nothing;
    match command {
        Command::Wait(_) => Ok(Answer::Nothing),
        Command::Add(task, name, fields) => {
            let new = NewTask { fields: patch(fields), ..NewTask::titled(title(*name)) };
            store.add(task_id(*task), new, &pat, now).map(nothing)
        }
        Command::Update(task, name, fields) => {
            let patch = TaskPatch { title: Some(title(*name)), ..patch(fields) };
            store.update(&task_id(*task), patch, &pat, now).map(nothing)
        }
        Command::Delete(tasks) => {
            let ids = tasks.iter().copied().map(task_id).collect();
            store.delete(DeleteWhich::Ids(ids), &pat, now).map(tasks_answer)
        }
        Command::DeleteWith(filter) => {
            let group = Filter { statuses: filter.iter().copied().collect(), ..Filter::default() };
            store.delete(DeleteWhich::Matching(group), &pat, now).map(tasks_answer)
        }
        Command::Block(task, blocker) => {
            store.block(&task_id(*task), &task_id(*blocker), &pat, now).map(nothing)
        }
        Command::Unblock(task, blocker) => {
            store.unblock(&task_id(*task), &task_id(*blocker), &pat, now).map(nothing)
        }
        Command::Claim(agent, named, scoped, seconds) => {
            let request = ClaimRequest {
                agent: agent_id(*agent),
                task: named.map(task_id),
                scope: scope(*scoped),
                lease: lease(*seconds),
            };
            let task = store.claim(&request, now)?.task;
            assert_eq!(task, store.get(&task.id)?, "what a claim hands out");
            Ok(tasks_answer(vec![task.id]))
        }
        Command::Renew(task, who, seconds) => {
            let renewed = store.renew(&task_id(*task), lease(*seconds), &by(task, who), now)?;
            assert_eq!(renewed, store.get(&renewed.id)?, "what renew hands out");
            Ok(Answer::Nothing)
        }
        Command::Release(task, who) => {
            store.release(&task_id(*task), &by(task, who), now).map(nothing)
        }
        Command::Done(task, who) => {
            let result = step.is_multiple_of(2).then_some("{}");
            store.done(&task_id(*task), result, &by(task, who), now).map(nothing)
        }
        Command::Fail(task, who, for_good, limit) => {
            let limit = limit.map_or(RetryLimit::Unlimited, RetryLimit::AtMost);
            store
                .fail(&task_id(*task), "red", *for_good, limit, &by(task, who), now)
                .map(Answer::Became)
        }
        Command::Reset(task) => store.reset(&task_id(*task), &pat, now).map(nothing),
        Command::Reopen(task) => store.reopen(&[task_id(*task)], "again", &pat, now).map(nothing),
        Command::Hold(task, who) => store.hold(&task_id(*task), &by(task, who), now).map(nothing),
        Command::Ask(task, who) => store
            .ask(question(model.questions.len()), &task_id(*task), "which?", &by(task, who), now)
            .map(nothing),
        Command::Answer(number) => store.answer(&question(*number), "this", &pat, now).map(nothing),
        Command::Note(task) => store.note(&task_id(*task), "note", &pat, now).map(nothing),
        Command::Sync(lines, replace) => {
            let mode = sync_mode(*replace);
            let report = store.sync(&plan(lines), mode, &pat, now)?;
            let SyncReport { inserted, updated, deleted, skipped_done } = report;
            Ok(Answer::Synced(inserted, updated, deleted, skipped_done))
        }
        Command::Register(agent) => store.register_agent(&agent_id(*agent), None, now).map(nothing),
        Command::Deregister(agent) => {
            store.deregister_agent(&agent_id(*agent), &pat, now).map(tasks_answer)
        }
        Command::AddFeature(feature) => {
            let own = FeatureId::new(format!("f-{step}")).unwrap();
            store.add_feature(own, &feature_name(*feature), now).map(nothing)
        }
        Command::DeleteFeature(feature, confirmed) => {
            store.delete_feature(&feature_name(*feature), *confirmed, &pat, now).map(tasks_answer)
        }
    }
}

fn sync_mode(replace: bool) -> SyncMode {
    match replace {
        true => SyncMode::ReplaceSpecs,
        false => SyncMode::Add,
    }
}

fn question(number: usize) -> QuestionId {
    QuestionId::new(format!("q-{number}")).unwrap()
}

/// What was refused, and the line of the plan to blame. Anything but a refusal ends the test.
fn refusal(error: StoreError) -> Result<(Option<usize>, Refusal), TestCaseError> {
    match error {
        StoreError::Refused(refusal) => Ok((None, refusal)),
        StoreError::Plan { line, refusal } => Ok((Some(line), refusal)),
        other => Err(TestCaseError::fail(format!("not a refusal: {other:?}"))),
    }
}

/// The name of a refusal.
fn name_of(refusal: &Refusal) -> String {
    let text = format!("{refusal:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}

/// The stores may find different cycles in a plan that closes several; all else must be the same.
fn same_refusal(one: &(Option<usize>, Refusal), other: &(Option<usize>, Refusal)) -> bool {
    match (one, other) {
        ((Some(_), Refusal::Cycle { path: a }), (Some(_), Refusal::Cycle { path: b })) => {
            [a, b].iter().all(|path| path.first() == path.last())
        }
        _ => one == other,
    }
}

fn tasks_of(store: &mut dyn Store) -> Vec<Task> {
    let filter = Filter { deleted_too: true, ..Filter::default() };
    without_order(store.list(&filter).unwrap())
}

/// The order is a store's own way to count.
fn without_order(mut tasks: Vec<Task>) -> Vec<Task> {
    for task in &mut tasks {
        task.order = 0;
    }
    tasks
}

fn numbers(tasks: &[Task]) -> Vec<usize> {
    tasks.iter().map(|task| number(&task.id)).collect()
}

/// Whether a stored task is what the model says.
fn agrees(model: &Model, task: &Task) -> Outcome {
    let which = number(&task.id);
    let row = &model.rows[&which];
    prop_assert_eq!(task.status, row.status, "status of {}", task.id);
    prop_assert_eq!(&task.title, &title(row.title));
    prop_assert_eq!(i64::from(task.priority), row.priority);
    prop_assert_eq!(&task.spec, &row.spec.map(|n| format!("spec {n}")));
    prop_assert_eq!(&task.feature, &row.feature.map(feature_name));
    prop_assert_eq!(&task.parent, &row.parent.map(task_id));
    let deps = task.deps.iter().map(number).collect();
    prop_assert_eq!(&row.deps, &deps, "deps of {}", task.id);
    prop_assert_eq!(task.generation, row.generation);
    prop_assert_eq!(task.retry_count, row.retries, "retries of {}", task.id);
    let claim = task.claim.as_ref();
    let claim = claim.map(|c| (c.agent.clone(), c.generation, c.lease_expires_at));
    let wanted = row.claim.as_ref();
    let wanted = wanted.map(|c| (agent_id(c.agent), c.generation, time(c.expires)));
    prop_assert_eq!(claim, wanted, "claim on {}", task.id);
    let neighbors = task.neighbors;
    prop_assert_eq!(neighbors.open_blockers as usize, model.open_blockers(which));
    prop_assert_eq!(neighbors.children as usize, model.children(which).len());
    prop_assert_eq!(neighbors.failed_above, model.failed_above(which));
    // What must always hold.
    prop_assert_eq!(task.claim.is_some(), task.status == Status::InProgress);
    prop_assert_eq!(task.done_at.is_some(), task.status == Status::Done);
    Ok(())
}

/// Whether both stores show what the model says.
fn compare(model: &Model, stores: &mut [Box<dyn Store>; 2], limit: usize) -> Outcome {
    let [one, other] = stores;
    let tasks = tasks_of(one.as_mut());
    prop_assert_eq!(&tasks, &tasks_of(other.as_mut()), "the stores differ");
    prop_assert_eq!(numbers(&tasks), model.by_order());
    for task in &tasks {
        agrees(model, task)?;
    }
    let now = time(model.now);
    let other = match limit % 2 {
        0 => Scoped::Feature(limit / 2 % FEATURES),
        _ => Scoped::Task(limit % TASKS),
    };
    for store in stores {
        for scoped in [Scoped::All, other] {
            let scope = scope(scoped);
            let first = |tasks: Vec<usize>| tasks.into_iter().take(limit).collect::<Vec<_>>();
            let ready = store.ready(&scope, limit).unwrap();
            prop_assert_eq!(numbers(&ready), first(model.ready(scoped)), "ready");
            let peek = store.peek(&scope, limit, now).unwrap();
            let claimable = numbers(&peek.claimable);
            prop_assert_eq!(claimable, first(model.claimable(scoped)), "claimable");
            prop_assert_eq!(numbers(&peek.claimed), model.held(scoped), "held");
            for task in without_order([ready, peek.claimable, peek.claimed].concat()) {
                prop_assert!(tasks.contains(&task), "{:?} is not as listed", task.id);
            }
            prop_assert_eq!(store.counts(&scope).unwrap(), model.counts(scoped));
        }
        prop_assert!(store.verify().is_ok(), "{:?}", store.verify());
    }
    Ok(())
}

/// Compares what is kept beside the tasks.
fn compare_records(model: &Model, [one, other]: &mut [Box<dyn Store>; 2]) -> Outcome {
    for task in model.by_order().into_iter().map(task_id) {
        prop_assert_eq!(one.log(&task).unwrap(), other.log(&task).unwrap());
        let waiting = |store: &mut Box<dyn Store>| numbers(&store.dependents(&task).unwrap());
        prop_assert_eq!(waiting(one), waiting(other));
    }
    let asked = one.questions(None, false).unwrap();
    prop_assert_eq!(&asked, &other.questions(None, false).unwrap());
    let open: Vec<(usize, bool)> =
        asked.iter().map(|question| (number(&question.task), question.answer.is_none())).collect();
    prop_assert_eq!(&open, &model.questions);
    prop_assert_eq!(one.features().unwrap(), other.features().unwrap());
    let agents = one.agents().unwrap();
    prop_assert_eq!(&agents, &other.agents().unwrap());
    let known = (0..AGENTS).filter(|agent| model.agents.contains(agent));
    prop_assert_eq!(agents.len(), known.count());
    Ok(())
}

/// A plan that is brought in twice changes nothing the second time.
fn again(store: &mut dyn Store, lines: &[PlanLine], replace: bool, now: i64) -> Outcome {
    let before = tasks_of(store);
    let pat = Actor::User(AgentId::new("pat").unwrap());
    let report = store.sync(&plan(lines), sync_mode(replace), &pat, time(now));
    let report = report.map_err(|error| TestCaseError::fail(format!("twice: {error:?}")))?;
    let changed = (report.inserted, report.updated, report.deleted);
    prop_assert_eq!(changed, (0, 0, 0), "the same plan again");
    prop_assert_eq!(before, tasks_of(store), "the same plan again");
    Ok(())
}

fn folder() -> tempfile::TempDir {
    let fast = Path::new("/dev/shm");
    match fast.is_dir() {
        true => tempfile::tempdir_in(fast).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// Makes both features and the first tasks, then carries out the commands.
fn live(start: &[Command], commands: &[Command]) -> Outcome {
    let folder = folder();
    let path = folder.path().join("progress.db");
    let mut stores: [Box<dyn Store>; 2] =
        [Box::new(memory_store()), Box::new(SqliteStore::open(&path).unwrap())];
    let mut model = Model::default();
    let features = (0..FEATURES).map(Command::AddFeature);
    let commands = features.chain(start.iter().chain(commands).cloned());
    for (step, command) in commands.enumerate() {
        let command = &command.aimed(&model);
        model.now += match command {
            Command::Wait(seconds) => *seconds,
            _ => 1,
        };
        let wanted = model.run(command);
        let applied = wanted.is_ok();
        let [one, other] =
            stores.each_mut().map(|store| carry_out(store.as_mut(), command, &model, step));
        match wanted {
            Ok((next, answer)) => {
                for reported in [one, other] {
                    let reported = reported.map_err(|error| {
                        TestCaseError::fail(format!("step {step}, {command:?}: {error:?}"))
                    })?;
                    prop_assert_eq!(&reported, &answer, "step {}, {:?}", step, command);
                }
                for (task, row) in &model.rows {
                    prop_assert!(next.rows[task].generation >= row.generation);
                }
                model = next;
            }
            Err(reasons) => {
                let reported = [one, other].map(|reported| reported.map_err(refusal));
                let [Err(one), Err(other)] = reported else {
                    let text = format!("step {step}, {command:?}: {reported:?}, not {reasons:?}");
                    return Err(TestCaseError::fail(text));
                };
                let (one, other) = (one?, other?);
                prop_assert!(same_refusal(&one, &other), "{:?} and {:?}", one, other);
                for (_, refusal) in [one, other] {
                    let name = name_of(&refusal);
                    prop_assert!(
                        reasons.contains(name.as_str()),
                        "step {}, {:?}: {}, not {:?}",
                        step,
                        command,
                        name,
                        reasons
                    );
                }
            }
        }
        compare(&model, &mut stores, 1 + step % TASKS)
            .map_err(|error| TestCaseError::fail(format!("step {step}, {command:?}: {error}")))?;
        if let (Command::Sync(lines, replace), true) = (command, applied) {
            for store in &mut stores {
                again(store.as_mut(), lines, *replace, model.now)?;
            }
        }
    }
    compare_records(&model, &mut stores)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_stores_do_what_the_rules_say(
        start in start(),
        commands in vec(command(), 1..60),
    ) {
        live(&start, &commands)?;
    }
}
