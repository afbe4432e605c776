//! Messages about a run to somebody who is not looking at it: on the desktop, by voice, to an address,
//! or to a command of the user's own.
//!
//! What is worth a message is decided in the core ([`ralph_core::view::Herald`]). Here it is delivered,
//! beside the run and never in its way: each channel has a short queue of its own that drops the oldest
//! when it is full, and one thread starts the programs of all of them. When the run is over, what still
//! waits has a few seconds.
//!
//! | file | owns |
//! |---|---|
//! | `channel` | the ways to deliver, each a program with its arguments |
//! | `lane` | the queue of one channel, and its deliveries one after the other |
//! | `notifier` | the display that listens, and its thread |

mod channel;
mod lane;
mod notifier;

pub use channel::Channel;
pub use lane::Place;
pub use notifier::{Notifier, Warn};
