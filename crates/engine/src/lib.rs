//! The imperative half of ralph: everything that touches a file, a database, a process or a clock.
//!
//! What is *allowed* is decided in `ralph-core`; this crate carries it out.
//!
//! | module | owns |
//! |---|---|
//! | [`ports`] | the traits at the seams, with their contracts |
//! | [`store`] | the rules of [`ports::Store`] over a table, and the table in SQLite |
//! | [`host`] | finds the programs that run outside the sandbox |
//! | [`process`] | starts, supervises and ends other programs |
//! | [`project`] | finds files on the user's disk: repository, `.ralph/`, `info/exclude` |
//! | `kept` | which files of a worktree are ralph's own |
//! | [`trust`] | the trust ledger: which version of a deciding file counts |
//! | [`untrusted`] | opens files that a session could have written |
//! | [`worktree_files`] | reads files of a worktree; a link to one must be committed |
//! | [`features`], [`interview`] | the files of a feature; the questions and answers about its spec |
//! | [`asking`], [`interrupts`] | what the user types; signals that ask ralph to stop |
//! | [`bundle`] | an archive of files for a bug report |
//! | [`context`], [`prompts`] | the context of an attempt, and its prompt |
//! | [`agents`] | profiles of agent CLIs: command line, meaning of the output |
//! | [`run`] | a run: carries out the decisions of the core's loop |
//! | [`run_files`] | the files of a run: lock, logs, journal, `state.toml` |
//! | [`gates`] | commands of the user that judge work |
//! | [`feed`] | the journal of a run, appended and followed |
//! | [`observe`] | the stream that displays read: of one run, of all, of one that has ended |
//! | [`notify`] | notifications to users |
//! | [`observe`] | streams of what runs do, for displays |
//! | [`socket`] | requests from sessions, controls from users |
//! | [`forge`] | pull requests on a server |
//! | [`publishing`] | publishes a branch: pushes it, opens its pull request, records the result |
//! | [`sandbox`] | the sandbox for everything that others wrote |
//! | [`git`] | git as a program: one constructor, settings, what it prints |
//! | [`session_git`] | the git directory of a sandboxed session, and reading it |
//! | [`undo`] | reverts commits by new commits |
//! | [`vcs`] | the trees, commits and branches of one worktree |
//! | [`worktrees`] | a worktree per branch: created, repaired, removed |
//! | [`crash`] | points at which tests kill the process |
//! | [`probe`] | one short run of a program, for `ralph doctor` |
//! | `sync` | locks |
//! | [`disk`] | free disk space |
//! | [`clock`], [`entropy`] | the only readers of time and randomness |

pub mod agents;
pub mod asking;
pub mod bundle;
pub mod clock;
pub mod context;
pub mod crash;
pub mod disk;
pub mod entropy;
pub mod features;
pub mod feed;
pub mod forge;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod gates;
pub mod git;
pub mod host;
pub mod interrupts;
pub mod interview;
mod kept;
pub mod notify;
pub mod observe;
pub mod plan_file;
pub mod ports;
pub mod probe;
pub mod process;
pub mod project;
pub mod prompts;
pub mod publishing;
pub mod quota;
pub mod run;
pub mod run_files;
pub mod sandbox;
pub mod session_git;
pub mod socket;
pub mod store;
mod sync;
pub mod trust;
pub mod undo;
pub mod untrusted;
pub mod vcs;
pub mod worktree_files;
pub mod worktrees;

#[cfg(test)]
extern crate self as ralph_engine;
