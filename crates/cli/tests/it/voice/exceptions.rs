//! Words that a rule forbids and that are right in their place, each with its reason.

/// A phrase that may be said in these files.
pub(super) struct Exception {
    /// A path from the root of the repository, in which one `*` stands for anything.
    pub(super) file: &'static str,
    /// A pattern as in [`super::rules`]. What lies inside of a match is allowed.
    pub(super) words: &'static str,
    pub(super) reason: &'static str,
}

const fn except(file: &'static str, words: &'static str, reason: &'static str) -> Exception {
    Exception { file, words, reason }
}

/// Every exception. One that nothing needs fails a test.
pub(super) const EXCEPTIONS: &[Exception] = &[
    except("*", "not judge whether", "an agent is asked for no opinion; no gate is meant"),
    except(
        "crates/core/src/attempt/text/verifier.md",
        "judge",
        "the verifier is a model that judges, not a gate",
    ),
    except(
        "crates/core/src/attempt/prompt/verify.rs",
        "judge|judges",
        "the verifier is a model that judges, not a gate",
    ),
    except(
        "crates/engine/src/prompts/*_0_1.md",
        "judge|person",
        "the files of ralph 0.1, byte for byte, to recognize them",
    ),
    except(
        "crates/engine/src/store/sqlite/*",
        "judge",
        "a column of the table evidence: renaming it is a migration",
    ),
    except(
        "crates/ui/src/dry_run.rs",
        "dry run mode",
        "a line that scripts read, as the first ralph printed it",
    ),
    except(
        "crates/ui/src/dry_run.rs",
        "once mode",
        "a line that scripts read, as the first ralph printed it",
    ),
];
