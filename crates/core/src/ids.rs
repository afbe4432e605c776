//! Names of things. Each kind of id is its own type, so one cannot stand in for another.
//!
//! Ids are plain ASCII on purpose: they are typed in shells, written into signals, git refs and
//! file names, and two ids that look the same must be the same. Titles may be in any script.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest id, in bytes. Written into a git ref with each byte escaped it still fits a file name.
pub const MAX_ID_LEN: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("an id cannot be empty")]
    Empty,
    #[error("an id has at most {MAX_ID_LEN} characters, this one has {len}")]
    TooLong { len: usize },
    /// The first character is not a letter or digit, as in an option or a path.
    #[error("an id starts with a letter or a digit, not with {first:?}")]
    BadStart { first: char },
    #[error("an id cannot contain {found:?}; allowed are A-Z a-z 0-9 and {allowed}")]
    BadCharacter { found: char, allowed: &'static str },
    /// `.` or `..` as a part: it would be a way out of a folder.
    #[error("an id cannot have \"..\" or an empty part between slashes")]
    PathLike,
}

fn check(text: &str, allowed: &'static str) -> Result<(), IdError> {
    let first = text.chars().next().ok_or(IdError::Empty)?;
    if text.len() > MAX_ID_LEN {
        return Err(IdError::TooLong { len: text.len() });
    }
    if let Some(found) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !allowed.contains(*c))
    {
        return Err(IdError::BadCharacter { found, allowed });
    }
    if !first.is_ascii_alphanumeric() {
        return Err(IdError::BadStart { first });
    }
    if text.contains("..") || text.contains("//") || text.ends_with('/') {
        return Err(IdError::PathLike);
    }
    Ok(())
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, allowed $allowed:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text, $allowed)?;
                Ok(Self(text))
            }
        }

        checked_text!($name, IdError);

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id_type! {
    /// A task: `t-` and eight base-32 characters when ralph makes it, or a name of the user's own
    /// such as `task-cli/01`.
    TaskId, allowed "-_./:#@+=~"
}
id_type! {
    /// Whoever holds claims: `agent-` and eight hex digits for a run, four hex digits for a
    /// registered agent, any name for a user.
    AgentId, allowed "-_./:#@+=~"
}
id_type! {
    /// A feature's name. It is also the name of its folder, so it has no slash.
    FeatureName, allowed "-_."
}
id_type! {
    /// A feature's own id, `f-` and eight base-32 characters: it outlives a rename.
    FeatureId, allowed "-"
}
id_type! {
    /// One session on one task.
    AttemptId, allowed "-"
}
id_type! {
    /// A question that waits for the user.
    QuestionId, allowed "-"
}
id_type! {
    /// One call of `ralph build`, `plan` or `prompt`.
    RunId, allowed "-"
}

/// The letters of generated ids: RFC 4648 base 32 in lower case, no `0`, `1`, `8` or `9` to misread.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Writes `prefix` and eight base-32 characters taken from the low 40 bits of `random`.
pub fn generated(prefix: &str, random: u64) -> String {
    let mut text = String::with_capacity(prefix.len() + 8);
    text.push_str(prefix);
    for position in 0..8 {
        let index = (random >> (5 * position)) & 31;
        text.push(char::from(BASE32[index as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_ids_are_allowed() {
        for text in ["t-abcd2345", "task-cli/01", "US-001", "1.2", "bd-a1b2", "a"] {
            assert_eq!(TaskId::new(text).map(String::from), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_cannot_be_an_id_is_named() {
        assert_eq!(TaskId::new(""), Err(IdError::Empty));
        assert_eq!(TaskId::new("--all"), Err(IdError::BadStart { first: '-' }));
        assert_eq!(TaskId::new("/etc"), Err(IdError::BadStart { first: '/' }));
        assert_eq!(TaskId::new("a/../b"), Err(IdError::PathLike));
        assert_eq!(TaskId::new("a//b"), Err(IdError::PathLike));
        assert_eq!(TaskId::new("x".repeat(81)), Err(IdError::TooLong { len: 81 }));
        for (text, found) in
            [("a b", ' '), ("a,b", ','), ("a<b", '<'), ("a\nb", '\n'), ("caf\u{e9}", '\u{e9}')]
        {
            assert!(
                matches!(TaskId::new(text), Err(IdError::BadCharacter { found: f, .. }) if f == found)
            );
        }
    }

    #[test]
    fn unicode_twins_cannot_both_be_ids() {
        // Composed and decomposed e-acute, and a Cyrillic a: none of them gets in.
        for text in ["caf\u{e9}", "cafe\u{301}", "\u{430}bc"] {
            assert!(TaskId::new(text).is_err());
        }
    }

    #[test]
    fn a_feature_name_is_one_folder() {
        assert!(FeatureName::new("login-form").is_ok());
        assert!(FeatureName::new("a/b").is_err());
        assert!(FeatureName::new(".hidden").is_err());
    }

    #[test]
    fn generated_ids_have_eight_letters() {
        assert_eq!(generated("t-", 0), "t-aaaaaaaa");
        assert_eq!(generated("t-", u64::MAX), "t-77777777");
        assert_eq!(generated("f-", 1).len(), 10);
    }
}
