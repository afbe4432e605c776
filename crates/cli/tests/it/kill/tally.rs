//! The figures of a campaign.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::world::{Built, World};

/// As many as there are cores on a small machine.
const THREADS: usize = 2;
/// How soon a run that was killed goes on.
const RESUME: Duration = Duration::from_secs(5);

/// The figures.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) tried: usize,
    pub(super) resumed: usize,
    pub(super) lost: usize,
    pub(super) duplicated: usize,
    pub(super) orphaned: usize,
    pub(super) slowest: Duration,
    complaints: Vec<String>,
}

impl Tally {
    /// A run was disturbed.
    pub(super) fn tried(&mut self) {
        self.tried += 1;
    }

    /// The run after one that was disturbed.
    pub(super) fn went_on(&mut self, run: &Built) {
        // One that is killed before its first event has none.
        self.slowest = self.slowest.max(run.began.unwrap_or_default());
    }

    /// Looks at a world whose last run has ended by itself. Every disturbance before it was survived.
    pub(super) fn check(&mut self, what: &str, world: &World, last: &Built) {
        let found = world.check(last);
        self.lost += found.lost.len();
        self.duplicated += found.duplicated.len();
        self.orphaned += found.orphaned.len();
        let list: Vec<&str> = found.all().map(String::as_str).collect();
        if list.is_empty() {
            self.resumed = self.tried;
        } else {
            self.complaint(what, world, &list.join("; "));
        }
    }

    /// Something else is not as it should be.
    pub(super) fn complaint(&mut self, what: &str, world: &World, text: &str) {
        let said = world.said();
        let mut end = said.len().saturating_sub(3000);
        while !said.is_char_boundary(end) {
            end += 1;
        }
        self.complaints.push(format!("{what}: {text}\n--- it said\n{}", &said[end..]));
    }

    fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.resumed += other.resumed;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.orphaned += other.orphaned;
        self.slowest = self.slowest.max(other.slowest);
        self.complaints.extend(other.complaints);
    }

    /// Prints the figures, and stops the test when one of them is bad.
    pub(super) fn close(&self, campaign: &str) {
        let Self { tried, resumed, lost, duplicated, orphaned, slowest, complaints } = self;
        let line = format!(
            "{campaign}: tried {tried}, resumed {resumed}, lost {lost}, duplicated {duplicated}, \
             orphaned {orphaned}, slowest resume {} ms\n",
            slowest.as_millis()
        );
        if *tried > 0 {
            std::io::stderr().write_all(line.as_bytes()).unwrap();
        }
        assert!(
            complaints.is_empty(),
            "{line}{} complaints\n{}",
            complaints.len(),
            complaints.join("\n\n")
        );
        assert!(*slowest < RESUME, "{line}");
    }
}

/// Runs `job` for every number below `count`, a few at a time, and adds up what they found.
pub(super) fn campaign(count: usize, job: impl Fn(usize, &mut Tally) + Sync) -> Tally {
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let mut tally = Tally::default();
                    job(number, &mut tally);
                    total.lock().unwrap().add(tally);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

/// How long an undisturbed run takes here and now, beside as many as there will be. It must itself be
/// right.
pub(super) fn undisturbed() -> Duration {
    let longest = Mutex::new(Duration::ZERO);
    let tally = campaign(THREADS, |number, tally| {
        let world = World::turned(number);
        let run = world.build(None);
        tally.check("undisturbed", &world, &run);
        let mut longest = longest.lock().unwrap();
        *longest = run.took.max(*longest);
    });
    tally.close("undisturbed");
    longest.into_inner().unwrap()
}

/// A moment of a run that takes so long.
pub(super) fn moment(random: &mut fastrand::Rng, whole: Duration) -> Duration {
    Duration::from_micros(random.u64(0..whole.as_micros() as u64))
}
