//! Neutralizes settings of a repository that would make ralph's own git start a program.
//!
//! Git reads `.git/config`, which a session can write where the sandbox has no mounts, and which comes along with a
//! copied folder. A program named there does not count outside the sandbox: ralph's git gets the value from the
//! user's or the system's settings instead, or one that starts nothing. Settings that only say who commits or where
//! a remote is still count.
//!
//! [`PROGRAMS`] is the one list of these settings; [`listing`] reads their values.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::listed::{Listed, Listing, listing, parts};
use super::{GitError, GitResult};
use crate::project::Project;
use crate::sync::lock;

/// The replacement for a value of the repository where the user has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instead {
    Value(&'static str),
    /// Nothing, so that what needs the program fails: work that was not filtered must not be committed.
    Failure,
    /// An empty list, which the user's own follow.
    List,
    /// Git takes the first match, so only the environment is stronger.
    Environment(&'static str),
    /// Git takes the first one, so only an option is stronger: see [`Pins::option`].
    Opt,
}

use Instead::{Environment, Failure, List, Opt, Value};

/// Every setting that names a program or lets one be named: its section, its last part, and what counts instead.
/// `core.fsmonitor` and `core.hooksPath` are off in every call of the loop.
const PROGRAMS: [(&str, &str, Instead); 38] = [
    ("core", "sshcommand", Value("ssh")),
    ("core", "askpass", Value("")),
    ("core", "gitproxy", Environment("GIT_PROXY_COMMAND")),
    ("core", "editor", Value(":")),
    ("core", "pager", Value("cat")),
    ("core", "fsmonitor", Value("false")),
    ("core", "alternaterefscommand", Value("")),
    ("sequence", "editor", Value(":")),
    ("interactive", "difffilter", Value("")),
    ("filter", "clean", Failure),
    ("filter", "smudge", Failure),
    ("filter", "process", Failure),
    ("filter", "required", Failure),
    ("merge", "driver", Failure),
    ("diff", "external", Failure),
    ("diff", "command", Failure),
    ("diff", "textconv", Failure),
    ("credential", "helper", List),
    ("gpg", "program", Value("gpg")),
    ("gpg", "defaultkeycommand", Failure),
    ("trailer", "command", Value("")),
    ("trailer", "cmd", Value("")),
    ("remote", "uploadpack", Opt),
    ("remote", "receivepack", Opt),
    ("remote", "vcs", Failure),
    ("protocol", "allow", Value("user")),
    ("uploadpack", "packobjectshook", Value("")),
    ("submodule", "update", Value("none")),
    ("submodule", "recurse", Value("false")),
    ("fetch", "recursesubmodules", Value("false")),
    ("push", "recursesubmodules", Value("no")),
    ("difftool", "cmd", Value("")),
    ("mergetool", "cmd", Value("")),
    ("guitool", "cmd", Value("")),
    ("browser", "cmd", Value("")),
    ("man", "cmd", Value("")),
    ("web", "browser", Value("")),
    ("pager", "", Value("false")),
];

/// Settings that say where git goes: what they were before the first session is what a push follows.
const LEADS: [(&str, &str); 9] = [
    ("remote", "url"),
    ("remote", "pushurl"),
    ("remote", "proxy"),
    ("url", "insteadof"),
    ("url", "pushinsteadof"),
    ("http", "proxy"),
    ("http", "sslverify"),
    ("http", "sslcainfo"),
    ("core", "worktree"),
];

/// Whether git may run what an address says.
const RUNS_ADDRESSES: &[u8] = b"protocol.ext.allow";

type Leads = Vec<(Vec<u8>, Vec<u8>)>;

/// What a call of ralph's own adds: settings, each with its value, and variables.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pins {
    pub(crate) settings: Vec<(OsString, OsString)>,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    /// Whether `core.worktree` leads git to other files than those around its directory.
    pub(crate) is_led_away: bool,
    /// The repository says which programs are at the other end of a remote.
    names_remote_programs: bool,
    /// Keys and values of settings that say where git goes.
    leads: Leads,
}

