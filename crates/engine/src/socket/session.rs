//! The socket of one session: which session it belongs to, and what the agent asked for.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_core::plan::Proposals;
use ralph_core::run::{Request, RequestedOutcome};
use ralph_core::task::Generation;
use ralph_core::{AgentId, FeatureName, TaskId};
use tokio::sync::Notify;

use super::protocol::{Call, Reply, VERSION, other_version};
use super::server::{Connection, NoLine, Server, request, serve};
use super::{SocketDir, SocketError};
use crate::quota::{NOTES, NOTES_TEXT};

/// The most bytes that are kept of each note.
const MAX_NOTE: usize = 4_000;

/// Answers the calls from inside a session.
///
/// # Contract
/// - The session identity decides who calls, whatever the call says.
/// - `done`, `fail` and `ask` are recorded in the session's requests and change nothing by themselves.
/// - It may be called from many threads at once, and may block.
pub trait SessionRequestHandler: Send + Sync {
    /// Carries out a call, or says why not.
    fn answer(&self, identity: &SessionIdentity, call: &Call) -> Reply;
}

#[derive(Debug, Clone)]
pub struct SessionIdentity {
    /// The id that its claims are made under.
    pub agent: AgentId,
    /// The task and the claim on it, where the loop chose.
    pub task: Option<(TaskId, Generation)>,
    /// The agent chooses, and claims by itself.
    pub may_claim: bool,
    /// The plan file that it works through, where the agent ticks the tasks it chose: tasks with this reference
    /// may be reported done without a claim.
    pub plan: Option<String>,
    pub requests: Requests,
    /// What it may add to the plan; `None`: nothing.
    pub adds: Option<Adds>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adds {
    /// The feature that all of it belongs to, where the run is for one.
    pub feature: Option<FeatureName>,
}

impl Adds {
    /// The most tasks that a session may add.
    pub const MOST: usize = 10;
}

/// What a session asked for, one request a task: a later one takes the place of an earlier one.
#[derive(Debug, Clone, Default)]
pub struct Requests(Arc<Mutex<Ledger>>, Arc<Notify>);

#[derive(Debug, Default)]
struct Ledger {
    requests: Vec<Request>,
    notes: Vec<String>,
    /// How long the notes were, before they were cut.
    noted: usize,
    proposals: Option<Proposals>,
    added: Vec<TaskId>,
    closed: bool,
}

/// The session has ended: nothing is recorded any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended; ralph records nothing more")]
pub struct Closed;

impl Requests {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests of a session that may propose tasks for a feature.
    pub fn proposing(feature: FeatureName) -> Self {
        let ledger = Ledger { proposals: Some(Proposals::new(feature)), ..Ledger::default() };
        Self(Arc::new(Mutex::new(ledger)), Arc::default())
    }

    pub fn proposals(&self) -> Option<Proposals> {
        self.ledger().proposals.clone()
    }

    /// Changes what the session proposes, unless `change` refuses; one change at a time, so that each
    /// is checked against all before it. `None` where the session may not propose.
    pub fn propose<T, E: From<Closed>>(
        &self,
        change: impl FnOnce(&mut Proposals) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let mut ledger = self.ledger();
        let mut next = ledger.proposals.clone()?;
        if ledger.closed {
            return Some(Err(Closed.into()));
        }
        let done = change(&mut next);
        if done.is_ok() {
            ledger.proposals = Some(next);
        }
        Some(done)
    }

    /// Adds a task to the plan by `add`, one at a time. `None` where the session has added enough.
    pub fn add<E: From<Closed>>(
        &self,
        add: impl FnOnce() -> Result<TaskId, E>,
    ) -> Option<Result<TaskId, E>> {
        let mut ledger = self.ledger();
        if ledger.closed {
            return Some(Err(Closed.into()));
        }
        if ledger.added.len() >= Adds::MOST {
            return None;
        }
        let added = add();
        ledger.added.extend(added.as_ref().ok().cloned());
        Some(added)
    }

    pub fn added(&self) -> Vec<TaskId> {
        self.ledger().added.clone()
    }

    /// Records a request and returns the one that it replaces.
    pub fn record(&self, request: Request) -> Result<Option<RequestedOutcome>, Closed> {
        let mut ledger = self.ledger();
        if ledger.closed {
            return Err(Closed);
        }
        let known = ledger.requests.iter_mut().find(|known| known.task == request.task);
        Ok(match known {
            Some(known) => Some(std::mem::replace(&mut known.outcome, request.outcome)),
            None => {
                ledger.requests.push(request);
                None
            }
        })
    }

    /// Records a request unless there is one for its task, and says whether it did.
    pub fn record_if_none(&self, request: Request) -> Result<bool, Closed> {
        let mut ledger = self.ledger();
        if ledger.closed {
            return Err(Closed);
        }
        let none = !ledger.requests.iter().any(|known| known.task == request.task);
        if none {
            ledger.requests.push(request);
        }
        Ok(none)
    }

