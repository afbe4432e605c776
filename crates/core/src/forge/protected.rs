//! Branches that are never pushed to.

/// Whether a branch is one of these. A `*` in a pattern stands for any text, slashes too.
pub fn is_protected(branch: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| fits(pattern.trim(), branch))
}

fn fits(pattern: &str, branch: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == branch;
    };
    let Some(branch) = branch.strip_prefix(head) else { return false };
    let ends = branch.char_indices().map(|(at, _)| at).chain([branch.len()]);
    ends.into_iter().any(|at| fits(rest, &branch[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_and_stars_are_any_text() {
        let patterns = ["main", "release/*", "*-prod"].map(str::to_owned);
        for branch in ["main", "release/", "release/1.2/x", "eu-prod", "-prod"] {
            assert!(is_protected(branch, &patterns), "{branch}");
        }
        for branch in ["feature/main", "main2", "Main", "release", "prod", "a-prod-b", ""] {
            assert!(!is_protected(branch, &patterns), "{branch}");
        }
        assert!(!is_protected("main", &[]));
    }
}
