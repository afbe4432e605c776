//! A request as it came in, and what tests want to know of it.

use std::time::Duration;

use serde_json::Value;

/// A request that the server has read.
#[derive(Debug, Clone)]
pub struct Request {
    /// `POST` and the like.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body; null when it is not JSON.
    pub body: Value,
    /// When it came, counted from the start of the server.
    pub at: Duration,
}

impl Request {
    /// A header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The session that it belongs to, in the agent's own words; empty when it does not say.
    pub fn session(&self) -> String {
        if let Some(id) = self.header("x-claude-code-session-id") {
            return id.to_owned();
        }
        let user = self.body["metadata"]["user_id"].as_str().unwrap_or_default();
        let reported: Value = serde_json::from_str(user).unwrap_or_default();
        reported["session_id"].as_str().unwrap_or(user).to_owned()
    }

    /// Whether it is a turn of the agent, and not a title, a count or a summary beside it.
    pub fn is_turn(&self) -> bool {
        self.path.starts_with("/v1/messages")
            && !self.path.contains("count_tokens")
            && self.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
            && !self.is_compaction()
    }

    /// Whether the agent wants what was said so far in short, because it has become too long. Claude
    /// Code sends its tools with that, too.
    pub fn is_compaction(&self) -> bool {
        let last = self.messages_of("user").last().map(|message| texts(&message["content"]));
        last.is_some_and(|text| {
            text.contains("Your task is to create a detailed summary of the conversation so far")
        })
    }

    /// Whether the answer is to be a stream.
    pub fn wants_stream(&self) -> bool {
        self.body["stream"].as_bool().unwrap_or(false)
    }

    /// The model that was asked.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The names of the tools that the model may use.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// The system prompt, and what the agent adds to it among the messages.
    pub fn system_text(&self) -> String {
        let added = self.messages_of("system").map(|message| texts(&message["content"]));
        std::iter::once(texts(&self.body["system"])).chain(added).collect::<Vec<_>>().join("\n")
    }

    /// All that the user side has said in texts: the prompt and what the agent adds to it.
    pub fn user_text(&self) -> String {
        self.messages_of("user")
            .map(|message| texts(&message["content"]))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The results of tools so far, each with whether it is an error.
    pub fn tool_results(&self) -> Vec<(String, bool)> {
        self.messages_of("user")
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| {
                (texts(&block["content"]), block["is_error"].as_bool().unwrap_or_default())
            })
            .collect()
    }

    fn messages_of(&self, role: &str) -> impl Iterator<Item = &Value> {
        let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        messages.iter().filter(move |message| message["role"] == role)
    }

    /// The id of the task that the prompt assigns: after `RALPH_TASK_ID=`, in the section "Assigned
    /// task", or the first of the tasks listed as `## Task ID`.
    pub fn task_id(&self) -> Option<String> {
        let text = self.system_text() + "\n" + &self.user_text();
        let text = without_numbers(&text);
        in_variable(&text).or_else(|| in_section(&text)).or_else(|| in_list(&text))
    }
}

/// The texts of a content: a string, or blocks of which some are text.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// A file that the prompt names comes with a number before each of its lines.
fn without_numbers(text: &str) -> String {
    let bare = |line: &str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix(['\t', '→']).unwrap_or(rest);
        if rest.starts_with("##") || rest.starts_with("- ") { rest } else { line }.to_owned()
    };
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
}

fn in_variable(text: &str) -> Option<String> {
    text.match_indices("RALPH_TASK_ID").find_map(|(start, name)| {
        let rest = text[start + name.len()..].trim_start_matches(['`', '"', '*']);
        id_at(rest.strip_prefix('=').or_else(|| rest.strip_prefix(':'))?)
    })
}

fn in_section(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| {
        !(line.starts_with('#') && line.to_ascii_lowercase().contains("assigned task"))
    });
    let heading = lines.next()?;
    let section: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
    let named = section.iter().find_map(|line| {
        let (name, id) = line.split_once(':')?;
        let name = name.trim_matches(['-', '*', ' ', '`']);
        name.eq_ignore_ascii_case("id").then(|| id_at(id))?
    });
    let quoted = || {
        std::iter::once(heading)
            .chain(section.iter().copied())
            .find_map(|line| id_at(line.split('`').nth(1)?))
    };
    let after_heading = || id_at(heading.split_once(':')?.1);
    named.or_else(quoted).or_else(after_heading)
}

fn in_list(text: &str) -> Option<String> {
    // The prompt's own line may begin with the name of a skill.
    text.lines().find_map(|line| id_at(line.split_once("## Task ")?.1))
}

/// The id at the start of a text, without quotes and the like before it.
fn id_at(text: &str) -> Option<String> {
    let text = text.trim_start_matches([' ', '`', '*', '"', '\'', '[', '(', '<']);
    let other = |c: char| !(c.is_ascii_alphanumeric() || "-_/.".contains(c));
    let id = text.split(other).next()?.trim_end_matches('.');
    (!id.is_empty()).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(system: &str, user: &str) -> Request {
        Request {
            method: "POST".to_owned(),
            path: "/v1/messages?beta=true".to_owned(),
            headers: vec![],
            body: json!({
                "system": [{ "type": "text", "text": system }],
                "messages": [{ "role": "user", "content": user }],
            }),
            at: Duration::ZERO,
        }
    }

    #[test]
    fn the_id_of_the_task_is_found_wherever_a_prompt_has_it() {
        for (system, user, id) in [
            ("RALPH_TASK_ID=t-abc12345", "", Some("t-abc12345")),
            ("The variable RALPH_TASK_ID is set.", "", None),
            ("`RALPH_TASK_ID`: `task-cli/01`.", "", Some("task-cli/01")),
            ("# Loop\n## Assigned Task\n- **ID:** t-1\n- Title: x", "", Some("t-1")),
            ("## Assigned task\n\n- id: `t-1`\n- title: `x`\n", "", Some("t-1")),
            ("## Assigned task\n\nWork on `t-2` now.\n## Rules", "", Some("t-2")),
            ("## Assigned task: t-3\n\nTitle", "", Some("t-3")),
            ("## Assigned task\nid: t-4.", "## Task t-9", Some("t-4")),
            ("", "1\t## Assigned task\n2\t\n3\t- id: `t-7`\n4\t- title: x", Some("t-7")),
            ("", "/ralph-build ## Task t-5\nid: t-5\n\n## Task t-6", Some("t-5")),
            ("You are an agent.", "go", None),
        ] {
            assert_eq!(prompt(system, user).task_id().as_deref(), id, "{system:?} {user:?}");
        }
    }

    #[test]
    fn results_of_tools_are_no_text_of_the_user() {
        let mut request = prompt("", "go");
        request.body["messages"] = json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [{ "type": "text", "text": "I look" }] },
            { "role": "user", "content": [
                { "type": "tool_result", "content": "no such file", "is_error": true },
                { "type": "text", "text": "go on" },
            ]},
        ]);
        assert_eq!(request.user_text(), "go\ngo on");
        assert_eq!(request.tool_results(), [("no such file".to_owned(), true)]);
    }
}
