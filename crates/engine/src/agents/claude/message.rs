//! Parses messages in the lines of assistants and users. They are nearly all that a session prints, so a line in
//! the expected form is parsed in one pass. Any other line goes through the slower general parser; both produce the
//! same [`Message`].

use std::borrow::Cow;

use ralph_core::agent::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Cursor, Quoted};
use super::stream_line::{Raw, StreamLine, Tokens, get, text, tokens};

#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    /// Several lines can be of one message.
    pub(super) id: Cow<'a, str>,
    pub(super) model: Cow<'a, str>,
    pub(super) usage: Usage,
    /// Nearly always the only one.
    first: Option<Part<'a>>,
    others: Vec<Part<'a>>,
}

#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(Words<'a>),
    Thinking(Words<'a>),
    ToolUse { id: Words<'a>, name: Words<'a>, input: Input<'a> },
    ToolResult { id: Words<'a>, is_error: bool, text: Words<'a> },
    Other,
}

/// A text that is built only on demand.
#[derive(Debug)]
pub(super) enum Words<'a> {
    Known(Cow<'a, str>),
    Quoted(Quoted<'a>),
}

/// What a tool is called with, as JSON.
#[derive(Debug)]
pub(super) struct Input<'a>(&'a str);

impl<'a> Words<'a> {
    const NONE: Self = Self::Known(Cow::Borrowed(""));

    /// The text; empty when it is none.
    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Known(text) => text,
            Self::Quoted(quoted) => quoted.text().unwrap_or_default(),
        }
    }

    /// At least so many bytes of it, if it has them.
    pub(super) fn beginning(self, most: usize) -> Cow<'a, str> {
        match self {
            Self::Known(text) => text,
            Self::Quoted(quoted) => quoted.beginning(most).unwrap_or_default(),
        }
    }
}

impl<'a> Input<'a> {
    /// For users: its most telling argument, else the JSON.
    pub(super) fn text(self) -> Cow<'a, str> {
        main_argument(self.0).unwrap_or(Cow::Borrowed(self.0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Assistant,
    User,
}

/// A line that brings a message, and nothing that has to be looked into.
#[derive(Debug)]
pub(super) struct Brought<'a> {
    pub(super) by: By,
    pub(super) of_subagent: bool,
    pub(super) message: Message<'a>,
}

/// Other fields of such lines, which nothing reads.
const UNREAD: [&str; 6] =
    ["session_id", "uuid", "timestamp", "request_id", "tool_use_result", "tool_result_meta"];

impl<'a> Brought<'a> {
    /// Reads a line if it is just as we know them.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let by = match line {
            line if line.starts_with(br#"{"type":"assistant","#) => By::Assistant,
            line if line.starts_with(br#"{"type":"user","#) => By::User,
            _ => return None,
        };
        let mut cursor = Cursor::new(str::from_utf8(line).ok()?);
        let (mut message, mut parent, mut kind) = (None, None, None);
        cursor.object(|cursor, name| match name {
            "message" => once(&mut message, Message::known(cursor)?),
            "parent_tool_use_id" => once(&mut parent, cursor.value()? != "null"),
            "type" => once(&mut kind, cursor.value()?),
            name if UNREAD.contains(&name) => cursor.value().map(|_| ()),
            _ => None,
        })?;
        cursor.end()?;
        Some(Self { by, of_subagent: parent.unwrap_or(false), message: message? })
    }
}

/// A field that comes a second time is nothing that we know.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// A text field, which may be `null`.
fn words<'a>(place: &mut Option<Words<'a>>, cursor: &mut Cursor<'a>) -> Option<()> {
    once(place, cursor.string_or_null()?.map_or(Words::NONE, Words::Quoted))
}

impl<'a> Message<'a> {
    pub(super) fn parts(self) -> impl Iterator<Item = Part<'a>> {
        self.first.into_iter().chain(self.others)
    }

    fn push(&mut self, part: Part<'a>) {
        match self.first {
            None => self.first = Some(part),
            Some(_) => self.others.push(part),
        }
    }

    fn known(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut message = Self::default();
        let (mut id, mut model, mut usage, mut content) = (None, None, None, None);
        cursor.object(|cursor, name| match name {
            "id" => words(&mut id, cursor),
            "model" => words(&mut model, cursor),
            "usage" => once(&mut usage, Tokens::known(cursor)?),
            "content" => {
                once(&mut content, ())?;
                match cursor.peek()? {
                    b'[' => cursor.array(|cursor| {
                        message.push(Part::known(cursor)?);
                        Some(())
                    }),
                    _ => cursor.string_or_null().map(|_| ()),
                }
            }
            _ => cursor.value().map(|_| ()),
        })?;
        message.id = id.map(Words::text).unwrap_or_default();
        message.model = model.map(Words::text).unwrap_or_default();
        message.usage = usage.unwrap_or_default().into();
        Some(message)
    }
}

