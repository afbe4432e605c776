//! `ralph report --html`: the page of `ralph serve` as one file, with the data of all runs, of a run or of a day.

use std::path::Path;

use ralph_core::ids::RunId;
use ralph_web::frozen::{Scope, document, gather};

use crate::error::{CliError, Done};
use crate::wiring::Context;

/// Writes the file, `-` to stdout.
pub(super) fn write(
    file: &Path,
    (run, day): (Option<&str>, Option<&str>),
    context: &mut Context<'_>,
) -> Done {
    let ports = (context.program.ports)(context)?;
    let scope =
        Scope { run: run.and_then(|run| RunId::new(run).ok()), day: day.map(str::to_owned) };
    let data = gather(&*ports, &scope).map_err(|refused| {
        refused.hints.iter().fold(failed!("{}", refused.message), CliError::hint)
    })?;
    let html = document(&data);
    if file == Path::new("-") {
        return context.out.data(html);
    }
    std::fs::write(file, html).map_err(|error| CliError::file(file, "written", error))?;
    context.out.conclude(format!("Wrote {}", file.display()))
}
