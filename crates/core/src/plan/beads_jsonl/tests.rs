//! Tests of `beads_jsonl`.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;
use crate::ids::FeatureName;
use crate::plan::{Done, Rendered};
use crate::task::{Priority, Status, Task};
use crate::text::{Title, label};
use crate::time::Timestamp;

/// A task with an id and a title and nothing else.
pub(in crate::plan) fn bare(id: &str) -> Task {
    let at = Timestamp::from_millis(1_794_710_700_000);
    Task::new(TaskId::new(id).unwrap(), Title::new(format!("Task {id}")).unwrap(), at)
}

/// A one-line text, often one that looks like the markup around it.
fn one_line() -> impl Strategy<Value = String> {
    let start = prop_oneof![
        Just(""),
        Just("- "),
        Just("* "),
        Just("- [ ] "),
        Just("[ ] "),
        Just("[x]"),
        Just("-"),
        Just("1. "),
        Just("2)"),
        Just("## "),
        Just("spec:"),
        Just("touches:"),
        Just(":"),
        Just("\""),
    ];
    (start, "\\PC{0,12}")
        .prop_map(|(start, rest)| format!("{start}{rest}").trim().to_owned())
        .prop_filter("a label", |text| matches!(label("text", text), Ok(Some(_))))
}

/// Up to eight tasks that name each other, none of them twice.
pub(in crate::plan) fn some_tasks() -> impl Strategy<Value = Vec<Task>> {
    let status = proptest::sample::select(Status::ALL.to_vec());
    let category = prop_oneof![
        one_line(),
        Just("task".to_owned()),
        Just("bug".to_owned()),
        Just("epic".to_owned())
    ];
    let words =
        (one_line(), "(?s).{0,40}", of(category), of(one_line()), of(one_line()), of(one_line()));
    let lists =
        (vec(one_line(), 0..4), vec(one_line(), 0..4), vec(0..8_usize, 0..3), of(0..8_usize));
    let rest = (0..7_i64, status, of("[a-z0-9]{1,6}"), of(0..4_000_000_000_000_i64));
    let task = (words, lists, rest).prop_map(|(words, lists, rest)| {
        let (title, description, category, spec, reference, branch) = words;
        let (touches, steps, deps, parent) = lists;
        let (priority, status, feature, done_at) = rest;
        Task {
            title: Title::new(title).unwrap(),
            description,
            priority: Priority::new(priority).unwrap(),
            status,
            category,
            spec,
            reference,
            parent: parent.map(number),
            feature: feature.map(|name| FeatureName::new(name).unwrap()),
            branch,
            touches,
            steps,
            deps: deps.into_iter().map(number).collect(),
            done_at: done_at.filter(|_| status == Status::Done).map(Timestamp::from_millis),
            ..bare("x")
        }
    });
    vec(task, 0..8).prop_map(|mut tasks| {
        let deleted: Vec<TaskId> =
            (0..tasks.len()).filter(|n| tasks[*n].status == Status::Deleted).map(number).collect();
        for (n, task) in tasks.iter_mut().enumerate() {
            let id = number(n);
            let mut seen = HashSet::new();
            task.deps.retain(|d| *d != id && !deleted.contains(d) && seen.insert(d.clone()));
            task.parent = task.parent.take().filter(|p| *p != id && !deleted.contains(p));
            task.id = id;
        }
        tasks
    })
}

fn number(n: usize) -> TaskId {
    TaskId::new(format!("t-{n}")).unwrap()
}

fn parsed(text: &str) -> Plan {
    parse(text).unwrap()
}

fn refused(text: &str) -> (usize, String) {
    let PlanError { line, problem } = parse(text).expect_err(text);
    (line, problem)
}

