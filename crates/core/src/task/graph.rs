//! The graph of tasks: which are ready, how parents follow their children, and which edges would create a
//! cycle.
//!
//! Two kinds of edge say that one task *needs* another: a task needs its blockers, and a parent
//! needs its children (it is done when they are). A cycle through both kinds can never finish, so
//! both are walked together.

use std::collections::{HashMap, VecDeque};

use super::status::Status;

/// What a task needs to know about its neighbors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NeighborCounts {
    /// Blockers that are neither done nor deleted.
    pub open_blockers: u32,
    /// Children that are not deleted.
    pub children: u32,
    pub failed_above: bool,
}

/// Ready: pending, no children, no failed ancestor, every blocker done or deleted.
pub fn is_ready(status: Status, neighbors: NeighborCounts) -> bool {
    status == Status::Pending && neighbors == NeighborCounts::default()
}

/// Whether a blocker with this status no longer blocks.
pub const fn satisfies(blocker: Status) -> bool {
    matches!(blocker, Status::Done | Status::Deleted)
}

/// The children of a task that are not deleted, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Children {
    pub live: u32,
    pub done: u32,
    pub failed: u32,
}

/// What a task becomes because of its children; `None` when nothing changes.
///
/// Failed while any child is failed, done when all are done, and pending again when the failed
/// child that made it fail is reset, deleted or moved away.
pub fn parent_status(current: Status, children: Children) -> Option<Status> {
    let next = match current {
        Status::Deleted | Status::Done => return None,
        _ if children.failed > 0 => Status::Failed,
        _ if children.live > 0 && children.done == children.live => Status::Done,
        Status::Failed => Status::Pending,
        Status::Pending | Status::InProgress | Status::Waiting => return None,
    };
    (next != current).then_some(next)
}

/// What a task becomes because one of its children is reopened; `None` when nothing changes.
///
/// Only a reopened child takes a parent back from done: everywhere else done stays done.
pub fn parent_of_reopened(current: Status, children: Children) -> Option<Status> {
    match current {
        Status::Done if children.failed > 0 => Some(Status::Failed),
        Status::Done => Some(Status::Pending),
        _ => parent_status(current, children),
    }
}

/// The path from `from` to `to` along `needs`, both ends included; `None` when there is none.
///
/// A new edge "`to` needs `from`" creates a cycle exactly when this finds a path.
pub fn path_between<N: Clone + Eq + std::hash::Hash, E>(
    from: N,
    to: &N,
    mut needs: impl FnMut(&N) -> Result<Vec<N>, E>,
) -> Result<Option<Vec<N>>, E> {
    let mut came_from: HashMap<N, Option<N>> = HashMap::from([(from.clone(), None)]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == *to {
            let before = |at: &N| came_from.get(at).cloned().flatten();
            let mut path: Vec<N> = std::iter::successors(Some(node), before).collect();
            path.reverse();
            return Ok(Some(path));
        }
        for next in needs(&node)? {
            if !came_from.contains_key(&next) {
                came_from.insert(next.clone(), Some(node.clone()));
                queue.push_back(next);
            }
        }
    }
    Ok(None)
}

