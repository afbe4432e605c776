//! Signals that ask ralph to stop: Ctrl-C, TERM and HUP. One listener serves the whole process, because a command
//! may hold several runs and ask the user in between. Whoever asks for signals gets every one since the listener
//! started, so none is lost between two runs. A hangup that the caller ignores, as `nohup` does, stays ignored.
#![expect(unsafe_code, reason = "no crate says which signals the caller ignores")]

use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::signal::unix::{self, SignalKind};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The user pressed Ctrl-C. Each press asks for more.
    CtrlC,
    /// TERM or HUP. Programs often send these more than once; they mean the same each time.
    Terminate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Heard {
    ctrl_c: u32,
    terminate: u32,
}

#[derive(Debug, Clone)]
pub struct Interrupts {
    heard: watch::Receiver<Heard>,
    /// Those that [`Interrupts::next`] has returned.
    taken: Heard,
}

static LISTENER: Mutex<Option<Interrupts>> = Mutex::new(None);

impl Interrupts {
    /// Listens until the process ends. Every call returns the same requests, the earlier ones too.
    pub fn listen() -> io::Result<Self> {
        let mut listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = &*listener {
            return Ok(listener.clone());
        }
        let (counter, new) = Self::channel();
        start(counter)?;
        *listener = Some(new.clone());
        Ok(new)
    }

    fn channel() -> (watch::Sender<Heard>, Self) {
        let (counter, heard) = watch::channel(Heard::default());
        (counter, Self { heard, taken: Heard::default() })
    }

    pub fn was_interrupted(&self) -> bool {
        *self.heard.borrow() != Heard::default()
    }

    /// Waits until ralph is asked to stop; returns at once if it was.
    pub(crate) async fn wait(&mut self) {
        if self.heard.wait_for(|heard| *heard != Heard::default()).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The next request, each once, beginning with the first that the process heard.
    pub(crate) async fn next(&mut self) -> Interrupt {
        loop {
            let heard = *self.heard.borrow_and_update();
            if heard.terminate > self.taken.terminate {
                self.taken.terminate = heard.terminate;
                return Interrupt::Terminate;
            }
            if heard.ctrl_c > self.taken.ctrl_c {
                self.taken.ctrl_c += 1;
                return Interrupt::CtrlC;
            }
            if self.heard.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

fn start(counter: watch::Sender<Heard>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate, mut hangup) = {
        let _inside = runtime.enter();
        let hangup = match is_ignored(libc::SIGHUP) {
            true => None,
            false => Some(unix::signal(SignalKind::hangup())?),
        };
        (unix::signal(SignalKind::interrupt())?, unix::signal(SignalKind::terminate())?, hangup)
    };
    let listener = std::thread::Builder::new().name("interrupts".to_owned());
    listener.spawn(move || {
        runtime.block_on(async {
            loop {
                let hung_up = async {
                    match &mut hangup {
                        Some(hangup) => hangup.recv().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    _ = interrupt.recv() => counter.send_modify(|heard| heard.ctrl_c += 1),
                    _ = terminate.recv() => counter.send_modify(|heard| heard.terminate += 1),
                    _ = hung_up => counter.send_modify(|heard| heard.terminate += 1),
                }
            }
        });
    })?;
    Ok(())
}

/// Whether the process ignores a signal. Call it before anything else handles the signal.
fn is_ignored(which: libc::c_int) -> bool {
    // SAFETY: ignoring needs no handler, and the second call restores what the first one replaced.
    unsafe {
        let before = libc::signal(which, libc::SIG_IGN);
        before == libc::SIG_IGN || {
            libc::signal(which, before);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_between_two_runs_reaches_the_second_one() {
        let (counter, process) = Interrupts::channel();
        let mut first = process.clone();
        counter.send_modify(|heard| heard.ctrl_c += 1);
        assert_eq!(first.next().await, Interrupt::CtrlC);
        drop(first);
        // No run listens now.
        counter.send_modify(|heard| heard.terminate += 2);
        assert!(process.was_interrupted());
        process.clone().wait().await;
        let mut second = process.clone();
        assert_eq!(second.next().await, Interrupt::Terminate, "both orders, as one");
        assert_eq!(second.next().await, Interrupt::CtrlC);
        let third = tokio::time::timeout(std::time::Duration::from_millis(20), second.next());
        assert!(third.await.is_err(), "each comes once");
        counter.send_modify(|heard| heard.ctrl_c += 2);
        assert_eq!(second.next().await, Interrupt::CtrlC);
        assert_eq!(second.next().await, Interrupt::CtrlC, "every press counts");
    }

    #[test]
    fn a_signal_is_asked_about_without_changing_it() {
        let which = libc::SIGWINCH;
        assert!(!is_ignored(which));
        assert!(!is_ignored(which), "asking changed it");
        // SAFETY: ignoring needs no handler.
        unsafe { libc::signal(which, libc::SIG_IGN) };
        assert!(is_ignored(which) && is_ignored(which));
    }
}
