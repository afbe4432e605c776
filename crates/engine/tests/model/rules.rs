//! A second, naive reading of the rules: no counters, no shortcuts, and nothing of `ralph_core::task`
//! but its words. A rule that is wrong in the shared code is not wrong here as well.
//!
//! A command gives either the next state and what the caller is told, or every reason for which it
//! may be refused: which of them comes first is not a rule.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::task::{Counts, Status, StatusFilter};

use super::commands::{Command, Fields, PlanLine, Scoped, Who};

/// Names of refusals.
pub(crate) type Reasons = BTreeSet<&'static str>;

/// What a command tells its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    Tasks(Vec<usize>),
    Became(Status),
    /// inserted, updated, deleted, skipped
    Synced(usize, usize, usize, usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) agent: usize,
    pub(crate) generation: u64,
    pub(crate) expires: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) title: usize,
    pub(crate) priority: i64,
    pub(crate) spec: Option<usize>,
    pub(crate) feature: Option<usize>,
    pub(crate) parent: Option<usize>,
    pub(crate) deps: BTreeSet<usize>,
    pub(crate) status: Status,
    pub(crate) claim: Option<Claim>,
    pub(crate) generation: u64,
    pub(crate) retries: u32,
    pub(crate) order: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) rows: BTreeMap<usize, Row>,
    pub(crate) features: BTreeSet<usize>,
    pub(crate) agents: BTreeSet<usize>,
    /// The task of each question, and whether it is open.
    pub(crate) questions: Vec<(usize, bool)>,
    pub(crate) now: i64,
}

fn closed(status: Status) -> bool {
    status == Status::Done || status == Status::Deleted
}

/// Collects reasons; ends with the state when there is none.
#[derive(Default)]
struct Check(Reasons);

impl Check {
    fn refuse_if(&mut self, wrong: bool, reason: &'static str) {
        if wrong {
            self.0.insert(reason);
        }
    }

    fn end(self, model: Model, answer: Answer) -> Result<(Model, Answer), Reasons> {
        if self.0.is_empty() { Ok((model, answer)) } else { Err(self.0) }
    }
}

fn refused(reason: &'static str) -> Reasons {
    Reasons::from([reason])
}

impl Model {
    // --- what can be seen -------------------------------------------------------------------

    pub(crate) fn children(&self, task: usize) -> Vec<usize> {
        let rows = self.rows.iter();
        rows.filter(|(_, row)| row.parent == Some(task) && row.status != Status::Deleted)
            .map(|(id, _)| *id)
            .collect()
    }

    pub(crate) fn open_blockers(&self, task: usize) -> usize {
        let deps = self.rows[&task].deps.iter();
        deps.filter(|dep| !closed(self.rows[dep].status)).count()
    }

    pub(crate) fn failed_above(&self, task: usize) -> bool {
        match self.rows[&task].parent {
            None => false,
            Some(above) => self.rows[&above].status == Status::Failed || self.failed_above(above),
        }
    }

    fn depth(&self, task: usize) -> usize {
        self.rows[&task].parent.map_or(0, |above| 1 + self.depth(above))
    }

    fn free(&self, task: usize) -> bool {
        self.children(task).is_empty() && !self.failed_above(task) && self.open_blockers(task) == 0
    }

    fn expired(&self, task: usize) -> bool {
        let claim = self.rows[&task].claim.as_ref();
        claim.is_some_and(|claim| claim.expires <= self.now)
    }

    fn within(&self, scope: Scoped, task: usize) -> bool {
        match scope {
            Scoped::All => true,
            Scoped::Feature(feature) => self.rows[&task].feature == Some(feature),
            Scoped::Task(one) => one == task,
        }
    }

    fn best(&self, scope: Scoped, keep: impl Fn(usize) -> bool) -> Vec<usize> {
        let ids = self.rows.keys().copied();
        let mut tasks: Vec<usize> =
            ids.filter(|task| self.within(scope, *task) && keep(*task)).collect();
        tasks.sort_by_key(|task| (self.rows[task].priority, self.rows[task].order));
        tasks
    }

    pub(crate) fn ready(&self, scope: Scoped) -> Vec<usize> {
        self.best(scope, |task| self.rows[&task].status == Status::Pending && self.free(task))
    }

