//! The figures of a row.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use super::Setting;
use super::world::{Built, Findings, World};

/// As many as there are cores on a small machine.
pub(super) const THREADS: usize = 2;
/// For tries that wait for a clock most of their time.
pub(super) const WAITING: usize = 6;
/// How soon a run that was disturbed goes on.
const RESUME: Duration = Duration::from_secs(5);
/// The same in a test, beside whatever else the machine does.
const RESUME_BUSY: Duration = Duration::from_secs(15);

/// The figures.
#[derive(Debug, Default)]
pub struct Tally {
    /// How often something was disturbed.
    pub tried: usize,
    /// After how many of these everything was as it should be.
    pub survived: usize,
    /// Work, outcomes or files that are gone.
    pub lost: usize,
    /// Outcomes that were written twice.
    pub duplicated: usize,
    /// Processes and files that were left behind.
    pub orphaned: usize,
    /// Runs that did not end.
    pub hung: usize,
    /// The longest time from the start of the next run to its first event.
    pub slowest: Duration,
    /// What was wrong, with what ralph said.
    pub complaints: Vec<String>,
    /// What could not be tried, and why.
    pub notes: Vec<String>,
}

impl Tally {
    /// Something was disturbed.
    pub(super) fn tried(&mut self) {
        self.tried += 1;
    }

    /// The run after one that was disturbed.
    pub(super) fn went_on(&mut self, run: &Built) {
        // One that is killed before its first event has none.
        self.slowest = self.slowest.max(run.began.unwrap_or_default());
    }

    /// Looks at a world whose last run has ended by itself.
    pub(super) fn check(&mut self, what: &str, world: &World, last: &Built) {
        self.found(what, world, &world.check(last));
    }

    /// Counts what is not as it should be.
    pub(super) fn found(&mut self, what: &str, world: &World, found: &Findings) {
        self.lost += found.lost.len();
        self.duplicated += found.duplicated.len();
        self.orphaned += found.orphaned.len();
        self.hung += found.hung.len();
        let list: Vec<&str> = found.all().map(String::as_str).collect();
        if !list.is_empty() {
            self.complaint(what, world, &list.join("; "));
        }
    }

    /// Something else is not as it should be.
    pub(super) fn complaint(&mut self, what: &str, world: &World, text: &str) {
        let output = world.output();
        let mut end = output.len().saturating_sub(3000);
        while !output.is_char_boundary(end) {
            end += 1;
        }
        self.complaints.push(format!("{what}: {text}\n--- it said\n{}", &output[end..]));
    }

    /// Says what could not be tried, and why.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds the figures of others.
    pub(super) fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.survived += other.survived;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.orphaned += other.orphaned;
        self.hung += other.hung;
        self.slowest = self.slowest.max(other.slowest);
        self.complaints.extend(other.complaints);
        self.notes.extend(other.notes);
    }

    /// Whether every try was survived, and soon.
    pub fn holds(&self) -> bool {
        self.holds_within(RESUME)
    }

    fn holds_within(&self, resume: Duration) -> bool {
        self.complaints.is_empty() && self.survived == self.tried && self.slowest < resume
    }

    /// The figures in one line.
    pub fn line(&self) -> String {
        let Self { tried, survived, lost, duplicated, orphaned, hung, slowest, .. } = self;
        format!(
            "tried {tried}, survived {survived}, lost {lost}, duplicated {duplicated}, \
             orphaned {orphaned}, hung {hung}, slowest resume {} ms",
            slowest.as_millis()
        )
    }

    /// Prints the figures, and stops the test when one of them is bad.
    pub(super) fn close(&self, row: &str) {
        let line = format!("{row}: {}\n", self.line());
        let notes: String = self.notes.iter().map(|note| format!("  {note}\n")).collect();
        std::io::stderr().write_all((line.clone() + &notes).as_bytes()).unwrap();
        let complaints = self.complaints.join("\n\n");
        let held = self.holds_within(RESUME_BUSY);
        assert!(held, "{line}{} complaints\n{complaints}", self.complaints.len());
    }

    /// The figures as JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "tried": self.tried, "survived": self.survived, "lost": self.lost,
            "duplicated": self.duplicated, "orphaned": self.orphaned, "hung": self.hung,
            "slowest_ms": self.slowest.as_millis() as u64,
            "complaints": self.complaints, "notes": self.notes,
        })
    }

    /// The figures from JSON; what is missing is nothing.
    pub(super) fn from_json(value: &Value) -> Self {
        let number = |name: &str| value[name].as_u64().unwrap_or(0) as usize;
        let list = |name: &str| {
            let list = value[name].as_array().into_iter().flatten();
            list.filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        Self {
            tried: number("tried"),
            survived: number("survived"),
            lost: number("lost"),
            duplicated: number("duplicated"),
            orphaned: number("orphaned"),
            hung: number("hung"),
            slowest: Duration::from_millis(number("slowest_ms") as u64),
            complaints: list("complaints"),
            notes: list("notes"),
        }
    }
}

/// Runs `job` for every number below `count`, a few at a time, and adds up what they found.
pub(super) fn campaign(count: usize, job: impl Fn(usize, &mut Tally) + Sync) -> Tally {
    campaign_of(THREADS, count, job)
}

/// The same, so many at a time.
pub(super) fn campaign_of(
    threads: usize,
    count: usize,
    job: impl Fn(usize, &mut Tally) + Sync,
) -> Tally {
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let tally = one(number, &job);
                    total.lock().unwrap().add(tally);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

/// One try. What stops it is a complaint, and the others go on.
fn one(number: usize, job: &(impl Fn(usize, &mut Tally) + Sync)) -> Tally {
    let mut tally = Tally::default();
    if let Err(stopped) = catch_unwind(AssertUnwindSafe(|| job(number, &mut tally))) {
        let text = stopped.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some((*stopped.downcast_ref::<&str>()?).to_owned()));
        let text = text.unwrap_or_else(|| "for a reason that is no text".to_owned());
        tally.complaints.push(format!("try {number} could not go on: {text}"));
    }
    if tally.complaints.is_empty() {
        tally.survived = tally.tried;
    }
    tally
}

/// How long an undisturbed run takes here, beside as many as there will be: measured once for all rows that a
/// program runs. It must itself be right.
pub(super) fn undisturbed(setting: &Setting) -> Duration {
    static TAKES: OnceLock<Duration> = OnceLock::new();
    *TAKES.get_or_init(|| measure(setting))
}

fn measure(setting: &Setting) -> Duration {
    let longest = Mutex::new(Duration::ZERO);
    let tally = campaign(THREADS, |number, tally| {
        let world = World::turned(setting, number);
        let run = world.build(None);
        tally.check("undisturbed", &world, &run);
        let mut longest = longest.lock().unwrap();
        *longest = run.took.max(*longest);
    });
    assert!(tally.complaints.is_empty(), "{}", tally.complaints.join("\n\n"));
    longest.into_inner().unwrap()
}

/// A moment of a run that takes so long.
pub(super) fn moment(random: &mut fastrand::Rng, whole: Duration) -> Duration {
    Duration::from_micros(random.u64(0..whole.as_micros().max(1) as u64))
}
