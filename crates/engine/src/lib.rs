//! The imperative half of ralph: everything that touches a file, a database, a process or a clock.
//!
//! What is *allowed* is decided in `ralph-core`; this crate carries it out.
//!
//! | module | owns |
//! |---|---|
//! | [`ports`] | the traits at the seams, with their contracts |
//! | [`store`] | SQLite and in-memory implementations of [`ports::Store`] |
//! | [`host`] | where the programs lie that run outside the sandbox |
//! | [`process`] | starting, hearing, watching and ending other programs |
//! | [`project`] | where things lie on the user's disk: repository, `.ralph/`, `info/exclude` |
//! | `kept` | which files of a worktree are ralph's own |
//! | [`trust`] | the ledger of trust: which version of a deciding file counts |
//! | [`untrusted`] | the one way to files that a session could have written |
//! | [`features`] | the files of a feature |
//! | [`context`], [`prompts`] | what an attempt is told: gathered, and put into the user's words |
//! | [`agents`] | profiles of agent CLIs: how one is called, what its output means |
//! | [`run`] | a run: the loop of the core with hands and feet |
//! | [`feed`] | the journal of a run, appended and followed |
//! | [`notify`] | messages to users who are not looking |
//! | [`socket`] | requests from inside sessions, wishes of users |
//! | [`forge`] | pull requests on a server |
//! | [`publishing`] | a branch goes out: asked about, pushed, given its pull request, kept on record |
//! | [`sandbox`] | the sandbox that everything runs in which others wrote |
//! | [`vcs`] | git, by one constructor |
//! | [`probe`] | one short run of a program, for `ralph doctor` |
//! | [`disk`] | how much room there is |
//! | [`clock`], [`entropy`] | the only readers of time and randomness |

pub mod agents;
pub mod asking;
pub mod clock;
pub mod context;
pub mod disk;
pub mod entropy;
pub mod features;
pub mod feed;
pub mod forge;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod host;
pub mod interview;
mod kept;
pub mod notify;
pub mod plan_file;
pub mod ports;
pub mod probe;
pub mod process;
pub mod project;
pub mod prompts;
pub mod publishing;
pub mod quota;
pub mod run;
pub mod sandbox;
pub mod socket;
pub mod store;
pub mod trust;
pub mod untrusted;
pub mod vcs;

#[cfg(test)]
extern crate self as ralph_engine;
