//! Publishes a branch: the state on the server decides whether ralph pushes it, and ralph records the result, so
//! that the next run retries what failed, with or without a worktree.
//!
//! | file | owns |
//! |---|---|
//! | `outlet` | asks the remote and the server, pushes, and opens the pull request |
//! | `watch` | polls the pull request until there is work or nothing to wait for |
//! | `record` | what ralph remembers of a branch between runs |

mod outlet;
mod record;
mod watch;

pub use outlet::{Outlet, PublishSetup, Trouble, no_hook};
pub(crate) use outlet::{decided, published};
pub use record::{Pending, PublishRecord, PublishRecords, ReviewRecord};
pub use watch::{WatchSetup, Watched, Work};
