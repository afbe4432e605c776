//! `ralph task deps`: everything that a task waits for, or everything that waits for it, as a tree.

use std::collections::{HashMap, HashSet};

use ralph_core::TaskId;
use ralph_core::task::Task;

use super::tree::{line, push};
use crate::style::{Meaning, TextStyle};

/// The tasks that can be reached from one task over blockers, or the other way round.
#[derive(Debug, Default)]
pub struct Chain {
    /// Each task and its distance from the start; the nearest come first.
    pub tasks: Vec<(u32, Task)>,
    /// The next ones of the start and of each task, in order.
    pub next: HashMap<TaskId, Vec<TaskId>>,
}

/// The chain below `start`, without `start` itself. A task that is reached twice is expanded the first time; later
/// lines say so, so that a dense plan does not print the same branch again and again.
pub fn chain(start: &TaskId, chain: &Chain, style: TextStyle) -> String {
    let known: HashMap<&TaskId, &Task> =
        chain.tasks.iter().map(|(_, task)| (&task.id, task)).collect();
    let next = |id: &TaskId| chain.next.get(id).map(Vec::as_slice).unwrap_or_default();
    let mut expanded: HashSet<&TaskId> = HashSet::new();
    let mut text = String::new();
    // An explicit stack: a chain of ten thousand blockers must not end the program.
    let mut stack: Vec<(&TaskId, String, String)> = Vec::new();
    push(&mut stack, next(start), "");
    while let Some((id, branch, indent)) = stack.pop() {
        let Some(task) = known.get(id) else { continue };
        let below = next(id);
        let again = !below.is_empty() && !expanded.insert(&task.id);
        let shown = line(task, &branch, false, style);
        match again {
            true => {
                let note = style.paint(Meaning::Faint, "(see above)");
                text.push_str(&format!("{}  {note}\n", shown.trim_end()));
            }
            false => {
                text.push_str(&shown);
                push(&mut stack, below, &indent);
            }
        }
    }
    text
}
