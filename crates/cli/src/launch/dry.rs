//! What a run would do: its plan, its command, its prompt, its gates. Nothing is started or written.

use ralph_core::attempt::prompt::{pick_prompt, tokens};
use ralph_core::run::Picker;
use ralph_engine::agents::{Permissions, PromptBy, SessionSpec, Written};
use ralph_engine::clock;
use ralph_engine::ports::Store;
use ralph_engine::run::PromptError;
use ralph_ui::dry_run::DryRun;

use super::{Plan, Wishes, agent, peek_text};
use crate::error::CliError;
use crate::wire::Context;

pub(super) fn text(
    plan: &Plan,
    wishes: &Wishes,
    context: &Context<'_>,
    store: &mut dyn Store,
) -> Result<String, CliError> {
    let counts = store.counts(&plan.scope)?;
    let next = store.ready(&plan.scope, 1)?.into_iter().next();
    let file = |name: &str| plan.project.ralph_dir().join("logs").join(name);
    let (prompt, size) = match (plan.policy.picker, &next) {
        (Picker::Loop, Some(task)) => {
            let prompt =
                plan.prompting.prompt(store, &task.id, 1).map_err(|error| match error {
                    PromptError::Store(error) => CliError::from(error),
                    PromptError::Template(error) => {
                        CliError::failed(format!("Build failed: {error}"))
                    }
                })?;
            let size = prompt.tokens();
            let task = Written {
                text: prompt.task_file().to_owned(),
                file: file("session-…/iteration-001.task.md"),
            };
            let system =
                Written { text: prompt.system, file: file("session-…/iteration-001.system.md") };
            (PromptBy::System { system, task }, size)
        }
        (Picker::Loop, None) => (PromptBy::Argument(String::new()), 0),
        (Picker::Agent, _) => {
            let peek = store.peek(&plan.scope, 10, clock::now())?;
            let prompt = pick_prompt(&peek_text(&peek));
            let size = tokens(&prompt);
            (PromptBy::Argument(prompt), size)
        }
    };
    let spec = SessionSpec {
        executable: plan.agent.executable.clone(),
        extra_args: plan.agent.extra_args.clone(),
        folder: plan.project.worktree.clone(),
        environment: agent::environment(context.environment, &plan.config),
        prompt,
        model: None,
        permissions: Permissions::Tools(match &wishes.tools {
            Some(tools) => tools.clone(),
            None => {
                plan.config.list("agent.allowed_tools").into_iter().map(str::to_owned).collect()
            }
        }),
        cassette: plan.agent.cassette.clone(),
        session: None,
    };
    let command = plan.agent.profile.command(&spec);
    let words = std::iter::once(&command.program).chain(&command.args);
    let page = DryRun {
        source: ".ralph/progress.db".to_owned(),
        max_iterations: plan.policy.max_sessions,
        once: wishes.once,
        status: counts.to_string(),
        done: counts.done,
        total: counts.total(),
        next: next
            .map(|task| (task.parent.map(String::from), format!("{} {}", task.id, task.title))),
        custom_prompt: plan.prompting.template.path().is_some(),
        command: words.map(|word| shortened(&word.to_string_lossy())).collect(),
        prompt_tokens: size as u64,
        gates: plan.gates.iter().map(|gate| format!("{}: {}", gate.name, gate.command)).collect(),
        level: "none".to_owned(),
    };
    Ok(page.text())
}

/// A word that fits on a line.
fn shortened(word: &str) -> String {
    let line = word.lines().next().unwrap_or_default();
    if line.chars().count() <= 60 && line.len() == word.len() {
        return line.to_owned();
    }
    let start: String = line.chars().take(40).collect();
    format!("{start}… ({} bytes)", word.len())
}
