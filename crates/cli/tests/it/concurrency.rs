//! Many processes, one store: every task is claimed once, and nobody is told a lie.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ralph_testkit::{TestEnv, times};

use crate::RALPH;

fn race(workers: usize, tasks: usize) {
    let env = Arc::new(TestEnv::new(RALPH));
    let plan: String =
        (0..tasks).map(|n| format!("{{\"id\":\"c-{n}\",\"t\":\"Task {n}\"}}\n")).collect();
    env.ralph_with(&["task", "plan-sync"], plan).success();
    let claims = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..workers)
        .map(|worker| {
            let (env, claims) = (Arc::clone(&env), Arc::clone(&claims));
            std::thread::spawn(move || {
                let agent = format!("w{worker}");
                loop {
                    let start = Instant::now();
                    let ran = env.task_as(&agent, &["claim"]);
                    match ran.code {
                        0 => {
                            let first = ran.stdout.lines().next().unwrap();
                            let id = first.strip_prefix("## Task ").unwrap().to_owned();
                            claims.lock().unwrap().push((id, start.elapsed()));
                        }
                        2 => {
                            // "Nothing ready" must be the truth.
                            let taken = claims.lock().unwrap().len();
                            assert!(
                                taken + workers > tasks,
                                "told none after {taken}: {}",
                                ran.stderr
                            );
                            break;
                        }
                        code => panic!("exit {code}: {}", ran.stderr),
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let claims = claims.lock().unwrap();
    let ids: HashSet<&String> = claims.iter().map(|(id, _)| id).collect();
    assert_eq!((claims.len(), ids.len()), (tasks, tasks));
    let worst = claims.iter().map(|(_, took)| *took).max().unwrap();
    // Nobody starves. How long exactly is what the benchmark measures, on a quiet machine.
    assert!(worst < Duration::from_secs(15), "the worst wait was {worst:?}");
    assert_eq!(
        env.task(&["plan-status"]),
        format!("0 open, {tasks} active, 0 done, 0 blocked, 0 deleted\n")
    );
}

#[test]
fn eight_processes_claim_each_task_once() {
    race(8, times(400, 2_000));
}

#[test]
fn thirty_two_processes_claim_each_task_once() {
    race(32, times(600, 2_000));
}

#[test]
fn many_first_writers_make_one_store() {
    for _ in 0..times(6, 200) {
        let env = Arc::new(TestEnv::new(RALPH));
        let threads: Vec<_> = (0..12)
            .map(|worker| {
                let env = Arc::clone(&env);
                std::thread::spawn(move || env.task(&["add", "T", "--id", &format!("id-{worker}")]))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(env.task(&["list"]).lines().count(), 13);
        let exclude = std::fs::read_to_string(env.repo().join(".git/info/exclude")).unwrap();
        assert_eq!(exclude.matches("/.ralph/progress.db*").count(), 1, "{exclude}");
    }
}
