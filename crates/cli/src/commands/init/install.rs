//! The files of `ralph init`, as steps that can also be inspected without being carried out.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::agents_md;
use ralph_engine::agents::Profile;
use ralph_engine::project::{Project, write_atomically};
use ralph_engine::prompts::InitFile;
use ralph_engine::untrusted;
use ralph_engine::worktree_files;

use super::files::{COMMON, every_file, of_agents};
use super::hooks;
use super::propose;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// None: only report what would be done.
    Look,
    Add,
    /// Missing files and all of ralph's own files.
    Force,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    Made,
    Kept,
    Updated,
    Removed,
    /// It is not removed, and why.
    Stays(String),
    /// It cannot be written, and why.
    Refused(String),
}

impl Did {
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Kept => "kept",
            Self::Updated => "updated",
            Self::Removed => "removed",
            Self::Stays(_) => "stays",
            Self::Refused(_) => "refused",
        }
    }

    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Self::Stays(why) | Self::Refused(why) => Some(why),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Relative to the top of the worktree, if it is inside it.
    pub(crate) path: String,
    pub(crate) did: Did,
}

/// Whether a file contains exactly what `ralph init` writes, or what an earlier version wrote. A link never does: it is
/// the user's.
pub(crate) fn is_as_written(project: &Project, path: &str) -> bool {
    let Some((_, text)) = every_file().into_iter().find(|(ours, _)| ours == path) else {
        return false;
    };
    let wrote = |found: &str| match path {
        "PROMPT_build.md" => InitFile::Build.wrote(found),
        "PROMPT_plan.md" => InitFile::Plan.wrote(found),
        "ralph.toml" => propose::is_as_written(found),
        _ => found == text,
    };
    let base = &project.worktree;
    unlinked(base, path).is_ok()
        && read_target(base, path).is_ok_and(|found| found.as_deref().is_some_and(wrote))
}

/// Processes the files of every project and of these agents, with this text of `ralph.toml`. If one cannot be written,
/// the others still are.
pub(crate) fn install(
    project: &Project,
    mode: Mode,
    agents: &[&Profile],
    settings: &str,
    test_command: &str,
) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = |path: &str, did: Result<Did, String>| {
        let did = did.unwrap_or_else(Did::Refused);
        steps.push(Step { path: path.to_owned(), did });
    };
    let base = project.worktree.as_path();
    let common = COMMON.iter().enumerate().map(|(index, (path, text))| {
        let text = if index == 0 { settings } else { text };
        ((*path).to_owned(), text.to_owned())
    });
    for (path, text) in common.chain(of_agents(agents)) {
        let wanted = |before: Option<&str>| {
            let stays = before.is_some_and(|before| mode != Mode::Force || before == text);
            Ok((!stays).then(|| text.clone()))
        };
        step(&path, file(base, &path, mode, wanted));
    }
    let notes = |before: Option<&str>| Ok(with_test_command(before, test_command));
    step("AGENTS.md", file(base, "AGENTS.md", mode, notes));
    for hook in agents.iter().filter_map(|agent| agent.conventions.hooks) {
        let settings =
            |before: Option<&str>| hooks::with_hooks(before, hook.events, mode == Mode::Force);
        step(hook.path, file(base, hook.path, mode, settings));
    }
    for name in [".ralph/features", ".ralph/skills"] {
        step(&shown(project, name), folder(&project.root, name, mode));
    }
    step(&shown(project, ".git/info/exclude"), exclude(project, mode));
    steps
}

/// A path in the main worktree, relative to the current one.
fn shown(project: &Project, path: &str) -> String {
    if project.root == project.worktree {
        path.to_owned()
    } else {
        project.root.join(path).display().to_string()
    }
}

/// The path of `relative` in `base`, or an error if a link is on the way: a repository is not always the user's own
/// work, so ralph never writes through a link, wherever it leads.
pub(super) fn unlinked(base: &Path, relative: &str) -> Result<PathBuf, String> {
    match untrusted::refuse_links(base, Path::new(relative)) {
        Ok(()) => Ok(base.join(relative)),
        Err((link, target)) => {
            let link = link.strip_prefix(base).unwrap_or(&link);
            let what = match link == Path::new(relative) {
                true => "it".to_owned(),
                false => link.display().to_string(),
            };
            Err(format!(
                "{what} is a symbolic link to {}; ralph does not write through links, so edit that file yourself",
                target.display()
            ))
        }
    }
}

/// The text of a file, or `None` if it does not exist. Follows a committed link within the repository.
pub(super) fn read_target(base: &Path, relative: &str) -> Result<Option<String>, String> {
    match worktree_files::read_text(base, Path::new(relative), untrusted::DOCUMENT) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err("it is not UTF-8 text".to_owned())
        }
        read => read.map_err(|error| error.to_string()),
    }
}

/// Writes the text that `wanted` returns for the current one, if any.
fn file(
    base: &Path,
    path: &str,
    mode: Mode,
    wanted: impl FnOnce(Option<&str>) -> Result<Option<String>, String>,
) -> Result<Did, String> {
    let real = unlinked(base, path);
    let before = match read_target(base, path) {
        // The target of a link matters only if ralph would write to it.
        Err(_) if real.is_err() => None,
        before => before?,
    };
    let Some(text) = wanted(before.as_deref())? else {
        return Ok(Did::Kept);
    };
    let real = real?;
    if mode != Mode::Look {
        write_atomically(&real, &text).map_err(|error| format!("it cannot be written: {error}"))?;
    }
    Ok(if before.is_some() { Did::Updated } else { Did::Made })
}

