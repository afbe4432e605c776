//! The processes of one session: starts them, notices their end, and signals all of them.
//!
//! Two implementations with the same interface. On Linux a [subreaper](linux) makes the process tree exact; elsewhere
//! it is the process group, which a process can leave.

#[cfg(target_os = "linux")]
mod exec_arguments;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod subreaper;

use std::io;
use std::process::ExitStatus;
use std::sync::{OnceLock, mpsc};

use rustix::process::Pid;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot;

#[cfg(target_os = "linux")]
pub(super) use linux::{ProcessTree, start};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{ProcessTree, start};

/// How much a program may print before we have to read it. The less often both have to wait for each
/// other, the less it costs to listen.
pub(super) const PIPE: usize = 256 * 1024;

/// What names a process for good: its pid and when it started.
pub(super) type ProcessId = (Pid, u64);

#[derive(Debug)]
pub(super) enum News {
    /// The program itself has ended; others of its process tree may live.
    ProgramEnded(ExitStatus),
    AllGone,
    /// The subreaper was killed: from now on ralph has to search for the processes.
    #[cfg(target_os = "linux")]
    SubreaperLost,
}

/// A process tree that runs, and our ends of its pipes.
pub(super) struct Started {
    pub(super) process_tree: ProcessTree,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

type Job = Box<dyn FnOnce() + Send>;

/// Has something done by a thread that lives as long as ralph. A child that asks to die with its parent
/// dies with the *thread* that started it, and threads of a runtime come and go. `false` when there is no
/// such thread.
fn spawn_detached(job: impl FnOnce() + Send + 'static) -> bool {
    static JOBS: OnceLock<Option<mpsc::Sender<Job>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let work = move || jobs.into_iter().for_each(|job| job());
        std::thread::Builder::new().name("spawner".to_owned()).spawn(work).ok().map(|_| sender)
    });
    jobs.as_ref().is_some_and(|jobs| jobs.send(Box::new(job)).is_ok())
}

/// The same, with the result.
async fn on_lasting_thread<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let gone = || io::Error::other("the thread that starts programs is gone");
    let runtime = tokio::runtime::Handle::current();
    let (answer, answered) = oneshot::channel();
    let job = move || {
        let _inside = runtime.enter();
        // The caller may be gone: then the child is dropped, and that kills it.
        let _ = answer.send(job());
    };
    if !spawn_detached(job) {
        return Err(gone());
    }
    answered.await.unwrap_or_else(|_| Err(gone()))
}
