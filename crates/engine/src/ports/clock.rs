//! Time for the loop.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ralph_core::Timestamp;

use crate::crash;

/// Tells the time and waits. The loop reads no other clock, so that a test can let hours pass at once.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Waits until then, or not at all if that time has passed.
    fn sleep_until<'a>(&'a self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// The clock of the system.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        crate::clock::now()
    }

    fn sleep_until<'a>(&'a self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let left = Duration::from_millis(at.millis_since(self.now()));
        Box::pin(tokio::time::sleep(crash::pause(left)))
    }
}