proptest! {
    #[test]
    fn tasks_come_back_from_their_lines(tasks in some_tasks()) {
        let plan = parsed(&render(&tasks).text);
        let live: Vec<&Task> = tasks.iter().filter(|t| t.status != Status::Deleted).collect();
        prop_assert_eq!(plan.tasks.len(), live.len());
        for (back, task) in plan.tasks.iter().zip(live) {
            let fields = back.fields.clone();
            prop_assert_eq!(&back.id, &task.id);
            prop_assert_eq!(&back.title, &task.title);
            prop_assert_eq!(fields.description.as_ref(), Some(&task.description));
            let priority = Priority::new(i64::from(task.priority).min(4)).unwrap();
            prop_assert_eq!(fields.priority, Some(priority));
            prop_assert_eq!(fields.category, Some(task.category.clone()));
            prop_assert_eq!(fields.spec.flatten(), task.spec.clone());
            prop_assert_eq!(fields.reference, Some(task.reference.clone()));
            prop_assert_eq!(fields.parent, Some(task.parent.clone()));
            prop_assert_eq!(fields.feature.flatten(), task.feature.clone());
            prop_assert_eq!(fields.branch.flatten(), task.branch.clone());
            prop_assert_eq!(fields.touches.unwrap_or_default(), task.touches.clone());
            prop_assert_eq!(fields.steps.as_ref(), Some(&task.steps));
            prop_assert_eq!(fields.deps.as_ref(), Some(&task.deps));
            let at = task.done_at.unwrap_or(task.updated_at);
            let done = (task.status == Status::Done).then_some(Done { at: Some(at) });
            prop_assert_eq!(back.done, done);
        }
    }

    #[test]
    fn no_text_is_a_crash(text in "(?s).{0,80}") {
        let _ = parse(&text);
        let _ = recognizes("plan", &text);
    }
}

#[test]
fn an_issue_becomes_a_task() {
    let text = r###"
{"id":"bd-a1","title":"Add login","description":"Text.\n","design":"A form.","notes":"Ask Ann.","acceptance_criteria":"It works:\n- one\n\n * [x] two\n2. three\n\t- four\tand\n1.5 s at most\r\n-1 is refused\n-","status":"open","priority":1,"issue_type":"feature","external_ref":"gh-9","dependencies":[{"issue_id":"bd-a1","depends_on_id":"bd-b2","type":"blocks","created_at":"2026-01-01T00:00:00Z","created_by":"ann"},{"issue_id":"bd-a1","depends_on_id":"bd-e","type":"parent-child"},{"depends_on_id":"else-where"}]}
{"id":"bd-b2","title":"Done","status":"closed","priority":0,"issue_type":"task","closed_at":"2026-11-15T03:45:00.25+01:00"}
{"id":"bd-e","title":"Epic","status":"closed","issue_type":"epic"}
"###;
    let plan = parsed(text);
    assert_eq!(plan.not_kept, [] as [&str; 0]);
    let [task, done, epic] = &plan.tasks[..] else { panic!("three tasks") };
    let ids = |ids: &[&str]| ids.iter().map(|id| TaskId::new(*id).unwrap()).collect::<Vec<_>>();
    let expected = TaskPatch {
        description: Some("Text.\n\n## Design\n\nA form.\n\n## Notes\n\nAsk Ann.".into()),
        priority: Some(Priority::new(1).unwrap()),
        category: Some(Some("feature".into())),
        reference: Some(Some("gh-9".into())),
        parent: Some(Some(TaskId::new("bd-e").unwrap())),
        deps: Some(ids(&["bd-b2", "else-where"])),
        steps: Some(
            ["It works:", "one", "two", "three", "four and", "1.5 s at most", "-1 is refused"]
                .map(String::from)
                .to_vec(),
        ),
        ..TaskPatch::default()
    };
    assert_eq!((task.line, task.done, &task.fields), (2, None, &expected));
    let at = Timestamp::from_millis(1_794_710_700_250);
    assert_eq!(done.done, Some(Done { at: Some(at) }));
    assert_eq!(done.fields.category, Some(None));
    assert_eq!(epic.done, Some(Done { at: None }));
    assert_eq!((&epic.fields.priority, &epic.fields.parent), (&None, &Some(None)));
}

#[test]
fn what_tasks_cannot_say_is_counted() {
    let text = r#"
{"id":"a","title":"A","status":"deferred","issue_type":"bug","labels":["x","y"],"assignee":"ann","owner":"","comments":[{"text":"hi"}],"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","foo":1,"bar":null}
{"id":"b","title":"B","status":"in_progress","labels":["category:ui","spec:","feature:no good","spec:one","spec:two"],"assignee":"bob","estimated_minutes":5,"close_reason":"x","created_by":"c","foo":[0]}
{"id":"c","title":"C","status":"blocked","dependencies":[{"issue_id":"c","depends_on_id":"a","type":"related"},{"issue_id":"c","depends_on_id":"b","type":"related"},{"issue_id":"c","depends_on_id":"b","type":"waits-for"},{"issue_id":"a","depends_on_id":"b","type":"blocks"},{"issue_id":"c","depends_on_id":"a","type":"parent-child"},{"issue_id":"c","depends_on_id":"b","type":"parent-child"},{"issue_id":"c","depends_on_id":"gone","type":"blocks"}]}
{"id":"gone","title":"","status":"tombstone","deleted_by":"ann"}
{"id":"b","title":"An older B","status":"tombstone"}
"#;
    let plan = parsed(text);
    assert_eq!(
        plan.not_kept,
        [
            "2 deleted issues (status tombstone)",
            "1 link listed under another issue than its own",
            "1 link to a second parent",
            "1 link to deleted issues",
            "2 related links",
            "1 waits-for link",
            "comments of 1 issue",
            "created_at and updated_at of 1 issue",
            "labels of 2 issues",
            "status blocked of 1 issue (imported as open)",
            "status deferred of 1 issue (imported as open)",
            "status in_progress of 1 issue (imported as open)",
            "the assignee of 2 issues",
            "the close_reason of 1 issue",
            "the created_by of 1 issue",
            "the estimated_minutes of 1 issue",
            "unknown field \"foo\" of 2 issues",
        ]
    );
    let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(plan.tasks[0].fields.category, Some(Some("bug".into())));
    assert_eq!(plan.tasks[1].fields.spec, Some(Some("one".into())));
    // Without a type there is nothing that the label could stand in for.
    assert_eq!(plan.tasks[1].fields.category, None);
    assert_eq!(plan.tasks[2].fields.deps, Some(vec![]));
}

