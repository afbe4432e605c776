//! Messages of JSON-RPC 2.0, one per line.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The method is not one of ours.
const METHOD_NOT_FOUND: i64 = -32601;

/// A message of the agent. Fields that are not read stay raw.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    /// Of a request or a response; the agent chooses the ids of its own requests, and they need not be numbers.
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    pub(super) error: Option<RpcError>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Value,
}

/// What a message is.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Notification { method: String, params: Option<&'a RawValue> },
    Request { id: Value, method: String, params: Option<&'a RawValue> },
    Response { id: Value, outcome: Result<Option<&'a RawValue>, RpcError> },
}

impl<'a> Incoming<'a> {
    /// Reads a line; `None` where it is something else.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let message: Message<'a> = serde_json::from_slice(line).ok()?;
        let Message { id, method, params, result, error } = message;
        match (method, id, error) {
            (Some(method), Some(id), _) => Some(Self::Request { id, method, params }),
            (Some(method), None, _) => Some(Self::Notification { method, params }),
            (None, Some(id), Some(error)) => Some(Self::Response { id, outcome: Err(error) }),
            (None, Some(id), None) => Some(Self::Response { id, outcome: Ok(result) }),
            // An error about a message that the agent could not read has no id.
            (None, None, Some(error)) => {
                Some(Self::Response { id: Value::Null, outcome: Err(error) })
            }
            (None, None, None) => None,
        }
    }
}

/// Reads a part of a message; `None` where it is something else.
pub(super) fn get<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

pub(super) fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
    line(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

pub(super) fn notification(method: &str, params: Value) -> Vec<u8> {
    line(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

pub(super) fn reply(id: &Value, result: Value) -> Vec<u8> {
    line(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// The answer to a request that ralph does not serve.
pub(super) fn not_served(id: &Value, method: &str) -> Vec<u8> {
    let message = format!("ralph does not serve {method}");
    let error = json!({ "code": METHOD_NOT_FOUND, "message": message });
    line(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

fn line(message: Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
