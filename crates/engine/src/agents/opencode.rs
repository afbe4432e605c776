//! opencode: how it is called. What its output means is in `driver`.
//!
//! Facts about the real CLI that shape the command line, checked with 1.18.33:
//!
//! - It reads the prompt from stdin. There is no system prompt of the caller: rules come before the task.
//! - `--auto` allows whatever no permission denies. `OPENCODE_PERMISSION` is laid over the permissions of all settings;
//!   a tool that it denies is not there. Nothing limits what a shell command does.
//! - Without `--title` it asks a model for one.
//! - `OPENCODE_DISABLE_PROJECT_CONFIG` keeps settings, agents, commands and `AGENTS.md` at the top of a tree from it,
//!   but not plugins, which it runs (from `.opencode` and by `opencode.json`), and not the `AGENTS.md` next to a file that it reads. So the checkout of a verifier
//!   lacks these.

mod driver;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::{Conventions, Login, Permissions, Profile, PromptBy, SessionSpec, Tiers, Tools, set};
use crate::process::{CommandSpec, Stdin};
use crate::sandbox::AgentState;

/// What opencode is.
pub const PROFILE: Profile = Profile {
    name: "opencode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    oldest: Some("1.18.33"),
    login: Login {
        how: "run `opencode auth login` to log in, or set the API key of your provider",
        variables: &[
            "OPENCODE_API_KEY",
            "OPENROUTER_API_KEY",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
        ],
        account: None,
    },
    variables: &["OPENCODE_"],
    shared_variables: &[],
    state: &[
        AgentState {
            folder: ".config/opencode",
            variable: "XDG_CONFIG_HOME",
            names_parent: true,
            settings: &[
                "opencode.json",
                "opencode.jsonc",
                "config.json",
                "AGENTS.md",
                "agent",
                "agents",
                "command",
                "commands",
                "plugin",
                "plugins",
                "skill",
                "skills",
                "tool",
                "tools",
                "node_modules",
            ],
            // Its provider is the user's choice; the hosts of others have to be allowed by name.
            endpoint: (
                "",
                &[
                    "opencode.ai",
                    "models.dev",
                    "openrouter.ai",
                    "api.anthropic.com",
                    "api.openai.com",
                    "generativelanguage.googleapis.com",
                ],
            ),
            ..AgentState::NONE
        },
        AgentState {
            folder: ".local/share/opencode",
            variable: "XDG_DATA_HOME",
            names_parent: true,
            logins: &["auth.json"],
            ..AgentState::NONE
        },
    ],
    tools: Tools {
        usual: &["bash", "edit", "read", "glob", "grep", "list", "todowrite"],
        judging: &["bash", "read", "glob", "grep", "list"],
    },
    // Its models are those of the providers that the user has.
    tiers: Tiers { small: "", medium: "", large: "" },
    steering: &[
        ".opencode",
        "opencode.json",
        "opencode.jsonc",
        "AGENTS.md",
        "CLAUDE.md",
        "CONTEXT.md",
    ],
    conventions: Conventions {
        skills: ".agents/skills",
        calls_skills: false,
        hooks: None,
        rules: None,
    },
    command,
    interactive: Some(|with| with.asking(&["--prompt"])),
    driver: |_| Box::new(driver::OpencodeDriver::default()),
};

fn command(spec: &SessionSpec) -> CommandSpec {
    let mut args: Vec<String> =
        ["run", "--format", "json", "--thinking", "--title", "ralph"].map(str::to_owned).to_vec();
    if let Some(model) = &spec.model {
        args.extend(["--model".into(), model.clone()]);
    }
    args.push("--auto".into());
    let mut env = spec.environment.clone();
    for name in ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_TERMINAL_TITLE"] {
        set(&mut env, name, "1");
    }
    match &spec.permissions {
        Permissions::Boxed => {}
        Permissions::SandboxedTools(tools) => set(&mut env, PERMISSION, &only(tools, "allow")),
        Permissions::Tools(tools) if tools.is_empty() => {}
        Permissions::Tools(tools) => {
            let elsewhere = if spec.sandboxed { "allow" } else { "deny" };
            set(&mut env, PERMISSION, &only(tools, elsewhere));
        }
    }
    if spec.verifies {
        // Nothing of the tree that it judges.
        args.push("--pure".into());
        for name in [
            "OPENCODE_DISABLE_PROJECT_CONFIG",
            "OPENCODE_DISABLE_CLAUDE_CODE",
            "OPENCODE_DISABLE_EXTERNAL_SKILLS",
        ] {
            set(&mut env, name, "1");
        }
    }
    args.extend(spec.extra_args.iter().cloned());
    let stdin = match &spec.prompt {
        PromptBy::System { system, task } => PromptBy::joined(system, task),
        PromptBy::Argument(text) | PromptBy::Stdin(text) => text.clone(),
    };
    let command = CommandSpec::new(&spec.executable, args, &spec.folder, env);
    CommandSpec { stdin: Stdin::Text(stdin.into_bytes()), ..command }
}

const PERMISSION: &str = "OPENCODE_PERMISSION";

/// The permissions that allow these tools, and files outside of the worktree or not.
fn only(tools: &[String], elsewhere: &str) -> String {
    let mut all = Map::new();
    all.insert("*".into(), "deny".into());
    for tool in tools {
        all.insert(tool.clone(), "allow".into());
    }
    all.insert("external_directory".into(), elsewhere.into());
    Value::Object(all).to_string()
}
