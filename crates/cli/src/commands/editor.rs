//! The user's editor, for commands that open a file in it.

use std::path::Path;

use ralph_engine::host;

use crate::error::{CliError, Done, Result};
use crate::wiring::Context;

/// An editor that the environment names, and the command that opens it, for hints.
pub(super) struct Editor {
    command: String,
    caller: &'static str,
}

impl Editor {
    /// `$VISUAL`, else `$EDITOR`.
    pub(super) fn of(context: &Context<'_>, caller: &'static str) -> Result<Self> {
        let named = |wanted: &str| {
            let found = context.environment.all.iter().find(|(name, _)| name == wanted)?;
            found.1.to_str().filter(|value| !value.trim().is_empty()).map(str::to_owned)
        };
        let command = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
            CliError::failed("no editor is set: neither VISUAL nor EDITOR")
                .hint(format!("set one for this call: EDITOR=nano {caller}"))
        })?;
        Ok(Self { command, caller })
    }

    /// Opens a file and waits until the editor is closed.
    pub(super) fn open(&self, file: &Path, context: &mut Context<'_>) -> Done {
        let Self { command, caller } = self;
        context.out.finish()?;
        let failed = |how: String| {
            failed!("the editor {command:?} {how}")
                .hint(format!("your saved text is in {}", file.display()))
                .hint(format!("use another editor for this call: EDITOR=nano {caller}"))
        };
        match host::edit(command, file) {
            Ok(0) => Ok(()),
            Ok(127) => Err(failed("was not found".to_owned())),
            Ok(code) => Err(failed(format!("failed with exit code {code}"))),
            Err(error) => Err(failed(format!("could not be started: {error}"))),
        }
    }
}
