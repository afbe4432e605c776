//! The subreaper of a session: a process between ralph and the program that never becomes anything else.
//!
//! ```text
//!   ralph ── subreaper ── program ── shell ── …
//!                └─────── whoever lost its parent, wherever it hid
//! ```
//!
//! A process that loses its parent becomes a child of the subreaper, even when it has a session of its own and an
//! empty environment. So the process tree of a session is exactly what is below its subreaper: other sessions and
//! ralph's own git are not in it, and the tree is gone when the subreaper has no child left and ends. ralph does not
//! have to poll.
//!
//! It reports by a pipe, four bytes each: how the program ended, and that nothing is left.
//!
//! It is a process of its own in every respect but one: it lives in ralph's memory, as a child of
//! `posix_spawn` does for a moment. A fork would copy the page table of ralph, and after it every page
//! that either side writes to. Measured with 16 MB in use, on 2 cores (medians of 301): `clone` with
//! `CLONE_VM` takes 0.02 ms, `fork` 0.5 ms, and the first writes to all pages after it 30 ms more. So
//! nothing here may allocate, take a lock or panic, and there are two times:
//!
//! - Until the program runs, or cannot, the thread that started the subreaper waits, without a call of the C
//!   library. The subreaper shares that thread's `errno` and may use it.
//! - From then on the subreaper only makes system calls that have no `errno`: those of `rustix`.
//!
//! What must hold:
//!
//! - What it stands on ([`Ground`]) is freed when it has been awaited *and* had reported how the start went. One
//!   that was killed before that may leave a child in our memory which has not become a program yet; then the
//!   ground is never freed.
//! - It was started without a signal for its end, so only we can await it, even where SIGCHLD is ignored:
//!   until then its pid is its own. It is awaited with [`ALL`].
//! - All signals are blocked in it: no handler of ralph's ever runs in it, and only KILL ends it.
//! - When it is killed, its program dies with it. Processes below are found by the mark of the session, by
//!   the process tree or by the next run.

#![expect(unsafe_code, reason = "a process in ralph's memory that only makes system calls")]

use std::convert::Infallible;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, WaitId, WaitIdOptions, WaitOptions, chdir, getpid, getppid,
    getrlimit, kill_process, pidfd_open, set_child_subreaper, set_parent_process_death_signal,
    setpgid, setsid, wait, waitid, waitpid,
};
use rustix::thread::futex;

use super::exec_arguments::Words;

/// Higher numbers are real-time signals, which ralph does not handle.
const LAST_SIGNAL: c_int = 31;

/// The stack of the subreaper, and that on which the program is started, in pieces of 16 bytes.
const STACK: usize = 32 * 1024 / size_of::<u128>();

/// Also children that end without a signal.
const ALL: u32 = libc::__WALL as u32;

/// The last report: no process is left. No process status is negative.
pub(super) const NOBODY: i32 = -1;

/// The memory of a subreaper. Shared with it, so everything in it is atomic or never changes.
struct Ground {
    ralph: Pid,
    words: Words,
    /// For the program: standard input, output and error. Numbers, because the subreaper has its own copies.
    streams: [RawFd; 3],
    report: RawFd,
    subreaper: AtomicI32,
    program: AtomicI32,
    failed: AtomicI32,
    /// 1 once the program runs or cannot.
    started: AtomicU32,
    stacks: *mut [MaybeUninit<u128>],
}

// SAFETY: the stacks are used by the subreaper alone, and nobody makes a reference to them.
unsafe impl Send for Ground {}

impl Drop for Ground {
    fn drop(&mut self) {
        // SAFETY: made from a box in `start`, and the subreaper has ended.
        drop(unsafe { Box::from_raw(self.stacks) });
    }
}

/// A subreaper that lives, or has ended and was not awaited. Dropping it ends and awaits it.
pub(super) struct Subreaper {
    pub(super) pid: Pid,
    pub(super) program: Pid,
    /// Its memory until then.
    ground: Option<Box<Ground>>,
}

