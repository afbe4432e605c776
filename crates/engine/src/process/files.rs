//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes sure that so many files can be open at once, by raising the limit as far as it may be raised. What the limit is
/// where that is too few.
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
