//! The plan as a drawing: which tasks are shown, in which layer each stands, and the critical path, the longest chain of
//! tasks that still have to be done one after the other.
//!
//! A task stands right of everything that it needs: its blockers and its children. Nothing here recurses, so chains may be
//! as long as plans.

use std::collections::{HashMap, HashSet, VecDeque};

use serde::Serialize;

use crate::ids::TaskId;
use crate::task::{Status, Task, satisfies};

/// How many of the newest finished tasks are shown beside unfinished ones.
const RECENT: usize = 20;
/// How often rows are ordered by their neighbors.
const SWEEPS: usize = 4;

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PlanGraph {
    /// Tasks of the plan.
    pub total: usize,
    /// How many of them have a node.
    pub shown: usize,
    /// Unfinished tasks without a node: there are more than the limit.
    pub hidden: usize,
    pub nodes: Vec<GraphNode>,
    /// From what is needed to what needs it; both ends are nodes.
    pub edges: Vec<(TaskId, TaskId)>,
    /// The critical path, the first task first; all of it, shown or not.
    pub critical: Vec<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphNode {
    pub id: TaskId,
    pub title: String,
    /// The word that lists show.
    pub status: &'static str,
    /// Columns, from 0.
    pub layer: usize,
    /// Its place in the layer, from 0.
    pub row: usize,
    /// It is on the critical path.
    pub critical: bool,
}

/// The plan, at most `limit` tasks of it: the critical path and what is being worked on first, or what is near a task.
pub fn plan_graph(tasks: &[Task], around: Option<&TaskId>, limit: usize) -> PlanGraph {
    let needs = Needs::of(tasks);
    let critical = needs.critical();
    let candidates = candidates(tasks);
    let center = around.and_then(|id| needs.place.get(id).copied());
    let chosen = match center {
        Some(center) => needs.near(&[center], limit, |_| true),
        None => needs.most_important(&candidates, &critical, limit),
    };
    let drawn = needs.drawn(&chosen, &critical);
    let id = |place: usize| tasks[place].id.clone();
    let unfinished = |place: &&usize| !is_finished(tasks[**place].status);
    let hidden = candidates.iter().filter(unfinished).filter(|at| !drawn.contains(at)).count();
    PlanGraph {
        total: tasks.len(),
        shown: drawn.nodes.len(),
        hidden,
        edges: drawn.edges.iter().map(|(from, to)| (id(*from), id(*to))).collect(),
        critical: critical.into_iter().map(id).collect(),
        nodes: drawn.nodes,
    }
}

const fn is_finished(status: Status) -> bool {
    matches!(status, Status::Done | Status::Deleted)
}

/// Unfinished tasks, and those that were finished last.
fn candidates(tasks: &[Task]) -> Vec<usize> {
    let places = || 0..tasks.len();
    let mut done: Vec<usize> = places().filter(|at| tasks[*at].status == Status::Done).collect();
    done.sort_by_key(|at| std::cmp::Reverse((tasks[*at].done_at, tasks[*at].order)));
    done.truncate(RECENT);
    let mut all: Vec<usize> = places().filter(|at| !is_finished(tasks[*at].status)).collect();
    all.extend(done);
    all
}

/// Which task needs which, by their places in the list.
struct Needs<'a> {
    tasks: &'a [Task],
    place: HashMap<&'a TaskId, usize>,
    /// What each task needs.
    needed: Vec<Vec<usize>>,
    /// What needs each task.
    needing: Vec<Vec<usize>>,
}

impl<'a> Needs<'a> {
    fn of(tasks: &'a [Task]) -> Self {
        let place: HashMap<&TaskId, usize> =
            tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
        let mut needed = vec![Vec::new(); tasks.len()];
        let mut needing = vec![Vec::new(); tasks.len()];
        let mut add = |from: usize, to: usize| {
            needed[to].push(from);
            needing[from].push(to);
        };
        for (at, task) in tasks.iter().enumerate() {
            let blockers = task.deps.iter().filter_map(|id| place.get(id));
            blockers.for_each(|blocker| add(*blocker, at));
            if let Some(parent) = task.parent.as_ref().and_then(|id| place.get(id)) {
                add(at, *parent);
            }
        }
        Self { tasks, place, needed, needing }
    }

