//! task-master's files as tasks.

use super::*;
use crate::plan::recognized;

const TAGGED: &str = r#"{
  "master": {
    "tasks": [
      {"id": 1, "title": "Set up", "status": "done", "priority": "high", "dependencies": []},
      {"id": 2, "title": "Log in", "description": "With a password.", "details": "Use argon2.",
       "testStrategy": "Wrong passwords fail.", "status": "in-progress", "priority": "low",
       "dependencies": [1],
       "subtasks": [
         {"id": 1, "title": "Form", "status": "done", "dependencies": []},
         {"id": 2, "title": "Check", "status": "pending", "dependencies": [1, "3"]}
       ]},
      {"id": "3", "title": "Hash", "status": "deferred", "complexityScore": 4},
      {"id": 4, "title": "Fax", "status": "cancelled"},
      {"id": 5, "title": "Log out", "status": "pending", "dependencies": [2, 4]}
    ],
    "metadata": {"created": "2026-01-01"}
  },
  "payments": {"tasks": [{"id": 1, "title": "Pay", "status": "pending"},
                         {"id": 2, "title": "Refund", "status": "review", "dependencies": [1]}]}
}"#;

fn parsed(text: &str) -> Plan {
    parse(text).unwrap()
}

fn task<'p>(plan: &'p Plan, id: &str) -> &'p PlanTask {
    plan.tasks.iter().find(|task| task.id.as_str() == id).unwrap()
}

fn deps(plan: &Plan, id: &str) -> Vec<String> {
    task(plan, id).fields.deps.iter().flatten().map(ToString::to_string).collect()
}

#[test]
fn ids_subtasks_and_tags_are_kept() {
    let plan = parsed(TAGGED);
    let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "2.1", "2.2", "3", "5", "payments/1", "payments/2"]);
    assert_eq!(task(&plan, "2.2").fields.parent, Some(Some(TaskId::new("2").unwrap())));
    assert_eq!(task(&plan, "payments/1").fields.category, Some(Some("payments".into())));
    assert_eq!(task(&plan, "1").fields.category, None);
    assert_eq!((task(&plan, "2").line, task(&plan, "2.2").line), (5, 10));
}

#[test]
fn a_subtask_waits_for_its_neighbors_and_for_what_its_task_depends_on() {
    let plan = parsed(TAGGED);
    assert_eq!(deps(&plan, "2"), ["1"]);
    assert_eq!(deps(&plan, "2.1"), ["1"]);
    assert_eq!(deps(&plan, "2.2"), ["2.1", "3", "1"]);
    assert_eq!(deps(&plan, "5"), ["2"], "the cancelled task holds nothing up");
    assert_eq!(deps(&plan, "payments/2"), ["payments/1"]);
}

#[test]
fn every_status_has_a_meaning_and_priorities_are_numbers() {
    let plan = parsed(TAGGED);
    assert!(task(&plan, "1").done.is_some() && task(&plan, "2.1").done.is_some());
    assert!(task(&plan, "2").done.is_none());
    assert_eq!(task(&plan, "3").waits.as_deref(), Some("its status was deferred"));
    assert_eq!(task(&plan, "payments/2").waits.as_deref(), Some("its status was review"));
    assert_eq!(plan.dropped, [TaskId::new("4").unwrap()]);
    let priority = |id| task(&plan, id).fields.priority.map(i64::from);
    assert_eq!((priority("1"), priority("2"), priority("5")), (Some(1), Some(3), None));
    assert_eq!(
        task(&plan, "2").fields.description.as_deref(),
        Some(
            "With a password.\n\n## Details\n\nUse argon2.\n\n## Test strategy\n\nWrong passwords fail."
        )
    );
    assert_eq!(
        plan.not_kept,
        [
            "1 cancelled task",
            "1 link to cancelled tasks",
            "status in-progress of 1 task (imported as open)",
            "the metadata of 1 tag",
            "unknown field \"complexityScore\" of 1 task",
        ]
    );
}

#[test]
fn a_done_task_with_open_subtasks_is_open_and_what_a_deferred_one_contains_waits() {
    let plan = parsed(
        r#"{"tasks": [
        {"id": 1, "title": "a", "status": "done", "subtasks": [{"id": 1, "title": "b", "status": "pending"}]},
        {"id": 2, "title": "c", "status": "deferred", "subtasks": [
            {"id": "2.1", "title": "d", "status": "pending"}, {"id": "2.2", "title": "e", "status": "done"}]},
        {"id": 3, "title": "f", "status": "cancelled", "subtasks": [
            {"id": 1, "title": "g", "status": "pending"}, {"id": 2, "title": "h", "status": "done"}]}]}"#,
    );
    assert!(task(&plan, "1").done.is_none());
    assert!(task(&plan, "2").waits.is_none() && task(&plan, "2.1").waits.is_some());
    assert!(task(&plan, "2.2").done.is_some());
    assert_eq!(task(&plan, "3.2").fields.parent, Some(None));
    let dropped: Vec<&str> = plan.dropped.iter().map(TaskId::as_str).collect();
    assert_eq!(dropped, ["3", "3.1"]);
    assert!(plan.not_kept.contains(&"status done of 1 task with open subtasks".to_owned()));
}

#[test]
fn problems_are_named_with_their_line() {
    for (text, line, says) in [
        ("[1]", 1, "an object with \"tasks\", not a list"),
        ("{}", 1, "\"tasks\" is missing"),
        ("{\"tasks\": 1}", 1, "\"tasks\" must be a list of tasks, not a number"),
        ("{\"tasks\": [\n{\"title\": \"a\"}]}", 2, "\"id\" is missing"),
        ("{\"tasks\": [\n\n{\"id\": 1}]}", 3, "\"title\" is missing"),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"{a\\\"\",\n\"subtasks\": [\n{\"id\": true}]}]}",
            3,
            "\"id\" must be text or a whole number, not true",
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"a\"},\n{\"id\": \"1\", \"title\": \"b\"}]}",
            2,
            "the id \"1\" is already on line 1",
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"a\", \"dependencies\": [1]}]}",
            1,
            "depends on itself",
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"a\", \"priority\": \"asap\"}]}",
            1,
            "must be critical, high, medium, low or a number, not \"asap\"",
        ),
        ("{\"a b\": {\"tasks\": [{\"id\": 1, \"title\": \"a\"}]}}", 1, "cannot contain ' '"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.line == line && error.problem.contains(says), "{text}: {error}");
    }
}

#[test]
fn only_lists_of_titled_tasks_are_taken_for_task_master() {
    let name = |text| recognized("tasks.json", text).map(|format| format.name);
    assert_eq!(name(TAGGED), Some("task-master"));
    assert_eq!(name("{\"tasks\": [{\"id\": 1, \"title\": \"a\"}]}"), Some("task-master"));
    assert_eq!(name("{\"userStories\": []}"), Some("prd"));
    assert_eq!(name("[{\"content\": \"a\", \"status\": \"pending\"}]"), Some("claude"));
}
