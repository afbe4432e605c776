//! A file of a worktree that must not change while programs of a session run: ralph remembers it before, compares it
//! after, and restores it. It follows no link on the way to it, because those programs could have made one.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    File { mode: u32, bytes: Vec<u8> },
    Link(OsString),
}

/// Inode, size, and the times of the last change to content and to metadata, which no program can set.
type Outside = (u64, i64, [i64; 4]);

#[derive(Debug, Clone)]
pub struct Remembered {
    outside: Outside,
    /// `None` where it was larger than is kept.
    content: Option<Content>,
}

impl Remembered {
    /// The file at `path` below `root` as it is now; `None` where there is neither a file nor a link. For a
    /// file larger than `most`, it only knows whether it was touched.
    pub fn of(root: &Path, path: &Path, most: u64) -> Option<Self> {
        let (folder, name) = folder_of(root, path, false).ok()?;
        let outside = outside(&folder, &name)?;
        let content = content(&folder, &name, most).ok()?;
        Some(Self { outside, content })
    }

    pub fn size(&self) -> u64 {
        match &self.content {
            Some(Content::File { bytes, .. }) => bytes.len() as u64,
            Some(Content::Link(_)) | None => 0,
        }
    }

    pub fn is_same(&self, root: &Path, path: &Path) -> bool {
        let Ok((folder, name)) = folder_of(root, path, false) else { return false };
        if outside(&folder, &name) == Some(self.outside) {
            return true;
        }
        self.content.is_some()
            && content(&folder, &name, self.size()).is_ok_and(|now| now == self.content)
    }

    /// Restores it. A file or a link in the place of a folder above it is removed; a folder in its own place
    /// stays, and is an error.
    pub fn put_back(&self, root: &Path, path: &Path) -> io::Result<()> {
        let Some(content) = &self.content else {
            return Err(io::Error::other("it was too large to keep a copy of"));
        };
        let (folder, name) = folder_of(root, path, true)?;
        let new = format!(".{}.ralph-{}", name.to_string_lossy(), std::process::id());
        match rustix::fs::unlinkat(&folder, &new, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => return Err(error.into()),
            _ => {}
        }
        match content {
            Content::Link(target) => rustix::fs::symlinkat(target, &folder, &new)?,
            Content::File { mode, bytes } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let made = rustix::fs::openat(&folder, &new, flags, Mode::from_raw_mode(0o600))?;
                let mut file = File::from(made);
                file.write_all(bytes)?;
                file.set_permissions(Permissions::from_mode(*mode))?;
            }
        }
        let moved = rustix::fs::renameat(&folder, &new, &folder, &name);
        if moved.is_err() {
            // It is only in the way.
            let _ = rustix::fs::unlinkat(&folder, &new, AtFlags::empty());
        }
        Ok(moved?)
    }
}

/// The folder that a path is in, and its name there. `make`: what is in the way of a folder goes.
fn folder_of(root: &Path, path: &Path, make: bool) -> io::Result<(OwnedFd, OsString)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(root, flags, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { break };
        if parts.peek().is_none() {
            return Ok((at, name.to_owned()));
        }
        let open =
            |at: &OwnedFd| rustix::fs::openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty());
        at = match open(&at) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) if make => {
                match rustix::fs::unlinkat(&at, name, AtFlags::empty()) {
                    Err(error) if error != Errno::NOENT => return Err(error.into()),
                    _ => {}
                }
                rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777))?;
                open(&at)?
            }
            opened => opened?,
        };
    }
    Err(io::Error::other("it is not the path of a file in the worktree"))
}

fn outside(folder: &OwnedFd, name: &OsString) -> Option<Outside> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "differs by system")]
    let moments = [
        found.st_mtime as i64,
        found.st_mtime_nsec as i64,
        found.st_ctime as i64,
        found.st_ctime_nsec as i64,
    ];
    Some((found.st_ino, found.st_size, moments))
}

fn content(folder: &OwnedFd, name: &OsString, most: u64) -> io::Result<Option<Content>> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder.as_fd(), name, Vec::new())?;
            Ok(Some(Content::Link(OsString::from_vec(target.into_bytes()))))
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
            let about = file.metadata()?;
            if !about.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            let mode = about.permissions().mode() & 0o7777;
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes)?;
            Ok((bytes.len() as u64 <= most).then_some(Content::File { mode, bytes }))
        }
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn whatever_becomes_of_a_file_it_is_put_back_and_nothing_outside_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("work"), folder.path().join("outside"));
        std::fs::create_dir_all(root.join("tests/deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("check.sh"), "the user's").unwrap();
        let (path, file) = (Path::new("tests/deep/check.sh"), root.join("tests/deep/check.sh"));
        std::fs::write(&file, "exit 1\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        let kept = Remembered::of(&root, path, 100).unwrap();
        assert!(kept.is_same(&root, path));
        let ways: [&dyn Fn(); 7] = [
            &|| std::fs::write(&file, "exit 0\n").unwrap(),
            &|| std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap(),
            &|| std::fs::remove_file(&file).unwrap(),
            &|| std::fs::remove_dir_all(root.join("tests")).unwrap(),
            &|| {
                std::fs::remove_file(&file).unwrap();
                symlink(outside.join("check.sh"), &file).unwrap();
            },
            &|| {
                std::fs::remove_dir_all(root.join("tests/deep")).unwrap();
                symlink(&outside, root.join("tests/deep")).unwrap();
            },
            &|| {
                std::fs::remove_dir_all(root.join("tests")).unwrap();
                std::fs::write(root.join("tests"), "").unwrap();
            },
        ];
        for (number, way) in ways.into_iter().enumerate() {
            way();
            assert!(!kept.is_same(&root, path), "{number}");
            kept.put_back(&root, path).unwrap();
            assert!(kept.is_same(&root, path), "{number}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "exit 1\n", "{number}");
            let outside = std::fs::read_to_string(outside.join("check.sh")).unwrap();
            assert_eq!(outside, "the user's", "{number}");
        }
        // Writing the same content again is not a change.
        std::fs::write(&file, "exit 1\n").unwrap();
        assert!(kept.is_same(&root, path));
        assert_eq!(std::fs::read_dir(root.join("tests/deep")).unwrap().count(), 1);
    }

    #[test]
    fn links_are_kept_as_links_and_large_files_by_their_looks() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        symlink("there", root.join("link")).unwrap();
        let link = Remembered::of(root, Path::new("link"), 100).unwrap();
        std::fs::remove_file(root.join("link")).unwrap();
        symlink("elsewhere", root.join("link")).unwrap();
        assert!(!link.is_same(root, Path::new("link")));
        link.put_back(root, Path::new("link")).unwrap();
        assert_eq!(std::fs::read_link(root.join("link")).unwrap(), Path::new("there"));
        std::fs::write(root.join("large"), "x".repeat(200)).unwrap();
        let large = Remembered::of(root, Path::new("large"), 100).unwrap();
        assert!(large.is_same(root, Path::new("large")));
        std::fs::write(root.join("large"), "y".repeat(200)).unwrap();
        assert!(!large.is_same(root, Path::new("large")));
        assert!(large.put_back(root, Path::new("large")).is_err());
        for path in ["nowhere", "../x", "", "/etc/passwd"] {
            assert!(Remembered::of(root, Path::new(path), 100).is_none(), "{path}");
        }
    }
}
