//! Imports a whole plan. Everything is looked up and checked on the way; any refusal rolls back the whole
//! transaction, so a plan is applied as a whole or not at all.
//!
//! Order: rows first (new, revived, changed), then the edges between them, then one check for cycles over the
//! finished graph, then the consequences (deleted, done, parents), then a check that everything below a closed
//! parent is done.

use std::collections::{BTreeSet, HashMap, HashSet};

use ralph_core::TaskId;
use ralph_core::plan::PlanTask;
use ralph_core::records::LogKind;
use ralph_core::task::{Refusal, Status, Task, cycle_in, satisfies};

use super::editing::apply_fields;
use super::{Change, State, Table, at_line};
use crate::ports::{DeleteWhich, Result, StoreError, SyncMode, SyncReport};

type Existing<K> = HashMap<TaskId, (K, Task)>;

/// What an edge of the plan leads to: another line, or a task that only the store has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target<K> {
    Line(usize),
    Store(K, Status),
}

/// A line of the plan on its way into the store.
struct SyncRow<'p, K> {
    plan: &'p PlanTask,
    /// What it was, deleted or not.
    before: Option<&'p (K, Task)>,
    /// What it is once its row is written. One that the plan calls done but that may have parts is
    /// pending until all edges are known.
    status: Status,
    /// The tasks that it waits for, each once.
    blockers: Vec<Target<K>>,
}

impl<K> SyncRow<'_, K> {
    /// What it was, unless it was deleted.
    fn live_before(&self) -> Option<&Task> {
        self.before.map(|(_, task)| task).filter(|task| task.status != Status::Deleted)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Done before: untouched.
    Skipped,
    /// New; its unfinished blockers are counted already.
    New,
    Revived,
    /// Here before, and whether a field changed.
    Kept {
        changed: bool,
    },
}

type Written<K> = (K, Fate);

/// What the edges of a plan came to.
struct Edges<K> {
    added: bool,
    /// Tasks put below a closed parent, and the refusal if they are not done in the end.
    below_closed: Vec<(K, StoreError)>,
}

