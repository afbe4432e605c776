//! Undoes `ralph init`: removes files that are unchanged, removes ralph's additions from the user's files, and keeps
//! everything that the user has changed since.

use ralph_core::agents_md;
use ralph_engine::project::{Project, write_atomically};

use super::install::{OURS, SETTINGS, agents_section, found_commands, is_as_written};
use super::{hooks, place};

/// What to do with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Remove it: all of it is ralph's.
    Remove,
    /// Write this text, without ralph's additions.
    Rewrite(String),
    /// Keep it, for this reason.
    Keep(String),
}

/// Every existing file of `ralph init`, by its path in the worktree.
pub(crate) fn undo(project: &Project) -> Vec<(&'static str, Undo)> {
    let base = project.worktree.as_path();
    let mut found = Vec::new();
    for (path, _) in OURS {
        if base.join(path).symlink_metadata().is_err() {
            continue;
        }
        let undo = match is_as_written(project, path) {
            true => Undo::Remove,
            false => Undo::Keep("you have changed it since `ralph init`".to_owned()),
        };
        found.push((path, undo));
    }
    let text = |path| {
        place::unlinked(base, path).and_then(|_| place::read(base, path)).unwrap_or_default()
    };
    let commands = found_commands(project);
    let command = commands.first().map_or("", |found| found.command.as_str());
    let agents = text("AGENTS.md").and_then(|text| without_section(&text, command));
    found.extend(agents.map(|undo| ("AGENTS.md", undo)));
    found.extend(text(SETTINGS).and_then(|text| without_hooks(&text)).map(|undo| (SETTINGS, undo)));
    found
}

/// Carries one out.
pub(crate) fn apply(project: &Project, path: &str, undo: &Undo) -> Result<(), String> {
    let real = place::unlinked(&project.worktree, path)?;
    match undo {
        Undo::Keep(_) => Ok(()),
        Undo::Remove => std::fs::remove_file(&real).map_err(|error| error.to_string()),
        Undo::Rewrite(text) => write_atomically(&real, text).map_err(|error| error.to_string()),
    }
}

/// `AGENTS.md` without the section that ralph added. `found` is the command that it would write today.
fn without_section(text: &str, found: &str) -> Option<Undo> {
    let unix = text.replace("\r\n", "\n");
    let command = agents_md::test_command(&unix)?;
    let sections = [false, true].map(|named| agents_section(&command, named));
    let section = sections.iter().find(|section| unix.contains(section.as_str()))?;
    if !command.is_empty() && command != found {
        return Some(Undo::Keep("its test command is yours".to_owned()));
    }
    let rest = unix.strip_suffix(section.as_str());
    let Some(rest) = rest else {
        return Some(Undo::Keep("you have added to it after ralph's section".to_owned()));
    };
    if rest.trim() == "# Notes for agents" {
        return Some(Undo::Remove);
    }
    let rest = rest.strip_suffix('\n').unwrap_or(rest);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(Undo::Rewrite(rest.replace('\n', end)))
}

fn without_hooks(text: &str) -> Option<Undo> {
    let rest = hooks::without_hooks(text)?;
    match rest.trim() {
        "{}" | "{\n}" => Some(Undo::Remove),
        _ => Some(Undo::Rewrite(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::install::with_test_command;
    use super::*;

    #[test]
    fn what_was_added_to_agents_md_goes_and_nothing_else() {
        for before in ["# Rules\n\nBe kind.\n", "a\r\n", "## Build & Test\n\nmake\n"] {
            let after = with_test_command(Some(before), "make test").unwrap();
            assert_eq!(
                without_section(&after, "make test"),
                Some(Undo::Rewrite(before.to_owned())),
                "{after}"
            );
            assert_eq!(without_section(before, "make test"), None);
            let changed = after.replace("make test", "make all");
            assert!(matches!(without_section(&changed, "make test"), Some(Undo::Keep(_))));
            let more = format!("{after}\nMine.\n");
            assert!(matches!(without_section(&more, "make test"), Some(Undo::Keep(_))), "{more}");
        }
        let new = with_test_command(None, "").unwrap();
        assert_eq!(without_section(&new, "make test"), Some(Undo::Remove));
    }

    #[test]
    fn ralphs_hooks_go_and_yours_stay() {
        let only = hooks::with_hooks(None, false).unwrap().unwrap();
        assert_eq!(without_hooks(&only), Some(Undo::Remove));
        for before in [
            "{\n\t\"z\": 1.50e1,\n\t\"a\": [ 1,2 ]\n}\n",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  }\n}\n",
            "{\n  \"hooks\": {\n    \"SessionEnd\": [\n      {\n        \"matcher\": \"x\"\n      }\n    ]\n  },\n  \"b\": 2\n}\n",
        ] {
            let after = hooks::with_hooks(Some(before), false).unwrap().unwrap();
            assert_eq!(without_hooks(&after), Some(Undo::Rewrite(before.to_owned())), "{after}");
            assert_eq!(without_hooks(before), None);
        }
        // On one line the blanks differ, and nothing else.
        let before = r#"{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"hooks":[]}]}}"#;
        let after = hooks::with_hooks(Some(before), false).unwrap().unwrap();
        let Some(Undo::Rewrite(back)) = without_hooks(&after) else { panic!("{after}") };
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&back), read(before));
        assert_eq!(without_hooks("nonsense"), None);
    }
}
