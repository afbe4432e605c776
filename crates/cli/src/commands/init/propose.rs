//! What `ralph init` proposes as gates, and how that stands in `ralph.toml`.
//!
//! The tests are the gate of every run, through `AGENTS.md`. Other checks are comments until the user wants them: a check
//! that fails today would fail every task.

use ralph_core::stable_hash::stable_hash;
use ralph_engine::project::Project;

use super::checks::{Check, checks};
use crate::detection::{DetectedCommand, read_top, test_commands};

/// The settings, up to the example of a gate.
const SETTINGS: &str = include_str!("ralph.toml");
/// Where that example starts.
const EXAMPLE: &str = "#\n# [[gate]]";
/// Its first section.
const FIRST: &str = "[loop]";
/// The section before it, where init is given an agent.
const AGENT: &str = "[agent]\n# The agent that ralph drives in this repository.\n";
/// What stands before the mark at the end of a file with proposals.
const MARK: &str = "# For ralph init --undo, which removes this file only while it is unchanged: ";
/// How many folders of a monorepo are looked at.
const FOLDERS: usize = 40;
/// Folders with code of others.
const FOREIGN: [&str; 5] = ["node_modules", "target", "vendor", "dist", "build"];

#[derive(Debug, Default)]
pub(crate) struct Proposal {
    /// Commands that run tests, the best first.
    pub(crate) tests: Vec<DetectedCommand>,
    /// The folders that have tests of their own, with a command each; empty if the top has tests.
    below: Vec<(String, DetectedCommand)>,
    pub(crate) checks: Vec<Check>,
}

impl Proposal {
    /// What the top of the worktree shows; without any tests there, what the folders in it show.
    pub(crate) fn of(project: &Project) -> Self {
        let root = project.worktree.as_path();
        let top = read_top(root, root);
        let mut proposal = Self { tests: test_commands(&top), below: vec![], checks: checks(&top) };
        if !proposal.tests.is_empty() {
            return proposal;
        }
        let is_own = |name: &&String| {
            name.strip_suffix('/').is_some_and(|name| {
                !name.starts_with('.') && !FOREIGN.contains(&name) && name.chars().all(is_plain)
            })
        };
        for name in top.0.keys().filter(is_own).take(FOLDERS) {
            let below = read_top(root, &root.join(name));
            let folder = name.trim_end_matches('/');
            if let Some(found) = test_commands(&below).into_iter().next() {
                let from = format!("{name}{}", found.from);
                proposal.below.push((folder.to_owned(), DetectedCommand { from, ..found }));
            }
            proposal.checks.extend(checks(&below).into_iter().map(|check| Check {
                command: format!("cd {folder} && {}", check.command),
                from: format!("{name}{}", check.from),
                ..check
            }));
        }
        proposal
    }

    /// The command that runs all tests, and the files that show it.
    pub(crate) fn test_command(&self) -> Option<(String, String)> {
        if let Some(found) = self.tests.first() {
            return Some((found.command.clone(), found.from.clone()));
        }
        let from = self.below.iter().map(|(_, found)| found.from.as_str()).collect::<Vec<_>>();
        let command = match &self.below[..] {
            [] => return None,
            [(folder, found)] => format!("cd {folder} && {}", found.command),
            many => {
                let one = |(folder, found): &(String, DetectedCommand)| {
                    format!("(cd {folder} && {})", found.command)
                };
                many.iter().map(one).collect::<Vec<_>>().join(" && ")
            }
        };
        Some((command, from.join(", ")))
    }

    /// The text of `ralph.toml`. `agent`: the one that ralph drives here, where that is not the default. `all`: every
    /// check is a gate, and not only a comment.
    pub(crate) fn settings(&self, agent: Option<&str>, all: bool) -> String {
        let text = self.with_checks(all);
        let text = match agent {
            Some(name) => text.replacen(FIRST, &format!("{AGENT}name = \"{name}\"\n\n{FIRST}"), 1),
            None => text,
        };
        if text == SETTINGS {
            return text;
        }
        let mark = mark(&text);
        format!("{text}\n{MARK}{mark}\n")
    }

