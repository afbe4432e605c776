//! Undoes `ralph init`: removes files that are unchanged, removes ralph's additions from the user's files, and keeps
//! everything that the user has changed since.

use std::path::PathBuf;

use ralph_core::agents_md;
use ralph_engine::agents::{AGENTS, HookFile};
use ralph_engine::project::{Project, write_atomically};

use super::files::{every_file, skill_folders};
use super::hooks;
use super::install::{Did, Step, agents_section, is_as_written, read_target, unlinked};
use super::propose::Proposal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Remove it: all of it is ralph's.
    Remove,
    /// Write this text, without ralph's additions.
    Rewrite(String),
    Keep(String),
}

/// Every existing file of `ralph init`, by its path in the worktree.
pub(crate) fn undo(project: &Project) -> Vec<(String, Undo)> {
    let base = project.worktree.as_path();
    let mut found = Vec::new();
    for (path, _) in every_file() {
        if base.join(&path).symlink_metadata().is_err() {
            continue;
        }
        let undo = match is_as_written(project, &path) {
            true => Undo::Remove,
            false => Undo::Keep("you have changed it since `ralph init`".to_owned()),
        };
        found.push((path, undo));
    }
    let text =
        |path: &str| unlinked(base, path).and_then(|_| read_target(base, path)).unwrap_or_default();
    // A project that has grown shows another command today than at first.
    let proposal = Proposal::of(project);
    let commands = proposal.tests.iter().map(|found| found.command.clone());
    let commands: Vec<String> =
        commands.chain(proposal.test_command().map(|(command, _)| command)).collect();
    let agents = text("AGENTS.md").and_then(|text| without_section(&text, &commands));
    found.extend(agents.map(|undo| ("AGENTS.md".to_owned(), undo)));
    for hook in AGENTS.iter().filter_map(|agent| agent.conventions.hooks) {
        let undo = text(hook.path).and_then(|text| without_hooks(&text, &hook));
        found.extend(undo.map(|undo| (hook.path.to_owned(), undo)));
    }
    found
}

/// `ralph init --undo`: removes what `ralph init` wrote and leaves tasks, logs and saved work alone.
pub(super) fn undo_all(project: &Project) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (path, undo) in undo(project) {
        let did = match (apply(project, &path, &undo), &undo) {
            (Err(why), _) => Did::Refused(why),
            (Ok(()), Undo::Keep(why)) => Did::Stays(why.clone()),
            (Ok(()), Undo::Remove) => Did::Removed,
            (Ok(()), Undo::Rewrite(_)) => Did::Updated,
        };
        steps.push(Step { path, did });
    }
    let here = skill_folders().into_iter().map(|name| project.worktree.join(name));
    let shared = [".ralph/features", ".ralph/skills", ".ralph"].map(|name| project.root.join(name));
    let folders: Vec<PathBuf> = here.chain(shared).collect();
    for folder in folders.iter().filter(|folder| folder.is_dir() && !folder.is_symlink()) {
        // A folder that is not empty stays.
        if std::fs::remove_dir(folder).is_ok() {
            let path = folder.strip_prefix(&project.worktree).unwrap_or(folder);
            steps.push(Step { path: format!("{}/", path.display()), did: Did::Removed });
        }
    }
    let did = match project.excludes_state() {
        Ok(false) => None,
        // Without its lines, git would show what is left there.
        _ if project.ralph_dir().exists() => Some(Did::Stays(
            "ralph's tasks and logs are still there: ralph clean --everything".into(),
        )),
        Ok(true) => Some(match project.include_state(&[]) {
            Ok(()) => Did::Updated,
            Err(error) => Did::Refused(error.to_string()),
        }),
        Err(error) => Some(Did::Refused(error.to_string())),
    };
    steps.extend(did.map(|did| Step { path: ".git/info/exclude".to_owned(), did }));
    steps
}

pub(crate) fn apply(project: &Project, path: &str, undo: &Undo) -> Result<(), String> {
    let real = unlinked(&project.worktree, path)?;
    match undo {
        Undo::Keep(_) => Ok(()),
        Undo::Remove => std::fs::remove_file(&real).map_err(|error| error.to_string()),
        Undo::Rewrite(text) => write_atomically(&real, text).map_err(|error| error.to_string()),
    }
}

