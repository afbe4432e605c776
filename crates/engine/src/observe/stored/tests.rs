//! A journal with raw logs beside it, as a stream.

use std::path::PathBuf;

use ralph_core::agent::{EndClass, ProcessEnd, SessionEnd};
use ralph_core::ids::RunId;
use ralph_core::run::{Policy, SessionReport};

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A journal of these facts, each with its time.
fn journal(facts: Vec<(i64, Fact)>) -> Arc<[RunEvent]> {
    let run = RunId::new("r-1").unwrap();
    let numbered = facts.into_iter().zip(1..);
    numbered
        .map(|((time, fact), seq)| RunEvent { v: 1, run: run.clone(), seq, at: at(time), fact })
        .collect()
}

fn started(agent: &str) -> Fact {
    Fact::RunStarted {
        policy: Box::new(Policy::default()),
        ralph: String::new(),
        agent: agent.to_owned(),
        agent_ids: vec![],
        target: String::new(),
        gates: vec![],
        level: String::new(),
        head: None,
        branch: None,
        settled_tree: String::new(),
        resumed: None,
        earlier: Default::default(),
    }
}

fn iteration(slot: SlotId, iteration: u32) -> Fact {
    Fact::IterationStarted {
        slot,
        iteration,
        task: None,
        offered: 0,
        about: None,
        retry: 0,
        model: None,
        agent: None,
        overridden: None,
        raised: None,
        models: Default::default(),
    }
}

fn session(slot: SlotId, log: &Path) -> Fact {
    Fact::SessionStarted { slot, log: log.display().to_string() }
}

fn ended(slot: SlotId) -> Fact {
    let report = SessionReport {
        end: SessionEnd::of(EndClass::Completed, ""),
        process: ProcessEnd::Exited { code: 0 },
        signals: Default::default(),
        requests: vec![],
        held: vec![],
        notes: vec![],
        duration_ms: 0,
        leftovers: 0,
    };
    Fact::SessionEnded { slot, report }
}

/// The whole stream in short: facts by their kind, agents by slot, time and text.
fn shown(journal: Arc<[RunEvent]>, part: Part) -> Vec<String> {
    let mut source = StoredSource::new(journal, part);
    let mut all = vec![];
    while let Next::Seen(seen) = source.next(Duration::ZERO) {
        all.push(match seen.what {
            Observed::Fact { event } => {
                serde_json::to_value(&event).unwrap()["kind"].as_str().unwrap().to_owned()
            }
            Observed::Agent { slot, at, event: AgentEvent::Text { text } } => {
                format!("{slot} at {}: {text}", at.as_millis())
            }
            other => format!("{other:?}").split(' ').next().unwrap().to_owned(),
        });
    }
    assert_eq!(source.next(Duration::ZERO), Next::Over);
    all
}

/// Raw output of an agent by config: lines of text.
fn log(folder: &Path, name: &str, lines: &[&str]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    path
}

#[test]
fn output_is_spread_evenly_between_the_facts_of_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), "iteration-001.ndjson", &["one", "two", "three"]);
    let facts = vec![
        (0, started("mine")),
        (0, iteration(0, 1)),
        (1_000, session(0, &log)),
        (2_500, Fact::Publishing),
        (5_000, ended(0)),
    ];
    let expected = [
        "Joined",
        "run_started",
        "iteration_started",
        "session_started",
        "0 at 2000: one\n",
        "publishing",
        "0 at 3000: two\n",
        "0 at 4000: three\n",
        "session_ended",
        "Left",
    ];
    assert_eq!(shown(journal(facts), Part::Whole), expected);
}

