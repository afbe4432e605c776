//! Whether a task can run beside others: two tasks that are about the same files would only conflict when they land.

use super::SlotId;
use crate::glob::any_meet;

/// Whether a task about these files overlaps with what another slot than this one works on.
pub fn overlaps(touching: &[Vec<String>], slot: SlotId, files: &[String]) -> bool {
    let others = touching.iter().zip(0..).filter(|(_, other)| *other != slot);
    others.into_iter().any(|(other, _)| any_meet(other, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_overlaps_with_other_slots_only_and_only_by_files() {
        let files =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let touching = [files(&["src/a.rs"]), files(&["/docs/**"]), files(&[])];
        assert!(overlaps(&touching, 1, &files(&["src/*.rs"])));
        assert!(!overlaps(&touching, 0, &files(&["src/*.rs"])), "its own files are no obstacle");
        assert!(overlaps(&touching, 2, &files(&["/docs/x.md"])));
        assert!(!overlaps(&touching, 2, &files(&["tests/x.rs"])));
        assert!(!overlaps(&touching, 2, &[]), "a task that names no file runs beside any other");
    }
}
