//! Disks fill up, folders are read-only, files belong to somebody else, processes die: a clear error
//! or a wait, nothing damaged, and it works again afterwards.

use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use ralph_testkit::{TestEnv, private_mounts, times};
use rusqlite::Connection;

use crate::{RALPH, env};

/// Runs a script where `$RALPH`, `$REPO` and `$OUT` are set and mounting is allowed.
fn in_private_mounts(env: &TestEnv, what: &str, script: &str) -> Option<String> {
    let mut command: Command = private_mounts(what, script)?;
    let out = env.folder().join("out");
    std::fs::create_dir_all(&out).unwrap();
    command.env("RALPH", RALPH).env("REPO", env.repo()).env("OUT", &out).env("HOME", env.home());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

#[test]
fn a_full_disk_loses_nothing_and_works_again_when_there_is_space() {
    let env = env();
    std::fs::create_dir(env.repo().join(".ralph")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=1600k tmpfs "$REPO/.ralph"
        head -c 700000 /dev/zero > "$REPO/.ralph/ballast"
        ralph() { "$RALPH" -C "$REPO" "$@"; }
        text=$(head -c 6000 /dev/zero | tr '\0' x)
        i=0
        while ralph task add "Task $i" --id "x$i" -d "$text" >> "$OUT/acknowledged" 2> "$OUT/error"; do
            i=$((i + 1)); [ $i -lt 500 ]
        done
        cat "$OUT/error"
        for call in "task add again --id again" "task claim" "task plan-status"; do
            ralph $call > /dev/null 2>> "$OUT/later" || true
        done
        if grep -qi panick "$OUT/later"; then exit 1; fi
        rm "$REPO/.ralph/ballast"
        ralph task add "After" --id after
        ralph task list | grep -o '^x[0-9]*' > "$OUT/found"
        diff "$OUT/acknowledged" "$OUT/found" && echo SAME $i
    "#;
    let Some(text) = in_private_mounts(&env, "disk full", script) else {
        return;
    };
    assert!(text.contains("error: the disk is full"), "{text}");
    assert!(text.contains("hint: free some space"), "{text}");
    assert!(text.contains("after\nSAME"), "{text}");
}

#[test]
fn a_read_only_folder_can_be_read_and_says_why_it_cannot_be_written() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    let script = r#"
        mount --bind "$REPO/.ralph" "$REPO/.ralph"
        mount -o remount,bind,ro "$REPO/.ralph"
        ralph() { "$RALPH" -C "$REPO" "$@"; }
        ralph task list
        ralph task add "Second" 2>&1 && exit 1
        echo "code $?"
        umount "$REPO/.ralph"
        ralph task add "Third" --id c
    "#;
    let Some(text) = in_private_mounts(&env, "read-only folder", script) else {
        return;
    };
    assert!(text.contains("a   2  open       First"), "{text}");
    assert!(
        text.contains("cannot be written") && text.contains("hint:") && text.contains("code 1"),
        "{text}"
    );
    assert!(text.ends_with("c\n"), "{text}");
}

#[test]
fn a_read_only_repository_without_a_store_says_so() {
    let env = env();
    let script = r#"
        mount --bind "$REPO" "$REPO"
        mount -o remount,bind,ro "$REPO"
        "$RALPH" -C "$REPO" task list
        "$RALPH" -C "$REPO" task add "First" 2>&1 && exit 1
        echo "code $?"
    "#;
    let Some(text) = in_private_mounts(&env, "read-only repository", script) else {
        return;
    };
    assert!(text.contains("Read-only file system") && text.contains("code 1"), "{text}");
}

/// How soon a writer goes on once it may, on a busy machine: without a word it would be a minute and a half.
const SOON: Duration = Duration::from_secs(15);

#[test]
fn a_locked_store_is_waited_for() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    // ralph says after two seconds that it waits.
    let hold = Duration::from_secs(times(4, 61) as u64);
    let other = Connection::open(env.store()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let child = env.start(&["task", "add", "Second", "--id", "b"]);
    // Reading does not wait.
    assert!(env.task(&["list"]).contains("First"));
    assert!(start.elapsed() < SOON);
    std::thread::sleep(hold);
    other.execute_batch("COMMIT").unwrap();
    let free = Instant::now();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("waiting for another process"), "{printed}");
    assert!(free.elapsed() < SOON, "{:?}", free.elapsed());
    assert!(env.task(&["list"]).contains("Second"));
}

/// A process may be stopped in the very moment in which it has the lock of the writers for itself.
#[test]
fn a_writer_that_is_stopped_with_the_lock_is_waited_for() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    let lock = std::fs::File::open(env.repo().join(".ralph/progress.db-lock")).unwrap();
    lock.lock().unwrap();
    let mut child = env.start(&["task", "add", "Second", "--id", "b"]);
    let mut output = child.stderr.take().unwrap();
    let mut first = [0; 64];
    let length = output.read(&mut first).unwrap();
    let first = String::from_utf8_lossy(&first[..length]).into_owned();
    assert!(first.contains("waiting for another process"), "{first}");
    lock.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(env.task(&["list"]).contains("Second"));
}

