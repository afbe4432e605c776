//! The prompt of a session that picks its own task: the output of `ralph task peek`, then a section for each
//! task that was returned for retry.

use super::{
    AttemptContext, Body, Section, answer_entries, failure_entries, field, messages, signal_lines,
    written,
};

/// The prompt of a `pick` session: the build skill and the output of `peek`, byte for byte, then what is known
/// about returned tasks, within `budget` tokens. `skill` is its text, for an agent that is not called with a skill by
/// its name.
pub fn pick_prompt(
    skill: Option<&str>,
    peek: &str,
    offered: &[AttemptContext],
    budget: usize,
) -> String {
    let sections: Vec<Section<'_>> = offered.iter().filter_map(returned).collect();
    let mut prompt = match skill {
        None => format!("/ralph-build {peek}"),
        Some(text) => without_front_matter(text).replacen("$ARGUMENTS", peek, 1),
    };
    for text in written(&sections, budget).0 {
        let gap = if prompt.ends_with('\n') { "\n" } else { "\n\n" };
        prompt.push_str(&format!("{gap}{text}\n"));
    }
    prompt
}

/// The text of a skill, without what is for the agent that finds it.
fn without_front_matter(text: &str) -> &str {
    let rest = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    rest.map_or(text, |(_, body)| body).trim_start()
}

/// What is known about a task beyond what `peek` shows; `None` when nothing is.
fn returned(context: &AttemptContext) -> Option<Section<'static>> {
    let task = context.task.as_ref()?;
    let mut entries: Vec<String> = messages::quoted(&context.unread())
        .map(|quoted| format!("- The user says about this task:\n\n{quoted}\n"))
        .into_iter()
        .collect();
    entries.extend(failure_entries(&context.failures));
    entries.extend(answer_entries(&context.answers));
    entries.extend(context.signal.iter().flat_map(signal_lines));
    let last = context.earlier.last();
    if last.is_none() && entries.is_empty() && context.retry.is_none() {
        return None;
    }
    let mut head = format!("- id: `{}`\n- title: {}", task.id, field(&task.title));
    let reason = context.retry.as_ref().and_then(|retry| retry.reason.as_deref());
    let detail = last.map(|last| last.detail.as_str()).filter(|detail| !detail.trim().is_empty());
    let why = detail.or(reason).map(|why| format!(": {}", field(why))).unwrap_or_default();
    match last {
        Some(last) => head.push_str(&format!(
            "\n- last verdict (attempt {}): {}{why}",
            last.number,
            field(&last.outcome)
        )),
        None if !why.is_empty() => head.push_str(&format!("\n- returned for retry{why}")),
        None => {}
    }
    Some(Section {
        title: "Returned task",
        head,
        body: Body::List(entries),
        rest: format!("see `ralph task show {}`", task.id),
        ..Section::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::context::{
        AnsweredQuestion, AssignedTask, EarlierAttempt, GateFailure, RetryInfo,
    };
    use crate::ids::TaskId;
    use crate::records::Changes;
    use crate::task::RetryLimit;

    fn offered(id: &str) -> AttemptContext {
        let task = AssignedTask {
            id: TaskId::new(id).unwrap(),
            title: format!("Do {id}"),
            description: String::new(),
            steps: vec![],
            category: None,
            spec: None,
            reference: None,
        };
        AttemptContext { task: Some(task), ..AttemptContext::default() }
    }

    #[test]
    fn s0_4_tasks_that_did_not_come_back_add_nothing_to_the_look_at_the_plan() {
        let peek = "## Task a\nid: a\n\n## Task b\nid: b\n";
        let fresh = [offered("a"), offered("b")];
        assert_eq!(pick_prompt(None, peek, &fresh, 1_000), format!("/ralph-build {peek}"));
        assert_eq!(pick_prompt(None, peek, &[], 1_000), format!("/ralph-build {peek}"));
    }

    #[test]
    fn a_returned_task_has_its_verdict_the_gates_words_and_the_answers() {
        let reason = Some("gate test failed (exit code 1): 2 != 3".to_owned());
        let came_back = AttemptContext {
            retry: RetryInfo::of(1, RetryLimit::Unlimited, reason),
            failures: vec![GateFailure {
                judge: "test".to_owned(),
                exit_code: Some(1),
                digest: "2 != 3".to_owned(),
            }],
            answers: vec![AnsweredQuestion {
                question: "Which port?".to_owned(),
                answer: "8080".to_owned(),
            }],
            earlier: vec![EarlierAttempt {
                number: 1,
                outcome: "red".to_owned(),
                detail: String::new(),
                commit: None,
                changed: Changes::default(),
                last_message: String::new(),
                fingerprint: None,
            }],
            ..offered("b")
        };
        let prompt = pick_prompt(None, "PEEK\n", &[offered("a"), came_back.clone()], 1_000);
        insta::assert_snapshot!(prompt, @r"
        /ralph-build PEEK

        ## Returned task

        - id: `b`
        - title: Do b
        - last verdict (attempt 1): red: gate test failed (exit code 1): 2 != 3

        - `test`, exit code 1

              2 != 3
        - An earlier session asked:
          > Which port?
          The user answered:
          > 8080
        ");
        // Much of it stays within the budget and says where the rest is.
        let long = AttemptContext {
            failures: vec![GateFailure {
                judge: "test".to_owned(),
                exit_code: Some(1),
                digest: "x\n".repeat(2_000),
            }],
            ..came_back
        };
        let prompt = pick_prompt(None, "PEEK\n", &[long], 100);
        assert!(prompt.len() < 1_500 && prompt.contains("see `ralph task show b`"), "{prompt}");
    }

    #[test]
    fn an_agent_without_skills_gets_the_text_of_the_skill_around_the_tasks() {
        let skill = "---\nname: ralph-build\n---\n\n# One task\n\n$ARGUMENTS\n\nClaim one.\n";
        let prompt = pick_prompt(Some(skill), "## Task a", &[], 1_000);
        assert_eq!(prompt, "# One task\n\n## Task a\n\nClaim one.\n");
    }
}
