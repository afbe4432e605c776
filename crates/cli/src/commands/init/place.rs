//! Where a file of `ralph init` really lies. A repository is not always the user's own work: its links
//! must not lead our writing out of it.

use std::io;
use std::path::{Path, PathBuf};

use ralph_engine::untrusted;

/// The real path of `relative` in `base`, which is itself a real path. A link that stays inside is
/// followed, so that it stays a link.
pub(super) fn resolve(base: &Path, relative: &str) -> Result<PathBuf, String> {
    let path = base.join(relative);
    let (there, rest) = existing(&path);
    let real = there.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "it is a link that leads nowhere".to_owned(),
        _ => error.to_string(),
    })?;
    let inside = real.strip_prefix(base).ok();
    if inside.is_none_or(|path| path.starts_with(".git")) {
        return Err(format!("it is a link that leads to {}", real.display()));
    }
    if rest.as_os_str().is_empty() { Ok(real) } else { Ok(real.join(rest)) }
}

/// The part of a path that is there, and the part that is not.
fn existing(path: &Path) -> (PathBuf, PathBuf) {
    for there in path.ancestors() {
        if there.symlink_metadata().is_ok() {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return (there.to_owned(), rest.to_owned());
        }
    }
    (path.to_owned(), PathBuf::new())
}

/// The text of a file, or `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    match untrusted::read_named(None, path, untrusted::DOCUMENT) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