    pub(crate) fn claimable(&self, scope: Scoped) -> Vec<usize> {
        self.best(scope, |task| {
            (self.rows[&task].status == Status::Pending || self.expired(task)) && self.free(task)
        })
    }

    pub(crate) fn held(&self, scope: Scoped) -> Vec<usize> {
        self.best(scope, |task| self.rows[&task].claim.is_some() && !self.expired(task))
    }

    pub(crate) fn counts(&self, scope: Scoped) -> Counts {
        let mut counts = Counts::default();
        for (task, row) in &self.rows {
            if !self.within(scope, *task) {
                continue;
            }
            let blocked = self.open_blockers(*task) > 0;
            *match row.status {
                Status::Pending | Status::InProgress if blocked => &mut counts.blocked,
                Status::Pending => &mut counts.open,
                Status::InProgress => &mut counts.active,
                Status::Waiting => &mut counts.waiting,
                Status::Done => &mut counts.done,
                Status::Failed => &mut counts.failed,
                Status::Deleted => &mut counts.deleted,
            } += 1;
        }
        counts
    }

    pub(crate) fn by_order(&self) -> Vec<usize> {
        let mut tasks: Vec<usize> = self.rows.keys().copied().collect();
        tasks.sort_by_key(|task| self.rows[task].order);
        tasks
    }

    pub(crate) fn needs(&self, task: usize) -> Vec<usize> {
        let parts = self.rows.iter();
        let parts = parts.filter(|(_, row)| row.parent == Some(task));
        let deps = self.rows.get(&task).map(|row| row.deps.clone());
        deps.into_iter().flatten().chain(parts.map(|(id, _)| *id)).collect()
    }

    fn has_cycle(&self) -> bool {
        // Take away what needs nothing that is left, until nothing changes.
        let mut left: BTreeSet<usize> = self.rows.keys().copied().collect();
        loop {
            let free: Vec<usize> = left
                .iter()
                .copied()
                .filter(|task| self.needs(*task).iter().all(|need| !left.contains(need)))
                .collect();
            if free.is_empty() {
                return !left.is_empty();
            }
            for task in free {
                left.remove(&task);
            }
        }
    }

    // --- what follows by itself ---------------------------------------------------------------

    /// Parents follow the parts that changed since `before`.
    fn followed(mut self, before: &Model) -> Model {
        let mut due = BTreeSet::new();
        let place = |row: &Row| (row.status, row.parent);
        for (task, row) in &self.rows {
            let old = before.rows.get(task);
            if old.map(place) == Some(place(row)) {
                continue;
            }
            // Parts that stayed when it was deleted are its parts again.
            if old.is_some_and(|old| old.status == Status::Deleted) {
                due.insert(*task);
            }
            // A part that is deleted is none: it can come or go unnoticed.
            for seen in old.into_iter().chain([row]) {
                if seen.status != Status::Deleted {
                    due.extend(seen.parent);
                }
            }
        }
        // The lowest first: what is above must not see a part that has yet to follow.
        while let Some(parent) = due.iter().copied().max_by_key(|task| self.depth(*task)) {
            due.remove(&parent);
            let parts: Vec<Status> =
                self.children(parent).iter().map(|part| self.rows[part].status).collect();
            let row = self.rows.get_mut(&parent).unwrap();
            let next = if closed(row.status) {
                row.status
            } else if parts.contains(&Status::Failed) {
                Status::Failed
            } else if !parts.is_empty() && parts.iter().all(|part| *part == Status::Done) {
                Status::Done
            } else if row.status == Status::Failed {
                Status::Pending
            } else {
                row.status
            };
            if next != row.status {
                row.status = next;
                row.claim = None;
                due.extend(row.parent);
            }
        }
        self
    }

    // --- commands -------------------------------------------------------------------------------

    pub(crate) fn run(&self, command: &Command) -> Result<(Model, Answer), Reasons> {
        let (next, answer) = self.changed(command)?;
        Ok((next.followed(self), answer))
    }

