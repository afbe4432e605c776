//! The stream that every display reads, whatever process the run is in. The run itself fills it: see
//! [`feed::live`](crate::feed::live).
//!
//! | file | owns |
//! |---|---|
//! | `socket` | an active run, over its control socket |
//! | `stored` | a run that has ended, from its files |
//! | `all` | several runs as one stream; new ones join |

mod all;
mod socket;
mod stored;

pub use all::{AllSource, Place, Places};
pub use socket::SocketSource;
pub use stored::StoredSource;
