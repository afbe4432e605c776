//! Tests of `sync_jsonl`.

use super::*;
use crate::ids::TaskId;

fn refused(text: &str) -> (usize, String) {
    let PlanError { line, problem } = parse_sync(text).expect_err(text);
    (line, problem)
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

#[test]
fn every_key_sets_its_field() {
    let text = r#"{"id":"a/1","t":" Add it ","d":"Long\ntext","p":0,"cat":"ui","spec":"s.md","ref":"gh-4","deps":["b","c","b"],"steps":["one"," ","two"]}"#;
    let plan = parse_sync(text).unwrap();
    let expected = PlanTask {
        line: 1,
        id: id("a/1"),
        title: Title::new("Add it").unwrap(),
        fields: TaskPatch {
            title: None,
            description: Some("Long\ntext".into()),
            priority: Some(Priority::new(0).unwrap()),
            category: Some(Some("ui".into())),
            spec: Some(Some("s.md".into())),
            reference: Some(Some("gh-4".into())),
            steps: Some(vec!["one".into(), "two".into()]),
            deps: Some(vec![id("b"), id("c")]),
            ..TaskPatch::default()
        },
        done: None,
        waits: None,
    };
    assert_eq!(plan, Plan { tasks: vec![expected], ..Plan::default() });
}

#[test]
fn absent_keys_leave_and_empty_ones_empty() {
    let absent = parse_sync(r#"{"id":"a","t":"A"}"#).unwrap();
    assert!(absent.tasks[0].fields.is_empty());
    let emptied = TaskPatch {
        description: Some(String::new()),
        priority: Some(Priority::default()),
        category: Some(None),
        spec: Some(None),
        reference: Some(None),
        steps: Some(vec![]),
        deps: Some(vec![]),
        ..TaskPatch::default()
    };
    let nulls = r#"{"id":"a","t":"A","d":null,"p":null,"cat":null,"spec":null,"ref":null,"deps":null,"steps":null}"#;
    assert_eq!(parse_sync(nulls).unwrap().tasks[0].fields, emptied);
    let empty =
        r#"{"id":"a","t":"A","d":"","p":2,"cat":"","spec":" ","ref":"","deps":[],"steps":[]}"#;
    assert_eq!(parse_sync(empty).unwrap().tasks[0].fields, emptied);
}

#[test]
fn marks_line_ends_and_blank_lines_are_accepted_and_counted() {
    let text = "\u{feff}{\"id\":\"a\",\"t\":\"A\"}\r\n\r\n  \t\n{\"id\":\"b\",\"t\":\"B\"}\r\n{\"id\":\"c\",\"t\":\"C\"}\r";
    let lines: Vec<usize> = parse_sync(text).unwrap().tasks.iter().map(|task| task.line).collect();
    assert_eq!(lines, [1, 4, 5]);
    for nothing in ["", "\u{feff}", "\n \n\r\n"] {
        assert_eq!(parse_sync(nothing), Ok(Plan::default()));
    }
}

#[test]
fn each_problem_has_its_words() {
    for (line, problem) in [
        (
            "{",
            "not valid JSON: EOF while parsing an object (column 1); each line must hold one complete object",
        ),
        (r#"{"id":"a" "t":"A"}"#, "not valid JSON: expected `,` or `}` (column 11)"),
        ("tasks:", "not valid JSON: expected ident (column 2)"),
        (r#"{"id":"a","t":"A"} {}"#, "not valid JSON: trailing characters (column 20)"),
        (
            r#"[{"id":"a","t":"A"}]"#,
            r#"a task is an object such as {"id":"a","t":"A title"}, not a list"#,
        ),
        ("7", r#"a task is an object such as {"id":"a","t":"A title"}, not a number"#),
        (r#"{"t":"A"}"#, r#""id" is missing"#),
        (r#"{"id":"a"}"#, r#""t" is missing"#),
        (r#"{"id":7,"t":"A"}"#, r#""id" must be text, not a number"#),
        (r#"{"id":"a","t":null}"#, r#""t" must be text, not null"#),
        (r#"{"id":"a","t":"A","d":[]}"#, r#""d" must be text or null, not a list"#),
        (r#"{"id":"a","t":"A","cat":true}"#, r#""cat" must be text or null, not true"#),
        (r#"{"id":"a","t":"A","spec":{}}"#, r#""spec" must be text or null, not an object"#),
        (r#"{"id":"a","t":"A","p":"1"}"#, r#""p" must be a whole number, not text"#),
        (r#"{"id":"a","t":"A","p":1.5}"#, r#""p" must be a whole number, not 1.5"#),
        (
            r#"{"id":"a","t":"A","p":-1}"#,
            "a priority is a whole number from 0 (first) to 9999, not -1",
        ),
        (
            r#"{"id":"a","t":"A","p":10000}"#,
            "a priority is a whole number from 0 (first) to 9999, not 10000",
        ),
        (r#"{"id":"a","t":"A","deps":"b"}"#, r#""deps" must be a list of ids, not text"#),
        (
            r#"{"id":"a","t":"A","deps":["b",2]}"#,
            r#""deps" must be a list of ids, but its item 2 is a number"#,
        ),
        (
            r#"{"id":"a","t":"A","steps":[null]}"#,
            r#""steps" must be a list of texts, but its item 1 is null"#,
        ),
        (r#"{"id":"","t":"A"}"#, r#"the id "": an id cannot be empty"#),
        (
            r#"{"id":"--all","t":"A"}"#,
            r#"the id "--all": an id starts with a letter or a digit, not with '-'"#,
        ),
        (
            r#"{"id":"a","t":"A","deps":["b c"]}"#,
            r#"the dependency "b c": an id cannot contain ' '; allowed are A-Z a-z 0-9 and -_./:#@+=~"#,
        ),
        (r#"{"id":"a","t":" "}"#, "the title is empty"),
        (
            r#"{"id":"a","t":"A\nB"}"#,
            r"the title contains the control character '\n' at character 2",
        ),
        (
            r#"{"id":"a","t":"A","steps":["x","y\tz"]}"#,
            r"the step contains the control character '\t' at character 2",
        ),
        (r#"{"id":"a","t":"A","deps":["a"]}"#, r#"the task "a" depends on itself"#),
        (r#"{"deps":["a"],"id":"a","t":"A"}"#, r#"the task "a" depends on itself"#),
        (r#"{"id":"a","t":"A","t":"B"}"#, r#"the key "t" is given twice"#),
        (r#"{"id":"a","title":"A"}"#, r#"unknown key "title"; did you mean "t"?"#),
        (r#"{"ID":"a","t":"A"}"#, r#"unknown key "ID"; did you mean "id"?"#),
        (r#"{"id":"a","t":"A","dep":[]}"#, r#"unknown key "dep"; did you mean "deps"?"#),
        (r#"{"id":"a","t":"A","Priorty":1}"#, r#"unknown key "Priorty"; did you mean "p"?"#),
        (
            r#"{"id":"a","t":"A","due":1}"#,
            r#"unknown key "due"; known keys: id, t, d, p, cat, spec, ref, deps, steps"#,
        ),
    ] {
        let text = format!("{{\"id\":\"first\",\"t\":\"First\"}}\n\n{line}\n");
        assert_eq!(refused(&text), (3, problem.to_owned()), "{line}");
    }
}

#[test]
fn an_id_stands_on_one_line() {
    let text =
        "{\"id\":\"a\",\"t\":\"A\"}\n{\"id\":\"b\",\"t\":\"B\"}\n\n{\"id\":\"a\",\"t\":\"C\"}";
    assert_eq!(refused(text), (4, "the id \"a\" is already on line 1".to_owned()));
    let error = parse_sync(text).unwrap_err().to_string();
    assert_eq!(error, "line 4: the id \"a\" is already on line 1");
    // The first problem of the text is named, whatever comes after it.
    assert_eq!(refused(&format!("{text}\n{{")).0, 4);
    assert_eq!(refused(&format!("{{\n{text}")).0, 1);
}

#[test]
fn hostile_lines_are_refused_cleanly() {
    let task = |field: &str| format!("{{\"id\":\"a\",\"t\":\"A\",{field}}}");
    let deep = task(&format!("\"d\":{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    let deep_objects = "{\"id\":".repeat(100_000);
    for text in [&deep, &deep_objects, &"[".repeat(100_000)] {
        let (line, problem) = refused(text);
        assert_eq!(line, 1);
        assert!(problem.starts_with("not valid JSON: recursion limit exceeded"), "{problem}");
    }
    let (_, nul) = refused(r#"{"id":"a","t":"A\u0000B"}"#);
    assert_eq!(nul, r"the title contains the control character '\0' at character 2");
    let (_, long) = refused(&format!("{{\"id\":\"{}\",\"t\":\"A\"}}", "x".repeat(1 << 20)));
    assert!(long.len() < 200, "{long}");
    assert!(long.ends_with("at most 80 characters, this one has 1048576"), "{long}");
    let refused = |field: &str| refused(&task(field)).1;
    assert_eq!(refused(r#""p":1e999"#), "not valid JSON: number out of range (column 27)");
    assert_eq!(refused(r#""p":99999999999999999999"#), "\"p\" must be a whole number, not 1e20");
    assert_eq!(
        refused(r#""p":9223372036854775808"#),
        "\"p\" must be a whole number, not 9.223372036854776e18"
    );
    assert_eq!(
        refused(r#""p":9223372036854775807"#),
        "a priority is a whole number from 0 (first) to 9999, not 9223372036854775807"
    );
    for (escape, problem) in [
        (r"\ud800", "not valid JSON: unexpected end of hex escape (column 30)"),
        (r"\ud800\u0041", "not valid JSON: lone leading surrogate in hex escape (column 35)"),
        (r"\udc00", "not valid JSON: lone leading surrogate in hex escape (column 29)"),
    ] {
        assert_eq!(refused(&format!("\"d\":\"{escape}\"")), problem);
    }
    let keys: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":0")).collect();
    assert!(refused(&keys.join(",")).starts_with("unknown key \"k0\""));
    assert_eq!(refused(&(keys.join(",") + ",\"k7\":0")), "the key \"k7\" is given twice");
    assert!(refused("\"\\u001b[2J\":1").starts_with("unknown key \"\\u{1b}[2J\"; known keys: "));
}

/// Escaped texts are not borrowed from the line; they must read the same.
#[test]
fn escapes_read_as_what_they_stand_for() {
    let plan = parse_sync(r#"{"\u0069d":"a","t":"\u00e9\ud83d\ude00","deps":["\u0062"]}"#).unwrap();
    assert_eq!(plan.tasks[0].title.as_str(), "é😀");
    assert_eq!(plan.tasks[0].fields.deps, Some(vec![id("b")]));
}
