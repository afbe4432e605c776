//! What is tried. Each attempt is harmless where it works, but for those that are marked.

mod calls;
mod files;
mod kernel;
mod network;
mod processes;
mod repository;
mod sockets;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ralph_testkit::threats::{Held, entry_points, names_each_once};
use serde_json::{Value, json};

/// What must come of an attempt where only Landlock holds a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Landlock {
    /// Refused.
    Holds,
    /// It works: Landlock does not know such an act.
    Lets,
}

/// One way out.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    /// What it is, for people.
    pub(crate) what: &'static str,
    /// What Landlock alone makes of it.
    pub(crate) landlock: Landlock,
    /// It would harm this machine where it worked: never tried without a box.
    pub(crate) harmful: bool,
    /// `Ok` is out.
    pub(crate) go: fn(&Aim) -> io::Result<()>,
}

/// The kinds of attempts, each a table of its own.
pub(crate) const GROUPS: [(&str, &[Attempt]); 6] = [
    ("files", files::ALL),
    ("processes", processes::ALL),
    ("kernel", kernel::ALL),
    ("sockets", sockets::ALL),
    ("repository", repository::ALL),
    ("network", network::ALL),
];

const fn held(name: &'static str, what: &'static str, go: fn(&Aim) -> io::Result<()>) -> Attempt {
    Attempt { name, what, landlock: Landlock::Holds, harmful: false, go }
}

const fn lets(name: &'static str, what: &'static str, go: fn(&Aim) -> io::Result<()>) -> Attempt {
    Attempt { name, what, landlock: Landlock::Lets, harmful: false, go }
}

const fn harmful(attempt: Attempt) -> Attempt {
    Attempt { harmful: true, ..attempt }
}

/// What the attempts aim at, as the world outside was made.
pub(crate) struct Aim(Value);

impl Aim {
    pub(crate) fn new(value: Value) -> Self {
        Self(value)
    }

    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_else(|| panic!("{name} is not aimed at"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.text(name).into()
    }

    /// A file outside of everything that a session has.
    fn outside(&self, name: &str) -> PathBuf {
        self.path("outside").join(name)
    }

    fn home(&self, name: &str) -> PathBuf {
        self.path("home").join(name)
    }

    fn repo(&self, name: &str) -> PathBuf {
        self.path("repo").join(name)
    }

    /// The process outside that waits to be harmed.
    fn pid(&self) -> i64 {
        self.0["pid"].as_i64().unwrap()
    }

    fn port(&self, name: &str) -> u16 {
        u16::try_from(self.0[name].as_u64().unwrap()).unwrap()
    }

    /// What only those know who got out.
    pub(crate) fn secret(&self) -> &str {
        self.text("secret")
    }
}

/// It did not work, for a reason that is no error of the system.
fn no(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

/// What was tried, by name: out or not, and what the system said.
pub(crate) type Tried = BTreeMap<String, (bool, String)>;

/// Reads what the attacker wrote.
pub(crate) fn read(text: &str) -> Tried {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let one = |line: Value| {
        let output = line["said"].as_str().unwrap().to_owned();
        (line["name"].as_str().unwrap().to_owned(), (line["worked"].as_bool().unwrap(), output))
    };
    lines.map(one).collect()
}

/// The attacker itself: runs in a box, with the aim in the folder that it is started in.
#[test]
#[ignore = "what the agents of the other tests run in their boxes"]
fn go() {
    let Ok(text) = std::fs::read_to_string("aim.json") else { return };
    let aim = Aim::new(serde_json::from_str(&text).unwrap());
    let groups: Vec<&str> = aim.text("groups").split(' ').collect();
    let sandboxed = aim.0["boxed"].as_bool().unwrap();
    let mut prompt = OpenOptions::new().create(true).append(true).open("tried.jsonl").unwrap();
    for (group, attempts) in GROUPS {
        for attempt in attempts.iter().filter(|_| groups.contains(&group)) {
            if attempt.harmful && !sandboxed {
                continue;
            }
            let tried = (attempt.go)(&aim);
            let output =
                tried.as_ref().map_or_else(ToString::to_string, |()| "it worked".to_owned());
            let line = json!({ "name": attempt.name, "worked": tried.is_ok(), "said": output });
            writeln!(prompt, "{line}").unwrap();
        }
    }
}

#[test]
fn the_threat_model_has_every_attempt_and_what_each_level_makes_of_it() {
    let all: Vec<&Attempt> = GROUPS.iter().flat_map(|(_, all)| all.iter()).collect();
    let names: Vec<&str> = all.iter().map(|attempt| attempt.name).collect();
    names_each_once("escape", &names);
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let figure = format!("The tests try {} escapes", names.len());
    assert!(std::fs::read_to_string(readme).unwrap().contains(&figure), "README: {figure}");
    for point in entry_points() {
        let attempts =
            || all.iter().filter(|one| point.attacks("escape").any(|name| name == one.name));
        if attempts().next().is_none() {
            continue;
        }
        let held = |so: bool| if so { Held::Yes } else { Held::No };
        let landlock = attempts().all(|attempt| attempt.landlock == Landlock::Holds);
        assert_eq!(point.full, Held::Yes, "{}", point.name);
        assert_eq!(point.landlock, held(landlock), "{}", point.name);
    }
}
