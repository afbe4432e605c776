//! What the user tells running sessions: which messages a session has in its prompt, which get to it while it runs,
//! and the record of that.
//!
//! The task database has every message before ralph hears of it here, so nothing in this file has to survive a crash:
//! what no session is known to have got is in the next prompt.

use std::sync::{Arc, MutexGuard, PoisonError};

use ralph_core::TaskId;
use ralph_core::attempt::prompt::live;
use ralph_core::records::{LogKind, Message, UserMessage};
use ralph_core::run::{Control, Effect, Input, SlotId, TaskBrief, messages, unread};
use tokio::sync::{oneshot, watch};

use super::ports::{Failed, Ports};
use super::slot_state::SlotState;
use crate::plan_file::SyncedPlan;
use crate::ports::StoreError;
use crate::process::Delivery;
use crate::socket::ReceivedControl;

/// The messages about a task that a session got.
pub(super) type Got = Vec<(TaskId, Vec<u32>)>;

/// Says whether a running session takes a message; dropped, it says no.
type Reply = oneshot::Sender<bool>;

/// The way to the session of a slot, and the messages that it got.
#[derive(Default)]
pub(super) struct Messages {
    line: Line,
    /// What its prompt has.
    prompted: Vec<(TaskId, UserMessage)>,
    /// What was sent to it while it ran.
    said: Vec<Sent>,
}

#[derive(Default)]
enum Line {
    /// There is no session.
    #[default]
    Closed,
    /// It is being prepared; these messages came meanwhile.
    Preparing(Vec<(TaskId, UserMessage, Reply)>),
    Open,
}

struct Sent {
    task: TaskId,
    message: UserMessage,
    delivery: watch::Receiver<Delivery>,
    /// The loop knows that it arrived.
    reported: bool,
}

impl Messages {
    fn has(&self, task: &TaskId, number: u32) -> bool {
        let is = |of: &TaskId, message: &UserMessage| of == task && message.number == number;
        self.prompted.iter().any(|(of, message)| is(of, message))
            || self.said.iter().any(|sent| is(&sent.task, &sent.message))
    }
}

impl Ports {
    fn messages_of(&self, slot: SlotId) -> MutexGuard<'_, Messages> {
        self.told(slot).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A control of the user. Only a message is answered: whether a running session takes it.
    pub(super) fn take_control(self: &Arc<Self>, received: ReceivedControl) {
        let ReceivedControl { control, reply } = received;
        let mut reply = matches!(control, Control::Tell { .. }).then_some(reply);
        for effect in self.step(&Input::Control(control)) {
            match (effect, reply.take()) {
                (Effect::Say { slot, task, message }, Some(reply)) => {
                    self.hand_over(slot, task, message, reply);
                }
                (effect, unused) => {
                    reply = unused;
                    self.start(effect);
                }
            }
        }
    }

    /// Hands a message to the session of a slot, if it can be spoken to.
    pub(super) fn hand_over(
        self: &Arc<Self>,
        slot: SlotId,
        task: TaskId,
        message: UserMessage,
        reply: Reply,
    ) {
        let mut messages = self.messages_of(slot);
        if messages.has(&task, message.number) {
            let _ = reply.send(true);
            return;
        }
        match &mut messages.line {
            Line::Closed => {}
            Line::Preparing(waiting) => waiting.push((task, message, reply)),
            Line::Open => {
                let delivery = self.say(slot, &live(&message.text));
                let number = message.number;
                self.tasks().spawn(Arc::clone(self).follow(
                    slot,
                    (task.clone(), number),
                    delivery.clone(),
                    reply,
                ));
                messages.said.push(Sent { task, message, delivery, reported: false });
            }
        }
    }

    /// Waits until it is known whether the agent takes a message, and whether it arrives.
    async fn follow(
        self: Arc<Self>,
        slot: SlotId,
        (task, number): (TaskId, u32),
        mut delivery: watch::Receiver<Delivery>,
        reply: Reply,
    ) {
        let decided = delivery.wait_for(|now| *now != Delivery::Pending).await.map(|now| *now);
        let taken = decided.is_ok_and(|now| now != Delivery::Refused);
        let _ = reply.send(taken);
        let arrived = delivery.wait_for(|now| *now == Delivery::Arrived).await.is_ok();
        if arrived {
            let mut messages = self.messages_of(slot);
            let is = |sent: &Sent| sent.task == task && sent.message.number == number;
            self.report_arrived(slot, &mut messages, is);
        }
    }

