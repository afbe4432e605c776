//! markdown-KV: tasks for agents. Headings and `key: value` lines that a model reads as text and a
//! script reads with `grep`. Texts of several lines are indented, so that no text can look like a key.

use std::fmt::Write;

use ralph_core::TaskId;
use ralph_core::task::Task;
use ralph_core::text::{printable, printable_line};

/// A task and how to show it.
#[derive(Debug, Clone, Copy)]
pub struct Kv<'a> {
    pub task: &'a Task,
    pub status: &'a str,
    /// Whether to show who claimed it.
    pub assignee: bool,
    /// For a claim: its lease, retries and description, and what its blockers produced.
    pub claim: Option<&'a [(TaskId, String)]>,
}

/// Tasks with a blank line between them.
pub fn markdown_kv<'a>(tasks: impl IntoIterator<Item = Kv<'a>>) -> String {
    let mut text = String::new();
    for kv in tasks {
        if !text.is_empty() {
            text.push('\n');
        }
        write_task(&mut text, &kv);
    }
    text
}

fn write_task(text: &mut String, kv: &Kv<'_>) {
    let task = kv.task;
    let _ = writeln!(text, "## Task {}", task.id);
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{key}: {}", printable_line(value));
        }
    };
    line("id", task.id.as_str());
    line("title", task.title.as_str());
    line("priority", &task.priority.to_string());
    line("status", kv.status);
    line("category", task.category.as_deref().unwrap_or_default());
    line("spec", task.spec.as_deref().unwrap_or_default());
    line("ref", task.reference.as_deref().unwrap_or_default());
    if let Some(claim) = task.claim.as_ref().filter(|_| kv.assignee) {
        line("assignee", claim.agent.as_str());
        if kv.claim.is_some() {
            line("lease_expires_at", &claim.lease_expires_at.to_string());
            line("retry_count", &task.retry_count.to_string());
        }
    }
    let deps: Vec<&str> = task.deps.iter().map(TaskId::as_str).collect();
    line("deps", &deps.join(", "));
    if !task.steps.is_empty() {
        text.push_str("steps:\n");
        for step in &task.steps {
            let _ = writeln!(text, "- {}", printable_line(step));
        }
    }
    let Some(results) = kv.claim else { return };
    write_long(text, "description", &task.description);
    if !results.is_empty() {
        text.push_str("blocker_results:\n");
        for (id, json) in results {
            let _ = writeln!(text, "- {id}: {}", printable_line(json));
        }
    }
}

fn write_long(text: &mut String, key: &str, value: &str) {
    let value = printable(value.trim_end());
    if value.is_empty() {
        return;
    }
    if !value.contains('\n') {
        let _ = writeln!(text, "{key}: {value}");
        return;
    }
    let _ = writeln!(text, "{key}:");
    for line in value.lines() {
        let _ = writeln!(text, "{}", if line.is_empty() { "" } else { "  " }.to_owned() + line);
    }
}
