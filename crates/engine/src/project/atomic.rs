//! Replaces files as a whole: after a crash or a power cut, a file is the old one or the new one. Every file that ralph
//! replaces goes through here, except plans: other programs write those at the same time (`plan_file/replace.rs`).
//!
//! A new file is written beside the old one, synced and renamed over it; then its folder is synced, because only that
//! makes the rename last. The name of the new file is that of the old one, a dot and something more.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Writes a file. If it exists, it keeps its permissions. A link in its place is replaced, not followed: a session could
/// have put it there.
pub fn write_atomically(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    std::fs::create_dir_all(folder_of(path))?;
    let mode = std::fs::metadata(path).map_or(0o644, |before| mode_of(&before));
    replace(path, text.as_ref(), mode, &mut File::sync_all)
}

/// The same for a file that only its owner may read.
pub fn write_privately(path: &Path, text: &str) -> io::Result<()> {
    private_folder(folder_of(path))?;
    replace(path, text.as_bytes(), 0o600, &mut File::sync_all)
}

/// Writes a file of the user's that no session can reach. A link stays, and the file that it leads to is replaced. An
/// existing file keeps its permissions; a new one gets `mode`.
pub fn write_through(path: &Path, text: impl AsRef<[u8]>, mode: u32) -> io::Result<()> {
    let real = match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => path.canonicalize().map_err(|error| {
            let target = std::fs::read_link(path).unwrap_or_default();
            let problem = format!("it is a link to {}: {error}", target.display());
            io::Error::new(error.kind(), problem)
        })?,
        Ok(_) => path.to_owned(),
        Err(_) => {
            let shared = mode & 0o077 != 0;
            let folder = folder_of(path);
            if shared {
                std::fs::create_dir_all(folder)?;
            } else {
                private_folder(folder)?;
            }
            path.to_owned()
        }
    };
    let mode = std::fs::metadata(&real).map_or(mode, |before| mode_of(&before));
    replace(&real, text.as_ref(), mode, &mut File::sync_all)
}

/// Creates a folder that only its owner may enter, and those above it. Existing folders stay as they are.
pub fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// `sync` gets the new file before it has its name, and the folder after that.
fn replace(
    path: &Path,
    text: &[u8],
    mode: u32,
    sync: &mut dyn FnMut(&File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = folder_of(path);
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut file = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
    file.write_all(text)?;
    if let Ok(before) = path.symlink_metadata() {
        // Only root may give a file away; what others replace becomes theirs.
        let _ = fchown(file.as_file(), Some(before.uid()), Some(before.gid()));
    }
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    sync(file.as_file())?;
    file.persist(path)?;
    sync(&File::open(folder)?)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn mode_of(file: &Metadata) -> u32 {
    file.permissions().mode() & 0o7777
}

/// Removes temporary files of programs that were killed while they wrote the file. Call it only while no other
/// process can write the file.
pub fn sweep_halves(path: &Path) -> io::Result<()> {
    halves(path).into_iter().try_for_each(std::fs::remove_file)
}

/// What was left by programs that were killed while they wrote the file.
pub fn halves(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return vec![] };
    let half = |entry: &OsStr| {
        let rest = entry.to_str().zip(name.to_str()).and_then(|(e, name)| e.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| half(&entry.file_name())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_file_is_synced_before_it_is_replaced_and_its_folder_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.toml");
        std::fs::write(&path, "old").unwrap();
        let mut synced = Vec::new();
        let mut sync = |file: &File| {
            let is_folder = file.metadata()?.is_dir();
            synced.push((is_folder, text(&path)));
            Ok(())
        };
        replace(&path, b"new", 0o600, &mut sync).unwrap();
        assert_eq!(synced, [(false, "old".to_owned()), (true, "new".to_owned())]);
        assert_eq!(halves(&path), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_synced_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.toml");
        std::fs::write(&path, "old").unwrap();
        let mut full = |_: &File| Err(io::ErrorKind::StorageFull.into());
        replace(&path, b"new", 0o600, &mut full).unwrap_err();
        assert_eq!(text(&path), "old");
        assert_eq!(halves(&path), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_link_of_the_users_stays_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("dotfiles.toml"), folder.path().join("config.toml"));
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        symlink("dotfiles.toml", &link).unwrap();
        write_through(&link, "new", 0o600).unwrap();
        assert!(link.is_symlink());
        assert_eq!((text(&real).as_str(), mode_of(&real.metadata().unwrap())), ("new", 0o640));
        std::fs::remove_file(&real).unwrap();
        let output = write_through(&link, "new", 0o600).unwrap_err().to_string();
        assert!(output.contains("it is a link to dotfiles.toml"), "{output}");
        // A link that a session could have made is not followed.
        std::fs::write(&real, "precious").unwrap();
        write_atomically(&link, "new").unwrap();
        assert_eq!((text(&real).as_str(), text(&link).as_str()), ("precious", "new"));
    }

    #[test]
    fn new_files_and_folders_have_the_permissions_that_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ralph/config.toml");
        write_through(&path, "", 0o600).unwrap();
        let mode = |path: &Path| mode_of(&path.metadata().unwrap());
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn only_what_was_half_written_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["state.toml", "state.toml.x1Y2z3", "state", "run.lock", "progress.db"];
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        sweep_halves(&folder.path().join("state.toml")).unwrap();
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [true, false, true, true, true]);
    }
}
