//! `ralph trust`: shows changes that wait for the user's approval, and records the approval.

use std::path::Path;

use clap::Args;
use ralph_core::digest::sha256;
use ralph_core::text::printable_line;
use ralph_core::trust::{AGENTS, Approval, FOUND, Ledger, TrustState, Version};
use ralph_engine::git::text_patch;
use ralph_engine::project::Project;
use ralph_engine::trust::{clone_source, version};
use ralph_engine::untrusted;
use ralph_engine::worktree_files;
use ralph_ui::style::{Meaning, TextStyle};

use crate::error::{CliError, Done, Result};
use crate::trust::{self, Decision};
use crate::wiring::{Context, found_command, out_of_reach, unwritable};

/// Show and approve files that decide what ralph runs
///
/// ralph.toml, the test command in AGENTS.md, prompts and gates decide what runs. In a clone with such files ralph
/// asks you once. If a session changes one of them, ralph uses your last version until you approve the change. Your
/// own edits, commits and pulls need no approval.
///
/// Without options, ralph shows the changes that wait for your approval as a diff, and asks.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph trust\n  ralph trust ralph.toml --yes\n  ralph trust --list\n  ralph trust --revoke"
)]
pub(crate) struct TrustArgs {
    /// Only these files [default: all that wait for approval]
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Approve without asking
    #[arg(short, long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List the files that decide and those that wait for approval, and change nothing
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Revoke the approval of this repository: ralph asks before the next run
    #[arg(long, conflicts_with = "files")]
    revoke: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A file with a version that a session wrote.
struct Waiting {
    name: String,
    /// The version that ralph uses meanwhile, and the current one; neither for a protected file.
    versions: Option<(Version, Version)>,
}

struct State {
    project: Project,
    trust_state: TrustState,
    from: Option<String>,
    decisions: Vec<Decision>,
    waiting: Vec<Waiting>,
}

pub(crate) fn cmd_trust(args: &TrustArgs, context: &mut Context<'_>) -> Done {
    if context.is_inside() {
        return Err(out_of_reach());
    }
    context.trust.silent = true;
    let mut state = state(context)?;
    if args.revoke {
        return revoke(args.json, context);
    }
    if args.list {
        return list(&state, args.json, context);
    }
    if !args.files.is_empty() {
        only(&args.files, &mut state)?;
    }
    let asks = state.trust_state == TrustState::Asks && args.files.is_empty();
    if !asks && state.waiting.is_empty() {
        return nothing(&state, args.json, context);
    }
    if !args.json {
        describe(&state, asks, context)?;
    }
    if !args.yes && !confirmed(args.json, context)? {
        return Err(CliError::failed("not approved; nothing was changed")
            .hint("approve it without asking: ralph trust --yes"));
    }
    approve(&state, asks, context)?;
    if args.json {
        return context.out.json(&json(&state, true));
    }
    context.out.conclude(match state.waiting.len() {
        _ if asks => "Approved. ralph does not ask again in this repository.".to_owned(),
        1 => "Approved 1 file. The next run uses it.".to_owned(),
        many => format!("Approved {many} files. The next run uses them."),
    })
}

fn state(context: &mut Context<'_>) -> Result<State> {
    let project = context.project()?;
    let config = context.config()?;
    let decisions = trust::decisions(&project, &config);
    let (_, ledger) = context.ledger()?;
    let waiting = waiting(&project, ledger);
    let trust_state = context.trust_state(!decisions.is_empty())?;
    let from = clone_source(&project);
    Ok(State { project, trust_state, from, decisions, waiting })
}

/// The changes in this worktree that wait for approval.
fn waiting(project: &Project, ledger: &Ledger) -> Vec<Waiting> {
    let mut all = Vec::new();
    for name in ledger.files.keys() {
        let now = match name.as_str() {
            FOUND => Version::of(found_command()(&project.worktree)),
            name => version(&project.worktree, name),
        };
        if let Some(used) = ledger.instead_of(name, &now) {
            all.push(Waiting { name: name.clone(), versions: Some((used, now)) });
        }
    }
    for path in ledger.protected.keys() {
        if ledger.is_touched(path, &content(project, path)) {
            all.push(Waiting { name: path.clone(), versions: None });
        }
    }
    all
}

/// Stands for the content of a protected file.
fn content(project: &Project, path: &str) -> String {
    let read = worktree_files::read(&project.worktree, Path::new(path), untrusted::ANY);
    read.map_or_else(|_| Version::Absent.digest(), |bytes| sha256(&bytes))
}

fn only(files: &[String], state: &mut State) -> Done {
    for file in files {
        if !state.waiting.iter().any(|one| one.name == *file) {
            return Err(failed!("{file} does not wait for approval")
                .hint("see the files that do: ralph trust --list"));
        }
    }
    state.waiting.retain(|one| files.contains(&one.name));
    Ok(())
}

fn revoke(json: bool, context: &mut Context<'_>) -> Done {
    let (trust, _) = context.ledger()?;
    let written = trust.set_approval(Approval::Revoked);
    written.map_err(|error| unwritable(trust, &error))?;
    if json {
        return context.out.json(&serde_json::json!({"standing": "asks"}));
    }
    context
        .out
        .conclude("Revoked. ralph asks before it runs anything from this repository's files.")
}

fn approve(state: &State, asks: bool, context: &mut Context<'_>) -> Done {
    if asks {
        context.approve()?;
    }
    let (trust, _) = context.ledger()?;
    let written = trust.update(|ledger| {
        for Waiting { name, versions } in &state.waiting {
            match versions {
                Some((_, now)) => ledger.approve(name, now),
                None => ledger.accept_touched(name, &content(&state.project, name)),
            }
        }
    });
    written.map_err(|error| unwritable(trust, &error))?;
    context.reread_trust();
    Ok(())
}

fn confirmed(json: bool, context: &mut Context<'_>) -> Result<bool> {
    if json || !trust::may_ask() {
        return Err(CliError::failed("ralph cannot ask without a terminal; nothing was changed")
            .hint("approve the changes above: ralph trust --yes"));
    }
    trust::ask("Approve?", context)
}

/// Nothing waits for approval: lists the files that decide.
fn nothing(state: &State, json_wanted: bool, context: &mut Context<'_>) -> Done {
    if json_wanted {
        return context.out.json(&json(state, false));
    }
    context.out.line("Nothing waits for your approval.")?;
    if state.decisions.is_empty() {
        return context.out.line("No file here decides what ralph runs.");
    }
    let why = match (state.trust_state, &state.from) {
        (TrustState::Approved, _) => "You approved this repository.",
        _ => "This repository was created here, so its files are yours.",
    };
    context.out.line(format!("{why} These files decide what ralph runs:"))?;
    for line in trust::show(&state.decisions, context.out.style) {
        context.out.line(line)?;
    }
    Ok(())
}

/// Shows what the user is about to approve.
fn describe(state: &State, asks: bool, context: &mut Context<'_>) -> Done {
    let style = context.out.style;
    if asks {
        for line in trust::with_heading(state.from.as_deref(), &state.decisions, style) {
            context.out.line(line)?;
        }
    }
    for (at, one) in state.waiting.iter().enumerate() {
        if at > 0 || asks {
            context.out.line("")?;
        }
        for line in difference(one, style)? {
            context.out.line(line)?;
        }
    }
    Ok(())
}

/// A file that waits for approval, with its diff from the version that ralph uses.
fn difference(one: &Waiting, style: TextStyle) -> Result<Vec<String>> {
    let name = style.paint(Meaning::Heading, printable_line(title(&one.name)));
    let Some((used, now)) = &one.versions else {
        let see = format!("git log -p -2 -- {}", one.name);
        return Ok(vec![
            format!("{name}: a session changed this protected file"),
            format!("  see the change: {}", style.paint(Meaning::Name, see)),
        ]);
    };
    let says = match (used, now) {
        (Version::Text(_), Version::Text(_)) => "a session changed it",
        (_, Version::Text(_)) => "a session added it",
        (_, Version::Absent) => "a session removed it",
        (_, Version::Unreadable) => "a session replaced it with something that ralph cannot read",
    };
    let mut lines = vec![format!("{name}: {says}; ralph uses your last version")];
    let text = |version: &Version| match version.text() {
        Some(text) if text.ends_with('\n') || text.is_empty() => text.to_owned(),
        Some(text) => format!("{text}\n"),
        None => String::new(),
    };
    let patch = text_patch(&text(used), &text(now))?;
    lines.extend(patch.lines().map(|line| {
        // Git names the function around a hunk, which means nothing in these files.
        let line = match line.strip_prefix("@@ ").and_then(|rest| rest.find(" @@")) {
            Some(end) => &line[..end + 6],
            None => line,
        };
        let meaning = match line.as_bytes().first() {
            Some(b'+') => Meaning::Good,
            Some(b'-') => Meaning::Bad,
            Some(b'@') => Meaning::Faint,
            _ => return format!("  {}", printable_line(line)),
        };
        format!("  {}", style.paint(meaning, printable_line(line)))
    }));
    Ok(lines)
}

fn title(name: &str) -> &str {
    match name {
        AGENTS => "test command in AGENTS.md",
        name => name,
    }
}

fn list(state: &State, json_wanted: bool, context: &mut Context<'_>) -> Done {
    if json_wanted {
        return context.out.json(&json(state, false));
    }
    let style = context.out.style;
    let says = match (state.trust_state, &state.from) {
        (TrustState::Asks, Some(from)) => {
            format!("This clone of {} is not approved: ralph trust", printable_line(from))
        }
        (TrustState::Asks, None) => {
            "You revoked the approval of this repository: ralph trust".to_owned()
        }
        (TrustState::Approved, _) => "You approved this repository.".to_owned(),
        (TrustState::Yours, _) if state.decisions.is_empty() => {
            "No file here decides what ralph runs.".to_owned()
        }
        (TrustState::Yours, _) => {
            "This repository was created here, so its files are yours.".to_owned()
        }
    };
    context.out.line(says)?;
    for line in trust::show(&state.decisions, style) {
        context.out.line(line)?;
    }
    for one in &state.waiting {
        let word = style.paint(Meaning::Warning, "waits");
        let name = printable_line(title(&one.name));
        context.out.line(format!("  {word}  {name}: a session changed it (ralph trust)"))?;
    }
    Ok(())
}

fn json(state: &State, approved: bool) -> serde_json::Value {
    let trust_state = match state.trust_state {
        TrustState::Asks if approved => "approved",
        TrustState::Asks => "asks",
        TrustState::Approved => "approved",
        TrustState::Yours => "yours",
    };
    let files: Vec<serde_json::Value> = state
        .decisions
        .iter()
        .map(|one| serde_json::json!({"path": one.file, "decides": one.says}))
        .collect();
    let waiting: Vec<serde_json::Value> = state
        .waiting
        .iter()
        .map(|one| {
            let text = |version: &Version| version.text().map(str::to_owned);
            let (used, now) =
                one.versions.as_ref().map_or((None, None), |(u, n)| (text(u), text(n)));
            serde_json::json!({
                "path": one.name, "protected": one.versions.is_none(), "used": used, "now": now,
            })
        })
        .collect();
    let key = if approved { "approved" } else { "waiting" };
    serde_json::json!({
        "standing": trust_state, "cloned_from": state.from, "files": files, key: waiting,
    })
}
