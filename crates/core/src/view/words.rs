//! The sentences that every display uses for what happened in a run. Agents' texts go in as they came:
//! the display makes them safe to print.

use super::next::FOUND;
use super::next::table::CommandKind;
pub use super::next::{after_trouble, next};
use super::run_view::RunView;
pub use crate::amounts::count;
use crate::records::Verdict;
use crate::run::{
    About, AgentLimit, CLASSES, Cancel, Class, Control, NeedsMerge, Notice, PROTECTED, Port,
    SIGNAL, TaskBrief, VERIFICATION_FAILED, VERIFIER, WEAKENED, Wait,
};
use crate::shell::quoted;
use crate::task::Status;
pub use crate::text::with_detail;
use crate::time::duration;

/// Whether an attempt that ended so is an error worth remembering.
pub fn is_error(class: Class) -> bool {
    class.is_limit()
        || class.needs_user_action()
        || class == Class::Red
        || class.row().breaker == crate::run::Breaker::Add
}

/// What a task has become.
pub const fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "retry",
        Status::InProgress => "active",
        Status::Waiting => "waiting",
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Deleted => "deleted",
    }
}

/// How an attempt ended: its outcome by the name that the task database has, and its reason. A name of a newer ralph stands
/// for itself.
pub fn attempt<'a>(end: Option<(&'a str, &str)>) -> &'a str {
    let Some((outcome, reason)) = end else { return "unfinished" };
    let class = CLASSES.iter().map(|row| row.class).find(|class| class.as_str() == outcome);
    match class {
        Some(Class::Red) if reason.starts_with(VERIFICATION_FAILED) => "the verifier rejected it",
        Some(class) => class.words(),
        None => outcome,
    }
}

/// Whether a check only informs the user and decides nothing.
pub fn is_note(check: &str, verdict: Verdict) -> bool {
    verdict == Verdict::Pass && matches!(check, PROTECTED | WEAKENED | SIGNAL)
}

/// What a check found.
pub fn verdict(check: &str, verdict: Verdict) -> &'static str {
    match verdict {
        _ if is_note(check, verdict) => "note",
        Verdict::Pass if check == VERIFIER => "accepted",
        Verdict::Fail if check == VERIFIER => "rejected",
        Verdict::Pass => "passed",
        Verdict::Fail => "failed",
        Verdict::Ungated => "no gates: accepted unchecked",
        Verdict::Unchanged => "No changes detected",
        Verdict::Unclaimed => "no signal",
    }
}

/// Which part of ralph failed.
pub const fn port(port: Port) -> &'static str {
    match port {
        Port::Store => "the task database failed",
        Port::Git => "git failed",
        Port::Prompt => "the prompt could not be built",
        Port::Disk => "the disk is nearly full",
        Port::Gate => "a gate cannot run here",
    }
}

/// What a slot waits for, in words that can follow "waiting:".
pub fn wait(wait: &Wait) -> String {
    match wait {
        Wait::Limit { class: limit, agent: Some(agent), .. } => {
            format!(
                "every agent is at a limit; {agent} is the first to continue ({})",
                limit.words()
            )
        }
        Wait::Limit { class: limit, streak: 0 | 1, .. }
        | Wait::Limit { class: limit, reset_known: true, .. } => limit.words().to_owned(),
        Wait::Limit { class: limit, streak, .. } => {
            format!("{} ({streak} times in a row)", limit.words())
        }
        Wait::Others { tasks: 0 } => "other agents have claimed every task that is left".to_owned(),
        Wait::Others { tasks: 1 } => "another agent has claimed the last open task".to_owned(),
        Wait::Others { tasks } => format!("other agents have claimed the {tasks} open tasks"),
        Wait::Port { port: failed } => format!("{}; ralph tries again", port(*failed)),
        Wait::Paused => "paused by you (ralph resume)".to_owned(),
        Wait::DiskLow => "the disk is nearly full".to_owned(),
    }
}

/// The same in a word or two, where several slots share a line.
pub const fn wait_in_short(wait: &Wait) -> &'static str {
    match wait {
        Wait::Limit { class, .. } => class.words(),
        Wait::Others { .. } => "waiting for other agents",
        Wait::Port { port: Port::Store } => "waiting for the task database",
        Wait::Port { port: Port::Git } => "waiting for git",
        Wait::Port { .. } => "waiting to try again",
        Wait::Paused => "paused",
        Wait::DiskLow => "disk nearly full",
    }
}