impl<'a> Part<'a> {
    fn known(cursor: &mut Cursor<'a>) -> Option<Self> {
        let (mut kind, mut id, mut name, mut result_of) = (None, None, None, None);
        let (mut text, mut thinking, mut content) = (None, None, None);
        let (mut input, mut is_error) = (None, None);
        cursor.object(|cursor, field| match field {
            "type" => once(&mut kind, cursor.string()?),
            "text" => words(&mut text, cursor),
            "thinking" => words(&mut thinking, cursor),
            "id" => words(&mut id, cursor),
            "name" => words(&mut name, cursor),
            "tool_use_id" => words(&mut result_of, cursor),
            "is_error" => once(&mut is_error, cursor.is_true()?),
            "content" if cursor.peek()? == b'[' => once(&mut content, texts(cursor)?),
            "content" => words(&mut content, cursor),
            "input" => match cursor.peek()? {
                b'{' => once(&mut input, Input(cursor.value()?)),
                // Read patiently, it may still mean something.
                _ => None,
            },
            _ => cursor.value().map(|_| ()),
        })?;
        let or_none = |words: Option<Words<'a>>| words.unwrap_or(Words::NONE);
        Some(match &*kind?.text()? {
            "text" => Self::Text(or_none(text)),
            "thinking" => Self::Thinking(or_none(thinking)),
            "tool_use" | "server_tool_use" => Self::ToolUse {
                id: or_none(id),
                name: or_none(name),
                input: input.unwrap_or(Input("")),
            },
            "tool_result" => Self::ToolResult {
                id: or_none(result_of),
                is_error: is_error.unwrap_or(false),
                text: or_none(content),
            },
            _ => Self::Other,
        })
    }
}

/// The argument of an object that says most about a call.
fn main_argument(object: &str) -> Option<Cow<'_, str>> {
    let (mut best, mut seen) = (None, 0_u32);
    let mut rank = usize::MAX;
    Cursor::new(object).object(|cursor, name| {
        let Some(place) = MAIN_ARGUMENTS.iter().position(|field| *field == name) else {
            return cursor.value().map(|_| ());
        };
        let again = seen & 1 << place != 0;
        seen |= 1 << place;
        let text = match cursor.peek()? {
            b'"' => cursor.string()?.text(),
            _ => cursor.value().and(None),
        };
        if text.is_some() && place < rank {
            (best, rank) = (text, place);
        }
        (!again).then_some(())
    })?;
    best
}

fn texts<'a>(cursor: &mut Cursor<'a>) -> Option<Words<'a>> {
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    cursor.array(|cursor| {
        let (mut kind, mut text) = (None, None);
        cursor.object(|cursor, field| match field {
            "type" => once(&mut kind, cursor.string()?),
            "text" => once(&mut text, cursor.string_or_null()?),
            field if Block::FIELDS.contains(&field) => None,
            _ => cursor.value().map(|_| ()),
        })?;
        kind?.text()?;
        texts.extend(text.flatten().and_then(Quoted::text));
        Some(())
    })?;
    Some(Words::Known(Cow::Owned(texts.join("\n"))))
}

impl<'a> Message<'a> {
    /// Reads what a line brings, whatever of it can be read.
    pub(super) fn leniently(line: &StreamLine<'a>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields<'a> {
            // For every field of this lifetime.
            #[serde(borrow)]
            id: Raw<'a>,
            model: Raw<'a>,
            content: Raw<'a>,
            usage: Raw<'a>,
        }
        let fields = get::<Fields<'a>>(line.message)?;
        let or_none = |raw| text(raw).unwrap_or_default();
        let words = |raw| Words::Known(text(raw).unwrap_or_default());
        let part = |block: Block<'a>| match &*block.kind {
            "text" => Part::Text(words(block.text)),
            "thinking" => Part::Thinking(words(block.thinking)),
            "tool_use" | "server_tool_use" => Part::ToolUse {
                id: words(block.id),
                name: words(block.name),
                input: Input(block.input.map_or("", RawValue::get)),
            },
            "tool_result" => Part::ToolResult {
                id: words(block.tool_use_id),
                is_error: get(block.is_error).unwrap_or(false),
                text: Words::Known(tool_result(block.content)),
            },
            _ => Part::Other,
        };
        let blocks = get::<Vec<Block<'a>>>(fields.content).unwrap_or_default();
        Some(Self {
            id: or_none(fields.id),
            model: or_none(fields.model),
            usage: tokens(fields.usage),
            first: None,
            others: blocks.into_iter().map(part).collect(),
        })
    }
}

/// A part of a message, not looked into.
#[derive(Deserialize)]
struct Block<'a> {
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

impl Block<'_> {
    const FIELDS: [&'static str; 9] =
        ["type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error"];
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
