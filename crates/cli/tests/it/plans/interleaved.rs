//! A person edits the plan while sessions run and settle. Nothing of theirs is lost.
//!
//! Lost means: a text that they wrote is not in the file, one that they removed is there again, a task
//! that they unticked is ticked. A tick of theirs during a session counts as a request; it may be taken
//! back, but then a notice names it.

use std::path::Path;
use std::time::Duration;

use ralph_testkit::numbers;

use super::*;

/// Of each kind of task that the person has something in mind with.
const EACH: usize = 3;
const SESSIONS: usize = 3;

fn plan() -> String {
    let items = |done: char, word: &str| -> String {
        (1..=EACH).map(|n| format!("- [{done}] {word} number {n}\n")).collect()
    };
    format!(
        "# Progress: Shared\n\n## Status\nIn Progress\n\n## Analysis\nBegin.\n\n## Tasks\n### First\n{}{}\n### Second\n{}{}{}{}\n## Testing Strategy\nNone.\n",
        items(' ', "Work"),
        items('x', "Finished"),
        items(' ', "Superfluous"),
        items(' ', "Vague"),
        items(' ', "Misplaced"),
        items(' ', "Handmade"),
    )
}

/// What the person does, once to each task.
#[derive(Debug, Clone, Copy)]
enum Act {
    AddTask(usize),
    AddProse(usize),
    Reword(usize),
    Remove(usize),
    Move(usize),
    Tick(usize),
    Untick(usize),
}

impl Act {
    fn all() -> Vec<Self> {
        let kinds = [
            Self::AddTask,
            Self::AddProse,
            Self::Reword,
            Self::Remove,
            Self::Move,
            Self::Tick,
            Self::Untick,
        ];
        kinds.iter().flat_map(|kind| (1..=EACH).map(kind)).collect()
    }

    /// The text after it.
    fn done_to(self, text: &str) -> String {
        match self {
            Self::AddTask(n) => {
                text.replacen("### Second\n", &format!("### Second\n- [ ] Added number {n}\n"), 1)
            }
            Self::AddProse(n) => text.replacen("Begin.\n", &format!("Begin.\nThought {n}.\n"), 1),
            Self::Reword(n) => text.replacen(
                &format!("Vague number {n}\n"),
                &format!("Vague number {n}, but clear\n"),
                1,
            ),
            Self::Remove(n) => text.replacen(&format!("- [ ] Superfluous number {n}\n"), "", 1),
            Self::Move(n) => {
                let line = format!("- [ ] Misplaced number {n}\n");
                text.replacen(&line, "", 1).replacen(
                    "### First\n",
                    &format!("### First\n{line}"),
                    1,
                )
            }
            Self::Tick(n) => text.replacen(
                &format!("- [ ] Handmade number {n}\n"),
                &format!("- [x] Handmade number {n}\n"),
                1,
            ),
            Self::Untick(n) => text.replacen(
                &format!("- [x] Finished number {n}\n"),
                &format!("- [ ] Finished number {n}\n"),
                1,
            ),
        }
    }

    /// What is wrong with the file in the end, as far as this is concerned.
    fn lost(self, text: &str, output: &str) -> Option<String> {
        let there = |part: String| text.matches(&part).count();
        let bad = match self {
            Self::AddTask(n) => there(format!("] Added number {n}\n")) != 1,
            Self::AddProse(n) => there(format!("\nThought {n}.\n")) != 1,
            Self::Reword(n) => {
                there(format!("] Vague number {n}, but clear\n")) != 1
                    || there(format!("] Vague number {n}\n")) != 0
            }
            Self::Remove(n) => there(format!("] Superfluous number {n}\n")) != 0,
            Self::Move(n) => {
                let line = format!("] Misplaced number {n}\n");
                let second = text.find("### Second").unwrap_or(0);
                there(line.clone()) != 1 || text.find(&line).unwrap_or(usize::MAX) > second
            }
            Self::Tick(n) => {
                there(format!("[x] Handmade number {n}\n")) != 1
                    && !output.contains(&format!("reverted the tick of \"Handmade number {n}\""))
            }
            Self::Untick(n) => there(format!("[ ] Finished number {n}\n")) != 1,
        };
        bad.then(|| format!("{self:?}"))
    }
}

