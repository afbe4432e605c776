//! What a box shows, as plain data: each level makes of it what it can.

use std::path::{Path, PathBuf};

use super::secrets;
use crate::ports::Bind;

/// One mount, in the order in which they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mount {
    /// A folder with nothing in it.
    Empty(PathBuf),
    /// A file with nothing in it.
    Nothing(PathBuf),
    /// Something of the machine.
    Show(Bind),
}

/// What a box shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    pub(super) mounts: Vec<Mount>,
    /// Where its guest may write.
    pub(super) writable: Vec<PathBuf>,
    /// What its guest may not read.
    pub(super) hidden: Vec<PathBuf>,
    pub(super) shares_network: bool,
}

impl Room {
    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        let covers = |mount: &Mount| match mount {
            Mount::Empty(place) | Mount::Nothing(place) => path.starts_with(place),
            Mount::Show(_) => false,
        };
        let shows = |mount: &Mount| match mount {
            Mount::Show(bind) => path.starts_with(&bind.to),
            Mount::Empty(_) | Mount::Nothing(_) => false,
        };
        let last = self.mounts.iter().rposition(|mount| covers(mount) || shows(mount));
        last.is_some_and(|last| covers(&self.mounts[last]))
    }

    /// What is shown to be read where it lies.
    #[cfg(target_os = "linux")]
    pub(super) fn shown(&self) -> Vec<PathBuf> {
        let path = |mount: &Mount| match mount {
            Mount::Show(bind) if bind.from == bind.to => Some(bind.to.clone()),
            _ => None,
        };
        self.mounts.iter().filter_map(path).collect()
    }

    pub(super) fn show(&mut self, bind: Bind) {
        if bind.writable {
            self.writable.push(bind.to.clone());
        }
        self.mounts.push(Mount::Show(bind));
    }

    /// Hides what is there, unless it is out of sight already.
    pub(super) fn hide(&mut self, path: &Path) {
        // A link hides nothing: what it leads to does.
        let real = path.canonicalize();
        let path = real.as_deref().unwrap_or(path);
        self.hidden.push(path.to_owned());
        if self.is_hidden(path) || !secrets::is_in_reach(path) {
            return;
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => self.mounts.push(Mount::Empty(path.to_owned())),
            Ok(found) if !found.is_symlink() => self.mounts.push(Mount::Nothing(path.to_owned())),
            _ => {}
        }
    }
}
