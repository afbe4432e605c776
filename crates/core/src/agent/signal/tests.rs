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
fn s1_37_the_id_of_another_task_is_reported_and_asks_for_nothing() {
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
        assert_eq!(tier.as_str().parse(), Ok(tier));
    }
}

#[test]
fn tags_are_exact_and_near_misses_are_reported() {
    for (text, reported) in [
        ("<TASK-DONE>t-1</TASK-DONE>", true),
        ("<task-done >t-1</task-done>", true),
        ("<task-done id='t-1'></task-done>", false),
        ("<task-done>t-1", false),
        ("t-1</task-done>", false),
        ("<task-done></task-done>", false),
        ("<task-done> \n </task-done>", false),
        ("<task-done>``</task-done>", false),
        ("<task-doneish>t-1</task-doneish>", false),
    ] {
        let signals = Signals::read(text);
        assert_eq!(signals.request("t-1"), Request::Nothing, "{text}");
        let why: Vec<_> = signals.ignored.iter().map(|ignored| ignored.why).collect();
        assert_eq!(why, vec![WhyIgnored::Misspelled; usize::from(reported)], "{text}");
    }
}

#[test]
fn code_and_quoted_lines_are_quotations_and_are_reported() {
    for text in [
        "Say `<task-done>t-1</task-done>` at the end.",
        "``a ` <task-done>t-1</task-done> ``",
        "```xml\n<task-done>t-1</task-done>\n```\nand more",
        "````\n```\n<task-done>t-1</task-done>\n```\n````\n.",
        "```\nnever closed <task-done>t-1</task-done>",
        "> like <task-done>t-1</task-done>",
        "`<task-done>t-1</task-done>`\n\nNot yet.",
        "- `<task-done>t-1</task-done>`",
        "I would say:\n`<task-done>t-1</task-done>`.",
        "```\n<task-done>t-1</task-done>\nor not\n```",
    ] {
        let signals = Signals::read(text);
        assert_eq!(signals.request("t-1"), Request::Nothing, "{text}");
        let ignored = signals.ignored_for(&["t-1"]);
        assert_eq!(ignored.len(), 1, "{text}: {ignored:?}");
        assert_eq!(ignored[0].why, WhyIgnored::Quoted);
        assert_eq!(ignored[0].text, "<task-done>t-1</task-done>");
    }
    for text in [
        "`<task-done>`t-1</task-done>",
        "<question>Shall I say <task-done>t-1</task-done>?</question>",
        "<question>Shall I say `<task-done>t-1</task-done>`?</question>",
        "<reason>the prompt says <task-done>t-1</task-done></reason>",
    ] {
        let signals = Signals::read(text);
        assert!(!signals.names_done("t-1") && signals.ignored.is_empty(), "{text}");
    }
}

/// How agents end when a prompt showed them the signal in backticks.
#[test]
fn in_code_alone_on_the_last_line_a_signal_for_the_assigned_task_counts() {
    for text in [
        "Done.\n\n`<task-done>t-1</task-done>`",
        "Done.\n\n`<task-done>t-1</task-done>`\n\n",
        "Done.\n``<task-done>t-1</task-done>``",
        "Done.\n` <task-done> t-1 </task-done> `",
        "Done.\n```\n<task-done>t-1</task-done>\n```",
        "Done.\n```xml\n<task-done>t-1</task-done>\n\n```\n \n",
        "Done.\n~~~\n<task-done>t-1</task-done>\n~~~",
        "~~~\n```\n<task-done>t-1</task-done>\n~~~",
        "- like this:\n    ```\n    <task-done>t-1</task-done>\n    ```",
        "Done.\n```\nmade it\n<task-done>t-1</task-done>",
        "Done.\n> <task-done>t-1</task-done>",
        "`<task-done>`t-1`</task-done>`",
    ] {
        let signals = Signals::read(text);
        assert!(signals.done.is_empty(), "{text}");
        assert_eq!(signals.request("t-1"), Request::Done, "{text}");
        assert_eq!(signals.ignored_for(&["t-1"]), [], "{text}");
        // For any other task it is a quotation.
        assert_eq!(signals.request("t-2"), Request::Nothing, "{text}");
        assert_eq!(signals.strangers(&["t-2"]), Vec::<&str>::new(), "{text}");
    }
    let failed = Signals::read("No way.\n\n`<task-failed>t-1</task-failed>`");
    assert_eq!(failed.request("t-1"), Request::Failed { reason: None });
    let other = Signals::read("Done.\n\n`<task-done>t-9</task-done>`");
    assert_eq!(other.ignored_for(&["t-1"])[0].text, "<task-done>t-9</task-done>");
    for text in [
        "`<promise>COMPLETE</promise>`",
        "```\n<question>which?</question>\n```",
        "`<next-model>opus</next-model>`",
    ] {
        let signals = Signals::read(text);
        assert!(signals.promises.is_empty() && signals.question.is_none(), "{text}");
        assert_eq!(signals.next_model, None);
        assert_eq!(signals.ignored_for(&["t-1"]).len(), 1, "{text}");
    }
}

#[test]
fn backticks_and_blanks_around_an_id_do_not_matter() {
    for text in [
        "<task-done>`t-1`</task-done>",
        "<task-done> ` t-1 ` </task-done>",
        "<task-done>\u{a0}t-1\n</task-done>",
        "<task-done>``t-1``</task-done>",
    ] {
        assert_eq!(done(text), ["t-1"], "{text}");
        assert_eq!(Signals::read(text).ignored, [], "{text}");
    }
}

