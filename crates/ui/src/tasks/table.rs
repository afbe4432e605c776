//! `ralph task list`.

use ralph_core::task::Task;
use ralph_core::text::printable_line;

use crate::columns::{self, Cell};
use crate::style::{Meaning, TextStyle};

/// Tasks as `ID P S CAT TITLE AGENT`.
pub fn table(tasks: &[Task], style: TextStyle) -> String {
    let rows: Vec<Vec<Cell>> = tasks
        .iter()
        .map(|task| {
            let shown = task.shown();
            vec![
                Cell::meaning(task.id.as_str(), Some(Meaning::Name)),
                Cell::new(task.priority.to_string()),
                Cell::meaning(shown.as_str(), Meaning::of(shown)),
                Cell::new(printable_line(task.category.as_deref().unwrap_or_default())),
                Cell::new(printable_line(task.title.as_str())),
                Cell::new(task.claim.as_ref().map_or("", |claim| claim.agent.as_str())),
            ]
        })
        .collect();
    columns::table(&["ID", "P", "S", "CAT", "TITLE", "AGENT"], 4, &rows, style)
}
