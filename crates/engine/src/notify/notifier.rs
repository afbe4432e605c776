//! The display that turns run events into notifications, and the thread that delivers them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use ralph_core::run::RunEvent;
use ralph_core::view::{NotificationRules, Reporter};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::lane::Lane;
use super::{Channel, ChannelContext};
use crate::process::{Stop, runtime};

/// How long deliveries may continue after the run.
const AFTER: Duration = Duration::from_secs(4);
/// How long it may take to end programs that still run then.
const ENDING: Duration = Duration::from_secs(1);

pub type Warn = Box<dyn FnMut(&str) + Send>;

/// Delivers messages about a run. It should be the last display: its end takes a few seconds where
/// something hangs.
pub struct Notifier {
    rules: NotificationRules,
    lanes: Vec<Arc<Lane>>,
    stop: watch::Sender<Stop>,
    /// Carries no messages; it is closed when everything is delivered.
    working: Receiver<()>,
    warn: Warn,
}

impl Notifier {
    /// One that delivers by all of these channels. A channel that fails is reported once, at the end.
    pub fn start(
        rules: NotificationRules,
        channels: Vec<Channel>,
        place: ChannelContext,
        warn: Warn,
    ) -> Self {
        let lanes: Vec<_> = channels.into_iter().map(|one| Arc::new(Lane::new(one))).collect();
        let (stop, stopped) = watch::channel(Stop::Go);
        let (works, working) = channel();
        let busy = lanes.clone();
        std::thread::spawn(move || {
            deliver(busy, place, &stopped);
            drop::<std::sync::mpsc::Sender<()>>(works);
        });
        Self { rules, lanes, stop, working, warn }
    }
}

/// Runs all queues in parallel: one that hangs delays no other.
fn deliver(lanes: Vec<Arc<Lane>>, place: ChannelContext, stop: &watch::Receiver<Stop>) {
    let Ok(runtime) = runtime() else { return };
    let place = Arc::new(place);
    runtime.block_on(async {
        let mut all = JoinSet::new();
        for lane in lanes {
            let (place, stop) = (Arc::clone(&place), stop.clone());
            all.spawn(async move { lane.work(&place, stop).await });
        }
        while all.join_next().await.is_some() {}
    });
}

impl Reporter for Notifier {
    fn event(&mut self, event: &RunEvent) {
        let Some(message) = self.rules.on_event(event) else { return };
        let message = Arc::new(message);
        for lane in &self.lanes {
            lane.push(Arc::clone(&message));
        }
    }

    fn finish(&mut self) {
        for lane in &self.lanes {
            lane.close();
        }
        if self.working.recv_timeout(AFTER) == Err(RecvTimeoutError::Timeout) {
            self.stop.send_replace(Stop::Kill);
            let _ = self.working.recv_timeout(ENDING);
        }
        for failure in self.lanes.iter().filter_map(|lane| lane.failure()) {
            (self.warn)(&failure);
        }
    }
}

impl Drop for Notifier {
    /// A run that never began is not finished, and the thread should not wait for it.
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.close();
        }
    }
}

#[cfg(test)]
mod tests;
