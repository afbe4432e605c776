//! Other paths to a folder: the file system that contains it may be mounted in several places, for example when all
//! volumes of a disk are below `/mnt`. A home that is hidden at one path must not be visible at another.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One mount, as the system lists it.
struct Mounted {
    device: Vec<u8>,
    /// What of the file system is mounted.
    root: PathBuf,
    place: PathBuf,
}

pub(super) fn of(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut all = in_list(&listed, folder);
    all.retain(|path| path.is_dir());
    all
}

fn in_list(listed: &[u8], folder: &Path) -> Vec<PathBuf> {
    let mounts: Vec<Mounted> = listed.split(|byte| *byte == b'\n').filter_map(read).collect();
    let holds = |mount: &&Mounted| folder.starts_with(&mount.place);
    // Of those at one place, the last is on top.
    let own = mounts.iter().filter(holds).max_by_key(|mount| mount.place.as_os_str().len());
    let Some((own, below)) = own.and_then(|own| Some((own, folder.strip_prefix(&own.place).ok()?)))
    else {
        return vec![];
    };
    let inside = own.root.join(below);
    let same = mounts.iter().filter(|mount| mount.device == own.device);
    let alias = |mount: &Mounted| {
        let rest = inside.strip_prefix(&mount.root).ok()?;
        Some(mount.place.join(rest)).filter(|path| path != folder && !path.starts_with(folder))
    };
    let mut all: Vec<PathBuf> = same.filter_map(alias).collect();
    all.sort();
    all.dedup();
    all
}

fn read(line: &[u8]) -> Option<Mounted> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let (device, root, place) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Mounted { device: device.to_vec(), root: plain(root), place: plain(place) })
}

/// Blanks and the like are written as numbers: `\040`.
fn plain(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let number = (*first == b'\\').then(|| after.get(..3)).flatten();
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_found_wherever_its_disk_is_mounted() {
        let listed = b"22 1 0:21 / / rw - ext4 /dev/a rw\n\
            23 22 0:30 /@home /home rw - btrfs /dev/b rw\n\
            24 22 0:30 / /mnt/all\\040disks rw - btrfs /dev/b rw\n\
            25 22 0:30 /@home/me/src /work rw - btrfs /dev/b rw\n\
            26 22 0:31 / /mnt/other rw - btrfs /dev/c rw\n";
        let home = Path::new("/home/me");
        assert_eq!(in_list(listed, home), [PathBuf::from("/mnt/all disks/@home/me")]);
        assert_eq!(in_list(listed, Path::new("/root")), Vec::<PathBuf>::new());
        assert_eq!(in_list(b"", home), Vec::<PathBuf>::new());
    }
}
