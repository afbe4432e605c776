//! Runs the two ralph processes around a sandboxed program; [`super::stages`] defines their arguments.

#![expect(unsafe_code, reason = "no crate wraps these calls of the C library")]

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
};

use super::caches::NOTHING;
use super::net::bridge;
use super::stages::{Inner, Limits, Outer};
use super::{landlock_rules, seccomp};

/// The flag of `landlock_create_ruleset` that asks for the version. `libc` does not have it.
const LANDLOCK_VERSION: u32 = 1;

/// Those that are meant for the program and not for what is around it.
const FOR_THE_PROGRAM: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// Which version of Landlock the system has; 0 is none.
pub(super) fn landlock_version() -> i64 {
    // SAFETY: with this flag the kernel takes neither attributes nor a size, and answers with a number.
    let version = unsafe {
        let call = libc::SYS_landlock_create_ruleset;
        libc::syscall(call, std::ptr::null::<u8>(), 0_usize, LANDLOCK_VERSION)
    };
    version.max(0)
}

/// Closes files that the caller of ralph left open: a program could read and write them, whatever its sandbox
/// shows.
fn leave_files() {
    let (first, last, at_exec) = (3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: it marks files of this process, which nothing here uses, to be closed at the next program.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, first, last, at_exec) };
    if marked == 0 {
        return;
    }
    for entry in std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let Some(number) = number.filter(|number| *number > 2) else { continue };
        // SAFETY: the file is only looked at while this call lasts; one that is gone is an error.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
    }
}

fn set_signals(handler: libc::sighandler_t) {
    for number in FOR_THE_PROGRAM {
        // SAFETY: neither needs a handler, and nothing here waits for them.
        unsafe { libc::signal(number.as_raw(), handler) };
    }
}

#[expect(clippy::disallowed_methods, reason = "a stage becomes its program, and starts none")]
fn become_program(command: &[OsString]) -> io::Result<Infallible> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("there is nothing to run"));
    };
    let error = Command::new(program).args(arguments).exec();
    Err(io::Error::new(error.kind(), format!("{}: {error}", program.to_string_lossy())))
}

/// Joins its groups and becomes the program that creates the sandbox. Returns only on failure. Call it while
/// this process has one thread: only that one joins.
pub fn outer(outer: &Outer) -> io::Result<Infallible> {
    for group in &outer.groups {
        let mut file = OpenOptions::new().write(true).open(group)?;
        file.write_all(b"0")?;
    }
    set_signals(libc::SIG_IGN);
    leave_files();
    become_program(&without_gone(&outer.command))
}

/// Leaves out hidden paths that are gone meanwhile, such as the socket of a program that ended: otherwise the
/// sandbox could not be created.
fn without_gone(command: &[OsString]) -> Vec<OsString> {
    let mut left = Vec::with_capacity(command.len());
    let mut rest = command;
    while let Some((word, after)) = rest.split_first() {
        if let [how, from, to, ..] = rest
            && (how == "--ro-bind" && Path::new(from).ends_with(NOTHING))
            && Path::new(to).symlink_metadata().is_err()
        {
            rest = &rest[3..];
            continue;
        }
        left.push(word.clone());
        rest = after;
    }
    left
}

/// Restricts itself and becomes the program, or stays next to it and carries its connections. Returns only on
/// failure.
pub fn inner(inner: &Inner) -> io::Result<Infallible> {
    if let Some(socket) = &inner.proxy {
        return carry(inner, socket);
    }
    limit(&inner.limits);
    give_up_capabilities();
    rustix::thread::set_no_new_privs(true)?;
    if !inner.writable.is_empty() || !inner.hidden.is_empty() {
        landlock_rules::apply(&inner.writable, &inner.readable, &inner.hidden)?;
    }
    if inner.seccomp {
        seccomp::apply(inner.is_root)?;
    }
    set_signals(libc::SIG_DFL);
    become_program(&inner.command)
}

/// Root without them is an ordinary user who owns root's files. Where nothing can be mounted this is what
/// keeps root from devices and from the memory of others.
fn give_up_capabilities() {
    for capability in CapabilitySet::all().iter() {
        // Only a process with the right may do this, and others have nothing to give up.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    let _ = set_capabilities(None, sets);
}

/// Starts the program by a stage of its own, and serves it until it ends; then everything in the sandbox ends.
#[expect(clippy::disallowed_methods, reason = "the one program of the sandbox, which ends with it")]
fn carry(inner: &Inner, socket: &Path) -> io::Result<Infallible> {
    let bridge = bridge::listen(&inner.ports)?;
    let variables = bridge::variables(bridge.port());
    let alone = Inner { proxy: None, ports: vec![], ..inner.clone() };
    let mut program =
        Command::new("/proc/self/exe").args(alone.arguments()).envs(variables).spawn()?;
    let socket = socket.to_owned();
    std::thread::spawn(move || bridge.serve(&socket));
    let status = program.wait()?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    std::process::exit(code.unwrap_or(1))
}

fn limit(limits: &Limits) {
    let set = |resource, most: u64| {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        // One that is lower already stays.
        let _ = setrlimit(resource, limit);
    };
    set(Resource::Core, 0);
    if limits.processes > 0 {
        set(Resource::Nproc, limits.processes);
    }
    if let Some(memory) = limits.memory {
        set(Resource::Data, memory);
    }
    if let Some(size) = limits.file_size {
        set(Resource::Fsize, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_something_that_is_gone_is_left_out() {
        let there = tempfile::NamedTempFile::new().unwrap();
        let words = |path: &Path| -> Vec<OsString> {
            let hides = ["--ro-bind", "/caches/.nothing"].map(OsString::from);
            hides.into_iter().chain([path.into(), "--proc".into(), "/proc".into()]).collect()
        };
        assert_eq!(without_gone(&words(there.path())), words(there.path()));
        assert_eq!(without_gone(&words(Path::new("/not/there"))), ["--proc", "/proc"]);
    }
}
