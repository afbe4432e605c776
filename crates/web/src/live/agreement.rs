//! Whatever happens in a run, the JSON that the page draws has the facts that every display shows, whenever a viewer came.

#[path = "../../../core/tests/run_model/shown.rs"]
mod shown;
#[path = "../../../core/tests/run_model/world.rs"]
mod world;

use proptest::prelude::*;
use ralph_core::run::{Picker, Policy};
use ralph_core::time::Timestamp;
use ralph_core::view::live::LiveView;
use serde_json::{Value, json};

use self::shown::{Shown, spoken};
use self::world::{play, policy, published, verified};
use super::picture::Picture;

/// The page in a browser: it takes what it has not seen, as `js/data.js` does.
#[derive(Default)]
struct Viewer {
    seen: u64,
    view: Value,
    transcripts: Vec<(u64, Vec<Value>)>,
}

impl Viewer {
    fn look(&mut self, picture: &mut Picture) {
        let bytes = picture.since(self.seen).map(|bytes| bytes.to_vec()).unwrap_or_default();
        self.seen = picture.revision();
        let text = String::from_utf8(bytes).unwrap();
        for event in text.split_terminator("\n\n") {
            let (name, data) = event.split_once("\ndata: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            match name {
                "event: view" => self.view = data,
                "event: said" => self.said(&data),
                _ => panic!("{name}"),
            }
        }
    }

    fn said(&mut self, data: &Value) {
        let slot = usize::try_from(data["slot"].as_u64().unwrap()).unwrap();
        self.transcripts.resize_with(self.transcripts.len().max(slot + 1), Default::default);
        let (base, entries) = &mut self.transcripts[slot];
        let from = data["from"].as_u64().unwrap();
        if entries.is_empty() || from > *base + entries.len() as u64 {
            entries.clear();
            *base = from;
        }
        entries.truncate(usize::try_from(from - *base).unwrap());
        entries.extend(data["entries"].as_array().unwrap().iter().cloned());
    }
}

fn check(live: &LiveView, viewer: &Viewer) -> Result<(), TestCaseError> {
    let shown = Shown::of(&live.runs[0].view);
    let run = &viewer.view["runs"][0];
    let view = &run["view"];
    prop_assert_eq!(&view["counts"], &json!(shown.counts));
    prop_assert_eq!(&run["ended"], &json!(shown.ended));
    prop_assert_eq!(view["outcome"].is_null(), !shown.ended);
    prop_assert_eq!(&view["paused"], &json!(shown.paused));
    prop_assert_eq!(&view["cancel"], &json!(shown.cancel));
    prop_assert_eq!(&view["usage_so_far"]["cost_micro_usd"], &json!(shown.cost));
    for (slot, task, activity) in shown.slots {
        let slot = &view["slots"][slot as usize];
        prop_assert_eq!(&slot["activity"], &json!(activity));
        prop_assert_eq!(&slot["task"]["id"], &json!(task));
    }
    let tasks = |list: &str, field: &str| {
        let list = view[list].as_array().cloned().unwrap_or_default();
        list.iter().map(|one| one[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    prop_assert_eq!([tasks("questions", "task"), tasks("held_tasks", "id")].concat(), shown.needs);
    for (slot, transcript) in live.runs[0].transcripts.iter().enumerate() {
        let none = (0, vec![]);
        let (base, entries) = viewer.transcripts.get(slot).unwrap_or(&none);
        // A viewer may have entries that the server has dropped since.
        let gone = usize::try_from(transcript.dropped.saturating_sub(*base)).unwrap();
        let kept = entries.get(gone..).unwrap_or_default();
        prop_assert!(json!(kept) == json!(transcript.entries), "slot {slot}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_page_agrees_with_every_display_whenever_a_viewer_came(
        rolls in proptest::collection::vec(any::<u8>(), 0..400),
        picks in any::<bool>(),
        slots in 1u32..4,
        max in proptest::option::of(1u32..12),
        tasks in 0u64..8,
        cancel_at in proptest::option::of(1usize..80),
        verify in any::<bool>(),
        publish in any::<bool>(),
        every in 5usize..60,
    ) {
        let picker = if picks { Picker::Agent } else { Picker::Loop };
        let policy = Policy { integrates: slots > 1, ..policy(picker, slots, max) };
        let policy = if verify { verified(policy) } else { policy };
        let policy = if publish { published(policy) } else { policy };
        let stream = spoken(&play(policy, tasks, &rolls, cancel_at)?.events);
        let (mut live, mut picture) = (LiveView::default(), Picture::default());
        let mut always = Viewer::default();
        // Of a long run, as many moments as of a short one.
        let every = every * (1 + stream.len() / 500);
        picture.begin();
        for (seen, at) in stream.iter().zip(1..) {
            live.apply(seen);
            if at % every == 0 || at == stream.len() {
                picture.show(&live, Timestamp::from_millis(9));
                always.look(&mut picture);
                check(&live, &always)?;
            }
        }
        let mut late = Viewer::default();
        late.look(&mut picture);
        check(&live, &late)?;
    }
}
