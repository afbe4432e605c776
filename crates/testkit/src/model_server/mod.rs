//! A model that does what a script says: a server on 127.0.0.1 that speaks the APIs of Anthropic,
//! OpenAI and Gemini as Claude Code, Codex, opencode and Gemini CLI use them. One script plays for all.
//!
//! A request that carries tools is a turn and takes the next step of the [`Script`]; one without
//! (titles and the like) and one for a summary get a fixed answer. Everything that came in is kept for the test to read.

pub(crate) mod http;
mod protocol;
mod request;
mod script;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_protocols;
mod turn;

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use serde_json::{Value, json};

pub use self::request::Request;
pub use self::script::Script;
pub use self::turn::{Stop, Turn, Usage};

use self::http::Answer;
use self::protocol::{Label, Protocol};
use self::script::Player;
use self::turn::{Act, Ending, HttpError, Message};

/// A running server. Ends with its value, and ends every connection with it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    player: Mutex<Player>,
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
    connections: Mutex<HashMap<usize, TcpStream>>,
    stopping: AtomicBool,
    messages: AtomicUsize,
    since: Stopwatch,
}

impl ModelServer {
    /// Starts to play a script on a free port.
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            player: Mutex::new(Player::new(script)),
            requests: Mutex::default(),
            arrived: Condvar::new(),
            connections: Mutex::default(),
            stopping: AtomicBool::new(false),
            messages: AtomicUsize::new(0),
            since: Stopwatch::start(),
        });
        let serving = Arc::clone(&shared);
        let listener = std::thread::spawn(move || serving.accept(&listener));
        Self { address, shared, listener: Some(listener) }
    }

    /// Where it listens: the value of `ANTHROPIC_BASE_URL` or `GOOGLE_GEMINI_BASE_URL`. OpenAI's APIs are below `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Goes on with another script, from its beginning.
    pub fn play(&self, script: Script) {
        *lock(&self.shared.player) = Player::new(script);
    }

    /// All that has been asked, in the order in which it came.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// The turns among them.
    pub fn turns(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_turn).collect()
    }

    /// The turns of each session, sessions in the order in which they began.
    pub fn sessions(&self) -> Vec<Vec<Request>> {
        let mut sessions: Vec<Vec<Request>> = vec![];
        for turn in self.turns() {
            match sessions.iter_mut().find(|known| known[0].session() == turn.session()) {
                Some(known) => known.push(turn),
                None => sessions.push(vec![turn]),
            }
        }
        sessions
    }

    /// How many turns were asked for that the script does not have.
    pub fn unscripted(&self) -> usize {
        lock(&self.shared.player).beyond()
    }

    /// Waits until so many requests have come.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, at_most: Duration) {
        let requests = lock(&self.shared.requests);
        let (requests, _) = self
            .shared
            .arrived
            .wait_timeout_while(requests, at_most, |requests| requests.len() < count)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let came = requests.len();
        assert!(came >= count, "{came} of {count} requests came in {at_most:?}");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for connection in lock(&self.shared.connections).values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // The listener wakes up and sees that it is over.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn accept(&self, listener: &TcpListener) {
        std::thread::scope(|scope| {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { continue };
                if let Ok(other) = stream.try_clone() {
                    lock(&self.connections).insert(number, other);
                }
                // After the insert: a connection is either seen by `drop` or turned away here.
                if self.stopping.load(Ordering::SeqCst) {
                    let _ = stream.shutdown(Shutdown::Both);
                    break;
                }
                scope.spawn(move || {
                    // An error is a client that left, or a cut that the script wanted.
                    let _ = self.serve(&stream);
                    let _ = stream.shutdown(Shutdown::Both);
                    lock(&self.connections).remove(&number);
                });
            }
        });
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(head) = http::read(&mut reader)? {
            let request = Request {
                method: head.method,
                path: head.path,
                headers: head.headers,
                body: serde_json::from_slice(&head.body).unwrap_or_default(),
                at: self.since.elapsed(),
            };
            let reaction = self.reaction(&request);
            lock(&self.requests).push(request.clone());
            self.arrived.notify_all();
            self.answer(&request, reaction, &mut Answer(stream))?;
        }
        Ok(())
    }

    fn reaction(&self, request: &Request) -> Reaction {
        if request.method != "POST" || request.protocol().is_none() {
            Reaction::Turn(Turn::error(404).saying("the model server has no such page"))
        } else if request.is_count() {
            let messages = [&request.body["messages"], &request.body["contents"]];
            let tokens = messages.map(|list| list.to_string().len()).into_iter().max();
            let tokens = tokens.unwrap_or_default() / 4;
            Reaction::Json(json!({ "input_tokens": tokens, "totalTokens": tokens }))
        } else if let Some(turn) = self.turn(request) {
            Reaction::Turn(turn)
        } else if request.is_compaction() {
            Reaction::Turn(Turn::text("<summary>What was said, in short.</summary>"))
        } else {
            Reaction::Turn(Turn::text("Scripted"))
        }
    }

    fn turn(&self, request: &Request) -> Option<Turn> {
        let mut player = lock(&self.player);
        player.takes(request).then(|| player.next(request))
    }

    fn answer(&self, request: &Request, reaction: Reaction, to: &mut Answer<'_>) -> io::Result<()> {
        let turn = match reaction {
            Reaction::Json(value) => return to.json(200, &[], &value),
            Reaction::Turn(turn) => turn,
        };
        to.wait(Some(turn.delay))?;
        // A page that does not exist fails as Anthropic's do.
        let protocol = request.protocol().unwrap_or_else(protocol::default);
        match turn.act {
            Act::Reset => to.cut(),
            Act::Silent => to.wait(None),
            Act::Fail(error) => to.json(error.status, &error.headers, &protocol.failure(&error)),
            Act::Say(message, ending) => {
                let number = self.messages.fetch_add(1, Ordering::Relaxed);
                let label = Label { number, model: request.model() };
                let message = protocol::resolve(protocol, request, message);
                if request.wants_stream() {
                    stream(protocol, &label, &message, &ending, turn.pace, to)
                } else {
                    say(protocol, &label, &message, &ending, to)
                }
            }
        }
    }
}