#[test]
fn look_alike_letters_are_reported_and_not_accepted() {
    for text in [
        "<task-done>t-а1</task-done>",
        "<tаsk-done>t-a1</tаsk-done>",
        "＜task-done＞t-a1＜/task-done＞",
        "<task‑done>t-a1</task‑done>",
        "<task-done>t-\u{200b}a1</task-done>",
        "<task-\u{200b}done>t-a1</task-done>",
        "`<tаsk-done>t-a1</tаsk-done>`",
    ] {
        let signals = Signals::read(text);
        assert_ne!(signals.request("t-a1"), Request::Done, "{text}");
        let ignored = signals.ignored_for(&["t-a1"]);
        assert_eq!(ignored.len(), 1, "{text}: {ignored:?}");
        assert_eq!(ignored[0].why, WhyIgnored::LookAlike, "{text}");
        assert_eq!(signals.strangers(&["t-a1"]), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn ignored_text_is_bounded_and_reported_once() {
    let one = "`<promise>COMPLETE</promise>` ".repeat(50);
    assert_eq!(Signals::read(&one).ignored.len(), 1);
    let many: String = (0..50).map(|n| format!("`<task-done>x{n}</task-done>` ")).collect();
    assert_eq!(Signals::read(&many).ignored.len(), MAX_IGNORED);
    let long = format!("`<question>{}</question>`", "word ".repeat(500));
    assert_eq!(Signals::read(&long).ignored[0].text.chars().count(), MAX_SHOWN);
    let said_twice = "I end with `<task-done>t-1</task-done>`:\n<task-done>t-1</task-done>";
    assert_eq!(Signals::read(said_twice).ignored_for(&["t-1"]), []);
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
    let fail = Verdict::Fail("no test".into());
    assert_eq!(Verdict::read("<verify-fail> no test </verify-fail>"), fail);
    assert_eq!(Verdict::read("`<verify-fail> no test </verify-fail>`"), fail);
    assert_eq!(Verdict::read("<verify-fail>no test</verify-fail>\n<verify-pass/>"), fail);
    assert_eq!(Verdict::read("<verify-fail></verify-fail>"), Verdict::Fail(String::new()));
    assert_eq!(Signals::read("<verify-pass/>"), Signals::default());
}

#[test]
fn a_verifier_passes_only_alone_on_the_last_line() {
    for text in [
        "<verify-pass/>",
        "I ran the tests.\n\n<verify-pass/>\n",
        "Fine.\n  `<verify-pass/>`  \n\n",
        "Fine.\n``<verify-pass/>``",
        "Fine.\n```\n<verify-pass/>\n```\n",
        "I considered <verify-pass/> and I stand by it:\n<verify-pass/>",
    ] {
        assert_eq!(Verdict::read(text), Verdict::Pass, "{text}");
    }
}

/// Refusals that hold the words of a pass.
#[test]
fn a_refusal_that_mentions_the_pass_is_a_refusal() {
    for text in [
        "fine <verify-pass/>",
        "I cannot give <verify-pass/> here: nothing was implemented.",
        "This is not a <verify-pass/>.",
        "<verify-pass/> would be wrong.",
        "`<verify-pass/>` would be wrong",
        "Had the test existed, I would have said <verify-pass/>",
        "<verify-pass/>\n\nOn second thought the test is empty.",
        "Verdict: <verify-pass/>? No.",
        "- <verify-pass/>",
        "> <verify-pass/>",
        "**<verify-pass/>**",
        "No <verify-pass/> for this.\n<verify-pass>",
        "<verify-fail>no\n<verify-pass/>",
        "<verify-fail/>\n<verify-pass/>",
        "`<verify-fail>` it is.\n<verify-pass/>",
        "<Verify-Fail>no</Verify-Fail>\n<verify-pass/>",
        "<verify‑fail>no</verify‑fail>\n<verify-pass/>",
        "< verify-fail >no\n<verify-pass/>",
        "&lt;verify-fail&gt;no\n<verify-pass/>",
        "<verify-pаss/>",
        "<VERIFY-PASS/>",
        "<verify-pass />",
        "It should be:\n```\n<verify-pass/>\nbut is not\n```",
        "```\nsome output\n<verify-pass/>\n```",
        "it looks fine",
        "",
    ] {
        let Verdict::Fail(reason) = Verdict::read(text) else { panic!("accepted: {text}") };
        assert!(!reason.trim().is_empty(), "{text}");
    }
    let Verdict::Fail(reason) = Verdict::read("The test is empty.") else { panic!() };
    assert!(reason.ends_with("It said: The test is empty."), "{reason}");
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
        "`<task-done>x</task-done>` ",
        "＜task-done＞",
        "< ",
        "\\<task_done ",
    ] {
        // In quadratic time each would take many minutes, and the runner ends it before.
        let text = part.repeat((1 << 18) / part.len());
        let _ = (Signals::read(&text), Verdict::read(&text));
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
        for ignored in &signals.ignored {
            prop_assert!(!ignored.text.contains('\n') && !ignored.text.is_empty());
        }
        prop_assert!(signals.done.len() <= text.matches("</task-done>").count());
    }

    #[test]
    fn a_signal_on_a_line_of_its_own_after_closed_text_counts(before in "[a-z .\n]{0,80}") {
        let signals = Signals::read(&format!("{before}\n<task-done>t-1</task-done>\n"));
        prop_assert_eq!(signals.done, ["t-1"]);
    }
}
