//! Readers of every kind get the same stream.

use std::collections::HashSet;
use std::time::Duration;

use ralph_core::view::stream::{EventSource, Next};

use super::*;
use crate::feed::Feed;

struct Stream {
    live: Live,
    feed: Feed,
    seq: u64,
    _folder: tempfile::TempDir,
}

/// One thing that a reader got.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Got {
    Fact(u64),
    Agent(SlotId, String),
    Missed(SlotId),
}

impl Stream {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let feed = Feed::open(&path).unwrap();
        Self { live: Live::new(&path), feed, seq: 0, _folder: folder }
    }

    fn write(&mut self) -> RunEvent {
        self.seq += 1;
        let event = event(self.seq);
        self.feed.append(std::slice::from_ref(&event)).unwrap();
        event
    }

    fn fact(&mut self) {
        let event = self.write();
        self.live.facts(vec![event]);
    }

    fn agent(&self, slot: SlotId, text: &str) {
        let event = AgentEvent::Text { text: text.to_owned() };
        self.live.agent(slot, Timestamp::from_millis(7), event);
    }
}

fn event(seq: u64) -> RunEvent {
    let line = format!(
        r#"{{"v":1,"run":"r-abcd2345","seq":{seq},"at":"2026-01-01T00:00:00Z","kind":"surveying","slot":0}}"#
    );
    serde_json::from_str(&line).unwrap()
}

fn got(what: Observed) -> Got {
    match what {
        Observed::Fact { event: RunEvent { seq, .. } } => Got::Fact(seq),
        Observed::Agent { slot, event: AgentEvent::Text { text }, .. } => Got::Agent(slot, text),
        Observed::Missed { slot } => Got::Missed(slot),
        other => panic!("{other:?}"),
    }
}

fn parsed(lines: &str) -> Vec<Got> {
    lines.lines().map(|line| got(serde_json::from_str(line).unwrap())).collect()
}

/// All that there is now.
fn drain(watcher: &mut Watcher) -> Vec<Got> {
    let mut all = vec![];
    while let Batch::Lines(lines) = watcher.batch().unwrap() {
        all.extend(parsed(&lines));
    }
    all
}

/// The same for a display of the same process.
fn read(source: &mut LocalSource) -> Vec<Got> {
    let next = || match source.next(Duration::ZERO) {
        Next::Seen(seen) => Some(got(seen.what)),
        Next::Quiet | Next::Over => None,
    };
    std::iter::from_fn(next).collect()
}

fn said(slot: SlotId, text: &str) -> Got {
    Got::Agent(slot, text.to_owned())
}

#[test]
fn a_late_reader_gets_facts_and_words_in_their_order() {
    let mut stream = Stream::new();
    let (mut early, mut display) = (stream.live.watch(), stream.live.read());
    stream.fact();
    stream.agent(0, "a");
    stream.agent(1, "b");
    stream.fact();
    stream.fact();
    stream.agent(0, "c");
    let expected =
        vec![Got::Fact(1), said(0, "a"), said(1, "b"), Got::Fact(2), Got::Fact(3), said(0, "c")];
    assert_eq!(drain(&mut early), expected);
    assert_eq!(read(&mut display), expected);
    assert_eq!(drain(&mut stream.live.watch()), expected);
    assert_eq!(early.batch().unwrap(), Batch::Quiet);
    stream.live.close();
    assert_eq!(early.batch().unwrap(), Batch::Over);
    assert_eq!(drain(&mut stream.live.watch()), expected);
}

/// The journal is ahead of the displays: its next facts come after words that were said before them.
#[test]
fn a_fact_comes_only_once_the_displays_have_it() {
    let mut stream = Stream::new();
    stream.fact();
    stream.write();
    let mut reader = stream.live.watch();
    assert_eq!(drain(&mut reader), [Got::Fact(1)]);
    stream.agent(0, "before");
    stream.live.facts(vec![event(2)]);
    assert_eq!(drain(&mut reader), [said(0, "before"), Got::Fact(2)]);
}

