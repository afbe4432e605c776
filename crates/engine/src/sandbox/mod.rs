//! The sandbox that sessions, gates, the verifier, setup commands and the loop's own git run in.
//!
//! There is one entry point: [`Sandbox::wrap`] turns a command into the command that runs it in a sandbox. What a
//! sandbox shows is a [`MountPlan`], plain data; each level enforces as much of it as it can.
//!
//! | file | owns |
//! |---|---|
//! | `level` | the levels by name |
//! | `sandboxed_command` | a program that is to run in a sandbox |
//! | `config` | the settings that all sandboxes of a run share, and the mounts for each program |
//! | `mount_plan` | what a sandbox shows, as plain data |
//! | `home` | the part of the user's home that a sandbox shows at level full |
//! | `aliases` | other paths to a home |
//! | `elsewhere` | other folders of users |
//! | `environment` | looks variables up |
//! | `toolchains` | compilers and similar tools in the user's home; `toolchains.txt` lists their places |
//! | `registries` | package manager settings without logins |
//! | `dependencies` | packages that the repository names by path |
//! | `unseen` | hidden paths that a gate looked for |
//! | `secrets` | what no sandbox shows; `places.txt` lists them |
//! | `assemble` | builds the chain of processes around a program |
//! | `caches` | the cache folders of tools, and what they start with |
//! | `state` | the files of an agent: shown, copied in, and copied back |
//! | `bubblewrap` | the mounts as arguments of `bwrap` |
//! | `stages` | the arguments of the two ralph processes around a sandboxed program |
//! | `inside` | the ralph process in the sandbox: limits, Landlock, seccomp (Linux) |
//! | `seccomp` | the system calls that no sandboxed program needs (Linux) |
//! | `landlock_rules` | Landlock (Linux) |
//! | `cgroup` | limits on everything in a sandbox together (Linux, where they can be set) |
//! | `guard` | git settings, restored where nothing can be mounted |
//! | `seatbelt` | the profile for `sandbox-exec` (macOS) |
//! | `set_id` | removes the bits that make a file run with its owner's rights |
//! | `self_test` | tries forbidden acts |
//! | `choose` | which level works here, and how to get the next better one |
//! | `wrapped` | a sandboxed command while it runs, and its end |
//! | `network_attachment` | the network of a sandboxed program |
//! | [`net`] | what a sandbox may reach |

mod aliases;
#[cfg(target_os = "linux")]
mod assemble;
mod bubblewrap;
mod caches;
#[cfg(target_os = "linux")]
mod cgroup;
mod choose;
mod config;
mod dependencies;
mod elsewhere;
mod environment;
mod guard;
mod home;
mod hooked;
#[cfg(target_os = "linux")]
pub mod inside;
#[cfg(target_os = "linux")]
mod landlock_rules;
mod level;
mod mount_plan;
pub mod net;
mod network_attachment;
mod programs;
mod registries;
mod sandboxed_command;
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
mod wrapped;

pub use caches::Caches;
pub use choose::{Choice, Unavailable, choose, likely};
pub use config::{Sandbox, SandboxConfig};
pub use dependencies::path_dependencies;
pub use elsewhere::elsewhere;
pub use guard::Guard;
pub use home::{Home, HomeNeeds};
pub use hooked::Hooked;
pub use level::{Level, Wanted};
pub use mount_plan::MountPlan;
pub use network_attachment::Network;
pub use programs::{Program, Programs, Ran};
pub use sandboxed_command::{ProgramKind, SandboxedCommand};
pub use stages::Limits;
pub use state::AgentState;
pub use wrapped::{Wrapped, is_fleeting};
