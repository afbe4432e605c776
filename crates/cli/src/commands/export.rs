//! `ralph export`.

use clap::Args;
use ralph_core::plan::{FORMATS, PlanFormat};
use ralph_engine::ports::Filter;

use crate::error::{Done, Result};
use crate::wiring::Context;

/// Print the plan in another tool's format
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph export beads > .beads/issues.jsonl\n  ralph export checklist > plan.md"
)]
pub(crate) struct ExportArgs {
    /// The format: prd (prd.json), beads (JSON lines), checklist, progress or branches (markdown)
    format: String,
}

pub(crate) fn cmd_export(args: &ExportArgs, context: &mut Context<'_>) -> Done {
    let format = format_named(&args.format)?;
    let render = format.render.ok_or_else(|| {
        let written: Vec<&str> = FORMATS
            .iter()
            .filter(|format| format.render.is_some())
            .map(|format| format.name)
            .collect();
        usage!("ralph imports {}, but does not export to it", format.name)
            .hint(format!("use one of: {}", written.join(", ")))
    })?;
    let tasks = context.reader()?.list(&Filter { deleted_too: true, ..Filter::default() })?;
    let rendered = render(&tasks);
    context.out.data(&rendered.text)?;
    context.out.finish()?;
    for sentence in &rendered.not_kept {
        context.out.warning(format!("not kept in {}: {sentence}", format.name));
    }
    Ok(())
}

pub(super) fn format_named(name: &str) -> Result<&'static PlanFormat> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        usage!("unknown format {name:?}").hint(format!("use one of: {}", known.join(", ")))
    })
}