#[derive(Debug, Default)]
struct Known {
    /// For each worktree, with the settings that they were made from.
    pins: HashMap<PathBuf, (Arc<Listing>, Arc<Pins>)>,
    leads: HashMap<PathBuf, Leads>,
    /// Values that ralph itself wrote by the user's settings.
    trusted: Vec<(Vec<u8>, Vec<u8>)>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<Known>> {
    lock(&KNOWN)
}

/// Has a value of a repository's settings count: ralph writes it there by the user's own settings.
pub(crate) fn trust(key: &str, value: &str) {
    let entry = (key.to_ascii_lowercase().into_bytes(), value.as_bytes().to_vec());
    let mut known = known();
    let trusted = &mut known.get_or_insert_default().trusted;
    if !trusted.contains(&entry) {
        trusted.push(entry);
    }
    known.get_or_insert_default().pins.clear();
}

/// What git in this folder needs.
pub(crate) fn pins(folder: &Path) -> Arc<Pins> {
    let Ok(project) = Project::find(folder) else { return Arc::default() };
    let listing = listing(&project).unwrap_or_default();
    if let Some((from, pins)) = known().get_or_insert_default().pins.get(&project.worktree)
        && Arc::ptr_eq(from, &listing)
    {
        return Arc::clone(pins);
    }
    let trusted = known().get_or_insert_default().trusted.clone();
    let pins = Arc::new(made(&project, &listing.all, &trusted));
    let mut known = known();
    let known = known.get_or_insert_default();
    known.leads.entry(project.git_dir.clone()).or_insert_with(|| pins.leads.clone());
    known.pins.insert(project.worktree, (listing, Arc::clone(&pins)));
    pins
}

/// Refuses to go to a remote where the repository's settings did not lead when ralph first read them: a session
/// could have changed them since.
pub(crate) fn check_leads(folder: &Path, remote: &str) -> GitResult<()> {
    let now = pins(folder);
    let Ok(project) = Project::find(folder) else { return Ok(()) };
    let known = known();
    let before = known.as_ref().and_then(|known| known.leads.get(&project.git_dir));
    let matters = |(key, _): &&(Vec<u8>, Vec<u8>)| {
        let (section, middle, _) = parts(key);
        section != b"remote" || middle == Some(remote.as_bytes())
    };
    let of_remote = |all: &Leads| all.iter().filter(matters).cloned().collect::<Leads>();
    let Some(before) = before.map(&of_remote) else { return Ok(()) };
    let now = of_remote(&now.leads);
    if before == now {
        return Ok(());
    }
    let differs = |of: &Leads, in_: &Leads| {
        of.iter().find(|one| !in_.contains(one)).map(|(key, _)| key.clone())
    };
    let key = differs(&now, &before).or_else(|| differs(&before, &now));
    let key = String::from_utf8_lossy(&key.unwrap_or_default()).into_owned();
    let why = "changed during the run; ralph pushes only to the original address";
    Err(GitError::Led { key, why })
}

/// Why a filter failed, where it is one that the repository alone names.
pub(crate) fn explain(folder: &Path, output: &str) -> Option<String> {
    let (_, rest) = output.split_once(" filter '")?;
    let (name, _) = rest.split_once("' failed")?;
    let key = format!("filter.{name}.required");
    let pins = pins(folder);
    pins.settings.iter().any(|(known, _)| known == key.as_str()).then(|| {
        format!(
            "{output}; ralph runs filters only from your own git config: git config --global \
             filter.{name}.clean COMMAND (and smudge)"
        )
    })
}

/// What the settings of a repository need beside them.
fn made(project: &Project, all: &[Listed], trusted: &[(Vec<u8>, Vec<u8>)]) -> Pins {
    let mut pins = Pins::default();
    let is_trusted =
        |one: &Listed| trusted.iter().any(|(key, value)| *key == one.key && value == one.value());
    let mut lists = false;
    for one in all.iter().filter(|one| one.is_local && !is_trusted(one)) {
        let (section, middle, name) = parts(&one.key);
        if LEADS.iter().any(|(s, n)| s.as_bytes() == section && n.as_bytes() == name) {
            pins.leads.push((one.key.clone(), one.value().to_vec()));
        }
        if one.key == b"core.worktree" {
            let named = project.git_dir.join(OsStr::from_bytes(one.value())).canonicalize();
            pins.is_led_away = named.is_ok_and(|named| named != project.worktree);
        }
        let row = PROGRAMS
            .iter()
            .find(|(s, n, _)| s.as_bytes() == section && (n.is_empty() || n.as_bytes() == name));
        match row {
            None => {}
            // Stricter than git.
            Some(("protocol", ..)) if one.value() == b"never" => {}
            Some((_, _, List)) => lists = true,
            Some((_, _, Opt)) => pins.names_remote_programs = true,
            Some((_, _, Environment(variable))) => pins.variables.push((variable, "")),
            Some((_, _, Failure)) if section == b"filter" => {
                pin_filter(&mut pins, all, middle.unwrap_or_default());
            }
            Some((section, _, instead)) => {
                let counts = |other: &&Listed| !other.is_local || is_trusted(other);
                let users = |key: &[u8]| {
                    let found = all.iter().rev().filter(counts).find(|other| other.key == key);
                    found.map(|found| found.value().to_vec())
                };
                let instead = match instead {
                    Value(value) => default_of(&one.key, value).as_bytes(),
                    _ => b"",
                };
                pins.set(&one.key, &users(&one.key).unwrap_or_else(|| instead.to_vec()));
                if *section == "protocol" {
                    // Git's own default for it counts only where no other does.
                    let users = users(RUNS_ADDRESSES).unwrap_or_else(|| b"never".to_vec());
                    pins.set(RUNS_ADDRESSES, &users);
                }
            }
        }
    }
    if lists {
        // An empty one forgets those before it, and those of the user follow.
        pins.settings.push(("credential.helper".into(), OsString::new()));
        let users = all.iter().filter(|one| !one.is_local);
        for one in users.filter(|one| is_helper(&one.key)) {
            pins.settings.push((bytes(&one.key), bytes(one.value())));
        }
    }
    pins
}

impl Pins {
    /// What a call gets behind its verb.
    pub(crate) fn option(&self, verb: &str) -> Option<&'static str> {
        match verb {
            "push" if self.names_remote_programs => Some("--receive-pack=git-receive-pack"),
            "fetch" | "ls-remote" if self.names_remote_programs => {
                Some("--upload-pack=git-upload-pack")
            }
            _ => None,
        }
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        let entry = (bytes(key), bytes(value));
        if !self.settings.contains(&entry) {
            self.settings.push(entry);
        }
    }
}