/// `AGENTS.md` without the section that ralph added. `found` are the commands that it would write today.
fn without_section(text: &str, found: &[String]) -> Option<Undo> {
    let unix = text.replace("\r\n", "\n");
    let command = agents_md::test_command(&unix)?;
    let sections = [false, true].map(|named| agents_section(&command, named));
    let (before, after) = sections.iter().find_map(|section| unix.split_once(section.as_str()))?;
    if !command.is_empty() && !found.contains(&command) {
        return Some(Undo::Keep("its test command is yours".to_owned()));
    }
    if before.trim() == "# Notes for agents" && after.trim().is_empty() {
        return Some(Undo::Remove);
    }
    // What you have added below the section moves up, with the blank line that was above the section.
    let rest = match after.is_empty() {
        true => before.strip_suffix('\n').unwrap_or(before).to_owned(),
        false => format!("{before}{}", after.strip_prefix('\n').unwrap_or(after)),
    };
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(Undo::Rewrite(rest.replace('\n', end)))
}

fn without_hooks(text: &str, of: &HookFile) -> Option<Undo> {
    let rest = hooks::without_hooks(text, of.events)?;
    match rest.trim() {
        "{}" | "{\n}" => Some(Undo::Remove),
        _ => Some(Undo::Rewrite(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::install::with_test_command;
    use super::*;

    const HOOKS: HookFile = HookFile {
        path: "settings.json",
        events: &[("SessionEnd", "session-end"), ("PreCompact", "pre-compact")],
    };

    #[test]
    fn what_was_added_to_agents_md_goes_and_nothing_else() {
        let found = ["cargo test".to_owned(), "make test".to_owned()];
        for before in ["# Rules\n\nBe kind.\n", "a\r\n", "## Build & Test\n\nmake\n"] {
            let after = with_test_command(Some(before), "make test").unwrap();
            let rewritten = |text: &str| Some(Undo::Rewrite(text.to_owned()));
            assert_eq!(without_section(&after, &found), rewritten(before), "{after}");
            assert_eq!(without_section(before, &found), None);
            let changed = after.replace("make test", "make all");
            assert!(matches!(without_section(&changed, &found), Some(Undo::Keep(_))));
            let end = if before.contains("\r\n") { "\r\n" } else { "\n" };
            let more = format!("{after}{end}Mine.{end}");
            let rest = format!("{before}{end}Mine.{end}");
            assert_eq!(without_section(&more, &found), rewritten(&rest), "{more}");
        }
        let new = with_test_command(None, "").unwrap();
        assert_eq!(without_section(&new, &found), Some(Undo::Remove));
    }

    #[test]
    fn ralphs_hooks_go_and_yours_stay() {
        let only = hooks::with_hooks(None, HOOKS.events, false).unwrap().unwrap();
        assert_eq!(without_hooks(&only, &HOOKS), Some(Undo::Remove));
        for before in [
            "{\n\t\"z\": 1.50e1,\n\t\"a\": [ 1,2 ]\n}\n",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  }\n}\n",
            "{\n  \"hooks\": {\n    \"SessionEnd\": [\n      {\n        \"matcher\": \"x\"\n      }\n    ]\n  },\n  \"b\": 2\n}\n",
        ] {
            let after = hooks::with_hooks(Some(before), HOOKS.events, false).unwrap().unwrap();
            assert_eq!(
                without_hooks(&after, &HOOKS),
                Some(Undo::Rewrite(before.to_owned())),
                "{after}"
            );
            assert_eq!(without_hooks(before, &HOOKS), None);
        }
        // On one line the blanks differ, and nothing else.
        let before = r#"{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"hooks":[]}]}}"#;
        let after = hooks::with_hooks(Some(before), HOOKS.events, false).unwrap().unwrap();
        let Some(Undo::Rewrite(back)) = without_hooks(&after, &HOOKS) else { panic!("{after}") };
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&back), read(before));
        assert_eq!(without_hooks("nonsense", &HOOKS), None);
    }
}
