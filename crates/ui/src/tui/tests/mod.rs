//! The display on a terminal in memory. The gallery is made of snapshots: look at them.

mod agreement;
mod behavior;
mod fake;
mod gallery;
mod replay;
mod speed;
