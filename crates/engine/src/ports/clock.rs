//! Time for the loop.

use std::future::Future;
use std::pin::Pin;

use ralph_core::Timestamp;

/// Tells the time and waits. The loop reads no other clock, so that a test can let hours pass at once.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Waits until then, or not at all if that time has passed.
    fn sleep_until<'a>(&'a self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}