    fn changed(&self, command: &Command) -> Result<(Model, Answer), Reasons> {
        let mut next = self.clone();
        let nothing = Answer::Nothing;
        match command {
            Command::Wait(_) => Ok((next, nothing)),
            Command::Add(task, title, fields) => self.add(*task, *title, fields),
            Command::Update(task, title, fields) => self.update(*task, *title, fields),
            Command::Delete(tasks) => {
                let mut check = Check::default();
                let mut chosen = Vec::new();
                for task in tasks {
                    match self.rows.get(task) {
                        None => check.refuse_if(true, "Unknown"),
                        Some(row) if row.status == Status::Done => {
                            check.refuse_if(true, "Transition");
                        }
                        Some(row) if row.status == Status::Deleted => {}
                        Some(_) if chosen.contains(task) => {}
                        Some(_) => chosen.push(*task),
                    }
                }
                self.without(chosen, check)
            }
            Command::DeleteWith(filter) => {
                let mut chosen = self.by_order();
                chosen.retain(|task| match filter {
                    None => true,
                    Some(StatusFilter::Stored(status)) => self.rows[task].status == *status,
                    Some(StatusFilter::Blocked) => {
                        self.rows[task].status == Status::Pending && self.open_blockers(*task) > 0
                    }
                });
                self.without(chosen, Check::default())
            }
            Command::Block(task, blocker) => {
                let mut check = Check::default();
                let known = self.rows.contains_key(blocker);
                let Some(row) = next.rows.get_mut(task) else {
                    return Err(refused("Unknown"));
                };
                check.refuse_if(closed(row.status), "BlockClosed");
                if !row.deps.contains(blocker) {
                    check.refuse_if(task == blocker, "OnItself");
                    check.refuse_if(!known, "Unknown");
                    if check.0.is_empty() {
                        row.deps.insert(*blocker);
                        check.refuse_if(next.has_cycle(), "Cycle");
                    }
                }
                check.end(next, nothing)
            }
            Command::Unblock(task, blocker) => {
                let known = self.rows.contains_key(blocker);
                let Some(row) = next.rows.get_mut(task).filter(|_| known) else {
                    return Err(refused("Unknown"));
                };
                if row.deps.remove(blocker) {
                    Ok((next, nothing))
                } else {
                    Err(refused("NotBlockedBy"))
                }
            }
            Command::Claim(agent, named, scope, lease) => {
                let task = match named {
                    Some(task) => *task,
                    None => *self.claimable(*scope).first().ok_or(refused("NothingReady"))?,
                };
                if !self.rows.contains_key(&task) {
                    return Err(refused("Unknown"));
                }
                if !self.claimable(Scoped::All).contains(&task) {
                    return Err(refused("NotClaimable"));
                }
                let row = next.rows.get_mut(&task).unwrap();
                row.retries += u32::from(row.claim.is_some());
                row.status = Status::InProgress;
                row.generation += 1;
                row.claim = Some(Claim {
                    agent: *agent,
                    generation: row.generation,
                    expires: self.now + *lease,
                });
                Ok((next, Answer::Tasks(vec![task])))
            }
            Command::Renew(task, who, lease) => {
                self.as_holder(*task, *who, &[])?;
                let row = next.rows.get_mut(task).unwrap();
                let claim = row.claim.as_mut().ok_or(refused("NotClaimed"))?;
                claim.expires = self.now + *lease;
                Ok((next, nothing))
            }
            Command::Release(task, who) => {
                self.as_holder(*task, *who, &[Status::InProgress])?;
                next.set(*task, Status::Pending);
                Ok((next, nothing))
            }
            Command::Done(task, who) => {
                self.as_holder(*task, *who, &[Status::InProgress])?;
                let left = |part: &usize| self.rows[part].status != Status::Done;
                if self.children(*task).iter().any(left) {
                    return Err(refused("HasUnfinishedParts"));
                }
                next.set(*task, Status::Done);
                Ok((next, nothing))
            }
            Command::Fail(task, who, for_good, limit) => {
                self.as_holder(*task, *who, &[Status::InProgress])?;
                let used_up = limit.is_some_and(|limit| self.rows[task].retries >= limit);
                if (*for_good || used_up) && self.children(*task).is_empty() {
                    next.set(*task, Status::Failed);
                } else {
                    next.set(*task, Status::Pending);
                    next.rows.get_mut(task).unwrap().retries += 1;
                }
                let became = next.rows[task].status;
                Ok((next, Answer::Became(became)))
            }
            Command::Reset(task) => {
                let mut check = Check::default();
                let row = self.rows.get(task).ok_or(refused("Unknown"))?;
                if row.status == Status::Pending {
                    return Ok((next, nothing));
                }
                check.refuse_if(closed(row.status), "Transition");
                let bad = |part: &usize| self.rows[part].status == Status::Failed;
                check.refuse_if(self.children(*task).iter().any(bad), "FailedParts");
                next.set(*task, Status::Pending);
                next.rows.get_mut(task).unwrap().retries = 0;
                next.withdraw(*task);
                check.end(next, nothing)
            }
            Command::Reopen(task) => {
                let row = self.rows.get(task).ok_or(refused("Unknown"))?;
                let of_parts = !self.children(*task).is_empty();
                match row.status {
                    Status::Pending => return Err(refused("Transition")),
                    Status::Deleted => return Err(refused("IsDeleted")),
                    Status::Done if of_parts => return Err(refused("DoneParts")),
                    Status::Failed if of_parts => return Err(refused("FailedParts")),
                    Status::Done | Status::Failed => {}
                    _ => return Err(refused("NotFinished")),
                }
                next.set(*task, Status::Pending);
                next.rows.get_mut(task).unwrap().retries = 0;
                next.withdraw(*task);
                // Done parents are open again, up to the first that was not done.
                let mut above = row.parent;
                while let Some(parent) = above.filter(|p| next.rows[p].status == Status::Done) {
                    next.set(parent, Status::Pending);
                    above = next.rows[&parent].parent;
                }
                Ok((next, nothing))
            }
            Command::Hold(task, who) => {
                self.to_wait(*task, *who, false)?;
                next.set(*task, Status::Waiting);
                Ok((next, nothing))
            }
            Command::Ask(task, who) => {
                self.to_wait(*task, *who, true)?;
                next.set(*task, Status::Waiting);
                next.questions.push((*task, true));
                Ok((next, nothing))
            }
            Command::Answer(number) => {
                let question = next.questions.get_mut(*number).filter(|asked| asked.1);
                let Some((task, open)) = question else {
                    return Err(refused("UnknownQuestion"));
                };
                *open = false;
                let task = *task;
                let more = next.questions.contains(&(task, true));
                if !more && next.rows[&task].status == Status::Waiting {
                    next.set(task, Status::Pending);
                }
                Ok((next, nothing))
            }
            Command::Note(task) => match self.rows.contains_key(task) {
                true => Ok((next, nothing)),
                false => Err(refused("Unknown")),
            },
            Command::Sync(lines, replace) => self.sync(lines, *replace),
            Command::Register(agent) => {
                next.agents.insert(*agent);
                Ok((next, nothing))
            }
            Command::Deregister(agent) => {
                if !next.agents.remove(agent) {
                    return Err(refused("UnknownAgent"));
                }
                let mut given = self.by_order();
                given.retain(|task| {
                    let claim = self.rows[task].claim.as_ref();
                    claim.is_some_and(|claim| claim.agent == *agent)
                });
                for task in &given {
                    next.set(*task, Status::Pending);
                }
                Ok((next, Answer::Tasks(given)))
            }
            Command::AddFeature(feature) => match next.features.insert(*feature) {
                true => Ok((next, nothing)),
                false => Err(refused("FeatureExists")),
            },
            Command::DeleteFeature(feature, confirmed) => {
                let mut check = Check::default();
                check.refuse_if(!self.features.contains(feature), "UnknownFeature");
                let mut chosen = self.by_order();
                chosen.retain(|task| {
                    let row = &self.rows[task];
                    row.feature == Some(*feature) && !closed(row.status)
                });
                check.refuse_if(!confirmed && !chosen.is_empty(), "FeatureUnfinished");
                let (mut next, answer) = self.without(chosen, check)?;
                next.features.remove(feature);
                Ok((next, answer))
            }
        }
    }

