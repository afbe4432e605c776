//! The limit on open files of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit so that `wanted` files can be open at once, as far as the system allows. The error is the limit if
/// that is too low.
pub fn room_for_files(wanted: u64) -> Result<(), u64> {
    let now = getrlimit(Resource::Nofile);
    let is_enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if is_enough(now.current) {
        return Ok(());
    }
    let raised = if is_enough(now.maximum) { Some(wanted) } else { now.maximum };
    let raised = Rlimit { current: raised, maximum: now.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) if is_enough(now.maximum) => Ok(()),
        _ => Err(getrlimit(Resource::Nofile).current.unwrap_or(0)),
    }
}
