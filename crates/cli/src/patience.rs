//! Says what ralph is doing where something that is usually quick takes long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ralph_core::run::RunEvent;
use ralph_core::view::Reporter;

/// What takes longer than this is named.
const LONG: Duration = Duration::from_secs(2);

/// Until it is dropped, ralph does what it names.
pub(crate) struct Patience {
    /// Its end ends the thread.
    _done: Sender<()>,
}

impl Patience {
    /// Calls `report` if it lives for longer than usual.
    pub(crate) fn start(report: impl FnOnce() + Send + 'static) -> Self {
        Self::after(LONG, report)
    }

    fn after(long: Duration, report: impl FnOnce() + Send + 'static) -> Self {
        let (done, ended) = channel::<()>();
        std::thread::spawn(move || {
            if ended.recv_timeout(long) == Err(RecvTimeoutError::Timeout) {
                report();
            }
        });
        Self { _done: done }
    }
}

/// A display that ends the patience with the first event of a run: from then on the run says itself what it does.
pub(crate) struct UntilBegun(pub(crate) Option<Patience>);

impl Reporter for UntilBegun {
    fn event(&mut self, _event: &RunEvent) {
        self.0.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_long_is_named() {
        let (reported, heard) = channel();
        let report = |name: &'static str| {
            let reported = reported.clone();
            move || reported.send(name).unwrap()
        };
        drop(Patience::start(report("quick")));
        let slow = Patience::after(Duration::from_millis(1), report("slow"));
        assert_eq!(heard.recv(), Ok("slow"));
        drop(slow);
        assert!(heard.try_recv().is_err());
    }
}
