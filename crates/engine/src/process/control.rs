//! How a running program is reached from outside: it can be stopped, and spoken to. Data only.

use tokio::sync::{mpsc, watch};

/// How urgently a session should stop. It only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    #[default]
    Go,
    /// It is asked to come to an end, then made to.
    Interrupt,
    /// It ends now: it has a moment to remove its locks.
    Kill,
}

impl Stop {
    pub fn never() -> watch::Receiver<Self> {
        watch::channel(Self::Go).1
    }
}

/// What happened to a text that was sent to a program. It only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Delivery {
    /// No session has looked at it yet. It never stays so.
    #[default]
    Pending,
    /// No session will read it: no program runs, it cannot be spoken to, or it is about to end.
    Refused,
    /// It is on its way to the program, which has not confirmed it, and perhaps never does.
    Sent,
    /// The program confirmed that it was read.
    Arrived,
}

/// A text for a running program.
#[derive(Debug)]
pub struct Said {
    pub text: String,
    /// Where to report how far it got. Once it is dropped, the last value is final.
    delivery: watch::Sender<Delivery>,
}

impl Said {
    /// A text, and where to learn how far it got.
    pub fn new(text: impl Into<String>) -> (Self, watch::Receiver<Delivery>) {
        let (delivery, receiver) = watch::channel(Delivery::Pending);
        (Self { text: text.into(), delivery }, receiver)
    }

    pub fn report(&self, delivery: Delivery) {
        self.delivery.send_replace(delivery);
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        // It waited for a program that has ended.
        self.delivery.send_if_modified(|now| {
            let is_pending = *now == Delivery::Pending;
            if is_pending {
                *now = Delivery::Refused;
            }
            is_pending
        });
    }
}

/// The ways into a running program.
#[derive(Debug)]
pub struct Control<'a> {
    /// Stops it.
    pub stop: watch::Receiver<Stop>,
    /// Texts for it, from the user.
    pub says: Option<&'a mut mpsc::Receiver<Said>>,
}

impl From<watch::Receiver<Stop>> for Control<'_> {
    fn from(stop: watch::Receiver<Stop>) -> Self {
        Self { stop, says: None }
    }
}
