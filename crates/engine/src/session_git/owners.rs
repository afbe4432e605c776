//! Adjusts the owners of files in a copied index to those that a sandbox shows.
//!
//! Git takes a file for unchanged only if the index also knows its owner. In a sandbox, root's files belong to
//! another user, and other users' files to nobody: the first `git add` would read and store every file again.

use std::fs::FileTimes;
use std::io::{self, Read};
use std::path::Path;

use crate::ports::USER_OF_ROOT;

/// Who owns files in a sandbox that belong neither to its user nor to its group.
const NOBODY: u32 = 65_534;
/// Where the owner is in an entry, and where the id of its object.
const OWNER: usize = 28;
const OBJECT: usize = 40;

/// Copies an index with its time, see [`crate::git::scratch::copy_with_time`], for a sandbox. `id` is the length of
/// an object's id.
pub(super) fn copy_index(from: &Path, to: &Path, id: usize) -> io::Result<()> {
    let mut source = std::fs::File::open(from)?;
    let modified = source.metadata()?.modified()?;
    let mut index = Vec::new();
    source.read_to_end(&mut index)?;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let shown = |own: u32| {
        move |id: u32| match (id == own, own) {
            (true, 0) => USER_OF_ROOT,
            (true, own) => own,
            (false, _) => NOBODY,
        }
    };
    let mut adjusted = index.clone();
    let is_known = adjust(&mut adjusted, id, shown(user), shown(group)).is_some();
    let mut copy = std::fs::File::create_new(to)?;
    io::Write::write_all(&mut copy, if is_known { &adjusted } else { &index })?;
    copy.set_times(FileTimes::new().set_modified(modified))
}

/// Changes the owners of all entries; `None` for an index that is not understood, or of which a part is elsewhere.
fn adjust(
    index: &mut [u8],
    id: usize,
    user: impl Fn(u32) -> u32,
    group: impl Fn(u32) -> u32,
) -> Option<()> {
    let end = index.len().checked_sub(id)?;
    if index.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(index, 4)?, number(index, 8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    for _ in 0..count {
        set(index, at + OWNER, user(number(index, at + OWNER)?))?;
        set(index, at + OWNER + 4, group(number(index, at + OWNER + 4)?))?;
        let flags = at + OBJECT + id;
        let is_extended = version > 2 && index.get(flags)? & 0x40 != 0;
        let mut name = flags + if is_extended { 4 } else { 2 };
        if version == 4 {
            // How much of the name before stays: in several bytes, the last without its top bit.
            name += index.get(name..end)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
        }
        let length = index.get(name..end)?.iter().position(|byte| *byte == 0)?;
        at = match version {
            4 => name + length + 1,
            _ => at + (name - at + length + 8) / 8 * 8,
        };
    }
    while at < end {
        // The other half of a split index is known by its checksum.
        if index.get(at..at + 4)? == b"link" {
            return None;
        }
        at += 8 + usize::try_from(number(index, at + 4)?).ok()?;
    }
    // Git checks no checksum of zeros.
    index.get_mut(end..)?.fill(0);
    (at == end).then_some(())
}

fn number(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?))
}

fn set(index: &mut [u8], at: usize, value: u32) -> Option<()> {
    index.get_mut(at..at + 4)?.copy_from_slice(&value.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::git;

    #[test]
    fn an_index_of_any_version_names_other_owners_and_the_same_files() {
        for (version, format, id) in
            [(2, "sha1", 20), (3, "sha1", 20), (4, "sha1", 20), (4, "sha256", 32)]
        {
            let folder = tempfile::tempdir().unwrap();
            let run = |arguments: &[&str]| git(folder.path(), arguments).unwrap();
            run(&["init", "--quiet", &format!("--object-format={format}")]);
            for name in ["a", "a-longer-name", "deep/er/x", "deep/er/xy", "deep/z"] {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, name).unwrap();
            }
            run(&["add", "a", "deep"]);
            // Only an extended entry makes it the third version.
            run(&["add", "--intent-to-add", "a-longer-name"]);
            run(&["update-index", "--index-version", &version.to_string()]);
            let path = folder.path().join(".git/index");
            let mut index = std::fs::read(&path).unwrap();
            let listed = run(&["ls-files", "--stage"]);
            adjust(&mut index, id, |_| 7, |_| 8).unwrap();
            std::fs::write(&path, &index).unwrap();
            assert_eq!(run(&["ls-files", "--stage"]), listed);
            let debug = run(&["ls-files", "--debug"]);
            assert_eq!(debug.matches("uid: 7\tgid: 8").count(), 5, "{debug}");
            assert_eq!(adjust(&mut index[..70].to_vec(), id, |_| 7, |_| 8), None);
        }
    }

    #[test]
    fn a_split_index_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| git(folder.path(), arguments).unwrap();
        run(&["init", "--quiet"]);
        std::fs::write(folder.path().join("a"), "a").unwrap();
        run(&["add", "a"]);
        run(&["update-index", "--split-index"]);
        let mut index = std::fs::read(folder.path().join(".git/index")).unwrap();
        assert_eq!(adjust(&mut index, 20, |_| 7, |_| 8), None);
    }
}
