//! Any agent of the [Agent Client Protocol](https://agentclientprotocol.com): JSON-RPC 2.0, a message per line, over
//! standard input and output. The user names the program; nothing here knows which one it is.
//!
//! | file | owns |
//! |---|---|
//! | `rpc` | messages of JSON-RPC, in and out |
//! | `driver` | the course of a session: initialize, open, choose model and mode, prompt, end |
//! | `opened` | what an agent offers when its session is open |
//! | `updates` | what the agent reports of its turn |
//! | `permission` | answers to the agent's requests for permission |
//! | `ends` | what the end of a turn, or an error, means |
//!
//! Facts about real agents that shape it, checked with claude-agent-acp 0.99.0, codex-acp 2.6.0, Gemini CLI 0.61.0 and
//! opencode 1.18.33:
//!
//! - Gemini CLI stays when its standard input ends; the supervisor ends it.
//! - Gemini CLI reports the end of a tool call whose beginning it did not report.
//! - Claude's first report of a tool call has an empty input; the input follows in updates.
//! - Claude's adapter takes a prompt while it works on another one: the first then ends early, without a use of tokens,
//!   and the second one's end is that of both. Its prices are of the whole session, its tokens of one prompt.
//! - An error of the model's API is `-32603` with `data.errorKind` (Claude), and `-32000` where the login is refused.
//! - Tokens that come from a cache are not among `inputTokens`.

mod driver;
mod ends;
mod opened;
mod permission;
mod rpc;
#[cfg(test)]
mod tests;
mod updates;

use super::{
    Conventions, Login, Profile, SessionSpec, Tiers, Tools, claude, codex, gemini, opencode, set,
};
use crate::process::{CommandSpec, Stdin};

/// What every agent of the protocol is.
pub const PROFILE: Profile = Profile {
    name: "acp",
    // The settings name it.
    program: "",
    install: "see docs/acp.md",
    oldest: None,
    login: Login {
        how: "log in with the agent itself, or set its API key",
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CODEX_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
        ],
        account: None,
    },
    variables: &[
        "ANTHROPIC_",
        "CLAUDE_",
        "CODEX_",
        "OPENAI_",
        "GEMINI_",
        "GOOGLE_GEMINI_",
        "GOOGLE_GENAI_",
        "OPENCODE_",
    ],
    shared_variables: &["DISABLE_", "API_TIMEOUT", "MAX_THINKING", "BASH_"],
    // It may be any of them.
    state: &[
        claude::PROFILE.state[0],
        codex::PROFILE.state[0],
        gemini::PROFILE.state[0],
        opencode::PROFILE.state[0],
        opencode::PROFILE.state[1],
    ],
    // The kinds of tool calls that the protocol has.
    tools: Tools {
        usual: &["read", "search", "think", "edit", "delete", "move", "execute"],
        judging: &["read", "search", "think"],
    },
    tiers: Tiers { small: "", medium: "", large: "" },
    conventions: Conventions::NONE,
    // The protocol has no word for what a verifier must not read.
    steering: &[
        ".agents",
        ".claude",
        ".codex",
        ".gemini",
        ".mcp.json",
        ".opencode",
        "AGENTS.md",
        "CLAUDE.md",
        "CONTEXT.md",
        "GEMINI.md",
        "opencode.json",
        "opencode.jsonc",
    ],
    command,
    interactive: None,
    driver: |spec| Box::new(driver::AcpDriver::new(spec)),
};

fn command(spec: &SessionSpec) -> CommandSpec {
    let mut env = spec.environment.clone();
    if permission::is_sandboxed(&spec.permissions) {
        // Without it Claude Code refuses as root the mode that asks for no permission.
        set(&mut env, "IS_SANDBOX", "1");
    }
    let stdin = Stdin::Conversation(driver::opening());
    let args = spec.extra_args.iter().cloned();
    CommandSpec { stdin, ..CommandSpec::new(&spec.executable, args, &spec.folder, env) }
}
