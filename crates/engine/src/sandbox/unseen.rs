//! Finds paths in a gate's output that exist in a folder of users and that the sandbox hid, so that you need not
//! guess why a gate fails inside the sandbox and passes outside.
//!
//! It is a hint only: it cannot help with a program that does not print what it misses. It never suggests places of
//! logins.

use std::path::{Path, PathBuf};

use super::config::{Sandbox, SandboxConfig};
use super::environment::value;
use super::sandboxed_command::{ProgramKind, SandboxedCommand};

/// How many are suggested.
const MOST: usize = 3;
/// Folders of a home that hold those of many programs, by how many of them are one below the other.
const BROAD: [(&str, usize); 5] =
    [(".config", 2), (".cache", 2), (".local/share", 3), (".local/state", 3), (".local", 2)];

impl Sandbox {
    /// What to show so that a program finds what it named, each in a sentence.
    pub(crate) fn unseen(&self, worktree: &Path, output: &str) -> Vec<String> {
        let places = match self.mounts() {
            true => self.config.unseen(worktree, output),
            false => vec![],
        };
        let say = |place: &String| {
            format!(
                "The gate named {place}, which the sandbox hides. To show it, put this into your config: \
                 sandbox.readable = [\"{place}\"]"
            )
        };
        places.iter().take(MOST).map(say).collect()
    }
}

impl SandboxConfig {
    fn unseen(&self, worktree: &Path, output: &str) -> Vec<String> {
        let emptied = self.home.emptied();
        let mut named: Vec<(PathBuf, PathBuf)> = Vec::new();
        for home in emptied {
            named.extend(paths_below(output, home).map(|path| (home.clone(), path)));
        }
        // The user's home may have another name than its real one.
        let first = emptied.first();
        if let (Some(home), Some(set)) = (first, value(&self.environment, "HOME")) {
            let other = Path::new(set);
            let alike = other.canonicalize().is_ok_and(|real| real == *home) && other != home;
            if alike {
                named.extend(paths_below(output, other).map(|path| (home.clone(), path)));
            }
        }
        if let Some(home) = first {
            let tilde = paths_below(output, Path::new("~"));
            named.extend(tilde.map(|path| (home.clone(), path)));
        }
        for folder in self.home.elsewhere() {
            let paths = paths_below(output, folder).map(|path| (folder.clone(), path));
            let of_home = |path: &Path| emptied.iter().any(|home| path.starts_with(home));
            named.extend(paths.filter(|(folder, below)| !of_home(&folder.join(below))));
        }
        if named.is_empty() {
            return vec![];
        }
        let mount_plan = self.mount_plan(
            &SandboxedCommand::in_worktree(ProgramKind::Judge, worktree),
            &[],
            true,
        );
        let secrets = self.secrets();
        let is_secret = |path: &Path| {
            secrets.iter().any(|known| path.starts_with(known) || known.starts_with(path))
        };
        let mut all: Vec<String> = Vec::new();
        for (home, below) in named {
            let path = home.join(&below);
            if !path.exists()
                || !mount_plan.is_hidden(&path)
                || path.starts_with(self.caches.folder())
            {
                continue;
            }
            let proposed = home.join(proposal(&home, &below));
            if is_secret(&proposed) {
                continue;
            }
            let short = match proposed.strip_prefix(&home) {
                Ok(rest) if Some(&home) == first => format!("~/{}", rest.display()),
                _ => proposed.display().to_string(),
            };
            if !all.contains(&short) {
                all.push(short);
            }
        }
        all
    }
}

/// The path to show so that `below` exists: the whole folder of a single program, and no more than needed of
/// others.
fn proposal(home: &Path, below: &Path) -> PathBuf {
    let broad = BROAD.iter().find(|(name, _)| below.starts_with(name));
    let is_dotted = below.to_string_lossy().starts_with('.');
    let most = match broad {
        Some((_, most)) => *most,
        None if is_dotted => 1,
        None => {
            let folder = if home.join(below).is_dir() { Some(below) } else { below.parent() };
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
            return folder.unwrap_or(below).to_owned();
        }
    };
    below.components().take(most).collect()
}

/// Paths below a folder that a text contains, without the folder.
fn paths_below<'a>(text: &'a str, folder: &Path) -> impl Iterator<Item = PathBuf> + use<'a> {
    let start = format!("{}/", folder.display());
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`:;,()[]{}<>|&*?=".contains(c);
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(&start)?;
            // Inside another path it does not count.
            let alone = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || "/.-_".contains(c));
            let after = &rest[at + start.len()..];
            let end = after.find(ends).unwrap_or(after.len());
            rest = &after[end..];
            let word = after[..end].trim_end_matches(['.', '/', '!']);
            let plain = !word.split('/').any(|part| part == ".." || part.is_empty());
            if alone && plain && !word.is_empty() {
                return Some(PathBuf::from(word));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_what_programs_say() {
        let text = "error: /home/me/.tool/conf.toml: No such file\nopen '/home/me/data/x' failed, see \
                    /home/me2/no and /x/home/me/no or /home/me/../no (/home/me/.a/b).";
        let found: Vec<_> = paths_below(text, Path::new("/home/me")).collect();
        assert_eq!(found, [".tool/conf.toml", "data/x", ".a/b"].map(PathBuf::from));
    }

    #[test]
    fn of_a_program_its_folder_is_proposed_and_of_others_what_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        std::fs::create_dir_all(home.join("data/sets")).unwrap();
        for (below, wanted) in [
            (".tool/deep/file", ".tool"),
            (".config/tool/deep/file", ".config/tool"),
            (".local/share/tool/x", ".local/share/tool"),
            ("data/sets/one.csv", "data/sets"),
            ("data/sets", "data/sets"),
            ("one.csv", "one.csv"),
        ] {
            assert_eq!(proposal(home, Path::new(below)), Path::new(wanted));
        }
    }
}
