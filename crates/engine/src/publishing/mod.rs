//! A branch goes out: what the server knows of it decides whether it is pushed, and what came of it is kept on
//! record, so that the next run tries again what failed, with or without a worktree.
//!
//! | file | owns |
//! |---|---|
//! | `outlet` | asking the remote and the server, pushing, and the pull request |
//! | `watch` | what reviewers and checks say about the pull request, until there is work or nothing to wait for |
//! | `record` | what is known of a branch between runs |

mod outlet;
mod record;
mod watch;

pub use outlet::{Outlet, PublishSetup, Trouble, no_hook};
pub(crate) use outlet::{decided, published};
pub use record::{Pending, PublishRecord, PublishRecords, ReviewRecord};
pub use watch::{WatchSetup, Watched, Work};
