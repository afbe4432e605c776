//! The stream that every display reads, whatever process the run is in. The run itself fills it: see
//! [`feed::live`](crate::feed::live).
//!
//! | file | owns |
//! |---|---|
//! | `socket` | an active run, over its control socket |
//! | `stored` | a run from its files: its journal, and between the facts what its agents said |
//! | `all` | several runs as one stream; new ones join |
//! | [`playback`] | a stream at the pace at which it was recorded |

mod all;
pub mod playback;
mod socket;
mod stored;

pub use all::{AllSource, Place, Places};
pub use socket::SocketSource;
pub use stored::StoredSource;
