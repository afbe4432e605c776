//! The prompt of a verifier: the task, the changes, and the results of the gates.

use super::{
    AttemptContext, Body, Cow, Prompt, Section, beginning, body_of, document, entry, field, joined,
    messages, prefixed, written,
};
use crate::records::{GateReport, Verdict};

pub const VERIFIER_RULES: &str = include_str!("../text/verifier.md").trim_ascii_end();

/// How many changed files are named.
const FILES: usize = 100;
/// How much of a diff the prompt has, in bytes. The verifier can read the whole tree.
const DIFF: usize = 48 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// The context of each task that the session calls done; the spec and plan of the first one count.
    pub tasks: Vec<AttemptContext>,
    pub files: Vec<String>,
    pub diff: String,
    pub gates: Vec<GateReport>,
    /// Other findings, a sentence each.
    pub remarks: Vec<String>,
}

/// The prompt for a verifier, within `budget` tokens beside the instructions.
pub fn verifier(work: &Work, budget: usize) -> Prompt {
    let (texts, cuts) = written(&sections(work), budget);
    let task = joined(texts.iter().map(String::as_str));
    Prompt { system: VERIFIER_RULES.to_owned(), task, cuts, messages: vec![] }
}

fn sections(work: &Work) -> Vec<Section<'_>> {
    let mut all: Vec<Section<'_>> = work.tasks.iter().filter_map(claimed).collect();
    if let Some(first) = work.tasks.first() {
        all.extend(first.spec.as_ref().map(|spec| document("Feature specification", spec)));
        all.extend(first.plan.as_ref().map(|plan| document("Feature plan", plan)));
    }
    all.push(changes(work));
    let gates: Vec<String> = work.gates.iter().map(gate).collect();
    all.push(Section {
        title: "Gates",
        head: match gates.is_empty() {
            true => "There are no gates: you alone judge this work.".to_owned(),
            false => "The loop ran these gates itself:".to_owned(),
        },
        body: Body::List(gates),
        rest: "run them".to_owned(),
        ..Section::default()
    });
    let remarks: Vec<String> =
        work.remarks.iter().map(|text| format!("- {}", field(text))).collect();
    if !remarks.is_empty() {
        all.push(Section {
            title: "Check closely",
            body: Body::List(remarks),
            rest: "read the diff".to_owned(),
            ..Section::default()
        });
    }
    all
}

fn claimed(context: &AttemptContext) -> Option<Section<'_>> {
    let task = context.task.as_ref()?;
    let mut head = format!("- id: `{}`\n- title: {}", task.id, field(&task.title));
    if let Some(parent) = &context.parent {
        head.push_str(&format!("\n- part of: {}", field(&parent.title)));
    }
    if let Some(spec) = &task.spec {
        head.push_str(&format!("\n- spec: {}", field(spec)));
    }
    Some(Section {
        title: "Task to verify",
        head,
        body: Body::Text(body_of(task)),
        foot: told(context),
        rest: format!("see `ralph task show {}`", task.id),
    })
}

/// What the user said about the task while sessions worked on it: the last message counts where they differ.
fn told(context: &AttemptContext) -> String {
    let all: Vec<_> = context.messages.iter().map(|told| told.message.clone()).collect();
    let quoted = messages::quoted(&all);
    quoted.map(|quoted| format!("The user said later:\n\n{quoted}")).unwrap_or_default()
}

fn changes(work: &Work) -> Section<'_> {
    let named: Vec<String> =
        work.files.iter().take(FILES).map(|file| format!("- {}", field(file))).collect();
    let mut head = match work.files.len() {
        0 => "No file changed: the session says that the task was done already.".to_owned(),
        1 => "One file differs from the last accepted tree:".to_owned(),
        count => format!("{count} files differ from the last accepted tree:"),
    };
    if !named.is_empty() {
        head = format!("{head}\n\n{}", named.join("\n"));
    }
    if work.files.len() > FILES {
        head.push_str(&format!("\n- and {} more", work.files.len() - FILES));
    }
    let diff = beginning(&work.diff, DIFF);
    // Indented, so that no line of it can close the block it stands in.
    let body = if diff.trim().is_empty() { String::new() } else { prefixed(diff, "    ") };
    let cut = diff.len() < work.diff.len();
    Section {
        title: "Changes",
        head,
        body: Body::Text(Cow::Owned(body)),
        foot: if cut { "[the rest of the diff is left out]".to_owned() } else { String::new() },
        rest: "read the files".to_owned(),
    }
}

fn gate(gate: &GateReport) -> String {
    let last_message = match gate.verdict {
        Verdict::Pass => "passed",
        _ => "failed",
    };
    entry(format!("- `{}`: {last_message}", field(&gate.name)), &gate.digest, "      ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::context::AssignedTask;
    use crate::ids::TaskId;

    fn work() -> Work {
        let task = AssignedTask {
            id: TaskId::new("t-1").unwrap(),
            title: "Say hello".to_owned(),
            description: "In the README.".to_owned(),
            steps: vec!["Write it".to_owned()],
            category: None,
            spec: Some("specs/hello.md".to_owned()),
            reference: None,
        };
        Work {
            tasks: vec![AttemptContext { task: Some(task), ..AttemptContext::default() }],
            files: vec!["README.md".to_owned()],
            diff: "diff --git a/README.md b/README.md\n+```\n+hello\n".to_owned(),
            gates: vec![GateReport {
                name: "test".to_owned(),
                verdict: Verdict::Pass,
                exit_code: Some(0),
                duration_ms: 1,
                digest: String::new(),
                log: None,
            }],
            remarks: vec!["tests/a.rs: the test `a` was removed".to_owned()],
        }
    }

    #[test]
    fn s1_42_a_verifier_gets_the_task_the_diff_and_the_output_of_the_gates() {
        let prompt = verifier(&work(), 20_000);
        insta::assert_snapshot!(prompt.task, @r"
        ## Task to verify

        - id: `t-1`
        - title: Say hello
        - spec: specs/hello.md

        In the README.

        Steps:
        1. Write it

        ## Changes

        One file differs from the last accepted tree:

        - README.md

            diff --git a/README.md b/README.md
            +```
            +hello

        ## Gates

        The loop ran these gates itself:

        - `test`: passed

        ## Check closely

        - tests/a.rs: the test `a` was removed
        ");
        assert!(prompt.system.contains("<verify-fail>"));
        assert!(super::super::tokens(&prompt.system) < 500);
    }

    #[test]
    fn a_great_diff_is_cut_and_says_so() {
        let mut work = work();
        work.diff = "+x\n".repeat(200_000);
        let prompt = verifier(&work, 20_000);
        assert!(prompt.task.len() < 90_000, "{}", prompt.task.len());
        assert!(prompt.task.contains("[the rest of the diff is left out]"));
        let small = verifier(&work, 500);
        assert!(small.task.len() < 4_000, "{}", small.task.len());
        assert!(small.task.contains("tokens; read the files]"), "{}", small.task);
    }

    #[test]
    fn missing_changes_and_gates_are_reported_too() {
        let bare = Work { files: vec![], diff: String::new(), gates: vec![], ..work() };
        let prompt = verifier(&bare, 20_000);
        assert!(prompt.task.contains("No file changed"));
        assert!(prompt.task.contains("you alone judge this work."));
    }
}