#[test]
fn sessions_side_by_side_are_interleaved_and_each_ends_before_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let first = log(folder.path(), "iteration-001.ndjson", &["a", "b"]);
    let second = log(folder.path(), "iteration-002.ndjson", &["c", "d"]);
    let facts = vec![
        (0, started("mine")),
        (0, iteration(0, 1)),
        (0, iteration(1, 2)),
        (0, session(0, &first)),
        (0, session(1, &second)),
        (300, ended(0)),
        (600, ended(1)),
    ];
    let all = shown(journal(facts), Part::Whole);
    assert_eq!(
        all[6..],
        [
            "0 at 100: a\n",
            "0 at 200: b\n",
            "1 at 200: c\n",
            "session_ended",
            "1 at 400: d\n",
            "session_ended",
            "Left"
        ]
    );
}

#[test]
fn a_session_whose_end_was_never_recorded_comes_before_the_end_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), "iteration-001.ndjson", &["one"]);
    let facts = vec![(0, started("mine")), (0, iteration(0, 1)), (9, session(0, &log))];
    let all = shown(journal(facts), Part::Whole);
    assert_eq!(all[4..], ["0 at 9: one\n", "Left"]);
}

#[test]
fn a_clock_that_was_set_back_changes_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), "iteration-001.ndjson", &["one", "two"]);
    let facts = vec![
        (0, started("mine")),
        (900, iteration(0, 1)),
        (900, session(0, &log)),
        (100, ended(0)),
    ];
    let all = shown(journal(facts), Part::Whole);
    assert_eq!(
        all[3..],
        ["session_started", "0 at 900: one\n", "0 at 900: two\n", "session_ended", "Left"]
    );
}

#[test]
fn of_a_part_only_its_output_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let first = log(folder.path(), "iteration-001.ndjson", &["a"]);
    let second = log(folder.path(), "iteration-002.ndjson", &["b"]);
    let ends = |slot, n| Fact::IterationEnded {
        slot,
        iteration: n,
        class: ralph_core::run::Class::Done,
        detail: String::new(),
        head: None,
        tree: String::new(),
        settled: true,
        again: false,
        duration_ms: 0,
    };
    let facts = vec![
        (0, started("mine")),
        (0, iteration(0, 1)),
        (0, session(0, &first)),
        (1, ended(0)),
        (1, ends(0, 1)),
        (1, iteration(0, 2)),
        (1, session(0, &second)),
        (3, ended(0)),
        (3, ends(0, 2)),
    ];
    let all = shown(journal(facts), Part::Iteration(2));
    let said: Vec<&String> = all.iter().filter(|line| line.contains(" at ")).collect();
    assert_eq!(said, ["0 at 2: b\n"]);
    assert_eq!(all.len(), 9 + 3);
}

#[test]
fn a_log_that_was_cut_or_is_gone_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let cut = log(folder.path(), "cut.ndjson", &["a", r#"{"type":"ralph","cut_after":268435456}"#]);
    let gone = folder.path().join("gone.ndjson");
    let facts = vec![
        (0, started("script")),
        (0, iteration(0, 1)),
        (0, session(0, &cut)),
        (9, ended(0)),
        (9, session(0, &gone)),
        (9, ended(0)),
    ];
    let all = shown(journal(facts), Part::Whole);
    assert!(all.contains(&"Missed".to_owned()), "{all:?}");
    assert_eq!(all.iter().filter(|line| *line == "session_ended").count(), 2);
}

/// Each log of a run with several agents is read by its own, and one without a known agent has no events.
#[test]
fn each_log_is_read_by_its_agent() {
    let fallback = Fact::IterationStarted {
        slot: 0,
        iteration: 2,
        task: None,
        offered: 0,
        about: None,
        retry: 0,
        model: None,
        agent: Some("codex".to_owned()),
        overridden: None,
        raised: None,
        models: Default::default(),
    };
    let facts = vec![
        (0, started("claude")),
        (0, iteration(0, 1)),
        (0, session(0, Path::new("/a"))),
        (0, fallback),
        (0, session(0, Path::new("/b"))),
    ];
    let agents = LoggedAgents::of(journal(facts).iter());
    assert_eq!([agents.of_log("/a"), agents.of_log("/b")], ["claude", "codex"]);
    assert_eq!(said(Path::new("/a"), ""), (vec![], false));
}
