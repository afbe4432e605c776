//! Trust: which files decide what ralph runs, whether a repository may decide at all, and which version of such a
//! file counts.
//!
//! Sessions write files, and some files say which commands run next and what counts as done. So ralph keeps a
//! [`Ledger`] for each repository: whether you approved it, the last version of each deciding file that was yours,
//! and the digests of versions that sessions wrote. A version that a session wrote counts only once you approve it.
//! Nothing here reads a file; the engine keeps the ledger where sessions cannot write it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::sha256;

/// The settings of a repository.
pub const SETTINGS: &str = "ralph.toml";
/// Of this file only the test command decides; sessions edit the rest of it all day.
pub const AGENTS: &str = "AGENTS.md";
/// Which ignored files a clean checkout gets.
pub const INCLUDE: &str = ".worktreeinclude";
/// The test command that the project shows by its files, where no setting names one. This is not a file.
pub const FOUND: &str = "test command of the project";

/// How many digests of session-written versions are kept for a file. The oldest go first.
const MOST: usize = 1_000;
/// How many protected files are remembered at a time.
const MOST_TOUCHED: usize = 20_000;

/// What a deciding file says at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    #[default]
    Absent,
    /// A link out of the repository, a pipe, or bytes that are not text.
    Unreadable,
    /// What decides of it.
    Text(String),
}

impl Version {
    pub fn of(text: Option<String>) -> Self {
        text.map_or(Self::Absent, Self::Text)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Unreadable => None,
        }
    }

    /// Stands for the version: equal only for equal ones.
    pub fn digest(&self) -> String {
        match self {
            Self::Absent => "absent".to_owned(),
            Self::Unreadable => "unreadable".to_owned(),
            Self::Text(text) => sha256(text.as_bytes()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    #[default]
    Never,
    Approved,
    Revoked,
}

/// Whether the repository's files may decide, or you are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    /// No file decides anything, or you created the repository here: there is nothing to ask.
    Yours,
    Approved,
    /// A clone that you never approved, or a repository whose approval you took back.
    Asks,
}

/// Whether a repository's files may decide. `cloned` as [`cloned_from`] says, `decides` whether there is any file that
/// does.
pub fn trust_state(approval: Approval, cloned: bool, decides: bool) -> TrustState {
    match approval {
        _ if !decides => TrustState::Yours,
        Approval::Approved => TrustState::Approved,
        Approval::Revoked => TrustState::Asks,
        Approval::Never if cloned => TrustState::Asks,
        Approval::Never => TrustState::Yours,
    }
}

/// Where a clone came from, by the first line of the reflog of its HEAD.
pub fn cloned_from(first_line: &str) -> Option<&str> {
    let (_, message) = first_line.trim_end().split_once('\t')?;
    let rest = message.strip_prefix("clone:")?;
    Some(rest.trim().strip_prefix("from ").unwrap_or(rest.trim()))
}

/// What is known of a deciding file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Known {
    /// The last version that was yours: the one in use when a run or a session began, or that you approved.
    pub approved: Option<Version>,
    /// Digests of versions that sessions wrote and you have not approved, oldest first.
    pub written: Vec<String>,
}

/// A session that is at work, or was when its run was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenSession {
    pub id: String,
    /// The machine of its run, that machine's start, the process and when the process started.
    pub run: (String, String, u32, u64),
    /// The worktrees that it can write, and the digests of the deciding files there when it began.
    pub places: Vec<(String, BTreeMap<String, String>)>,
}

/// Everything that is known about trust in one repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// The git directory that the approval is about. Another one at the same path was never approved.
    pub repository: String,
    pub approval: Approval,
    pub files: BTreeMap<String, Known>,
    /// Protected files that sessions changed without the change being accepted: digests of their content.
    pub protected: BTreeMap<String, Vec<String>>,
    /// Sessions whose end was not recorded.
    pub sessions: Vec<OpenSession>,
}

impl Ledger {
    /// The version of a file to use in place of what is there now; `None` where that counts.
    pub fn instead_of(&self, name: &str, now: &Version) -> Option<Version> {
        let known = self.files.get(name)?;
        let held = known.written.contains(&now.digest());
        held.then(|| known.approved.clone().unwrap_or_default())
    }

