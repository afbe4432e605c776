//! Answers that are those of commands: the status, runs, reports, a task, and what the user does. Each is asked for on a
//! thread that may wait; what several viewers ask for at once is read once.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use ralph_core::ids::RunId;
use ralph_core::view::RunView;
use ralph_core::view::live::{Entry, LiveView};
use ralph_core::view::stream::{EventSource, Next};
use ralph_ui::ports::{Answer as Answered, Board, Ports, Refused, UserAction};
use serde::Serialize;
use tokio::sync::{Mutex, Semaphore, oneshot};
use tokio::time::Instant;

use crate::answer::{self, Answer, because};

/// How long an answer serves all viewers that ask for the same.
const SAME: Duration = Duration::from_millis(300);
/// How many answers are made at a time.
const AT_ONCE: usize = 4;
/// Where an answer ended its thread.
const BROKEN: &str = "ralph failed while it answered";
/// How long the next event of a run takes to come that has already happened.
const NEXT: Duration = Duration::from_millis(50);
/// How long a run may take to read, in milliseconds.
const LONGEST_MS: u64 = 20_000;

/// Pages that all viewers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    Status,
    Runs,
    Report,
}

impl Page {
    fn read(self, board: &mut dyn Board) -> Answered<Bytes> {
        match self {
            Self::Status => board.status().map(|page| answer::bytes(&page)),
            Self::Runs => board.runs().map(|runs| answer::bytes(&runs)),
            Self::Report => board.report().map(|report| answer::bytes(&report)),
        }
    }
}

/// The thread of a page. It keeps its board, which remembers what it has read.
struct Reader {
    page: Page,
    asked: mpsc::Sender<oneshot::Sender<Answered<Bytes>>>,
    last: Mutex<Option<(Instant, Bytes)>>,
}

impl Reader {
    fn new(page: Page, ports: Arc<dyn Ports>) -> Self {
        let (asked, questions) = mpsc::channel::<oneshot::Sender<Answered<Bytes>>>();
        std::thread::spawn(move || {
            let mut board = None;
            for to in questions {
                let read = page.read(&mut **board.get_or_insert_with(|| ports.board()));
                let _ = to.send(read);
            }
        });
        Self { page, asked, last: Mutex::default() }
    }

    /// Whoever comes while it is being made waits for it.
    async fn answer(&self) -> Answer {
        let mut last = self.last.lock().await;
        if let Some((made, bytes)) = &*last
            && made.elapsed() < SAME
        {
            return answer::json(bytes.clone());
        }
        let (to, made) = oneshot::channel();
        let _ = self.asked.send(to);
        match made.await.unwrap_or_else(|_| Err(because(BROKEN))) {
            Ok(bytes) => {
                *last = Some((Instant::now(), bytes.clone()));
                answer::json(bytes)
            }
            Err(refused) => failed(&refused),
        }
    }
}

pub(crate) struct Boards {
    ports: Arc<dyn Ports>,
    turns: Semaphore,
    readers: [Reader; 3],
}

impl Boards {
    pub(crate) fn new(ports: Arc<dyn Ports>) -> Self {
        let reader = |page| Reader::new(page, ports.clone());
        let readers = [Page::Status, Page::Runs, Page::Report].map(reader);
        Self { ports, turns: Semaphore::new(AT_ONCE), readers }
    }

    /// Asks on a thread that may wait.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Ports) -> Answered<T> + Send + 'static,
    ) -> Answered<T> {
        let turn = self.turns.acquire().await;
        let ports = self.ports.clone();
        let answered = tokio::task::spawn_blocking(move || ask(&*ports)).await;
        drop(turn);
        answered.unwrap_or_else(|_| Err(because(BROKEN)))
    }

    /// A page that is the same for all viewers.
    pub(crate) async fn page(&self, page: Page) -> Answer {
        match self.readers.iter().find(|reader| reader.page == page) {
            Some(reader) => reader.answer().await,
            None => failed(&because(BROKEN)),
        }
    }

    /// Does what the user asks.
    pub(crate) async fn perform(&self, action: UserAction) -> Answer {
        #[derive(Serialize)]
        struct Message {
            message: String,
        }
        let performed = self.ask(move |ports| ports.board().perform(&action)).await;
        for reader in &self.readers {
            *reader.last.lock().await = None;
        }
        match performed {
            Ok(message) => answer::json(answer::bytes(&Message { message })),
            Err(refused) if refused.missing => failed(&refused),
            Err(refused) => answer::refused(StatusCode::CONFLICT, &refused),
        }
    }
}

/// The answer where something cannot be shown.
pub(crate) fn failed(refused: &Refused) -> Answer {
    let status =
        if refused.missing { StatusCode::NOT_FOUND } else { StatusCode::INTERNAL_SERVER_ERROR };
    answer::refused(status, refused)
}

#[derive(Serialize)]
struct RunJson<'a> {
    view: &'a RunView,
    transcripts: Vec<TranscriptJson<'a>>,
}

#[derive(Serialize)]
struct TranscriptJson<'a> {
    slot: usize,
    entries: Vec<&'a Entry>,
}

/// A run as it is now, with what its agents said last.
pub(crate) fn run(ports: &dyn Ports, run: &RunId) -> Answered<Bytes> {
    let mut source = ports.run(run)?;
    let mut live = LiveView::default();
    let began = ports.now();
    while ports.now().millis_since(began) < LONGEST_MS {
        match source.next(NEXT) {
            Next::Seen(seen) => live.apply(&seen),
            Next::Quiet | Next::Over => break,
        }
    }
    let is_it = |view: &RunView| view.run.as_ref() == Some(run);
    let found = live.runs.iter().find(|one| is_it(&one.view)).or(live.runs.first());
    let Some(found) = found else {
        return Err(Refused {
            missing: true,
            ..because(&format!("nothing is kept of the run {run}"))
        });
    };
    let entries = found.transcripts.iter().map(|transcript| transcript.entries.iter().collect());
    let transcripts =
        entries.enumerate().map(|(slot, entries)| TranscriptJson { slot, entries }).collect();
    Ok(answer::bytes(&RunJson { view: &found.view, transcripts }))
}
