//! What every command line says besides its command: the global options, whether the answer is JSON, and what is wrong
//! with arguments that could not be read.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{ArgMatches, Args};
use ralph_core::redact::Secrets;
use ralph_core::text::printable;

use crate::environment::Environment;
use crate::error::CliError;
use crate::output::{Color, error_json};

/// Global options.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// Read this file instead of the repository's ralph.toml
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Override a setting for this call (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub(crate) set: Vec<String>,
    /// When to use colors
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_default_value = true,
        global = true
    )]
    pub(crate) color: Color,
    /// Print results only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print more detail
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// The command that was called, as the kind of its answer (`task.plan_status`), and whether it speaks JSON.
pub(crate) fn answer_of(matches: &ArgMatches) -> (String, bool) {
    let mut names: Vec<String> = Vec::new();
    let mut at = matches;
    while let Some((name, below)) = at.subcommand() {
        names.push(name.replace('-', "_"));
        at = below;
    }
    let flag = at.try_get_one::<bool>("json").ok().flatten().is_some_and(|json| *json);
    let display =
        at.try_get_raw("ui").ok().flatten().is_some_and(|mut all| all.any(|ui| ui == "json"));
    (names.join("."), flag || display)
}

/// Whether arguments that could not be read ask for JSON.
fn ask_for_json(arguments: &[OsString]) -> bool {
    let mut before = None;
    for word in arguments.iter().take_while(|word| *word != "--") {
        if word == "--json" || word == "--ui=json" || (before == Some("--ui") && word == "json") {
            return true;
        }
        before = word.to_str();
    }
    false
}

/// A mistake in the arguments as a line of JSON, with the same text.
pub(crate) fn misread_json(error: &clap::Error, clean: impl Fn(&str) -> String) -> String {
    let text = misread_text(error, false);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let failed = CliError::usage(first.strip_prefix("error: ").unwrap_or(first));
    let hints = lines.map(|line| line.strip_prefix("hint: ").unwrap_or(line));
    error_json(&hints.fold(failed, CliError::hint), clean)
}

/// Prints what is wrong with the arguments, or the help that they ask for.
pub(crate) fn misread(error: &clap::Error, environment: &Environment) -> io::Result<()> {
    if !error.use_stderr() {
        return error.print().and_then(|()| io::stdout().flush());
    }
    let secrets = Secrets::new(environment.secrets());
    if ask_for_json(&environment.arguments) {
        let line = misread_json(error, |text| secrets.redact(text).into_owned());
        return writeln!(io::stderr(), "{line}");
    }
    let plain = misread_text(error, false);
    let shown = printable(&plain);
    let clean = secrets.redact(&shown);
    let is_colored = io::stderr().is_terminal() && !environment.no_color;
    match clean == plain && is_colored {
        true => io::stderr().write_all(misread_text(error, true).as_bytes()),
        // Arguments may come from a script with untrusted input.
        false => io::stderr().write_all(clean.as_bytes()),
    }
}

/// What clap and the standard library say about the arguments, in our words.
pub(crate) fn misread_text(error: &clap::Error, is_colored: bool) -> String {
    let text = match is_colored {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    [
        ("invalid digit found in string", "it must be a whole number"),
        ("cannot parse integer from empty string", "it must be a whole number"),
        ("invalid float literal", "it must be a number"),
        ("cannot parse float from empty string", "it must be a number"),
        ("number too large to fit in target type", "the number is too large"),
        ("\n  tip: ", "\n  hint: "),
        ("mtip:\u{1b}", "mhint:\u{1b}"),
    ]
    .iter()
    .fold(text, |text, (from, to)| text.replace(from, to))
}
