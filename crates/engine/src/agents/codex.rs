//! Codex: how it is called. What its output means is in `driver` and `ends`.
//!
//! Facts about the real CLI that shape the command line, checked with 0.166.0:
//!
//! - `-` reads the prompt from stdin. There is no system prompt of the caller: rules come before the task.
//! - It has no list of tools. Outside of ralph's sandbox, Codex's own one limits what commands write: to the
//!   worktree and temporary folders for a session, to nothing for a verifier. Within ralph's it cannot work, and is
//!   not needed.
//! - A project that is not trusted gets no settings, MCP servers or hooks from its `.codex`. Its `AGENTS.md`, skills
//!   and rules come anyway, unless they are switched off one by one.
//! - `codex exec` takes the key in `CODEX_API_KEY`. It does not read `OPENAI_API_KEY` or `OPENAI_BASE_URL`, except
//!   where a provider in the user's settings names them.

mod driver;
mod ends;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::{
    Conventions, HookFile, Login, Permissions, Profile, PromptBy, SessionSpec, Tiers, Tools,
};
use crate::process::{CommandSpec, Stdin};
use crate::sandbox::AgentState;

pub(in crate::agents) use ends::class as error_class;

/// What Codex is.
pub const PROFILE: Profile = Profile {
    name: "codex",
    program: "codex",
    install: "npm install -g @openai/codex",
    oldest: Some("0.166.0"),
    login: Login {
        how: "run `codex login` to log in, or set CODEX_API_KEY",
        variables: &["CODEX_API_KEY", "CODEX_ACCESS_TOKEN"],
        account: None,
    },
    variables: &["CODEX_", "OPENAI_"],
    shared_variables: &[],
    state: &[AgentState {
        folder: ".codex",
        variable: "CODEX_HOME",
        settings: &[
            "config.toml",
            "AGENTS.md",
            "AGENTS.override.md",
            "hooks.json",
            "rules",
            "skills",
            "prompts",
            "agents",
            "plugins",
        ],
        logins: &["auth.json"],
        // Providers in the user's settings have their own; those hosts have to be allowed by name.
        endpoint: ("", &["chatgpt.com", "auth.openai.com", "api.openai.com"]),
        ..AgentState::NONE
    }],
    tools: Tools { usual: &[], judging: &[] },
    tiers: Tiers { small: "gpt-6-luna", medium: "gpt-6.1-sol", large: "gpt-6-astra" },
    steering: &[],
    conventions: Conventions {
        skills: ".agents/skills",
        calls_skills: false,
        hooks: Some(HookFile {
            path: ".codex/hooks.json",
            events: &[("SessionEnd", "session-end"), ("PreCompact", "pre-compact")],
        }),
        rules: None,
    },
    command,
    interactive: Some(|with| with.asking(&[])),
    driver: |_| Box::new(driver::CodexDriver::default()),
};

fn command(spec: &SessionSpec) -> CommandSpec {
    let mut args: Vec<String> = Vec::new();
    let mut say = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    say(&["exec", "--json", "--skip-git-repo-check", "--ephemeral"]);
    say(&["-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false"]);
    if spec.verifies {
        // Nothing of the tree that it judges: neither AGENTS.md, skills, rules and hooks, nor settings and servers.
        say(&["-c", "project_doc_max_bytes=0", "-c", "skills.include_instructions=false"]);
        say(&["--ignore-rules", "--disable", "hooks", "-c", &untrusted(&spec.folder)]);
    }
    if let Some(model) = &spec.model {
        say(&["--model", model]);
    }
    if spec.sandboxed && !spec.verifies {
        // Hooks of the tree run as its gates do: in ralph's sandbox.
        say(&["--dangerously-bypass-hook-trust"]);
    }
    match &spec.permissions {
        _ if spec.sandboxed => say(&["--dangerously-bypass-approvals-and-sandbox"]),
        Permissions::Boxed => say(&["--dangerously-bypass-approvals-and-sandbox"]),
        Permissions::SandboxedTools(_) | Permissions::Tools(_) if spec.verifies => {
            say(&["--sandbox", "read-only"]);
        }
        Permissions::SandboxedTools(_) | Permissions::Tools(_) => {
            say(&["--sandbox", "workspace-write"]);
        }
    }
    say(&["-"]);
    args.extend(spec.extra_args.iter().cloned());
    let stdin = match &spec.prompt {
        PromptBy::System { system, task } => PromptBy::joined(system, task),
        PromptBy::Argument(text) | PromptBy::Stdin(text) => text.clone(),
    };
    let command = CommandSpec::new(&spec.executable, args, &spec.folder, spec.environment.clone());
    CommandSpec { stdin: Stdin::Text(stdin.into_bytes()), ..command }
}

/// The setting that makes a folder one that the user does not trust. It replaces whatever the user's settings say
/// about it.
fn untrusted(folder: &Path) -> String {
    let folder = folder.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("projects={{\"{folder}\"={{trust_level=\"untrusted\"}}}}")
}
