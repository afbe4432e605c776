//! Which files of a worktree are ralph's own. Reads none of them.

/// What ralph keeps below `.ralph`; the rest of that folder is the user's. No tree, commit, revert or prompt has any of
/// it, whatever is tracked.
pub(crate) const STATE: [&str; 7] =
    ["progress.db", "state.toml", "run.lock", "logs", "plans", "worktrees", "box"];

/// Whether a path, relative to the top of a worktree, is one of ralph's own files there, or derived from one.
/// Some file systems ignore case.
pub(crate) fn is_state(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    let (first, name) = (parts.next().unwrap_or_default(), parts.next());
    let is_kept = |name: &[u8]| {
        STATE.iter().any(|kept| {
            let begins =
                name.get(..kept.len()).is_some_and(|n| n.eq_ignore_ascii_case(kept.as_bytes()));
            begins && matches!(name.get(kept.len()), None | Some(b'.' | b'-'))
        })
    };
    match name {
        Some(name) if first.eq_ignore_ascii_case(b".ralph") => is_kept(name),
        Some(_) => first.eq_ignore_ascii_case(b".worktrees"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_state;

    #[test]
    fn state_is_distinguished_from_files_beside_it() {
        for path in [
            ".ralph/progress.db",
            ".ralph/progress.db-wal",
            ".ralph/logs/a/b",
            ".Ralph/Run.lock",
            ".ralph/logs",
            ".worktrees/a",
        ] {
            assert!(is_state(path.as_bytes()), "{path}");
        }
        for path in [
            ".ralph/skills/a/SKILL.md",
            ".ralph/fix_plan.md",
            "a/.ralph/progress.db",
            ".ralph/logs2",
            ".ralph",
        ] {
            assert!(!is_state(path.as_bytes()), "{path}");
        }
    }
}
