//! `--dry-run`: prints the plan, command, prompt and gates of a run. Starts and writes nothing.

use ralph_core::TaskId;
use ralph_core::attempt::AttemptContext;
use ralph_core::attempt::context::AssignedTask;
use ralph_core::attempt::prompt::{Prompt, pick_prompt, tokens};
use ralph_core::policy::strategy::{ModelFacts, ModelState, choose};
use ralph_core::run::exit::{self, View};
use ralph_core::run::{Earlier, Picker, RunState, StopReason, Survey};
use ralph_core::task::Task;
use ralph_engine::agents::{Permissions, PromptBy, SessionSpec, Written};
use ralph_engine::clock;
use ralph_engine::plan_file::{PlanFile, Preview, ReconcileError};
use ralph_engine::ports::Store;
use ralph_engine::prompts::{PromptError, PromptFor, Shape};
use ralph_engine::sandbox::Level;
use ralph_ui::dry_run::DryRun;

use super::source::{missing_plan, plan_error};
use super::{Plan, RunOptions, peek_text, sandbox};
use crate::config::key;
use crate::error::{CliError, Result};

pub(super) fn text(
    plan: &Plan,
    options: &RunOptions,
    store: &mut dyn Store,
) -> Result<(String, u8)> {
    let (page, (prompt, size, own), survey) = match &plan.plan {
        Some(file) => in_file(plan, file, store)?,
        None => in_store(plan, store)?,
    };
    let sandboxed = sandbox::foreseen(&plan.config) != Level::None;
    let spec = SessionSpec {
        executable: plan.agent.program.executable.clone(),
        extra_args: plan.agent.program.extra_args.clone(),
        folder: plan.folder(),
        environment: plan.agent.environment.clone(),
        prompt: in_files(plan, prompt),
        model: model(plan),
        permissions: Permissions::of_session(
            &plan.agent.tools,
            plan.agent.program.agent.tools.usual,
            sandboxed,
        ),
        sandboxed,
        cassette: plan.agent.program.cassette.clone(),
        session: None,
        verifies: false,
    };
    let command = plan.agent.program.command(&spec);
    let words = std::iter::once(&command.program).chain(&command.args);
    let stop = stop(plan, &survey);
    let strict = plan.config.get(key::LOOP_STRICT_EXIT);
    let code = stop.as_ref().map_or(0, |stop| stop.code(&survey.counts, strict));
    let page = DryRun {
        max_iterations: plan.policy.max_sessions,
        once: options.once,
        done: survey.counts.done,
        total: survey.counts.total(),
        stop: stop.map(|stop| stop.sentence()),
        custom_prompt: plan.agent.prompting.template.path().is_some(),
        command: words.map(|word| shortened(&word.to_string_lossy())).collect(),
        fallback: plan.policy.fallback.iter().map(|agent| agent.name.clone()).collect(),
        prompt_tokens: size as u64,
        own_tokens: own.min(size) as u64,
        gates: plan
            .gates
            .iter()
            .map(|gate| format!("{}: {}", gate.spec.name, gate.spec.command))
            .collect(),
        verifier: plan.policy.verify.as_ref().map(ToString::to_string),
        level: sandbox::foreseen(&plan.config).to_string(),
        ..page
    };
    Ok((page.text(), code))
}

/// What depends on the plan: a page with its source, its status and the next task, the prompt, and the first input of
/// the loop.
type PlanPreview = (DryRun, FirstPrompt, Survey);

/// The prompt of the first session, its size in tokens, and how many of them are ralph's own.
type FirstPrompt = (PromptBy, usize, usize);

fn no_prompt() -> FirstPrompt {
    (PromptBy::Argument(String::new()), 0, 0)
}

fn task_prompt(plan: &Plan, prompt: Prompt) -> Result<FirstPrompt> {
    let file = |name: &str| plan.project.ralph_dir().join("logs").join(name);
    let size = prompt.tokens();
    let shape = if plan.plan.is_some() { Shape::Progress } else { Shape::Task };
    let own = own_words(plan, shape, &prompt.whole())?;
    let (text, file_name) = (prompt.task_file().to_owned(), "session-…/iteration-001.task.md");
    let task = Written { text, file: file(file_name) };
    let system = Written { text: prompt.system, file: file("session-…/iteration-001.system.md") };
    Ok((PromptBy::System { system, task }, size, own))
}

fn in_store(plan: &Plan, store: &mut dyn Store) -> Result<PlanPreview> {
    let counts = store.counts(&plan.scope)?;
    let next = store.ready(&plan.scope, 1)?.into_iter().next();
    let prompt = match (plan.policy.picker, &next) {
        (Picker::Loop, Some(task)) => {
            let first = PromptFor { iteration: 1, ..PromptFor::default() };
            let prompt = plan.agent.prompting.prompt(store, &task.id, &first);
            task_prompt(plan, prompt.map_err(prompt_error)?)?
        }
        (Picker::Loop, None) => no_prompt(),
        (Picker::Agent, _) => {
            let peek = store.peek(&plan.scope, 10, clock::now())?;
            let offered = plan.agent.prompting.returned(store, &peek.claimable)?;
            let prompting = &plan.agent.prompting;
            let skill = prompting.skill_for(plan.agent.program.agent);
            let text = pick_prompt(skill, &peek_text(&peek), &offered, prompting.budget);
            let (size, own) = (tokens(&text), tokens(&pick_prompt(skill, "", &[], 0)));
            (PromptBy::Argument(text), size, own)
        }
    };
    let survey = Survey { counts, claimable: u32::from(next.is_some()), ..Survey::default() };
    let title = |task: Task| (task.parent.map(String::from), format!("{} {}", task.id, task.title));
    let page = DryRun {
        source: ".ralph/progress.db".to_owned(),
        status: counts.to_string(),
        next: next.map(title),
        ..DryRun::default()
    };
    Ok((page, prompt, survey))
}

