//! `ralph build --dry-run`: what a run would do. Scripts read these lines, so their words stay.

use ralph_core::shell::quoted;
use ralph_core::text::printable_line;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DryRun {
    /// The plan: a file, or words for the task database.
    pub source: String,
    /// How many iterations; `None`: unlimited.
    pub max_iterations: Option<u32>,
    pub once: bool,
    pub status: String,
    pub done: u64,
    pub total: u64,
    /// The next task and its phase, where the plan has phases.
    pub next: Option<(Option<String>, String)>,
    /// Why the run would stop before its first session.
    pub stop: Option<String>,
    /// The user's own prompt is used.
    pub custom_prompt: bool,
    pub command: Vec<String>,
    /// The agents that would work while the first is at a limit.
    pub fallback: Vec<String>,
    /// The estimated length of the prompt.
    pub prompt_tokens: u64,
    /// How much of it comes from ralph itself: rules, signals, learning.
    pub own_tokens: u64,
    pub gates: Vec<String>,
    /// The verifier that would check work that passes the gates.
    pub verifier: Option<String>,
    pub level: String,
}

impl DryRun {
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |line: String| lines.push(line);
        line(format!("Progress file: {}", self.source));
        let most = self.max_iterations.map_or("unlimited".to_owned(), |most| most.to_string());
        line(format!("Max iterations: {most}"));
        line(format!("Once mode: {}", self.once));
        line(String::new());
        line(format!("Current status: {}", self.status));
        line(format!("Tasks: {}/{} complete", self.done, self.total));
        line(String::new());
        match &self.next {
            Some((phase, task)) if self.stop.is_none() => {
                line("Next task to execute:".to_owned());
                if let Some(phase) = phase {
                    line(format!("  Phase: {phase}"));
                }
                line(format!("  Task: {task}"));
            }
            Some(_) => {}
            None => line("No pending tasks found.".to_owned()),
        }
        if let Some(stop) = &self.stop {
            line(format!("Would stop at once: {stop}"));
        }
        line(String::new());
        let prompt = if self.custom_prompt { "custom (from config)" } else { "default (embedded)" };
        line(format!("Would use prompt: {prompt}"));
        let command: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        line(format!("Agent command: {}", command.join(" ")));
        if !self.fallback.is_empty() {
            line(format!("At a limit: {}", self.fallback.join(", then ")));
        }
        line(format!(
            "Prompt size: about {} tokens, {} of them from ralph itself",
            self.prompt_tokens, self.own_tokens
        ));
        let gates = if self.gates.is_empty() { "none".to_owned() } else { self.gates.join(", ") };
        line(format!("Gates: {gates}"));
        line(format!("Verifier: {}", self.verifier.as_deref().unwrap_or("none")));
        line(format!("Sandbox: {}", self.level));
        page(&lines)
    }
}

/// A branch that the run would build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDryRun {
    pub branch: String,
    /// What it is for; may be empty.
    pub goal: String,
    /// The commit or branch that it starts from.
    pub base: String,
    /// The branches that have to be complete first.
    pub needs: Vec<String>,
    pub done: u64,
    pub total: u64,
}

/// What a run over several branches would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanesDryRun {
    pub source: String,
    /// How many iterations each branch may have; `None`: unlimited.
    pub max_iterations: Option<u32>,
    pub once: bool,
    /// How many branches would start at once.
    pub at_once: u64,
    pub lanes: Vec<LaneDryRun>,
}

impl LanesDryRun {
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |line: String| lines.push(line);
        line(format!("Progress file: {}", self.source));
        let most = self.max_iterations.map_or("unlimited".to_owned(), |most| most.to_string());
        line(format!("Max iterations: {most} for each branch"));
        line(format!("Once mode: {}", self.once));
        let done: u64 = self.lanes.iter().map(|lane| lane.done).sum();
        let total: u64 = self.lanes.iter().map(|lane| lane.total).sum();
        line(format!("Tasks: {done}/{total} complete"));
        line(format!("Branches: {}, {} start at once", self.lanes.len(), self.at_once));
        for lane in &self.lanes {
            line(String::new());
            line(format!("Branch: {}", lane.branch));
            if !lane.goal.is_empty() {
                line(format!("  Goal: {}", lane.goal));
            }
            line(format!("  Base: {}", lane.base));
            if !lane.needs.is_empty() {
                line(format!("  Needs: {}", lane.needs.join(", ")));
            }
            line(format!("  Tasks: {}/{} complete", lane.done, lane.total));
        }
        page(&lines)
    }
}

/// The lines of a page, each safe to print, between the marks of a dry run.
fn page(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("{}\n", printable_line(line))).collect();
    format!("=== DRY RUN MODE ===\n\n{lines}\n=== END DRY RUN ===\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dry_run() -> DryRun {
        DryRun {
            source: "progress.md".into(),
            max_iterations: Some(20),
            once: false,
            status: "IN_PROGRESS".into(),
            done: 3,
            total: 12,
            next: Some((Some("Phase 2: Login".into()), "Add the login form".into())),
            stop: None,
            custom_prompt: false,
            command: ["claude", "--print", "--system-prompt", "You're a loop"]
                .map(Into::into)
                .into(),
            fallback: vec![],
            prompt_tokens: 1_480,
            own_tokens: 790,
            gates: vec!["fmt".into(), "test".into()],
            verifier: None,
            level: "full".into(),
        }
    }

    /// S2-24: the lines verbatim, ours between the last two.
    #[test]
    fn s2_24_a_dry_run_shows_what_would_be_done() {
        assert_eq!(
            dry_run().text(),
            "=== DRY RUN MODE ===\n\n\
             Progress file: progress.md\nMax iterations: 20\nOnce mode: false\n\n\
             Current status: IN_PROGRESS\nTasks: 3/12 complete\n\n\
             Next task to execute:\n  Phase: Phase 2: Login\n  Task: Add the login form\n\n\
             Would use prompt: default (embedded)\n\
             Agent command: claude --print --system-prompt 'You'\\''re a loop'\n\
             Prompt size: about 1480 tokens, 790 of them from ralph itself\nGates: fmt, test\n\
             Verifier: none\nSandbox: full\n\n\
             === END DRY RUN ===\n"
        );
    }

    #[test]
    fn s2_24_a_finished_plan_and_an_own_prompt() {
        let text = DryRun {
            max_iterations: None,
            next: None,
            custom_prompt: true,
            gates: vec![],
            status: "DONE\u{1b}[2J\nTasks: 9/9 complete".into(),
            ..dry_run()
        }
        .text();
        assert!(text.contains("\nMax iterations: unlimited\n"), "{text}");
        assert!(
            text.contains(
                "\n\nNo pending tasks found.\n\nWould use prompt: custom (from config)\n"
            )
        );
        assert!(text.contains("\nGates: none\n"));
        assert!(text.contains("\nCurrent status: DONE Tasks: 9/9 complete\n"), "{text}");
    }
}
