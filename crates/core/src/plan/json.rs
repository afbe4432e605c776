//! JSON as plans are read from: in the order of the text, borrowed from it where possible, no key
//! twice, and with problems in words that name the key.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::ids::TaskId;
use crate::plan::{PlanError, PlanTask};

/// So many things are compared one by one; more than that with a set.
const FEW: usize = 24;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::plan) enum Json<'a> {
    Null,
    Bool(bool),
    Whole(i64),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Object(Fields<'a>),
}

/// The keys and values of an object, in the order of the text.
pub(in crate::plan) type Fields<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// What is wrong with a line or a value. It becomes a [`PlanError`] with the line.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::plan) struct Problem(pub(in crate::plan) String);

impl<E: std::error::Error> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl Problem {
    pub(in crate::plan) fn at(self, line: usize) -> PlanError {
        PlanError { line, problem: self.0 }
    }
}

impl<'a> Json<'a> {
    /// Reads a whole text, with or without a byte order mark.
    pub(in crate::plan) fn parse(text: &'a str) -> Result<Self, PlanError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        serde_json::from_str(text).map_err(|error| problem_of(&error).at(error.line().max(1)))
    }

    pub(in crate::plan) fn parse_line(line: &'a str) -> Result<Self, Problem> {
        serde_json::from_str(line).map_err(|error| {
            let Problem(mut problem) = problem_of(&error);
            if error.is_eof() {
                problem.push_str("; each line must hold one complete object");
            }
            Problem(problem)
        })
    }

    /// What kind of value it is, for "not a number".
    pub(in crate::plan) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            Self::Whole(_) | Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// Whether nothing is lost with it: `null`, `false` or something empty.
    pub(in crate::plan) fn says_nothing(&self) -> bool {
        match self {
            Self::Null | Self::Bool(false) => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Object(fields) => fields.is_empty(),
            Self::Bool(true) | Self::Whole(_) | Self::Number(_) => false,
        }
    }

    pub(in crate::plan) fn text(&self, key: &str) -> Result<&str, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(wrong(key, "text", other)),
        }
    }

    /// The text of `key`; `null` is an empty one.
    pub(in crate::plan) fn text_or_null(&self, key: &str) -> Result<&str, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Null => Ok(""),
            other => Err(wrong(key, "text or null", other)),
        }
    }

    pub(in crate::plan) fn whole(&self, key: &str) -> Result<i64, Problem> {
        match self {
            Self::Whole(number) => Ok(*number),
            Self::Number(number) => {
                Err(Problem(format!("\"{key}\" must be a whole number, not {number:?}")))
            }
            other => Err(wrong(key, "a whole number", other)),
        }
    }

    /// The items of `key`, which is a list of `what`; `null` is an empty one.
    pub(in crate::plan) fn items(&self, key: &str, what: &str) -> Result<&[Self], Problem> {
        match self {
            Self::List(items) => Ok(items),
            Self::Null => Ok(&[]),
            other => Err(wrong(key, &format!("a list of {what}"), other)),
        }
    }

    /// The texts in the list of `key`; `null` is an empty list.
    pub(in crate::plan) fn texts(&self, key: &str, what: &str) -> Result<Vec<&str>, Problem> {
        let texts = self.items(key, what)?.iter().enumerate().map(|(index, item)| match item {
            Self::Text(text) => Ok(&**text),
            other => Err(wrong_item(key, what, index, other)),
        });
        texts.collect()
    }

    /// The id of `key`, which may be written as a whole number.
    pub(in crate::plan) fn id(&self, key: &str) -> Result<Cow<'_, str>, Problem> {
        self.id_text().ok_or_else(|| wrong(key, "text or a whole number", self))
    }

    /// The ids in the list of `key`; `null` is an empty list.
    pub(in crate::plan) fn ids(&self, key: &str) -> Result<Vec<Cow<'_, str>>, Problem> {
        let items = self.items(key, "ids")?.iter().enumerate();
        items
            .map(|(n, item)| item.id_text().ok_or_else(|| wrong_item(key, "ids", n, item)))
            .collect()
    }

    fn id_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Whole(number) => Some(Cow::Owned(number.to_string())),
            _ => None,
        }
    }

    /// The fields of an object; `what` says what it is that must be one.
    pub(in crate::plan) fn fields(&self, what: &str) -> Result<&Fields<'a>, Problem> {
        match self {
            Self::Object(fields) => Ok(fields),
            other => Err(Problem(format!("{what}, not {}", other.kind()))),
        }
    }

    /// The value of `key`, if this is an object that has it.
    pub(in crate::plan) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().find(|(found, _)| found == key).map(|(_, value)| value)
    }
}

/// The line on which each object of a document starts, for messages.
pub(in crate::plan) struct ObjectLines<'j>(HashMap<*const Json<'j>, usize>);

