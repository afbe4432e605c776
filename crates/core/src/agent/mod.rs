//! One vocabulary for every agent CLI: the events of a session, the signals in its final text, and how it
//! ended.

mod end;
mod event;
mod look_alike;
mod signal;
mod tags;

pub use end::{EndClass, ProcessEnd, SessionEnd};
pub use event::{AgentEvent, Usage};
pub use signal::{Ignored, InCode, Request, Signals, Tier, Verdict, WhyIgnored};
