//! The built-in agent: ralph itself, playing a cassette. It makes demos and tests of the whole loop
//! possible without a key or a network. `docs/cassette.md` explains how to write a cassette.
//!
//! | module | owns |
//! |---|---|
//! | [`cassette`] | the format, and errors in a file |
//! | [`player`] | plays the steps of one session, in its own process |
//! | `cursor` | which session comes next |
//! | `protocol` | what the player prints and the profile here reads |

pub mod cassette;
mod cursor;
pub mod player;
mod protocol;
#[cfg(test)]
mod tests;

use ralph_core::Timestamp;
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};

use self::protocol::ScriptEvent;
use super::text::one_line;
use super::unfinished::unfinished;
use super::{Conventions, Driver, Login, Profile, PromptBy, SessionSpec, Tiers, Tools};
use crate::process::{CommandSpec, LineEffect};

pub use cursor::path_of as cursor_of;

/// The hidden command of ralph that plays.
pub const COMMAND: &str = "__script-agent";

/// What the built-in agent is.
pub const PROFILE: Profile = Profile {
    name: "script",
    program: "ralph",
    install: "",
    oldest: None,
    login: Login { how: "", variables: &[], account: None },
    variables: &[],
    shared_variables: &[],
    state: &[],
    tools: Tools { usual: &[], judging: &[] },
    // Recordings know no model; the names are those that the journals of demos and tests have.
    tiers: Tiers { small: "haiku", medium: "sonnet", large: "opus" },
    steering: &[],
    // Recordings are of Claude Code.
    conventions: Conventions { calls_skills: true, ..Conventions::NONE },
    command,
    interactive: None,
    driver: |_| Box::new(ScriptDriver::default()),
};

fn command(spec: &SessionSpec) -> CommandSpec {
    let mut args = vec![COMMAND.into()];
    if let Some(cassette) = &spec.cassette {
        args.extend(["--cassette".into(), cassette.clone().into_os_string()]);
    }
    if let Some(session) = spec.session {
        args.extend(["--session".into(), session.to_string().into()]);
    }
    args.extend(spec.extra_args.iter().map(Into::into));
    let prompt = match &spec.prompt {
        PromptBy::System { system, task } => PromptBy::joined(system, task),
        PromptBy::Stdin(text) | PromptBy::Argument(text) => text.clone(),
    };
    let env = spec.environment.clone();
    let command = CommandSpec::new(&spec.executable, args, &spec.folder, env);
    CommandSpec { stdin: prompt.into_bytes().into(), ..command }
}

#[derive(Debug, Default)]
struct ScriptDriver {
    text: String,
    usage: Usage,
    usage_reported: bool,
    limit: Option<Timestamp>,
    refused: Option<String>,
    unreadable: u64,
}

impl Driver for ScriptDriver {
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        _replies: &mut Vec<u8>,
    ) -> LineEffect {
        let output = match serde_json::from_slice::<ScriptEvent>(line) {
            Ok(output) if !cut => output,
            _ => {
                self.unreadable += u64::from(!line.is_empty());
                return LineEffect::Going;
            }
        };
        match output {
            ScriptEvent::Started { version } => {
                events.push(AgentEvent::Started { model: None, version: Some(version) });
            }
            ScriptEvent::Say { text } => {
                self.text.clone_from(&text);
                events.push(AgentEvent::Text { text });
            }
            ScriptEvent::Think { text } => events.push(AgentEvent::Thinking { text }),
            ScriptEvent::ToolStarted { id, name, input } => {
                events.push(AgentEvent::ToolStarted { id, name, input });
            }
            ScriptEvent::ToolEnded { id, is_error, text } => {
                events.push(AgentEvent::ToolEnded { id, is_error, text });
            }
            ScriptEvent::Usage { usage } => self.usage = self.usage.plus(usage),
            ScriptEvent::Limit { resets_at_ms } => {
                self.limit = Some(Timestamp::from_millis(resets_at_ms));
            }
            ScriptEvent::Refused { why } => self.refused = Some(why),
            ScriptEvent::Result { duration_ms } => {
                self.usage_reported = true;
                let duration_ms = Some(duration_ms);
                events.push(AgentEvent::Result { duration_ms, usage: self.usage });
                return LineEffect::Result;
            }
        }
        LineEffect::Going
    }

    fn end(self: Box<Self>, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd {
        let ended = |class, detail: &str| SessionEnd {
            usage: self.usage,
            ..SessionEnd::of(class, one_line(detail, 600))
        };
        if matches!(end, ProcessEnd::NotStarted { .. } | ProcessEnd::Stopped) {
            let (class, detail) = unfinished(end, stderr_tail);
            return ended(class, &detail);
        }
        if let Some(why) = &self.refused {
            return ended(EndClass::NotStarted, why);
        }
        if self.limit.is_some() {
            let limit = ended(EndClass::UsageWindow, "the cassette reports a usage limit");
            return SessionEnd { resets_at: self.limit, ..limit };
        }
        match (self.usage_reported, self.text.trim()) {
            (true, "") => ended(EndClass::Empty, "the agent returned no text"),
            (true, _) => SessionEnd { text: self.text.clone(), ..ended(EndClass::Completed, "") },
            (false, _) => {
                let (class, mut detail) = unfinished(end, stderr_tail);
                if self.unreadable > 0 {
                    detail.push_str(&format!("; {} lines could not be parsed", self.unreadable));
                }
                ended(class, &detail)
            }
        }
    }
}
