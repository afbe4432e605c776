//! The keeper: a process between ralph and the program of a session, forked from ralph and never
//! anything else.
//!
//! ```text
//!   ralph ── keeper ── program ── shell ── …
//!               └───── whoever lost its parent, wherever it hid
//! ```
//!
//! It is the subreaper of the session: a process that loses its parent becomes a child of the keeper,
//! even when it has a session of its own and an empty environment. So the family of a session is
//! exactly what is below its keeper, families of other sessions and ralph's own git are not in it, and
//! the family is gone at the moment when the keeper has no child left and ends. Nobody has to ask.
//!
//! It reports by a pipe: four bytes with the pid of the program, four with how it ended. Everything here
//! runs between fork and exec in a copy of a program with many threads: it must not allocate, lock or
//! panic.

#![expect(unsafe_code, reason = "fork and exec, and nothing but system calls between them")]

use std::ffi::{c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Signal, WaitOptions, getpid, getppid, getrlimit, set_child_subreaper,
    set_parent_process_death_signal, setsid, wait,
};
use tokio::process::Command;

unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(code: c_int) -> !;
    fn signal(number: c_int, handler: usize) -> usize;
    fn syscall(number: c_long, ...) -> c_long;
}

const SIG_DFL: usize = 0;

/// The same number on every architecture that ralph runs on.
const SYS_CLOSE_RANGE: c_long = 436;

/// Puts a keeper between this process and the program of `command`.
pub(super) fn install(command: &mut Command, report: OwnedFd) {
    let ralph = getpid();
    // SAFETY: `enter` makes system calls only: it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || enter(ralph, &report));
    }
}

/// In the first child. Returns in the second, which goes on to become the program.
fn enter(ralph: Pid, report: &OwnedFd) -> io::Result<()> {
    die_with(ralph)?;
    let keeper = getpid();
    set_child_subreaper(Some(keeper))?;
    // Where ralph was started with it ignored, the kernel would tell nobody how a child ended.
    // SAFETY: the default needs no handler.
    unsafe { signal(Signal::CHILD.as_raw(), SIG_DFL) };
    // SAFETY: this process has one thread, and both sides go on with system calls only.
    match unsafe { fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // Without a terminal: what asks a person there fails at once, and would wait for ever.
            setsid()?;
            die_with(keeper)?;
            let pid = getpid().as_raw_nonzero().get();
            rustix::io::write(report, &pid.to_ne_bytes())?;
            Ok(())
        }
        program => keep(program, report),
    }
}

/// The kernel kills this process when its parent dies.
fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before it was asked for.
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// In the keeper: lets go of everything that was ralph's, then waits for children until there are none.
fn keep(program: c_int, report: &OwnedFd) -> ! {
    // For the eyes of people only.
    let _ = rustix::thread::set_name(c"ralph-session");
    // Pipes of the session would never end, and locks of ralph outlive it. Also the pipe by which the
    // standard library waits for the exec.
    close_all_but(report.as_raw_fd());
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == program => {
                // Ralph may be gone; then so are we, in a moment.
                let _ = rustix::io::write(report, &status.as_raw().to_ne_bytes());
            }
            Ok(_) | Err(Errno::INTR) => {}
            // SAFETY: ends the process without running anything of ralph's.
            Err(_) => unsafe { _exit(0) },
        }
    }
}

fn close_all_but(kept: RawFd) {
    let (kept, last) = (i64::from(kept), i64::from(u32::MAX));
    for (from, to) in [(0, kept - 1), (kept + 1, last)] {
        if from > to {
            continue;
        }
        // SAFETY: nothing in this process uses a descriptor but `kept`, which is spared.
        let done = unsafe { syscall(SYS_CLOSE_RANGE, from, to, 0_i64) };
        if done == 0 {
            continue;
        }
        // Kernels before 5.9.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(65_536).min(1 << 20);
        for descriptor in from..=to.min(i64::try_from(limit).unwrap_or(65_536)) {
            if let Ok(descriptor) = RawFd::try_from(descriptor) {
                // SAFETY: as above; one that is not open is refused by the kernel.
                unsafe { rustix::io::close(descriptor) };
            }
        }
    }
}
