//! The question before files of a clone decide what runs: what they decide, in words, and what to type when there is no
//! terminal.

use std::io::{self, IsTerminal};
use std::path::Path;

use ralph_core::glob::Patterns;
use ralph_core::text::printable_line;
use ralph_core::trust::{AGENTS, SETTINGS, TrustState, Version};
use ralph_engine::asking::{self, Typed};
use ralph_engine::project::Project;
use ralph_engine::trust::{clone_source, name_of, version};
use ralph_ui::line::{TextLine, wrap};
use ralph_ui::style::{Meaning, TextStyle};

use crate::config::{Config, Origin, key};
use crate::error::{CliError, Done, Result};
use crate::exit_codes::Exit;
use crate::wiring::Context;

/// How many settings of a file are listed.
const LISTED: usize = 6;

/// A file that decides, and what it decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) file: String,
    /// A line each.
    pub(crate) says: Vec<String>,
}

/// What the files of a repository decide, the commands first.
pub(crate) fn decisions(project: &Project, config: &Config) -> Vec<Decision> {
    let mut all = Vec::new();
    if version(&project.worktree, SETTINGS) != Version::Absent {
        all.push(Decision { file: SETTINGS.to_owned(), says: settings(config) });
    }
    if let Some(command) = version(&project.worktree, AGENTS).text()
        && !command.is_empty()
    {
        all.push(Decision {
            file: AGENTS.to_owned(),
            says: vec![format!("test command: {command}")],
        });
    }
    for key in [key::PROMPTS_BUILD, key::PROMPTS_PLAN] {
        let path = project.worktree.join(config.get(key));
        let Some(file) = name_of(&project.worktree, &path) else { continue };
        let says = match version(&project.worktree, &file) {
            Version::Absent => continue,
            Version::Unreadable => "instructions for the agent, which ralph cannot read".to_owned(),
            Version::Text(text) => match text.lines().count() {
                1 => "instructions for the agent, 1 line".to_owned(),
                lines => format!("instructions for the agent, {lines} lines"),
            },
        };
        all.push(Decision { file, says: vec![says] });
    }
    all
}

fn settings(config: &Config) -> Vec<String> {
    let mut says = Vec::new();
    if matches!(config.gates_origin(), Origin::Repo(_)) {
        let gates = config.gates().iter();
        says.extend(gates.map(|gate| format!("gate {}: {}", gate.name, gate.command)));
    }
    let setup = key::GIT_WORKTREE_SETUP;
    let runs_setup =
        matches!(config.origin(setup), Origin::Repo(_)) && !config.get(setup).is_empty();
    if runs_setup {
        says.push(format!("worktree setup: {}", config.get(setup)));
    }
    let others: Vec<String> = config
        .entries()
        .filter(|entry| matches!(entry.origin, Origin::Repo(_)) && entry.key != setup.name())
        .map(|entry| format!("{} = {}", entry.key, entry.value))
        .collect();
    says.extend(others.iter().take(LISTED).cloned());
    if let Some(more) = others.len().checked_sub(LISTED).filter(|more| *more > 0) {
        says.push(format!("and {more} more settings: ralph config show"));
    }
    if says.is_empty() {
        says.push("no settings".to_owned());
    }
    says
}

/// The decisions as lines for a terminal. Nothing is truncated: the end of a command runs, too.
pub(crate) fn show(decisions: &[Decision], style: TextStyle) -> Vec<String> {
    let width = decisions.iter().map(|one| one.file.chars().count()).max().unwrap_or(0).min(30);
    let mut lines = Vec::new();
    for Decision { file, says } in decisions {
        let room = style.width.map(|all| all.saturating_sub(width + 4).max(20));
        let all = says.iter().flat_map(|output| wrap(&printable_line(output), room));
        for (at, output) in all.enumerate() {
            let file = if at == 0 { file.as_str() } else { "" };
            let line = TextLine::new().plain("  ").add(Meaning::Name, format!("{file:<width$}"));
            lines.push(format!("{}  {output}", line.show(style)));
        }
    }
    lines
}

/// The same below a sentence that says where they come from.
pub(crate) fn with_heading(
    from: Option<&str>,
    decisions: &[Decision],
    style: TextStyle,
) -> Vec<String> {
    let what = match from {
        Some(from) => format!("This clone of {}", printable_line(from)),
        None => "This repository".to_owned(),
    };
    let heading = format!("{what} has files that decide what ralph runs:");
    std::iter::once(style.paint(Meaning::Heading, heading)).chain(show(decisions, style)).collect()
}

