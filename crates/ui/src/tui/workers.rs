//! The threads around the display: one reads the stream, one asks the board, one reads the terminal, one waits for signals
//! and one for the terminal to go away. All of them report to one channel.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::time::Timestamp;
use ralph_core::view::stream::{EventSource, Next, Observation};
use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::state::{Reply, Request};
use crate::ports::{Answer, Board, Ports};

/// How long the stream thread waits before it asks again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the board is asked whether tasks have changed.
const LOOK: Duration = Duration::from_secs(1);
/// How much of the stream waits for the display at most.
const MOST: usize = 16 * 1024;
/// The part of the time for which the board may read the plan, as its inverse.
const PART: i64 = 5;

/// What the threads report.
#[derive(Debug)]
pub(super) enum Message {
    /// The terminal: a key, the mouse, its size.
    Terminal(Event),
    /// There is something in the inbox.
    Stream,
    Board(Reply),
    /// A signal asks to end.
    Signal,
    /// The terminal is gone.
    Lost,
}

/// What the stream had since the display looked last.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: Mutex<(Vec<Observation>, bool)>,
    taken: Condvar,
}

impl Inbox {
    /// Everything that waits, and whether the stream has ended.
    pub(super) fn take(&self) -> (Vec<Observation>, bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = std::mem::take(&mut waiting.0);
        self.taken.notify_all();
        (seen, waiting.1)
    }

    /// Adds what was seen; whether the display has to be woken. Waits while there is too much.
    fn put(&self, seen: Option<Observation>) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.0.len() >= MOST {
            waiting = self.taken.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let wakes = waiting.0.is_empty();
        match seen {
            Some(seen) => waiting.0.push(seen),
            None => waiting.1 = true,
        }
        wakes || waiting.1
    }
}

/// Reads the stream. Output of agents comes in thousands of pieces each second: only the first of them wakes the display.
pub(super) fn stream(
    mut source: Box<dyn EventSource + Send>,
    inbox: Arc<Inbox>,
    to: Sender<Message>,
) {
    std::thread::spawn(move || {
        loop {
            let (seen, over) = match source.next(PATIENCE) {
                Next::Seen(seen) => (Some(seen), false),
                Next::Quiet => continue,
                Next::Over => (None, true),
            };
            if (inbox.put(seen) && to.send(Message::Stream).is_err()) || over {
                return;
            }
        }
    });
}

/// Reads keys, the mouse and changes of the size.
pub(super) fn terminal(to: Sender<Message>) {
    std::thread::spawn(move || {
        loop {
            let message = match event::read() {
                Ok(event) => Message::Terminal(event),
                Err(_) => Message::Lost,
            };
            let lost = matches!(message, Message::Lost);
            if to.send(message).is_err() || lost {
                return;
            }
        }
    });
}

/// Waits for signals that end the display, and for the end of the terminal: whoever reads keys does not notice it.
pub(super) fn ends(to: Sender<Message>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let other = to.clone();
    std::thread::spawn(move || {
        for signal in &mut signals {
            let message = if signal == SIGHUP { Message::Lost } else { Message::Signal };
            if to.send(message).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let stdin = std::io::stdin();
        // No event is asked for: the end of a terminal is always reported.
        while poll(&mut [PollFd::new(&stdin, PollFlags::empty())], None).is_err() {}
        let _ = other.send(Message::Lost);
    });
    Ok(())
}

/// What the display asks of the board.
#[derive(Debug)]
pub(super) enum Ask {
    Do(Request),
    /// Something has happened that the status page shows.
    Look,
}

/// Asks the board, one thing after the other, and lists the tasks whenever they change.
pub(super) fn board(ports: Arc<dyn Ports>, asked: Receiver<Ask>, to: Sender<Message>) {
    std::thread::spawn(move || {
        let mut reader =
            BoardReader { ports, to, version: None, page: false, rest_until: None, trouble: None };
        let mut board = reader.ports.board();
        let mut wait = Duration::ZERO;
        loop {
            let mut open = true;
            match asked.recv_timeout(wait) {
                Ok(Ask::Do(request)) => open = reader.perform(&mut *board, request),
                Ok(Ask::Look) => reader.page = true,
                Err(RecvTimeoutError::Timeout) => open = reader.look(&mut *board),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if !open {
                return;
            }
            // What was asked for comes first; what several events ask for is read once.
            wait = if reader.page { LOOK / 10 } else { LOOK };
        }
    });
}

struct BoardReader {
    ports: Arc<dyn Ports>,
    to: Sender<Message>,
    version: Option<u64>,
    /// The status page has to be read.
    page: bool,
    /// Reading a large plan takes long: until then it is not read again.
    rest_until: Option<Timestamp>,
    /// What could not be read, so that it is reported once.
    trouble: Option<String>,
}

impl BoardReader {
    fn send(&self, reply: Reply) -> bool {
        self.to.send(Message::Board(reply)).is_ok()
    }

    fn perform(&mut self, board: &mut dyn Board, request: Request) -> bool {
        let reply = match request {
            Request::Quit => return false,
            // The display asks the replay itself.
            Request::Play(_) => return true,
            Request::Perform(action) => {
                self.page = true;
                self.rest_until = None;
                Reply::Done(board.perform(&action))
            }
            Request::Task(task) => {
                let page = board.task(&task);
                Reply::Task(task, page)
            }
            Request::Diff(task) => {
                let diff = board.diff(&task);
                Reply::Diff(task, diff)
            }
        };
        self.send(reply)
    }

    fn look(&mut self, board: &mut dyn Board) -> bool {
        if self.rest_until.is_some_and(|until| self.ports.now() < until) {
            return true;
        }
        let began = self.ports.now();
        let read = self.read(board);
        let now = self.ports.now();
        let took = i64::try_from(now.millis_since(began)).unwrap_or(0);
        self.rest_until = Some(Timestamp::from_millis(now.as_millis() + took * PART));
        match read {
            Ok(open) => open,
            Err(refused) if self.trouble.as_ref() == Some(&refused.message) => true,
            Err(refused) => {
                self.trouble = Some(refused.message.clone());
                self.send(Reply::Trouble(refused))
            }
        }
    }

    fn read(&mut self, board: &mut dyn Board) -> Answer<bool> {
        let version = Some(board.version()?);
        if self.version != version {
            let tasks = board.tasks()?;
            self.version = version;
            self.page = true;
            if !self.send(Reply::Plan(tasks)) {
                return Ok(false);
            }
        }
        if std::mem::take(&mut self.page) {
            let page = board.status()?;
            if !self.send(Reply::Status(Box::new(page))) {
                return Ok(false);
            }
        }
        self.trouble = None;
        Ok(true)
    }
}
