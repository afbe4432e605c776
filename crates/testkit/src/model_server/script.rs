//! What the model will do: a list of turns per session, or a function of the request.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::request::Request;
use super::turn::Turn;

/// The turns of all sessions to come.
///
/// Each session of the agent takes the next list; each of its requests that carries tools takes the
/// next turn of that list. A request beyond the end is answered with an error that says so.
///
/// ```
/// use ralph_testkit::model_server::{Script, Turn};
///
/// let script = Script::new()
///     .session([Turn::text("I am not sure yet.")])
///     .session([Turn::bash("touch new"), Turn::text("<task-done>{id}</task-done>")])
///     .for_ever();
/// ```
#[derive(Clone, Default)]
pub struct Script {
    sessions: Vec<Planned>,
    for_ever: bool,
    function: Option<Arc<Function>>,
    without_tools: bool,
}

type Function = dyn Fn(&Request) -> Turn + Send + Sync;

#[derive(Debug, Clone)]
struct Planned {
    /// Only for sessions about this task.
    task: Option<String>,
    turns: Vec<Turn>,
}

impl Script {
    /// Nothing is planned.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next session does this.
    pub fn session(mut self, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.sessions.push(Planned { task: None, turns: turns.into_iter().collect() });
        self
    }

    /// The next session about this task does this. Goes before sessions about any task.
    pub fn session_for(mut self, task: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        let task = Some(task.to_owned());
        self.sessions.push(Planned { task, turns: turns.into_iter().collect() });
        self
    }

    /// Sessions beyond the planned ones do what the last one did.
    pub fn for_ever(mut self) -> Self {
        self.for_ever = true;
        self
    }

    /// Every request is answered by a function. It must not wait: it holds up all other requests.
    pub fn answering(function: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Self {
        Self { function: Some(Arc::new(function)), ..Self::default() }
    }

    /// The agent gives its model no tools, so requests without them are its turns, too.
    pub fn without_tools(mut self) -> Self {
        self.without_tools = true;
        self
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("sessions", &self.sessions)
            .field("for_ever", &self.for_ever)
            .finish_non_exhaustive()
    }
}

/// A script, and how far it has been played.
#[derive(Debug)]
pub(super) struct Player {
    script: Script,
    taken: Vec<bool>,
    running: HashMap<String, ScriptPosition>,
    beyond: usize,
}

/// Where a session is in its list.
#[derive(Debug, Clone, Copy, Default)]
struct ScriptPosition {
    session: Option<usize>,
    turn: usize,
    answered: usize,
}

impl Player {
    pub(super) fn new(script: Script) -> Self {
        let taken = vec![false; script.sessions.len()];
        Self { script, taken, running: HashMap::new(), beyond: 0 }
    }

    /// Whether a request takes the next step of the script.
    pub(super) fn takes(&self, request: &Request) -> bool {
        request.is_turn() || self.script.without_tools
    }

    /// How many requests came that the script does not know.
    pub(super) fn beyond(&self) -> usize {
        self.beyond
    }

    /// The answer to a request.
    pub(super) fn next(&mut self, request: &Request) -> Turn {
        let task = request.task_id();
        let turn = match &self.script.function {
            Some(function) => Some(function(request)),
            None => self.planned(request, task.as_deref()),
        };
        let turn = turn.unwrap_or_else(|| {
            self.beyond += 1;
            Turn::error(400).saying("the script of the model server is over")
        });
        match &task {
            Some(id) => turn.about(id),
            None => turn,
        }
    }

    fn planned(&mut self, request: &Request, task: Option<&str>) -> Option<Turn> {
        let key = request.session();
        let mut place = match self.running.get(&key) {
            Some(place) => *place,
            None => ScriptPosition { session: self.choose(task), ..ScriptPosition::default() },
        };
        let turns = place.session.map(|session| &self.script.sessions[session].turns[..]);
        let turn = turns.and_then(|turns| {
            let turn = turns.get(place.turn)?;
            place.answered += 1;
            if turn.times.is_some_and(|times| place.answered >= times) {
                place = ScriptPosition { turn: place.turn + 1, answered: 0, ..place };
            }
            Some(turn.clone())
        });
        self.running.insert(key, place);
        turn
    }

    /// The list that a new session takes.
    fn choose(&mut self, task: Option<&str>) -> Option<usize> {
        let planned = &self.script.sessions;
        let free = |wanted: Option<&str>| {
            (0..planned.len()).find(|&i| !self.taken[i] && planned[i].task.as_deref() == wanted)
        };
        let last = |wanted: Option<&str>| {
            (0..planned.len())
                .rfind(|&i| self.script.for_ever && planned[i].task.as_deref() == wanted)
        };
        // A task with a list of its own never takes one that is for any task.
        let own = task.filter(|id| planned.iter().any(|plan| plan.task.as_deref() == Some(id)));
        let chosen = free(own).or_else(|| last(own))?;
        self.taken[chosen] = true;
        Some(chosen)
    }
}
