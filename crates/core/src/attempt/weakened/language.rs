//! Languages, as far as finding their tests goes, and which files hold tests.

use super::mask::Syntax;

/// How a language says that something is a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    /// JavaScript and TypeScript.
    Script,
    Python,
    Go,
    /// Java, Kotlin and their like.
    Jvm,
    CSharp,
    Swift,
    Php,
    Ruby,
    Elixir,
}

impl Language {
    /// The language of a file, by its name.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        Some(match ending {
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::Script,
            "py" => Self::Python,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "scala" | "groovy" => Self::Jvm,
            "cs" => Self::CSharp,
            "swift" => Self::Swift,
            "php" => Self::Php,
            "rb" => Self::Ruby,
            "ex" | "exs" => Self::Elixir,
            _ => return None,
        })
    }

    pub(super) const fn syntax(self) -> Syntax {
        match self {
            Self::Rust => Syntax::Rust,
            Self::Script => Syntax::Script,
            Self::Python | Self::Ruby | Self::Elixir => Syntax::Hash,
            Self::Go | Self::Jvm | Self::CSharp | Self::Swift => Syntax::Slash,
            Self::Php => Syntax::Php,
        }
    }

    /// The words before the name of a function; none where the name stands alone before its bracket.
    pub(super) const fn function_words(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["fn"],
            Self::Script | Self::Php => &["function"],
            Self::Python | Self::Ruby => &["def"],
            Self::Go | Self::Swift => &["func"],
            Self::Elixir => &["def", "defp"],
            Self::Jvm => &["fun", "def"],
            Self::CSharp => &[],
        }
    }
}

/// Whether the file may hold tests: by its name, or because its language keeps tests beside the code.
pub fn may_hold_tests(path: &str) -> bool {
    match Language::of(path) {
        Some(Language::Rust) => true,
        Some(_) => is_named_like_tests(path) || is_in_tests(path),
        None => is_named_like_tests(path),
    }
}

/// Endings of files that hold nothing but tests, in languages that are not read.
const TEST_ENDINGS: [&str; 4] = ["bats", "feature", "t", "robot"];

/// Whether the name of the file says that it holds tests.
pub(super) fn is_named_like_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    if TEST_ENDINGS.contains(&ending) {
        return true;
    }
    let word = |part: &str| {
        matches!(part.to_ascii_lowercase().as_str(), "test" | "tests" | "spec" | "specs")
    };
    let camel = stem.ends_with("Test") || stem.ends_with("Tests") || stem.ends_with("Spec");
    let is_code = Language::of(name).is_some();
    is_code && (stem.split(['_', '-', '.']).any(word) || camel)
}

fn is_in_tests(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    folders.any(|folder| matches!(folder, "test" | "tests" | "spec" | "specs" | "__tests__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_may_hold_tests_are_told_by_their_names() {
        let yes = [
            "src/lib.rs",
            "tests/it.rs",
            "test_a.py",
            "pkg/a_test.go",
            "src/a.test.tsx",
            "a-spec.js",
            "src/test/java/FooTest.java",
            "spec/models/user_spec.rb",
            "test/a_test.exs",
            "__tests__/a.js",
            "tests/helpers.py",
            "t/basic.bats",
        ];
        let no =
            ["src/a.py", "contest.py", "tests/data.json", "README.md", "latest.go", "Makefile"];
        for path in yes {
            assert!(may_hold_tests(path), "{path}");
        }
        for path in no {
            assert!(!may_hold_tests(path), "{path}");
        }
    }
}
