//! Git for sandboxed sessions: a git directory of their own, and how ralph reads what they leave in it.
//!
//! It knows no task and no branch that work lands on: [`crate::vcs`] does. Outside a sandbox nothing here reads a file
//! of a session's git directory.
//!
//! | module | owns |
//! |---|---|
//! | `directory` | the git directory of a session, and ralph's own beside it: made, mounted, removed |
//! | `build` | what is in the two |
//! | `settings` | the user's settings for them |
//! | `owners` | their index, with the owners that files have in a sandbox |
//! | `visible_objects` | the objects that they find |
//! | [`inspect`] | reads sessions' files from inside a sandbox |
//! | `sandbox` | runs ralph's own programs in a sandbox |

mod build;
mod directory;
pub mod inspect;
mod owners;
pub(crate) mod sandbox;
mod settings;
mod visible_objects;

pub use directory::SessionGitDir;
pub(crate) use directory::{BASE, Inspected, REFUSED, name_of, noted_base, sandboxes};
pub use sandbox::GitSandbox;
pub use settings::shared_settings;
