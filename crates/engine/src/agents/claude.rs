//! Claude Code: how it is called. What its output means is in `driver` and `ends`.
//!
//! Facts about the real CLI that shape the command line, checked with 2.1.197 and 2.1.325:
//!
//! - `--allowed-tools` takes any number of values and would swallow a prompt after it, so the prompt
//!   comes first.
//! - An argument that begins with `-` is read as an option even as a prompt, but not as the value of
//!   `--system-prompt`. Such a prompt goes by stdin.
//! - Linux refuses an argument of 128 KiB. A longer prompt goes by stdin, a longer system prompt by
//!   `--system-prompt-file`.
//! - `@FILE` brings the text of the file into the conversation, unless it has more than 25,000
//!   tokens: then it is left out without a word. A longer task goes by stdin.
//! - A path with a space must be quoted: `@"FILE"`.
//! - With `--input-format stream-json` the CLI reads a prompt per line from stdin and ignores one among the arguments. A
//!   mention and a slash command mean there what they mean as an argument. The argument stays: it shows in the list of
//!   processes what a session works on.
//! - `--allowed-tools` limits nothing beside `--dangerously-skip-permissions`; `--tools` does.

mod driver;
mod ends;
mod json;
mod message;
mod stream_line;
#[cfg(test)]
mod tests;
mod user_line;

use std::path::Path;

use super::{
    Conventions, HookFile, Interactive, Login, Permissions, Profile, PromptBy, SessionSpec,
    ShellWord, Tiers, Tools, Written, set,
};
use crate::process::{CommandSpec, Stdin};
use crate::sandbox::AgentState;

/// The longest text that goes by argument, in bytes.
const MAX_ARGUMENT: usize = 100 << 10;

/// The longest task that goes as `@FILE`, in bytes: the CLI's limit of 25,000 tokens, at the fewest
/// bytes that a token of real text has.
const MAX_MENTION: usize = 32 << 10;

/// How often the CLI tries a failed request again by itself, at 0.5 s doubling: half a minute in
/// all. That carries a session, whose context would be lost, over a hiccup. Whatever lasts longer
/// (its own default waits three minutes, also for a wrong key) the loop should know of: it waits
/// without a process, shows why, and does not count it against the task.
const MAX_RETRIES: &str = "6";

/// What Claude Code is.
pub const PROFILE: Profile = Profile {
    name: "claude",
    program: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    oldest: Some("2.1.197"),
    login: Login {
        how: "run `claude` and log in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CODE_USE_FOUNDRY",
        ],
        account: Some((".claude.json", "\"oauthAccount\"")),
    },
    variables: &["ANTHROPIC_", "CLAUDE_"],
    shared_variables: &["DISABLE_", "API_TIMEOUT", "MAX_THINKING", "BASH_"],
    state: &[AgentState {
        folder: ".claude",
        variable: "CLAUDE_CONFIG_DIR",
        settings: &[
            "settings.json",
            "settings.local.json",
            "remote-settings.json",
            "CLAUDE.md",
            "commands",
            "agents",
            "skills",
            "plugins",
            "hooks",
            "output-styles",
            "rules",
        ],
        judging: &[],
        logins: &[".credentials.json"],
        beside: ".claude.json",
        names_parent: false,
        endpoint: (
            "ANTHROPIC_BASE_URL",
            &["api.anthropic.com", "console.anthropic.com", "platform.claude.com"],
        ),
    }],
    tools: Tools {
        usual: &["Bash", "Edit", "Write", "Read", "Glob", "Grep"],
        judging: &["Bash", "Read", "Glob", "Grep"],
    },
    tiers: Tiers { small: "haiku", medium: "sonnet", large: "opus" },
    steering: &[],
    conventions: Conventions {
        skills: ".claude/skills",
        calls_skills: true,
        hooks: Some(HookFile {
            path: ".claude/settings.json",
            events: &[("SessionEnd", "session-end"), ("PreCompact", "pre-compact")],
        }),
        rules: None,
    },
    command,
    interactive: Some(interactive),
    driver: |_| Box::new(driver::ClaudeDriver::default()),
};