#[test]
fn each_problem_has_its_words() {
    for (line, problem) in [
        (
            r#"{"id":"b","title":"B""#,
            "not valid JSON: EOF while parsing an object (column 21); each line must hold one complete object",
        ),
        ("[]", "an issue is an object, not a list"),
        (r#"{"title":"B"}"#, r#""id" is missing"#),
        (r#"{"id":"b"}"#, r#""title" is missing"#),
        (r#"{"id":1,"title":"B"}"#, r#""id" must be text, not a number"#),
        (
            r#"{"id":"b c","title":"B"}"#,
            r#"the id "b c": an id cannot contain ' '; allowed are A-Z a-z 0-9 and -_./:#@+=~"#,
        ),
        (r#"{"id":"b","title":"  "}"#, "the title is empty"),
        (
            r#"{"id":"b","title":"x\u0000"}"#,
            r"the title contains the control character '\0' at character 2",
        ),
        (r#"{"id":"b","title":"B","status":3}"#, r#""status" must be text or null, not a number"#),
        (
            r#"{"id":"b","title":"B","priority":"P1"}"#,
            r#""priority" must be a whole number, not text"#,
        ),
        (
            r#"{"id":"b","title":"B","priority":1e300}"#,
            r#""priority" must be a whole number, not 1e300"#,
        ),
        (
            r#"{"id":"b","title":"B","priority":-2}"#,
            "a priority is a whole number from 0 (first) to 9999, not -2",
        ),
        (
            r#"{"id":"b","title":"B","issue_type":"a\nb"}"#,
            r"the category contains the control character '\n' at character 2",
        ),
        (
            r#"{"id":"b","title":"B","external_ref":"a\u0007"}"#,
            r"the reference contains the control character '\u{7}' at character 2",
        ),
        (r#"{"id":"b","title":"B","labels":"x"}"#, r#""labels" must be a list of texts, not text"#),
        (
            r#"{"id":"b","title":"B","dependencies":[1]}"#,
            r#""dependencies" must be a list of objects, but its item 1 is a number"#,
        ),
        (r#"{"id":"b","title":"B","dependencies":[{}]}"#, r#"dependency 1 has no "depends_on_id""#),
        (
            r#"{"id":"b","title":"B","dependencies":[{"depends_on_id":"b"}]}"#,
            r#"the task "b" depends on itself"#,
        ),
        (
            r#"{"id":"b","title":"B","dependencies":[{"depends_on_id":"b","type":"parent-child"}]}"#,
            r#"the task "b" is its own parent"#,
        ),
        (
            r#"{"id":"b","title":"B","dependencies":[{"depends_on_id":"","type":"parent-child"}]}"#,
            r#"the parent "": an id cannot be empty"#,
        ),
        (
            r#"{"id":"b","title":"B","dependencies":[{"depends_on_id":"-x"}]}"#,
            r#"the dependency "-x": an id starts with a letter or a digit, not with '-'"#,
        ),
        (
            r#"{"id":"b","title":"B","status":"closed","closed_at":"today"}"#,
            r#""closed_at" must be an RFC 3339 time, not "today""#,
        ),
        (r#"{"id":"b","id":"c","title":"B"}"#, r#"the key "id" is given twice"#),
        (r#"{"id":"a","title":"B"}"#, r#"the id "a" is already on line 1"#),
    ] {
        let text = format!("{{\"id\":\"a\",\"title\":\"A\"}}\r\n\r\n{line}");
        assert_eq!(refused(&text), (3, problem.to_owned()), "{line}");
    }
    let long = format!("{{\"id\":\"a\",\"title\":\"{}\"}}", "x".repeat(1001));
    let problem = "the title has 1001 characters, more than the 1000 allowed";
    assert_eq!(refused(&long), (1, problem.to_owned()));
    let long = format!("{{\"id\":\"a\",\"title\":\"A\",\"notes\":\"{}\"}}", "x".repeat(1 << 20));
    let problem = "the description has 1048586 bytes, more than the 1048576 allowed";
    assert_eq!(refused(&long), (1, problem.to_owned()));
    let (_, deep) = refused(&format!("{{\"id\":\"a\",\"x\":{}", "[".repeat(100_000)));
    assert!(deep.starts_with("not valid JSON: recursion limit exceeded"), "{deep}");
}

#[test]
fn a_task_becomes_an_issue() {
    let at = Timestamp::from_millis(1_794_710_700_250);
    let mut full = bare("a");
    full.priority = Priority::new(9).unwrap();
    full.category = Some("ui".into());
    full.spec = Some("s.md".into());
    full.reference = Some("gh-1".into());
    full.parent = Some(TaskId::new("b").unwrap());
    full.feature = Some(FeatureName::new("login").unwrap());
    full.branch = Some("main".into());
    full.touches = vec!["src/*.rs".into(), "b".into()];
    full.steps = vec!["one".into(), "[ ] two".into()];
    full.deps = vec![TaskId::new("c").unwrap(), TaskId::new("gone").unwrap()];
    full.reason = Some("why".into());
    let [b, c, d] = ["b", "c", "d"].map(bare);
    let tasks = [
        full,
        Task { status: Status::Done, done_at: Some(at), category: Some("bug".into()), ..b },
        Task { status: Status::Waiting, category: Some("task".into()), ..c },
        Task { status: Status::Failed, ..d },
        Task { status: Status::Deleted, ..bare("gone") },
    ];
    let rendered = render(&tasks);
    insta::assert_snapshot!(rendered.text, @r###"
    {"id":"a","title":"Task a","description":"","acceptance_criteria":"- one\n- [ ] [ ] two","status":"open","priority":4,"issue_type":"task","created_at":"2026-11-15T02:45:00Z","updated_at":"2026-11-15T02:45:00Z","external_ref":"gh-1","labels":["category:ui","spec:s.md","feature:login","branch:main","touches:src/*.rs","touches:b"],"dependencies":[{"issue_id":"a","depends_on_id":"b","type":"parent-child","created_at":"2026-11-15T02:45:00Z"},{"issue_id":"a","depends_on_id":"c","type":"blocks","created_at":"2026-11-15T02:45:00Z"}]}
    {"id":"b","title":"Task b","description":"","status":"closed","priority":2,"issue_type":"bug","created_at":"2026-11-15T02:45:00Z","updated_at":"2026-11-15T02:45:00Z","closed_at":"2026-11-15T02:45:00.25Z"}
    {"id":"c","title":"Task c","description":"","status":"open","priority":2,"issue_type":"task","created_at":"2026-11-15T02:45:00Z","updated_at":"2026-11-15T02:45:00Z","labels":["category:task"]}
    {"id":"d","title":"Task d","description":"","status":"open","priority":2,"issue_type":"task","created_at":"2026-11-15T02:45:00Z","updated_at":"2026-11-15T02:45:00Z"}
    "###);
    assert_eq!(
        rendered.not_kept,
        [
            "1 link to deleted tasks",
            "status failed of 1 task (exported as open)",
            "status waiting of 1 task (exported as open)",
            "the priority of 1 task (above 4, exported as 4)",
            "the reason of 1 task",
        ]
    );
    assert_eq!(render(&[]), Rendered::default());
}

#[test]
fn files_are_recognised_by_name_or_by_their_first_line() {
    let yes = [
        (".beads/issues.jsonl", ""),
        ("X.JSONL", "?"),
        ("-", "\n{\"id\":\"a\",\"title\":\"A\",\"status\":\"open\"}\nrest"),
        ("-", "\u{feff}{\"title\":\"A\",\"issue_type\":\"bug\"}"),
    ];
    for (name, text) in yes {
        assert!(recognizes(name, text), "{name} {text}");
    }
    let no =
        [("plan.json", "{}"), ("-", ""), ("-", "# Plan"), ("-", "{\"title\":\"A\"}"), ("-", "{")];
    for (name, text) in no {
        assert!(!recognizes(name, text), "{name} {text}");
    }
}