impl<T: Table> Change<'_, T> {
    pub(super) fn sync(&mut self, plan: &[PlanTask], mode: SyncMode) -> Result<SyncReport> {
        let in_plan = lines_of(plan)?;
        let existing = self.existing(plan)?;
        let lines = self.lines(plan, &in_plan, &existing)?;
        let mut written = self.write_rows(&lines)?;
        let edges = self.write_edges(&lines, &mut written)?;
        if edges.added {
            self.refuse_cycles(plan)?;
        }

        let mut report = SyncReport::default();
        let mut families = HashSet::new();
        if mode == SyncMode::ReplaceSpecs {
            report.deleted = self.delete_unnamed(plan, &in_plan, &mut families)?;
        }
        for (line, (key, fate)) in lines.iter().zip(&written) {
            match fate {
                Fate::Skipped => {
                    report.skipped_done += 1;
                    continue;
                }
                Fate::New | Fate::Revived => {
                    self.finish_imported(*key, line)?;
                    self.hold_imported(*key, line)?;
                    report.inserted += 1;
                    // A part that failed under its old self has failed under the new one.
                    families.extend((*fate == Fate::Revived).then_some(*key));
                }
                Fate::Kept { changed } => {
                    let finished = self.finish_imported(*key, line)?;
                    if finished {
                        self.log(*key, LogKind::Done, "imported as done")?;
                    }
                    let held = self.hold_imported(*key, line)?;
                    if finished || held || *changed {
                        report.updated += 1;
                        self.log(*key, LogKind::Updated, "by the plan")?;
                    }
                }
            }
            // What was deleted had left its parent, which may have failed by itself since.
            let before = line.live_before().and_then(|task| task.parent.as_ref());
            if line.plan.fields.parent.is_some() || before.is_some() {
                families.extend(self.table.parent(*key)?);
            }
            if let Some(before) = before {
                families.insert(super::known(self.table, before)?);
            }
        }
        self.families_follow(families)?;
        for (key, refused) in edges.below_closed {
            if self.table.load(key)?.status != Status::Done {
                return Err(refused);
            }
        }
        Ok(report)
    }

    /// A plan, and what goes with it.
    pub(super) fn replace(&mut self, plan: &[PlanTask], gone: &[TaskId]) -> Result<SyncReport> {
        let mut report = self.sync(plan, SyncMode::Add)?;
        report.deleted = self.delete(DeleteWhich::Ids(gone.to_vec()))?.len();
        Ok(report)
    }

    /// Looks up every task that the plan contains or points at.
    fn existing(&mut self, plan: &[PlanTask]) -> Result<Existing<T::Key>> {
        if plan.len() >= 1_000 {
            self.table.expect_many()?;
        }
        // Looking up a task costs about as much as reading four in a row.
        if plan.len() * 4 >= self.table.size()? {
            let tasks = self.table.everything()?.into_iter();
            return Ok(tasks.map(|(key, task)| (task.id.clone(), (key, task))).collect());
        }
        let mut tasks = HashMap::new();
        for line in plan {
            let edges =
                line.fields.deps.iter().flatten().chain(line.fields.parent.iter().flatten());
            for id in std::iter::once(&line.id).chain(edges) {
                if !tasks.contains_key(id)
                    && let Some(key) = self.table.key(id)?
                {
                    tasks.insert(id.clone(), (key, self.table.load(key)?));
                }
            }
        }
        Ok(tasks)
    }

    /// Finds out what each line was, what it becomes and where its edges lead.
    fn lines<'p>(
        &mut self,
        plan: &'p [PlanTask],
        in_plan: &HashMap<&TaskId, usize>,
        existing: &'p Existing<T::Key>,
    ) -> Result<Vec<SyncRow<'p, T::Key>>> {
        // A plan may call a task done; if it has parts, they decide. A task that is already done cannot become
        // a part: its line is skipped.
        let was_done = |id| existing.get(id).is_some_and(|row| row.1.status == Status::Done);
        let parent_of = |line: &'p PlanTask| line.fields.parent.as_ref()?.as_ref();
        let parents: HashSet<&TaskId> = plan
            .iter()
            .filter_map(|line| parent_of(line).filter(|_| !was_done(&line.id)))
            .collect();
        let mut lines = Vec::with_capacity(plan.len());
        for line in plan {
            if let Some(Some(name)) = &line.fields.feature
                && !self.table.has_feature(name)?
            {
                let refusal = Refusal::UnknownFeature { name: name.clone() };
                return Err(at_line(line.line, refusal));
            }
            let before = existing.get(&line.id);
            let status = match before {
                Some((_, task)) if task.status != Status::Deleted => task.status,
                _ if line.done.is_none() || parents.contains(&line.id) => Status::Pending,
                Some((key, _)) if !self.parts(*key, |part| part != Status::Done)?.is_empty() => {
                    Status::Pending
                }
                _ => Status::Done,
            };
            let find = |id: &TaskId| target_of(line, id, in_plan, existing);
            if let Some(Some(parent)) = &line.fields.parent {
                find(parent)?;
            }
            let deps = line.fields.deps.iter().flatten();
            let mut blockers = deps.map(find).collect::<Result<Vec<_>>>()?;
            if blockers.len() > 1 {
                blockers.sort_unstable();
                blockers.dedup();
            }
            lines.push(SyncRow { plan: line, before, status, blockers });
        }
        Ok(lines)
    }

    fn write_rows(&mut self, lines: &[SyncRow<'_, T::Key>]) -> Result<Vec<Written<T::Key>>> {
        let is_open = |target: &&Target<T::Key>| match target {
            Target::Line(index) => !satisfies(lines[*index].status),
            Target::Store(_, status) => !satisfies(*status),
        };
        let mut written = Vec::with_capacity(lines.len());
        for line in lines {
            written.push(match line.before {
                Some((key, task)) if task.status == Status::Done => (*key, Fate::Skipped),
                Some((key, task)) if task.status != Status::Deleted => {
                    let changed = self.change_fields(*key, task, line.plan)?;
                    (*key, Fate::Kept { changed })
                }
                Some((key, deleted)) => {
                    self.revive(*key, deleted, &self.planned(line))?;
                    (*key, Fate::Revived)
                }
                None => {
                    let open = line.blockers.iter().filter(is_open).count();
                    let open = u32::try_from(open).unwrap_or(u32::MAX);
                    (self.table.insert(&self.planned(line), open)?, Fate::New)
                }
            });
        }
        Ok(written)
    }

    fn planned(&self, line: &SyncRow<'_, T::Key>) -> Task {
        let mut task = Task::new(line.plan.id.clone(), line.plan.title.clone(), self.now);
        apply_fields(&mut task, &line.plan.fields);
        task.status = line.status;
        if task.status == Status::Done {
            task.done_at = line.plan.done.and_then(|done| done.at).or(Some(self.now));
        }
        task
    }

    fn change_fields(&mut self, key: T::Key, task: &Task, line: &PlanTask) -> Result<bool> {
        let mut next = task.clone();
        let mut changed = !apply_fields(&mut next, &line.fields).is_empty();
        if next.title != line.title {
            next.title = line.title.clone();
            changed = true;
        }
        if changed {
            next.updated_at = self.now;
            self.table.save(key, &next)?;
        }
        Ok(changed)
    }

    /// Links what the plan names.
    fn write_edges(
        &mut self,
        lines: &[SyncRow<'_, T::Key>],
        written: &mut [Written<T::Key>],
    ) -> Result<Edges<T::Key>> {
        let keys: Vec<T::Key> = written.iter().map(|row| row.0).collect();
        let row_of = |target: Target<T::Key>| match target {
            Target::Line(index) => (keys[index], lines[index].status),
            Target::Store(key, status) => (key, status),
        };
        let mut links = Vec::new();
        let mut added = false;
        let mut below_closed = Vec::new();
        for (line, (key, fate)) in lines.iter().zip(written) {
            match fate {
                Fate::Skipped => continue,
                Fate::New => {
                    let blockers = line.blockers.iter().map(|target| row_of(*target).0);
                    links.extend(blockers.map(|blocker| (*key, blocker)));
                }
                Fate::Revived => {
                    added |= self.add_links(*key, line.blockers.iter().map(|t| row_of(*t)))?;
                }
                Fate::Kept { changed } => {
                    let new = self.add_links(*key, line.blockers.iter().map(|t| row_of(*t)))?;
                    *changed |= new | self.drop_links(*key, line)?;
                    added |= new;
                }
            }
            if self.change_parent(*key, line, &mut below_closed)? {
                added = true;
                if let Fate::Kept { changed } = fate {
                    *changed = true;
                }
            }
        }
        self.table.link_new(&links)?;
        Ok(Edges { added: added || !links.is_empty(), below_closed })
    }

    fn add_links(
        &mut self,
        key: T::Key,
        blockers: impl Iterator<Item = (T::Key, Status)>,
    ) -> Result<bool> {
        let mut added = false;
        for (blocker, status) in blockers {
            added |= self.link(key, blocker, status)?;
        }
        Ok(added)
    }

    /// Unlinks the blockers that a plan leaves out, if it names any or says that there are none.
    fn drop_links(&mut self, key: T::Key, line: &SyncRow<'_, T::Key>) -> Result<bool> {
        let (Some(deps), Some((_, before))) = (&line.plan.fields.deps, line.before) else {
            return Ok(false);
        };
        let mut dropped = false;
        for gone in before.deps.iter().filter(|id| !deps.contains(id)) {
            dropped |= self.drop_blocker(key, gone)?;
        }
        Ok(dropped)
    }

    /// Moves a task below the parent that the plan names, or to the top.
    fn change_parent(
        &mut self,
        key: T::Key,
        line: &SyncRow<'_, T::Key>,
        below_closed: &mut Vec<(T::Key, StoreError)>,
    ) -> Result<bool> {
        let Some(wanted) = &line.plan.fields.parent else { return Ok(false) };
        if wanted.as_ref() == line.live_before().and_then(|task| task.parent.as_ref()) {
            return Ok(false);
        }
        let to = match wanted {
            None => None,
            Some(id) => {
                let (parent, above) = self.find(id)?;
                let closed = matches!(above.status, Status::Done | Status::Deleted);
                if closed && line.status != Status::Done {
                    let refusal =
                        Refusal::ParentClosed { parent: id.clone(), status: above.status };
                    below_closed.push((key, at_line(line.plan.line, refusal)));
                }
                Some(parent)
            }
        };
        self.table.set_parent(key, to)?;
        Ok(true)
    }

    fn refuse_cycles(&mut self, plan: &[PlanTask]) -> Result<()> {
        let mut keys = Vec::new();
        let mut numbers: HashMap<T::Key, u32> = HashMap::new();
        let mut number = |key: T::Key| {
            *numbers.entry(key).or_insert_with(|| {
                keys.push(key);
                (keys.len() - 1) as u32
            })
        };
        let edges: Vec<(u32, u32)> = self
            .table
            .all_needs()?
            .into_iter()
            .map(|(needs, needed)| (number(needs), number(needed)))
            .collect();
        let Some(cycle) = cycle_in(keys.len(), &edges) else { return Ok(()) };
        let mut path = Vec::with_capacity(cycle.len());
        for index in cycle {
            path.push(self.table.load(keys[index as usize])?.id);
        }
        let on_path: HashSet<&TaskId> = path.iter().collect();
        let line = plan.iter().find(|task| on_path.contains(&task.id)).map_or(1, |task| task.line);
        Err(at_line(line, Refusal::Cycle { path }))
    }

    /// Finishes a task that the plan calls done and that has no parts, unless it came in done.
    /// `true` when it did.
    fn finish_imported(&mut self, key: T::Key, line: &SyncRow<'_, T::Key>) -> Result<bool> {
        let Some(done) = line.plan.done.filter(|_| line.status != Status::Done) else {
            return Ok(false);
        };
        let task = self.table.load(key)?;
        let open = matches!(task.status, Status::Pending | Status::Waiting | Status::Failed);
        if !open || task.neighbors.children > 0 {
            return Ok(false);
        }
        let mut to = State::moved(&task, Status::Done);
        to.done_at = done.at.or(Some(self.now));
        to.reason = None;
        self.table.set_state(key, task.status, &to, self.now)?;
        Ok(true)
    }

    /// Makes a task wait that waits for the user according to the plan. One with parts waits by them; one that
    /// is claimed or finished stays as it is. `true` when it started to wait.
    fn hold_imported(&mut self, key: T::Key, line: &SyncRow<'_, T::Key>) -> Result<bool> {
        let Some(reason) = &line.plan.waits else { return Ok(false) };
        let task = self.table.load(key)?;
        if task.status != Status::Pending || task.neighbors.children > 0 {
            return Ok(false);
        }
        self.hold(&task.id)?;
        self.note(&task.id, reason)?;
        Ok(true)
    }

    /// Deletes the tasks of the plan's specs that the plan does not name.
    fn delete_unnamed(
        &mut self,
        plan: &[PlanTask],
        in_plan: &HashMap<&TaskId, usize>,
        families: &mut HashSet<T::Key>,
    ) -> Result<usize> {
        let specs: BTreeSet<&String> =
            plan.iter().filter_map(|line| line.fields.spec.as_ref()?.as_ref()).collect();
        let of_specs = self.table.of_specs(&specs)?.into_iter();
        let gone: Vec<T::Key> =
            of_specs.filter(|(_, id)| !in_plan.contains_key(id)).map(|found| found.0).collect();
        for key in &gone {
            let task = self.table.load(*key)?;
            self.remove(*key, &task, "no longer in the plan")?;
            families.extend(self.table.parent(*key)?);
        }
        Ok(gone.len())
    }

    /// Updates parents from their children, the lowest first: a parent that is updated before its own children
    /// might fail for a moment and lose its claim.
    fn families_follow(&mut self, families: HashSet<T::Key>) -> Result<()> {
        let mut depths = HashMap::new();
        let mut waiting = BTreeSet::new();
        for family in families {
            waiting.insert((self.depth(family, &mut depths)?, family));
        }
        while let Some((depth, family)) = waiting.pop_last() {
            if self.follow_children(family)?
                && let Some(parent) = self.table.parent(family)?
            {
                waiting.insert((depth - 1, parent));
            }
        }
        Ok(())
    }

    /// How many tasks are above one, looked up once for each.
    fn depth(&mut self, key: T::Key, known: &mut HashMap<T::Key, usize>) -> Result<usize> {
        let mut way = Vec::new();
        let mut at = Some(key);
        let mut depth = 0;
        while let Some(here) = at {
            if let Some(found) = known.get(&here) {
                depth = found + 1;
                break;
            }
            way.push(here);
            at = self.table.parent(here)?;
        }
        for here in way.into_iter().rev() {
            known.insert(here, depth);
            depth += 1;
        }
        Ok(known.get(&key).copied().unwrap_or_default())
    }
}

/// Where an edge of a line leads: to another line, to a task of the store, or nowhere.
fn target_of<K: Copy>(
    line: &PlanTask,
    id: &TaskId,
    in_plan: &HashMap<&TaskId, usize>,
    existing: &Existing<K>,
) -> Result<Target<K>> {
    if *id == line.id {
        return Err(at_line(line.line, Refusal::OnItself { id: id.clone() }));
    }
    if let Some(index) = in_plan.get(id) {
        return Ok(Target::Line(*index));
    }
    match existing.get(id) {
        Some((key, task)) => Ok(Target::Store(*key, task.status)),
        None => Err(at_line(line.line, Refusal::Unknown { id: id.clone() })),
    }
}

/// Which line holds which task. A task may stand in a plan once.
fn lines_of(plan: &[PlanTask]) -> Result<HashMap<&TaskId, usize>> {
    let mut lines = HashMap::with_capacity(plan.len());
    for (index, task) in plan.iter().enumerate() {
        if lines.insert(&task.id, index).is_some() {
            return Err(at_line(task.line, Refusal::Exists { id: task.id.clone() }));
        }
    }
    Ok(lines)
}
