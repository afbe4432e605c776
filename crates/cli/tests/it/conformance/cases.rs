//! What can happen in a session, and how it ends with each agent.

use ralph_core::run::Class::{self, *};
use ralph_testkit::model_server::Turn;

/// One thing that happens.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What the model does.
    pub(super) turns: fn() -> Vec<Turn>,
    /// How the first attempt ends, by agent.
    pub(super) ends: [Class; 8],
    /// After how many seconds of silence ralph ends the session, where an agent falls silent in it.
    pub(super) silence: Option<u32>,
    /// What happens to the run while a command of the session runs.
    pub(super) interruption: Option<Interruption>,
    /// The agent prints something that ralph does not know.
    pub(super) stray_line: bool,
}

/// A signal, so many times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interruption {
    pub(super) signal: &'static str,
    pub(super) times: u32,
}

impl Case {
    const fn new(name: &'static str, turns: fn() -> Vec<Turn>, ends: [Class; 8]) -> Self {
        Self { name, turns, ends, silence: None, interruption: None, stray_line: false }
    }

    const fn silence(self, seconds: u32) -> Self {
        Self { silence: Some(seconds), ..self }
    }
}

/// The same end with each agent.
const fn all(class: Class) -> [Class; 8] {
    [class; 8]
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case::new("success", works, all(Done)),
    Case::new("failure-signal", || vec![Turn::text("<task-failed>{id}</task-failed> <reason>it is not possible</reason>")], all(TaskFailed)),
    Case::new("no-signal", || vec![Turn::text("I looked around.")], all(NoSignal)),
    Case::new("tool-error", || [vec![Turn::bash("cat nope.txt; exit 3")], works()].concat(), all(Done)),
    //                                                        claude       codex        gemini       opencode     claude-acp   codex-acp    gemini-acp   opencode-acp
    // By the protocol, opencode names no status, the adapter of Claude Code calls a 403 a missing login, and none says when
    // a limit resets.
    Case::new("400", || vec![Turn::error(400).for_ever()],   [Rejected,    Rejected,    Rejected,    Rejected,    Crash,       Rejected,    Rejected,    Crash]),
    Case::new("401", || vec![Turn::error(401).for_ever()],   [Auth,        Auth,        Auth,        Auth,        Auth,        Auth,        Auth,        Crash]),
    Case::new("403", || vec![Turn::error(403).for_ever()],   [Forbidden,   Forbidden,   Forbidden,   Forbidden,   Auth,        Forbidden,   Forbidden,   Crash]),
    Case::new("429", || vec![Turn::error(429).for_ever()],   [RateLimit,   RateLimit,   RateLimit,   RateLimit,   RateLimit,   RateLimit,   RateLimit,   Crash]).silence(200),
    Case::new("429-reset", || vec![Turn::error(429).retry_after(3600).for_ever()],
                                                             [UsageWindow, UsageWindow, UsageWindow, Silence,     RateLimit,   Silence,     RateLimit,   Silence]).silence(45),
    Case::new("500", || vec![Turn::error(500).for_ever()],   [Overload,    Overload,    Overload,    Overload,    Overload,    Overload,    Overload,    Crash]).silence(200),
    Case::new("cut", || vec![Turn::text("Half a sentence").then_cut().for_ever()],
                                                             [Network,     Network,     Network,     Network,     Overload,    Network,     Overload,    Crash]),
    Case::new("hang", || vec![Turn::text("Half a sentence").then_hang().for_ever()], all(Silence)).silence(45),
    Case { interruption: Some(Interruption { signal: "INT", times: 2 }), ..Case::new("interrupt", stays, all(Cancelled)) },
    Case { interruption: Some(Interruption { signal: "TERM", times: 1 }), ..Case::new("terminate", stays, all(Cancelled)) },
    Case::new("leftover", || [vec![Turn::bash(LEFTOVERS)], works()].concat(), all(Done)),
    Case::new("huge-output", || [vec![Turn::bash("head -c 1000000 /dev/zero | tr '\\0' x")], huge()].concat(), all(Done)),
    Case { stray_line: true, ..Case::new("unknown-event", works, all(Done)) },
];

fn works() -> Vec<Turn> {
    vec![Turn::bash("echo hello > hello.txt"), Turn::text("Done. <task-done>{id}</task-done>")]
}

/// The same with a last message of fifty kilobytes. Gemini CLI interrupts a model that repeats itself, and ends before it
/// has printed a message of a megabyte.
fn huge() -> Vec<Turn> {
    let long: String = (0..9_000).map(|number| format!("{number} ")).collect();
    vec![
        Turn::bash("echo hello > hello.txt"),
        Turn::text(format!("{long}\n\n<task-done>{{id}}</task-done>")),
    ]
}

/// A command that leaves work behind, says that it runs, and stays.
fn stays() -> Vec<Turn> {
    vec![Turn::bash("echo half > hello.txt; echo $$ > ../notes/pid; sleep 300; true")]
}

/// One process in the background of the shell, and one that has left its group.
const LEFTOVERS: &str = "nohup sleep 300 >/dev/null 2>&1 </dev/null & \
                         setsid sh -c 'exec sleep 300' </dev/null >/dev/null 2>&1 &";

/// Prints an event that no agent prints, then becomes the agent.
pub(super) const STRAY_EVENT: &str = r#"[[ "$*" == *--version* ]] || echo '{"type":"made_up","detail":{"x":1}}'
exec $AGENT "$@""#;
/// The same, as a message of the protocol.
pub(super) const STRAY_MESSAGE: &str = r#"[[ "$*" == *--version* ]] || echo '{"jsonrpc":"2.0","method":"made/up","params":{"x":1}}'
exec $AGENT "$@""#;