fn in_file(plan: &Plan, file: &PlanFile, store: &mut dyn Store) -> Result<PlanPreview> {
    let by_iteration = plan.policy.by_iteration();
    let found = file.preview(store, by_iteration).map_err(|error| match error {
        ReconcileError::File(error) => plan_error(error),
        ReconcileError::Store(error) => CliError::from(error),
        ReconcileError::Id(error) => CliError::failed(error.to_string()),
    })?;
    // The file existed a moment ago.
    let Some(Preview { read, survey, next }) = found else {
        return Err(missing_plan(None));
    };
    let doc = &read.doc;
    let group = |index: usize| doc.group_of(index).map(|group| group.title.clone());
    let prompt = match (by_iteration, next) {
        (true, _) => {
            let text =
                plan.agent.prompting.whole(1, &Earlier::default(), &[]).map_err(prompt_error)?;
            let (size, own) = (tokens(&text), own_words(plan, Shape::Whole, &text)?);
            (PromptBy::Stdin(text), size, own)
        }
        (false, None) => no_prompt(),
        (false, Some(index)) => {
            let item = &doc.items[index];
            let id = file.id_of(index, &read).or_else(|| TaskId::new("t-new").ok());
            let task = id.map(|id| AssignedTask {
                id,
                title: item.title.clone(),
                description: item.body.clone(),
                steps: vec![],
                category: group(index),
                spec: item.spec.clone(),
                reference: None,
            });
            let context = AttemptContext {
                task,
                plan_file: Some(file.name().to_owned()),
                skills: plan.agent.prompting.skills(),
                learn: plan.agent.prompting.learn,
                ..AttemptContext::default()
            };
            let first = PromptFor { iteration: 1, plan: Some(&read.text), note: None };
            let prompt = plan.agent.prompting.task(&context, String::new(), &first);
            task_prompt(plan, prompt.map_err(|error| prompt_error(error.into()))?)?
        }
    };
    let is_text = doc.items.is_empty();
    let page = DryRun {
        source: file.name().to_owned(),
        status: match (doc.status_text(), next) {
            (Some(status), _) => status.lines().next().unwrap_or_default().to_owned(),
            (None, _) if is_text => "a text without checkboxes".to_owned(),
            (None, Some(_)) => "in progress".to_owned(),
            (None, None) => "nothing open".to_owned(),
        },
        next: match is_text {
            true => Some((None, format!("the whole text of {}", file.name()))),
            false => next.map(|index| (group(index), doc.items[index].title.clone())),
        },
        ..DryRun::default()
    };
    Ok((page, prompt, survey))
}

/// The prompt as an agent by config takes it, see `Ports::in_files` of the engine.
fn in_files(plan: &Plan, prompt: PromptBy) -> PromptBy {
    let Some(made) = &plan.agent.program.made else { return prompt };
    let text = match prompt {
        PromptBy::System { .. } if made.takes_system() => return prompt,
        PromptBy::System { system, task } => [system.text, task.text].join("\n\n"),
        PromptBy::Stdin(text) | PromptBy::Argument(text) => text,
    };
    let logs = plan.project.ralph_dir().join("logs/session-…");
    let system = Written { text: String::new(), file: logs.join("iteration-001.system.md") };
    PromptBy::System { system, task: Written { text, file: logs.join("iteration-001.prompt.md") } }
}

/// Why the run would end before its first session, by the loop's own rules.
fn stop(plan: &Plan, survey: &Survey) -> Option<StopReason> {
    let mut state = RunState::new(plan.policy.clone());
    state.counts = survey.counts;
    state.marker.clone_from(&survey.marker);
    exit::first(
        exit::BEFORE,
        View { state: &state, slot: 0, survey: Some(survey), now: clock::now() },
    )
}

/// The model of the first session; `None` if the agent chooses.
fn model(plan: &Plan) -> Option<String> {
    let policy = &plan.policy;
    let first = ModelFacts { iteration: 1, ..ModelFacts::default() };
    let chosen = choose(&policy.strategy, &ModelState::default(), &first);
    chosen.model.and_then(|model| policy.tiers.sent(&model))
}

fn own_words(plan: &Plan, shape: Shape, prompt: &str) -> Result<usize> {
    plan.agent.prompting.own_words(shape, prompt).map_err(prompt_error)
}

fn prompt_error(error: PromptError) -> CliError {
    match error {
        PromptError::Store(error) => CliError::from(error),
        PromptError::Template(error) => CliError::run_failed(error.to_string()),
    }
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