impl<'j> ObjectLines<'j> {
    /// Of a document and the text that it was read from. A walk through the values meets the objects in the order
    /// of their braces.
    pub(in crate::plan) fn of(document: &Json<'j>, text: &str) -> Self {
        fn walk<'j>(
            value: &Json<'j>,
            lines: &mut impl Iterator<Item = usize>,
            found: &mut HashMap<*const Json<'j>, usize>,
        ) {
            match value {
                Json::List(items) => items.iter().for_each(|item| walk(item, lines, found)),
                Json::Object(fields) => {
                    found.extend(lines.next().map(|line| (std::ptr::from_ref(value), line)));
                    fields.iter().for_each(|(_, item)| walk(item, lines, found));
                }
                _ => {}
            }
        }
        let (mut line, mut in_text, mut escaped) = (1, false, false);
        let braces = text.bytes().filter_map(|byte| {
            let starts = byte == b'{' && !in_text;
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_text,
                b'"' => in_text = !in_text,
                b'\n' => line += 1,
                _ => {}
            }
            starts.then_some(line)
        });
        let mut found = HashMap::new();
        walk(document, &mut braces.into_iter(), &mut found);
        Self(found)
    }

    /// The line of an object of the document; 1 for anything else.
    pub(in crate::plan) fn line(&self, object: &Json<'j>) -> usize {
        self.0.get(&std::ptr::from_ref(object)).copied().unwrap_or(1)
    }
}

fn wrong(key: &str, wanted: &str, found: &Json<'_>) -> Problem {
    Problem(format!("\"{key}\" must be {wanted}, not {}", found.kind()))
}

/// That an item of a list is of the wrong kind; `index` counts from 0.
pub(in crate::plan) fn wrong_item(
    key: &str,
    what: &str,
    index: usize,
    found: &Json<'_>,
) -> Problem {
    let (position, kind) = (index + 1, found.kind());
    Problem(format!("\"{key}\" must be a list of {what}, but its item {position} is {kind}"))
}

/// The value of a key that must be there.
pub(in crate::plan) fn present<T>(key: &str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| Problem(format!("\"{key}\" is missing")))
}

/// Checks an id; `what` is the word for the problem, such as "dependency".
pub(in crate::plan) fn task_id(what: &str, text: &str) -> Result<TaskId, Problem> {
    TaskId::new(text).map_err(|error| Problem(format!("the {what} {}: {error}", quoted(text))))
}

/// The ids that `own` depends on, each once and in order.
pub(in crate::plan) fn dependencies(own: &TaskId, texts: &[&str]) -> Result<Vec<TaskId>, Problem> {
    let mut ids: Vec<TaskId> = Vec::with_capacity(texts.len());
    let mut seen = HashSet::new();
    for text in texts {
        if *text == own.as_str() {
            return Err(Problem(format!("the task \"{own}\" depends on itself")));
        }
        if seen.insert(*text) {
            ids.push(task_id("dependency", text)?);
        }
    }
    Ok(ids)
}

/// The first task whose id an earlier one has, after that one.
pub(in crate::plan) fn repeated(tasks: &[PlanTask]) -> Option<(&PlanTask, &PlanTask)> {
    let mut seen: HashMap<&TaskId, &PlanTask> = HashMap::with_capacity(tasks.len());
    tasks.iter().find_map(|task| Some((seen.insert(&task.id, task)?, task)))
}

/// [`repeated`] as the problem of a text with a task a line.
pub(in crate::plan) fn refuse_repeated(tasks: &[PlanTask]) -> Result<(), PlanError> {
    let Some((first, PlanTask { line, id, .. })) = repeated(tasks) else { return Ok(()) };
    let problem = format!("the id \"{id}\" is already on line {}", first.line);
    Err(PlanError { line: *line, problem })
}

/// A text of the input for a message: quoted, escaped and not too long.
pub(in crate::plan) fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}

/// The lines that hold something, numbered from 1, without the byte order mark.
pub(in crate::plan) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

fn problem_of(error: &serde_json::Error) -> Problem {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    Problem(match error.classify() {
        // What the visitor below says for itself.
        serde_json::error::Category::Data => text.to_owned(),
        _ => format!("not valid JSON: {text} (column {column})"),
    })
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(number).map_or(Json::Number(number as f64), Json::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json<'de>, A::Error> {
        let mut fields: Fields<'de> = Vec::with_capacity(10);
        let twice = |key| A::Error::custom(format_args!("the key {} is given twice", quoted(key)));
        while let Some(Json::Text(key)) = entries.next_key()? {
            if fields.len() < FEW && fields.iter().any(|(earlier, _)| *earlier == key) {
                return Err(twice(&key));
            }
            fields.push((key, entries.next_value()?));
        }
        if fields.len() >= FEW {
            let mut seen = HashSet::new();
            if let Some((key, _)) = fields.iter().find(|(key, _)| !seen.insert(key)) {
                return Err(twice(key));
            }
        }
        Ok(Json::Object(fields))
    }
}