impl Subreaper {
    /// Starts a program below a subreaper, which dies with the thread that calls this. The descriptors are
    /// theirs.
    pub(super) fn start(words: Words, streams: [OwnedFd; 3], report: OwnedFd) -> io::Result<Self> {
        let ground = Box::new(Ground {
            ralph: getpid(),
            words,
            streams: streams.each_ref().map(AsRawFd::as_raw_fd),
            report: report.as_raw_fd(),
            subreaper: AtomicI32::new(0),
            program: AtomicI32::new(0),
            failed: AtomicI32::new(0),
            started: AtomicU32::new(0),
            stacks: Box::into_raw(Box::new_uninit_slice(2 * STACK)),
        });
        let stack = ground.stack(1);
        let here = (&raw const *ground).cast_mut().cast();
        // Signals that came before the subreaper has its own handlers would run ours in it.
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: each set is filled before it is read.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        }
        // SAFETY: stack and ground stay where they are until the subreaper was awaited.
        let pid = unsafe { libc::clone(enter, stack, libc::CLONE_VM, here) };
        let failed = (pid == -1).then(io::Error::last_os_error);
        let reported = Pid::from_raw(pid).filter(|_| pid > 0).map(|pid| ground.wait_for_start(pid));
        // SAFETY: as above.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
        let (Some((pid, program)), None) = (reported, failed.as_ref()) else {
            return Err(failed.unwrap_or_else(|| io::Error::from(Errno::AGAIN)));
        };
        let mut subreaper = Self { pid, program: program.unwrap_or(pid), ground: Some(ground) };
        match subreaper.ground.as_ref().map_or(0, |ground| ground.failed.load(Ordering::Acquire)) {
            0 if program.is_some() => Ok(subreaper),
            0 => Err(io::Error::other("it was killed while starting")),
            error => {
                subreaper.end();
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }

    /// Ends and awaits it. Its memory is leaked if that fails, or if it never reported.
    fn end(&mut self) {
        let Some(ground) = self.ground.take() else { return };
        // It was not awaited, so the pid is still its own.
        let _ = kill_process(self.pid, Signal::KILL);
        loop {
            match waitpid(Some(self.pid), WaitOptions::from_bits_retain(ALL)) {
                Ok(Some(_)) if ground.started.load(Ordering::Acquire) == 1 => return drop(ground),
                Ok(None) | Err(Errno::INTR) => {}
                Ok(Some(_)) | Err(_) => return std::mem::forget(ground),
            }
        }
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Ground {
    fn stack(&self, number: usize) -> *mut c_void {
        // SAFETY: there are two of them.
        unsafe { self.stacks.cast::<u128>().add(number * STACK).cast() }
    }

    /// Waits for word of the start; the program, if it came so far. Must not touch `errno`.
    fn wait_for_start(&self, subreaper: Pid) -> (Pid, Option<Pid>) {
        // A program can kill its subreaper before that has said a word.
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let look = ended() | WaitIdOptions::NOHANG;
        while self.started.load(Ordering::Acquire) == 0 {
            let waited = futex::wait(&self.started, futex::Flags::PRIVATE, 0, Some(&moment));
            if waited == Err(Errno::TIMEDOUT)
                && !matches!(waitid(WaitId::Pid(subreaper), look), Ok(None))
            {
                break;
            }
        }
        (subreaper, Pid::from_raw(self.program.load(Ordering::Acquire)))
    }

    fn report_start(&self) {
        self.started.store(1, Ordering::Release);
        let _ = futex::wake(&self.started, futex::Flags::PRIVATE, 1);
    }
}

/// Looks for the end of a subreaper, which is still to be awaited.
fn ended() -> WaitIdOptions {
    WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::from_bits_retain(ALL)
}

/// Waits until a subreaper has ended that was killed, and its program too. It is still to be awaited.
pub(super) fn wait_for_end(subreaper: Pid, program: Pid) -> io::Result<()> {
    let program = pidfd_open(program, PidfdFlags::empty());
    waitid(WaitId::Pid(subreaper), ended())?;
    if let Ok(program) = program {
        // It was killed at that moment; the limit is for one that hangs in the kernel.
        let moment = Timespec { tv_sec: 2, tv_nsec: 0 };
        poll(&mut [PollFd::new(&program, PollFlags::IN)], Some(&moment))?;
    }
    Ok(())
}

extern "C" fn enter(ground: *mut c_void) -> c_int {
    // SAFETY: `Subreaper` keeps it for as long as this process lives.
    let ground = unsafe { &*ground.cast::<Ground>() };
    match begin(ground) {
        Ok(program) => {
            ground.report_start();
            keep(program, ground.report);
        }
        Err(error) => {
            ground.failed.store(error.raw_os_error(), Ordering::Release);
            ground.report_start();
        }
    }
    // SAFETY: ends the process without running anything of ralph's.
    unsafe { libc::_exit(0) }
}

fn begin(ground: &Ground) -> Result<c_int, Errno> {
    die_with(ground.ralph)?;
    let subreaper = getpid();
    ground.subreaper.store(subreaper.as_raw_nonzero().get(), Ordering::Release);
    set_child_subreaper(Some(subreaper))?;
    // Signals from the terminal are for ralph, which passes them on as it sees fit.
    setpgid(None, None)?;
    chdir(ground.words.folder.as_c_str())?;
    // Where ralph was started with it ignored, the kernel would tell nobody how a child ended.
    // SAFETY: the default needs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let here = (&raw const *ground).cast_mut().cast();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: this process waits until its child has left the memory; the stack is used by nobody else.
    let program = unsafe { libc::clone(become_program, ground.stack(2), flags, here) };
    if program == -1 {
        return Err(last_error());
    }
    let failed = ground.failed.load(Ordering::Acquire);
    if failed != 0 {
        let _ = wait(WaitOptions::empty());
        return Err(Errno::from_raw_os_error(failed));
    }
    // Only shown to users.
    let _ = rustix::thread::set_name(c"ralph-session");
    // Pipes of the session would never end, and locks of ralph outlive it.
    close_all_but(ground.report);
    Ok(program)
}

extern "C" fn become_program(ground: *mut c_void) -> c_int {
    // SAFETY: the subreaper has it, and waits.
    let ground = unsafe { &*ground.cast::<Ground>() };
    let Err(error) = exec(ground);
    ground.failed.store(error.raw_os_error(), Ordering::Release);
    // SAFETY: ends the process without running anything of ralph's.
    unsafe { libc::_exit(127) }
}

fn exec(ground: &Ground) -> Result<Infallible, Errno> {
    // Without a terminal: a program that asks the user there fails at once instead of waiting forever.
    setsid()?;
    die_with(Pid::from_raw(ground.subreaper.load(Ordering::Acquire)).ok_or(Errno::SRCH)?)?;
    for (stream, number) in ground.streams.iter().zip(0..) {
        // SAFETY: both are of this process, and those that are replaced belong to nobody in it.
        if unsafe { libc::dup2(*stream, number) } == -1 {
            return Err(last_error());
        }
    }
    for number in 1..=LAST_SIGNAL {
        // SAFETY: neither needs a handler. Ours must not run here; what is ignored stays so, but for
        // SIGPIPE, which is ignored by ralph alone.
        unsafe {
            if libc::signal(number, libc::SIG_DFL) == libc::SIG_IGN && number != libc::SIGPIPE {
                libc::signal(number, libc::SIG_IGN);
            }
        }
    }
    let mut none = MaybeUninit::uninit();
    // SAFETY: the set is emptied before it is read.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    // Before it is the program, which may kill its subreaper at once.
    ground.program.store(getpid().as_raw_nonzero().get(), Ordering::Release);
    let mut refused = Errno::NOENT;
    for file in &ground.words.files {
        let environment = ground.words.environment.as_ptr();
        // SAFETY: the lists end with a zero.
        let mut error = unsafe {
            libc::execve(file.path.as_ptr(), ground.words.arguments.as_ptr(), environment);
            last_error()
        };
        if error == Errno::NOEXEC {
            // SAFETY: as above.
            unsafe { libc::execve(c"/bin/sh".as_ptr(), file.as_script.as_ptr(), environment) };
            error = last_error();
        }
        match error {
            Errno::NOENT | Errno::NOTDIR => {}
            Errno::ACCESS => refused = Errno::ACCESS,
            error => return Err(error),
        }
    }
    Err(refused)
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The kernel kills this process when its parent dies.
fn die_with(parent: Pid) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before it was asked for.
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// In the subreaper: waits for children until there are none.
fn keep(program: c_int, report: RawFd) {
    // SAFETY: in this process it is open to the end.
    let report = unsafe { BorrowedFd::borrow_raw(report) };
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == program => {
                // Ralph may be gone; then so are we, in a moment.
                let _ = rustix::io::write(report, &status.as_raw().to_ne_bytes());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    // Reported explicitly, because the system takes a while to remove a process.
    let _ = rustix::io::write(report, &NOBODY.to_ne_bytes());
}

fn close_all_but(kept: RawFd) {
    let (kept, last) = (i64::from(kept), i64::from(u32::MAX));
    for (from, to) in [(0, kept - 1), (kept + 1, last)] {
        if from > to {
            continue;
        }
        // SAFETY: nothing in this process uses a descriptor but `kept`, which is spared.
        let done = unsafe { libc::syscall(libc::SYS_close_range, from, to, 0_i64) };
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
