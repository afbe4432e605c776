//! The mounts of a [`MountPlan`] as arguments of `bwrap`.

use std::ffi::OsString;
use std::path::Path;

use super::mount_plan::{Mount, MountPlan};
use crate::ports::USER_OF_ROOT;

/// The arguments before the program. `nothing` is an empty file: a device in its place could not even be
/// opened, and programs take that for an error.
pub(super) fn arguments(
    mount_plan: &MountPlan,
    folder: &Path,
    nothing: &Path,
    is_root: bool,
) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut say = |words: &[&str]| all.extend(words.iter().map(OsString::from));
    say(&[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if !mount_plan.shares_network {
        say(&["--unshare-net"]);
    }
    if is_root {
        let user = USER_OF_ROOT.to_string();
        say(&["--uid", &user, "--gid", &user]);
    }
    say(&["--die-with-parent", "--cap-drop", "ALL"]);
    let root = Mount::Empty("/".into());
    let mounts = mount_plan.pinned();
    // A sandbox begins with a root that is empty.
    if mounts.first() != Some(&root) {
        say(&["--ro-bind", "/", "/"]);
    }
    // Files there change the machine, and root outside owns them, whatever user it is in the sandbox. One mount
    // for all of them: each bind costs a start as much as checking two hundred files.
    say(&["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]);
    for mount in mounts.iter().filter(|mount| **mount != root) {
        match mount {
            Mount::Empty(path) | Mount::Scratch(path) => {
                all.extend(["--tmpfs".into(), path.into()]);
            }
            Mount::Nothing(path) => {
                all.extend(["--ro-bind".into(), nothing.into(), path.into()]);
            }
            Mount::Link(path, leads) => {
                all.extend(["--symlink".into(), leads.into(), path.into()]);
            }
            Mount::Show(bind) => {
                let how = if bind.writable { "--bind" } else { "--ro-bind" };
                all.extend([how.into(), (&bind.from).into(), (&bind.to).into()]);
            }
        }
    }
    // Writes to a hidden place would be lost silently. Last, because other mounts are made in it.
    for (at, mount) in mounts.iter().enumerate() {
        let Mount::Empty(path) = mount else { continue };
        // A mount that a later one covers is not needed any more.
        let covered = mounts[at + 1..].iter().any(|later| path.starts_with(later.place()));
        if !covered {
            all.extend(["--remount-ro".into(), path.into()]);
        }
    }
    all.extend(["--chdir".into(), folder.into(), "--".into()]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_proc_can_be_written_and_no_later_mount_opens_it() {
        let mut mount_plan = MountPlan::default();
        mount_plan.scratch(Path::new("/tmp"));
        for is_root in [true, false] {
            let all = arguments(&mount_plan, Path::new("/"), Path::new("/nothing"), is_root);
            let words: Vec<&str> = all.iter().filter_map(|word| word.to_str()).collect();
            let made = words.windows(2).position(|pair| pair == ["--proc", "/proc"]).unwrap();
            assert_eq!(words[made + 2..made + 4], ["--remount-ro", "/proc"]);
            assert!(!words[made + 4..].iter().any(|word| word.starts_with("/proc")), "{words:?}");
        }
    }

    #[test]
    fn a_hidden_folder_under_another_one_is_not_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().canonicalize().unwrap().join("outer");
        std::fs::create_dir_all(outer.join("inner")).unwrap();
        let mut mount_plan = MountPlan::default();
        mount_plan.hide(&outer.join("inner"));
        mount_plan.close(&outer);
        let all = arguments(&mount_plan, Path::new("/"), Path::new("/nothing"), false);
        let at = |word: &str, path: &Path| {
            all.windows(2).filter(|pair| pair[0] == word && pair[1] == path).count()
        };
        assert_eq!((at("--tmpfs", &outer.join("inner")), at("--tmpfs", &outer)), (1, 1));
        assert_eq!(at("--remount-ro", &outer.join("inner")), 0);
        assert_eq!(at("--remount-ro", &outer), 1);
    }
}
