//! The page of ralph in a browser: an HTTP server beside the runs of a repository, with the page itself inside.
//!
//! It reads runs and changes the plan only through [`Ports`](ralph_ui::ports::Ports), as every display; it knows neither
//! files nor the engine. Nothing that it serves leaves without the check in `access`: a random token, the `Host` header,
//! and the `Origin` of everything that changes something. A viewer that is slow or hostile slows neither the others nor
//! the run: see `live` and `connection`.
//!
//! | module | owns |
//! |---|---|
//! | `page` | the files of the page |
//! | `access` | who may ask: tokens, cookies, names of the host, origins |
//! | `answer` | what every answer has: headers, errors as JSON |
//! | `connection` | sockets: limits on their number and on slow clients |
//! | `frozen` | the page as one file with its data, without a server |
//! | `live` | one fold of the runs for all viewers, sent as changes |
//! | `plan` | the tasks, read again when they change; search and drawing |
//! | `board` | answers that are commands: status, runs, reports, actions |
//! | `routes` | which path is what |
//! | `server` | the listening socket and its links |

mod access;
mod answer;
mod board;
mod connection;
pub mod frozen;
mod live;
pub mod page;
mod plan;
mod routes;
mod server;

pub use access::{Access, TOKEN_MIN, is_token};
pub use server::{FIRST_PORT, Server};