#[test]
fn a_foreign_folder_is_left_alone() {
    let env = env();
    let other = env.write(".ralph/progress.db", "notes of another tool\n".repeat(40));
    let before = std::fs::read(&other).unwrap();
    for call in [&["task", "add", "T"][..], &["task", "list"], &["task", "claim"]] {
        let output = env.ralph(call).failure(1);
        assert!(
            output.contains("not a task database of ralph") && output.contains("mv "),
            "{output}"
        );
    }
    assert_eq!(std::fs::read(&other).unwrap(), before);

    std::fs::remove_file(&other).unwrap();
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE tasks (id); INSERT INTO tasks VALUES (1)")
        .unwrap();
    let before = std::fs::read(&other).unwrap();
    let output = env.ralph(&["task", "add", "T"]).failure(1);
    assert!(output.contains("a database of another program"), "{output}");
    assert_eq!(std::fs::read(&other).unwrap(), before);

    std::fs::remove_file(&other).unwrap();
    env.write(".ralph/state.toml", "loop: yaml, not toml");
    let output = env.ralph(&["task", "add", "T"]).failure(1);
    assert!(output.contains("state.toml was not created by ralph"), "{output}");
    assert!(!other.exists());
}

#[test]
fn an_empty_file_becomes_a_store() {
    let env = env();
    env.write(".ralph/progress.db", "");
    assert_eq!(env.task(&["plan-status"]), "0 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
    env.task(&["add", "First"]);
}

#[test]
fn a_schema_from_the_future_is_refused_untouched() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    let known = version(&env);
    Connection::open(env.store()).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    for call in [&["task", "list"][..], &["task", "add", "T"]] {
        let output = env.ralph(call).failure(1);
        assert!(
            output.contains("written by a newer ralph") && output.contains("update ralph"),
            "{output}"
        );
    }
    let back = format!("PRAGMA user_version = {known}");
    Connection::open(env.store()).unwrap().execute_batch(&back).unwrap();
    assert!(env.task(&["list"]).contains("First"));
}

/// The number of the schema.
fn version(env: &TestEnv) -> i64 {
    let connection = Connection::open(env.store()).unwrap();
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_store_of_an_older_ralph_is_brought_up_to_date() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    let known = version(&env);
    let first = "ALTER TABLE attempts DROP COLUMN changed; ALTER TABLE attempts DROP COLUMN said;
                 ALTER TABLE attempts DROP COLUMN fingerprint;
                 ALTER TABLE attempts DROP COLUMN program;
                 INSERT INTO attempts (id, task, agent, generation, started_at, ended_at, outcome,
                   detail, input_tokens, output_tokens)
                 VALUES ('a-1', 1, 'x', 1, 1000, 2000, 'red', 'no', 1, 1);
                 PRAGMA user_version = 1";
    Connection::open(env.store()).unwrap().execute_batch(first).unwrap();
    let shown = env.task(&["show", "a", "--json"]);
    assert!(shown.contains("\"outcome\":\"red\"") && shown.contains("\"said\":\"\""), "{shown}");
    assert_eq!(version(&env), known);
}

/// Fills a store, folds its log in and damages a page in the middle; returns the whole bytes.
fn damaged(env: &TestEnv) -> Vec<u8> {
    let plan: String = (0..3_000)
        .map(|n| format!("{{\"id\":\"n{n}\",\"t\":\"Task {n}\",\"d\":\"{}\"}}\n", "y".repeat(200)))
        .collect();
    env.ralph_with(&["task", "plan-sync"], plan).success();
    Connection::open(env.store())
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let whole = std::fs::read(env.store()).unwrap();
    let mut bad = whole.clone();
    let page = (bad.len() / 4096 / 2) * 4096;
    bad[page..page + 4096].fill(0xa5);
    std::fs::write(env.store(), bad).unwrap();
    whole
}

#[test]
fn a_damaged_file_is_named_and_works_again_when_fixed() {
    let env = env();
    let whole = damaged(&env);
    let output = env.ralph(&["task", "list"]).failure(1);
    assert!(
        output.contains("is damaged") && output.contains("sqlite3") && output.contains(".recover"),
        "{output}"
    );
    std::fs::write(env.store(), whole).unwrap();
    assert_eq!(env.task(&["list"]).lines().count(), 3_001);
}

#[test]
fn the_file_is_checked_after_a_writer_was_cut_off() {
    let env = env();
    damaged(&env);
    let lock = env.repo().join(".ralph/progress.db-lock");
    assert_eq!(std::fs::read(&lock).unwrap(), b"0", "the last writer left by the door");
    std::fs::write(&lock, b"1").unwrap();
    let output = env.ralph(&["task", "add", "T"]).failure(1);
    assert!(output.contains("is damaged"), "{output}");
}

#[test]
fn killed_commands_leave_a_store_that_works() {
    let env = env();
    env.task(&["add", "First", "--id", "base"]);
    let mut random = fastrand::Rng::with_seed(11);
    let mut acknowledged = vec!["base".to_owned()];
    for round in 0..times(150, 1_000) {
        let id = format!("k{round}");
        let mut child = env.start(&["task", "add", "T", "--id", &id]);
        std::thread::sleep(Duration::from_micros(random.u64(0..9_000)));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if String::from_utf8_lossy(&output.stdout) == format!("{id}\n") {
            acknowledged.push(id);
        }
    }
    let list = env.task(&["list"]);
    for id in &acknowledged {
        assert!(list.lines().any(|line| line.starts_with(&format!("{id} "))), "{id} is gone");
    }
    env.task(&["claim"]);
}
