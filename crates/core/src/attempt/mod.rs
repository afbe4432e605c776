//! One attempt as data: what the agent is told ([`context`], [`prompt`]), and what the next one is
//! told about it ([`digest`], [`old_failures`]).

mod budget;
pub mod context;
pub mod digest;
pub mod old_failures;
pub mod prompt;
pub mod skill;

pub use context::AttemptContext;
pub use prompt::Prompt;
