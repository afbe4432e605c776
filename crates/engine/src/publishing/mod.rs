//! A branch goes out: what the server knows of it decides whether it is pushed, and what came of it is kept on
//! record, so that the next run tries again what failed, with or without a worktree.
//!
//! | file | owns |
//! |---|---|
//! | `outlet` | asking the remote and the server, pushing, and the pull request |
//! | `record` | what is known of a branch between runs |

mod outlet;
mod record;

pub use outlet::{Outlet, PublishSetup, Trouble, no_hook};
pub(crate) use outlet::{decided, published};
pub use record::{Pending, PublishRecord, PublishRecords};