    /// Reports the messages that have arrived, once each. Meanwhile the conversation is locked, so that the loop learns
    /// of them before it learns that the session has ended.
    fn report_arrived(&self, slot: SlotId, messages: &mut Messages, which: impl Fn(&Sent) -> bool) {
        let arrived = |sent: &&mut Sent| {
            !sent.reported && *sent.delivery.borrow() == Delivery::Arrived && which(sent)
        };
        for sent in messages.said.iter_mut().filter(arrived) {
            sent.reported = true;
            let (task, message) = (sent.task.clone(), sent.message.clone());
            self.step(&Input::MessageGiven { slot, task, message, live: true });
        }
    }

    /// A session is about to be prepared.
    pub(super) fn prepare_messages(&self, slot: SlotId) {
        let line = Line::Preparing(vec![]);
        *self.messages_of(slot) = Messages { line, ..Messages::default() };
    }

    /// The prompt of the session has these messages about a task.
    pub(super) fn prompted(&self, slot: SlotId, task: &TaskId, messages: Vec<UserMessage>) {
        let messages = messages.into_iter().map(|message| (task.clone(), message));
        self.messages_of(slot).prompted.extend(messages);
    }

    /// The messages about the open tasks of the plan file, where the agent picks one of them.
    pub(super) fn told_in_plan(
        &self,
        slot: &SlotState,
    ) -> Result<Vec<(TaskId, Vec<UserMessage>)>, StoreError> {
        let (mut store, mut told) = (self.store(), vec![]);
        for (_, task) in slot.plan.iter().flat_map(SyncedPlan::open) {
            let log = store.log(&task.id)?;
            if log.iter().any(|entry| entry.kind == LogKind::Message) {
                told.push((task.id.clone(), unread(&log, &store.attempts(&task.id)?)));
            }
        }
        told.retain(|(_, messages)| !messages.is_empty());
        Ok(told)
    }

    /// The loop knows that the session runs: it learns what the prompt has, and the session gets what came meanwhile.
    pub(super) fn open_messages(self: &Arc<Self>, slot: SlotId) {
        let (prompted, line) = {
            let mut messages = self.messages_of(slot);
            let line = std::mem::replace(&mut messages.line, Line::Open);
            (messages.prompted.clone(), line)
        };
        for (task, message) in prompted {
            self.step(&Input::MessageGiven { slot, task, message, live: false });
        }
        if let Line::Preparing(waiting) = line {
            for (task, message, reply) in waiting {
                self.hand_over(slot, task, message, reply);
            }
        }
    }

    /// The session is over, or will not begin. Returns what it got.
    pub(super) fn close_messages(&self, slot: SlotId) -> Got {
        let mut messages = self.messages_of(slot);
        self.report_arrived(slot, &mut messages, |_| true);
        let over = std::mem::take(&mut *messages);
        let said = over.said.into_iter().filter(|sent| sent.reported);
        let said = said.map(|sent| (sent.task, sent.message));
        let mut got = Got::new();
        for (task, message) in over.prompted.into_iter().chain(said) {
            match got.iter_mut().find(|(of, _)| *of == task) {
                Some((_, numbers)) => numbers.push(message.number),
                None => got.push((task, vec![message.number])),
            }
        }
        got
    }

    /// Records what the session of these attempts got. That counts once their ends are recorded, too.
    pub(super) fn record_messages(
        &self,
        slot: &SlotState,
        held: &[TaskBrief],
    ) -> Result<(), Failed> {
        for task in held {
            for (_, numbers) in slot.got.iter().filter(|(of, _)| *of == task.id) {
                let by = slot.actor(task.generation);
                self.store().give(&task.id, &task.attempt, numbers, &by, self.now())?;
            }
        }
        match &slot.task {
            Some(task) => self.hear_of_others(slot.id, &task.id),
            None => Ok(()),
        }
    }

    /// Tells the loop of messages that only the task database has: the command that wrote them was killed, or could not
    /// reach the run. They must have a session before the task ends.
    fn hear_of_others(&self, slot: SlotId, task: &TaskId) -> Result<(), Failed> {
        let waiting = {
            let mut store = self.store();
            let log = store.log(task)?;
            let attempts = match log.iter().any(|entry| entry.kind == LogKind::Message) {
                true => store.attempts(task)?,
                false => return Ok(()),
            };
            let last = attempts.last().map(|attempt| attempt.id.clone());
            let got =
                |message: &Message| last.as_ref().is_some_and(|id| message.given.contains(id));
            let all = messages(&log, &attempts).into_iter();
            all.filter(|message| !message.delivered && !got(message)).collect::<Vec<_>>()
        };
        for Message { message, .. } in waiting {
            let known = self.dispatcher().knows_message(slot, message.number);
            if !known {
                // The session is over: no text reaches it any more.
                self.step(&Input::Control(Control::Tell { task: task.clone(), message }));
            }
        }
        Ok(())
    }
}
