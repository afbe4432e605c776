//! All runs of a repository on the whole screen, with a key for everything that the user can do. A reader of
//! [`Ports`] and nothing else: it has no logic of its own, and the runs do not notice it.
//!
//! | file | owns |
//! |---|---|
//! | `state` | what the display knows and what is open; pure |
//! | `update` | what keys and the mouse do to the state; pure |
//! | `overlay_keys` | the same while something is open over the screen |
//! | `keys` | which key does what |
//! | `plan` | the list of tasks |
//! | `panes` | the panes, and how they scroll |
//! | `needs` | what waits for the user |
//! | `overlay` | what is open over the screen |
//! | `input` | a line that the user types |
//! | `replay` | where a replay is, and what the user does with it |
//! | `draw` | the state as a picture; pure |
//! | `screen` | writes what differs from what the terminal shows |
//! | `terminal` | takes the terminal and gives it back |
//! | `workers` | the threads that read the stream, the board and the terminal |
//! | `bench` | the display without a terminal, for measuring |

#[cfg(any(test, feature = "bench"))]
#[doc(hidden)]
pub mod bench;
mod draw;
mod input;
mod keys;
mod needs;
mod overlay;
mod overlay_keys;
mod panes;
mod plan;
mod replay;
mod screen;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod update;
mod workers;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ralph_core::view::playback::PlaybackControl;
use ralph_core::view::stream::EventSource;
use ratatui::backend::Backend;
use ratatui::crossterm::event::{Event, KeyEventKind};

use self::replay::Replay;
use self::screen::Screen;
use self::state::{Request, State};
use self::terminal::Taken;
use self::workers::{Ask, Inbox, Message};
use crate::ports::Ports;

/// The least time between two pictures, in milliseconds: output of agents is not drawn more often.
const FRAME_MS: u64 = 66;

/// How often a replay is asked where it is, in milliseconds.
const REPLAY_MS: u64 = 250;

/// How the display ended. The runs go on in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The user quit, or a signal said so, while a run was active.
    Detached,
    /// The same while no run was active.
    Quit,
    /// The terminal is gone.
    Lost,
}

/// Shows a stream until the user quits. The caller has made sure that there is a terminal.
pub fn run(
    ports: &Arc<dyn Ports>,
    source: Box<dyn EventSource + Send>,
    color: bool,
) -> io::Result<Ended> {
    open(ports, source, None, color)
}

/// Shows the stream of a replay, with its control, until the user quits.
pub fn replay(
    ports: &Arc<dyn Ports>,
    source: Box<dyn EventSource + Send>,
    control: Arc<dyn PlaybackControl>,
    color: bool,
) -> io::Result<Ended> {
    open(ports, source, Some(control), color)
}

fn open(
    ports: &Arc<dyn Ports>,
    source: Box<dyn EventSource + Send>,
    control: Option<Arc<dyn PlaybackControl>>,
    color: bool,
) -> io::Result<Ended> {
    let (to, messages) = channel();
    let (ask, asked) = channel();
    let inbox = Arc::new(Inbox::default());
    workers::ends(to.clone())?;
    let (taken, backend) = Taken::take()?;
    let screen = Screen::new(backend)?;
    workers::terminal(to.clone());
    workers::board(Arc::clone(ports), asked, to.clone());
    workers::stream(source, Arc::clone(&inbox), to);
    let mut state = State::new(ports.root(), ports.zone(), ports.now(), color);
    state.replay = control.as_deref().map(Replay::of);
    let mut display =
        Display { state, screen, inbox, ask, control, behind: false, dirty: true, drawn_at: None };
    let ended = display.until_end(&messages, &**ports);
    drop(taken);
    match ended {
        // A terminal that takes no more text is gone.
        Err(_) => Ok(Ended::Lost),
        ended => ended,
    }
}

