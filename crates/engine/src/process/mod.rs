//! The one place that starts, supervises and ends other programs: agents and gates alike.
//!
//! [`supervise`] runs one [`CommandSpec`] to its end and cannot fail: whatever happens to the program
//! is a value in [`Ended`]. When it returns, no process of the session is left, whatever the program
//! started and however that hid itself.
//!
//! | file | owns |
//! |---|---|
//! | `spec` | how to supervise a program, and its result |
//! | `control` | how a running program is reached from outside |
//! | `stdin` | what a program reads: its opening, then replies |
//! | `supervisor` | the states of a session, and the steps that end it |
//! | `capture` | runs a program and returns its output |
//! | `process_tree` | the processes of a session: start, end, signals to all of them |
//! | `process_tree::subreaper` | the process between ralph and a program that adopts orphans (Linux) |
//! | `process_tree::exec_arguments` | arguments and environment in the system's form (Linux) |
//! | `files` | the limit on open files |
//! | `output` | bytes to lines, with bounded memory |
//! | `procfs` | reads processes from `/proc` (Linux) |
//! | `mark` | the variable that identifies a session's processes after ralph itself died |
//! | `leftovers` | ends processes that a dead ralph left behind |
//! | `liveness` | whether a process is still the one that was started |

mod capture;
mod control;
mod files;
mod leftovers;
mod liveness;
mod mark;
mod output;
mod process_tree;
#[cfg(target_os = "linux")]
mod procfs;
mod spec;
mod stdin;
mod supervisor;

pub(crate) use capture::{Captured, capture, captured, runtime};
pub use control::{Control, Delivery, Said, Stop};
pub use files::room_for_files;
pub use leftovers::{count_leftovers, end_leftovers};
pub(crate) use liveness::{abandoned, runs, works_in};
pub use liveness::{is_alive, liveness, user};
pub use mark::Mark;
pub(crate) use mark::{project_folder, project_key};
pub(crate) use output::Tail;
pub use spec::{Ended, LineEffect, Listener, Watch};
pub use supervisor::supervise;

pub use crate::ports::{CommandSpec, Stdin};

/// Reads what a process has in its environment as our mark.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    let _ = mark::Origin::parse(&String::from_utf8_lossy(bytes));
}
