//! Notifications about a run for a user who is not watching it: on the desktop, by voice, to a web address, or
//! to the user's own command.
//!
//! The core decides what is worth a message ([`ralph_core::view::NotificationRules`]). This module delivers it, in parallel
//! to the run and without delaying it: each channel has a short queue that drops the oldest message when it is
//! full, and one thread starts the programs of all channels. After the run, waiting messages get a few seconds.
//!
//! | file | owns |
//! |---|---|
//! | `channel` | the channels, each a program with its arguments |
//! | `lane` | the queue of one channel |
//! | `notifier` | the display that turns events into messages, and its thread |

mod channel;
mod lane;
mod notifier;

pub use channel::Channel;
pub use lane::ChannelContext;
pub use notifier::{Notifier, Warn};
