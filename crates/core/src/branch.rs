//! Names of branches that ralph makes, and the folders of their worktrees.
//!
//! ralph accepts fewer names than git. It rejects those that would be read as something else: as an option,
//! as a commit, or, on a disk that ignores case, as another branch.

use crate::ids::{MAX_ID_LEN, TaskId};
use crate::stable_hash::stable_hash;
use crate::text::{escaped, printable_line};

/// The longest name, in bytes: with `.lock` behind it, its last part is still a file name.
pub const MAX_BRANCH_LEN: usize = 200;

/// Why a text cannot be a branch name, or not beside the other names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BranchError {
    #[error("a branch needs a name")]
    Empty,
    #[error("a branch name has at most {MAX_BRANCH_LEN} bytes, this one has {len}")]
    TooLong { len: usize },
    /// It would be read as an option.
    #[error("a branch name cannot start with \"-\"")]
    OptionLike,
    #[error("{name:?} has a special meaning in git")]
    Taken { name: String },
    #[error("a branch name cannot contain {found:?}")]
    Character { found: char },
    #[error("a branch name cannot contain {found:?}")]
    Sequence { found: &'static str },
    #[error("{part:?} cannot be part of a branch name: {why}")]
    Part { part: String, why: &'static str },
    #[error("branch {name} is protected")]
    Protected { name: String },
    #[error("branch {name} is checked out here")]
    Current { name: String },
    #[error("branch {name} is named twice")]
    Twice { name: String },
    /// Two names that differ only in case: on many disks they are one file.
    #[error("branches {one} and {other} differ only in case")]
    Twins { one: String, other: String },
    /// One name is a folder of the other: git cannot have both.
    #[error("branches {outer} and {inner} cannot both exist")]
    Nested { outer: String, inner: String },
}

/// What the names of tasks' branches begin with.
pub const TASK_PREFIX: &str = "ralph/";

/// The name of a branch, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchName(String);

impl BranchName {
    pub fn new(text: &str) -> Result<Self, BranchError> {
        check(text)?;
        Ok(Self(text.to_owned()))
    }

    /// The branch of a task's worktree. A file system may ignore case, so capital letters are written as bytes.
    pub fn of_task(task: &TaskId) -> Result<Self, BranchError> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        Self::new(&format!("{TASK_PREFIX}{}", escaped(task.as_str(), '=', is_plain)))
    }

    /// The folder of its worktree below that of all worktrees, by its parts. No part is `.`, `..` or
    /// `.git`, and none has a separator.
    pub fn folder(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The name of the last folder, which git takes for that of the worktree.
    pub fn last_part(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// A unique file name, also on disks that ignore case: every byte but small letters, digits and `-` is
    /// written `=HH`.
    pub fn file_name(&self) -> String {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        shortened(escaped(&self.0, '=', plain), &self.0, 200)
    }

    /// The name under which unfinished work in its worktree is saved and restored.
    pub fn as_task(&self) -> Option<TaskId> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._:#@+=/-".contains(&b);
        // No branch has a tilde, so the escaped name is that of no other.
        let mut whole = escaped(&self.0, '~', plain);
        if !whole.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            whole.insert_str(0, "branch-");
        }
        TaskId::new(shortened(whole, &self.0, MAX_ID_LEN)).ok()
    }

    /// Compares as disks do that ignore case.
    fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

checked_text!(BranchName, BranchError);

/// At most so many bytes; a number replaces what is cut off and keeps the name unique.
fn shortened(escaped: String, whole: &str, most: usize) -> String {
    if escaped.len() <= most {
        return escaped;
    }
    let number = stable_hash(whole.bytes());
    // Everything escaped is ASCII.
    let kept: String = escaped.chars().take(most - 17).collect();
    format!("{}-{number:016x}", kept.trim_end_matches(['/', '.']))
}

fn check(text: &str) -> Result<(), BranchError> {
    if text.is_empty() {
        return Err(BranchError::Empty);
    }
    if text.len() > MAX_BRANCH_LEN {
        return Err(BranchError::TooLong { len: text.len() });
    }
    if text.starts_with('-') {
        return Err(BranchError::OptionLike);
    }
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_id || text.eq_ignore_ascii_case("HEAD") || text == "@" || text.starts_with("refs/") {
        return Err(BranchError::Taken { name: text.to_owned() });
    }
    if let Some(found) = text.chars().find(|c| !may_have(*c)) {
        return Err(BranchError::Character { found });
    }
    if let Some(found) = ["..", "@{"].into_iter().find(|s| text.contains(s)) {
        return Err(BranchError::Sequence { found });
    }
    text.split('/').try_for_each(check_part)
}

fn may_have(c: char) -> bool {
    // What cannot be printed as it is would look like another name, or like none.
    !c.is_control()
        && !c.is_whitespace()
        && !"~^:?*[\\".contains(c)
        && printable_line(c.encode_utf8(&mut [0; 4])).chars().eq([c])
}

fn check_part(part: &str) -> Result<(), BranchError> {
    let lower = part.to_ascii_lowercase();
    let rules = [
        (part.is_empty(), "it is empty"),
        (part.starts_with('.'), "it starts with a dot"),
        (lower.ends_with(".lock"), "it ends with .lock"),
        (part.ends_with('.'), "it ends with a dot"),
    ];
    match rules.into_iter().find(|(is_broken, _)| *is_broken) {
        Some((_, why)) => Err(BranchError::Part { part: part.to_owned(), why }),
        None => Ok(()),
    }
}

/// Whether ralph may work on the branch: not on one that is protected, nor on the one that the user
/// has checked out. Names that differ only in case count as one.
pub fn check_free(
    name: &BranchName,
    protected: &[String],
    current: Option<&str>,
) -> Result<(), BranchError> {
    let folded = name.folded();
    if protected.iter().any(|other| other.to_lowercase() == folded) {
        return Err(BranchError::Protected { name: name.to_string() });
    }
    if current.is_some_and(|other| other.to_lowercase() == folded) {
        return Err(BranchError::Current { name: name.to_string() });
    }
    Ok(())
}

/// Whether branches with these names can exist together, on any disk.
pub fn check_together(names: &[BranchName]) -> Result<(), BranchError> {
    for (at, name) in names.iter().enumerate() {
        names[..at].iter().try_for_each(|before| check_beside(before, name))?;
    }
    Ok(())
}

/// Whether a branch `new` can be created beside `old`.
pub fn check_beside(old: &BranchName, new: &BranchName) -> Result<(), BranchError> {
    if old == new {
        return Err(BranchError::Twice { name: new.to_string() });
    }
    let (a, b) = (old.folded(), new.folded());
    if a == b {
        return Err(BranchError::Twins { one: old.to_string(), other: new.to_string() });
    }
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
    };
    match (is_in(&b, &a), is_in(&a, &b)) {
        (true, _) => Err(BranchError::Nested { outer: old.to_string(), inner: new.to_string() }),
        (_, true) => Err(BranchError::Nested { outer: new.to_string(), inner: old.to_string() }),
        _ => Ok(()),
    }
}

