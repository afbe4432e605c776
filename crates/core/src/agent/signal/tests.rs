//! What counts as a signal and what does not.

use proptest::prelude::*;

use super::*;

fn done(text: &str) -> Vec<String> {
    Signals::read(text).done
}

#[test]
fn s1_31_every_sigil_is_read() {
    let text = "All good.\n<task-done> t-1 </task-done>\n<task-failed>t-2</task-failed> \
                <reason>no network\nhere</reason><next-model>opus</next-model>\n\
                <promise>COMPLETE</promise> <promise>FAILURE</promise>\
                <question>Which port?</question>";
    let signals = Signals::read(text);
    assert_eq!(signals.done, ["t-1"]);
    assert_eq!(signals.failed, ["t-2"]);
    assert_eq!(signals.reason.as_deref(), Some("no network\nhere"));
    assert_eq!(signals.promises, ["COMPLETE", "FAILURE"]);
    assert_eq!(signals.next_model, Some(Tier::Opus));
    assert_eq!(signals.question.as_deref(), Some("Which port?"));
}

#[test]
fn s1_32_done_wins_over_failed() {
    let signals = Signals::read("<task-failed>t-1</task-failed><task-done>t-1</task-done>");
    assert_eq!(signals.request("t-1"), Request::Done);
}

#[test]
fn s1_33_failure_comes_before_done_and_done_before_failed() {
    let all = "<task-done>a</task-done><task-failed>b</task-failed><reason>r</reason>\
               <question>q</question>";
    let signals = Signals::read(&format!("{all}<promise>FAILURE</promise>"));
    assert_eq!(signals.request("a"), Request::Failure);
    let signals = Signals::read(all);
    assert_eq!(signals.request("a"), Request::Done);
    assert_eq!(signals.request("b"), Request::Failed { reason: Some("r") });
    assert_eq!(signals.request("c"), Request::Ask("q"));
    assert_eq!(Signals::read("I am done.").request("a"), Request::Nothing);
}

#[test]
fn s1_37_the_id_of_another_task_is_told_and_asks_for_nothing() {
    let signals = Signals::read("<task-done>t-9</task-done>");
    assert_eq!(signals.request("t-1"), Request::Other("t-9"));
    let signals = Signals::read("<task-failed>t-8</task-failed>");
    assert_eq!(signals.request("t-1"), Request::Other("t-8"));
    // One of several is enough.
    let signals = Signals::read("<task-done>t-9</task-done> <task-done>t-1</task-done>");
    assert_eq!(signals.done, ["t-9", "t-1"]);
    assert_eq!(signals.request("t-1"), Request::Done);
}

#[test]
fn s1_21_the_last_known_model_counts_and_other_names_do_not() {
    let model = |text: &str| Signals::read(text).next_model;
    assert_eq!(model("<next-model>gpt</next-model>"), None);
    assert_eq!(model("<next-model>Opus</next-model>"), None);
    assert_eq!(
        model(
            "<next-model>opus</next-model><next-model> haiku </next-model><next-model>x</next-model>"
        ),
        Some(Tier::Haiku)
    );
    for tier in Tier::ALL {
        assert_eq!(tier.name().parse(), Ok(tier));
    }
}

#[test]
fn tags_are_exact() {
    for text in [
        "<TASK-DONE>t-1</TASK-DONE>",
        "<task-done >t-1</task-done>",
        "<task-done id='t-1'></task-done>",
        "<task-done>t-1",
        "t-1</task-done>",
        "<task-done></task-done>",
        "<task-done> \n </task-done>",
        "<task-doneish>t-1</task-doneish>",
    ] {
        assert_eq!(Signals::read(text), Signals::default(), "{text}");
    }
}

