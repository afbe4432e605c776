//! Runs a program once, with a time limit, and reports the result: for `ralph doctor`, and to ask an agent for its
//! version. The supervisor does the work.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use tokio::sync::watch;

use crate::interrupts::Interrupts;
use crate::ports::{CommandSpec, Probe, ProbeEnd};
use crate::process::{LineEffect, Listener, Mark, Stop, Tail, Watch, supervise};

/// How much of the output is kept: the end of it.
const KEPT: usize = 64 << 10;
/// Between asking the program to end and killing it.
const GRACE: Duration = Duration::from_secs(1);

/// Runs `program` in `folder` without input, for at most `timeout`. Nothing that it started is left when
/// this returns.
pub fn run(
    program: &Path,
    arguments: &[&str],
    folder: &Path,
    environment: &[(OsString, OsString)],
    timeout: Duration,
) -> Probe {
    run_spec(&CommandSpec::new(program, arguments, folder, environment.to_vec()), timeout)
}

/// The same for a command that is put together already.
pub(crate) fn run_spec(spec: &CommandSpec, timeout: Duration) -> Probe {
    run_until(spec, timeout, wait_for_stop_signal())
}

/// The same, but it continues when ralph is asked to stop.
pub(crate) fn finish(spec: &CommandSpec, timeout: Duration) -> Probe {
    run_until(spec, timeout, std::future::pending())
}

fn run_until(
    spec: &CommandSpec,
    timeout: Duration,
    stop_requested: impl Future<Output = ()> + Send + 'static,
) -> Probe {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(attend(spec, timeout, stop_requested)),
        Err(error) => {
            let end = ProbeEnd::NotStarted(error.to_string());
            Probe { end, output: String::new(), took: Duration::ZERO }
        }
    }
}

async fn attend(
    spec: &CommandSpec,
    timeout: Duration,
    stop_requested: impl Future<Output = ()> + Send + 'static,
) -> Probe {
    let patience = Watch { grace: GRACE, ..Watch::timeout(timeout) };
    let (stop, stopped) = watch::channel(Stop::Go);
    let stop_requested = tokio::spawn(async move {
        stop_requested.await;
        stop.send_replace(Stop::Kill);
        std::future::pending::<()>().await;
    });
    let mut kept = OutputTail(Tail::default());
    let mark = Mark::new(&spec.folder, 0);
    let ended = supervise(spec, &patience, &mark, &mut kept, None, stopped).await;
    stop_requested.abort();
    let end = match ended.end {
        ProcessEnd::Exited { code } => ProbeEnd::Exited(code),
        ProcessEnd::Signalled { signal } => ProbeEnd::Exited(128 + signal),
        ProcessEnd::TimedOut { .. } | ProcessEnd::Silent { .. } | ProcessEnd::Lingered { .. } => {
            ProbeEnd::TimedOut
        }
        ProcessEnd::Stopped => ProbeEnd::Interrupted,
        ProcessEnd::NotStarted { error } => ProbeEnd::NotStarted(error),
    };
    Probe {
        end,
        output: String::from_utf8_lossy(kept.0.bytes()).into_owned(),
        took: ended.duration,
    }
}

/// Completes when ralph is asked to stop, at once if it was before.
pub(crate) async fn wait_for_stop_signal() {
    match Interrupts::listen() {
        Ok(mut interrupts) => interrupts.wait().await,
        Err(_) => std::future::pending().await,
    }
}

struct OutputTail(Tail<KEPT>);

impl Listener for OutputTail {
    fn stdout(&mut self, line: &[u8], _cut: bool, _replies: &mut Vec<u8>) -> LineEffect {
        self.0.line(line);
        LineEffect::Going
    }

    fn stderr(&mut self, line: &[u8]) {
        self.0.line(line);
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::*;

    fn shell(script: &str, timeout: Duration) -> Probe {
        let environment: Vec<_> = std::env::vars_os().collect();
        run(Path::new("sh"), &["-c", script], Path::new("/"), &environment, timeout)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn code_and_output_are_reported() {
        let probe = shell("echo out; echo err >&2; pwd; exit 3", LONG);
        assert!(matches!(probe.end, ProbeEnd::Exited(3)), "{probe:?}");
        for part in ["out\n", "err\n", "/\n"] {
            assert!(probe.output.contains(part), "{probe:?}");
        }
        let probe = shell("kill -9 $$", LONG);
        assert!(matches!(probe.end, ProbeEnd::Exited(137)), "{probe:?}");
        let probe = run(Path::new("/nonexistent/x"), &[], Path::new("/"), &[], LONG);
        assert!(matches!(probe.end, ProbeEnd::NotStarted(_)), "{probe:?}");
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let script = format!(
            "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 5; done' & wait",
            mark.display()
        );
        let probe = shell(&script, Duration::from_millis(500));
        assert!(matches!(probe.end, ProbeEnd::TimedOut), "{probe:?}");
        assert!(probe.took < Duration::from_secs(10), "{probe:?}");
        let pid: i32 = std::fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
        assert!(is_gone(pid), "the grandchild {pid} is still alive");
    }

    #[test]
    fn a_child_that_stays_behind_is_killed_and_not_waited_for() {
        let probe = shell("sleep 300 & echo $!", LONG);
        assert!(matches!(probe.end, ProbeEnd::Exited(0)), "{probe:?}");
        assert!(probe.took < Duration::from_secs(10), "{probe:?}");
        assert!(is_gone(probe.output.trim().parse().unwrap()), "{probe:?}");
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let probe = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end", LONG);
        assert!(probe.output.ends_with("the end\n") && probe.output.len() <= KEPT, "{probe:?}");
    }

    /// A process that was killed is gone soon, not at once; a zombie that its new parent has not buried
    /// counts as gone.
    #[expect(
        clippy::disallowed_methods,
        reason = "no event reports the end of a process of another parent"
    )]
    fn is_gone(pid: i32) -> bool {
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            rustix::process::test_kill_process(Pid::from_raw(pid).unwrap()).is_err()
                || stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"))
        };
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            gone()
        })
    }
}
