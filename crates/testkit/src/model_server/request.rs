//! A request as it came in, and what tests want to know of it.

use std::time::Duration;

use serde_json::Value;

use super::protocol::{self, Protocol, Said};

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
        self.protocol().map_or_else(String::new, |protocol| protocol.session(self))
    }

    /// Whether it is a turn of the agent, and not a title, a count or a summary beside it.
    pub fn is_turn(&self) -> bool {
        !self.is_count() && !self.tools().is_empty() && !self.is_compaction()
    }

    /// Whether the agent only wants to know how many tokens this would be.
    pub(super) fn is_count(&self) -> bool {
        self.path.contains("count_tokens") || self.path.contains(":countTokens")
    }

    /// Whether the agent wants what was said so far in short, because it has become too long. Claude
    /// Code sends its tools with that, too.
    pub fn is_compaction(&self) -> bool {
        let last = self.said().into_iter().filter_map(user).next_back();
        last.is_some_and(|text| {
            text.contains("Your task is to create a detailed summary of the conversation so far")
        })
    }

    /// Whether the answer is to be a stream.
    pub fn wants_stream(&self) -> bool {
        self.protocol().is_some_and(|protocol| protocol.wants_stream(self))
    }

    /// The model that was asked.
    pub fn model(&self) -> &str {
        self.protocol().map_or("", |protocol| protocol.model(self))
    }

    /// The names of the tools that the model may use.
    pub fn tools(&self) -> Vec<&str> {
        self.protocol().map_or_else(Vec::new, |protocol| protocol.tools(self))
    }

    /// The system prompt, and what the agent adds to it among the messages.
    pub fn system_text(&self) -> String {
        let system = |said| match said {
            Said::System(text) => Some(text),
            Said::User(_) | Said::Result(..) => None,
        };
        self.said().into_iter().filter_map(system).collect::<Vec<_>>().join("\n")
    }

    /// All that the user side has said in texts: the prompt and what the agent adds to it.
    pub fn user_text(&self) -> String {
        self.said().into_iter().filter_map(user).collect::<Vec<_>>().join("\n")
    }

    /// The results of tools so far, each with whether it is an error. Only Claude Code marks errors.
    pub fn tool_results(&self) -> Vec<(String, bool)> {
        let result = |said| match said {
            Said::Result(text, is_error) => Some((text, is_error)),
            Said::System(_) | Said::User(_) => None,
        };
        self.said().into_iter().filter_map(result).collect()
    }

    pub(super) fn protocol(&self) -> Option<&'static dyn Protocol> {
        protocol::at(&self.path)
    }

    fn said(&self) -> Vec<Said> {
        self.protocol().map_or_else(Vec::new, |protocol| protocol.said(self))
    }

    /// The id of the task that the prompt assigns: after `RALPH_TASK_ID=`, in the section "Assigned
    /// task", or the first of the tasks listed as `## Task ID`.
    pub fn task_id(&self) -> Option<String> {
        let text = self.system_text() + "\n" + &self.user_text();
        let text = without_numbers(&text);
        in_variable(&text).or_else(|| in_section(&text)).or_else(|| in_list(&text))
    }
}

fn user(said: Said) -> Option<String> {
    match said {
        Said::User(text) => Some(text),
        Said::System(_) | Said::Result(..) => None,
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
