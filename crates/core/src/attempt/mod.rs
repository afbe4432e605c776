//! One attempt as data: what the agent gets to read ([`context`], [`prompt`]), and what the next attempt
//! learns from it ([`digest`], [`fingerprint`], [`old_failures`], [`weakened`]).

mod budget;
pub mod context;
pub mod digest;
pub mod fingerprint;
pub mod old_failures;
pub mod prompt;
pub mod skill;
pub mod weakened;

pub use context::AttemptContext;
pub use prompt::Prompt;
