//! A wall clock that leaps by an hour, forward and back. The store takes its time from its caller, so it
//! is given such times; and the leases of real runs are moved as if the clock had leapt.

use std::collections::HashMap;
use std::time::Duration;

use ralph_core::task::{Actor, Generation, NewTask};
use ralph_core::text::Title;
use ralph_core::{AgentId, Lease, TaskId, Timestamp};
use ralph_engine::ports::{ClaimRequest, Scope, Store};
use ralph_engine::store::SqliteStore;

use super::Setting;
use super::stalled::{lose_claim, shift_leases};
use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::World;

const HOUR_MS: i64 = 3_600_000;
const HOUR: Duration = Duration::from_secs(3600);

/// Leaps of both kinds.
pub(super) fn leaps(setting: &Setting) -> Tally {
    let count = setting.times.of(24, 400);
    let mut tally = campaign(count, |number, tally| in_the_store(setting, number, tally));
    let whole = undisturbed(setting);
    let runs = campaign(count.div_ceil(8), |number, tally| {
        let mut random = setting.random(8, number);
        let wait = moment(&mut random, whole);
        match number % 3 {
            0 => goes_on(setting, number, wait, tally),
            1 => killed(setting, number, wait, tally),
            // Forward, and another run takes what seems to be given up.
            _ => lose_claim(setting, number, wait, false, tally),
        }
    });
    tally.note(format!("{} stories of the store, and leases of real runs moved", tally.tried));
    tally.add(runs);
    tally
}

/// Forward, and nobody else is there: the run goes on as if nothing was.
fn goes_on(setting: &Setting, number: usize, wait: Duration, tally: &mut Tally) {
    let world = World::turned(setting, number);
    let run = world.build_disturbed(None, |child| {
        std::thread::sleep(wait);
        while child.try_wait().unwrap().is_none() {
            if !world.claimed().is_empty() && shift_leases(&world, HOUR, false) {
                tally.tried();
                break;
            }
        }
    });
    tally.check(&format!("an hour forward after {wait:?}"), &world, &run);
}

/// Back, so that the lease seems to last an hour longer, and the run dies: the next one does not wait.
fn killed(setting: &Setting, number: usize, wait: Duration, tally: &mut Tally) {
    let world = World::turned(setting, number);
    world.build_disturbed(None, |child| {
        std::thread::sleep(wait);
        while child.try_wait().unwrap().is_none() {
            if !world.claimed().is_empty() && shift_leases(&world, HOUR, true) {
                tally.tried();
                let _ = child.kill();
            }
        }
    });
    let run = world.build(None);
    tally.went_on(&run);
    tally.check(&format!("an hour back after {wait:?}"), &world, &run);
}

/// What the store granted last.
struct Grant {
    agent: AgentId,
    generation: Generation,
    until: Timestamp,
}

/// A story of three agents and six tasks on a clock that leaps.
struct Story {
    store: SqliteStore,
    /// The time, and how wrong the clock is.
    time: i64,
    wrong: i64,
    lease: Lease,
    current: HashMap<TaskId, Grant>,
    past: Vec<(TaskId, AgentId, Generation)>,
    done: HashMap<TaskId, usize>,
}

fn in_the_store(setting: &Setting, number: usize, tally: &mut Tally) {
    let mut random = setting.random(7, number);
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(&folder.path().join("progress.db")).unwrap();
    let mut time = 1_800_000_000_000;
    let user = Actor::User(AgentId::new("person").unwrap());
    for task in 0..6 {
        let id = TaskId::new(format!("t{task}")).unwrap();
        let task = NewTask::titled(Title::new("task").unwrap());
        store.add(id, task, &user, Timestamp::from_millis(time)).unwrap();
        time += 1;
    }
    let lease = Lease::seconds(600).unwrap();
    let (current, past, done) = (HashMap::new(), vec![], HashMap::new());
    let mut story = Story { store, time, wrong: 0, lease, current, past, done };
    tally.tried();
    for _ in 0..60 {
        if let Some(wrong) = story.step(&mut random) {
            tally.complaints.push(format!("story {number}: {wrong}"));
            return;
        }
    }
    // When the clock is right again, an hour and a lease later, nothing is held any more.
    story.wrong = 0;
    story.time += HOUR_MS + 601_000;
    let last = AgentId::new("last").unwrap();
    while let Some((id, generation)) = story.claim(&last) {
        let by = Actor::Agent(last.clone(), Some(generation));
        let now = story.now();
        story.store.done(&id, None, &by, now).unwrap();
        *story.done.entry(id).or_default() += 1;
    }
    tally.lost += 6 - story.done.len();
    tally.duplicated += story.done.values().filter(|times| **times > 1).count();
    if story.done.len() != 6 || story.done.values().any(|times| *times != 1) {
        tally.complaints.push(format!("story {number}: done {:?}", story.done));
    }
}

impl Story {
    /// What the clock says.
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.time + self.wrong)
    }

    fn claim(&mut self, agent: &AgentId) -> Option<(TaskId, Generation)> {
        let request =
            ClaimRequest { agent: agent.clone(), task: None, scope: Scope::All, lease: self.lease };
        let claimed = self.store.claim(&request, self.now()).ok()?;
        let generation = claimed.task.claim?.generation;
        Some((claimed.task.id, generation))
    }

    /// One step; what is wrong after it.
    fn step(&mut self, random: &mut fastrand::Rng) -> Option<String> {
        let agents = ["a", "b", "c"].map(|name| AgentId::new(name).unwrap());
        let now = self.now();
        match random.u32(0..10) {
            0 => self.wrong = HOUR_MS,
            1 => self.wrong = [-HOUR_MS, 0][random.usize(0..2)],
            2 => self.time += random.i64(0..900_000),
            3..6 => {
                let agent = agents[random.usize(0..3)].clone();
                let (id, generation) = self.claim(&agent)?;
                let until = self.lease.ends(now);
                let grant = Grant { agent: agent.clone(), generation, until };
                self.past.push((id.clone(), agent, generation));
                if let Some(before) = self.current.insert(id.clone(), grant)
                    && before.until > now
                {
                    return Some(format!("{id} was taken from {} before its time", before.agent));
                }
            }
            other => {
                let (id, agent, generation) = random.choice(&self.past)?.clone();
                let by = Actor::Agent(agent.clone(), Some(generation));
                let held = self.current.get(&id);
                let holds =
                    held.is_some_and(|held| (&held.agent, held.generation) == (&agent, generation));
                let accepted = if other < 8 {
                    self.store.renew(&id, self.lease, &by, now).is_ok()
                } else {
                    self.store.done(&id, None, &by, now).is_ok()
                };
                if accepted != holds {
                    return Some(format!("{agent} on {id}: accepted {accepted}, holds {holds}"));
                }
                match self.current.get_mut(&id) {
                    Some(held) if accepted && other < 8 => held.until = self.lease.ends(now),
                    Some(_) if accepted => {
                        self.current.remove(&id);
                        *self.done.entry(id).or_default() += 1;
                    }
                    _ => {}
                }
            }
        }
        None
    }
}