/// Saves as an editor does: by a new file in place of the old one, or into the old one.
fn save(path: &Path, text: &str, by_rename: bool) {
    if by_rename {
        let half = path.with_extension("md.person");
        std::fs::write(&half, text).unwrap();
        std::fs::rename(&half, path).unwrap();
    } else {
        std::fs::write(path, text).unwrap();
    }
}

/// The person does some things at some moments; which they were.
fn user(path: &Path, random: &mut fastrand::Rng) -> Vec<Act> {
    let mut acts = Act::all();
    random.shuffle(&mut acts);
    acts.truncate(random.usize(4..10));
    for act in &acts {
        std::thread::sleep(Duration::from_millis(random.u64(0..120)));
        // An editor that sees that the file was changed asks, and the person looks again.
        loop {
            let before = std::fs::read_to_string(path).unwrap();
            let after = act.done_to(&before);
            assert_ne!(before, after, "{act:?} is not possible in\n{before}");
            if std::fs::read_to_string(path).unwrap() == before {
                save(path, &after, random.bool());
                break;
            }
        }
    }
    acts
}

/// A session that takes a while and prints its task as done.
fn works(number: usize, random: &mut fastrand::Rng) -> String {
    let pause = |ms: u64| format!("{{\"do\":\"sleep\",\"ms\":{ms}}}");
    let printed = format!(
        "# Progress: Shared\n\n## Status\nIn Progress\n\n## Tasks\n- [x] Work number {number}\n"
    );
    session(&[
        pause(random.u64(0..100)),
        write(&format!("work-{number}.txt"), "x"),
        pause(random.u64(0..100)),
        say(&printed),
    ])
}

fn interleaving(seed: u64) -> Result<(), String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut env = with_plan("progress.md", &plan());
    env.without_sandbox("a campaign of many runs that is about the plan and not about the sandbox");
    let played: Vec<String> = (1..=SESSIONS).map(|n| works(n, &mut random)).collect();
    let mut played: Vec<&str> = played.iter().map(String::as_str).collect();
    let idle = only_says("Nothing.");
    played.push(&idle);
    let limit = SESSIONS.to_string();
    let running = start(&env, &played, &[&limit]);
    let path = env.repo().join("progress.md");
    let acts = user(&path, &mut random);
    let first = Ran::end_of(running);
    // One more look, after everything.
    let last = again(&env, &["--once"]);
    let output = format!("{}{}", first.stderr, last.stderr);
    let text = read(&env, "progress.md");
    let mut wrong: Vec<String> = acts.iter().filter_map(|act| act.lost(&text, &output)).collect();
    if (first.code, last.code) != (0, 0) {
        wrong.push(format!("exit codes {} and {}", first.code, last.code));
    }
    for part in ["\n## Testing Strategy\nNone.\n", "# Progress: Shared\n"] {
        if !text.contains(part) {
            wrong.push(format!("{part:?} is gone"));
        }
    }
    let left = std::fs::read_dir(env.repo()).unwrap().map(|entry| entry.unwrap().file_name());
    wrong.extend(left.filter_map(|name| {
        let name = name.to_string_lossy().into_owned();
        name.starts_with(".ralph-").then(|| format!("{name} was left"))
    }));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("seed {seed}: {wrong:?}\n{acts:?}\n{text}\n{output}")),
    }
}

#[test]
fn s2_7_s2_29_no_edit_of_the_user_is_lost_however_it_falls_between_the_steps() {
    let seeds: Vec<u64> = numbers(12, 200).collect();
    let count = seeds.len();
    let complaints = in_pairs(count, |number| interleaving(seeds[number]).err());
    assert!(complaints.is_empty(), "{} of {count}\n{}", complaints.len(), complaints[0]);
}
