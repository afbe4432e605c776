//! Where the plan is: a markdown file or the store, and the preset for it.

use std::path::{Path, PathBuf};

use ralph_core::plan::markdown::{ItemState, PlanKind};
use ralph_core::run::{Notice, StopReason};
use ralph_core::task::Task;
use ralph_engine::plan_file::{PlanFile, PlanFileError, has_no_tasks, why_no_tasks};
use ralph_engine::ports::{Filter, Scope, Store};
use ralph_engine::project::Project;

use super::{Mode, RunOptions, Target, suggest};
use crate::config::{Config, PRESETS, Preset, key};
use crate::error::{CliError, Result};
use crate::exit_codes::Exit;

/// The default name of a progress file.
const PROGRESS: &str = "progress.md";
/// The default names of a checklist; `ralph plan` writes the first.
const CHECKLISTS: [&str; 2] = ["implementation_plan.md", "IMPLEMENTATION_PLAN.md"];
/// The default names of a plan of branches; `ralph loop plan` writes the first.
const BRANCHES: [&str; 2] = ["IMPLEMENTATION_PLAN.md", "implementation_plan.md"];

pub(super) struct Source {
    pub(super) preset: &'static Preset,
    pub(super) plan: Option<PlanFile>,
}

/// The plan of a run. `folder` is where the command was called.
pub(super) fn choose(
    options: &RunOptions,
    config: &Config,
    project: &Project,
    folder: &Path,
    store: &mut dyn Store,
) -> Result<Source> {
    match &options.mode {
        Mode::Build => {}
        Mode::Plan => {
            let plan = plan_to_write(options, project, folder)?;
            return Ok(Source { preset: named("checklist")?, plan: Some(plan) });
        }
        Mode::Prompt(_) | Mode::Feature(_) => {
            return Ok(Source { preset: named("checklist")?, plan: None });
        }
    }
    let asked = asked(options, config);
    let asked = (asked != "auto").then(|| named(asked)).transpose()?;
    if let Some(path) = &options.plan {
        let plan = given(project, folder, path)?;
        let preset = match asked {
            Some(preset) => preset,
            None => named(plan.kind().as_str())?,
        };
        return of_kind(preset, plan);
    }
    if let Some(preset) = asked {
        let (names, kind): (&[&str], _) = match preset.source {
            "branches" => return Ok(Source { preset, plan: Some(branches(project)?) }),
            "progress" => (&[PROGRESS], PlanKind::Progress),
            "checklist" => (&CHECKLISTS, PlanKind::Checklist),
            _ => return Ok(Source { preset, plan: None }),
        };
        // A missing file is a missing plan, which the loop reports.
        let missing = || PlanFile::new(&project.worktree, Path::new(names[0]), kind);
        return of_kind(preset, existing(project, names, None)?.unwrap_or_else(missing));
    }
    if options.target != Target::All || options.by_target {
        return Ok(Source { preset: named("dag")?, plan: None });
    }
    if let Some(plan) = found(project)? {
        return of_kind(named(plan.kind().as_str())?, plan);
    }
    refuse_tasks_of_a_lost_file(project, store)?;
    Ok(Source { preset: named("dag")?, plan: None })
}

/// The preset of the settings, or `auto`.
fn asked<'a>(options: &RunOptions, config: &'a Config) -> &'a str {
    match config.get(key::PRESET) {
        _ if options.branches && !config.by_flag(key::PRESET) => "branches",
        preset => preset,
    }
}

/// The plan of branches; a missing file is an empty plan.
fn branches(project: &Project) -> Result<PlanFile> {
    let found = existing(project, &BRANCHES, Some(PlanKind::Branches))?;
    let missing = || PlanFile::new(&project.worktree, Path::new(BRANCHES[0]), PlanKind::Branches);
    Ok(found.unwrap_or_else(missing))
}