/// Another agent works from now on, in words that the time of the return can follow.
pub fn switched(from: &str, to: &str, limit: Option<&AgentLimit>) -> String {
    match limit {
        Some(limit) => format!("{to} works instead of {from} ({})", limit.class.words()),
        None => format!("{to} works again instead of {from}"),
    }
}

/// A notice as a sentence without a full stop.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Level { level, text } => with_detail(level, text),
        Notice::Ungated => "no gates: work is accepted unchecked".to_owned(),
        Notice::DirtyStart { saved, paths } => {
            format!("{}, in {saved}", count(u64::from(*paths), "uncommitted path"))
        }
        Notice::LeftoversEnded { processes } => {
            let left = count(u64::from(*processes), "process");
            format!("ended {left} left running by a run that was killed")
        }
        Notice::ClaimsTakenBack { tasks } => {
            format!("released the claims of a run that died: {}", list(tasks))
        }
        Notice::WrongId { named, held } => match (named.as_slice(), held.is_empty()) {
            ([one], true) => {
                format!("the agent reported task \"{one}\", which is not assigned to it")
            }
            (_, true) => {
                format!("the agent reported tasks that are not assigned to it: {}", list(named))
            }
            (_, false) => {
                format!("the agent reported {}, but it worked on {}", list(named), list(held))
            }
        },
        Notice::SignalsIgnored { signals } => {
            let ignored: Vec<String> = signals.iter().map(ToString::to_string).collect();
            format!("signal ignored: {}", ignored.join("; "))
        }
        Notice::Unclaimed { task } => {
            format!("the agent gave no signal for {task}; ralph checked its changes anyway")
        }
        Notice::Denied { tools } => format!("tools denied to the agent: {}", list(tools)),
        Notice::Trusted { task } => {
            format!("{task} was accepted as done, but nothing changed and no gate checked it")
        }
        Notice::Promise { text } => format!("the agent said {text}; ralph goes by the plan"),
        Notice::Baseline { gate, verdict: Verdict::Pass, .. } => {
            format!("gate {gate} passes before the run")
        }
        Notice::Baseline { gate, count: 0, .. } => {
            format!("gate {gate} already failed before the run and named no failing test")
        }
        Notice::Baseline { gate, failing, count, .. } => {
            let and_more = if u64::from(*count) > failing.len() as u64 { ", …" } else { "" };
            let tests = self::count(u64::from(*count), "failing test");
            format!(
                "gate {gate} already failed before the run, with {tests}: {}{and_more}",
                list(failing)
            )
        }
        Notice::Protected { files, rejected } => format!(
            "protected files changed: {}{}",
            list(files),
            if *rejected { "; ralph rejected the work" } else { "" }
        ),
        Notice::TestsWeakened { found, count } => weakened(found, *count),
        Notice::BudgetNear { budget, task, used, limit } => format!(
            "budget nearly used up ({}): {}{}",
            budget.as_str(),
            task.as_ref().map(|task| format!("{task} cost ")).unwrap_or_default(),
            budget.amounts(*used, *limit)
        ),
        Notice::Unpriced => {
            "the agent reported no price, so the budget does not count its cost".to_owned()
        }
        Notice::Overtaken { task, times, gates_ms } => format!(
            "the branch moved {times} times while the gates checked {}. ralph now locks the branch until the \
             gates have run once more (last time: {}); until then git refuses other commits on it",
            task.as_ref().map_or_else(|| "the work".to_owned(), ToString::to_string),
            duration(*gates_ms)
        ),
        Notice::Other { text } => text.clone(),
    }
}

/// A task that waits until you merge a branch.
pub fn needs_merge(waiting: &NeedsMerge) -> String {
    format!("{} {}: {}", waiting.task, waiting.reason(), waiting.command())
}

/// Weakened tests: how many there are, and the first of them.
pub fn weakened(found: &[String], count: u32) -> String {
    let more = u64::from(count).saturating_sub(found.len() as u64);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("tests are weaker than before: {}{more}", found.join("; "))
}

/// Whether a notice is a warning; others only inform.
pub const fn is_warning(notice: &Notice) -> bool {
    match notice {
        Notice::Ungated
        | Notice::WrongId { .. }
        | Notice::SignalsIgnored { .. }
        | Notice::Denied { .. }
        | Notice::Trusted { .. }
        | Notice::BudgetNear { .. }
        | Notice::Unpriced
        | Notice::Overtaken { .. }
        | Notice::TestsWeakened { .. }
        | Notice::Protected { .. } => true,
        Notice::Baseline { verdict, .. } => !matches!(verdict, Verdict::Pass),
        _ => false,
    }
}

