//! Gemini CLI: how it is called. What its output means is in `driver`.
//!
//! Facts about the real CLI that shape the command line, checked with 0.61.0:
//!
//! - It reads the prompt from stdin. There is no system prompt of the caller: rules come before the task.
//! - Outside of its "yolo" mode a tool that would ask the user is not there, unless `--allowed-tools` names it. Tools
//!   that only read are always there.
//! - A folder that is not trusted gives it no settings, `.env`, hooks, skills, servers and memory. It refuses to work
//!   there, unless the user's own settings switch the question off, and it is never in "yolo" mode there; what it may
//!   do without asking says a policy file. So a verifier in a sandbox has settings and a policy of its own.
//! - It reads settings for all users only from files that belong to root, so ralph cannot use those.

mod driver;
#[cfg(test)]
mod tests;

use super::{
    Conventions, HookFile, Login, Permissions, Profile, PromptBy, SessionSpec, Tiers, Tools, set,
};
use crate::process::{CommandSpec, Stdin};
use crate::sandbox::AgentState;

/// The settings of a verifier: nothing of the tree that it judges, and only tools that look and run commands.
const JUDGING_SETTINGS: &str = r#"{
  "security": {"folderTrust": {"enabled": false}},
  "context": {"fileName": "no-memory-for-a-verifier"},
  "hooksConfig": {"enabled": false},
  "skills": {"enabled": false},
  "experimental": {"enableAgents": false},
  "advanced": {"ignoreLocalEnv": true},
  "admin": {"extensions": {"enabled": false}, "mcp": {"enabled": false}},
  "privacy": {"usageStatisticsEnabled": false},
  "tools": {"core": ["run_shell_command", "read_file", "read_many_files", "list_directory", "glob", "grep_search"]}
}"#;

/// What a verifier may do without asking.
const JUDGING_POLICY: &str = r#"[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 900
allowRedirection = true
"#;

/// What Gemini CLI is.
pub const PROFILE: Profile = Profile {
    name: "gemini",
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    oldest: Some("0.61.0"),
    login: Login {
        how: "run `gemini` and log in, or set GEMINI_API_KEY",
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
        account: None,
    },
    variables: &["GEMINI_"],
    shared_variables: &["GOOGLE_"],
    state: &[AgentState {
        folder: ".gemini",
        variable: "GEMINI_CLI_HOME",
        names_parent: true,
        settings: &[
            "settings.json",
            "GEMINI.md",
            "commands",
            "extensions",
            "skills",
            "agents",
            "policies",
            "installation_id",
            ".env",
        ],
        judging: &[("settings.json", JUDGING_SETTINGS), ("policies/ralph.toml", JUDGING_POLICY)],
        logins: &["oauth_creds.json", "google_accounts.json"],
        endpoint: (
            "GOOGLE_GEMINI_BASE_URL",
            &[
                "generativelanguage.googleapis.com",
                "aiplatform.googleapis.com",
                "cloudcode-pa.googleapis.com",
                "oauth2.googleapis.com",
                "accounts.google.com",
            ],
        ),
        ..AgentState::NONE
    }],
    tools: Tools {
        usual: &["run_shell_command", "write_file", "replace"],
        judging: &["run_shell_command"],
    },
    tiers: Tiers {
        small: "gemini-3.1-flash-lite",
        medium: "gemini-3.5-flash",
        large: "gemini-3.1-pro-preview",
    },
    steering: &[],
    conventions: Conventions {
        skills: ".agents/skills",
        calls_skills: false,
        // Its hook before a compression runs at every look whether one is needed.
        hooks: Some(HookFile {
            path: ".gemini/settings.json",
            events: &[("SessionEnd", "session-end")],
        }),
        rules: Some(("GEMINI.md", "@AGENTS.md")),
    },
    command,
    interactive: Some(|with| with.asking(&["--prompt-interactive"])),
    driver: |_| Box::new(driver::GeminiDriver::default()),
};

fn command(spec: &SessionSpec) -> CommandSpec {
    let mut args: Vec<String> = vec!["--output-format".into(), "stream-json".into()];
    if let Some(model) = &spec.model {
        args.extend(["--model".into(), model.clone()]);
    }
    let mut env = spec.environment.clone();
    match &spec.permissions {
        // Its own settings say what it may do.
        Permissions::SandboxedTools(_) => set(&mut env, "GEMINI_CLI_TRUST_WORKSPACE", "false"),
        Permissions::Boxed => {
            // With the flag alone the settings of the tree, and the hooks in them, come too late.
            set(&mut env, "GEMINI_CLI_TRUST_WORKSPACE", "true");
            args.extend(["--skip-trust".into(), "--yolo".into()]);
        }
        Permissions::Tools(tools) => {
            args.extend(["--skip-trust".into(), "--approval-mode".into(), "default".into()]);
            if !tools.is_empty() {
                args.extend(["--allowed-tools".into(), tools.join(",")]);
            }
        }
    }
    args.extend(spec.extra_args.iter().cloned());
    // The CLI would start itself a second time, to have more memory.
    set(&mut env, "GEMINI_CLI_NO_RELAUNCH", "true");
    let stdin = match &spec.prompt {
        PromptBy::System { system, task } => PromptBy::joined(system, task),
        PromptBy::Argument(text) | PromptBy::Stdin(text) => text.clone(),
    };
    let command = CommandSpec::new(&spec.executable, args, &spec.folder, env);
    CommandSpec { stdin: Stdin::Text(stdin.into_bytes()), ..command }
}