    /// What is there now is in use. If no session wrote it, it is yours: the version to fall back on.
    pub fn adopt(&mut self, name: &str, now: &Version) {
        let known = self.files.entry(name.to_owned()).or_default();
        let usable = *now != Version::Unreadable && !known.written.contains(&now.digest());
        if usable {
            known.approved = Some(now.clone());
        }
    }

    /// A session had this file like `before`, by its digest, and left `after`. Whether a version waits for you
    /// now that did not before.
    pub fn session_wrote(&mut self, name: &str, before: &str, after: &Version) -> bool {
        let digest = after.digest();
        let known = self.files.entry(name.to_owned()).or_default();
        let is_approved = known.approved.as_ref() == Some(after);
        if digest == before || is_approved {
            return false;
        }
        // Ralph's own words for what a project shows: where nothing judged the work, any command is more than none.
        let nothing_yet = matches!(known.approved, None | Some(Version::Absent));
        if name == FOUND && nothing_yet {
            return false;
        }
        note(&mut known.written, digest)
    }

    /// You approve what is there now.
    pub fn approve(&mut self, name: &str, now: &Version) {
        let known = self.files.entry(name.to_owned()).or_default();
        let digest = now.digest();
        known.written.retain(|written| *written != digest);
        known.approved = Some(now.clone());
    }

    /// A session left a protected file with this content, which nothing has accepted.
    pub fn session_touched(&mut self, path: &str, digest: String) {
        if self.protected.len() < MOST_TOUCHED || self.protected.contains_key(path) {
            note(self.protected.entry(path.to_owned()).or_default(), digest);
        }
    }

    /// The content of a protected file was accepted with the work, or approved by you.
    pub fn accept_touched(&mut self, path: &str, digest: &str) {
        if let Some(digests) = self.protected.get_mut(path) {
            digests.retain(|known| known != digest);
            if digests.is_empty() {
                self.protected.remove(path);
            }
        }
    }

    /// Whether a session left a protected file with this content, and nothing has accepted it since.
    pub fn is_touched(&self, path: &str, digest: &str) -> bool {
        self.protected.get(path).is_some_and(|known| known.iter().any(|known| known == digest))
    }
}