    /// Tasks in an order in which each comes after everything that it needs. Tasks of a cycle are missing.
    fn sorted(&self, is_part: impl Fn(usize) -> bool) -> Vec<usize> {
        let part = |places: &[usize]| places.iter().filter(|at| is_part(**at)).count();
        let mut unmet: Vec<usize> = self.needed.iter().map(|needed| part(needed)).collect();
        let mut order: Vec<usize> =
            (0..self.tasks.len()).filter(|at| is_part(*at) && unmet[*at] == 0).collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for &after in self.needing[at].iter().filter(|at| is_part(**at)) {
                unmet[after] -= 1;
                if unmet[after] == 0 {
                    order.push(after);
                }
            }
        }
        order
    }

    /// The longest chain of unfinished tasks. A parent is worked on as its children, so it counts nothing itself; a
    /// failed task counts where something waits for it.
    fn critical(&self) -> Vec<usize> {
        let is_open = |at: usize| !satisfies(self.tasks[at].status);
        let mut length = vec![0_u32; self.tasks.len()];
        let mut before: Vec<Option<usize>> = vec![None; self.tasks.len()];
        let mut last: Option<usize> = None;
        for at in self.sorted(is_open) {
            let open = self.needed[at].iter().copied().filter(|at| is_open(*at));
            before[at] =
                open.reduce(|best, one| if length[one] > length[best] { one } else { best });
            let own = u32::from(self.tasks[at].neighbors.children == 0);
            length[at] = own + before[at].map_or(0, |at| length[at]);
            let ends = self.tasks[at].status != Status::Failed;
            if ends && last.is_none_or(|best| length[at] > length[best]) {
                last = Some(at);
            }
        }
        let mut chain: Vec<usize> = std::iter::successors(last, |at| before[*at]).collect();
        chain.reverse();
        // What waits for nothing and holds up nothing is no path.
        if chain.len() > 1 { chain } else { vec![] }
    }

    /// The seeds, then what is nearest to them, up to the limit.
    fn near(&self, seeds: &[usize], limit: usize, may: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut found: Vec<usize> =
            seeds.iter().copied().filter(|at| seen.insert(*at)).take(limit).collect();
        let mut queue: VecDeque<usize> = found.iter().copied().collect();
        while let Some(at) = queue.pop_front() {
            for &next in self.needed[at].iter().chain(&self.needing[at]) {
                if found.len() >= limit {
                    return found;
                }
                if may(next) && seen.insert(next) {
                    found.push(next);
                    queue.push_back(next);
                }
            }
        }
        found
    }

    /// The critical path, tasks that are being worked on or wait for the user, ready ones, what is near them, the rest.
    fn most_important(&self, candidates: &[usize], critical: &[usize], limit: usize) -> Vec<usize> {
        if candidates.len() <= limit {
            return candidates.to_vec();
        }
        let rank = |at: usize| match self.tasks[at].status {
            Status::InProgress => 0,
            Status::Waiting | Status::Failed => 1,
            _ if self.tasks[at].is_ready() => 2,
            _ => 3,
        };
        let key = |at: usize| (rank(at), self.tasks[at].priority, self.tasks[at].order);
        let mut rest: Vec<usize> = candidates.to_vec();
        rest.sort_by_cached_key(|at| key(*at));
        let seeds = rest.iter().filter(|at| rank(**at) < 3).take(limit / 2);
        let first: Vec<usize> = critical.iter().chain(seeds).copied().collect();
        let known: HashSet<usize> = candidates.iter().copied().collect();
        let mut chosen = self.near(&first, limit, |at| known.contains(&at));
        let seen: HashSet<usize> = chosen.iter().copied().collect();
        let more = rest.into_iter().filter(|at| !seen.contains(at));
        chosen.extend(more.take(limit - chosen.len()));
        chosen
    }

    /// The nodes and edges of these tasks, each in its layer and row.
    fn drawn(&self, chosen: &[usize], critical: &[usize]) -> Drawn {
        let places: HashSet<usize> = chosen.iter().copied().collect();
        let is_critical: HashSet<usize> = critical.iter().copied().collect();
        let mut layer: HashMap<usize, usize> = HashMap::new();
        for at in self.sorted(|at| places.contains(&at)) {
            let before = self.needed[at].iter().filter_map(|at| layer.get(at));
            let own = before.max().map_or(0, |before| before + 1);
            layer.insert(at, own);
        }
        let deepest = layer.values().max().map_or(0, |deepest| deepest + 1);
        let mut layers: Vec<Vec<usize>> = vec![Vec::new(); deepest.max(1)];
        let mut sorted: Vec<usize> = places.iter().copied().collect();
        sorted.sort_by_key(|at| (!is_critical.contains(at), self.tasks[*at].order, *at));
        for at in &sorted {
            layers[layer.get(at).copied().unwrap_or(0)].push(*at);
        }
        self.untangle(&mut layers);
        let node = |at: usize, layer: usize, row: usize| GraphNode {
            id: self.tasks[at].id.clone(),
            title: self.tasks[at].title.to_string(),
            status: self.tasks[at].shown().as_str(),
            layer,
            row,
            critical: is_critical.contains(&at),
        };
        let mut nodes = Vec::with_capacity(places.len());
        for (layer, rows) in layers.iter().enumerate() {
            nodes.extend(rows.iter().enumerate().map(|(row, at)| node(*at, layer, row)));
        }
        let mut edges = Vec::new();
        for to in sorted {
            let from = self.needed[to].iter().filter(|at| places.contains(at));
            edges.extend(from.map(|from| (*from, to)));
        }
        Drawn { places, nodes, edges }
    }

    /// Orders each layer by the mean row of its neighbors, so that fewer edges cross.
    fn untangle(&self, layers: &mut [Vec<usize>]) {
        let mut row: HashMap<usize, usize> = HashMap::new();
        for rows in layers.iter() {
            row.extend(rows.iter().enumerate().map(|(row, at)| (*at, row)));
        }
        for sweep in 0..SWEEPS {
            let forward = sweep % 2 == 0;
            for step in 0..layers.len() {
                let at = if forward { step } else { layers.len() - 1 - step };
                let neighbors = if forward { &self.needed } else { &self.needing };
                let mean = |place: &usize| {
                    let rows: Vec<usize> =
                        neighbors[*place].iter().filter_map(|at| row.get(at)).copied().collect();
                    match rows.len() {
                        0 => row.get(place).map_or(0, |row| row * 1_000),
                        many => rows.iter().sum::<usize>() * 1_000 / many,
                    }
                };
                // Stable: equal tasks keep their order.
                layers[at].sort_by_cached_key(mean);
                row.extend(layers[at].iter().enumerate().map(|(row, at)| (*at, row)));
            }
        }
    }
}

/// What has a node.
struct Drawn {
    places: HashSet<usize>,
    nodes: Vec<GraphNode>,
    edges: Vec<(usize, usize)>,
}

impl Drawn {
    fn contains(&self, place: &usize) -> bool {
        self.places.contains(place)
    }
}

#[cfg(test)]
mod tests;
