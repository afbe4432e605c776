//! Paths for the files of `ralph init`. A repository is not always the user's own work, so ralph never writes through a
//! link, wherever it leads.

use std::io;
use std::path::{Path, PathBuf};

use ralph_engine::untrusted;

/// The path of `relative` in `base`, or an error if a link is on the way.
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
pub(super) fn read(base: &Path, relative: &str) -> Result<Option<String>, String> {
    match untrusted::read_text(base, Path::new(relative), untrusted::DOCUMENT) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err("it is not UTF-8 text".to_owned())
        }
        read => read.map_err(|error| error.to_string()),
    }
}
