//! The two unix sockets of a run.
//!
//! Each session has its own, which accepts what an agent may ask for: reads, notes and requests. The socket itself
//! identifies the session, whatever the caller claims. The other one accepts controls from users and is never
//! visible in a sandbox.
//!
//! One connection is one request: a line of JSON each way. Only the stream of a run stays open until one
//! side closes it.
//!
//! | module | owns |
//! |---|---|
//! | [`protocol`] | the messages, and their size limits |
//! | `socket_dir` | the private folder that holds the sockets |
//! | `server` | accepts, reads and answers, whatever the other side does |
//! | `session` | the socket of a session, and its requests |
//! | `control` | the control socket, for users |
//! | [`client`] | the client side; needs no runtime |

pub mod client;
mod control;
pub mod protocol;
mod server;
mod session;
mod socket_dir;

pub use control::{ControlSocket, ReceivedControl};
pub use protocol::{Call, Reply};
pub use session::{Adds, Closed, Requests, SessionIdentity, SessionRequestHandler, SessionSocket};
pub use socket_dir::{SocketDir, SocketDirError};

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be created: {source}", path.display())]
pub struct SocketError {
    pub path: PathBuf,
    pub source: std::io::Error,
}

impl SocketError {
    fn at(path: &Path) -> impl Fn(std::io::Error) -> Self {
        |source| Self { path: path.to_owned(), source }
    }
}
