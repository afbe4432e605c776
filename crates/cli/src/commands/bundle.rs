//! `ralph bundle`: what a bug report needs, in one file without secrets.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::redact::StreamKind;
use ralph_core::run::{Fact, RunEvent};
use ralph_engine::bundle::{Archive, Cleaner, LONGEST_NAME, system};
use ralph_engine::clock;
use ralph_engine::run_files::RunLogs;
use ralph_engine::untrusted::open_own;
use ralph_ui::columns::{Cell, table};
use ralph_ui::units::bytes;

use super::doctor;
use super::logs::NamedRun;
use crate::config;
use crate::error::{CliError, Done, Result, quoted};
use crate::launch;
use crate::wiring::Context;

/// Larger files are left out.
const MOST: u64 = 64 << 20;

/// Pack what a bug report needs into one file without secrets
///
/// The file has the journal and the log of the run, the settings, versions and facts about this machine, and the names and
/// sizes of what was left out. ralph removes secrets once more and shortens your home directory to ~. Look at it
/// before you send it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph bundle                       # the newest run
  ralph bundle r-jvcq -o bug.tar.gz
  ralph bundle --with-logs           # also what agents and gates printed, and the prompts")]
pub(crate) struct BundleArgs {
    /// The run, by its id or the first letters of it [default: the newest run of this worktree]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Where to write it [default: ralph-bundle-RUN.tar.gz in this folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Add the output of agents and gates, and the prompts
    #[arg(long)]
    with_logs: bool,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// A file of the archive, or one that was left out.
struct Listed {
    name: String,
    size: u64,
    what: &'static str,
}

pub(crate) fn cmd_bundle(args: &BundleArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let named = NamedRun::find(args.run.as_deref(), None, context)?;
    let Some(run) = named.journal.first().map(|event| event.run.to_string()) else {
        return Err(
            failed!("the journal of this run cannot be read").hint("see all runs: ralph runs")
        );
    };
    let path = match &args.output {
        Some(path) => path.clone(),
        None => context.folder().join(format!("ralph-bundle-{run}.tar.gz")),
    };
    let cleaner = cleaner(context)?;
    let texts = texts(&named.journal, context)?;
    let file = create(&path, args.force)?;
    let packed = pack(file, &run, &texts, &named.logs, args.with_logs, &cleaner);
    let (inside, left) = match packed {
        Ok(packed) => packed,
        Err(error) => {
            let _ = std::fs::remove_file(&path);
            return Err(CliError::file(&path, "written", error));
        }
    };
    report(&path, &inside, &left, context)
}

fn cleaner(context: &mut Context<'_>) -> Result<Cleaner> {
    let secrets = launch::secrets(context.environment, &context.config()?);
    let home = context.environment.home.as_ref().map(|home| home.display().to_string());
    Ok(Cleaner::new(secrets, home.as_deref()))
}

fn create(path: &Path, force: bool) -> Result<File> {
    if force {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CliError::file(path, "replaced", error));
            }
            _ => {}
        }
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| {
        match error.kind() {
            io::ErrorKind::AlreadyExists => failed!("{} exists", path.display())
                .hint(format!("replace it: ralph bundle --force -o {}", quoted(path)))
                .hint("choose another name: ralph bundle -o FILE"),
            _ => CliError::file(path, "written", error),
        }
    })
}

/// The files that are written for the archive: name, text, and what it is.
fn texts(
    journal: &[RunEvent],
    context: &mut Context<'_>,
) -> Result<Vec<(&'static str, String, &'static str)>> {
    let config = context.config()?;
    let preset = launch::preset_here(&config, &context.folder());
    let settings = config::show_without_secrets(&config, preset);
    Ok(vec![
        ("machine.txt", machine(journal, context), "versions, and what ralph doctor says"),
        ("settings.txt", settings, "the settings, as ralph config show prints them"),
    ])
}

