//! The control socket, for users: controls, and the feed of the events of the run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::run::Control;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::protocol::{ControlLine, ControlReply, PATIENCE, VERSION, other_version};
use super::server::{Connection, NoLine, Server, request, serve};
use super::{SocketDir, SocketError};
use crate::feed::Feed;

/// A reader that is stopped at its terminal for this long is disconnected; it can reconnect by event number.
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
        feed: Feed,
    ) -> Result<Self, SocketError> {
        let path = place.control();
        let server = serve(&path, move |line, connection| {
            answer(line, connection, controls.clone(), feed.clone())
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
    feed: Feed,
) {
    let reply = match request(line) {
        Err(why) => ControlReply::refused(why),
        Ok(ControlLine { v, .. }) if v != VERSION => ControlReply::refused(other_version(v)),
        Ok(ControlLine { control: Some(control), feed: None, .. }) => {
            pass_on(control, &controls).await
        }
        Ok(ControlLine { control: None, feed: Some(from), .. }) => {
            return follow(connection, feed, from).await;
        }
        Ok(_) => ControlReply::refused("a request needs either control or feed"),
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

async fn follow(mut connection: Connection, feed: Feed, from: u64) {
    let mut lines = feed.since(from);
    // The reader must not keep the feed open.
    drop(feed);
    let mut nothing = [0_u8; 64];
    loop {
        let batch = tokio::select! {
            batch = lines.next() => batch,
            // The only thing that a reader may still do is disconnect.
            read = connection.read.read(&mut nothing) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            },
        };
        let Ok(Some(batch)) = batch else { break };
        let sent = connection.write.write_all(batch.as_bytes());
        match tokio::time::timeout(FOLLOWER_PATIENCE, sent).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
    let _ = connection.write.shutdown().await;
}
