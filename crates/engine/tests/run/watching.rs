//! A reader in another process sees what the displays of the run see.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::run::{Fact, RunEvent};
use ralph_core::view::RunView;
use ralph_core::view::live::LiveView;
use ralph_core::view::stream::{EventSource, Next, Observed};
use ralph_engine::observe::SocketSource;

use crate::kit::{Inside, World, crashes, works};

/// A reader that comes in the middle of a run, and what it got.
#[derive(Clone, Default)]
struct Reader(Arc<Mutex<Option<JoinHandle<Vec<Observed>>>>>);

impl Reader {
    fn comes(&self, inside: &Inside) {
        let state = std::fs::read_to_string(inside.ralph_dir().join("state.toml")).unwrap();
        let state: toml::Table = state.parse().unwrap();
        let socket = PathBuf::from(state["control_socket"].as_str().unwrap());
        let mut source = SocketSource::open(&socket, None).unwrap();
        let read = move || {
            let mut all = vec![];
            loop {
                match source.next(Duration::from_secs(30)) {
                    Next::Seen(seen) => all.push(seen.what),
                    Next::Quiet => panic!("nothing came after {all:?}"),
                    Next::Over => return all,
                }
            }
        };
        self.0.lock().unwrap().get_or_insert_with(|| std::thread::spawn(read));
    }

    fn got(&self) -> Vec<Observed> {
        self.0.lock().unwrap().take().unwrap().join().unwrap()
    }
}

#[test]
fn a_reader_that_comes_late_sees_what_the_displays_of_the_run_see() {
    let reader = Reader::default();
    let late = reader.clone();
    let plays = [
        crashes(1).says("I try."),
        works().says("Now it works."),
        works().does(move |inside| late.comes(inside)).says("The second one."),
    ];
    let played = World::new(&["a", "b"]).plays(plays).run();
    let got = reader.got();

    let facts: Vec<&RunEvent> = got
        .iter()
        .filter_map(|what| match what {
            Observed::Fact { event } => Some(event),
            _ => None,
        })
        .collect();
    assert_eq!(facts, played.events.iter().collect::<Vec<_>>());
    assert_eq!(RunView::of(facts.iter().copied()), RunView::of(&played.events));
    // Each session's words are between its start and its end, those from before the reader came, too.
    let mut open = false;
    let mut said = String::new();
    for what in &got {
        match what {
            Observed::Fact { event } => match event.fact {
                Fact::SessionStarted { .. } => open = true,
                Fact::SessionEnded { .. } => open = false,
                _ => {}
            },
            Observed::Agent { event: AgentEvent::Text { text }, .. } => {
                assert!(open, "{text}");
                said.push_str(text);
            }
            Observed::Missed { .. } => panic!("nothing is missing"),
            _ => {}
        }
    }
    let places = ["I try.", "Now it works.", "The second one."].map(|text| said.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    let mut live = LiveView::default();
    for what in got {
        live.apply(&ralph_core::view::stream::Observation { of: 0, what });
    }
    assert!(live.is_over() && live.runs[0].left);
}
