//! Records what sessions do to deciding files. Before a session ralph writes the digests of these files to the
//! ledger, and after the session and its gates it records each difference as written by a session. A run that is
//! killed in between leaves its entry: the next start compares for it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::records::Liveness;
use ralph_core::trust::{AGENTS, FOUND, INCLUDE, Ledger, OpenSession, SETTINGS, Version};

use super::{Trust, version};
use crate::process::{is_alive, liveness};
use crate::project::Project;
use crate::vcs::written_since_session;

/// The test command that a project shows by its files.
pub type FoundCommand = Arc<dyn Fn(&Path) -> Option<String> + Send + Sync>;

/// The templates that count where no setting names another.
const TEMPLATES: [&str; 2] = ["PROMPT_build.md", "PROMPT_plan.md"];

#[derive(Clone)]
pub struct Deciding {
    pub trust: Trust,
    /// The worktree that settings, prompts and gates are read from.
    pub home: PathBuf,
    /// Files that settings and flags name beside the usual ones, from the top of a worktree.
    pub named: Vec<String>,
    /// What a project shows by its files.
    pub found: FoundCommand,
    /// Whether a session can write outside its worktree.
    pub open: bool,
}

impl fmt::Debug for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deciding").field("home", &self.home).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWatch {
    places: Vec<(PathBuf, BTreeMap<String, String>)>,
}

impl Deciding {
    /// What all deciding files of a worktree say. `known` are names that the ledger has beside those of this run.
    pub fn versions<'a>(
        &self,
        worktree: &Path,
        known: impl Iterator<Item = &'a String>,
    ) -> BTreeMap<String, Version> {
        let names = self.names().map(str::to_owned).chain(known.cloned());
        let mut all: BTreeMap<String, Version> = names
            .filter(|name| name != FOUND)
            .map(|name| (name.clone(), version(worktree, &name)))
            .collect();
        all.insert(FOUND.to_owned(), Version::of((self.found)(worktree)));
        all
    }

    fn digests<'a>(
        &self,
        worktree: &Path,
        known: impl Iterator<Item = &'a String>,
    ) -> BTreeMap<String, String> {
        let versions = self.versions(worktree, known).into_iter();
        versions.map(|(name, version)| (name, version.digest())).collect()
    }

    /// The files of this run, from the top of a worktree.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let usual = [SETTINGS, AGENTS, INCLUDE].into_iter().chain(TEMPLATES);
        usual.chain(self.named.iter().map(String::as_str))
    }

    /// A run begins: what it uses and no session wrote is the version to fall back on.
    pub fn run_begins(&self) -> io::Result<()> {
        self.trust.update(|ledger| self.adopt(ledger))
    }

    fn adopt(&self, ledger: &mut Ledger) {
        for (name, now) in self.versions(&self.home, ledger.files.clone().keys()) {
            ledger.adopt(&name, &now);
        }
    }

    /// A session begins in a worktree. `id` is its slot: what is known of an earlier session there is replaced, and
    /// where that is the same nothing is written.
    pub fn session_begins(&self, worktree: &Path, id: &str) -> io::Result<SessionWatch> {
        let Liveness { host, boot_id, pid, pid_started } = liveness();
        self.trust.update(|ledger| {
            if worktree == self.home {
                self.adopt(ledger);
            }
            let mut places = vec![worktree.to_owned()];
            if self.open && worktree != self.home {
                places.push(self.home.clone());
            }
            let names: Vec<String> = ledger.files.keys().cloned().collect();
            let digests = |place: PathBuf| (place.clone(), self.digests(&place, names.iter()));
            let places: Vec<_> = places.into_iter().map(digests).collect();
            let written = |(place, digests): &(PathBuf, BTreeMap<String, String>)| {
                (place.to_string_lossy().into_owned(), digests.clone())
            };
            let session = OpenSession {
                id: id.to_owned(),
                run: (host, boot_id, pid, pid_started),
                places: places.iter().map(written).collect(),
            };
            match ledger.sessions.iter_mut().find(|known| known.id == id) {
                Some(known) => *known = session,
                None => ledger.sessions.push(session),
            }
            SessionWatch { places }
        })
    }

    /// The deciding files of a worktree now, for code of a session that runs outside of one.
    pub fn snapshot(&self, worktree: &Path) -> SessionWatch {
        let digests = self.digests(worktree, std::iter::empty());
        SessionWatch { places: vec![(worktree.to_owned(), digests)] }
    }

    /// Work in a worktree that is not the user's changes these files: each with what it was and what it is.
    pub fn work_changed(
        &self,
        worktree: &Path,
        mut changed: Vec<(String, Version, Version)>,
    ) -> io::Result<()> {
        changed.retain(|(name, _, now)| !self.is_users(worktree, name, now));
        if changed.is_empty() {
            return Ok(());
        }
        self.trust.update(|ledger| {
            for (name, before, now) in &changed {
                ledger.session_wrote(name, &before.digest(), now);
            }
        })
    }

    pub fn session_wrote(&self, watch: &SessionWatch) -> io::Result<Vec<String>> {
        // Mostly nothing: then the ledger is neither locked nor read.
        let mut changed = Vec::new();
        for (place, before) in &watch.places {
            for (name, now) in self.versions(place, before.keys()) {
                let digest = before.get(&name).cloned().unwrap_or_default();
                if now.digest() != digest && !self.is_users(place, &name, &now) {
                    changed.push((name, digest, now));
                }
            }
        }
        if changed.is_empty() {
            return Ok(vec![]);
        }
        self.trust.update(|ledger| {
            changed.retain(|(name, before, now)| ledger.session_wrote(name, before, now));
            changed.into_iter().map(|(name, ..)| name).collect()
        })
    }

    /// Whether a session in another worktree only brought in what you have in yours, as by a merge.
    fn is_users(&self, place: &Path, name: &str, now: &Version) -> bool {
        !self.open && place != self.home && name != FOUND && version(&self.home, name) == *now
    }

    /// No session of a run is alive any more, and their changes are recorded. `ids` is the prefix of their ids.
    pub fn run_ends(&self, ids: &str) -> io::Result<()> {
        self.trust.update(|ledger| ledger.sessions.retain(|session| !session.id.starts_with(ids)))
    }

    /// ralph rebased the work of a session onto a branch that had moved, which may have merged a deciding file.
    /// `before` says what the branch had.
    pub fn work_was_merged(
        &self,
        worktree: &Path,
        before: impl Fn(&str) -> Version,
    ) -> io::Result<()> {
        self.trust.update(|ledger| {
            let names = ledger.files.clone();
            for (name, now) in self.versions(worktree, names.keys()) {
                if name != FOUND {
                    ledger.session_wrote(&name, &before(&name).digest(), &now);
                }
            }
        })
    }
}

