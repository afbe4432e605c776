//! `ralph task tree`: tasks below their parents.

use std::collections::HashMap;

use ralph_core::TaskId;
use ralph_core::task::Task;
use ralph_core::text::printable_line;
use unicode_width::UnicodeWidthStr;

use crate::columns::cut;
use crate::style::{Meaning, TextStyle};

/// Every task below its parent, in the order given. A task whose parent is not among them stands at
/// the top.
pub fn tree(tasks: &[Task], style: TextStyle) -> String {
    let known: HashMap<&TaskId, usize> =
        tasks.iter().enumerate().map(|(index, task)| (&task.id, index)).collect();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    let mut top = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        match task.parent.as_ref().and_then(|parent| known.get(parent)) {
            Some(parent) => below[*parent].push(index),
            None => top.push(index),
        }
    }
    let mut text = String::new();
    // An explicit stack: a chain of ten thousand parents must not end the program.
    let mut stack: Vec<(&usize, String, String)> =
        top.iter().rev().map(|index| (index, String::new(), String::new())).collect();
    while let Some((index, branch, indent)) = stack.pop() {
        text.push_str(&line(&tasks[*index], &branch, true, style));
        push(&mut stack, &below[*index], &indent);
    }
    text
}

/// Puts what is below a line on the stack of lines to print, with its branches and its indentation.
pub(super) fn push<'a, T>(stack: &mut Vec<(&'a T, String, String)>, below: &'a [T], indent: &str) {
    for (position, one) in below.iter().enumerate().rev() {
        let last = position + 1 == below.len();
        let branch = format!("{indent}{}", if last { "└─ " } else { "├─ " });
        let indent = format!("{indent}{}", if last { "   " } else { "│  " });
        stack.push((one, branch, indent));
    }
}

/// A task on one line, with what it waits for unless the tree itself shows that.
pub(super) fn line(task: &Task, branch: &str, with_deps: bool, style: TextStyle) -> String {
    let shown = task.shown();
    let status = style.paint(Meaning::of(shown), shown);
    let mut title = printable_line(task.title.as_str()).into_owned();
    let mut tail = String::new();
    if with_deps && !task.deps.is_empty() && task.neighbors.open_blockers > 0 {
        let deps: Vec<&str> = task.deps.iter().map(TaskId::as_str).collect();
        tail = format!("  after {}", deps.join(", "));
    }
    if let Some(claim) = &task.claim {
        tail.push_str(&format!("  by {}", claim.agent));
    }
    if let Some(width) = style.width {
        let fixed = branch.width() + task.id.as_str().width() + shown.as_str().width() + 6;
        title = cut(&title, width.saturating_sub(fixed + tail.width()).max(16));
    }
    let branch = style.paint(Meaning::Faint, branch);
    let id = style.paint(Meaning::Name, &task.id);
    let tail = if tail.is_empty() { tail } else { style.paint(Meaning::Faint, tail) };
    format!("{branch}{id}  {status}  {title}{tail}\n")
}
