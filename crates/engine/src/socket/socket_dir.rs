//! The folder of a run's sockets: private, with a short path, and removed at the end of the run.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::entropy::Ids;
use crate::project::is_folder;
use crate::untrusted;

/// Paths stay below this many bytes: the system's own limit is 104 or 108, and takes no longer ones.
const MAX_PATH: usize = 100;
/// The longest name that is made below the folder of all runs.
const LONGEST: &str = "/00000000/s4294967295/socket";
/// Holds the folder of a run for as long as the run lives.
const LOCK: &str = "lock";

#[derive(Debug, thiserror::Error)]
pub enum SocketDirError {
    /// Something is there that ralph must not trust.
    #[error("{} cannot hold sockets: {why}", path.display())]
    NotOurs { path: PathBuf, why: String },
    #[error("{} is too long: the path of a socket stays below {MAX_PATH} bytes", .0.display())]
    TooLong(PathBuf),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The folder of one run. It is removed when this is dropped.
#[derive(Debug)]
pub struct SocketDir {
    folder: PathBuf,
    /// The folder for the `PATH` is there.
    has_bin: AtomicBool,
    /// Locked; the system releases it even when the process is killed.
    _held: File,
}

impl SocketDir {
    /// Makes one below `runtime` (the user's runtime folder) where that can be used, else below `/tmp`,
    /// and removes those of runs that died.
    pub fn make(runtime: Option<&Path>, ids: &mut Ids) -> Result<Self, SocketDirError> {
        Self::make_in(runtime, Path::new("/tmp"), ids)
    }

