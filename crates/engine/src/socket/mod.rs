//! The two unix sockets of a run.
//!
//! Each session has its own, which takes what an agent may ask for: reads, notes and requests. Who asks
//! is known by the socket, whatever the caller says of itself. The other one takes the wishes of users
//! and is never in a sandbox.
//!
//! One connection is one request: a line of JSON each way. Only the feed of events goes on until
//! somebody closes it.
//!
//! | module | owns |
//! |---|---|
//! | [`protocol`] | what the lines say, and their limits |
//! | `place` | the private folder that holds the sockets |
//! | `server` | accepting, reading and answering, whatever the other side does |
//! | `session` | the socket of a session, and what is recorded there |
//! | `control` | the socket for users |
//! | [`client`] | the calling side; needs no runtime |

pub mod client;
mod control;
mod place;
pub mod protocol;
mod server;
mod session;

pub use control::{ControlSocket, Inquiry};
pub use place::{Place, PlaceError};
pub use protocol::{Call, Reply};
pub use session::{Adds, Closed, Desk, Requests, Seat, SessionSocket};

use std::path::PathBuf;

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be created: {source}", path.display())]
pub struct SocketError {
    /// What was to be made.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: std::io::Error,
}
