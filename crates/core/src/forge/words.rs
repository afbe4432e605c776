//! The title and the body of a pull request, from the results of a branch.

use super::markdown::{block, code, inline, one_line};
use super::marked::{BEGIN, END};
use crate::amounts::{count, money, tokens};
use crate::ids::TaskId;
use crate::records::{Evidence, Verdict};
use crate::redact::Secrets;
use crate::task::Status;
use crate::time::duration;
use crate::view::report::Total;
use crate::view::words;

pub use crate::view::CommitView as Commit;

/// The longest title, in characters: what GitHub takes.
pub const MAX_TITLE: usize = 256;
/// The longest body, in characters. GitHub takes 65,536; people may add to it.
pub const MAX_BODY: usize = 60_000;

/// The longest line of a list, and the longest text below a check.
const LINE: usize = 300;
const DIGEST: usize = 4_000;
/// How many lines a list has at first; half as many when the body is too long.
const LIST: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLine {
    pub id: TaskId,
    pub title: String,
    pub status: Status,
    /// Why it failed; may be empty.
    pub reason: String,
}

/// The content of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    pub branch: String,
    /// What it is for; may be empty.
    pub goal: String,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<TaskLine>,
    /// The results of its gates, the oldest first.
    pub evidence: Vec<Evidence>,
    /// Its commits, the oldest first.
    pub commits: Vec<Commit>,
    /// Cost and time of its attempts.
    pub spent: Total,
}

impl Words {
    /// The same without secrets.
    #[must_use]
    pub fn redacted(mut self, secrets: &Secrets) -> Self {
        secrets.clean(&mut self.goal);
        for task in &mut self.tasks {
            secrets.clean(&mut task.title);
            secrets.clean(&mut task.reason);
        }
        self.evidence.iter_mut().for_each(|found| secrets.clean(&mut found.digest));
        self.commits.iter_mut().for_each(|commit| secrets.clean(&mut commit.subject));
        self
    }

    /// The title: one line, `<branch>: <goal>`.
    pub fn title(&self) -> String {
        let title = match self.goal.trim() {
            "" => self.branch.clone(),
            goal => format!("{}: {goal}", self.branch),
        };
        one_line(&title, MAX_TITLE)
    }

