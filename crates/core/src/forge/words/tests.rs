//! What people read, and that no text of others breaks it.

use proptest::prelude::*;

use super::*;
use crate::time::Timestamp;

fn task(id: &str, title: &str, status: Status, reason: &str) -> TaskLine {
    TaskLine {
        id: TaskId::new(id).unwrap(),
        title: title.to_owned(),
        status,
        reason: reason.to_owned(),
    }
}

fn evidence(judge: &str, verdict: Verdict, digest: &str) -> Evidence {
    Evidence {
        task: TaskId::new("t-1").unwrap(),
        attempt: None,
        tree: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        judge: judge.to_owned(),
        verdict,
        exit_code: Some(i32::from(verdict == Verdict::Fail)),
        duration_ms: 64_200,
        digest: digest.to_owned(),
        at: Timestamp::default(),
    }
}

fn login() -> Words {
    Words {
        branch: "login".to_owned(),
        goal: "People log in".to_owned(),
        tasks: vec![
            task("t-1", "Add the form", Status::Done, ""),
            task("t-2", "Remember_me [x]", Status::Failed, "no *storage*\nfixes #12 @ada"),
            task("t-3", "Log out", Status::Pending, ""),
        ],
        evidence: vec![
            evidence("tests", Verdict::Fail, "old"),
            evidence("tests", Verdict::Pass, ""),
            evidence("lint|all", Verdict::Fail, "warning: x\n```\n## heading\n"),
        ],
        commits: vec![Commit {
            id: "f".repeat(40),
            subject: "build: iteration 1 - Add".to_owned(),
        }],
        spent: Total {
            sessions: 0,
            attempts: 4,
            settled: 2,
            input_tokens: 1_250_000,
            output_tokens: 12_400,
            cost_micro_usd: Some(3_204_000),
            unpriced: 0,
            duration_ms: 754_000,
        },
    }
}

#[test]
fn a_pull_request_shows_tasks_checks_commits_and_cost() {
    assert_eq!(login().title(), "login: People log in");
    insta::assert_snapshot!(login().body(), @r"
    <!-- ralph:begin -->

    Goal: People log in

    ## Tasks

    1 done, 1 failed, 1 open.

    - [x] `t-1` Add the form
    - [ ] `t-2` Remember\_me \[x\] (failed: no \*storage\* fixes #&#8203;12 @&#8203;ada)
    - [ ] `t-3` Log out

    ## Checks

    | check | last verdict | tree | time | runs |
    |---|---|---|---|---|
    | `tests` | passed | `0123456789ab` | 1m 04s | 2, 1 failed |
    | `lint\|all` | failed, exit code 1 | `0123456789ab` | 1m 04s | 1, 1 failed |

    `lint|all` said:

    ````text
    warning: x
    ```
    ## heading
    ````

    ## Commits

    - `ffffffffffff` build: iteration 1 - Add

    ## Cost

    4 attempts, 12m 34s of work, 1.3M tokens in, 12k out, $3.20.

    <!-- ralph:end -->
    ");
}

#[test]
fn a_branch_without_anything_else_has_a_short_one() {
    let words = Words { branch: "x".to_owned(), ..Words::default() };
    assert_eq!(words.title(), "x");
    assert_eq!(words.body(), "<!-- ralph:begin -->\n\n<!-- ralph:end -->");
}

#[test]
fn a_price_that_is_not_whole_is_marked() {
    let mut words = login();
    words.spent.unpriced = 1;
    assert!(words.body().contains("at least $3.20."), "{}", words.body());
    words.spent.cost_micro_usd = None;
    assert!(words.body().contains("cost unknown."), "{}", words.body());
}

#[test]
fn a_title_is_one_line_of_bounded_length() {
    let mut words = login();
    words.goal = "a\n\tb\u{1b}[31m\u{202e}c".to_owned();
    assert_eq!(words.title(), "login: a bc");
    words.goal = "é".repeat(1_000);
    assert_eq!(words.title().chars().count(), MAX_TITLE);
    assert!(words.title().ends_with("é…"));
}

#[test]
fn a_plan_of_any_size_fits() {
    let mut words = login();
    let long = "*é".repeat(500);
    words.tasks =
        (0..3_000).map(|n| task(&format!("t-{n}"), &long, Status::Failed, &long)).collect();
    words.commits =
        (0..3_000).map(|_| Commit { id: long.clone(), subject: long.clone() }).collect();
    words.evidence = (0..500)
        .map(|n| evidence(&format!("{n}{long}"), Verdict::Fail, &"`".repeat(10_000)))
        .collect();
    let body = words.body();
    assert!(body.chars().count() <= MAX_BODY, "{}", body.chars().count());
    for part in ["3000 failed.", "more tasks", "more commits", "more checks", "## Cost"] {
        assert!(body.contains(part), "{part}");
    }
    assert!(body.ends_with(END));
}

proptest! {
    /// Whatever the texts are: the headings are ours, the marks are ours, every fence is closed.
    #[test]
    fn no_text_of_others_changes_the_shape(text in r"(\PC|[\n`#<>!|\x1b-]|<!-- ralph:(begin|end) -->|\n```\n){0,60}") {
        let mut words = login();
        words.goal.clone_from(&text);
        words.tasks[1].title.clone_from(&text);
        words.tasks[1].reason.clone_from(&text);
        words.commits[0].subject.clone_from(&text);
        words.evidence[2].judge.clone_from(&text);
        words.evidence[2].digest.clone_from(&text);
        let body = words.body();
        let mut fence: Option<String> = None;
        let mut outside = vec![];
        for line in body.lines() {
            match &fence {
                Some(end) if line == end => fence = None,
                Some(_) => {}
                None if line.starts_with("```") && line.ends_with("text") => {
                    fence = Some(line.trim_end_matches("text").to_owned());
                }
                None => outside.push(line),
            }
        }
        prop_assert_eq!(fence, None);
        let headings: Vec<_> = outside.iter().filter(|line| line.starts_with('#')).collect();
        prop_assert_eq!(headings, ["## Tasks", "## Checks", "## Commits", "## Cost"].iter().collect::<Vec<_>>());
        prop_assert_eq!(body.lines().filter(|line| *line == BEGIN || *line == END).count(), 2);
        prop_assert!(!body.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}
