//! Writers are killed at random moments; nothing that the store acknowledged may be missing after.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs and wait")]

use std::collections::HashMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_core::task::Status;
use ralph_engine::ports::{Filter, Store};
use ralph_engine::store::SqliteStore;
use ralph_testkit::{sample, times};

#[test]
fn nothing_acknowledged_is_lost_when_writers_are_killed() {
    let kills = times(200, 2_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    let mut random = fastrand::Rng::with_seed(sample());
    let mut reported = HashMap::new();
    let mut killed = 0;
    while killed < kills {
        // Two at a time: one may die while the other waits for its lock.
        let pair: Vec<_> = (0..2)
            .map(|side| {
                Command::new(env!("CARGO_BIN_EXE_store_writer"))
                    .arg(&path)
                    .arg(format!("k{killed}-{side}"))
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut child in pair {
            std::thread::sleep(Duration::from_micros(random.u64(500..12_000)));
            child.kill().unwrap();
            killed += 1;
            let (mut output, mut complaint) = (String::new(), String::new());
            child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
            child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
            child.wait().unwrap();
            assert_eq!(complaint, "", "a writer failed before it was killed");
            // The last line may be half: only whole ones were told.
            let whole = output.rfind('\n').map_or("", |end| &output[..end]);
            for line in whole.lines() {
                let (word, id) = line.split_once(' ').unwrap();
                reported.insert(id.to_owned(), word.to_owned());
            }
        }
    }
    let mut store = SqliteStore::open(&path).unwrap();
    store.verify().unwrap();
    let tasks = store.list(&Filter::default()).unwrap();
    let found: HashMap<&str, Status> = tasks.iter().map(|t| (t.id.as_str(), t.status)).collect();
    for (id, word) in &reported {
        let status =
            found.get(id.as_str()).unwrap_or_else(|| panic!("{id} was {word} and is gone"));
        let expected: &[Status] = match word.as_str() {
            "added" => &[Status::Pending, Status::InProgress, Status::Done],
            "claimed" => &[Status::InProgress, Status::Done],
            _ => &[Status::Done],
        };
        assert!(expected.contains(status), "{id} was {word} and is {status}");
    }
    assert!(
        reported.len() > kills / 4,
        "only {} steps were told: the kills came too early",
        reported.len()
    );
}
