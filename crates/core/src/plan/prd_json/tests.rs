//! Tests of `prd_json`.

use proptest::prelude::*;

use super::super::beads_jsonl::tests::{bare, some_tasks};
use super::*;
use crate::TaskId;
use crate::task::{Status, Task};

fn parsed(text: &str) -> Plan {
    parse(text).unwrap()
}

fn refused(text: &str) -> (usize, String) {
    let PlanError { line, problem } = parse(text).expect_err(text);
    (line, problem)
}

proptest! {
    #[test]
    fn tasks_come_back_from_their_document(tasks in some_tasks(), branch in prop::option::of("[a-z]{1,5}/x")) {
        let mut tasks = tasks;
        tasks.iter_mut().for_each(|task| task.branch.clone_from(&branch));
        let text = render(&tasks).text;
        let plan = parsed(&text);
        let live: Vec<&Task> = tasks.iter().filter(|t| t.status != Status::Deleted).collect();
        prop_assert_eq!(plan.tasks.len(), live.len());
        prop_assert!(plan.not_kept.is_empty());
        for (back, task) in plan.tasks.iter().zip(live) {
            let expected = TaskPatch {
                description: Some(task.description.clone()),
                priority: Some(task.priority),
                branch: task.branch.clone().map(Some),
                steps: Some(task.steps.clone()),
                deps: Some(task.deps.clone()),
                ..TaskPatch::default()
            };
            prop_assert_eq!(&back.id, &task.id);
            prop_assert_eq!(&back.title, &task.title);
            prop_assert_eq!(&back.fields, &expected);
            prop_assert_eq!(back.done.is_some(), task.status == Status::Done);
            // The line is that of the brace, and the id stands on the next.
            let below = text.lines().nth(back.line).unwrap();
            prop_assert_eq!(below.trim(), format!("\"id\": \"{}\",", task.id));
        }
    }

    #[test]
    fn no_text_is_a_crash(text in "(?s).{0,80}") {
        let _ = parse(&text);
        let _ = recognizes("plan", &text);
        let _ = story_lines(&text);
    }
}

#[test]
fn a_story_becomes_a_task() {
    let text = r#"{
  "project": "App", "description": "What it is", "version": 3, "extra": null,
  "branchName": "ralph/login",
  "userStories": [
    {
      "id": "US-1", "title": "Log in", "description": "As a user",
      "acceptanceCriteria": ["One", "Two"],
      "priority": 1, "passes": true, "notes": "See {\"x\": [", "dependsOn": [],
      "model": "fast"
    },
    { "id": 2, "title": "Log out", "notes": "  ", "dependsOn": ["US-1", 3], "passes": null, "model": "slow", "labels": [] }
  ]
}
"#;
    let plan = parsed(text);
    assert_eq!(
        plan.not_kept,
        [
            "the project of the plan",
            "the description of the plan",
            "unknown field \"version\" of the plan",
            "unknown field \"model\" of 2 stories",
        ]
    );
    let [first, second] = &plan.tasks[..] else { panic!("two tasks") };
    let expected = TaskPatch {
        description: Some("As a user\n\n## Notes\n\nSee {\"x\": [".into()),
        priority: Some(Priority::new(1).unwrap()),
        branch: Some(Some("ralph/login".into())),
        steps: Some(vec!["One".into(), "Two".into()]),
        deps: Some(vec![]),
        ..TaskPatch::default()
    };
    assert_eq!((first.line, first.id.as_str(), &first.fields), (5, "US-1", &expected));
    assert_eq!(first.done, Some(Done { at: None }));
    let expected = TaskPatch {
        branch: Some(Some("ralph/login".into())),
        deps: Some(vec![TaskId::new("US-1").unwrap(), TaskId::new("3").unwrap()]),
        ..TaskPatch::default()
    };
    assert_eq!((second.line, second.id.as_str(), &second.fields), (11, "2", &expected));
    assert_eq!(second.done, None);
    assert_eq!(parsed("\u{feff}{\"userStories\":[]}"), Plan::default());
}