/// Lets a run start only if the repository's files may decide: asks at a terminal, and otherwise says what to type.
pub(crate) fn require(context: &mut Context<'_>) -> Done {
    let project = context.project()?;
    let config = context.config()?;
    let decisions = decisions(&project, &config);
    if context.trust_state(!decisions.is_empty())? != TrustState::Asks {
        return Ok(());
    }
    if let Some(by) = trusted_by(&project, &config, context) {
        if context.ledger()?.0.is_kept() {
            context.approve()?;
        }
        return context.out.conclude(format!("Trusted by {by}: {}", named(&decisions)));
    }
    let from = clone_source(&project);
    if !may_ask() {
        return Err(refusal(&decisions, from.as_deref(), context));
    }
    for line in with_heading(from.as_deref(), &decisions, context.out.message_style) {
        context.out.error(line);
    }
    match ask("Trust them from now on?", context)? {
        true => context.approve(),
        false => Err(CliError::failed("the repository is not trusted; nothing was started")
            .hint("review the files, then approve them: ralph trust")),
    }
}

/// The setting, flag or variable that trusts the repository without asking.
fn trusted_by(project: &Project, config: &Config, context: &Context<'_>) -> Option<String> {
    if context.trust.given {
        return Some("--trust".to_owned());
    }
    if context
        .environment
        .get("RALPH_TRUST")
        .is_some_and(|value| matches!(value, "1" | "true" | "yes"))
    {
        return Some("RALPH_TRUST".to_owned());
    }
    let home = context.environment.home.as_deref();
    let paths = config.get(key::TRUST_PATHS);
    let path = paths.into_iter().find(|path| covers(path, &project.root, home))?;
    Some(format!("trust.paths ({path})"))
}

/// Whether an entry of `trust.paths` names a folder or one of its parents.
fn covers(entry: &str, folder: &Path, home: Option<&Path>) -> bool {
    let entry = match (entry.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => entry.into(),
    };
    if !entry.is_absolute() {
        return false;
    }
    if entry.canonicalize().is_ok_and(|entry| folder.starts_with(entry)) {
        return true;
    }
    let relative = |path: &Path| path.to_str().map(|text| text.trim_start_matches('/').to_owned());
    let (Some(entry), Some(folder)) = (entry.to_str(), relative(folder)) else { return false };
    entry.contains('*') && Patterns::read([entry]).is_ok_and(|all| all.matches(&folder))
}

fn named(decisions: &[Decision]) -> String {
    let files: Vec<&str> = decisions.iter().map(|one| one.file.as_str()).collect();
    files.join(", ")
}

fn refusal(decisions: &[Decision], from: Option<&str>, context: &Context<'_>) -> CliError {
    let what = match from {
        Some(_) => "this clone",
        None => "this repository",
    };
    let text = format!(
        "{what} has files that decide what ralph runs, and you have not approved them: {}",
        named(decisions)
    );
    CliError::failed(text)
        .excerpt(show(decisions, context.out.message_style).join("\n"))
        .hint("review and approve them: ralph trust")
        .hint("in a script: ralph trust --yes, the option --trust, or RALPH_TRUST=1")
}

/// Whether there is a terminal to ask at.
pub(crate) fn may_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question at the terminal.
pub(crate) fn ask(question: &str, context: &mut Context<'_>) -> Result<bool> {
    context.out.prompt(&format!("{question} [y/N] "));
    let typed = asking::line()?;
    if !matches!(typed, Typed::Line(_)) {
        context.out.error("");
    }
    match typed {
        Typed::Line(line) => Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes")),
        Typed::End => Ok(false),
        Typed::Interrupted => Err(CliError::new(Exit::Cancelled, "interrupted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_trusted_by_itself_by_one_above_it_and_by_a_pattern() {
        let home = Path::new("/home/ada");
        let folder = Path::new("/home/ada/work/shop");
        for (entry, covered) in [
            ("/home/ada/work/*", true),
            ("~/work/*", true),
            ("/home/*/work", true),
            ("/home/ada/play/*", false),
            ("work/*", false),
            ("*", false),
            ("~bob/work/*", false),
        ] {
            assert_eq!(covers(entry, folder, Some(home)), covered, "{entry}");
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (above, inside) = (folder.parent().unwrap(), folder.join("repo"));
        assert!(covers(folder.to_str().unwrap(), &inside, None));
        assert!(covers(above.to_str().unwrap(), &inside, None));
        assert!(!covers(folder.to_str().unwrap(), above, None));
        let beside = format!("{}x", folder.display());
        assert!(!covers(folder.to_str().unwrap(), Path::new(&beside), None));
    }
}