    fn with_checks(&self, all: bool) -> String {
        let head = SETTINGS.split_once(EXAMPLE).map(|(head, _)| head);
        let Some(head) = head.filter(|_| !self.checks.is_empty()) else {
            return SETTINGS.to_owned();
        };
        let mut text = head.to_owned();
        text.push_str(match all {
            true => "#\n# ralph init found these checks in this repository.\n",
            false => {
                "#\n# ralph init found these checks in this repository. To use them as gates, remove the \"# \" below.\n"
            }
        });
        let tests = self.test_command().map(|(command, from)| ("tests", command, from));
        let others = self.checks.iter();
        let others = others.map(|check| (check.kind, check.command.clone(), check.from.clone()));
        let mut names: Vec<String> = Vec::new();
        for (kind, command, from) in tests.into_iter().chain(others) {
            let earlier = names.iter().filter(|name| name.starts_with(kind)).count();
            let name =
                if earlier == 0 { kind.to_owned() } else { format!("{kind}-{}", earlier + 1) };
            let quoted = toml::Value::String(command);
            let lines = [
                format!("# from {from}"),
                "[[gate]]".to_owned(),
                format!("name = \"{name}\""),
                format!("command = {quoted}"),
            ];
            names.push(name);
            text.push_str(if all { "\n" } else { "#\n" });
            for line in lines {
                let comment = if all || line.starts_with('#') { "" } else { "# " };
                text.push_str(&format!("{comment}{line}\n"));
            }
        }
        text
    }
}

/// Whether a `ralph.toml` is as `ralph init` wrote it, whatever it found then.
pub(super) fn is_as_written(text: &str) -> bool {
    let marked = || {
        let (before, found) = text.strip_suffix('\n')?.split_once(&format!("\n{MARK}"))?;
        Some(mark(before) == found)
    };
    text == SETTINGS || marked() == Some(true)
}

fn mark(text: &str) -> String {
    format!("{:016x}", stable_hash(text.bytes()))
}

/// Whether a shell takes the character as it is.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal() -> Proposal {
        let found = |command: &str, from: &str| DetectedCommand {
            command: command.into(),
            from: from.into(),
        };
        let check = |kind, command: &str| Check { kind, command: command.into(), from: "x".into() };
        Proposal {
            tests: vec![found("make test", "Makefile")],
            below: vec![],
            checks: vec![check("lint", "a \"b\""), check("lint", "c"), check("format", "d")],
        }
    }

    #[test]
    fn checks_are_comments_or_gates_with_names_of_their_own() {
        let comments: toml::Table = proposal().settings(None, false).parse().unwrap();
        assert!(!comments.contains_key("gate") && comments.contains_key("loop"));
        let gates: toml::Table = proposal().settings(None, true).parse().unwrap();
        let gates = gates["gate"].as_array().unwrap();
        let read = |gate: &toml::Value| {
            (
                gate["name"].as_str().unwrap().to_owned(),
                gate["command"].as_str().unwrap().to_owned(),
            )
        };
        let read: Vec<(String, String)> = gates.iter().map(read).collect();
        let expected =
            [("tests", "make test"), ("lint", "a \"b\""), ("lint-2", "c"), ("format", "d")];
        assert_eq!(read, expected.map(|(name, command)| (name.to_owned(), command.to_owned())));
        // Without the comment marks, the one text is the other.
        let uncommented =
            proposal().settings(None, false).replace("\n# [[gate]]\n# name", "\n[[gate]]\nname");
        let uncommented = uncommented.replace("\n# command", "\ncommand");
        let gates: toml::Table = uncommented.parse().unwrap();
        assert_eq!(gates["gate"].as_array().unwrap().len(), 4);
    }

    #[test]
    fn a_file_is_unchanged_until_any_byte_of_it_changes() {
        let named =
            [proposal(), Proposal::default()].map(|found| found.settings(Some("codex"), false));
        let [one, other] = named;
        assert_eq!(one.parse::<toml::Table>().unwrap()["agent"]["name"].as_str(), Some("codex"));
        let texts = [false, true].map(|all| proposal().settings(None, all));
        for text in texts.into_iter().chain([one, other, SETTINGS.to_owned()]) {
            assert!(is_as_written(&text), "{text}");
            assert!(!is_as_written(&text.replace("confirm", "trust")), "{text}");
            assert!(!is_as_written(&format!("{text}\n[loop]\n")), "{text}");
        }
        assert!(!is_as_written(&proposal().settings(None, true).replace("\"c\"", "\"e\"")));
    }

    #[test]
    fn the_tests_of_several_folders_are_one_command() {
        let found = |command: &str, from: &str| DetectedCommand {
            command: command.into(),
            from: from.into(),
        };
        let mut proposal = Proposal::default();
        assert_eq!(proposal.test_command(), None);
        proposal.below.push(("api".into(), found("go test ./...", "api/go.mod")));
        assert_eq!(
            proposal.test_command(),
            Some(("cd api && go test ./...".into(), "api/go.mod".into()))
        );
        proposal.below.push(("web".into(), found("npm test", "web/package.json")));
        assert_eq!(
            proposal.test_command(),
            Some((
                "(cd api && go test ./...) && (cd web && npm test)".into(),
                "api/go.mod, web/package.json".into()
            ))
        );
    }
}