#[test]
fn each_problem_of_a_story_has_its_words() {
    for (story, problem) in [
        ("7", "a story is an object, not a number"),
        (r#"{"title":"B"}"#, r#""id" is missing"#),
        (r#"{"id":"b"}"#, r#""title" is missing"#),
        (r#"{"id":null,"title":"B"}"#, r#""id" must be text or a whole number, not null"#),
        (r#"{"id":1.10,"title":"B"}"#, r#""id" must be text or a whole number, not a number"#),
        (
            r#"{"id":-1,"title":"B"}"#,
            r#"the id "-1": an id starts with a letter or a digit, not with '-'"#,
        ),
        (r#"{"id":"b","title":""}"#, "the title is empty"),
        (
            r#"{"id":"b","title":"\u0000"}"#,
            r"the title contains the control character '\0' at character 1",
        ),
        (
            r#"{"id":"b","title":"B","description":1}"#,
            r#""description" must be text or null, not a number"#,
        ),
        (
            r#"{"id":"b","title":"B","acceptanceCriteria":"x"}"#,
            r#""acceptanceCriteria" must be a list of texts, not text"#,
        ),
        (
            r#"{"id":"b","title":"B","acceptanceCriteria":["x\ny"]}"#,
            r"the step contains the control character '\n' at character 2",
        ),
        (
            r#"{"id":"b","title":"B","priority":"high"}"#,
            r#""priority" must be a whole number, not text"#,
        ),
        (
            r#"{"id":"b","title":"B","priority":-1}"#,
            "a priority is a whole number from 0 (first) to 9999, not -1",
        ),
        (
            r#"{"id":"b","title":"B","passes":"true"}"#,
            r#""passes" must be true or false, not text"#,
        ),
        (r#"{"id":"b","title":"B","notes":[]}"#, r#""notes" must be text or null, not a list"#),
        (
            r#"{"id":"b","title":"B","dependsOn":"a"}"#,
            r#""dependsOn" must be a list of ids, not text"#,
        ),
        (
            r#"{"id":"b","title":"B","dependsOn":[{}]}"#,
            r#""dependsOn" must be a list of ids, but its item 1 is an object"#,
        ),
        (
            r#"{"id":"b","title":"B","dependsOn":["a b"]}"#,
            r#"the dependency "a b": an id cannot contain ' '; allowed are A-Z a-z 0-9 and -_./:#@+=~"#,
        ),
        (r#"{"id":"b","title":"B","dependsOn":["b"]}"#, r#"the task "b" depends on itself"#),
        (r#"{"id":"a","title":"B"}"#, r#"the id "a" is already used by story 1 on line 3"#),
    ] {
        let text = format!(
            "{{\"x\":[{{}},[1]],\n\"userStories\":[\n{{\"id\":\"a\",\"title\":\"A\"\n}},\n\n{story}]}}"
        );
        assert_eq!(refused(&text), (6, format!("story 2: {problem}")), "{story}");
    }
}

#[test]
fn each_problem_of_the_document_has_its_words() {
    for (text, line, problem) in [
        ("", 1, "not valid JSON: EOF while parsing a value (column 0)"),
        ("{\n\"userStories\":\n[,]}", 3, "not valid JSON: expected value (column 2)"),
        ("[]", 1, r#"a plan is an object with "userStories", not a list"#),
        ("{}", 1, r#""userStories" is missing"#),
        (r#"{"userStories":null}"#, 1, r#""userStories" is missing"#),
        (r#"{"userStories":{}}"#, 1, r#""userStories" must be a list of stories, not an object"#),
        (
            r#"{"userStories":[],"branchName":1}"#,
            1,
            r#""branchName" must be text or null, not a number"#,
        ),
        (
            r#"{"userStories":[],"branchName":"a\nb"}"#,
            1,
            r"the branch contains the control character '\n' at character 2",
        ),
        (
            "{\"userStories\":[],\n\"userStories\":[]\n}",
            2,
            r#"the key "userStories" is given twice"#,
        ),
        (
            "{\"userStories\":[\n{\"id\":\"\\ud800x\"}]}",
            2,
            "not valid JSON: unexpected end of hex escape (column 14)",
        ),
        (
            "{\"userStories\":[\n{\"priority\":1e999}]}",
            2,
            "not valid JSON: number out of range (column 17)",
        ),
    ] {
        assert_eq!(refused(text), (line, problem.to_owned()), "{text}");
    }
    let (line, deep) = refused(&format!("{{\n\"userStories\":{}", "[".repeat(100_000)));
    assert_eq!(line, 2);
    assert!(deep.starts_with("not valid JSON: recursion limit exceeded"), "{deep}");
}

#[test]
fn the_lines_of_stories_are_found() {
    for (text, lines) in [
        (r#"{"userStories":[]}"#, vec![]),
        ("{\"userStories\": [\n]}", vec![]),
        ("{\"userStories\"\n:\n[{},\n{\"a\":[1,\n2]},[\n3],\n\"]\\\"\",4]}", vec![3, 4, 5, 7, 7]),
        ("{\"project\":\"userStories\",\"x\":[1,2],\n\"userStories\":[1],\"y\":[2]}", vec![2]),
        ("{\"a\":{\"userStories\":[1,2]},\n\"b\":[[\"userStories\",[1]]]}", vec![]),
        ("{\"a\":\"\\\\\",\r\n\"userStories\":\r\n[1]}", vec![3]),
    ] {
        assert_eq!(story_lines(text), lines, "{text}");
    }
    // The key may be written with escapes: the stories are read, their lines are not known.
    let plan = parsed("{\n\"user\\u0053tories\":[\n{\"id\":\"a\",\"title\":\"A\"}]}");
    assert_eq!(plan.tasks[0].line, 1);
}

#[test]
fn a_task_becomes_a_story() {
    let mut full = bare("a");
    full.description = "Long\ntext".into();
    full.status = Status::Done;
    full.done_at = Some(full.created_at);
    full.category = Some("ui".into());
    full.spec = Some("s.md".into());
    full.reference = Some("gh-1".into());
    full.parent = Some(TaskId::new("b").unwrap());
    full.feature = Some(crate::ids::FeatureName::new("login").unwrap());
    full.branch = Some("main".into());
    full.touches = vec!["src".into()];
    full.steps = vec!["one".into()];
    full.deps = vec![TaskId::new("b").unwrap(), TaskId::new("gone").unwrap()];
    let other = Task { status: Status::InProgress, branch: Some("main".into()), ..bare("b") };
    let gone = Task { status: Status::Deleted, ..bare("gone") };
    let rendered = render(&[full.clone(), other.clone(), gone]);
    insta::assert_snapshot!(rendered.text, @r#"
    {
      "branchName": "main",
      "userStories": [
        {
          "id": "a",
          "title": "Task a",
          "description": "Long\ntext",
          "acceptanceCriteria": [
            "one"
          ],
          "priority": 2,
          "passes": true,
          "notes": "",
          "dependsOn": [
            "b"
          ]
        },
        {
          "id": "b",
          "title": "Task b",
          "description": "",
          "acceptanceCriteria": [],
          "priority": 2,
          "passes": false,
          "notes": "",
          "dependsOn": []
        }
      ]
    }
    "#);
    assert!(rendered.text.ends_with("}\n"));
    assert_eq!(
        rendered.not_kept,
        [
            "1 link to deleted tasks",
            "status active of 1 task (exported as not passed)",
            "the category of 1 task",
            "the feature of 1 task",
            "the parent of 1 task",
            "the reference of 1 task",
            "the spec of 1 task",
            "the time of completion of 1 task",
            "the touches of 1 task",
        ]
    );
    let apart = Task { branch: None, ..other };
    let rendered = render(&[full, apart]);
    assert!(!rendered.text.contains("branchName"));
    assert!(rendered.not_kept.contains(&"the branch of 1 task".to_owned()));
    assert_eq!(render(&[]).text, "{\n  \"userStories\": []\n}\n");
}

#[test]
fn files_are_recognised_by_name_or_by_their_stories() {
    for (name, text) in [
        ("scripts/prd.json", ""),
        ("PRD.JSON", "?"),
        ("-", "\u{feff}\n{\"userStories\" : [}"),
        ("plan", "{\"a\":1,\"userStories\":[]}"),
    ] {
        assert!(recognizes(name, text), "{name} {text}");
    }
    for (name, text) in [
        ("issues.jsonl", "{\"userStories\":[]}"),
        ("-", ""),
        ("-", "# Plan with \"userStories\": none"),
        (
            "-",
            "{\"id\":\"a\",\"title\":\"userStories\",\"description\":\"\\\"userStories\\\": x\"}",
        ),
    ] {
        assert!(!recognizes(name, text), "{name} {text}");
    }
}
