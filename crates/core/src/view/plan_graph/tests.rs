//! Drawings of plans, large and small, and what holds for every one.

use proptest::prelude::*;

use super::*;
use crate::text::Title;
use crate::time::Timestamp;

/// Tasks with the statuses and blockers given, by their numbers. A blocker comes before its task.
fn tasks(of: &[(Status, Vec<usize>)]) -> Vec<Task> {
    let id = |number: usize| TaskId::new(format!("t-{number}")).unwrap();
    let task = |(number, (status, deps)): (usize, &(Status, Vec<usize>))| Task {
        status: *status,
        deps: deps.iter().map(|dep| id(*dep)).collect(),
        order: number as u64,
        ..Task::new(
            id(number),
            Title::new(format!("Task {number}")).unwrap(),
            Timestamp::from_millis(0),
        )
    };
    of.iter().enumerate().map(task).collect()
}

fn words(ids: &[TaskId]) -> Vec<&str> {
    ids.iter().map(TaskId::as_str).collect()
}

#[test]
fn the_critical_path_is_what_must_be_done_one_after_the_other() {
    use Status::{Done, Failed, InProgress, Pending};
    let plan = tasks(&[
        (Done, vec![]),
        (InProgress, vec![0]),
        (Pending, vec![1]),
        (Pending, vec![]),
        (Pending, vec![2, 3]),
        (Failed, vec![4]),
    ]);
    let graph = plan_graph(&plan, None, 100);
    assert_eq!(words(&graph.critical), ["t-1", "t-2", "t-4"]);
    assert_eq!((graph.total, graph.shown, graph.hidden), (6, 6, 0));
    let layers: Vec<usize> = graph.nodes.iter().map(|node| node.layer).collect();
    assert_eq!(layers, [0, 0, 1, 2, 3, 4]);
    assert_eq!(graph.nodes.iter().filter(|node| node.critical).count(), 3);
}

#[test]
fn a_parent_stands_behind_its_children_and_adds_nothing_to_a_chain() {
    let mut plan = tasks(&[
        (Status::Pending, vec![]),
        (Status::Pending, vec![]),
        (Status::Pending, vec![0]),
        (Status::Pending, vec![]),
        (Status::Pending, vec![3]),
        (Status::Pending, vec![4]),
    ]);
    plan[1].parent = Some(plan[0].id.clone());
    plan[0].neighbors.children = 1;
    let graph = plan_graph(&plan, None, 100);
    assert_eq!(words(&graph.critical), ["t-3", "t-4", "t-5"]);
    let layer = |id: &str| graph.nodes.iter().find(|node| node.id.as_str() == id).unwrap().layer;
    assert_eq!((layer("t-1"), layer("t-0"), layer("t-2")), (0, 1, 2));
}

#[test]
fn beyond_the_limit_the_critical_path_comes_first() {
    let mut of: Vec<(Status, Vec<usize>)> = (0..1_000).map(|_| (Status::Pending, vec![])).collect();
    for (at, task) in of.iter_mut().enumerate().take(910).skip(901) {
        task.1 = vec![at - 1];
    }
    let plan = tasks(&of);
    let graph = plan_graph(&plan, None, 20);
    assert_eq!((graph.shown, graph.hidden), (20, 980));
    assert_eq!(graph.nodes.iter().filter(|node| node.critical).count(), 10);
    let near = plan_graph(&plan, Some(&plan[905].id), 3);
    let ids: HashSet<&str> = near.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, HashSet::from(["t-904", "t-905", "t-906"]));
}

#[test]
fn only_the_newest_finished_tasks_are_drawn() {
    let mut plan = tasks(&vec![(Status::Done, vec![]); 50]);
    for (at, task) in plan.iter_mut().enumerate() {
        task.done_at = Some(Timestamp::from_millis(at as i64));
    }
    let graph = plan_graph(&plan, None, 300);
    assert_eq!((graph.total, graph.shown, graph.hidden), (50, RECENT, 0));
    assert!(graph.nodes.iter().any(|node| node.id.as_str() == "t-49"));
    assert_eq!(graph.critical, []);
}

#[test]
fn a_chain_of_a_hundred_thousand_tasks_is_drawn() {
    let of: Vec<(Status, Vec<usize>)> = (0..100_000_usize)
        .map(|at| (Status::Pending, at.checked_sub(1).into_iter().collect()))
        .collect();
    let graph = plan_graph(&tasks(&of), None, 300);
    assert_eq!((graph.critical.len(), graph.shown, graph.hidden), (100_000, 300, 99_700));
    assert_eq!(graph.nodes.last().unwrap().layer, 299);
}

#[test]
fn an_empty_plan_is_an_empty_drawing() {
    assert_eq!(plan_graph(&[], None, 10), PlanGraph::default());
}

/// The length of the longest chain that ends at each task, computed the slow way.
fn longest(of: &[(Status, Vec<usize>)]) -> usize {
    let open = |at: usize| !satisfies(of[at].0);
    let mut length = vec![0; of.len()];
    for at in (0..of.len()).filter(|at| open(*at)) {
        let before = of[at].1.iter().filter(|at| open(**at)).map(|at| length[*at]);
        length[at] = 1 + before.max().unwrap_or(0);
    }
    let ends = |at: &usize| open(*at) && of[*at].0 != Status::Failed;
    let longest = (0..of.len()).filter(ends).map(|at| length[at]).max();
    longest.filter(|length| *length > 1).unwrap_or(0)
}

fn plans() -> impl Strategy<Value = Vec<(Status, Vec<usize>)>> {
    let task = (0..5_usize, prop::collection::vec(0..64_usize, 0..4));
    prop::collection::vec(task, 0..40).prop_map(|all| {
        let of = |(at, (status, deps)): (usize, (usize, Vec<usize>))| {
            let mut deps: Vec<usize> = deps.into_iter().filter(|dep| *dep < at).collect();
            deps.sort_unstable();
            deps.dedup();
            (Status::ALL[status], deps)
        };
        all.into_iter().enumerate().map(of).collect()
    })
}

proptest! {
    #[test]
    fn layers_follow_what_tasks_need_and_the_critical_path_is_longest(
        of in plans(),
        limit in 1..50_usize,
        center in 0..40_usize,
    ) {
        let plan = tasks(&of);
        let around = plan.get(center).map(|task| task.id.clone());
        for around in [None, around.as_ref()] {
            let graph = plan_graph(&plan, around, limit);
            prop_assert!(graph.nodes.len() <= limit);
            prop_assert_eq!(graph.shown, graph.nodes.len());
            let at: HashMap<&TaskId, &GraphNode> =
                graph.nodes.iter().map(|node| (&node.id, node)).collect();
            for (from, to) in &graph.edges {
                prop_assert!(at[from].layer < at[to].layer);
            }
            let places: HashSet<(usize, usize)> =
                graph.nodes.iter().map(|node| (node.layer, node.row)).collect();
            prop_assert_eq!(places.len(), graph.nodes.len());
            prop_assert_eq!(graph.critical.len(), longest(&of));
            for pair in graph.critical.windows(2) {
                let task = plan.iter().find(|task| task.id == pair[1]).unwrap();
                prop_assert!(task.deps.contains(&pair[0]));
            }
        }
    }
}
