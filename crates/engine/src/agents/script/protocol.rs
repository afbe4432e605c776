//! What the player prints: one JSON object on each line, `event` first.
//!
//! ```text
//! {"event":"started","version":"0.1.0"}
//! {"event":"say","text":"I will."}
//! {"event":"tool_started","id":"1","name":"Write","input":"hello.txt"}
//! {"event":"tool_ended","id":"1","is_error":false,"text":"6 bytes"}
//! {"event":"usage","usage":{"input_tokens":1200,"output_tokens":80,"cost_micro_usd":4000,…}}
//! {"event":"result","duration_ms":12}
//! ```
//!
//! `result` is the last word of a session that went to its end; its text is that of the last `say`.
//! `limit` and `refused` end a session without one.

use ralph_core::agent::Usage;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum ScriptEvent {
    Started {
        version: String,
    },
    Say {
        text: String,
    },
    Think {
        text: String,
    },
    ToolStarted {
        id: String,
        name: String,
        input: String,
    },
    ToolEnded {
        id: String,
        is_error: bool,
        text: String,
    },
    /// Usage since the last report.
    Usage {
        usage: Usage,
    },
    Limit {
        resets_at_ms: i64,
    },
    Refused {
        why: String,
    },
    Result {
        duration_ms: u64,
    },
}
