//! `ralph doctor`: checks everything that the loop needs.

mod agent;
mod check;
mod forge;
mod gates;
mod git;
mod leftovers;
mod permissions;
mod sandbox;
mod state;
mod worktrees;

use clap::Args;
use ralph_engine::project::Project;
use ralph_ui::style::TextStyle;

use self::check::{Check, State};
use super::init::{Did, Mode, Proposal, agents_in_use, check_ours, install};
use crate::config::Config;
use crate::error::{CliError, Done};
use crate::launch::named_agents;
use crate::wiring::Context;

/// Check your setup and show how to fix problems
///
/// Checks git, signing keys, the repository, the settings, the disk, the task database, the permissions of
/// ralph's files, leftovers of killed runs and worktrees, the files of `ralph init`, the access to the server for
/// pull requests, the agent with its version, login and permissions, and the sandbox. Then runs the gates exactly
/// as the loop does: in the same sandbox, with the same environment, each with its timeout. Uses the network only
/// with --online. Exits with 1 if a check fails.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph doctor --fix")]
pub(crate) struct DoctorArgs {
    /// First fix what is safe to fix: write missing files of `ralph init`, make ralph's files private, remove
    /// half-made worktrees and half-written state, install what the sandbox needs (as root) and set a better
    /// sandbox level in your own config
    #[arg(long)]
    fix: bool,
    /// Also check the access to the server for pull requests
    #[arg(long)]
    online: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_doctor(args: &DoctorArgs, context: &mut Context<'_>) -> Done {
    let project = context.project();
    if let (true, Ok(project)) = (args.fix, &project) {
        fix(project, context);
    }
    let mut report = Report { checks: vec![], json: args.json, context };
    report.add(git::present())?;
    report.add(git::identity(&report.context.folder()))?;
    let (check, config) = state::settings(report.context);
    report.add(check)?;
    let Ok(project) = &project else {
        if let Err(error) = &project {
            report.add(Check::error("repository", error))?;
        }
        report.agents(&config)?;
        return report.end();
    };
    let sandboxed = sandbox::inspect(project, &config, report.context);
    report.add(git::repository(project))?;
    report.add_all(git::signed(&project.worktree, &config, report.context.environment))?;
    report.add(state::disk(project))?;
    report.add(state::store(project, &config))?;
    report.add(permissions::inspect(project, &config))?;
    report.add_all(leftovers::inspect(project, &config))?;
    let folder = report.context.worktree_folder(project)?;
    report.add_all(worktrees::inspect(project, &folder))?;
    report.add(state::installed(project, &config))?;
    report.add(forge::inspect(project, &config, report.context, args.online))?;
    report.agents(&config)?;
    report.add(sandboxed)?;
    let (check, trusted) = state::trusted(project, &config, report.context);
    report.add(check)?;
    if !trusted {
        return report.end();
    }
    let all = match gates::all(project, &config, report.context) {
        Ok(all) => all,
        Err(check) => {
            report.add(check)?;
            return report.end();
        }
    };
    match gates::Stand::prepare(project, &config, report.context) {
        Ok(stand) => {
            for gate in &all {
                let check = stand.run(gate).ok_or_else(interrupted)?;
                report.add(check)?;
            }
        }
        Err(check) => report.add(check)?,
    }
    report.end()
}

/// The checks that start no program of the repository and name no user, as lines: for a bug report.
pub(super) fn facts(context: &mut Context<'_>) -> String {
    let (settings, config) = state::settings(context);
    let mut checks = vec![git::present(), settings];
    let folder = context.folder();
    for name in named_agents(&config) {
        let inspected = agent::inspect(name, &config, context.environment, &folder);
        checks.extend(inspected.into_iter().flatten());
    }
    if let Ok(project) = context.project() {
        let sandbox = sandbox::inspect(&project, &config, context);
        checks.extend([state::disk(&project), state::store(&project, &config), sandbox]);
    }
    checks.iter().map(|check| check.lines(TextStyle::PLAIN)).collect()
}

fn interrupted() -> CliError {
    CliError::failed("interrupted")
}

/// Writes missing files. The checks report those that cannot be written.
fn fix(project: &Project, context: &mut Context<'_>) {
    if check_ours(project).is_err() {
        return;
    }
    let Ok(config) = context.config() else { return };
    let proposal = Proposal::of(project);
    let command = proposal.test_command().map(|(command, _)| command).unwrap_or_default();
    let settings = proposal.settings(None, false);
    for step in install(project, Mode::Add, &agents_in_use(&config), &settings, &command) {
        if matches!(step.did, Did::Made | Did::Updated) {
            context.out.note(format!("{} {}", step.did.word(), step.path));
        }
    }
    let mut done = leftovers::fix(project);
    if let Ok(folder) = context.worktree_folder(project) {
        done.extend(worktrees::fix(project, &folder));
    }
    done.extend(permissions::fix(project, &config));
    done.extend(sandbox::fix(project, &config, context));
    for done in done {
        context.out.note(done);
    }
}

/// The checks so far. In text output, each line is printed as soon as it is known.
struct Report<'a, 'c> {
    checks: Vec<Check>,
    json: bool,
    context: &'a mut Context<'c>,
}

impl Report<'_, '_> {
    fn add(&mut self, check: Check) -> Done {
        if !self.json {
            self.context.out.data(check.lines(self.context.out.style))?;
            self.context.out.finish()?;
        }
        self.checks.push(check);
        Ok(())
    }

    fn add_all(&mut self, checks: impl IntoIterator<Item = Check>) -> Done {
        checks.into_iter().try_for_each(|check| self.add(check))
    }

    fn agents(&mut self, config: &Config) -> Done {
        let folder = self.context.folder();
        for name in named_agents(config) {
            let looked = agent::inspect(name, config, self.context.environment, &folder);
            self.add_all(looked.ok_or_else(interrupted)?)?;
        }
        self.add(agent::permissions(config))?;
        self.add_all(state::channels(config, self.context))
    }

    fn end(self) -> Done {
        let count = |state| self.checks.iter().filter(|check| check.state == state).count();
        let (failed, warned) = (count(State::Fail), count(State::Warn));
        if self.json {
            self.context.out.json(&serde_json::json!({
                "ok": failed == 0, "failed": failed, "warnings": warned, "checks": self.checks,
            }))?;
        }
        match failed {
            0 => Ok(()),
            1 => Err(CliError::failed("1 check failed")),
            more => Err(failed!("{more} checks failed")),
        }
    }
}
