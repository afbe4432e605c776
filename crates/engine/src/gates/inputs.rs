//! What else decides how the files of a tree look to the gates: git settings that change files on checkout, and the
//! ignored files that are copied into a clean checkout. Both count as they were when the run began; a change by a
//! session is reported or refused like a change to a protected file.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::GateRules;
use crate::ports::Vcs;
use crate::project::Project;
use crate::untrusted::{SMALL, read_through_links};

/// These inputs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GateInputs {
    /// Each file, and what it says that matters here.
    relevant_text: Vec<(String, String)>,
    /// The ignored files that a checkout gets, and their content as a number.
    included: Vec<(String, u64)>,
    /// Where each file is, and how it looked from outside; `None` when it was not there.
    files: Vec<(PathBuf, Option<Outside>)>,
    /// The other folders that git looks for objects in.
    borrowed: Vec<u8>,
}

/// Inode, size, and the times of the last change to content and to metadata, which no program can set.
type Outside = (u64, u64, [i64; 4]);

fn outside(path: &Path) -> Option<Outside> {
    let found = std::fs::metadata(path).ok()?;
    let moments = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    Some((found.ino(), found.size(), moments))
}

impl GateInputs {
    /// As they are now. What cannot be read says nothing.
    pub(crate) fn of(
        rules: &GateRules,
        environment: &[(OsString, OsString)],
        project: &Project,
        vcs: &dyn Vcs,
    ) -> Self {
        let (mut relevant_text, mut files) = (Vec::new(), Vec::new());
        let mut note = |name: String, path: &Path, says: fn(&str) -> String| {
            files.push((path.to_owned(), outside(path)));
            let text = read_through_links(path, SMALL).unwrap_or_default();
            relevant_text.push((name, says(&String::from_utf8_lossy(&text))));
        };
        let common = &project.git_dir;
        let own = project.own_git_dir().unwrap_or_else(|_| common.clone());
        note(".git/config".to_owned(), &common.join("config"), filters);
        note(".git/config.worktree".to_owned(), &own.join("config.worktree"), filters);
        note(".git/info/attributes".to_owned(), &common.join("info/attributes"), str::to_owned);
        if project.worktree == project.root {
            // Worktrees of branches write there as they are made.
            note(".git/info/exclude".to_owned(), &common.join("info/exclude"), ignored);
        }
        for (name, path) in of_user(environment) {
            note(name, &path, filters);
        }
        let included = match wants_included(rules) {
            true => vcs.included(&rules.include).unwrap_or_default(),
            false => vec![],
        };
        Self { relevant_text, included, files, borrowed: borrowed(project) }
    }

    /// Whether a session had git look for objects elsewhere: what it commits would be missing in every other clone.
    pub(crate) fn borrows_objects(&self, project: &Project) -> bool {
        borrowed(project) != self.borrowed
    }

    /// The differences, in words. Untouched files are not read again.
    pub(crate) fn changed_in(
        &self,
        rules: &GateRules,
        environment: &[(OsString, OsString)],
        project: &Project,
        vcs: &dyn Vcs,
    ) -> Vec<String> {
        let touched = self.files.iter().any(|(path, then)| outside(path) != *then);
        match touched || wants_included(rules) {
            true => self.changed(&Self::of(rules, environment, project, vcs)),
            false => vec![],
        }
    }

    fn changed(&self, now: &Self) -> Vec<String> {
        let settings =
            self.relevant_text.iter().zip(&now.relevant_text).filter(|(then, now)| then.1 != now.1);
        let what = |name: &str| match name {
            ".git/info/exclude" => "which files git ignores",
            _ => "how git shows files",
        };
        let mut found: Vec<String> =
            settings.map(|((name, _), _)| format!("{name} ({})", what(name))).collect();
        let is_new = |entry: &&(String, u64)| !self.included.contains(entry);
        let is_gone =
            |entry: &&(String, u64)| !now.included.iter().any(|(name, _)| *name == entry.0);
        let files = now.included.iter().filter(is_new);
        let files = files.chain(self.included.iter().filter(is_gone));
        found.extend(files.map(|(name, _)| format!("{name} (copied into a clean checkout)")));
        found
    }
}