/// The plan of a run that works on branches; `None` for any other run.
pub(super) fn of_branches(
    options: &RunOptions,
    config: &Config,
    project: &Project,
    folder: &Path,
) -> Result<Option<PlanFile>> {
    if options.mode != Mode::Build {
        return Ok(None);
    }
    let asked = asked(options, config);
    if let Some(path) = options.plan.as_ref().filter(|_| matches!(asked, "auto" | "branches")) {
        let plan = given(project, folder, path)?;
        return Ok((plan.kind() == PlanKind::Branches).then_some(plan));
    }
    match asked {
        "branches" => branches(project).map(Some),
        "auto" if options.plan.is_none() && options.target == Target::All && !options.by_target => {
            existing(project, &BRANCHES, Some(PlanKind::Branches))
        }
        _ => Ok(None),
    }
}

/// Refuses parallel sessions for presets that work in one place.
pub(super) fn check_jobs(options: &RunOptions, config: &Config, preset: &Preset) -> Result<()> {
    let many = config.by_flag(key::LOOP_JOBS) && config.get(key::LOOP_JOBS) > 1;
    let many = many && options.mode == Mode::Build;
    if many && !matches!(preset.name, "branches" | "dag") {
        return Err(usage!(
            "the preset {} works in one place, so its sessions cannot run in parallel",
            preset.name
        )
        .hint("omit -j, or group the tasks by branch: ralph loop plan"));
    }
    Ok(())
}

/// Refuses to work on tasks of a plan file that is gone, unless the user asks for it.
fn refuse_tasks_of_a_lost_file(project: &Project, store: &mut dyn Store) -> Result<()> {
    let known = PlanFile::all_known(&project.worktree);
    if known.is_empty() {
        return Ok(());
    }
    let open = store.list(&Filter::default())?;
    let of_file = |task: &Task| task.reference.as_ref().is_some_and(|name| known.contains(name));
    let lost = open.iter().find(|task| of_file(task));
    match lost {
        Some(task) if open.iter().all(of_file) => {
            let file = task.reference.as_deref().unwrap_or_default();
            let file = file.split('#').next().unwrap_or(file);
            let missing = missing_plan(None);
            let missing = match project.worktree.join(file).exists() {
                true => missing.hint(format!("continue with the plan: ralph build {file}")),
                false => missing.hint(format!("the plan was in {file}, which is gone")),
            };
            Err(missing.hint("to work on its tasks without it: ralph run"))
        }
        _ => Ok(()),
    }
}

/// Refuses a plan file that does not fit the preset.
fn of_kind(preset: &'static Preset, found: PlanFile) -> Result<Source> {
    let kind = found.kind().as_str();
    if preset.source == kind {
        return Ok(Source { preset, plan: Some(found) });
    }
    if preset.source == "store" {
        return Err(usage!("the preset {} works on the task database, not on a file", preset.name)
            .hint(format!("import the file first: ralph import {}", found.name()))
            .hint(format!(
                "or work on the file itself: ralph build {} --preset {kind}",
                found.name()
            )));
    }
    Err(run_failed!(
        "{} is a {kind} plan, and the preset {} needs a {} plan",
        found.name(),
        preset.name,
        preset.source
    )
    .hint("omit --preset: the file decides"))
}

/// The plan that was named on the command line.
fn given(project: &Project, folder: &Path, named: &Path) -> Result<PlanFile> {
    let path = folder.join(named);
    let inside = inside(project, &path)?;
    if path.is_dir() {
        return Err(plan_error(PlanFileError::NotAFile { path: named.to_owned() }));
    }
    match PlanFile::find(&project.worktree, &inside) {
        Ok(Some(plan)) => {
            suggest::refuse_list_of_another_tool(&plan)?;
            Ok(plan)
        }
        Ok(None) => Err(missing_plan(None)
            .hint(format!("there is no file {}", inside.display()))
            .hint(format!("let the agent write it: ralph plan {}", inside.display()))),
        Err(error) => Err(plan_error(error)),
    }
}

