//! The mounts of a sandbox, as plain data: each level enforces as much of them as it can.
//!
//! Mounts are made in order, and a later one covers an earlier one. A folder that leads to a mount inside a
//! writable place is pinned ([`MountPlan::pinned`]): a program that could rename it could put another folder in its
//! place, and the mount would protect nothing.

use std::path::{Path, PathBuf};

use super::secrets;
use crate::ports::Bind;
use crate::project::is_folder;

/// One mount, in the order in which they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mount {
    /// A folder that is empty and stays so.
    Empty(PathBuf),
    /// An empty writable folder; it is in memory and ends with the sandbox.
    Scratch(PathBuf),
    /// A file with nothing in it.
    Nothing(PathBuf),
    /// A symbolic link and where it leads, in a [`Mount::Scratch`].
    Link(PathBuf, PathBuf),
    Show(Bind),
}

impl Mount {
    pub(super) fn place(&self) -> &Path {
        match self {
            Self::Empty(path) | Self::Scratch(path) | Self::Nothing(path) => path,
            Self::Link(path, _) => path,
            Self::Show(bind) => &bind.to,
        }
    }

    fn covers(&self) -> bool {
        matches!(self, Self::Empty(_) | Self::Scratch(_) | Self::Nothing(_))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountPlan {
    pub(super) mounts: Vec<Mount>,
    /// Where its program may write.
    pub(super) writable: Vec<PathBuf>,
    /// What its program may not read.
    pub(super) hidden: Vec<PathBuf>,
    pub(super) shares_network: bool,
}

impl MountPlan {
    fn decides(&self, path: &Path) -> Option<&Mount> {
        self.mounts.iter().rfind(|mount| path.starts_with(mount.place()))
    }

    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        self.decides(path).is_some_and(Mount::covers)
    }

    /// Read-only places, at their own paths.
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

    pub(super) fn scratch(&mut self, path: &Path) {
        self.writable.push(path.to_owned());
        self.mounts.push(Mount::Scratch(path.to_owned()));
    }

    pub(super) fn hide(&mut self, path: &Path) {
        self.cover(path, Mount::covers);
    }

    /// The same for a folder of which parts are shown: around them nothing can be written, also where it
    /// would only be lost.
    pub(super) fn close(&mut self, path: &Path) {
        self.cover(path, |mount| matches!(mount, Mount::Empty(_) | Mount::Nothing(_)));
    }

    fn cover(&mut self, path: &Path, enough: impl Fn(&Mount) -> bool) {
        // A link hides nothing: what it leads to does.
        let real = path.canonicalize();
        let path = real.as_deref().unwrap_or(path);
        self.hidden.push(path.to_owned());
        if self.decides(path).is_some_and(enough) || !secrets::is_in_reach(path) {
            return;
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => self.mounts.push(Mount::Empty(path.to_owned())),
            Ok(found) if !found.is_symlink() => self.mounts.push(Mount::Nothing(path.to_owned())),
            _ => {}
        }
    }

    /// The mounts, and before each one in a writable place the folders that lead to it, mounted on themselves:
    /// no program can rename or remove a mount point.
    pub(super) fn pinned(&self) -> Vec<Mount> {
        let mut all = MountPlan { shares_network: self.shares_network, ..Self::default() };
        for mount in &self.mounts {
            for pin in all.pins_for(mount.place()) {
                all.mounts.push(Mount::Show(pin));
            }
            all.mounts.push(mount.clone());
        }
        all.mounts
    }

    fn pins_for(&self, place: &Path) -> Vec<Bind> {
        let Some(above) = place.parent() else { return vec![] };
        let Some(Mount::Show(around)) = self.decides(above) else { return vec![] };
        let between = above.ancestors().take_while(|folder| *folder != around.to);
        let pin = |folder: &Path| {
            let from = around.from.join(folder.strip_prefix(&around.to).ok()?);
            is_folder(&from).then(|| Bind { from, to: folder.to_owned(), writable: true })
        };
        let mut pins: Vec<Bind> = between.filter(|_| around.writable).filter_map(pin).collect();
        pins.reverse();
        pins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_lead_to_a_mount_in_a_writable_place_are_pinned_once() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(tree.join("a/b")).unwrap();
        for name in ["a/b/one", "a/two", "top"] {
            std::fs::write(tree.join(name), "x").unwrap();
        }
        let mut mount_plan = MountPlan::default();
        mount_plan.show(Bind::readable("/"));
        mount_plan.show(Bind::writable(&tree));
        for name in ["a/b/one", "a/two", "top"] {
            mount_plan.show(Bind::readable(tree.join(name)));
        }
        let places: Vec<PathBuf> =
            mount_plan.pinned().iter().skip(2).map(|mount| mount.place().to_owned()).collect();
        let wanted = ["a", "a/b", "a/b/one", "a/two", "top"].map(|name| tree.join(name));
        assert_eq!(places, wanted);
        let written: Vec<bool> = mount_plan
            .pinned()
            .iter()
            .map(|mount| matches!(mount, Mount::Show(bind) if bind.writable))
            .collect();
        assert_eq!(written, [false, true, true, true, false, false, false]);
    }

    #[test]
    fn nothing_can_be_written_around_what_a_closed_folder_shows() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("cache/own")).unwrap();
        let mut mount_plan = MountPlan::default();
        mount_plan.scratch(&home);
        mount_plan.hide(&home.join("cache"));
        assert_eq!(mount_plan.mounts.len(), 1, "it is out of sight already");
        mount_plan.close(&home.join("cache"));
        assert_eq!(mount_plan.mounts.last(), Some(&Mount::Empty(home.join("cache"))));
        mount_plan.show(Bind::writable(home.join("cache/own")));
        assert!(
            !mount_plan.is_hidden(&home.join("cache/own")) && mount_plan.is_hidden(&home.join("x"))
        );
    }
}
