//! Replaces a file as a whole: at any moment it is the old one or the new one, and a version that another program
//! wrote meanwhile is never lost.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::untrusted;

/// Branches that are worked on side by side write the same file: one at a time, so that none takes back
/// what another has just written.
static WRITING: Mutex<()> = Mutex::new(());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    Yes,
    Changed,
}

/// Makes `target` hold `new` if it holds `expected`; the file keeps its permissions. A link is an error.
/// `scratch` is a folder of ralph's for the file in the making, where that can be renamed from.
pub(super) fn replace(
    target: &Path,
    expected: &[u8],
    new: &[u8],
    scratch: &Path,
) -> io::Result<Replaced> {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let like = std::fs::symlink_metadata(target)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    // ralph's own folder is not part of the work; only another file system rules it out.
    let same_disk = std::fs::metadata(scratch).is_ok_and(|found| found.dev() == like.dev());
    let name = format!(".ralph-{}-{}", std::process::id(), file_name(target));
    let half = if same_disk { scratch } else { folder }.join(name);
    let made = write_like(&half, new, &like).and_then(|()| exchange(&half, target, expected, new));
    let removed = std::fs::remove_file(&half);
    let replaced = made?;
    untrusted::if_there(removed)?;
    File::open(folder)?.sync_all()?;
    Ok(replaced)
}

/// Makes a file with the permissions of any new one, whole from its first moment. One that is there
/// already stays.
pub(super) fn create(path: &Path, bytes: &[u8], scratch: &Path) -> io::Result<()> {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let half = scratch.join(format!(".ralph-{}-{}", std::process::id(), file_name(path)));
    let written = File::create(&half).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let made = written.and_then(|()| match std::fs::hard_link(&half, path) {
        // Another file system, or one without such links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
        }
        made => made,
    });
    let _ = std::fs::remove_file(&half);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    File::open(folder)?.sync_all()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn write_like(path: &PathBuf, bytes: &[u8], like: &std::fs::Metadata) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    // Only root may change the owner of a file; for others the file stays theirs.
    let _ = fchown(&file, Some(like.uid()), Some(like.gid()));
    file.set_permissions(Permissions::from_mode(like.permissions().mode()))?;
    file.sync_all()
}

/// Swaps the two files, checks the old one, and swaps back if it is not what was expected: no version is ever
/// without a name.
#[cfg(target_os = "linux")]
fn exchange(half: &Path, target: &Path, expected: &[u8], new: &[u8]) -> io::Result<Replaced> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let swap = || renameat_with(CWD, half, CWD, target, RenameFlags::EXCHANGE);
    if untrusted::read_own(target, untrusted::DOCUMENT)? != expected {
        return Ok(Replaced::Changed);
    }
    match swap() {
        Ok(()) => {}
        // File systems that cannot.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => {
            return rename(half, target, expected);
        }
        Err(error) => return Err(error.into()),
    }
    if untrusted::read_own(half, untrusted::DOCUMENT)? == expected {
        return Ok(Replaced::Yes);
    }
    swap()?;
    if untrusted::read_own(half, untrusted::DOCUMENT)? != new {
        // Another program wrote to the new file in that moment: both versions are kept.
        std::fs::rename(half, free_name_beside(target))?;
    }
    Ok(Replaced::Changed)
}

#[cfg(target_os = "linux")]
fn free_name_beside(target: &Path) -> PathBuf {
    let named = |number: u32| target.with_extension(format!("conflict-{number}.md"));
    (1..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

#[cfg(not(target_os = "linux"))]
fn exchange(half: &Path, target: &Path, expected: &[u8], _new: &[u8]) -> io::Result<Replaced> {
    rename(half, target, expected)
}

fn rename(half: &Path, target: &Path, expected: &[u8]) -> io::Result<Replaced> {
    if untrusted::read_own(target, untrusted::DOCUMENT)? != expected {
        return Ok(Replaced::Changed);
    }
    std::fs::rename(half, target)?;
    Ok(Replaced::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        let path = folder.path().join("plan.md");
        std::fs::write(&path, "old").unwrap();
        (folder, path, scratch)
    }

    #[test]
    fn the_file_is_the_new_one_and_nothing_else_is_left() {
        let (folder, path, scratch) = place();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(replace(&path, b"old", b"new", &scratch).unwrap(), Replaced::Yes);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_version_that_was_not_expected_stays() {
        let (_folder, path, scratch) = place();
        assert_eq!(replace(&path, b"older", b"new", &scratch).unwrap(), Replaced::Changed);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_recreated_only_where_there_is_none() {
        let (folder, path, scratch) = place();
        create(&path, b"new", &scratch).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        let gone = folder.path().join("gone").join("plan.md");
        create(&gone, b"new", &scratch).unwrap();
        assert_eq!(std::fs::read(&gone).unwrap(), b"new");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&gone), mode(&path), "as any new file");
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (folder, path, scratch) = place();
        let link = folder.path().join("link.md");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(replace(&link, b"old", b"new", &scratch).is_err());
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_may_not_be_written_leaves_the_file_alone() {
        let (folder, path, _) = place();
        let nowhere = folder.path().join("missing").join("scratch");
        assert_eq!(replace(&path, b"old", b"new", &nowhere).unwrap(), Replaced::Yes);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    /// Another program adds lines, like an editor that asks before it overwrites what it has not seen, in
    /// bursts, and rests until ralph has had a turn too: on a slow disk it would never get one
    /// otherwise. The version that ralph takes back is there for a moment; the editor that reads it sees
    /// that its own lines are missing, and reads again. Every line that was written is in the file, or in
    /// one beside it.
    #[test]
    fn nothing_that_another_process_writes_is_lost() {
        const BURSTS: u32 = 10;
        let (folder, path, scratch) = place();
        std::fs::write(&path, "").unwrap();
        let (had_a_turn, turns) = std::sync::mpsc::channel();
        let user = {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut written: Vec<String> = vec![];
                for number in 0..BURSTS * 30 {
                    let (half, line) =
                        (path.with_extension("person"), format!("person {number}\n"));
                    let before = std::fs::read_to_string(&path).unwrap();
                    std::fs::write(&half, format!("{before}{line}")).unwrap();
                    let whole = written.iter().all(|line| before.contains(line.as_str()));
                    if whole && std::fs::read_to_string(&path).unwrap() == before {
                        std::fs::rename(&half, &path).unwrap();
                        written.push(line);
                    }
                    if number % 30 == 29 {
                        turns.recv().unwrap();
                    }
                }
                written
            })
        };
        let mut ours = 0;
        while !user.is_finished() {
            let before = std::fs::read_to_string(&path).unwrap();
            let after = format!("{before}ralph {ours}\n");
            let replaced = replace(&path, before.as_bytes(), after.as_bytes(), &scratch).unwrap();
            if replaced == Replaced::Yes {
                ours += 1;
                let _ = had_a_turn.send(());
            }
        }
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let all: String = files
            .filter(|path| path.is_file())
            .map(|p| std::fs::read_to_string(p).unwrap())
            .collect();
        for line in user.join().unwrap() {
            assert!(all.contains(&line), "{line} is lost");
        }
        assert!(ours >= BURSTS);
    }
}