struct Display<B> {
    state: State,
    screen: Screen<B>,
    inbox: Arc<Inbox>,
    ask: Sender<Ask>,
    /// The replay that is shown.
    control: Option<Arc<dyn PlaybackControl>>,
    /// There is more in the inbox than the picture shows.
    behind: bool,
    /// The picture is not the one of the state.
    dirty: bool,
    drawn_at: Option<i64>,
}

impl<B: Backend> Display<B>
where
    B::Error: Send + Sync + 'static,
{
    fn until_end(&mut self, messages: &Receiver<Message>, ports: &dyn Ports) -> io::Result<Ended> {
        loop {
            let mut next = match messages.recv_timeout(self.patience(ports)) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Lost),
            };
            let mut typed = false;
            while let Some(message) = next {
                typed |= matches!(message, Message::Terminal(_));
                if let Some(ended) = self.take_in(message)? {
                    return Ok(ended);
                }
                next = messages.try_recv().ok();
            }
            self.refresh(ports, typed)?;
        }
    }

    /// How long nothing has to be drawn if nothing happens.
    fn patience(&self, ports: &dyn Ports) -> Duration {
        let now = ports.now().as_millis();
        let passed = self.drawn_at.map_or(u64::MAX, |at| now.abs_diff(at));
        if self.dirty || self.behind {
            return Duration::from_millis(FRAME_MS.saturating_sub(passed));
        }
        match self.state.is_running() {
            _ if self.control.is_some() => Duration::from_millis(REPLAY_MS),
            true => Duration::from_millis(1_000 - now.rem_euclid(1_000).unsigned_abs()),
            false => Duration::from_secs(3_600),
        }
    }

    /// Draws if it is time to; at once after a key.
    fn refresh(&mut self, ports: &dyn Ports, typed: bool) -> io::Result<()> {
        let now = ports.now();
        let due = self.drawn_at.is_none_or(|at| now.as_millis().abs_diff(at) >= FRAME_MS);
        if !due && !typed {
            return Ok(());
        }
        if std::mem::take(&mut self.behind) {
            let (seen, over) = self.inbox.take();
            self.state.over |= over;
            let mut look = false;
            for seen in &seen {
                look |= self.state.seen(seen);
            }
            if look {
                let _ = self.ask.send(Ask::Look);
            }
            self.dirty = true;
        }
        self.dirty |= match &self.control {
            Some(control) => self.state.played(control.position()),
            None => self.state.tick(now),
        };
        if std::mem::take(&mut self.dirty) {
            let state = &self.state;
            self.state.places = self.screen.draw(|buffer| draw::draw(state, buffer))?;
            self.drawn_at = Some(now.as_millis());
        }
        Ok(())
    }

    fn take_in(&mut self, message: Message) -> io::Result<Option<Ended>> {
        match message {
            Message::Stream => {
                self.behind = true;
                return Ok(None);
            }
            Message::Board(reply) => self.state.replied(reply),
            Message::Signal => return Ok(Some(self.left())),
            Message::Lost => return Ok(Some(Ended::Lost)),
            Message::Terminal(event) => {
                if let Some(ended) = self.terminal(event)? {
                    return Ok(Some(ended));
                }
            }
        }
        self.dirty = true;
        Ok(None)
    }

    fn left(&self) -> Ended {
        if self.state.is_running() { Ended::Detached } else { Ended::Quit }
    }

    fn terminal(&mut self, event: Event) -> io::Result<Option<Ended>> {
        let request = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.state.key(&key),
            Event::Mouse(mouse) => self.state.mouse(mouse),
            Event::Paste(text) => {
                self.state.paste(&text);
                None
            }
            Event::Resize(..) => {
                self.screen.renew()?;
                None
            }
            _ => None,
        };
        match request {
            Some(Request::Quit) => Ok(Some(self.left())),
            Some(Request::Play(play)) => {
                if let Some(control) = &self.control {
                    play.ask(&**control);
                    // The next key counts from there.
                    self.state.played(control.position());
                }
                Ok(None)
            }
            Some(request) => {
                let _ = self.ask.send(Ask::Do(request));
                Ok(None)
            }
            None => Ok(None),
        }
    }
}