/// All four settings of a filter together: those of the user, or values that make a required filter fail.
fn pin_filter(pins: &mut Pins, all: &[Listed], middle: &[u8]) {
    let key = |name: &str| [b"filter.", middle, b".", name.as_bytes()].concat();
    let users = |name: &str| {
        all.iter().rev().find(|one| !one.is_local && one.key == key(name)).map(Listed::value)
    };
    let has_users = ["clean", "smudge", "process"].iter().any(|name| users(name).is_some());
    for name in ["clean", "smudge", "process"] {
        pins.set(&key(name), users(name).unwrap_or_default());
    }
    let required = if has_users { users("required").unwrap_or(b"false") } else { b"true" };
    pins.set(&key("required"), required);
}

/// The program of a kind of signature, where the user names none.
fn default_of(key: &[u8], value: &'static str) -> &'static str {
    match key {
        b"gpg.x509.program" => "gpgsm",
        b"gpg.ssh.program" => "ssh-keygen",
        _ => value,
    }
}

fn is_helper(key: &[u8]) -> bool {
    let (section, _, name) = parts(key);
    section == b"credential" && name == b"helper"
}

fn bytes(text: &[u8]) -> OsString {
    OsString::from_vec(text.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(is_local: bool, key: &str, value: &str) -> Listed {
        Listed { is_local, ..Listed::new(key, value) }
    }

    fn pinned(all: &[Listed]) -> Vec<(String, String)> {
        let root = PathBuf::from("/nowhere");
        let project = Project { worktree: root.clone(), root: root.clone(), git_dir: root };
        let text = |text: OsString| text.into_string().unwrap();
        let pins = made(&project, all, &[]);
        pins.settings.into_iter().map(|(key, value)| (text(key), text(value))).collect()
    }

    /// A key for a row of the table.
    fn key_of(section: &str, name: &str) -> String {
        let plain = ["core", "sequence", "interactive", "fetch", "push", "uploadpack", "web"];
        match name {
            "" => format!("{section}.log"),
            "external" | "recurse" => format!("{section}.{name}"),
            _ if plain.contains(&section) => format!("{section}.{name}"),
            _ => format!("{section}.a.B=c.{name}"),
        }
    }

    #[test]
    fn every_program_that_a_repository_names_is_replaced_by_the_users_or_by_none() {
        for (section, name, instead) in PROGRAMS {
            let key = key_of(section, name);
            let key = if instead == List {
                "credential.https://x.example/.helper".to_owned()
            } else {
                key
            };
            let alone = pinned(&[listed(true, &key, "evil")]);
            assert!(!alone.iter().any(|(_, value)| value.contains("evil")), "{key}: {alone:?}");
            // The last is one of four that go together.
            if matches!(instead, Environment(_) | Opt) || name == "required" {
                continue;
            }
            assert!(!alone.is_empty(), "{key}");
            if let Failure | Value(_) = instead {
                assert!(alone.iter().any(|(known, _)| *known == key), "{key}: {alone:?}");
            }
            let both = pinned(&[listed(false, &key, "mine"), listed(true, &key, "evil")]);
            let mine = (key.clone(), "mine".to_owned());
            assert!(both.contains(&mine), "{key}: {both:?}");
            assert_eq!(pinned(&[listed(false, &key, "mine")]), [], "{key}");
        }
    }

    #[test]
    fn settings_that_name_no_program_count_as_ever() {
        for key in [
            "user.email",
            "commit.gpgsign",
            "user.signingkey",
            "remote.origin.url",
            "remote.origin.fetch",
            "branch.main.remote",
            "core.autocrlf",
            "core.excludesfile",
            "diff.renames",
            "merge.conflictstyle",
            "http.proxy",
            "credential.username",
            "submodule.lib.url",
        ] {
            assert_eq!(pinned(&[listed(true, key, "x")]), [], "{key}");
        }
        assert_eq!(pinned(&[listed(true, "protocol.http.allow", "never")]), []);
    }

    #[test]
    fn a_filter_of_the_repository_alone_fails_and_one_of_the_user_works() {
        let alone = pinned(&[listed(true, "filter.lfs.clean", "evil")]);
        assert!(
            alone.contains(&("filter.lfs.required".to_owned(), "true".to_owned())),
            "{alone:?}"
        );
        let both = [
            listed(false, "filter.lfs.clean", "git-lfs clean -- %f"),
            listed(false, "filter.lfs.required", "true"),
            listed(true, "filter.lfs.process", "evil"),
        ];
        let both = pinned(&both);
        for (name, value) in
            [("clean", "git-lfs clean -- %f"), ("process", ""), ("required", "true")]
        {
            let wanted = (format!("filter.lfs.{name}"), value.to_owned());
            assert!(both.contains(&wanted), "{both:?}");
        }
    }
}
