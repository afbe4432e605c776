//! The sandbox that sessions, gates, the verifier, setup commands and the loop's own git run in.
//!
//! There is one door: [`Sandbox::wrap`] makes of a command the command that runs it in a sandbox. What a sandbox
//! shows is a [`Room`], plain data; each level makes of it what it can.
//!
//! | file | owns |
//! |---|---|
//! | `level` | the levels by name |
//! | `guest` | a program that is to run in a sandbox |
//! | `house` | what is the same for all sandboxes of a run, and the room for each guest |
//! | `room` | what a sandbox shows, as plain data |
//! | `home` | what a sandbox shows of the user's home at level full |
//! | `aliases` | other paths of a home |
//! | `elsewhere` | other folders of users |
//! | `toolchains` | compilers and their like in the user's home |
//! | `registries` | settings of package managers without logins |
//! | `dependencies` | packages that the repository names by their path |
//! | `unseen` | what a gate missed in the home |
//! | `secrets` | what no sandbox shows; `places.txt` lists them |
//! | `assemble` | the stages around a program, put together |
//! | `caches` | the folders that tools write in, and what they are seeded with |
//! | `state` | the files of an agent: shown, copied in, and taken back |
//! | `bubblewrap` | a room as arguments of `bwrap` |
//! | `stages` | what the two stages of ralph around a sandboxed program are told |
//! | `inside` | the stage in the sandbox: limits, Landlock, seccomp (Linux) |
//! | `seccomp` | the system calls that no sandboxed program needs (Linux) |
//! | `fence` | Landlock (Linux) |
//! | `cgroup` | limits on everything in a sandbox together (Linux, where they can be set) |
//! | `guard` | settings of git, put back where nothing can be mounted |
//! | `seatbelt` | the profile for `sandbox-exec` (macOS) |
//! | `set_id` | bits by which a file runs with its owner's rights, taken away |
//! | `self_test` | forbidden acts, really tried |
//! | `choose` | which level works here, and how to get the next one |
//! | `wrapped` | a sandboxed command while it runs, and its end |
//! | `wire` | the network of a guest |
//! | [`net`] | what a sandbox may reach |

mod aliases;
mod assemble;
mod bubblewrap;
mod caches;
#[cfg(target_os = "linux")]
mod cgroup;
mod choose;
mod dependencies;
mod elsewhere;
#[cfg(target_os = "linux")]
mod fence;
mod guard;
mod guest;
mod home;
mod house;
#[cfg(target_os = "linux")]
pub mod inside;
mod level;
pub mod net;
mod registries;
mod room;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod secrets;
pub mod self_test;
mod set_id;
pub mod stages;
mod state;
mod toolchains;
mod unseen;
mod wire;
mod wrapped;

pub use caches::Caches;
pub use choose::{Choice, Unavailable, choose, likely};
pub use dependencies::path_dependencies;
pub use elsewhere::elsewhere;
pub use guard::Guard;
pub use guest::{Guest, Kind};
pub use home::{Home, HomeNeeds};
pub use house::{House, Sandbox};
pub use level::{Level, Wanted};
pub use room::Room;
pub use stages::Limits;
pub use state::AgentState;
pub use wire::Network;
pub use wrapped::{Wrapped, is_fleeting};