/// A cycle in a whole graph of `nodes` numbered from 0, where `edges` are (needs, needed) pairs, or
/// `None`. Linear in the size of the graph, for imports that bring all edges at once.
pub fn cycle_in(nodes: usize, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
    let mut unmet = vec![0u32; nodes];
    let mut waiting = vec![Vec::new(); nodes];
    for &(needs, needed) in edges {
        unmet[needs as usize] += 1;
        waiting[needed as usize].push(needs);
    }
    let mut free: Vec<u32> = (0..nodes as u32).filter(|n| unmet[*n as usize] == 0).collect();
    let mut settled = 0;
    while let Some(node) = free.pop() {
        settled += 1;
        for &next in &waiting[node as usize] {
            unmet[next as usize] -= 1;
            if unmet[next as usize] == 0 {
                free.push(next);
            }
        }
    }
    if settled == nodes {
        return None;
    }
    // Every node left needs another one that is left: walk until one repeats.
    let mut one_need = vec![None; nodes];
    for &(needs, needed) in edges {
        if unmet[needs as usize] > 0 && unmet[needed as usize] > 0 {
            one_need[needs as usize] = Some(needed);
        }
    }
    let mut at = (0..nodes as u32).find(|n| unmet[*n as usize] > 0)?;
    let mut seen = vec![usize::MAX; nodes];
    let mut walk = Vec::new();
    while seen[at as usize] == usize::MAX {
        seen[at as usize] = walk.len();
        walk.push(at);
        at = one_need[at as usize]?;
    }
    let mut cycle = walk.split_off(seen[at as usize]);
    cycle.push(at);
    Some(cycle)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn children(live: u32, done: u32, failed: u32) -> Children {
        Children { live, done, failed }
    }

    /// S1-10: pending, leaf, nothing failed above, all blockers done.
    #[test]
    fn s1_10_ready_needs_all_four() {
        let free = NeighborCounts::default();
        assert!(is_ready(Status::Pending, free));
        for status in Status::ALL.into_iter().filter(|s| *s != Status::Pending) {
            assert!(!is_ready(status, free), "{status}");
        }
        assert!(!is_ready(Status::Pending, NeighborCounts { open_blockers: 1, ..free }));
        assert!(!is_ready(Status::Pending, NeighborCounts { children: 1, ..free }));
        assert!(!is_ready(Status::Pending, NeighborCounts { failed_above: true, ..free }));
    }

    /// S1-48, S1-49: a parent is done with its last child and fails with any.
    #[test]
    fn s1_48_s1_49_a_parent_follows_its_children() {
        use Status::{Deleted, Done, Failed, InProgress, Pending, Waiting};
        assert_eq!(parent_status(Pending, children(2, 1, 0)), None);
        assert_eq!(parent_status(Pending, children(2, 2, 0)), Some(Done));
        assert_eq!(parent_status(InProgress, children(1, 1, 0)), Some(Done));
        assert_eq!(parent_status(Pending, children(2, 1, 1)), Some(Failed));
        assert_eq!(parent_status(Waiting, children(2, 0, 1)), Some(Failed));
        assert_eq!(parent_status(Failed, children(2, 0, 1)), None);
        assert_eq!(parent_status(Failed, children(2, 1, 0)), Some(Pending));
        assert_eq!(parent_status(Failed, children(0, 0, 0)), Some(Pending));
        assert_eq!(parent_status(Done, children(2, 1, 0)), None);
        assert_eq!(parent_status(Deleted, children(1, 1, 0)), None);
    }

    #[test]
    fn a_done_parent_reopens_with_its_child() {
        use Status::{Deleted, Done, Failed, Pending};
        assert_eq!(parent_of_reopened(Done, children(2, 1, 0)), Some(Pending));
        assert_eq!(parent_of_reopened(Done, children(3, 1, 1)), Some(Failed));
        assert_eq!(parent_of_reopened(Failed, children(2, 1, 0)), Some(Pending));
        assert_eq!(parent_of_reopened(Failed, children(2, 0, 1)), None);
        assert_eq!(parent_of_reopened(Pending, children(2, 1, 0)), None);
        assert_eq!(parent_of_reopened(Deleted, children(2, 1, 0)), None);
    }

    #[test]
    fn a_path_is_found_with_its_stations() {
        let needs = |n: &u32| -> Result<Vec<u32>, Infallible> {
            Ok(match n {
                1 => vec![2, 5],
                2 => vec![3],
                3 => vec![4],
                _ => vec![],
            })
        };
        assert_eq!(path_between(1, &4, needs), Ok(Some(vec![1, 2, 3, 4])));
        assert_eq!(path_between(5, &1, needs), Ok(None));
        assert_eq!(path_between(5, &5, needs), Ok(Some(vec![5])));
    }

    proptest! {
        /// The linear check and the walk agree on whether there is a cycle, and what is returned is one.
        #[test]
        fn a_reported_cycle_is_a_cycle(edges in prop::collection::vec((0u32..12, 0u32..12), 0..24)) {
            let found = cycle_in(12, &edges);
            let any = edges.iter().any(|&(needs, needed)| {
                let walk = path_between(needed, &needs, |n| -> Result<Vec<u32>, Infallible> {
                    Ok(edges.iter().filter(|e| e.0 == *n).map(|e| e.1).collect())
                });
                matches!(walk, Ok(Some(_)))
            });
            prop_assert_eq!(found.is_some(), any);
            if let Some(cycle) = found {
                prop_assert!(cycle.len() >= 2 && cycle.first() == cycle.last());
                for pair in cycle.windows(2) {
                    prop_assert!(edges.contains(&(pair[0], pair[1])));
                }
            }
        }
    }
}
