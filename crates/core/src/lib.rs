//! The pure half of ralph: what tasks, claims and plans *are*, and which changes are allowed.
//!
//! This crate reads no clock, no environment, no file, no database and starts no process; its
//! `Cargo.toml` names nothing that could. Everything here is data or a function of its arguments,
//! so every rule can be tested by calling it.
//!
//! | module | owns |
//! |---|---|
//! | [`agent`] | what a session tells, asks for and ends with, whatever the agent |
//! | [`agents_md`] | the test command in `AGENTS.md` |
//! | [`amounts`] | money and tokens in words |
//! | [`branch`] | names of branches, and the folders of their worktrees |
//! | [`digest`] | SHA-256 |
//! | [`enums`] | enums with words, and checked texts |
//! | [`forge`] | the words of pull requests, and where they live |
//! | [`glob`] | patterns of paths |
//! | [`ids`] | names of things: [`TaskId`], [`AgentId`], [`FeatureName`] … and what may be one |
//! | [`time`] | [`Timestamp`] and [`Lease`] lengths as data |
//! | [`text`] | titles, labels and long texts that are safe to store and to print |
//! | [`task`] | a task, its status machine, the ready rule, cascades, cycles, claims |
//! | [`plan`] | the formats that tasks are brought in and out by |
//! | [`records`] | what is kept beside tasks: log, attempts, evidence, agents, questions, features |
//! | [`redact`] | secrets in what programs print |
//! | [`attempt`] | what an agent reads first, and what the next agent reads about its attempt |
//! | [`policy`] | which model, how long to wait |
//! | [`run`] | the loop: what an input means, what is remembered, when it stops |
//! | [`trust`] | which files decide what runs, and which version of one counts |
//! | [`view`] | a run as people see it, and what every display of one does |
//! | [`net`] | what a sandbox may reach over the network |
//! | [`nearest`] | "did you mean" |

#[macro_use]
pub mod enums;

pub mod agent;
pub mod agents_md;
pub mod amounts;
pub mod attempt;
pub mod branch;
pub mod digest;
pub mod forge;
pub mod glob;
pub mod ids;
pub mod nearest;
pub mod net;
pub mod plan;
pub mod policy;
pub mod records;
pub mod redact;
pub mod run;
pub mod secret_files;
pub mod shell;
pub mod stable_hash;
pub mod task;
pub mod text;
pub mod time;
pub mod trust;
pub mod view;

pub use ids::{AgentId, FeatureId, FeatureName, IdError, TaskId};
pub use time::{Lease, Timestamp};
