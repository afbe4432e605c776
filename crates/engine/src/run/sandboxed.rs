//! What the sandboxes of a run show: describes each session and gate to the sandbox.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use ralph_core::run::Port;

use super::ports::{Failed, Ports};
use super::setup::AgentProgram;
use super::workspace::Workspace;
use crate::agents::{Permissions, PromptBy, SessionSpec, script};
use crate::ports::Bind;
use crate::process::{Ended, Listener};
use crate::sandbox::{Program, ProgramKind, SandboxedCommand};
use crate::socket::SessionSocket;

impl Ports {
    /// A program that works at a site. `head`: the commit that git shows to a judge, where that is not the
    /// user's.
    pub(super) fn sandboxed(
        &self,
        workspace: &Workspace,
        kind: ProgramKind,
        head: Option<&str>,
    ) -> Result<SandboxedCommand, Failed> {
        let mut sandboxed = SandboxedCommand::in_worktree(kind, &workspace.project.worktree);
        if self.setup.sandbox.mounts() {
            sandboxed.show(match kind {
                ProgramKind::Session => workspace.vcs.shown()?,
                _ => workspace.vcs.shown_to_judges(head)?,
            });
            sandboxed.binds.extend(self.hidden_plan(kind));
        }
        Ok(sandboxed)
    }

    /// A plan below `.ralph/`, of which sandboxes show nothing else.
    fn hidden_plan(&self, kind: ProgramKind) -> Option<Bind> {
        let plan = self.setup.work.plan.as_ref().filter(|plan| plan.lane().is_none())?;
        let is_there = plan.name().starts_with(".ralph/") && plan.path().is_file();
        let bind = if kind == ProgramKind::Session { Bind::writable } else { Bind::readable };
        is_there.then(|| bind(plan.path()))
    }

    /// Runs a program of a session or a judge to its end.
    pub(super) async fn run_program<'a>(
        &'a self,
        program: Program<'a>,
        listener: &'a mut dyn Listener,
        raw: Option<&'a mut (dyn Write + Send)>,
    ) -> Ended {
        let (ended, findings) = self.setup.ports.programs.run(program, listener, raw).await;
        for text in findings {
            self.notice(text);
        }
        ended
    }

    /// Where a session finds this program.
    pub(super) fn ralph_inside(&self) -> PathBuf {
        match self.setup.sandbox.mounts() {
            true => self.setup.sandbox.ralph(),
            false => self.setup.ports.ralph.clone(),
        }
    }

    /// What a session may do.
    pub(super) fn permissions(&self, agent: &AgentProgram) -> Permissions {
        let setup = &self.setup;
        Permissions::of_session(&setup.agent.tools, agent.agent.tools.usual, setup.sandbox.holds())
    }

    /// What the verifier may do: look, in a sandbox or not.
    pub(super) fn verifier_permissions(&self, tools: &[&str]) -> Permissions {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        match self.setup.sandbox.holds() {
            true => Permissions::SandboxedTools(tools),
            false => Permissions::Tools(tools),
        }
    }
}

/// The files of a session that its sandbox has to show.
pub(super) fn session_binds(
    spec: &SessionSpec,
    socket: &SessionSocket,
) -> Result<Vec<Bind>, Failed> {
    let mut binds = vec![Bind::readable(socket.folder())];
    if let PromptBy::System { system, task } = &spec.prompt {
        binds.extend([Bind::readable(&system.file), Bind::readable(&task.file)]);
    }
    if let Some(cassette) = &spec.cassette {
        let cursor = script::cursor_of(cassette);
        let made: io::Result<_> =
            OpenOptions::new().create(true).truncate(false).write(true).open(&cursor);
        made.map_err(|error| Failed::new(Port::Prompt, error, false))?;
        binds.extend([Bind::readable(cassette), Bind::writable(cursor)]);
    }
    Ok(binds)
}