    /// A new status; only a claim keeps a claim.
    fn set(&mut self, task: usize, status: Status) {
        let row = self.rows.get_mut(&task).unwrap();
        row.status = status;
        row.claim = None;
    }

    /// Nobody needs to answer for it any more.
    fn withdraw(&mut self, task: usize) {
        self.questions.iter_mut().filter(|asked| asked.0 == task).for_each(|asked| asked.1 = false);
    }

    /// Whether the task is known, in one of the statuses (any, if none is given), and held by `who`.
    fn as_holder(&self, task: usize, who: Who, from: &[Status]) -> Result<(), Reasons> {
        let row = self.rows.get(&task).ok_or(refused("Unknown"))?;
        let mut check = Check::default();
        check.refuse_if(!from.is_empty() && !from.contains(&row.status), "Transition");
        check.refuse_if(!self.holds(task, who), "ClaimLost");
        match check.0.is_empty() {
            true => Ok(()),
            false => Err(check.0),
        }
    }

    fn to_wait(&self, task: usize, who: Who, waiting_too: bool) -> Result<(), Reasons> {
        let row = self.rows.get(&task).ok_or(refused("Unknown"))?;
        match row.status {
            Status::Pending => Ok(()),
            Status::InProgress if self.holds(task, who) => Ok(()),
            Status::InProgress => Err(refused("ClaimLost")),
            Status::Waiting if waiting_too => Ok(()),
            _ => Err(refused("Transition")),
        }
    }