#[test]
fn a_slow_reader_misses_words_of_one_slot_and_no_fact() {
    let mut stream = Stream::new();
    let mut slow = stream.live.watch();
    stream.fact();
    stream.agent(1, "quiet");
    for _ in 0..100 {
        stream.agent(0, &"x".repeat(10_000));
        stream.fact();
    }
    let got = drain(&mut slow);
    let facts: Vec<Got> = got.iter().filter(|got| matches!(got, Got::Fact(_))).cloned().collect();
    assert_eq!(facts, (1..=101).map(Got::Fact).collect::<Vec<_>>());
    assert_eq!(got.iter().filter(|got| **got == Got::Missed(0)).count(), 1);
    assert_eq!(got.iter().filter(|got| **got == Got::Missed(1)).count(), 0);
    assert_eq!(got[1], said(1, "quiet"));
    let missed = got.iter().position(|got| *got == Got::Missed(0)).unwrap();
    let first = got.iter().position(|got| matches!(got, Got::Agent(0, _))).unwrap();
    assert!(missed < first && first < got.len() - 20);
    let kept: usize = stream.live.0.state().slots[0].kept.iter().map(Output::bytes).sum();
    assert!(kept <= KEPT);
}

#[test]
fn words_that_the_displays_lost_are_marked_where_they_were() {
    let mut stream = Stream::new();
    stream.agent(0, "a");
    stream.live.missed(0);
    stream.fact();
    stream.agent(0, "b");
    let expected = [said(0, "a"), Got::Missed(0), Got::Fact(1), said(0, "b")];
    assert_eq!(drain(&mut stream.live.watch()), expected);
}

#[test]
fn a_reader_far_behind_gets_everything_in_pieces() {
    let mut stream = Stream::new();
    for _ in 0..20_000 {
        stream.fact();
    }
    stream.live.close();
    let (mut reader, mut all, mut pieces) = (stream.live.watch(), vec![], 0);
    while let Batch::Lines(lines) = reader.batch().unwrap() {
        assert!(lines.len() < 2 * BATCH);
        all.extend(parsed(&lines));
        pieces += 1;
    }
    assert_eq!(all, (1..=20_000).map(Got::Fact).collect::<Vec<_>>());
    assert!(pieces > 1);
}

#[test]
fn facts_that_could_not_be_written_hold_nobody_up() {
    let mut stream = Stream::new();
    stream.fact();
    stream.seq += 1;
    stream.live.facts(vec![event(2)]);
    stream.agent(0, "a");
    stream.fact();
    let expected = [Got::Fact(1), said(0, "a"), Got::Fact(3)];
    assert_eq!(drain(&mut stream.live.watch()), expected);
}

#[test]
fn a_long_text_leaves_room_for_others() {
    let stream = Stream::new();
    stream.agent(0, &"é".repeat(KEPT));
    stream.agent(0, "b");
    let got = drain(&mut stream.live.watch());
    assert_eq!(got.len(), 2);
    assert!(matches!(&got[0], Got::Agent(0, text) if text.len() <= LONGEST));
}

#[tokio::test]
async fn a_waiting_reader_is_woken() {
    let mut stream = Stream::new();
    let mut reader = stream.live.watch();
    assert_eq!(reader.batch().unwrap(), Batch::Quiet);
    stream.fact();
    assert!(reader.changed().await);
    assert_eq!(drain(&mut reader), [Got::Fact(1)]);
    stream.agent(0, "a");
    // Between the batch and the wait.
    assert!(reader.changed().await);
    assert_eq!(drain(&mut reader), [said(0, "a")]);
}

/// Whatever happens in which order, and whenever readers read: each gets every fact once and in order, and the words in
/// the order in which they were said, between the facts between which they were said.
#[test]
fn every_reader_gets_the_same_in_any_interleaving() {
    for seed in 0..16 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut stream = Stream::new();
        let mut truth = vec![];
        let mut readers: Vec<(Watcher, Vec<Got>)> = vec![];
        let (mut display, mut shown) = (stream.live.read(), vec![]);
        let long = random.bool();
        for number in 0..random.usize(1..400) {
            match random.u8(0..10) {
                0..3 => {
                    stream.fact();
                    truth.push(Got::Fact(stream.seq));
                }
                3..7 => {
                    let slot = random.u32(0..3);
                    let padding = if long { random.usize(0..20_000) } else { 0 };
                    let text = format!("{number}{}", "x".repeat(padding));
                    stream.agent(slot, &text);
                    truth.push(said(slot, &text));
                }
                7 => {
                    readers.push((stream.live.watch(), vec![]));
                    for _ in 0..random.usize(0..10) {
                        if let Next::Seen(seen) = display.next(Duration::ZERO) {
                            shown.push(got(seen.what));
                        }
                    }
                }
                _ if !readers.is_empty() => {
                    let at = random.usize(0..readers.len());
                    let (reader, got) = &mut readers[at];
                    if let Batch::Lines(lines) = reader.batch().unwrap() {
                        got.extend(parsed(&lines));
                    }
                }
                _ => {}
            }
        }
        stream.live.close();
        shown.extend(read(&mut display));
        assert_eq!(display.next(Duration::ZERO), Next::Over);
        check(seed, &truth, &shown);
        readers.push((stream.live.watch(), vec![]));
        for (mut reader, mut got) in readers {
            got.extend(drain(&mut reader));
            assert_eq!(reader.batch().unwrap(), Batch::Over);
            check(seed, &truth, &got);
        }
    }
}