    /// Whether a title has the form of ralph's.
    pub(super) fn is_ours(&self, title: &str) -> bool {
        let rest = title.strip_prefix(one_line(&self.branch, MAX_TITLE).as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
    }

    /// The body: markdown between two marks, at most [`MAX_BODY`] characters.
    pub fn body(&self) -> String {
        self.body_within(MAX_BODY)
    }

    /// The body in at most so many characters: lists become shorter and say so.
    pub(super) fn body_within(&self, room: usize) -> String {
        let mut list = LIST;
        loop {
            let body = self.render(list, DIGEST * list / LIST);
            if list <= 1 || body.chars().count() <= room {
                return body;
            }
            list /= 2;
        }
    }

    fn render(&self, list: usize, digest: usize) -> String {
        let parts = [
            Some(BEGIN.to_owned()),
            Some(format!("Goal: {}", inline(&self.goal, LINE)))
                .filter(|_| !self.goal.trim().is_empty()),
            self.task_part(list),
            self.check_part(list, digest),
            self.commit_part(list),
            self.cost_part(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{}\n\n{END}", parts.join("\n\n"))
    }

    fn task_part(&self, list: usize) -> Option<String> {
        let count = |status| self.tasks.iter().filter(|task| task.status == status).count();
        let (done, failed) = (count(Status::Done), count(Status::Failed));
        let open = self.tasks.len() - done - failed;
        let counts = [(done, "done"), (failed, "failed"), (open, "open")].into_iter();
        let counts: Vec<String> =
            counts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let lines = self.tasks.iter().map(task_line);
        (!self.tasks.is_empty()).then(|| {
            format!("## Tasks\n\n{}.\n\n{}", counts.join(", "), short(lines, list, "tasks"))
        })
    }

    /// The last result of every gate, and below it the reason where it failed.
    fn check_part(&self, list: usize, digest: usize) -> Option<String> {
        let mut judges: Vec<(&Evidence, usize, usize)> = vec![];
        for found in &self.evidence {
            let red = usize::from(found.verdict == Verdict::Fail);
            match judges.iter_mut().find(|(known, ..)| known.judge == found.judge) {
                Some(known) => *known = (found, known.1 + 1, known.2 + red),
                None => judges.push((found, 1, red)),
            }
        }
        if judges.is_empty() {
            return None;
        }
        let rows: Vec<String> = judges.iter().take(list).map(check_row).collect();
        let more = judges.len().saturating_sub(list);
        let mut text = format!(
            "## Checks\n\n| check | last verdict | tree | time | runs |\n|---|---|---|---|---|\n{}",
            rows.join("\n")
        );
        if more > 0 {
            text.push_str(&format!("\n\n{more} more checks."));
        }
        let red = judges.iter().filter(|(last, ..)| last.verdict == Verdict::Fail);
        for (last, ..) in red.filter(|(last, ..)| !last.digest.trim().is_empty()).take(list.min(5))
        {
            let why = block(&last.digest, digest);
            text.push_str(&format!("\n\n{} said:\n\n{why}", code(&last.judge, LINE)));
        }
        Some(text)
    }

    fn commit_part(&self, list: usize) -> Option<String> {
        let line = |commit: &Commit| {
            let id: String = commit.id.chars().take(12).collect();
            format!("- {} {}", code(&id, LINE), inline(&commit.subject, LINE))
        };
        let lines = short(self.commits.iter().map(line), list, "commits");
        (!self.commits.is_empty()).then(|| format!("## Commits\n\n{lines}"))
    }

    fn cost_part(&self) -> Option<String> {
        let spent = &self.spent;
        let cost = match (spent.cost_micro_usd, spent.unpriced) {
            (Some(cost), 0) => money(cost),
            (Some(cost), _) => format!("at least {}", money(cost)),
            (None, _) => "cost unknown".to_owned(),
        };
        (spent.attempts > 0).then(|| {
            format!(
                "## Cost\n\n{}, {} of work, {} tokens in, {} out, {cost}.",
                count(spent.attempts, "attempt"),
                duration(spent.duration_ms),
                tokens(spent.input_tokens),
                tokens(spent.output_tokens),
            )
        })
    }
}

fn task_line(task: &TaskLine) -> String {
    let mark = if task.status == Status::Done { 'x' } else { ' ' };
    let mut line =
        format!("- [{mark}] {} {}", code(task.id.as_str(), LINE), inline(&task.title, LINE));
    if task.status == Status::Failed {
        line.push_str(" (failed");
        if !task.reason.trim().is_empty() {
            line.push_str(&format!(": {}", inline(&task.reason, LINE)));
        }
        line.push(')');
    }
    line
}

fn check_row((last, runs, red): &(&Evidence, usize, usize)) -> String {
    let found = words::verdict(&last.judge, last.verdict);
    let verdict = match (last.verdict, last.exit_code) {
        (Verdict::Fail, Some(code)) => format!("{found}, exit code {code}"),
        _ => found.to_owned(),
    };
    let runs = match red {
        0 => runs.to_string(),
        red => format!("{runs}, {red} failed"),
    };
    let tree: String = last.tree.chars().take(12).collect();
    // In a table a bar ends the cell, in code too.
    let cell = |text: &str| code(text, LINE).replace('|', "\\|");
    let time = duration(last.duration_ms);
    format!("| {} | {verdict} | {} | {time} | {runs} |", cell(&last.judge), cell(&tree))
}

/// The first lines, and how many more there are.
fn short(lines: impl ExactSizeIterator<Item = String>, list: usize, what: &str) -> String {
    let more = lines.len().saturating_sub(list);
    let mut text = lines.take(list).collect::<Vec<_>>().join("\n");
    if more > 0 {
        text.push_str(&format!("\n- and {more} more {what}"));
    }
    text
}

#[cfg(test)]
mod tests;
