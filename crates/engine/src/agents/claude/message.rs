//! Parses messages in the lines of assistants and users. They are nearly all that a session prints, so a line in
//! the expected form is parsed in one pass, and texts are built only where they are needed. Any other line is parsed
//! piece by piece: whatever of it can be read counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ralph_core::agent::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::stream_line::{Raw, StreamLine, get, text, tokens};

/// The fields of a message. Several lines can be of one message, each with the usage of the whole.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a, C = Vec<Block<'a>>> {
    // For every field of this lifetime.
    #[serde(borrow)]
    id: Raw<'a>,
    model: Raw<'a>,
    usage: Raw<'a>,
    content: C,
}

#[derive(Debug, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    text: Raw<'a>,
    thinking: Raw<'a>,
    id: Raw<'a>,
    name: Raw<'a>,
    input: Raw<'a>,
    tool_use_id: Raw<'a>,
    content: Raw<'a>,
    is_error: Raw<'a>,
}

/// What a part of a message says.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: Cow<'a, str> },
    ToolResult { id: Cow<'a, str>, is_error: bool, text: Cow<'a, str> },
    Other,
}

/// Reads a line that brings a message, if it is just as we know them.
pub(super) fn known(line: &[u8]) -> Option<StreamLine<'_, Message<'_>>> {
    let starts = [&br#"{"type":"assistant","#[..], br#"{"type":"user","#];
    if !starts.iter().any(|start| line.starts_with(start)) {
        return None;
    }
    serde_json::from_str(str::from_utf8(line).ok()?).ok()
}

impl<'a> Message<'a> {
    /// Reads what a line brings, whatever of it can be read.
    pub(super) fn leniently(line: &StreamLine<'a>) -> Option<Self> {
        let Message { id, model, usage, content } = get::<Message<'a, Raw<'a>>>(line.message)?;
        Some(Self { id, model, usage, content: get(content).unwrap_or_default() })
    }

    pub(super) fn id(&self) -> Cow<'a, str> {
        text(self.id).unwrap_or_default()
    }

    pub(super) fn model(&self) -> Cow<'a, str> {
        text(self.model).unwrap_or_default()
    }

    pub(super) fn usage(&self) -> Usage {
        tokens(self.usage)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'a>> {
        self.content.iter().map(Block::part)
    }
}

impl<'a> Block<'a> {
    fn part(&self) -> Part<'a> {
        let words = |raw| text(raw).unwrap_or_default();
        match &*self.kind {
            "text" => Part::Text(words(self.text)),
            "thinking" => Part::Thinking(words(self.thinking)),
            "tool_use" | "server_tool_use" => Part::ToolUse {
                id: words(self.id),
                name: words(self.name),
                input: tool_input(self.input),
            },
            "tool_result" => Part::ToolResult {
                id: words(self.tool_use_id),
                is_error: get(self.is_error).unwrap_or(false),
                text: tool_result(self.content),
            },
            _ => Part::Other,
        }
    }
}

/// The arguments of tools that say most about a call, the best first.
const MAIN_ARGUMENTS: [&str; 9] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "path",
    "url",
    "query",
    "skill",
    "description",
];

/// What a tool is called with, for users: its most telling argument, else the JSON.
fn tool_input<'a>(raw: Raw<'a>) -> Cow<'a, str> {
    let arguments: BTreeMap<String, &'a RawValue> = get(raw).unwrap_or_default();
    let main = MAIN_ARGUMENTS.iter().find_map(|name| text(arguments.get(*name).copied()));
    main.unwrap_or(Cow::Borrowed(raw.map_or("", RawValue::get)))
}

/// What a tool gave back: a text, or blocks of which some are texts.
fn tool_result<'a>(raw: Raw<'a>) -> Cow<'a, str> {
    text(raw).unwrap_or_else(|| {
        let blocks: Vec<Block<'a>> = get(raw).unwrap_or_default();
        let texts: Vec<_> = blocks.into_iter().filter_map(|block| text(block.text)).collect();
        Cow::Owned(texts.join("\n"))
    })
}
