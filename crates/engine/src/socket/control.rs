//! The control socket, for users: controls, and the stream of the run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::run::Control;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::protocol::{ControlLine, ControlReply, PATIENCE, VERSION, other_version};
use super::server::{Connection, NoLine, Server, request, serve};
use super::{SocketDir, SocketError};
use crate::feed::live::{Batch, Live, Watcher};

/// A reader that is stopped at its terminal for this long is disconnected; it may connect again.
const FOLLOWER_PATIENCE: Duration = Duration::from_secs(300);

/// A control as it arrived.
#[derive(Debug)]
pub struct ReceivedControl {
    pub control: Control,
    /// Takes the answer to a message for a session: whether a running one takes it. Dropped, it says no.
    pub reply: oneshot::Sender<bool>,
}

/// The open control socket. It is closed and removed when this is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    server: Option<Server>,
}

impl ControlSocket {
    /// Opens it. Called within a runtime.
    pub fn open(
        place: &SocketDir,
        controls: mpsc::Sender<ReceivedControl>,
        live: Live,
    ) -> Result<Self, SocketError> {
        let path = place.control();
        let server = serve(&path, move |line, connection| {
            answer(line, connection, controls.clone(), live.clone())
        })?;
        Ok(Self { path, server: Some(server) })
    }

    /// Where it is, for `state.toml`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of a run whose feed is closed: readers get the rest of it, if they read it soon.
    pub async fn finish(mut self) {
        if let Some(server) = self.server.take() {
            server.finish(Duration::from_secs(2)).await;
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(
    line: Result<Vec<u8>, NoLine>,
    connection: Connection,
    controls: mpsc::Sender<ReceivedControl>,
    live: Live,
) {
    let reply = match request(line) {
        Err(why) => ControlReply::refused(why),
        Ok(ControlLine { v, .. }) if v != VERSION => ControlReply::refused(other_version(v)),
        Ok(ControlLine { control: Some(control), watch: false, .. }) => {
            pass_on(control, &controls).await
        }
        Ok(ControlLine { control: None, watch: true, .. }) => {
            return follow(connection, live.watch()).await;
        }
        Ok(_) => ControlReply::refused("a request needs either control or watch"),
    };
    connection.answer(&reply).await;
}

async fn pass_on(control: Control, controls: &mpsc::Sender<ReceivedControl>) -> ControlReply {
    let (reply, answer) = oneshot::channel();
    let tells = matches!(control, Control::Tell { .. });
    match controls.send_timeout(ReceivedControl { control, reply }, PATIENCE).await {
        Ok(()) if tells => {
            // A session that is being prepared may take longer: then the answer is still open.
            let answer = tokio::time::timeout(PATIENCE, answer).await.ok();
            let session = answer.map(|answer| answer.unwrap_or(false));
            ControlReply { ok: true, session, ..ControlReply::default() }
        }
        Ok(()) => ControlReply { ok: true, ..ControlReply::default() },
        Err(mpsc::error::SendTimeoutError::Timeout(_)) => {
            ControlReply::refused("the run is busy and did not accept the request")
        }
        Err(mpsc::error::SendTimeoutError::Closed(_)) => {
            ControlReply::refused("the run is ending and accepts no more requests")
        }
    }
}

async fn follow(mut connection: Connection, mut watcher: Watcher) {
    let begins = serde_json::to_vec(&ControlReply { ok: true, ..ControlReply::default() });
    let mut lines = begins.unwrap_or_default();
    lines.push(b'\n');
    let mut nothing = [0_u8; 64];
    loop {
        if !lines.is_empty() {
            let sent = connection.write.write_all(&lines);
            let Ok(Ok(())) = tokio::time::timeout(FOLLOWER_PATIENCE, sent).await else { return };
        }
        let read = tokio::task::spawn_blocking(move || {
            let batch = watcher.batch();
            (batch, watcher)
        });
        let Ok((Ok(batch), back)) = read.await else { break };
        watcher = back;
        lines = match batch {
            Batch::Lines(text) => text.into_bytes(),
            Batch::Over => break,
            Batch::Quiet => {
                tokio::select! {
                    more = watcher.changed() => if !more { break },
                    // The only thing that a reader may still do is disconnect.
                    read = connection.read.read(&mut nothing) => {
                        if matches!(read, Ok(0) | Err(_)) {
                            return;
                        }
                    }
                }
                vec![]
            }
        };
    }
    let _ = connection.write.shutdown().await;
}
