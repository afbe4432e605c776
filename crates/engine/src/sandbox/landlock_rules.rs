//! Landlock: limits which files a process and its children can use, whatever their other rights allow.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The wanted version; an older kernel enforces what it knows.
const BEST: ABI = ABI::V6;

/// Restricts this process: it writes only in these places, and does not read hidden files. It cannot signal
/// processes or reach abstract sockets outside.
pub(super) fn apply(writable: &[PathBuf], shown: &[PathBuf], hidden: &[PathBuf]) -> io::Result<()> {
    let failed = |error: RulesetError| io::Error::other(format!("Landlock: {error}"));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(BEST))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(BEST)))
        .and_then(Ruleset::create)
        .map_err(failed)?;
    for path in readable(hidden, shown) {
        ruleset = allow(ruleset, &path, AccessFs::from_read(BEST))?;
    }
    for path in writable {
        ruleset = allow(ruleset, path, AccessFs::from_all(BEST))?;
    }
    match ruleset.restrict_self().map_err(failed)?.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("this system has no Landlock")),
        _ => Ok(()),
    }
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    // What cannot be opened cannot be allowed, and stays out of reach.
    let Ok(place) = PathFd::new(path) else { return Ok(ruleset) };
    let access = match path.is_dir() {
        true => access,
        false => access & AccessFs::from_file(BEST),
    };
    ruleset
        .add_rule(PathBeneath::new(place, access))
        .map_err(|error| io::Error::other(format!("Landlock: {}: {error}", path.display())))
}

/// Everything but hidden paths. Rules can only add: so instead of the root, all siblings on the way to a hidden
/// path.
fn readable(hidden: &[PathBuf], shown: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    beside(Path::new("/"), &hidden, &mut all);
    // A shown path may be inside a hidden one, and contain hidden paths itself.
    for path in shown.iter().filter_map(|path| path.canonicalize().ok()) {
        let within: Vec<PathBuf> =
            hidden.iter().filter(|hidden| **hidden != path).cloned().collect();
        beside(&path, &within, &mut all);
    }
    all
}

fn beside(folder: &Path, hidden: &[PathBuf], all: &mut BTreeSet<PathBuf>) {
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        all.insert(folder.to_owned());
        return;
    }
    if hidden.iter().any(|path| path == folder) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        // A link is judged by where it leads.
        if !path.is_symlink() {
            beside(&path, hidden, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_the_hidden_keeps_its_own_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for path in ["home/.ssh", "home/src", "other"] {
            std::fs::create_dir_all(folder.join(path)).unwrap();
        }
        let hidden = [folder.clone(), folder.join("home/.ssh")];
        let all = readable(&hidden, &[folder.join("home")]);
        assert!(all.contains(&folder.join("home/src")), "{all:?}");
        let open = |path: &Path| all.iter().any(|allowed| path.starts_with(allowed));
        assert!(!open(&folder.join("home/.ssh")) && !open(&folder.join("other")), "{all:?}");
    }

    #[test]
    fn what_lies_beside_the_hidden_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for path in ["a/secret/x", "a/open", "b"] {
            std::fs::create_dir_all(folder.join(path)).unwrap();
        }
        let mut all = BTreeSet::new();
        beside(&folder, &[folder.join("a/secret")], &mut all);
        let left: Vec<_> =
            all.iter().map(|p| p.strip_prefix(&folder).unwrap().to_owned()).collect();
        assert_eq!(left, [PathBuf::from("a/open"), PathBuf::from("b")]);
    }
}
