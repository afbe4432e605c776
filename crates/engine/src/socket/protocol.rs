//! The messages on the sockets, and their size limits.

use std::time::Duration;

use ralph_core::run::Control;
use serde::{Deserialize, Serialize};

pub const VERSION: u32 = 1;
/// The longest request, in bytes, with its line break.
pub const MAX_LINE: usize = 1 << 20;
/// The longest answer that a caller takes, in bytes.
pub const MAX_REPLY: u64 = 256 << 20;
/// How long a request may take to arrive, and an answer to be taken.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A call of `ralph task` or `ralph hook` from inside a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Call {
    pub v: u32,
    /// The words after `ralph task`; those of a hook begin with `hook`.
    pub argv: Vec<String>,
    /// The width of the caller's terminal; `None` when it is not one.
    #[serde(default)]
    pub width: Option<usize>,
    /// Whether data may have colors.
    #[serde(default)]
    pub color: bool,
    /// Whether messages may have colors.
    #[serde(default)]
    pub message_color: bool,
    /// What the caller read from its standard input, where the call asks for that.
    #[serde(default)]
    pub stdin: String,
}

impl Call {
    /// A call with these words, for a caller that is not a terminal.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { v: VERSION, argv, ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    pub code: u8,
    pub out: String,
    pub err: String,
}

impl Reply {
    pub fn failed(why: impl std::fmt::Display) -> Self {
        Self { code: 1, out: String::new(), err: format!("error: {why}\n") }
    }
}

/// A line on the control socket: one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ControlLine {
    pub v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// The stream of the run from its beginning, until one side closes: after the answer, a line for each
    /// [`Observed`](ralph_core::view::stream::Observed).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub watch: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ControlReply {
    pub ok: bool,
    /// Whether a running session takes the message of the user; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ControlReply {
    pub fn refused(why: impl Into<String>) -> Self {
        Self { ok: false, error: Some(why.into()), ..Self::default() }
    }
}

/// Why a line of another version is refused.
pub(super) fn other_version(found: u32) -> String {
    format!("this ralph speaks protocol version {VERSION}, the request has version {found}")
}
