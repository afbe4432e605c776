//! System calls by number.

use std::ffi::{CString, c_int, c_long};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// The number of a call on `x86_64` and on `aarch64`.
pub(super) type Number = (c_long, c_long);

/// Those of which one must know that they were refused, and not that they were called wrongly.
const REFUSALS: [i32; 3] = [1, 13, 38];

fn number(call: Number) -> c_long {
    if cfg!(target_arch = "x86_64") { call.0 } else { call.1 }
}

/// What the call answers. Pointers are passed as numbers.
pub(super) fn call(what: Number, arguments: [c_long; 5]) -> io::Result<c_long> {
    raw(number(what), arguments)
}

/// The same by its number on this machine.
pub(super) fn raw(number: c_long, [a, b, c, d, e]: [c_long; 5]) -> io::Result<c_long> {
    // SAFETY: whatever a call is given here is zero, a small number, or the address of something that
    // lives longer than the call.
    match unsafe { syscall(number, a, b, c, d, e) } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// Whether a call gets through at all: every answer but a refusal counts.
pub(super) fn reaches(what: Number, arguments: [c_long; 5]) -> io::Result<()> {
    reached(call(what, arguments))
}

pub(super) fn reached(answer: io::Result<c_long>) -> io::Result<()> {
    match answer {
        Err(error) if error.raw_os_error().is_some_and(|code| REFUSALS.contains(&code)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// A path for a call.
pub(super) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

pub(super) fn address(text: &CString) -> c_long {
    text.as_ptr() as c_long
}

/// Tries something in a process of its own: what it does to itself must not touch the next attempt.
pub(super) fn apart(what: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // SAFETY: the attacker has one thread that does anything; the child makes calls and ends at once.
    let child = unsafe { fork() };
    if child == 0 {
        let code = what().map_or_else(|error| error.raw_os_error().unwrap_or(255), |()| 0);
        // SAFETY: nothing of the parent's is to be run.
        unsafe { _exit(code) };
    }
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut status = 0;
    // SAFETY: the status lives as long as the call.
    if unsafe { waitpid(child, &raw mut status, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    match status {
        0 => Ok(()),
        status if status & 0x7f != 0 => {
            Err(io::Error::other(format!("killed by signal {}", status & 0x7f)))
        }
        status => Err(io::Error::from_raw_os_error((status >> 8) & 0xff)),
    }
}
