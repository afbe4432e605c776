//! Publishes a branch: the state on the server decides whether ralph pushes it, and ralph records the result, so
//! that the next run retries what failed, with or without a worktree.
//!
//! | file | owns |
//! |---|---|
//! | `outlet` | asks the remote and the server, pushes, and opens the pull request |
//! | `push` | pushes a branch, never by force |
//! | `pre_push` | runs the `pre-push` hook before a push, sandboxed if a session could have written it |
//! | `pull_text` | gathers what the text of a pull request says |
//! | [`upstream`] | reads branches of a remote |
//! | `watch` | polls the pull request until there is work or nothing to wait for |
//! | `record` | what ralph remembers of a branch between runs |

mod outlet;
mod pre_push;
pub(crate) mod pull_text;
mod push;
mod record;
pub mod upstream;
mod watch;

pub use outlet::{Outlet, PublishSetup, Trouble, no_hook};
pub(crate) use outlet::{decided, published};
pub use pre_push::RunHook;
pub use push::{Push, PushError, Pushed};
pub use record::{Pending, PublishRecord, PublishRecords, ReviewRecord};
pub use watch::{WatchSetup, Watched, Work};
