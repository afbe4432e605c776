//! Claude Code's lists as tasks.

use super::*;

fn parsed(text: &str) -> Plan {
    parse(text).unwrap()
}

#[test]
fn a_task_file_keeps_its_id_and_what_blocks_it() {
    let text = r#"{"id": "2", "subject": "Check the password", "description": "With argon2.",
        "activeForm": "Checking", "status": "pending", "blocks": ["3"], "blockedBy": ["1"], "owner": "ada"}"#;
    assert!(recognizes("2.json", text));
    let plan = parsed(text);
    let [task] = &plan.tasks[..] else { panic!("one task") };
    assert_eq!((task.id.as_str(), task.title.as_str()), ("2", "Check the password"));
    assert_eq!(task.fields.description.as_deref(), Some("With argon2."));
    assert_eq!(task.fields.deps.as_ref().unwrap()[0].as_str(), "1");
    assert_eq!((task.done, &task.waits), (None, &None));
    assert_eq!(plan.not_kept, ["the owner of 1 task"]);
}

#[test]
fn todos_get_ids_from_their_words() {
    let text = r#"[
        {"content": "Write the form", "status": "completed", "activeForm": "Writing"},
        {"content": "Run the tests", "status": "in_progress", "priority": "high"},
        {"content": "Run the tests", "status": "pending"},
        {"content": "Old idea", "status": "cancelled"}]"#;
    let plan = parsed(text);
    assert_eq!(parsed(text), plan);
    assert_eq!(parsed(&format!("{{\"todos\": {text}}}")).tasks, plan.tasks);
    let [form, first, second] = &plan.tasks[..] else { panic!("three tasks") };
    assert!(form.done.is_some() && first.done.is_none());
    assert!(first.id != second.id && form.id.as_str().starts_with("t-"));
    assert_eq!(first.fields.priority.map(i64::from), Some(1));
    assert_eq!((second.line, plan.dropped.len()), (4, 1));
    assert_eq!(
        plan.not_kept,
        ["1 cancelled task", "status in_progress of 1 task (imported as open)"]
    );
}

#[test]
fn problems_are_named_with_their_line() {
    for (text, line, says) in [
        ("3", 1, "a list or an object, not a number"),
        ("[\n{\"status\": \"pending\"}]", 2, "\"subject\" or \"content\" is missing"),
        ("[{\"subject\": \"a\"},\n{\"subject\": 1}]", 2, "\"subject\" must be text, not a number"),
        (
            "[{\"id\": 1, \"subject\": \"a\"},\n{\"id\": \"1\", \"subject\": \"b\"}]",
            2,
            "already on line 1",
        ),
        ("[1]", 1, "a task is an object, not a number"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.line == line && error.problem.contains(says), "{text}: {error}");
    }
    for other in ["[]", "{}", "{\"title\": \"a\", \"status\": \"open\", \"content\": \"\"}", "x"] {
        assert!(!recognizes("a.json", other), "{other}");
    }
}
