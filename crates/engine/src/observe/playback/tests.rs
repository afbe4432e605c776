//! The stream of a replay, by a clock that the test sets.

use std::sync::atomic::{AtomicU64, Ordering};

use ralph_core::ids::RunId;
use ralph_core::run::Fact;

use super::*;

/// A recording with a fact at each of these times.
struct Recording(Vec<i64>, usize);

fn event(seq: usize, at: i64) -> RunEvent {
    let run = RunId::new("r-1").unwrap();
    let at = Timestamp::from_millis(at);
    RunEvent { v: 1, run, seq: seq as u64, at, fact: Fact::Publishing }
}

impl EventSource for Recording {
    fn next(&mut self, _wait: Duration) -> Next {
        let number = self.1;
        self.1 += 1;
        let what = match number {
            0 => Observed::Joined { name: String::new() },
            n => match self.0.get(n - 1) {
                Some(at) => Observed::Fact { event: event(n, *at) },
                None => return Next::Over,
            },
        };
        Next::Seen(Observation { of: 0, what })
    }
}

struct Test {
    playback: Playback,
    now: Arc<AtomicU64>,
}

impl Test {
    fn new(times: &[i64], speed: &str, from: Option<i64>) -> Self {
        let events: Vec<RunEvent> =
            times.iter().zip(1..).map(|(at, seq)| event(seq, *at)).collect();
        let pace = Pace {
            speed: Speed::parse(speed).unwrap(),
            longest_pause: None,
            from: from.map(Timestamp::from_millis),
            part: Part::Whole,
        };
        let now = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now);
        let times = times.to_vec();
        let playback = Playback::new(
            Box::new(move || Box::new(Recording(times.clone(), 0))),
            Timeline::of(&events),
            pace,
            Box::new(move || Duration::from_millis(clock.load(Ordering::SeqCst))),
        );
        Self { playback, now }
    }

    fn pass(&self, millis: u64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }

    /// Everything that is due now: the times of facts, -1 where the run joins, and whether it is over.
    fn due(&mut self) -> (Vec<i64>, bool) {
        let mut shown = vec![];
        loop {
            match self.playback.next(Duration::ZERO) {
                Next::Seen(Observation { what: Observed::Fact { event }, .. }) => {
                    shown.push(event.at.as_millis());
                }
                Next::Seen(_) => shown.push(-1),
                Next::Quiet => return (shown, false),
                Next::Over => return (shown, true),
            }
        }
    }
}

#[test]
fn each_fact_comes_when_its_time_has_come() {
    let mut test = Test::new(&[0, 100, 300, 300], "1", None);
    assert_eq!(test.due(), (vec![-1, 0], false));
    test.pass(99);
    assert_eq!(test.due(), (vec![], false));
    test.pass(1);
    assert_eq!(test.due(), (vec![100], false));
    test.pass(200);
    assert_eq!(test.due(), (vec![300, 300], true));
}

#[test]
fn at_full_speed_everything_comes_at_once() {
    let mut test = Test::new(&[0, 3_600_000], "max", None);
    assert_eq!(test.due(), (vec![-1, 0, 3_600_000], true));
}

#[test]
fn what_comes_before_the_beginning_comes_at_once() {
    let mut test = Test::new(&[0, 100, 300], "1", Some(200));
    assert_eq!(test.due(), (vec![-1, 0, 100], false));
    test.pass(100);
    assert_eq!(test.due(), (vec![300], true));
}

#[test]
fn a_display_pauses_changes_the_speed_and_jumps() {
    let mut test = Test::new(&[0, 100, 300, 700], "1", None);
    let control = test.playback.control();
    assert_eq!(test.due(), (vec![-1, 0], false));
    control.pause(true);
    test.pass(10_000);
    assert_eq!(test.due(), (vec![], false));
    control.set_speed(Speed::parse("2").unwrap());
    control.pause(false);
    test.pass(50);
    assert_eq!(test.due(), (vec![100], false));

    control.seek(Timestamp::from_millis(500));
    assert_eq!(test.due(), (vec![300], false));
    assert_eq!(control.position().at.as_millis(), 500);
    test.pass(100);
    assert_eq!(test.due(), (vec![700], false));
    assert!(control.position().ended);

    // Back: the run joins once more, and everything before the place comes again.
    control.seek(Timestamp::from_millis(100));
    assert!(!control.position().ended);
    assert_eq!(test.due(), (vec![-1, 0, 100], false));
    assert!(!control.position().ended);
    test.pass(100);
    assert_eq!(test.due(), (vec![300], false));
}

#[test]
fn a_jump_shows_its_place_while_the_replay_is_paused() {
    let mut test = Test::new(&[0, 100, 300], "1", None);
    let control = test.playback.control();
    control.pause(true);
    assert_eq!(test.due(), (vec![-1], false));
    control.seek(Timestamp::from_millis(150));
    assert_eq!(test.due(), (vec![0, 100], false));
    test.pass(9_000);
    assert_eq!(test.due(), (vec![], false));
}

/// A reader that waits sees a control of another thread at once.
#[test]
fn a_control_ends_the_wait_of_the_reader() {
    let mut test = Test::new(&[0, 3_600_000], "1", None);
    let control = test.playback.control();
    test.due();
    let reader = std::thread::spawn(move || test.playback.next(Duration::from_secs(600)));
    control.set_speed(Speed::MAX);
    let Next::Seen(seen) = reader.join().unwrap() else { panic!("nothing came") };
    assert_eq!(time_of(&seen.what), Some(Timestamp::from_millis(3_600_000)));
}

/// A wait of the reader ends by itself.
#[test]
fn a_reader_waits_as_long_as_it_says() {
    let journal = vec![event(1, 0), event(2, 40), event(3, 3_600_000)];
    let (speed, part) = (Speed::NORMAL, Part::Whole);
    let pace = Pace { speed, longest_pause: None, from: None, part };
    let mut playback = Playback::of_run(journal, pace);
    let mut shown = vec![];
    while let Next::Seen(seen) = playback.next(Duration::from_millis(200)) {
        shown.extend(time_of(&seen.what));
    }
    assert_eq!(shown.len(), 2);
}

#[test]
fn recorded_time_passes_between_facts_and_jumps_are_shown_at_once() {
    let mut test = Test::new(&[0, 1_000, 2_000], "10", None);
    let control = test.playback.control();
    let at = || control.position().at.as_millis();
    assert_eq!(test.due(), (vec![-1, 0], false));
    test.pass(50);
    assert_eq!(at(), 500);
    control.pause(true);
    test.pass(10_000);
    assert_eq!(at(), 500);
    control.seek(Timestamp::from_millis(1_500));
    assert_eq!(at(), 1_500, "before the stream obeys");
    assert_eq!(test.due(), (vec![1_000], false));
    assert_eq!(at(), 1_500);
    control.seek(Timestamp::from_millis(100));
    assert_eq!(at(), 100);
    assert_eq!(test.due(), (vec![-1, 0], false));
    assert_eq!(at(), 100);
    control.pause(false);
    test.pass(10_000);
    assert_eq!(test.due(), (vec![1_000, 2_000], false));
    test.pass(10_000);
    assert_eq!((at(), control.position().ended), (2_000, true));
}
