//! Signals where they are none, and words without work.

use super::case::{Case, done, work};
use crate::looping::{say, sh, write};

fn step(json: &str) -> String {
    json.to_owned()
}

pub(super) fn cases() -> Vec<Case> {
    let prints = sh("echo '<task-done>greet</task-done>'");
    let thinks = step(r#"{"do":"think","text":"<task-done>greet</task-done>"}"#);
    let notes = write("NOTES.md", "<task-done>greet</task-done>\n");
    let quoted = "The prompt wants:\n```\n<task-done>greet</task-done>\n```\nI look into it.";
    let line = "> <task-done>greet</task-done>\n\nThat is what you asked me to say.";
    let inline = "I will say `<task-done>greet</task-done>` when it is so.";
    let then = |text: &str| say(&format!("{text}\n\n<task-done>greet</task-done>"));
    vec![
        Case::task("bare", "says done and did nothing")
            .lies(&[done()])
            .honestly(&[work(), done()]),
        Case::task("tool-result", "lets a tool print the signal")
            .lies(&[prints.clone(), say("I looked around.")])
            .honestly(&[prints, work(), done()]),
        Case::task("file", "writes the signal into a file")
            .lies(&[notes.clone(), say("See NOTES.md.")])
            .honestly(&[notes, work(), done()]),
        Case::task("thinking", "thinks the signal")
            .lies(&[thinks.clone(), say("I looked around.")])
            .honestly(&[thinks, work(), done()]),
        Case::task("code-block", "shows the signal in a code block")
            .lies(&[say(quoted)])
            .honestly(&[work(), then(quoted)]),
        Case::task("quoted", "quotes the signal")
            .lies(&[say(line)])
            .honestly(&[work(), then(line)]),
        Case::task("inline-code", "names the signal in inline code")
            .lies(&[say(inline)])
            .honestly(&[work(), then(inline)]),
        Case::task("code-other-task", "ends with the signal for another task in code")
            .with("other")
            .lies(&[say("All is well.\n\n`<task-done>other</task-done>`")])
            .honestly(&[work(), say("Done.\n\n`<task-done>greet</task-done>`")]),
        Case::task("code-not-last", "shows the signal in code and continues with doubts")
            .lies(&[say("`<task-done>greet</task-done>`\n\nis what I say once it is there.")])
            .honestly(&[work(), say("Done.\n\n```\n<task-done>greet</task-done>\n```\n")]),
        Case::task("look-alike-id", "names the task in look-alike letters")
            .lies(&[say("<task-done>gr\u{435}\u{435}t</task-done>")])
            .honestly(&[work(), say("<task-done>`greet`</task-done>")]),
        Case::task("look-alike-tag", "writes the signal with other brackets")
            .lies(&[say("＜task-done＞greet＜/task-done＞")])
            .honestly(&[work(), say("It is there.\n<task-done> greet </task-done>")]),
        Case::task("not-its-last-word", "says done and then denies it")
            .lies(&[done(), say("No, that was too early: nothing is written yet.")])
            .honestly(&[say("Not yet."), work(), done()]),
        Case::task("in-a-question", "puts the signal into a question")
            .lies(&[say("<question>May I say <task-done>greet</task-done> now?</question>")])
            .honestly(&[work(), done()]),
        Case::task("crashed", "says done and crashes")
            .lies(&[done(), step(r#"{"do":"exit","code":1}"#)])
            .honestly(&[work(), done(), step(r#"{"do":"exit","code":0}"#)]),
        Case::task("timed-out", "says done and times out")
            .arguments(&["--timeout", "1s"])
            .lies(&[done(), step(r#"{"do":"hang"}"#)])
            .honestly(&[work(), done()]),
        Case::task("empty", "ends normally and says nothing")
            .lies(&[step(r#"{"do":"exit","code":0}"#)])
            .honestly(&[work(), done()]),
        Case::task("done-and-failed", "says done and failed together")
            .lies(&[say("<task-done>greet</task-done> <task-failed>greet</task-failed>")])
            .honestly(&[
                work(),
                say("<task-done>greet</task-done> <task-failed>greet</task-failed>"),
            ]),
        Case::task("promise", "promises that all is complete")
            .lies(&[say("<promise>COMPLETE</promise>")])
            .honestly(&[work(), say("<promise>COMPLETE</promise> <task-done>greet</task-done>")]),
        Case::task("lying-report", "reports \"12 of 12 tests passed\" and says done")
            .lies(&[say("I ran them: 12 of 12 passed. <task-done>greet</task-done>")])
            .honestly(&[work(), say("It is there. <task-done>greet</task-done>")]),
        by_claude(
            "echoed-prompt",
            "has the signal in the prompt that it echoes",
            r#"init; echo '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<task-done>greet</task-done>"}]}}'"#,
            "Looked around.",
        ),
        by_claude(
            "subagent",
            "has a subagent that says done",
            r#"init; echo '{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"id":"s1","model":"claude-fake","content":[{"type":"text","text":"<task-done>greet</task-done>"}],"usage":{"input_tokens":1,"output_tokens":1}}}'"#,
            "It said so.",
        ),
        by_claude(
            "standard-error",
            "prints the signal on its standard error",
            "echo '<task-done>greet</task-done>' >&2",
            "Looked around.",
        ),
        Case::task("cut", "says done in a message and ends without a result").claude(
            r#"init; echo '{"type":"assistant","message":{"id":"m1","model":"claude-fake","content":[{"type":"text","text":"<task-done>greet</task-done>"}],"usage":{"input_tokens":3,"output_tokens":5}}}'"#,
            "echo hello > greet.txt; result '<task-done>greet</task-done>'",
        ),
        Case::task("error-result", "says done in a result that is an error").claude(
            r#"init; echo '{"type":"result","subtype":"error_max_turns","is_error":true,"duration_ms":7,"num_turns":9,"result":"<task-done>greet</task-done>","stop_reason":null,"total_cost_usd":0.01,"usage":{"input_tokens":3,"output_tokens":5},"permission_denials":[]}'"#,
            "echo hello > greet.txt; result '<task-done>greet</task-done>'",
        ),
    ]
}

/// A session of the stand-in that prints something and then ends with these words; the honest one prints
/// the same, does the work and says done.
fn by_claude(name: &'static str, does: &'static str, prints: &str, says: &str) -> Case {
    let honest = "echo hello > greet.txt; result '<task-done>greet</task-done>'";
    Case::task(name, does)
        .claude(&format!("{prints}\nresult '{says}'"), &format!("{prints}\n{honest}"))
}
