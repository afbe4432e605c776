//! Signals between several runs of one command: a run handles signals itself, but nothing does between two of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// Whether the user, or the system, asked ralph to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// Listens from now on, until the process ends.
    pub fn listen() -> io::Result<Self> {
        let heard = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _inside = runtime.enter();
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
                .into_iter()
                .map(signal)
                .collect::<io::Result<Vec<_>>>()?
        };
        let told = heard.clone();
        let listener = std::thread::Builder::new().name("interrupts".to_owned());
        listener.spawn(move || {
            runtime.block_on(async {
                let [interrupt, terminate, hangup] = signals.as_mut_slice() else { return };
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                told.0.store(true, Ordering::Release);
            });
        })?;
        Ok(heard)
    }

    /// Whether ralph was asked to stop.
    pub fn heard(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