#[test]
fn code_and_quoted_lines_are_quotations() {
    for text in [
        "Say `<task-done>t-1</task-done>` at the end.",
        "``a ` <task-done>t-1</task-done> ``",
        "```\n<task-done>t-1</task-done>\n```",
        "```xml\n<task-done>t-1</task-done>\n```\nand more",
        "~~~\n```\n<task-done>t-1</task-done>\n~~~",
        "````\n```\n<task-done>t-1</task-done>\n```\n````",
        "- like this:\n    ```\n    <task-done>t-1</task-done>\n    ```",
        "```\nnever closed <task-done>t-1</task-done>",
        "> <task-done>t-1</task-done>",
        "`<task-done>`t-1</task-done>",
        "<question>Shall I say <task-done>t-1</task-done>?</question>",
        "<reason>the prompt says <task-done>t-1</task-done></reason>",
    ] {
        assert_eq!(done(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_stands_beside_a_quotation_counts() {
    for text in [
        "I used `cargo test`. <task-done>t-1</task-done>",
        "a stray ` and <task-done>t-1</task-done>",
        "a stray `\n<task-done>t-1</task-done>\nand another `",
        "```\ncode\n```\n<task-done>t-1</task-done>",
        "```inline``` <task-done>t-1</task-done>",
        "~~struck~~ <task-done>t-1</task-done>",
        "> quoted\n<task-done>t-1</task-done>",
        "I shall say <task-done> now: <task-done>t-1</task-done>",
        "<task-done>\nt-1\r\n</task-done>",
        "<question>unfinished <task-done>t-1</task-done>",
    ] {
        assert_eq!(done(text), ["t-1"], "{text}");
    }
}

#[test]
fn a_question_may_hold_code() {
    let text = "<question>Is `a < b` right?\n```\nlet a = 1;\n```\n</question>";
    let question = Signals::read(text).question.unwrap();
    assert!(question.starts_with("Is `a < b`") && question.ends_with("```"), "{question}");
}

#[test]
fn long_words_are_kept_in_part() {
    let text = format!("<question>{}</question>", "ä".repeat(5_000));
    assert_eq!(Signals::read(&text).question.unwrap().chars().count(), 4_000);
}

#[test]
fn s1_43_a_verifier_passes_fails_or_says_neither() {
    assert_eq!(Verdict::read("fine <verify-pass/>"), Some(Verdict::Pass));
    let fail = Some(Verdict::Fail("no test".into()));
    assert_eq!(Verdict::read("<verify-fail> no test </verify-fail>"), fail);
    assert_eq!(Verdict::read("<verify-pass/><verify-fail>no test</verify-fail>"), fail);
    assert_eq!(Verdict::read("<verify-fail></verify-fail>"), Some(Verdict::Fail(String::new())));
    assert_eq!(Verdict::read("`<verify-pass/>` would be wrong"), None);
    assert_eq!(Verdict::read("<verify-pass>"), None);
    assert_eq!(Signals::read("<verify-pass/>"), Signals::default());
}

#[test]
fn hostile_texts_take_linear_time() {
    for part in [
        "<task-done>",
        "</task-done>",
        "<",
        "`",
        "` `` ``` ",
        "`\n",
        "```\n",
        "<question><task-done>x</task-done>",
        "<reason>x</reason>",
        "> ",
        "<task-done>x</task-done>",
    ] {
        // In quadratic time this would take hours, and the runner ends it long before.
        let _ = Signals::read(&part.repeat((4 << 20) / part.len()));
    }
}

#[test]
fn runs_of_backticks_without_partners_take_no_time() {
    let runs: String = (1..2_500).map(|length| "`".repeat(length) + " ").collect();
    let text = format!("{runs}<task-done>t-1</task-done>");
    assert_eq!(done(&text), ["t-1"]);
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "<task-done>",
            "</task-done>",
            "<task-failed>",
            "</task-failed>",
            "<reason>",
            "</reason>",
            "<question>",
            "</question>",
            "<promise>",
            "</promise>",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            "> ",
            "t-1",
            " ",
            "<",
            ">",
            "/",
            "é",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in "\\PC*") {
        let _ = (Signals::read(&text), Verdict::read(&text));
    }

    #[test]
    fn what_is_read_was_there(text in pieces()) {
        let signals = Signals::read(&text);
        for id in signals.done.iter().chain(&signals.failed).chain(&signals.promises) {
            prop_assert!(text.contains(id.as_str()) && id.trim() == id && !id.is_empty());
        }
        prop_assert!(signals.done.len() <= text.matches("</task-done>").count());
    }

    #[test]
    fn a_signal_on_a_line_of_its_own_after_closed_text_counts(before in "[a-z .\n]{0,80}") {
        let signals = Signals::read(&format!("{before}\n<task-done>t-1</task-done>\n"));
        prop_assert_eq!(signals.done, ["t-1"]);
    }
}
