//! Trust as commands see it: which version of a deciding file counts, and whether the repository may decide at all.
//!
//! Everything that reads `ralph.toml`, a template, the test command or `.worktreeinclude` asks here first. A session's
//! change that the user has not approved is replaced with the user's last version, and ralph reports it once.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::trust::{AGENTS, Approval, FOUND, Ledger, TrustState, Version, trust_state};
use ralph_engine::project::Project;
use ralph_engine::trust::{Deciding, FoundCommand, Trust, clone_source, name_of, version};

use super::{Context, text_of};
use crate::config::{Config, key};
use crate::detection::{DetectedCommand, found_commands};
use crate::error::{CliError, Result, quoted};

#[derive(Default)]
pub(crate) struct TrustCell {
    ledger: OnceCell<(Trust, Ledger)>,
    /// Replacements that have not been reported yet, a sentence each.
    unreported: RefCell<Vec<String>>,
    /// Every replaced file.
    replaced: RefCell<Vec<String>>,
    /// The command shows all replacements itself.
    pub(crate) silent: bool,
    pub(crate) given: bool,
}

/// Detects the test command of a project for the engine.
pub(crate) fn found_command() -> FoundCommand {
    Arc::new(|worktree: &Path| Some(found_commands(worktree).into_iter().next()?.command))
}

impl Context<'_> {
    /// The ledger of the repository, read once.
    pub(crate) fn ledger(&self) -> Result<&(Trust, Ledger)> {
        if let Some(known) = self.trust.ledger.get() {
            return Ok(known);
        }
        let trust = Trust::of(self.environment.state_home.as_deref(), &self.project()?);
        let ledger = match trust.settled(&found_command()) {
            Ok(ledger) => ledger,
            // Sessions and gates cannot see the ledger, and nothing that they start makes trust decisions.
            Err(_) if self.is_inside() => Ledger::default(),
            Err(error) => return Err(unreadable(&trust, &error)),
        };
        Ok(self.trust.ledger.get_or_init(|| (trust, ledger)))
    }

    /// Forgets what was read, after a change.
    pub(crate) fn reread_trust(&mut self) {
        self.trust.ledger.take();
    }

    /// Whether the call comes from inside a session or a gate.
    pub(crate) fn is_inside(&self) -> bool {
        let inside = ["RALPH_SOCKET", "RALPH_MARK", "RALPH_GATE"];
        inside.iter().any(|name| self.environment.get(name).is_some())
    }

    /// The version that counts instead of the current text of a deciding file; `None` if the current text counts.
    pub(crate) fn instead_of(&self, worktree: &Path, name: &str) -> Result<Option<Version>> {
        let (_, ledger) = self.ledger()?;
        // Usually no session ever wrote the file, and then it is not read twice.
        if ledger.files.get(name).is_none_or(|known| known.written.is_empty()) {
            return Ok(None);
        }
        let now = match name {
            FOUND => Version::of(found_command()(worktree)),
            name => version(worktree, name),
        };
        let instead = ledger.instead_of(name, &now);
        if let Some(version) = &instead {
            self.report(name, version);
        }
        Ok(instead)
    }

    fn report(&self, name: &str, instead: &Version) {
        let known = self.trust.replaced.borrow().iter().any(|known| known == name);
        if known || self.trust.silent {
            return;
        }
        self.trust.replaced.borrow_mut().push(name.to_owned());
        let (what, used) = match (name, instead.text()) {
            (AGENTS, Some(command)) if !command.is_empty() => {
                ("the test command in AGENTS.md", format!("yours: {command}"))
            }
            (AGENTS, _) => ("the test command in AGENTS.md", "none, as before".to_owned()),
            (FOUND, Some(command)) => (FOUND, format!("the previous one: {command}")),
            (name, Some(_)) => (name, "your last version".to_owned()),
            (name, None) => (name, "no such file, as before".to_owned()),
        };
        let what = if name == FOUND { "the detected test command" } else { what };
        let text = format!(
            "A session changed {what}, and you have not approved it, so ralph uses {used}. Review and approve \
             the change: ralph trust"
        );
        self.trust.unreported.borrow_mut().push(text);
    }

    pub(crate) fn take_replaced(&self) -> Vec<String> {
        std::mem::take(&mut *self.trust.unreported.borrow_mut())
    }

    /// The command in `AGENTS.md`, else the detected one; `None` if there is neither. An empty command means that there
    /// are no tests.
    pub(crate) fn test_command(&self, project: &Project) -> Result<Option<DetectedCommand>> {
        let agents = match self.instead_of(&project.worktree, AGENTS)? {
            Some(instead) => instead.text().map(str::to_owned),
            None => {
                let text = text_of(project, AGENTS)?;
                ralph_core::agents_md::test_command(&text)
            }
        };
        if let Some(command) = agents {
            return Ok(Some(DetectedCommand { command, from: AGENTS.to_owned() }));
        }
        if let Some(instead) = self.instead_of(&project.worktree, FOUND)? {
            let from = "your project before".to_owned();
            return Ok(instead
                .text()
                .map(|text| DetectedCommand { command: text.to_owned(), from }));
        }
        Ok(found_commands(&project.worktree).into_iter().next())
    }

    /// Whether the files of the repository may decide. `decides` whether there are any.
    pub(crate) fn trust_state(&self, decides: bool) -> Result<TrustState> {
        let project = self.project()?;
        let (_, ledger) = self.ledger()?;
        Ok(trust_state(ledger.approval, clone_source(&project).is_some(), decides))
    }

    pub(crate) fn approve(&mut self) -> Result<()> {
        let (trust, _) = self.ledger()?;
        trust.set_approval(Approval::Approved).map_err(|error| unwritable(trust, &error))?;
        self.reread_trust();
        Ok(())
    }

    /// The deciding files as a run with this prompt finds them. `holds` whether a sandbox keeps sessions in their worktree.
    pub(crate) fn deciding(
        &self,
        prompt: Option<&Path>,
        home: &Project,
        config: &Config,
        holds: bool,
    ) -> Result<Deciding> {
        let (trust, _) = self.ledger()?;
        let prompts = [key::PROMPTS_BUILD, key::PROMPTS_PLAN];
        let prompts = prompts.map(|key| home.worktree.join(config.get(key)));
        let others = self.global.config.as_deref().into_iter().chain(prompt);
        let others = others.filter_map(|path| std::path::absolute(path).ok());
        let paths: Vec<PathBuf> = prompts.into_iter().chain(others).collect();
        let deciding = Deciding {
            trust: trust.clone(),
            home: home.worktree.clone(),
            named: paths.iter().filter_map(|path| name_of(&home.worktree, path)).collect(),
            found: found_command(),
            open: !holds,
        };
        deciding.run_begins().map_err(|error| unwritable(trust, &error))?;
        Ok(deciding)
    }
}

pub(crate) fn unwritable(trust: &Trust, error: &std::io::Error) -> CliError {
    let path = trust.path().unwrap_or_default();
    CliError::file(&path, "written", error).hint("ralph stores your approvals there")
}

fn unreadable(trust: &Trust, error: &std::io::Error) -> CliError {
    let path = trust.path().unwrap_or_default();
    CliError::file(&path, "read", error)
        .hint("ralph stores your approvals and the changes of sessions there")
        .hint(format!(
            "review the files that decide what runs, then start over: rm {}",
            quoted(&path)
        ))
}