/// The task whose branch has this name.
pub fn task_of_branch(branch: &str) -> Option<TaskId> {
    let mut parts = branch.strip_prefix(TASK_PREFIX)?.split('=');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        text.push(char::from(u8::from_str_radix(part.get(..2)?, 16).ok()?));
        text.push_str(&part[2..]);
    }
    TaskId::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> BranchName {
        BranchName::new(text).unwrap()
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for text in [
            "",
            "-x",
            "--upload-pack=x",
            "@",
            "HEAD",
            "head",
            "refs/heads/x",
            "a b",
            "a\tb",
            "a\n",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[1]",
            "a\\b",
            "a..b",
            "../x",
            "a/../b",
            "a@{1}",
            "@{-1}",
            "a//b",
            "/a",
            "a/",
            ".a",
            "a/.git",
            "a.",
            "a/b.",
            "a.lock",
            "a.LOCK/b",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{7f}",
            "a\u{85}",
            "0123456789abcdef0123456789abcdef01234567",
        ] {
            assert!(BranchName::new(text).is_err(), "{text:?}");
        }
        assert!(BranchName::new(&"a".repeat(MAX_BRANCH_LEN + 1)).is_err());
    }

    #[test]
    fn names_of_users_are_names() {
        for text in [
            "feature",
            "feat/login-form",
            "v1.2",
            "größe",
            "日本語",
            "a;$(touch${IFS}x)",
            "a@b",
            "a/-b",
            "x-1_2+3",
            "{a}",
            "user/ada/fix#7",
            "head/er",
            "a.lockx",
        ] {
            assert_eq!(name(text).as_str(), text);
        }
        assert!(BranchName::new(&"a".repeat(MAX_BRANCH_LEN)).is_ok());
    }

    #[test]
    fn protected_and_current_branches_are_left_alone_whatever_their_case() {
        let protected = ["main".to_owned(), "Release".to_owned()];
        for (text, current, free) in [
            ("main", None, false),
            ("Main", None, false),
            ("release", None, false),
            ("work", Some("work"), false),
            ("work", Some("Work"), false),
            ("main/x", Some("work"), true),
            ("work", None, true),
        ] {
            assert_eq!(check_free(&name(text), &protected, current).is_ok(), free, "{text}");
        }
    }

    #[test]
    fn branches_that_one_disk_cannot_hold_are_not_made_together() {
        let together = |texts: &[&str]| {
            check_together(&texts.iter().map(|text| name(text)).collect::<Vec<_>>())
        };
        for (texts, output) in [
            (["a", "a"], "named twice"),
            (["a", "A"], "differ only in case"),
            (["ä", "Ä"], "differ only in case"),
            (["a", "a/b"], "branches a and a/b cannot both exist"),
            (["a/b", "A"], "branches A and a/b cannot both exist"),
        ] {
            let error = together(&texts).unwrap_err().to_string();
            assert!(error.contains(output), "{error}");
        }
        assert_eq!(together(&["a", "ab", "b/a", "b/c", "a-b"]), Ok(()));
    }

    #[test]
    fn a_branch_has_a_file_and_a_task_of_its_own() {
        let long = format!("{}/{}", "ä".repeat(40), "B".repeat(80));
        let longer = format!("{long}x");
        let texts = ["a", "A", "a/b", "a=b", "a.b", "größe", "a;b", "(x", &long, &longer];
        let names: Vec<BranchName> = texts.iter().map(|text| name(text)).collect();
        let mut files: Vec<String> =
            names.iter().map(|name| name.file_name().to_lowercase()).collect();
        let mut tasks: Vec<TaskId> = names.iter().map(|name| name.as_task().unwrap()).collect();
        assert!(files.iter().all(|file| file.len() <= 200 && !file.contains(['/', '.'])));
        assert_eq!(tasks[2].as_str(), "a/b", "most names stay as they are");
        for list in [files.len(), tasks.len()] {
            assert_eq!(list, texts.len());
        }
        files.sort();
        files.dedup();
        tasks.sort();
        tasks.dedup();
        assert_eq!((files.len(), tasks.len()), (texts.len(), texts.len()));
    }

    #[test]
    fn the_folder_stays_below_the_others() {
        let parts: Vec<String> = name("feat/a.b/c").folder().map(str::to_owned).collect();
        assert_eq!(parts, ["feat", "a.b", "c"]);
        assert_eq!(name("feat/a.b/c").last_part(), "c");
    }

    #[test]
    fn a_branch_names_its_task() {
        for id in ["t-abcd2345", "task-cli/01", "A.b:c#d@e+f=g", "a", "A"] {
            let id = TaskId::new(id).unwrap();
            let branch = BranchName::of_task(&id).unwrap();
            assert_eq!(task_of_branch(branch.as_str()), Some(id.clone()), "{branch}");
        }
        assert_eq!(task_of_branch("main"), None);
        assert_eq!(task_of_branch("ralph/=ZZ"), None);
        let twins = ["A", "a"].map(|id| TaskId::new(id).unwrap());
        let twins = twins.map(|id| BranchName::of_task(&id).unwrap().to_string());
        assert_ne!(twins[0].to_lowercase(), twins[1].to_lowercase());
    }
}