impl Trust {
    /// The ledger, including the changes of sessions whose runs were killed.
    pub fn settled(&self, found: &FoundCommand) -> io::Result<Ledger> {
        let ledger = self.read()?;
        if !ledger.sessions.iter().any(is_dead) {
            return Ok(ledger);
        }
        self.update(|ledger| {
            let dead: Vec<OpenSession> =
                ledger.sessions.extract_if(.., |one| is_dead(one)).collect();
            for (place, before) in dead.iter().flat_map(|session| &session.places) {
                take_in(ledger, Path::new(place), before, found);
            }
            ledger.clone()
        })
    }
}

fn is_dead(session: &OpenSession) -> bool {
    let (host, boot_id, pid, pid_started) = session.run.clone();
    is_alive(&Liveness { host, boot_id, pid, pid_started }) == Some(false)
}

/// What changed in a worktree before its session was killed. What changed later is yours.
fn take_in(
    ledger: &mut Ledger,
    worktree: &Path,
    before: &BTreeMap<String, String>,
    found: &FoundCommand,
) {
    let Ok(project) = Project::find(worktree) else { return };
    for (name, digest) in before {
        let now = match name.as_str() {
            FOUND => Version::of(found(worktree)),
            name => version(worktree, name),
        };
        let later = name != FOUND && written_since_session(&project, Path::new(name));
        if !later {
            ledger.session_wrote(name, digest, &now);
        }
    }
}