    pub(crate) fn holds(&self, task: usize, who: Who) -> bool {
        let claim = self.rows.get(&task).and_then(|row| row.claim.as_ref());
        match who {
            Who::User => true,
            Who::Holder | Who::HolderUnnumbered => claim.is_some(),
            Who::HolderBefore => false,
            Who::Agent(agent) => claim.is_some_and(|claim| claim.agent == agent),
        }
    }

    /// Takes tasks out, unless unfinished parts would stay behind. Done ones stay.
    fn without(&self, chosen: Vec<usize>, mut check: Check) -> Result<(Model, Answer), Reasons> {
        let mut chosen = chosen;
        chosen.retain(|task| !closed(self.rows[task].status));
        let mut next = self.clone();
        for task in &chosen {
            let left = |part: &usize| !closed(self.rows[part].status) && !chosen.contains(part);
            check.refuse_if(self.children(*task).iter().any(left), "HasUnfinishedParts");
            next.set(*task, Status::Deleted);
            next.withdraw(*task);
        }
        check.end(next, Answer::Tasks(chosen))
    }

    /// A task begins. One that was deleted keeps its place and the number of its last claim, but not
    /// the parts that were finished before.
    fn begin(&mut self, task: usize, title: usize) {
        for row in self.rows.values_mut() {
            if row.parent == Some(task) && row.status == Status::Done {
                row.parent = None;
            }
        }
        let before = self.rows.get(&task);
        let row = Row {
            title,
            priority: 2,
            spec: None,
            feature: None,
            parent: None,
            deps: BTreeSet::new(),
            status: Status::Pending,
            claim: None,
            generation: before.map_or(0, |row| row.generation),
            retries: 0,
            order: before.map_or(self.rows.len(), |row| row.order),
        };
        self.rows.insert(task, row);
    }

    fn add(&self, task: usize, title: usize, fields: &Fields) -> Result<(Model, Answer), Reasons> {
        if let Some(row) = self.rows.get(&task)
            && row.status != Status::Deleted
        {
            let mut check = Check::default();
            check.refuse_if(true, "Exists");
            check.refuse_if(!self.knows_feature(fields), "UnknownFeature");
            return Err(check.0);
        }
        let mut next = self.clone();
        next.begin(task, title);
        next.edited(task, title, fields)
    }

    fn update(
        &self,
        task: usize,
        title: usize,
        fields: &Fields,
    ) -> Result<(Model, Answer), Reasons> {
        match self.rows.get(&task).map(|row| row.status) {
            None => Err(refused("Unknown")),
            Some(Status::Done) => Err(refused("DoneIsFinal")),
            Some(Status::Deleted) => Err(refused("IsDeleted")),
            Some(_) => self.edited(task, title, fields),
        }
    }

    fn knows_feature(&self, fields: &Fields) -> bool {
        match fields.feature {
            Some(Some(feature)) => self.features.contains(&feature),
            _ => true,
        }
    }