fn command(spec: &SessionSpec) -> CommandSpec {
    let mut args: Vec<String> = Vec::new();
    let mut say = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    say(&["--print", "--verbose", "--output-format", "stream-json", "--no-session-persistence"]);
    if spec.verifies {
        // No CLAUDE.md, settings, hooks, commands, skills or servers of the tree that it judges.
        say(&["--setting-sources", "user", "--strict-mcp-config"]);
    }
    if let Some(model) = &spec.model {
        say(&["--model", model]);
    }
    if let PromptBy::System { system, .. } = &spec.prompt {
        let file = system.file.to_string_lossy();
        match &system.text {
            text if text.trim().is_empty() => {}
            text if fits_argument(text) => say(&["--system-prompt", text]),
            _ => say(&["--system-prompt-file", &file]),
        }
    }
    let (argument, text) = prompt(&spec.prompt);
    argument.iter().for_each(|argument| say(&[argument]));
    match &spec.permissions {
        Permissions::Boxed => say(&["--dangerously-skip-permissions"]),
        // Which tools may be used is not asked where permissions are skipped; which there are is.
        Permissions::SandboxedTools(tools) => {
            say(&["--dangerously-skip-permissions", "--tools", &tools.join(",")]);
        }
        Permissions::Tools(tools) if tools.is_empty() => {}
        Permissions::Tools(tools) => {
            say(&["--allowed-tools"]);
            tools.iter().for_each(|tool| say(&[tool]));
        }
    }
    let is_conversation = is_conversation(spec);
    if is_conversation {
        say(&["--input-format", "stream-json", "--replay-user-messages"]);
    }
    let stdin = match argument {
        argument if is_conversation => {
            Stdin::Conversation(user_line::first(&argument.unwrap_or(text)))
        }
        Some(_) => Stdin::default(),
        None => Stdin::Text(text.into_bytes()),
    };
    args.extend(spec.extra_args.iter().cloned());

    let mut env = spec.environment.clone();
    set(&mut env, "DISABLE_AUTOUPDATER", "1");
    // A background task keeps the process alive after its result, and starts another turn.
    set(&mut env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    if !env.iter().any(|(name, _)| name == "CLAUDE_CODE_MAX_RETRIES") {
        set(&mut env, "CLAUDE_CODE_MAX_RETRIES", MAX_RETRIES);
    }
    if !matches!(spec.permissions, Permissions::Tools(_)) {
        // Without it the CLI refuses to skip permissions as root.
        set(&mut env, "IS_SANDBOX", "1");
    }
    CommandSpec { stdin, ..CommandSpec::new(&spec.executable, args, &spec.folder, env) }
}

/// The prompt as an argument, where the CLI takes it so, else its text.
fn prompt(prompt: &PromptBy) -> (Option<String>, String) {
    match prompt {
        PromptBy::System { task, .. } => match mention(task) {
            Some(mention) => (Some(mention), String::new()),
            None => (None, task.text.clone()),
        },
        PromptBy::Argument(text)
            if fits_argument(text) && !text.is_empty() && !text.starts_with('-') =>
        {
            (Some(text.clone()), String::new())
        }
        PromptBy::Argument(text) | PromptBy::Stdin(text) => (None, text.clone()),
    }
}

/// Whether the user can talk to the session. Not to a verifier, and not where the prompt is to come by stdin as it is.
fn is_conversation(spec: &SessionSpec) -> bool {
    let has_other_input = spec.extra_args.iter().any(|arg| arg.starts_with("--input-format"));
    !spec.verifies && !has_other_input && !matches!(spec.prompt, PromptBy::Stdin(_))
}

/// The same rules beside the CLI's own, and the task as what the user says first. A user answers questions about
/// permissions, so none are set.
fn interactive(with: &Interactive) -> Vec<ShellWord> {
    let mut words = vec![ShellWord::plain(&with.program)];
    if let Some(model) = &with.model {
        words.extend([ShellWord::plain("--model"), ShellWord::plain(model)]);
    }
    if let Some(system) = &with.system {
        words.extend([ShellWord::plain("--append-system-prompt"), ShellWord::prompt(system)]);
    }
    words.extend(with.task.as_deref().map(ShellWord::prompt));
    words
}

/// No argument can hold a zero byte.
fn fits_argument(text: &str) -> bool {
    text.len() <= MAX_ARGUMENT && !text.contains('\0')
}

/// `@FILE`, where the CLI would take it.
fn mention(task: &Written) -> Option<String> {
    let path = Path::new(&task.file).to_str()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    // `#` begins a range of lines.
    let quotable = |c: char| !c.is_control() && c != '"' && c != '#';
    if task.text.len() > MAX_MENTION || !path.chars().all(quotable) {
        return None;
    }
    Some(if path.chars().all(plain) { format!("@{path}") } else { format!("@\"{path}\"") })
}
