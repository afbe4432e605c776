//! Runs the user's own editor. It gets the terminal; ralph does not supervise or end it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::host::host;

/// Opens `file` in `editor`, which is a shell command as in `$EDITOR`, and waits until it is closed. The
/// exit code; 128 and more for a signal.
pub fn edit(editor: &str, file: &Path) -> io::Result<i32> {
    let mut command = host().shell();
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("editor").arg(file);
    let status = command.status()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}
