//! Messages in the lines of assistants and users. They are nearly all that a session prints, so a line
//! as we know it is read in one pass. Anything else about it, and it is read again as patiently as every
//! other line; both ways lead to the same [`Message`].

use std::borrow::Cow;
use std::fmt;

use ralph_core::agent::Usage;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::wire::{Line, Raw, Text, Tokens, get, text, tokens};

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    /// Several lines can be of one message.
    pub(super) id: Cow<'a, str>,
    pub(super) model: Cow<'a, str>,
    pub(super) usage: Usage,
    pub(super) parts: Vec<Part<'a>>,
}

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: Cow<'a, str> },
    ToolResult { id: Cow<'a, str>, is_error: bool, text: Cow<'a, str> },
    Other,
}

/// Who a message is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Assistant,
    User,
}

/// A line that brings a message, and nothing that has to be looked into.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Brought<'a> {
    pub(super) by: By,
    pub(super) of_subagent: bool,
    pub(super) message: Message<'a>,
}

impl<'a> Brought<'a> {
    /// Reads a line if it is just as we know them.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Known<'a> {
            #[serde(borrow)]
            message: KnownMessage<'a>,
            parent_tool_use_id: Option<IgnoredAny>,
            error: Option<IgnoredAny>,
        }
        let by = match line {
            line if line.starts_with(br#"{"type":"assistant","#) => By::Assistant,
            line if line.starts_with(br#"{"type":"user","#) => By::User,
            _ => return None,
        };
        let known: Known<'a> = serde_json::from_slice(line).ok()?;
        known.error.is_none().then(|| Self {
            by,
            of_subagent: known.parent_tool_use_id.is_some(),
            message: known.message.into(),
        })
    }
}

#[derive(Deserialize)]
struct KnownMessage<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    usage: Option<Tokens>,
    #[serde(borrow)]
    content: Option<Vec<KnownBlock<'a>>>,
}

#[derive(Deserialize)]
struct KnownBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    tool_use_id: Option<Text<'a>>,
    is_error: Option<bool>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
}

impl<'a> From<KnownMessage<'a>> for Message<'a> {
    fn from(known: KnownMessage<'a>) -> Self {
        let or_none = |text: Option<Text<'a>>| text.map(|text| text.0).unwrap_or_default();
        let part = |block: KnownBlock<'a>| match &*block.kind {
            "text" => Part::Text(or_none(block.text)),
            "thinking" => Part::Thinking(or_none(block.thinking)),
            "tool_use" | "server_tool_use" => Part::ToolUse {
                id: or_none(block.id),
                name: or_none(block.name),
                input: tool_input(block.input),
            },
            "tool_result" => Part::ToolResult {
                id: or_none(block.tool_use_id),
                is_error: block.is_error.unwrap_or(false),
                text: block.content.map(|content| content.0).unwrap_or_default(),
            },
            _ => Part::Other,
        };
        Self {
            id: or_none(known.id),
            model: or_none(known.model),
            usage: known.usage.unwrap_or_default().into(),
            parts: known.content.unwrap_or_default().into_iter().map(part).collect(),
        }
    }
}

/// What a tool gave back: a text, or blocks of which some are texts.
struct Content<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct TextBlock<'a> {
            #[serde(rename = "type")]
            _kind: IgnoredAny,
            #[serde(borrow)]
            text: Option<Text<'a>>,
        }
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Cow<'de, str>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a text or blocks")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while let Some(block) = all.next_element::<TextBlock<'de>>()? {
                    texts.extend(block.text.map(|text| text.0));
                }
                Ok(Cow::Owned(texts.join("\n")))
            }
        }
        from.deserialize_any(Reader).map(Self)
    }
}

impl<'a> Message<'a> {
    /// Reads what a line brings, whatever of it can be read.
    pub(super) fn patiently(line: &Line<'a>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(borrow)]
            id: Raw<'a>,
            #[serde(borrow)]
            model: Raw<'a>,
            #[serde(borrow)]
            content: Raw<'a>,
            #[serde(borrow)]
            usage: Raw<'a>,
        }
        let fields = get::<Fields<'a>>(line.message)?;
        let or_none = |raw| text(raw).unwrap_or_default();
        let part = |block: Block<'a>| match &*block.kind {
            "text" => Part::Text(or_none(block.text)),
            "thinking" => Part::Thinking(or_none(block.thinking)),
            "tool_use" | "server_tool_use" => Part::ToolUse {
                id: or_none(block.id),
                name: or_none(block.name),
                input: tool_input(block.input),
            },
            "tool_result" => Part::ToolResult {
                id: or_none(block.tool_use_id),
                is_error: get(block.is_error).unwrap_or(false),
                text: tool_result(block.content),
            },
            _ => Part::Other,
        };
        let blocks = get::<Vec<Block<'a>>>(fields.content).unwrap_or_default();
        Some(Self {
            id: or_none(fields.id),
            model: or_none(fields.model),
            usage: tokens(fields.usage),
            parts: blocks.into_iter().map(part).collect(),
        })
    }
}

/// A part of a message, not looked into.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    tool_use_id: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
}

/// The arguments of tools that say most about a call, the best first.
#[derive(Deserialize)]
struct ToolInput<'a> {
    #[serde(borrow)]
    command: Raw<'a>,
    #[serde(borrow)]
    file_path: Raw<'a>,
    #[serde(borrow)]
    notebook_path: Raw<'a>,
    #[serde(borrow)]
    pattern: Raw<'a>,
    #[serde(borrow)]
    path: Raw<'a>,
    #[serde(borrow)]
    url: Raw<'a>,
    #[serde(borrow)]
    query: Raw<'a>,
    #[serde(borrow)]
    skill: Raw<'a>,
    #[serde(borrow)]
    description: Raw<'a>,
}

/// What a tool is called with, for people: its most telling argument, else the JSON.
fn tool_input<'a>(raw: Raw<'a>) -> Cow<'a, str> {
    let telling = get::<ToolInput<'a>>(raw).and_then(|input| {
        let fields = [
            input.command,
            input.file_path,
            input.notebook_path,
            input.pattern,
            input.path,
            input.url,
            input.query,
            input.skill,
            input.description,
        ];
        fields.into_iter().find_map(text)
    });
    telling.unwrap_or_else(|| Cow::Borrowed(raw.map_or("", RawValue::get)))
}

/// What a tool gave back: a text, or blocks of which some are texts.
fn tool_result<'a>(raw: Raw<'a>) -> Cow<'a, str> {
    if let Some(text) = text(raw) {
        return text;
    }
    let blocks: Vec<Block<'a>> = get(raw).unwrap_or_default();
    let texts: Vec<Cow<'a, str>> =
        blocks.into_iter().filter_map(|block| text(block.text)).collect();
    Cow::Owned(texts.join("\n"))
}
