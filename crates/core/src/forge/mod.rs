//! Pull requests as people read them: their words, whose words they are, and where they live.
//!
//! | file | owns |
//! |---|---|
//! | `words` | the title and the body of a pull request, from what became of a branch |
//! | `markdown` | texts of others inside of our markdown, where they can end or start nothing |
//! | `marked` | the part of a body that is ours, among what people wrote around it |
//! | `remote` | the server and the repository that the address of a remote names |
//! | `protected` | branches that are never pushed to |

mod markdown;
mod marked;
mod protected;
mod remote;
mod words;

pub use marked::{Merged, merge};
pub use protected::is_protected;
pub use remote::{Address, without_credentials};
pub use words::{Commit, MAX_BODY, MAX_TITLE, TaskEnd, TaskLine, Words};