/// Versions, and the checks of `ralph doctor` that start no program of the repository.
fn machine(journal: &[RunEvent], context: &mut Context<'_>) -> String {
    let mut text = format!("ralph      {}\n", env!("CARGO_PKG_VERSION"));
    if let Some(Fact::RunStarted { ralph, agent, level, .. }) = journal
        .iter()
        .rev()
        .map(|event| &event.fact)
        .find(|fact| matches!(fact, Fact::RunStarted { .. }))
    {
        text.push_str(&format!("run        ralph {ralph}, {agent}, sandbox {level}\n"));
    }
    text.push_str(&format!("system     {}\n\n", system()));
    text.push_str(&doctor::facts(context));
    text
}

/// Writes the archive. The answer is what is in it, and what was left out.
fn pack(
    file: File,
    run: &str,
    texts: &[(&'static str, String, &'static str)],
    logs: &RunLogs,
    with_logs: bool,
    cleaner: &Cleaner,
) -> io::Result<(Vec<Listed>, Vec<Listed>)> {
    let mut archive =
        Archive::new(BufWriter::new(file), &format!("ralph-bundle-{run}"), clock::now());
    let (mut inside, mut left) = (vec![], vec![]);
    let mut add = |name: &str, kind, bytes: &[u8], what| {
        let clean = cleaner.clean(kind, bytes);
        inside.push(Listed { name: name.to_owned(), size: clean.len() as u64, what });
        archive.add(name, &clean)
    };
    for (name, text, what) in texts {
        add(name, StreamKind::Text, text.as_bytes(), *what)?;
    }
    for (path, name, what) in files_of(logs)? {
        let size = std::fs::symlink_metadata(&path).map_or(0, |file| file.len());
        let is_main = matches!(name.as_str(), "events.jsonl" | "session.log");
        let fits = size <= MOST && name.len() <= LONGEST_NAME;
        let read = if fits && (is_main || with_logs) { read(&path).ok() } else { None };
        match read {
            Some(bytes) => add(&name, kind_of(&name), &bytes, what)?,
            None => left.push(Listed { name, size, what: if fits { "" } else { "too large" } }),
        }
    }
    let names = left.iter().map(|one| format!("{}  {}\n", one.name, one.size)).collect::<String>();
    if !left.is_empty() {
        let what = "names and sizes in bytes of what was left out";
        add("left-out.txt", StreamKind::Text, names.as_bytes(), what)?;
    }
    archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((inside, left))
}

/// The files of a run, in order, with their names in the archive.
fn files_of(logs: &RunLogs) -> io::Result<Vec<(PathBuf, String, &'static str)>> {
    let mut all = vec![];
    if logs.readable.exists() {
        all.push((logs.readable.clone(), "session.log".to_owned(), "the run as lines"));
    }
    let mut folder: Vec<PathBuf> = std::fs::read_dir(&logs.folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    folder.sort();
    for path in folder {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        let what = match name.as_str() {
            "events.jsonl" => "the journal of the run",
            _ if name.ends_with(".ndjson") => "what an agent printed",
            _ => "",
        };
        all.push((path, name, what));
    }
    Ok(all)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    open_own(path, OpenOptions::new().read(true))?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn kind_of(name: &str) -> StreamKind {
    let is_json = [".jsonl", ".ndjson", ".json"].iter().any(|ending| name.ends_with(ending));
    if is_json { StreamKind::Json } else { StreamKind::Text }
}

fn report(path: &Path, inside: &[Listed], left: &[Listed], context: &mut Context<'_>) -> Done {
    let size = std::fs::metadata(path).map_or(0, |file| file.len());
    let rows = |all: &[Listed]| -> Vec<Vec<Cell>> {
        let row = |one: &Listed| {
            vec![Cell::new(one.name.clone()), Cell::new(bytes(one.size)), Cell::new(one.what)]
        };
        all.iter().map(row).collect()
    };
    let style = context.out.style;
    context.out.data(table(&["FILE", "SIZE", "WHAT"], 2, &rows(inside), style))?;
    if !left.is_empty() {
        let more = "\nLeft out (--with-logs adds files that are not too large):\n\n";
        context.out.data(more)?;
        context.out.data(table(&["FILE", "SIZE", "WHY"], 2, &rows(left), style))?;
    }
    context.out.data(format!("\nWrote {} ({})\n", path.display(), bytes(size)))?;
    context.out.conclude(format!(
        "Look at it before you send it: ralph removes the secrets it knows, and cannot know all: tar -xzOf {} | less",
        quoted(path)
    ))
}
