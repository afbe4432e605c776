//! The imperative half of ralph: everything that touches a file, a database, a process or a clock.
//!
//! What is *allowed* is decided in `ralph-core`; this crate carries it out.
//!
//! | module | owns |
//! |---|---|
//! | [`ports`] | the traits at the seams, with their contracts |
//! | [`store`] | SQLite and in-memory implementations of [`ports::Store`] |
//! | [`project`] | where things lie on the user's disk: repository, `.ralph/`, `info/exclude` |
//! | [`features`] | the files of a feature |
//! | [`vcs`] | git, by one constructor |
//! | [`clock`], [`entropy`] | the only readers of time and randomness |

pub mod clock;
pub mod entropy;
pub mod features;
pub mod ports;
pub mod project;
pub mod store;
pub mod vcs;
