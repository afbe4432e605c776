//! The queue of one channel. It delivers one message after the other.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::text::printable_line;
use ralph_core::view::Message;
use tokio::sync::{Notify, watch};

use super::Channel;
use crate::process::{CommandSpec, Mark, Stop, Watch, captured};

const QUEUE: usize = 16;
const PATIENCE: Duration = Duration::from_secs(10);
/// Between asking a program to end and killing it.
const GRACE: Duration = Duration::from_millis(300);

#[derive(Debug, Clone)]
pub struct ChannelContext {
    /// The repository, by which processes are known after a crash.
    pub root: PathBuf,
    pub folder: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Arc<Message>>,
    closed: bool,
    failure: Option<String>,
}

pub(super) struct Lane {
    channel: Channel,
    waiting: Mutex<Waiting>,
    news: Notify,
}

impl Lane {
    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, waiting: Mutex::default(), news: Notify::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; of too many the oldest is dropped.
    pub(super) fn push(&self, message: Arc<Message>) {
        let mut waiting = self.waiting();
        if waiting.messages.len() == QUEUE {
            waiting.messages.pop_front();
        }
        waiting.messages.push_back(message);
        drop(waiting);
        self.news.notify_one();
    }

    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.news.notify_one();
    }

    pub(super) fn failure(&self) -> Option<String> {
        let why = self.waiting().failure.clone()?;
        Some(format!("notifications through {} failed: {why}", self.channel.name()))
    }

    /// Delivers until the queue is closed and empty, or it is asked to stop.
    pub(super) async fn work(&self, place: &ChannelContext, stop: watch::Receiver<Stop>) {
        loop {
            let (next, closed) = {
                let mut waiting = self.waiting();
                (waiting.messages.pop_front(), waiting.closed)
            };
            match next {
                Some(_) if *stop.borrow() != Stop::Go => {
                    self.failed("the run ended before it was sent".to_owned());
                    return;
                }
                Some(message) => {
                    if let Err(why) = self.deliver(&message, place, stop.clone()).await {
                        self.failed(why);
                    }
                }
                None if closed => return,
                None => self.news.notified().await,
            }
        }
    }

    fn failed(&self, why: String) {
        self.waiting().failure.get_or_insert(why);
    }

    async fn deliver(
        &self,
        message: &Message,
        place: &ChannelContext,
        stop: watch::Receiver<Stop>,
    ) -> Result<(), String> {
        let Some(command) = self.channel.command(message, place) else {
            if let Channel::Bell(ring) = self.channel {
                ring();
            }
            return Ok(());
        };
        run(&command, place, stop).await
    }
}

async fn run(
    command: &CommandSpec,
    place: &ChannelContext,
    stop: watch::Receiver<Stop>,
) -> Result<(), String> {
    let watch = Watch { grace: GRACE, drain: GRACE, line_cap: 4096, ..Watch::timeout(PATIENCE) };
    let mark = Mark::new(&place.root, 0);
    let ended = captured(command, &watch, &mark, stop).await;
    let output = ended.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let output = output.map(|line| {
        let line: String = printable_line(line).chars().take(200).collect();
        format!(": {line}")
    });
    let output = output.unwrap_or_default();
    match ended.end {
        ProcessEnd::Exited { code: 0 } => Ok(()),
        ProcessEnd::Exited { code } => Err(format!("it exited with code {code}{output}")),
        ProcessEnd::Signalled { signal } => {
            Err(format!("it was killed by signal {signal}{output}"))
        }
        ProcessEnd::TimedOut { .. } | ProcessEnd::Silent { .. } | ProcessEnd::Lingered { .. } => {
            Err(format!("it timed out after {}s{output}", PATIENCE.as_secs()))
        }
        ProcessEnd::Stopped => Err(format!("it was still running when the run ended{output}")),
        ProcessEnd::NotStarted { error } => Err(error),
    }
}
