//! The processes of one session: how they start, when they end, and signals to all of them.
//!
//! Two implementations with the same face. On Linux a [keeper](linux) makes the family exact; elsewhere
//! it is the process group, which a process can leave.

#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};

use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

use super::mark::{self, Mark};
use super::spec::CommandSpec;

#[cfg(target_os = "linux")]
pub(super) use linux::Family;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Family;

/// What names a process for good: its pid and when it started.
pub(super) type ProcessId = (Pid, u64);

/// What happens to a family.
#[derive(Debug)]
pub(super) enum News {
    /// The program itself has ended; others of the family may live.
    ProgramEnded(ExitStatus),
    /// Nobody is left.
    AllGone,
    /// The keeper was killed: from now on the family has to be searched for.
    #[cfg(target_os = "linux")]
    KeeperLost,
}

/// A family that runs, and our ends of its pipes.
pub(super) struct Started {
    pub(super) family: Family,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// Starts a program. An error is a program that never ran.
pub(super) async fn start(spec: &CommandSpec, mark: &Mark) -> io::Result<Started> {
    let mut started = Family::start(command(spec, mark), mark).await?;
    let child = started.child_mut();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok(Started { family: started, stdin, stdout, stderr })
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts agents and gates")]
fn command(spec: &CommandSpec, mark: &Mark) -> Command {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.folder)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env(mark::VARIABLE, mark.as_str())
        .stdin(if spec.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Signals from the terminal are for ralph, which passes them on as it sees fit.
        .process_group(0)
        .kill_on_drop(true);
    command
}

type Job = Box<dyn FnOnce() + Send>;

/// Starts the child from a thread that lives as long as ralph. A child that asks to die with its parent
/// dies with the *thread* that started it, and threads of a runtime come and go.
async fn spawn_from_lasting_thread(mut command: Command) -> io::Result<Child> {
    static JOBS: OnceLock<Option<mpsc::Sender<Job>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let work = move || jobs.into_iter().for_each(|job| job());
        std::thread::Builder::new().name("spawner".to_owned()).spawn(work).ok().map(|_| sender)
    });
    let gone = || io::Error::other("the thread that starts programs is gone");
    let runtime = tokio::runtime::Handle::current();
    let (answer, answered) = oneshot::channel();
    let job = move || {
        let _inside = runtime.enter();
        // Nobody may wait any more: then the child is dropped, and that kills it.
        let _ = answer.send(command.spawn());
    };
    jobs.as_ref().ok_or_else(gone)?.send(Box::new(job)).map_err(|_| gone())?;
    answered.await.unwrap_or_else(|_| Err(gone()))
}