/// The path from the worktree. A plan outside of it could not be committed with the work.
fn inside(project: &Project, path: &Path) -> Result<PathBuf> {
    // If the plan itself is a link, it is not resolved; folders that do not exist are used as written.
    let real = |folder: &Path| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        std::fs::canonicalize(folder).ok()
    };
    let place = path.ancestors().skip(1).find_map(|folder| Some((real(folder)?, folder)));
    let whole = match place {
        Some((real, folder)) => real.join(path.strip_prefix(folder).unwrap_or(path)),
        None => path.to_owned(),
    };
    let root = std::fs::canonicalize(&project.worktree).unwrap_or(project.worktree.clone());
    whole.strip_prefix(&root).map(Path::to_owned).map_err(|_| {
        run_failed!("{} is outside the repository {}", path.display(), project.worktree.display())
            .hint("copy the plan into the repository, or run ralph there: ralph -C DIR build PLAN")
    })
}

/// The first of these files that exists and is of this kind, or of any.
fn existing(project: &Project, names: &[&str], kind: Option<PlanKind>) -> Result<Option<PlanFile>> {
    for name in names {
        let found = PlanFile::find(&project.worktree, Path::new(name)).map_err(plan_error)?;
        if found.as_ref().is_some_and(|plan| kind.is_none_or(|kind| plan.kind() == kind)) {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The existing plan file, of any kind.
fn found(project: &Project) -> Result<Option<PlanFile>> {
    let kinds = [(&BRANCHES[..], PlanKind::Branches), (&[PROGRESS], PlanKind::Progress)];
    for (names, kind) in kinds {
        let found = existing(project, names, Some(kind))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    existing(project, &CHECKLISTS, None)
}

/// The preset that `ralph build` would use here: the one in the settings, or the one for the plan that it finds.
pub(crate) fn preset_here(config: &Config, folder: &Path) -> &'static Preset {
    let name = match config.get(key::PRESET) {
        "auto" => match Project::find(folder).ok().and_then(|project| found(&project).ok()?) {
            Some(plan) => plan.kind().as_str(),
            None => "dag",
        },
        name => name,
    };
    Preset::named(name).unwrap_or(&PRESETS[0])
}

/// Whether there is a plan file that `ralph build` would take, and whether all of it is done.
pub(crate) fn plan_file_done(project: &Project) -> Option<bool> {
    let plan = found(project).ok().flatten()?;
    // The run reports a file that cannot be read.
    let read = plan.read().ok().flatten();
    let is_over = |found: &ItemState| matches!(found, ItemState::Done | ItemState::Dropped);
    Some(
        read.is_some_and(|read| {
            !read.doc.items.is_empty() && read.doc.standings().iter().all(is_over)
        }),
    )
}

/// The file that `ralph plan` writes: the named or existing one, or else a new checklist. `ralph loop plan` writes a
/// plan of branches.
fn plan_to_write(options: &RunOptions, project: &Project, folder: &Path) -> Result<PlanFile> {
    if let Some(path) = &options.plan {
        let inside = inside(project, &folder.join(path))?;
        let found = PlanFile::find(&project.worktree, &inside).map_err(plan_error)?;
        if let Some(plan) = &found {
            suggest::refuse_list_of_another_tool(plan)?;
        }
        let new = || PlanFile::new(&project.worktree, &inside, PlanKind::Checklist);
        return Ok(found.unwrap_or_else(new));
    }
    if options.branches {
        return branches(project);
    }
    let found = found(project)?;
    let new = || PlanFile::new(&project.worktree, Path::new(CHECKLISTS[0]), PlanKind::Checklist);
    Ok(found.unwrap_or_else(new))
}

/// Refuses a run without tasks: says what exists instead, and what to type.
pub(super) fn refuse_nothing(
    options: &RunOptions,
    (preset, plan): (&Preset, Option<&PlanFile>),
    scope: &Scope,
    project: &Project,
    store: &mut dyn Store,
) -> Result<Vec<Notice>> {
    if options.mode != Mode::Build {
        return Ok(vec![]);
    }
    if let Some(plan) = plan {
        return refuse_empty_file(plan, project);
    }
    if store.counts(scope)?.total() > 0 {
        return Ok(vec![]);
    }
    let no_plan = |text: String| CliError::new(Exit::NoPlan, text);
    let file = found(project).ok().flatten();
    match (&options.target, file) {
        (Target::Feature(name), _) => Err(no_plan(format!("feature {name} has no tasks yet"))
            .hint(format!("turn its plan into tasks: ralph feature build {name}"))),
        (_, Some(file)) => {
            let (name, kind) = (file.name(), file.kind().as_str());
            let text = format!(
                "the preset {} works on the task database, which has no tasks; the plan is in {name}",
                preset.name
            );
            match preset.name {
                // With nothing to pick, such a run succeeds.
                "pick" => Ok(vec![Notice::Other { text: format!("{text}: ralph import {name}") }]),
                _ => Err(no_plan(text)
                    .hint(format!("import its tasks: ralph import {name}"))
                    .hint(format!("or work on the file itself: ralph build --preset {kind}"))),
            }
        }
        (_, None) if preset.name == "pick" => Ok(vec![]),
        (_, None) => Err(none_found(project)),
    }
}

/// Refuses a file without tasks, with the reason; announces a text without checkboxes.
fn refuse_empty_file(plan: &PlanFile, project: &Project) -> Result<Vec<Notice>> {
    let read = plan.read().map_err(plan_error)?;
    let Some(read) = read else { return Err(none_found(project)) };
    let name = plan.name();
    if has_no_tasks(&read.text, &read.doc) {
        let why = why_no_tasks(name, &read.text, &read.doc);
        return Err(missing_plan(Some(why)).hint(match plan.kind() {
            PlanKind::Branches => "let the agent write it: ralph loop plan".to_owned(),
            PlanKind::Progress | PlanKind::Checklist => {
                format!("let the agent write it: ralph plan {name}")
            }
        }));
    }
    let text = match read.doc.items.is_empty() {
        true if plan.kind() == PlanKind::Checklist => format!(
            "{name} has no checkboxes, so the whole file is one task: every session gets all of it, and the agent \
             says when it is done; to turn it into tasks first: ralph plan {name}"
        ),
        _ => match suggest::numbered_list(name, &read.text) {
            Some(sentence) => sentence,
            None => return Ok(vec![]),
        },
    };
    Ok(vec![Notice::Other { text }])
}

/// The error for a missing plan. Suggests files that look like one.
fn none_found(project: &Project) -> CliError {
    let found = suggest::lists(project);
    let Some(first) = found.first() else {
        return missing_plan(None);
    };
    let then = match first.import {
        true => "no tasks in the task database".to_owned(),
        false => format!("ralph works on {} only if you name it", first.name),
    };
    let text = format!("there is no {} or {PROGRESS}, and {then}", CHECKLISTS[0]);
    found.iter().fold(CliError::new(Exit::NoPlan, text), |error, list| error.hint(list.sentence()))
}

/// A plan of branches without a branch to work on.
pub(super) fn no_plan(plan: &PlanFile, project: &Project) -> CliError {
    match plan.read() {
        Ok(Some(read)) => {
            let why = why_no_tasks(plan.name(), &read.text, &read.doc);
            missing_plan(Some(why)).hint("let the agent write one: ralph loop plan")
        }
        Ok(None) => none_found(project).hint("let the agent write one: ralph loop plan"),
        Err(error) => plan_error(error),
    }
}

pub(super) fn missing_plan(why: Option<String>) -> CliError {
    CliError::new(Exit::NoPlan, StopReason::NoPlan { why }.sentence())
}

pub(super) fn named(name: &str) -> Result<&'static Preset> {
    Preset::named(name).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        usage!("there is no preset {name}")
            .hint(format!("choose one of these: --preset {}", names.join(" or --preset ")))
    })
}

pub(super) fn plan_error(error: PlanFileError) -> CliError {
    let failed = CliError::run_failed(error.to_string());
    match error {
        PlanFileError::Broken { excerpt, .. } if !excerpt.is_empty() => {
            failed.excerpt(format!("  {excerpt}")).hint("fix that line; nothing was changed")
        }
        PlanFileError::NotAFile { .. } => failed.hint("name the plan file: ralph build PLAN.md"),
        PlanFileError::Linked { target, .. } => failed
            .with_exit(Exit::NoPlan)
            .hint(format!(
                "name the file itself, if it is in this repository: {}",
                target.display()
            ))
            .hint("or replace the link with a copy of the file"),
        _ => failed,
    }
}