enum Reaction {
    Turn(Turn),
    Json(Value),
}

/// A message in events.
fn stream(
    protocol: &dyn Protocol,
    label: &Label<'_>,
    message: &Message,
    ending: &Ending,
    pace: Duration,
    to: &mut Answer<'_>,
) -> io::Result<()> {
    let mut stream = protocol.stream(label, message);
    if !matches!(ending, Ending::Whole) {
        // The last block stays open.
        stream.frames.truncate(stream.frames.len().saturating_sub(stream.closing));
    }
    to.stream()?;
    for frame in &stream.frames {
        to.chunk(frame)?;
        to.wait(Some(pace))?;
    }
    match ending {
        Ending::Whole => {
            for frame in &stream.end {
                to.chunk(frame)?;
            }
            to.chunk("")
        }
        Ending::Cut => to.cut(),
        Ending::Hang => to.wait(None),
        Ending::Error(kind) => {
            to.chunk(&protocol.error_event(kind))?;
            to.chunk("")
        }
    }
}

/// A message in one piece.
fn say(
    protocol: &dyn Protocol,
    label: &Label<'_>,
    message: &Message,
    ending: &Ending,
    to: &mut Answer<'_>,
) -> io::Result<()> {
    let whole = protocol.whole(label, message);
    match ending {
        Ending::Whole => to.json(200, &[], &whole),
        Ending::Cut => {
            to.half(&whole)?;
            to.cut()
        }
        Ending::Hang => {
            to.half(&whole)?;
            to.wait(None)
        }
        Ending::Error(kind) => {
            let error = HttpError {
                status: 529,
                kind: kind.clone(),
                message: "told by the script".to_owned(),
                headers: vec![],
            };
            to.json(error.status, &error.headers, &protocol.failure(&error))
        }
    }
}

/// A panic of one connection must not hide what another has seen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
