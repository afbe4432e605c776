//! Languages, as far as finding their tests goes, and which files hold tests.

/// How a language says that something is a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    /// JavaScript and TypeScript.
    Script,
    Python,
    Go,
}

impl Language {
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        Some(match ending {
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::Script,
            "py" => Self::Python,
            "go" => Self::Go,
            _ => return None,
        })
    }
}

/// Whether the usual program that runs the tests of this language looks for them in this file.
pub fn may_hold_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match Language::of(path) {
        None => false,
        // Tests stand beside the code.
        Some(Language::Rust) => true,
        Some(Language::Go) => stem.ends_with("_test"),
        Some(Language::Python) => stem.starts_with("test") || stem.ends_with("_test"),
        Some(Language::Script) => {
            let mut folders = path.split('/').rev().skip(1);
            let is_word = |word: &str| matches!(word, "test" | "tests" | "spec" | "specs");
            stem.split(['_', '-', '.']).any(is_word)
                || folders.any(|folder| is_word(folder) || folder == "__tests__")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_may_hold_tests_are_recognized_by_their_names() {
        let yes = [
            "src/lib.rs",
            "tests/it.rs",
            "test_a.py",
            "app/tests.py",
            "pkg/a_test.go",
            "src/a.test.tsx",
            "a-spec.js",
            "__tests__/a.js",
            "test/a.mjs",
        ];
        let no = [
            "src/a.py",
            "contest.py",
            "tests/helpers.py",
            "tests/data.json",
            "README.md",
            "latest.go",
            "tests/a.go",
            "Makefile",
            "src/ATest.java",
        ];
        for path in yes {
            assert!(may_hold_tests(path), "{path}");
        }
        for path in no {
            assert!(!may_hold_tests(path), "{path}");
        }
    }
}
