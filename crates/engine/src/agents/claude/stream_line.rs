//! The lines that Claude Code prints, as far as ralph reads them; messages in them are in `message`.
//!
//! One struct has the fields of every kind of line, each still raw: one pass finds them in any order, skips unknown
//! fields, and a field of an unexpected type affects only itself.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ralph_core::agent::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Cursor;
use crate::agents::micro_usd;

/// A field that was not looked into yet.
pub(super) type Raw<'a> = Option<&'a RawValue>;

pub(super) fn get<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// A text. `Cow` alone would copy.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

pub(super) fn text<'a>(raw: Raw<'a>) -> Option<Cow<'a, str>> {
    get::<Text<'a>>(raw).map(|text| text.0)
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamLine<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) subtype: Raw<'a>,
    // init
    pub(super) model: Raw<'a>,
    pub(super) claude_code_version: Raw<'a>,
    // assistant, user
    pub(super) message: Raw<'a>,
    pub(super) parent_tool_use_id: Raw<'a>,
    // user: a line of ours that is repeated
    #[serde(rename = "isReplay")]
    pub(super) is_replay: Raw<'a>,
    // an assistant message that reports an error; api_retry
    pub(super) error: Raw<'a>,
    // the same, and result
    pub(super) api_error: Raw<'a>,
    pub(super) api_error_status: Raw<'a>,
    pub(super) api_error_type: Raw<'a>,
    // api_retry
    pub(super) attempt: Raw<'a>,
    pub(super) retry_delay_ms: Raw<'a>,
    pub(super) error_status: Raw<'a>,
    // permission_denied
    pub(super) tool_name: Raw<'a>,
    // rate_limit_event, which puts them one level deeper in some versions
    pub(super) rate_limit_info: Raw<'a>,
    pub(super) status: Raw<'a>,
    #[serde(rename = "resetsAt")]
    pub(super) resets_at: Raw<'a>,
    // result
    pub(super) is_error: Raw<'a>,
    pub(super) result: Raw<'a>,
    pub(super) errors: Raw<'a>,
    pub(super) stop_reason: Raw<'a>,
    pub(super) terminal_reason: Raw<'a>,
    pub(super) num_turns: Raw<'a>,
    pub(super) duration_ms: Raw<'a>,
    pub(super) total_cost_usd: Raw<'a>,
    pub(super) usage: Raw<'a>,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: Raw<'a>,
    pub(super) permission_denials: Raw<'a>,
}

/// Tokens of a request, or of all requests of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(alias = "inputTokens")]
    input_tokens: u64,
    #[serde(alias = "cacheReadInputTokens")]
    cache_read_input_tokens: u64,
    #[serde(alias = "cacheCreationInputTokens")]
    cache_creation_input_tokens: u64,
    #[serde(alias = "outputTokens")]
    output_tokens: u64,
}

impl Tokens {
    /// Reads those of a message if they are just as we know them.
    pub(super) fn known(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut read = [None; 4];
        cursor.object(|cursor, name| {
            let place = match name {
                "input_tokens" => &mut read[0],
                "cache_read_input_tokens" => &mut read[1],
                "cache_creation_input_tokens" => &mut read[2],
                "output_tokens" => &mut read[3],
                "inputTokens"
                | "cacheReadInputTokens"
                | "cacheCreationInputTokens"
                | "outputTokens" => return None,
                _ => return cursor.value().map(|_| ()),
            };
            place.replace(cursor.count()?).is_none().then_some(())
        })?;
        let [input, cache_read, cache_creation, output] = read.map(Option::unwrap_or_default);
        Some(Self {
            input_tokens: input,
            cache_read_input_tokens: cache_read,
            cache_creation_input_tokens: cache_creation,
            output_tokens: output,
        })
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached =
            tokens.cache_read_input_tokens.saturating_add(tokens.cache_creation_input_tokens);
        Self {
            input_tokens: tokens.input_tokens.saturating_add(cached),
            output_tokens: tokens.output_tokens,
            ..Self::default()
        }
    }
}

pub(super) fn tokens(usage: Raw<'_>) -> Usage {
    get::<Tokens>(usage).unwrap_or_default().into()
}

/// What a result reports about the whole session so far, and the models it names. The tokens by model
/// are those that the price is made of; `usage` may know less or more.
pub(super) fn totals(line: &StreamLine<'_>) -> (Usage, Vec<String>) {
    let by_model: BTreeMap<String, Tokens> = get(line.model_usage).unwrap_or_default();
    let models: Vec<String> = by_model.keys().cloned().collect();
    let used = match models.len() {
        0 => tokens(line.usage),
        _ => by_model.into_values().map(Usage::from).fold(Usage::default(), Usage::plus),
    };
    let cost = get::<f64>(line.total_cost_usd).and_then(micro_usd);
    (Usage { cost_micro_usd: cost, ..used }, models)
}
