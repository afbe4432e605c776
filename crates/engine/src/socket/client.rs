//! The client side. It blocks and needs no runtime: a task command makes one call and ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::TaskId;
use ralph_core::records::UserMessage;
use ralph_core::run::Control;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::protocol::{
    Call, ControlLine, ControlReply, MAX_LINE, MAX_REPLY, PATIENCE, Reply, VERSION,
};

/// An answer may take as long as the store is locked by others, and then some.
const ANSWER_PATIENCE: Duration = Duration::from_secs(90);

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no run answers at {}", .0.display())]
    NobodyThere(PathBuf),
    #[error("the request has {0} bytes, more than the {MAX_LINE} that a session may send")]
    TooLong(usize),
    #[error("{0}")]
    Refused(String),
    #[error("ralph does not understand the answer: {0}")]
    Nonsense(String),
    #[error("{}: {source}", path.display())]
    Broken { path: PathBuf, source: io::Error },
}

pub fn call(socket: &Path, call: &Call) -> Result<Reply, ClientError> {
    answer(send(socket, call)?, socket)
}

pub fn control(socket: &Path, control: &Control) -> Result<(), ClientError> {
    answered(socket, control).map(drop)
}

/// Hands a message of the user to the run. Returns whether a running session takes it; `None` where that is not known.
pub fn tell(
    socket: &Path,
    task: &TaskId,
    message: &UserMessage,
) -> Result<Option<bool>, ClientError> {
    answered(socket, &Control::Tell { task: task.clone(), message: message.clone() })
}

fn answered(socket: &Path, control: &Control) -> Result<Option<bool>, ClientError> {
    let line = ControlLine { control: Some(control.clone()), ..line() };
    match answer(send(socket, &line)?, socket)? {
        ControlReply { ok: true, session, .. } => Ok(session),
        ControlReply { error, .. } => {
            Err(ClientError::Refused(error.unwrap_or_else(|| "the run refused it".to_owned())))
        }
    }
}

/// Follows a run: after its first answer, which is taken here, a line of JSON for each
/// [`Observed`](ralph_core::view::stream::Observed), until the run ends.
pub fn watch(socket: &Path) -> Result<BufReader<UnixStream>, ClientError> {
    let stream = send(socket, &ControlLine { watch: true, ..line() })?;
    let mut reader = BufReader::new(stream);
    let mut first = Vec::new();
    let read = (&mut reader).take(MAX_REPLY).read_until(b'\n', &mut first);
    read.map_err(broken(socket))?;
    let reply: ControlReply =
        serde_json::from_slice(&first).map_err(|error| ClientError::Nonsense(error.to_string()))?;
    match reply.ok {
        true => Ok(reader),
        false => Err(ClientError::Refused(
            reply.error.unwrap_or_else(|| "the run refused it".to_owned()),
        )),
    }
}

fn line() -> ControlLine {
    ControlLine { v: VERSION, ..ControlLine::default() }
}

fn broken(socket: &Path) -> impl Fn(io::Error) -> ClientError + Copy {
    |source| ClientError::Broken { path: socket.to_owned(), source }
}

fn send(socket: &Path, request: &impl Serialize) -> Result<UnixStream, ClientError> {
    let broken = broken(socket);
    let mut line = serde_json::to_vec(request).map_err(|error| broken(error.into()))?;
    line.push(b'\n');
    if line.len() > MAX_LINE {
        return Err(ClientError::TooLong(line.len()));
    }
    let mut stream = UnixStream::connect(socket).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ClientError::NobodyThere(socket.to_owned())
        }
        _ => broken(source),
    })?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
    stream.set_read_timeout(Some(ANSWER_PATIENCE)).map_err(broken)?;
    stream.write_all(&line).map_err(broken)?;
    Ok(stream)
}

fn answer<T: DeserializeOwned>(stream: UnixStream, socket: &Path) -> Result<T, ClientError> {
    let mut text = Vec::new();
    let read = BufReader::new(stream.take(MAX_REPLY)).read_until(b'\n', &mut text);
    read.map_err(broken(socket))?;
    serde_json::from_slice(&text).map_err(|error| ClientError::Nonsense(error.to_string()))
}