/// How soon a cancelled run stops, with so many sessions under way.
pub fn cancel(cancel: Cancel, sessions: usize) -> &'static str {
    match (cancel, sessions) {
        (Cancel::AfterTask, 0 | 1) => "Stopping after this task",
        (Cancel::AfterTask, _) => "Stopping after these tasks",
        (Cancel::AfterSession, 0 | 1) => "Stopping after this session",
        (Cancel::AfterSession, _) => "Stopping after these sessions",
        (Cancel::Now | Cancel::Kill, _) => "Stopping now",
    }
}

/// What a cancelled run does from now on, and what the next Ctrl-C does, with so many sessions under way.
pub fn cancelled(cancel: Cancel, sessions: usize) -> String {
    let several = sessions > 1;
    let rest = match cancel {
        Cancel::AfterTask if several => "Press Ctrl-C to stop after these sessions.",
        Cancel::AfterTask => "Press Ctrl-C to stop after this session.",
        Cancel::AfterSession if several => "Press Ctrl-C again to kill them.",
        Cancel::AfterSession => "Press Ctrl-C again to kill it.",
        Cancel::Now if several => {
            "ralph interrupts the sessions and saves their work. Press Ctrl-C again to kill them at once."
        }
        Cancel::Now => {
            "ralph interrupts the session and saves its work. Press Ctrl-C again to kill it at once."
        }
        Cancel::Kill if several => "ralph kills the sessions and saves their work.",
        Cancel::Kill => "ralph kills the session and saves its work.",
    };
    format!("{}. {rest}", self::cancel(cancel, sessions))
}

/// A control from the user: its label, and what it does.
pub fn control(control: &Control) -> (&'static str, String) {
    match control {
        Control::Pause => ("paused", "running sessions finish, nothing new starts".to_owned()),
        Control::Resume => ("resumed", "the run continues".to_owned()),
        Control::Cancel(level) => ("stopping", cancelled(*level, 1)),
        Control::Skip { task } => ("skipped", format!("{task} is waiting for you")),
        Control::Retry { task } => ("retry", format!("{task} starts over")),
        Control::Tell { task, message } => ("message", format!("{task}: {}", message.text)),
    }
}

/// What an iteration is about, in a line.
pub fn subject(task: Option<&TaskBrief>, about: Option<&About>, offered: u32) -> String {
    match (task, about) {
        (Some(task), _) => task.title.clone(),
        (None, Some(About { title, open: Some(open @ 2..), .. })) => {
            format!("the agent picks from {}, first: {title}", count(*open, "open task"))
        }
        (None, Some(about)) => about.title.clone(),
        (None, None) => format!("the agent picks from {}", count(u64::from(offered), "task")),
    }
}

/// The feature that a run is about; empty when it is about none.
pub(super) fn of_feature(view: &RunView) -> &str {
    view.target.strip_prefix("feature ").unwrap_or_default()
}

/// The command that continues a run.
pub fn again(view: &RunView) -> String {
    let (feature, file) = (of_feature(view), quoted(&view.target));
    // Without a name `ralph plan` writes one of these.
    let is_usual = FOUND.contains(&view.target.as_str());
    let names_a_plan = !is_usual && view.target != "all tasks" && !view.target.is_empty();
    match CommandKind::of(&view.mode) {
        CommandKind::FeatureSpec => format!("ralph feature create {feature} --interview"),
        CommandKind::FeaturePlan => format!("ralph feature plan {feature}"),
        CommandKind::FeatureTasks => format!("ralph feature build {feature}"),
        CommandKind::Prompt => format!("ralph prompt {file}"),
        CommandKind::Plan if names_a_plan => format!("ralph plan {file}"),
        CommandKind::Plan => "ralph plan".to_owned(),
        CommandKind::Build if matches!(view.preset.as_str(), "progress" | "checklist") => {
            format!("ralph build {file}")
        }
        CommandKind::Build if !feature.is_empty() => format!("ralph build --feature {feature}"),
        CommandKind::Build => match view.target.strip_prefix("task ") {
            Some(task) => format!("ralph build --task {task}"),
            None => "ralph build".to_owned(),
        },
    }
}

fn list(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_without_a_count_names_no_number() {
        let shown = [0, 1, 2].map(|tasks| wait(&Wait::Others { tasks }));
        assert_eq!(
            shown,
            [
                "other agents have claimed every task that is left",
                "another agent has claimed the last open task",
                "other agents have claimed the 2 open tasks",
            ]
        );
    }
}