/// What a reader got is the truth, where each gap is marked.
fn check(seed: u64, truth: &[Got], got: &[Got]) {
    let facts = |all: &[Got]| -> Vec<Got> {
        all.iter().filter(|got| matches!(got, Got::Fact(_))).cloned().collect()
    };
    assert_eq!(facts(got), facts(truth), "seed {seed}");
    let (mut rest, mut lost, mut marked) = (truth.iter(), HashSet::new(), HashSet::new());
    for one in got {
        if let Got::Missed(slot) = one {
            marked.insert(*slot);
            continue;
        }
        for gone in rest.by_ref().take_while(|next| *next != one) {
            let Got::Agent(slot, _) = gone else { panic!("seed {seed}: a fact is skipped") };
            lost.insert(*slot);
        }
        // The mark stands where the last of the lost words were.
        lost.retain(|slot| !marked.contains(slot));
        marked.clear();
        if let Got::Agent(slot, _) = one {
            assert!(!lost.contains(slot), "seed {seed}: words of {slot} are lost without a mark");
        }
    }
    // The last words of each slot are always kept.
    assert!(lost.is_empty() && rest.len() == 0, "seed {seed}");
}

#[test]
fn a_display_has_facts_that_a_full_disk_refused() {
    let stream = Stream::new();
    let mut display = stream.live.read();
    stream.live.facts(vec![event(1)]);
    stream.agent(0, "a");
    stream.live.facts(vec![event(2)]);
    stream.live.close();
    assert_eq!(read(&mut display), [Got::Fact(1), said(0, "a"), Got::Fact(2)]);
    assert_eq!(display.next(Duration::ZERO), Next::Over);
}

/// Of a flood it shows the newest after one gap, and not every other line with a gap between.
#[test]
fn a_display_that_falls_behind_goes_on_with_the_newest_output() {
    let mut stream = Stream::new();
    let mut display = stream.live.read();
    for number in 0..100 {
        stream.agent(0, &format!("{number}{}", "x".repeat(10_000)));
        stream.fact();
    }
    stream.agent(1, "quiet");
    let got = read(&mut display);
    let number = |got: &Got| match got {
        Got::Agent(0, text) => text.trim_end_matches('x').parse().ok(),
        _ => None,
    };
    let numbers: Vec<u32> = got.iter().filter_map(number).collect();
    assert_eq!(numbers, [94, 95, 96, 97, 98, 99]);
    assert_eq!(got.iter().filter(|got| **got == Got::Missed(0)).count(), 1);
    assert_eq!(got.iter().filter(|got| matches!(got, Got::Fact(_))).count(), 100);
    assert_eq!(got.last(), Some(&said(1, "quiet")));
}

#[test]
fn facts_are_kept_for_displays_that_still_read() {
    let mut stream = Stream::new();
    let (gone, mut stays) = (stream.live.read(), stream.live.read());
    drop(gone);
    stream.fact();
    assert_eq!(stream.live.0.state().local[0], None);
    assert_eq!(read(&mut stays), [Got::Fact(1)]);
}

#[test]
fn a_display_wakes_up_with_what_comes() {
    let stream = Stream::new();
    let mut display = stream.live.read();
    let waits = std::thread::spawn(move || display.next(Duration::from_secs(60)));
    stream.live.facts(vec![event(1)]);
    let Next::Seen(seen) = waits.join().unwrap() else { panic!("it saw nothing") };
    assert_eq!(got(seen.what), Got::Fact(1));
}
