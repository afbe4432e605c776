//! Pull requests: their text, which part of it is ralph's, and the servers they are on.
//!
//! | file | owns |
//! |---|---|
//! | `words` | the title and the body of a pull request, from the results of a branch |
//! | `markdown` | texts from outside in ralph's markdown, escaped so that they stay text |
//! | `marked` | the part of a body that is ralph's, among what people wrote around it |
//! | `remote` | the server and the repository that the address of a remote names |
//! | `kind` | the kinds of servers: their requests and how their answers are read |
//! | `pull` | pull requests as any server reports them, and what they mean for a branch |
//! | `sources` | where servers list the checks and comments of a pull request |
//! | `review` | which of them become tasks |
//! | `hosts` | which kind the server of a host is, and the variables with its token |
//! | `protected` | branches that are never pushed to |

mod hosts;
mod kind;
mod markdown;
mod marked;
mod protected;
mod pull;
mod remote;
mod review;
mod sources;
mod words;

pub use hosts::{HostEntry, HostError};
pub use kind::{ForgeKind, ForgeRow, Route};
pub use marked::{Merged, merge};
pub use protected::is_protected;
pub use pull::{BranchFacts, Course, Pull, PullState, Relation, course};
pub use remote::{Address, without_credentials};
pub use review::{Check, CheckState, Comment, Feedback, Finding, FollowUp, Looking};
pub use sources::{ForgeEntry, Source};
pub use words::{Commit, MAX_BODY, MAX_TITLE, TaskLine, Words};