    /// The session cannot do anything useful any more: end it.
    pub fn end_session(&self) {
        self.1.notify_one();
    }

    pub async fn session_to_end(&self) {
        self.1.notified().await;
    }

    /// Whether the session may write one more note: task logs go into prompts, and have no limit of their own.
    pub fn may_note(&self) -> bool {
        let ledger = self.ledger();
        ledger.notes.len() < NOTES && ledger.noted < NOTES_TEXT
    }

    pub fn note(&self, text: &str) {
        let mut ledger = self.ledger();
        ledger.noted = ledger.noted.saturating_add(text.len());
        if !ledger.closed && ledger.notes.len() < NOTES {
            ledger.notes.push(text[..text.floor_char_boundary(MAX_NOTE)].to_owned());
        }
    }

    pub fn of(&self, task: &TaskId) -> Option<RequestedOutcome> {
        let ledger = self.ledger();
        ledger.requests.iter().find(|known| known.task == *task).map(|known| known.outcome.clone())
    }

    /// Ends the recording, and returns the requests and the notes.
    pub fn close(&self) -> (Vec<Request>, Vec<String>) {
        let mut ledger = self.ledger();
        ledger.closed = true;
        (std::mem::take(&mut ledger.requests), std::mem::take(&mut ledger.notes))
    }
}

/// An open socket of a session. It is closed, and its folder removed, when this is dropped.
///
/// The folder holds the socket and the task script and nothing else, so that a sandbox can show it. It may
/// be shown read-only.
#[derive(Debug)]
pub struct SessionSocket {
    folder: PathBuf,
    path: PathBuf,
    script: PathBuf,
    identity: Arc<SessionIdentity>,
    /// Dropped with this, which ends it.
    _server: Server,
}

impl SessionSocket {
    /// Opens the socket of the session with this number, which is new in its run. `ralph` is where the
    /// session finds the program. Called within a runtime.
    pub fn open(
        place: &SocketDir,
        number: u32,
        identity: SessionIdentity,
        handler: Arc<dyn SessionRequestHandler>,
        ralph: &Path,
    ) -> Result<Self, SocketError> {
        let folder = place.session(number);
        DirBuilder::new().mode(0o700).create(&folder).map_err(SocketError::at(&folder))?;
        let script = folder.join("task");
        write_script(&script, ralph).map_err(SocketError::at(&script))?;
        let path = folder.join("socket");
        let identity = Arc::new(identity);
        let handler = (Arc::clone(&identity), handler);
        let server = serve(&path, move |line, connection| {
            let (identity, handler) = handler.clone();
            answer(line, connection, identity, handler)
        })?;
        Ok(Self { folder, path, script, identity, _server: server })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that a sandbox must show; it contains nothing else.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One executable path that behaves like `ralph task`.
    pub fn script(&self) -> &Path {
        &self.script
    }

    pub fn identity(&self) -> &SessionIdentity {
        &self.identity
    }

    pub fn requests(&self) -> &Requests {
        &self.identity.requests
    }

    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = vec![
            ("RALPH_AGENT_ID".into(), self.identity.agent.as_str().into()),
            ("RALPH_SOCKET".into(), self.path.clone().into()),
            ("RALPH_TASK_SCRIPT".into(), self.script.clone().into()),
        ];
        if let Some((task, _)) = &self.identity.task {
            all.push(("RALPH_TASK_ID".into(), task.as_str().into()));
        }
        all
    }
}

impl Drop for SessionSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(&self.script);
        if std::fs::remove_dir(&self.folder).is_err() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

async fn answer(
    line: Result<Vec<u8>, NoLine>,
    connection: Connection,
    identity: Arc<SessionIdentity>,
    handler: Arc<dyn SessionRequestHandler>,
) {
    let reply = match request::<Call>(line) {
        Ok(call) if call.v != VERSION => Reply::failed(other_version(call.v)),
        Ok(call) => tokio::task::spawn_blocking(move || handler.answer(&identity, &call))
            .await
            .unwrap_or_else(|_| Reply::failed("the loop could not do this")),
        Err(why) => Reply::failed(why),
    };
    connection.answer(&reply).await;
}

fn write_script(path: &Path, ralph: &Path) -> io::Result<()> {
    let ralph = shlex::bytes::try_quote(ralph.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let text = [b"#!/bin/sh\nexec ", &*ralph, b" task \"$@\"\n"].concat();
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o700).open(path)?;
    file.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_may_write_so_many_notes_and_so_much_text() {
        let requests = Requests::default();
        for _ in 0..NOTES {
            assert!(requests.may_note());
            requests.note("short");
        }
        assert!(!requests.may_note());
        let requests = Requests::default();
        requests.note(&"x".repeat(NOTES_TEXT - 1));
        assert!(requests.may_note());
        requests.note("xx");
        assert!(!requests.may_note());
    }
}
