//! The environment variable that every process of a session carries. It names the ralph that started the process
//! and the project, so that ralph can find processes that a killed ralph left behind.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ralph_core::stable_hash::stable_hash;

use super::liveness::liveness;

pub(super) const VARIABLE: &str = "RALPH_MARK";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The mark of one session: no other session of any process has the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// A new mark for a session of this process on that project.
    pub fn new(project_root: &Path, session: u64) -> Self {
        let me = liveness();
        let project = project_key(project_root);
        // Gates and agents of one session are watched apart.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (boot, pid, start) = (me.boot_id, me.pid, me.pid_started);
        Self(format!("{boot}.{pid}.{start}.{project}.{session}.{number}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a mark says of who started its process.
#[cfg(any(target_os = "linux", test))]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) boot_id: String,
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) project: String,
}

#[cfg(any(target_os = "linux", test))]
impl Origin {
    /// Reads a mark; `None` for anything that is not exactly one.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let parts: Vec<&str> = value.split('.').collect();
        let [boot_id, pid, start, project, session, number] = parts[..] else { return None };
        session.parse::<u64>().ok()?;
        number.parse::<u64>().ok()?;
        Some(Self {
            boot_id: boot_id.to_owned(),
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
            project: project.to_owned(),
        })
    }
}

/// The folder of a project below one of the user's, such as that for caches.
pub(crate) fn project_folder(below: &Path, root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().take(40).map(plain).collect();
    below.join("ralph").join(format!("{name}-{}", project_key(root)))
}

/// A short name of a project's place, the same in every version of ralph.
pub(crate) fn project_key(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    format!("{:016x}", stable_hash(root.as_os_str().as_bytes().iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_comes_once() {
        let root = Path::new("/");
        let (one, two) = (Mark::new(root, 7), Mark::new(root, 7));
        assert_ne!(one, two);
        let me = liveness();
        let origin = Origin::parse(one.as_str()).unwrap();
        assert_eq!(
            (origin.boot_id, origin.pid, origin.start),
            (me.boot_id, me.pid, me.pid_started)
        );
        assert_eq!(origin.project, project_key(root));
        assert_ne!(origin.project, project_key(Path::new("/etc")));
    }

    #[test]
    fn anything_else_is_no_mark() {
        for value in ["", "x", "a.1.2.b.3", "a.1.2.b.3.4.5", "a.-1.2.b.3.4", "a.1.2.b.3.x"] {
            assert_eq!(Origin::parse(value), None, "{value}");
        }
    }
}