    /// Applies fields to a row that is there.
    fn edited(
        &self,
        task: usize,
        title: usize,
        fields: &Fields,
    ) -> Result<(Model, Answer), Reasons> {
        let mut check = Check::default();
        let before = &self.rows[&task];
        check.refuse_if(!self.knows_feature(fields), "UnknownFeature");
        if let Some(Some(parent)) = fields.parent
            && before.parent != Some(parent)
        {
            check.refuse_if(parent == task, "OnItself");
            match self.rows.get(&parent) {
                None => check.refuse_if(true, "Unknown"),
                Some(row) => check.refuse_if(closed(row.status), "ParentClosed"),
            }
        }
        for dep in fields.deps.iter().flatten() {
            check.refuse_if(*dep == task, "OnItself");
            check.refuse_if(!self.rows.contains_key(dep), "Unknown");
        }
        // A cycle may be found before or after the other faults.
        let mut good = fields.clone();
        let known = |other: &usize| *other != task && self.rows.contains_key(other);
        good.parent = good.parent.filter(|parent| parent.as_ref().is_none_or(known));
        good.deps = good.deps.map(|deps| deps.into_iter().filter(|dep| known(dep)).collect());
        let mut next = self.clone();
        good.write(next.rows.get_mut(&task).unwrap(), title);
        check.refuse_if(next.has_cycle(), "Cycle");
        check.end(next, Answer::Nothing)
    }

    fn sync(&self, lines: &[PlanLine], replace: bool) -> Result<(Model, Answer), Reasons> {
        let mut check = Check::default();
        let mut named = BTreeSet::new();
        for line in lines {
            check.refuse_if(!named.insert(line.task), "Exists");
        }
        let status = |task: &usize| self.rows.get(task).map(|row| row.status);
        let is_new = |task: &usize| matches!(status(task), None | Some(Status::Deleted));
        for line in lines {
            let deps = line.fields.deps.iter().flatten().copied();
            for other in deps.chain(line.fields.parent.flatten()) {
                check.refuse_if(other == line.task, "OnItself");
                let here = named.contains(&other) || self.rows.contains_key(&other);
                check.refuse_if(!here, "Unknown");
            }
            check.refuse_if(!self.knows_feature(&line.fields), "UnknownFeature");
        }
        if !check.0.is_empty() {
            return Err(check.0);
        }

        let (mut inserted, mut skipped) = (0, 0);
        let mut next = self.clone();
        let mut written = Vec::new();
        for line in lines {
            if status(&line.task) == Some(Status::Done) {
                skipped += 1;
                continue;
            }
            if is_new(&line.task) {
                inserted += 1;
                next.begin(line.task, line.title);
            }
            written.push(line);
        }
        let mut below_closed = Vec::new();
        for line in &written {
            if let Some(Some(parent)) = line.fields.parent
                && next.rows[&line.task].parent != Some(parent)
                && closed(next.rows[&parent].status)
            {
                below_closed.push(line.task);
            }
        }
        for line in &written {
            let row = next.rows.get_mut(&line.task).unwrap();
            line.fields.write(row, line.title);
        }
        if next.has_cycle() {
            return Err(refused("Cycle"));
        }
        let mut deleted = 0;
        if replace {
            let specs: BTreeSet<usize> =
                lines.iter().filter_map(|line| line.fields.spec.flatten()).collect();
            for task in next.by_order() {
                let row = &next.rows[&task];
                let gone = row.spec.is_some_and(|spec| specs.contains(&spec))
                    && !named.contains(&task)
                    && !closed(row.status);
                if gone {
                    next.set(task, Status::Deleted);
                    next.withdraw(task);
                    deleted += 1;
                }
            }
        }
        for line in written.iter().filter(|line| line.done) {
            let open = [Status::Pending, Status::Waiting, Status::Failed];
            let leaf = next.children(line.task).is_empty();
            if leaf && open.contains(&next.rows[&line.task].status) {
                next.set(line.task, Status::Done);
            }
        }
        let changed = |line: &&&PlanLine| {
            !is_new(&line.task) && next.rows[&line.task] != self.rows[&line.task]
        };
        let updated = written.iter().filter(changed).count();
        let next = next.followed(self);
        for task in below_closed {
            check.refuse_if(next.rows[&task].status != Status::Done, "ParentClosed");
        }
        check.end(next, Answer::Synced(inserted, updated, deleted, skipped))
    }
}
