//! What a list of tasks is asked for: a search, statuses, an order and a part of the result.

use std::collections::HashMap;

use ralph_core::task::{Counts, Priority, ShownStatus, StatusFilter, Task, UnknownStatus};
use serde::Serialize;

/// The most tasks in an answer.
const MOST: usize = 1_000;
/// How much of a description is searched, in bytes.
const SEARCHED: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sort {
    #[default]
    Created,
    Priority,
    Status,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    /// All of these, in lower case.
    words: Vec<String>,
    /// Any of these, as lists show them: a blocked task is not open. Empty for all tasks.
    statuses: Vec<ShownStatus>,
    sort: Sort,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// A number of a query, at most `most`.
pub(crate) fn number(
    given: &HashMap<String, String>,
    name: &str,
    (usual, most): (usize, usize),
) -> Result<usize, String> {
    match given.get(name).filter(|text| !text.is_empty()) {
        None => Ok(usual),
        Some(text) => match text.parse::<usize>() {
            Ok(number) => Ok(number.min(most)),
            Err(_) => Err(format!("{name} is not a number: {text:?}")),
        },
    }
}

impl Query {
    pub(crate) fn read(given: &HashMap<String, String>) -> Result<Self, String> {
        let text = |name: &str| given.get(name).map(String::as_str).unwrap_or_default();
        let sort = match text("sort") {
            "" | "created" => Sort::Created,
            "priority" => Sort::Priority,
            "status" => Sort::Status,
            other => return Err(format!("{other:?} is not an order: created, priority or status")),
        };
        let words = text("status").split(',').map(str::trim).filter(|word| !word.is_empty());
        let shown = |word: &str| {
            word.parse().map(|filter| match filter {
                StatusFilter::Stored(status) => ShownStatus::of(status, 0),
                StatusFilter::Blocked => ShownStatus::Blocked,
            })
        };
        let statuses = words.map(shown).collect::<Result<_, UnknownStatus>>();
        Ok(Self {
            words: text("q").to_lowercase().split_whitespace().map(str::to_owned).collect(),
            statuses: statuses.map_err(|error| error.to_string())?,
            sort,
            offset: number(given, "offset", (0, usize::MAX))?,
            limit: number(given, "limit", (100, MOST))?,
        })
    }

    /// The places of the tasks that it finds, in order.
    pub(super) fn places(&self, tasks: &[Task], texts: &[String]) -> Vec<usize> {
        let admitted =
            |task: &Task| self.statuses.is_empty() || self.statuses.contains(&task.shown());
        let found = |place: &usize| self.words.iter().all(|word| texts[*place].contains(word));
        let all = 0..tasks.len();
        let mut places: Vec<usize> =
            all.filter(|place| admitted(&tasks[*place])).filter(found).collect();
        match self.sort {
            Sort::Created => {}
            Sort::Priority => places.sort_by_key(|place| tasks[*place].priority),
            Sort::Status => places.sort_by_key(|place| urgency(tasks[*place].shown())),
        }
        places
    }
}

/// What needs you or happens now comes first.
const fn urgency(status: ShownStatus) -> u8 {
    match status {
        ShownStatus::Active => 0,
        ShownStatus::Waiting => 1,
        ShownStatus::Failed => 2,
        ShownStatus::Open => 3,
        ShownStatus::Blocked => 4,
        ShownStatus::Done => 5,
        ShownStatus::Deleted => 6,
    }
}

/// What a search reads of a task.
pub(super) fn text(task: &Task) -> String {
    let description = &task.description[..task.description.floor_char_boundary(SEARCHED)];
    let feature = task.feature.as_ref().map_or("", |feature| feature.as_str());
    format!("{}\n{}\n{feature}\n{description}", task.id, task.title).to_lowercase()
}

#[derive(Serialize)]
pub(super) struct ListJson<'a> {
    pub(super) version: u64,
    /// How many tasks the search finds.
    pub(super) total: usize,
    /// Of the whole plan.
    pub(super) counts: Counts,
    pub(super) tasks: Vec<TaskJson<'a>>,
}

/// A task in a list.
#[derive(Serialize)]
pub(crate) struct TaskJson<'a> {
    id: &'a str,
    title: String,
    status: &'static str,
    ready: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    blocked: bool,
    priority: Priority,
    deps: Vec<&'a str>,
    parent: Option<&'a str>,
    feature: Option<&'a str>,
    retry_count: u32,
}

impl<'a> TaskJson<'a> {
    pub(crate) fn of(task: &'a Task) -> Self {
        Self {
            id: task.id.as_str(),
            title: task.title.to_string(),
            status: task.shown().as_str(),
            ready: task.is_ready(),
            blocked: task.shown() == ShownStatus::Blocked,
            priority: task.priority,
            deps: task.deps.iter().map(ralph_core::TaskId::as_str).collect(),
            parent: task.parent.as_ref().map(ralph_core::TaskId::as_str),
            feature: task.feature.as_ref().map(ralph_core::FeatureName::as_str),
            retry_count: task.retry_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::TaskId;
    use ralph_core::task::Status;
    use ralph_core::text::Title;
    use ralph_core::time::Timestamp;

    use super::*;

    fn query(of: &[(&str, &str)]) -> Result<Query, String> {
        let text = |text: &&str| (*text).to_owned();
        Query::read(&of.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    fn task(id: &str, title: &str, status: Status, priority: u8) -> Task {
        Task {
            status,
            priority: Priority::new(priority.into()).unwrap(),
            ..Task::new(
                TaskId::new(id).unwrap(),
                Title::new(title).unwrap(),
                Timestamp::from_millis(0),
            )
        }
    }

    #[test]
    fn a_search_finds_all_words_in_the_asked_statuses_and_order() {
        let mut tasks = vec![
            task("t-1", "Write the login form", Status::Done, 2),
            task("t-2", "Test the LOGIN form", Status::Pending, 1),
            task("t-3", "Deploy", Status::InProgress, 0),
            task("t-4", "Log out", Status::Pending, 3),
        ];
        tasks[3].neighbors.open_blockers = 1;
        tasks[2].description = "after the Login form".to_owned();
        let texts: Vec<String> = tasks.iter().map(text).collect();
        let found =
            |of: &[(&str, &str)]| -> Vec<usize> { query(of).unwrap().places(&tasks, &texts) };
        assert_eq!(found(&[]), [0, 1, 2, 3]);
        assert_eq!(found(&[("q", "FORM login")]), [0, 1, 2]);
        assert_eq!(found(&[("q", "login"), ("status", "open, done")]), [0, 1]);
        assert_eq!(found(&[("status", "open")]), [1]);
        assert_eq!(found(&[("status", "blocked")]), [3]);
        assert_eq!(found(&[("sort", "priority")]), [2, 1, 0, 3]);
        assert_eq!(found(&[("sort", "status")]), [2, 1, 3, 0]);
    }

    #[test]
    fn a_query_that_means_nothing_is_refused_in_a_sentence() {
        for (name, value, why) in [
            ("sort", "size", "\"size\" is not an order: created, priority or status"),
            ("status", "opne", "\"opne\" is not a status; did you mean open?"),
            ("limit", "-1", "limit is not a number: \"-1\""),
        ] {
            assert_eq!(query(&[(name, value)]).unwrap_err(), why);
        }
        assert_eq!(query(&[("limit", "1000000")]).unwrap().limit, MOST);
    }
}