/// Adds a digest, unless it is there already.
fn note(digests: &mut Vec<String>, digest: String) -> bool {
    if digests.contains(&digest) {
        return false;
    }
    digests.push(digest);
    let surplus = digests.len().saturating_sub(MOST);
    digests.drain(..surplus);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Version {
        Version::Text(text.to_owned())
    }

    #[test]
    fn only_a_clone_with_unapproved_deciding_files_asks() {
        use Approval::{Approved, Never, Revoked};
        for (approval, cloned, decides, expected) in [
            (Never, false, true, TrustState::Yours),
            (Never, true, false, TrustState::Yours),
            (Never, true, true, TrustState::Asks),
            (Approved, true, true, TrustState::Approved),
            (Approved, false, true, TrustState::Approved),
            (Revoked, false, true, TrustState::Asks),
            (Revoked, true, true, TrustState::Asks),
            (Revoked, true, false, TrustState::Yours),
        ] {
            let found = trust_state(approval, cloned, decides);
            assert_eq!(found, expected, "{approval:?}, cloned {cloned}, decides {decides}");
        }
    }

    #[test]
    fn a_clone_is_recognized_by_the_first_line_of_its_reflog() {
        let by = "0000 1111 A <a@example.org> 1700000000 +0000\t";
        for (line, from) in [
            (
                format!("{by}clone: from https://example.org/x.git"),
                Some("https://example.org/x.git"),
            ),
            (format!("{by}clone: from /tmp/clone: here\n"), Some("/tmp/clone: here")),
            (format!("{by}commit (initial): clone: from nowhere"), None),
            (format!("{by}checkout: moving from main to clone:"), None),
            ("clone: from x".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(cloned_from(&line), from, "{line}");
        }
    }

    #[test]
    fn what_a_session_wrote_counts_only_once_it_is_approved() {
        let mut ledger = Ledger::default();
        let (mine, theirs) = (text("mine"), text("theirs"));
        ledger.adopt(SETTINGS, &mine);
        assert_eq!(ledger.instead_of(SETTINGS, &mine), None);
        assert!(ledger.session_wrote(SETTINGS, &mine.digest(), &theirs));
        assert_eq!(ledger.instead_of(SETTINGS, &theirs), Some(mine.clone()));
        // A start with it changes nothing.
        ledger.adopt(SETTINGS, &theirs);
        assert_eq!(ledger.instead_of(SETTINGS, &theirs), Some(mine.clone()));
        // An edit of yours is yours, also on top of it.
        let edited = text("edited");
        assert_eq!(ledger.instead_of(SETTINGS, &edited), None);
        ledger.adopt(SETTINGS, &edited);
        assert_eq!(ledger.instead_of(SETTINGS, &theirs), Some(edited));
        ledger.approve(SETTINGS, &theirs);
        assert_eq!(ledger.instead_of(SETTINGS, &theirs), None);
    }

    #[test]
    fn a_session_that_puts_the_approved_version_back_wrote_nothing() {
        let mut ledger = Ledger::default();
        let (mine, theirs) = (text("mine"), text("theirs"));
        ledger.adopt(SETTINGS, &mine);
        assert!(ledger.session_wrote(SETTINGS, &mine.digest(), &theirs));
        assert!(!ledger.session_wrote(SETTINGS, &theirs.digest(), &mine));
        assert_eq!(ledger.instead_of(SETTINGS, &mine), None);
        // An older version of yours is not the approved one any more.
        ledger.approve(SETTINGS, &theirs);
        assert!(ledger.session_wrote(SETTINGS, &theirs.digest(), &mine));
        assert_eq!(ledger.instead_of(SETTINGS, &mine), Some(theirs));
    }

    #[test]
    fn removing_a_file_and_making_it_unreadable_are_versions_too() {
        let mut ledger = Ledger::default();
        let mine = text("mine");
        ledger.adopt(SETTINGS, &mine);
        for version in [Version::Absent, Version::Unreadable] {
            assert!(ledger.session_wrote(SETTINGS, &mine.digest(), &version));
            assert_eq!(ledger.instead_of(SETTINGS, &version), Some(mine.clone()));
        }
        // A file that a session made where there was none.
        ledger.adopt(AGENTS, &Version::Absent);
        assert!(ledger.session_wrote(AGENTS, "absent", &text("true")));
        assert_eq!(ledger.instead_of(AGENTS, &text("true")), Some(Version::Absent));
    }

    #[test]
    fn a_project_may_begin_to_show_a_test_command_but_not_swap_it() {
        let mut ledger = Ledger::default();
        ledger.adopt(FOUND, &Version::Absent);
        assert!(!ledger.session_wrote(FOUND, "absent", &text("cargo test")));
        ledger.adopt(FOUND, &text("cargo test"));
        assert!(ledger.session_wrote(FOUND, &text("cargo test").digest(), &text("make test")));
        assert_eq!(ledger.instead_of(FOUND, &text("make test")), Some(text("cargo test")));
        // Not in two steps either.
        assert!(ledger.session_wrote(FOUND, &text("cargo test").digest(), &Version::Absent));
        assert!(ledger.session_wrote(FOUND, "absent", &text("just test")));
        assert_eq!(ledger.instead_of(FOUND, &text("just test")), Some(text("cargo test")));
    }

    #[test]
    fn a_protected_file_stays_touched_until_it_is_accepted() {
        let mut ledger = Ledger::default();
        ledger.session_touched("tests/a", "1".to_owned());
        ledger.session_touched("tests/a", "2".to_owned());
        assert!(ledger.is_touched("tests/a", "1") && !ledger.is_touched("tests/a", "3"));
        ledger.accept_touched("tests/a", "1");
        assert!(!ledger.is_touched("tests/a", "1") && ledger.is_touched("tests/a", "2"));
        ledger.accept_touched("tests/a", "2");
        assert!(ledger.protected.is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut ledger = Ledger::default();
        for number in 0..MOST + 10 {
            ledger.session_wrote(SETTINGS, "", &text(&number.to_string()));
        }
        let written = &ledger.files[SETTINGS].written;
        assert_eq!(written.len(), MOST);
        assert_eq!(written.last(), Some(&text(&(MOST + 9).to_string()).digest()));
        for number in 0..MOST_TOUCHED + 10 {
            ledger.session_touched(&number.to_string(), "x".to_owned());
        }
        assert_eq!(ledger.protected.len(), MOST_TOUCHED);
    }
}
