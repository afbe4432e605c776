//! The list of tasks: below their parents, or only those in one state or with a text. What is selected stays selected
//! while the plan changes.

use std::collections::HashMap;

use ralph_core::TaskId;
use ralph_core::task::{ShownStatus, Task};

/// The states that tasks can be listed by, in the order of the choice.
pub(super) const STATES: [ShownStatus; 6] = [
    ShownStatus::Active,
    ShownStatus::Open,
    ShownStatus::Blocked,
    ShownStatus::Waiting,
    ShownStatus::Failed,
    ShownStatus::Done,
];

#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    tasks: Vec<Task>,
    places: HashMap<TaskId, usize>,
    /// The tasks that are listed, with how deep they are below their parents.
    rows: Vec<(usize, u16)>,
    filter: Option<ShownStatus>,
    search: String,
    selected: usize,
    /// The user has chosen a task: the selection no longer follows the work.
    pub(super) chosen: bool,
}

impl Plan {
    pub(super) fn set(&mut self, tasks: Vec<Task>) {
        let kept = self.selected().map(|task| task.id.clone());
        self.places =
            tasks.iter().enumerate().map(|(index, task)| (task.id.clone(), index)).collect();
        self.tasks = tasks;
        self.list();
        if let Some(kept) = kept {
            self.go_to(&kept);
        }
    }

    pub(super) const fn rows(&self) -> &[(usize, u16)] {
        self.rows.as_slice()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn task(&self, id: &TaskId) -> Option<&Task> {
        self.places.get(id).map(|index| &self.tasks[*index])
    }

    pub(super) fn at(&self, index: usize) -> &Task {
        &self.tasks[index]
    }

    pub(super) fn count(&self, state: ShownStatus) -> usize {
        self.tasks.iter().filter(|task| task.shown() == state).count()
    }

    pub(super) const fn total(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn selected(&self) -> Option<&Task> {
        self.rows.get(self.selected).map(|(index, _)| &self.tasks[*index])
    }

    pub(super) const fn selected_row(&self) -> usize {
        self.selected
    }

    /// Moves the selection by so many rows, and stops at the ends.
    pub(super) fn move_by(&mut self, rows: isize) {
        self.select(self.selected.saturating_add_signed(rows));
    }

    pub(super) fn select(&mut self, row: usize) {
        self.selected = row.min(self.rows.len().saturating_sub(1));
        self.chosen = true;
    }

    /// Selects the task where it is listed.
    pub(super) fn go_to(&mut self, id: &TaskId) {
        let Some(place) = self.places.get(id) else { return };
        if let Some(row) = self.rows.iter().position(|(index, _)| index == place) {
            self.selected = row;
        }
    }

    pub(super) const fn filter(&self) -> Option<ShownStatus> {
        self.filter
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    /// Lists only the tasks in this state; `None` lists all.
    pub(super) fn show_only(&mut self, filter: Option<ShownStatus>) {
        self.filter = filter;
        self.relist();
    }

    /// Lists only the tasks that have this text in their id, title or feature.
    pub(super) fn show_with(&mut self, search: &str) {
        search.clone_into(&mut self.search);
        self.relist();
    }

    fn relist(&mut self) {
        let kept = self.selected().map(|task| task.id.clone());
        self.list();
        self.selected = 0;
        if let Some(kept) = kept {
            self.go_to(&kept);
        }
    }

    fn list(&mut self) {
        self.rows = match self.filter.is_none() && self.search.is_empty() {
            true => tree(&self.tasks, &self.places),
            false => self.matching(),
        };
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    fn matching(&self) -> Vec<(usize, u16)> {
        let search = self.search.to_lowercase();
        let has = |task: &Task| {
            let feature = task.feature.as_ref().map_or("", |name| name.as_str());
            [task.id.as_str(), task.title.as_str(), feature]
                .iter()
                .any(|text| text.to_lowercase().contains(&search))
        };
        let listed = |task: &Task| {
            self.filter.is_none_or(|state| task.shown() == state)
                && (search.is_empty() || has(task))
        };
        let found = self.tasks.iter().enumerate().filter(|(_, task)| listed(task));
        found.map(|(index, _)| (index, 0)).collect()
    }
}

/// Every task below its parent. One whose parent is not among them stands at the top.
fn tree(tasks: &[Task], places: &HashMap<TaskId, usize>) -> Vec<(usize, u16)> {
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut stack = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        match task.parent.as_ref().and_then(|parent| places.get(parent)) {
            Some(parent) => below.entry(*parent).or_default().push(index),
            None => stack.push((index, 0_u16)),
        }
    }
    stack.reverse();
    let mut rows = Vec::with_capacity(tasks.len());
    while let Some((index, depth)) = stack.pop() {
        rows.push((index, depth));
        let children = below.get(&index).map_or(&[][..], Vec::as_slice);
        stack.extend(children.iter().rev().map(|child| (*child, depth.saturating_add(1))));
    }
    rows
}

#[cfg(test)]
mod tests {
    use ralph_core::text::Title;
    use ralph_core::time::Timestamp;

    use super::*;
    use crate::tests::sample::id;

    fn task(name: &str, parent: Option<&str>) -> Task {
        let title = Title::new(format!("Title of {name}")).unwrap();
        let mut task = Task::new(id(name), title, Timestamp::default());
        task.parent = parent.map(id);
        task
    }

    fn listed(plan: &Plan) -> Vec<(&str, u16)> {
        plan.rows().iter().map(|(index, depth)| (plan.at(*index).id.as_str(), *depth)).collect()
    }

    #[test]
    fn tasks_stand_below_their_parents() {
        let mut plan = Plan::default();
        plan.set(vec![task("t-a", None), task("t-b", None), task("t-c", Some("t-a"))]);
        assert_eq!(listed(&plan), [("t-a", 0), ("t-c", 1), ("t-b", 0)]);
    }

    #[test]
    fn the_selection_stays_on_its_task() {
        let mut plan = Plan::default();
        plan.set(vec![task("t-a", None), task("t-b", None)]);
        plan.move_by(1);
        plan.set(vec![task("t-0", None), task("t-a", None), task("t-b", None)]);
        assert_eq!(plan.selected().unwrap().id.as_str(), "t-b");
        plan.show_with("OF T-B");
        assert_eq!(listed(&plan), [("t-b", 0)]);
        plan.show_with("");
        assert_eq!(plan.selected().unwrap().id.as_str(), "t-b");
        plan.show_only(Some(ShownStatus::Failed));
        assert!(plan.rows().is_empty() && plan.selected().is_none());
        plan.move_by(-3);
        plan.set(vec![]);
        assert!(plan.selected().is_none());
    }
}