/// Whether a checkout gets ignored files too.
fn wants_included(rules: &GateRules) -> bool {
    rules.clean && !rules.include.trim().is_empty()
}

/// The user's own settings of git.
fn of_user(environment: &[(OsString, OsString)]) -> Vec<(String, PathBuf)> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == OsStr::new(name));
        found.map(|(_, value)| PathBuf::from(value))
    };
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.clone()?.join(".config")));
    let mut found = Vec::new();
    found.extend(home.map(|home| ("~/.gitconfig".to_owned(), home.join(".gitconfig"))));
    found.extend(config.map(|home| ("~/.config/git/config".to_owned(), home.join("git/config"))));
    found
}

/// Settings of git, wherever they stand, by which a worktree looks different from what is committed.
const FILTERS: [&str; 10] = [
    "attributesfile",
    "autocrlf",
    "eol",
    "excludesfile",
    "filemode",
    "ignorecase",
    "precomposeunicode",
    "sparsecheckout",
    "symlinks",
    "worktree",
];

/// What `objects/info/alternates` says.
fn borrowed(project: &Project) -> Vec<u8> {
    read_through_links(&project.git_dir.join("objects/info/alternates"), SMALL).unwrap_or_default()
}

/// The patterns of files that git ignores, without ralph's own.
fn ignored(exclude: &str) -> String {
    let own =
        |line: &&str| line.is_empty() || line.starts_with("/.ralph/") || *line == "/.worktrees/";
    let lines = exclude.lines().map(str::trim).filter(|line| !own(line));
    lines.filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// The settings that change files between the repository and the worktree, or bring in others that may.
fn filters(config: &str) -> String {
    let mut kept = Vec::new();
    let mut all = false;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.to_ascii_lowercase();
            all = ["filter", "include"].iter().any(|name| section.starts_with(name));
        }
        let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        let alone = FILTERS.contains(&key.as_str());
        if (all || alone) && !line.is_empty() && !line.starts_with(['#', ';']) {
            kept.push(line);
        }
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_change_files_are_looked_at() {
        let plain = "[core]\n\tbare = false\n[color]\n\tui = auto\n[user]\n\tname = \"a\"\n";
        assert_eq!(filters(plain), "");
        let planted = format!("{plain}[filter \"x\"]\n\tsmudge = echo hello\n[core]\n\tEOL = lf\n");
        assert_eq!(filters(&planted), "[filter \"x\"]\nsmudge = echo hello\nEOL = lf");
        assert_ne!(filters("[Include]\npath = ../x\n"), "");
        assert_ne!(filters("[core]\nattributesFile = /x\n"), "");
        assert_ne!(filters("[core]\n\tsymlinks = false\n"), "");
        assert_eq!(ignored("# git ls-files\n/.ralph/logs/\n/.worktrees/\n"), "");
        assert_eq!(ignored("/.ralph/logs/\nsrc/new.rs\n"), "src/new.rs");
    }

    #[test]
    fn what_is_new_changed_or_gone_is_named() {
        let then = GateInputs {
            relevant_text: vec![("a".into(), String::new()), ("b".into(), "x".into())],
            included: vec![(".env".into(), 1), ("old".into(), 2)],
            files: vec![],
            borrowed: vec![],
        };
        assert!(then.changed(&then).is_empty());
        let now = GateInputs {
            relevant_text: vec![("a".into(), "new".into()), ("b".into(), "x".into())],
            included: vec![(".env".into(), 3), ("more".into(), 4)],
            files: vec![],
            borrowed: vec![],
        };
        let found = then.changed(&now);
        let what = "(copied into a clean checkout)";
        assert_eq!(
            found,
            [
                "a (how git shows files)".to_owned(),
                format!(".env {what}"),
                format!("more {what}"),
                format!("old {what}")
            ]
        );
    }
}
