//! Answers to an agent that asks for permission to call a tool, and the mode in which it asks for what.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agents::{Permissions, SessionSpec};

/// Modes in which an agent asks for no permission and has no sandbox of its own: ralph's sandbox holds it.
const UNRESTRICTED: [&str; 3] = ["bypassPermissions", "agent-full-access", "yolo"];
/// The one of them that turns off a sandbox of the agent, which cannot work within ralph's.
const WITHOUT_OWN_SANDBOX: [&str; 1] = ["agent-full-access"];
/// Modes in which an agent changes nothing.
const READ_ONLY: [&str; 1] = ["read-only"];

/// What a session may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Policy {
    /// Everything: it runs in a sandbox.
    Everything,
    /// Tools of these kinds, or with these names.
    Only { tools: Vec<String>, judges: bool, sandboxed: bool },
}

/// The tool call that permission is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Asked {
    pub(super) tool_call: Value,
    options: Vec<Choice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Choice {
    option_id: String,
    kind: String,
}

pub(super) fn is_sandboxed(permissions: &Permissions) -> bool {
    !matches!(permissions, Permissions::Tools(_))
}

impl Policy {
    pub(super) fn of(spec: &SessionSpec) -> Self {
        let (judges, sandboxed) = (spec.verifies, is_sandboxed(&spec.permissions));
        match &spec.permissions {
            Permissions::Boxed => Self::Everything,
            Permissions::SandboxedTools(tools) | Permissions::Tools(tools) => {
                Self::Only { tools: tools.clone(), judges, sandboxed }
            }
        }
    }

    /// The mode to choose, of those that the agent has.
    pub(super) fn mode<'a>(&self, available: &'a [String]) -> Option<&'a str> {
        let wanted: &[&str] = match self {
            Self::Everything => &UNRESTRICTED,
            Self::Only { sandboxed: true, .. } => &WITHOUT_OWN_SANDBOX,
            Self::Only { judges: true, .. } => &READ_ONLY,
            Self::Only { .. } => &[],
        };
        let mode = available.iter().find(|mode| wanted.contains(&mode.as_str()));
        mode.map(String::as_str)
    }

    fn admits(&self, tool_call: &Value) -> bool {
        let Self::Only { tools, .. } = self else { return true };
        let is = |field: &str| {
            let value = tool_call[field].as_str().unwrap_or_default();
            !value.is_empty() && tools.iter().any(|tool| tool.eq_ignore_ascii_case(value))
        };
        is("kind") || is("name")
    }

    /// The result of a request for permission, and whether it allows the call.
    pub(super) fn answer(&self, asked: &Asked) -> (Value, bool) {
        let (allowed, kinds) = match self.admits(&asked.tool_call) {
            true => (true, ["allow_once", "allow_always"]),
            false => (false, ["reject_once", "reject_always"]),
        };
        let of_kind = |kind: &str| asked.options.iter().find(|option| option.kind == kind);
        match kinds.into_iter().find_map(of_kind) {
            Some(option) => {
                let outcome = json!({ "outcome": "selected", "optionId": option.option_id });
                (json!({ "outcome": outcome }), allowed)
            }
            // Nothing that was offered fits.
            None => (json!({ "outcome": { "outcome": "cancelled" } }), false),
        }
    }
}