    fn make_in(
        runtime: Option<&Path>,
        shared: &Path,
        ids: &mut Ids,
    ) -> Result<Self, SocketDirError> {
        let root = root(runtime, shared)?;
        let error = |path: &Path, source| SocketDirError::Io { path: path.to_owned(), source };
        // Held until the new folder is locked: otherwise another process could take it for a dead one.
        let all = untrusted::open_lock(&root.join(LOCK)).map_err(|source| error(&root, source))?;
        all.lock().map_err(|source| error(&root, source))?;
        remove_dead(&root);
        loop {
            let folder = root.join(ids.hex());
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let held = untrusted::open_lock(&folder.join(LOCK))
                        .and_then(|file| file.lock().map(|()| file))
                        .map_err(|source| error(&folder, source))?;
                    return Ok(Self { folder, has_bin: AtomicBool::new(false), _held: held });
                }
                Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(error(&folder, source)),
            }
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn control(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// A folder for the `PATH` of sessions, in which this program is called `ralph`.
    pub fn bin(&self, ralph: &Path) -> io::Result<PathBuf> {
        let folder = self.folder.join("bin");
        if self.has_bin.load(Ordering::Relaxed) {
            return Ok(folder);
        }
        unless_there(DirBuilder::new().mode(0o700).create(&folder))?;
        unless_there(std::os::unix::fs::symlink(ralph, folder.join("ralph")))?;
        self.has_bin.store(true, Ordering::Relaxed);
        Ok(folder)
    }

    pub fn session(&self, number: u32) -> PathBuf {
        self.folder.join(format!("s{number}"))
    }
}

/// Making something that is there already is fine.
fn unless_there(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder of all runs of this user.
fn root(runtime: Option<&Path>, shared: &Path) -> Result<PathBuf, SocketDirError> {
    let uid = rustix::process::getuid().as_raw();
    let fits = |root: &Path| root.as_os_str().as_bytes().len() + LONGEST.len() < MAX_PATH;
    if let Some(runtime) = runtime.filter(|path| path.is_absolute()) {
        let root = runtime.join("ralph");
        if fits(&root) {
            match private(&root, uid) {
                // The variable outlives what it names, for example after `su`.
                Err(SocketDirError::Io { .. }) => {}
                made => return made.map(|()| root),
            }
        }
    }
    let root = shared.join(format!("ralph-{uid}"));
    if !fits(&root) {
        return Err(SocketDirError::TooLong(root));
    }
    private(&root, uid).map(|()| root)
}

/// Creates a folder that only this user can enter, or checks that the existing one is.
fn private(path: &Path, uid: u32) -> Result<(), SocketDirError> {
    let io = |source| SocketDirError::Io { path: path.to_owned(), source };
    unless_there(DirBuilder::new().mode(0o700).create(path)).map_err(io)?;
    let found = path.symlink_metadata().map_err(io)?;
    let bits = found.mode() & 0o777;
    let why = if found.file_type().is_symlink() {
        "it is a symbolic link".to_owned()
    } else if !found.is_dir() {
        "it is not a folder".to_owned()
    } else if found.uid() != uid {
        format!("it belongs to user {} and not to user {uid}", found.uid())
    } else if bits != 0o700 {
        format!("its mode is {bits:o} and not 700")
    } else {
        return Ok(());
    };
    Err(SocketDirError::NotOurs { path: path.to_owned(), why })
}

fn remove_dead(root: &Path) {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let bytes = name.as_bytes();
        let ours = bytes.len() == 8 && bytes.iter().all(u8::is_ascii_hexdigit);
        let folder = entry.path();
        if ours && is_folder(&folder) && is_dead(&folder) {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

fn is_dead(folder: &Path) -> bool {
    match untrusted::open_own(&folder.join(LOCK), OpenOptions::new().read(true)) {
        Ok(file) => file.try_lock().is_ok(),
        // A run that was killed before it had its lock.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn ids() -> Ids {
        Ids::new(Some(7))
    }

    fn own() -> String {
        format!("ralph-{}", rustix::process::getuid().as_raw())
    }

    #[test]
    fn the_folder_is_private_short_and_gone_at_the_end() {
        let shared = tempfile::tempdir().unwrap();
        let place = SocketDir::make_in(None, shared.path(), &mut ids()).unwrap();
        let folder = place.folder().to_owned();
        for path in [folder.as_path(), folder.parent().unwrap()] {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(folder.parent().unwrap(), shared.path().join(own()));
        let longest = place.session(u32::MAX).join("socket");
        assert!(longest.as_os_str().len() < 100, "{}", longest.display());
        UnixListener::bind(place.control()).unwrap();
        drop(place);
        assert!(!folder.exists());
    }

    #[test]
    fn the_users_runtime_folder_comes_first_if_it_is_there_and_short() {
        let shared = tempfile::tempdir().unwrap();
        let runtime = tempfile::tempdir().unwrap();
        let parent = |runtime: Option<&Path>| {
            let place = SocketDir::make_in(runtime, shared.path(), &mut ids()).unwrap();
            place.folder().parent().unwrap().to_owned()
        };
        assert_eq!(parent(Some(runtime.path())), runtime.path().join("ralph"));
        assert_eq!(parent(Some(Path::new("/nowhere/at/all"))), shared.path().join(own()));
        assert_eq!(parent(Some(Path::new("relative"))), shared.path().join(own()));
        let long = runtime.path().join("x".repeat(80));
        std::fs::create_dir(&long).unwrap();
        assert_eq!(parent(Some(&long)), shared.path().join(own()));
    }

    #[test]
    fn what_is_not_ours_is_refused_by_name() {
        let refused = |prepare: &dyn Fn(&Path)| {
            let shared = tempfile::tempdir().unwrap();
            prepare(&shared.path().join(own()));
            let error =
                SocketDir::make_in(None, shared.path(), &mut ids()).unwrap_err().to_string();
            assert!(error.contains(&own()), "{error}");
            error
        };
        let elsewhere = tempfile::tempdir().unwrap();
        let linked = refused(&|path| symlink(elsewhere.path(), path).unwrap());
        assert!(linked.ends_with("it is a symbolic link"), "{linked}");
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        let dangling = refused(&|path| symlink("/nowhere/at/all", path).unwrap());
        assert!(dangling.ends_with("it is a symbolic link"), "{dangling}");
        let open = refused(&|path| {
            std::fs::create_dir(path).unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        });
        assert!(open.ends_with("its mode is 755 and not 700"), "{open}");
        let file = refused(&|path| std::fs::write(path, "").unwrap());
        assert!(file.ends_with("it is not a folder"), "{file}");
        let folder = tempfile::tempdir().unwrap();
        let foreign = private(folder.path(), u32::MAX - 1).unwrap_err().to_string();
        assert!(foreign.contains("it belongs to user"), "{foreign}");
    }

    #[test]
    fn folders_of_dead_runs_go_and_those_of_live_ones_stay() {
        let shared = tempfile::tempdir().unwrap();
        let alive = SocketDir::make_in(None, shared.path(), &mut ids()).unwrap();
        let root = alive.folder().parent().unwrap().to_owned();
        let (dead, unlocked, other) =
            (root.join("deadbeef"), root.join("0badf00d"), root.join("notes"));
        for folder in [&dead, &unlocked, &other] {
            std::fs::create_dir_all(folder.join("s1")).unwrap();
        }
        std::fs::write(dead.join(LOCK), "").unwrap();
        drop(UnixListener::bind(dead.join("control")).unwrap());
        let second = SocketDir::make_in(None, shared.path(), &mut ids()).unwrap();
        assert!(!dead.exists() && !unlocked.exists());
        assert!(other.exists() && alive.folder().exists());
        assert_ne!(alive.folder(), second.folder());
    }

    #[test]
    fn a_shared_folder_with_a_long_name_is_refused() {
        let shared = tempfile::tempdir().unwrap();
        let long = shared.path().join("x".repeat(80));
        std::fs::create_dir(&long).unwrap();
        let error = SocketDir::make_in(None, &long, &mut ids()).unwrap_err();
        assert!(matches!(error, SocketDirError::TooLong(_)), "{error}");
    }
}