fn folder(base: &Path, path: &str, mode: Mode) -> Result<Did, String> {
    let real = unlinked(base, path)?;
    if real.is_dir() {
        return Ok(Did::Kept);
    }
    if mode != Mode::Look {
        std::fs::create_dir_all(&real).map_err(|error| format!("it cannot be created: {error}"))?;
    }
    Ok(Did::Made)
}

fn exclude(project: &Project, mode: Mode) -> Result<Did, String> {
    let text = |error: ralph_engine::project::ProjectError| error.to_string();
    if project.excludes_state().map_err(text)? {
        return Ok(Did::Kept);
    }
    let was_there = project.git_dir.join("info/exclude").exists();
    if mode != Mode::Look {
        project.exclude_state().map_err(text)?;
    }
    Ok(if was_there { Did::Updated } else { Did::Made })
}

/// The heading of the section that ralph adds to `AGENTS.md`.
const HEADING: &str = "## Build & Test";

/// That section. `named`: another section has the same heading.
pub(super) fn agents_section(command: &str, named: bool) -> String {
    format!(
        "{HEADING}{}\n\nThe loop runs this after every session. Work counts as done when it ends with exit code 0;\n\
         left empty, nothing is run.\n\n```sh\n{}\n```\n",
        if named { " (ralph)" } else { "" },
        agents_md::test_command_line(command)
    )
}

/// `AGENTS.md` with a test command at its end, or `None` when it has one.
pub(super) fn with_test_command(before: Option<&str>, command: &str) -> Option<String> {
    if before.is_some_and(|text| agents_md::test_command(text).is_some()) {
        return None;
    }
    let before = before.unwrap_or_default();
    let has_heading = before.lines().any(|line| line.trim_end() == HEADING);
    let section = agents_section(command, has_heading);
    if before.trim().is_empty() {
        return Some(format!("# Notes for agents\n\n{section}"));
    }
    let end = if before.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match before {
        text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    Some(format!("{before}{gap}{}", section.replace('\n', end)))
}

#[cfg(test)]
mod tests {
    use super::super::files::SKILLS;
    use super::*;

    #[test]
    fn agents_md_is_only_added_to_and_only_once() {
        for before in
            ["# Rules\n\nBe kind.\n", "no line end", "a\r\n", "## Build & Test\n\nmake\n\n", ""]
        {
            let after = with_test_command(Some(before), "make test").unwrap();
            assert!(after.starts_with(before), "{after}");
            assert_eq!(agents_md::test_command(&after).as_deref(), Some("make test"));
            assert_eq!(with_test_command(Some(&after), "other"), None);
            assert_eq!(after.contains("## Build & Test (ralph)"), before.contains("## Build"));
            assert_eq!(after.contains("\r\n"), before.contains("\r\n"));
        }
        // A code block that was never closed.
        let after = with_test_command(Some("```\nx\n"), "make").unwrap();
        assert_eq!(agents_md::test_command(&after).as_deref(), Some("make"));
        assert!(with_test_command(None, "").unwrap().contains("TEST_COMMAND=\"\"\n"));
        assert_eq!(with_test_command(Some("```\nTEST_COMMAND=\"\"\n```\n"), "make"), None);
    }

    /// An agent that is called with a skill reads all of it.
    #[test]
    fn a_skill_stays_below_1500_tokens() {
        let sizes = SKILLS.map(|(_, text)| ralph_core::attempt::prompt::tokens(text));
        assert!(sizes.iter().all(|size| *size < 1_500), "{sizes:?}");
    }

    #[test]
    fn s0_16_the_build_skill_leaves_completion_to_the_loop() {
        let build = include_str!("ralph-build.md");
        for part in [
            "Do not judge whether the plan as a whole is complete",
            "The loop decides when it ends",
            "Do not start a second task",
            "$ARGUMENTS",
        ] {
            assert!(build.replace("\n  ", " ").contains(part), "{part}");
        }
        assert!(!build.contains("plan-status") && !build.contains("Tastes Like Burning"));
        assert!(!build.contains("COMPLETE"));
    }

    #[test]
    fn s0_6_the_build_skill_claims_a_task_of_its_choice() {
        let build = include_str!("ralph-build.md");
        for part in ["claim ID", "done ID --result", "fail ID --reason", "ask ID"] {
            assert!(build.contains(&format!("`ralph task {part}")), "{part}");
        }
    }

    /// Every command in the build skill works in a session: the session request handler accepts them by these names.
    #[test]
    fn the_build_skill_names_only_commands_that_a_session_may_use() {
        let build = include_str!("ralph-build.md");
        let named = build.match_indices("`ralph task ").map(|(at, found)| {
            let rest = &build[at + found.len()..];
            rest.split([' ', '`']).next().unwrap_or_default()
        });
        for command in named {
            let may = ["peek", "claim", "renew", "done", "fail", "ask", "add", "log"];
            assert!(may.contains(&command) || command.is_empty(), "{command}");
        }
    }

    #[test]
    fn s0_14_only_the_planner_ends_with_the_promise() {
        for (path, text) in every_file() {
            let promises = text.contains("<promise>Tastes Like Burning.</promise>");
            assert_eq!(promises, path.contains("ralph-plan"), "{path}");
        }
    }

    #[test]
    fn skills_have_a_name_and_a_description() {
        for (name, text) in SKILLS {
            let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
            let (front, body) = front.unwrap();
            assert!(front.starts_with(&format!("name: {name}\ndescription: ")), "{name}");
            assert!(front.lines().all(|line| line.len() < 1024) && body.len() < 5_000, "{name}");
        }
    }
}
