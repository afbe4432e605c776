//! However often and wherever a run is interrupted: all its parts together never start more sessions than
//! the limit that it was given.

use std::process::Command;

use ralph_testkit::{TestEnv, sample, times, wait_until};

use super::project;
use crate::looping::{PATIENCE, cassette, runs, works};

/// Numbers that are the same in each run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Sessions that all runs in this repository have started.
fn started(env: &TestEnv) -> usize {
    let text = |run: &std::path::PathBuf| {
        std::fs::read_to_string(run.join("events.jsonl")).unwrap_or_default()
    };
    let count = |run| text(run).matches("\"kind\":\"session_started\"").count();
    runs(env).iter().map(count).sum()
}

#[test]
fn no_interruption_buys_a_session() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 + sample());
    for plan in 0..times(6, 100) {
        let tasks = 2 + dice.below(5) as usize;
        let limit = 1 + dice.below(tasks as u64) as usize;
        let ids: Vec<String> = (0..tasks).map(|n| format!("t{n}")).collect();
        let mut env = project(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        env.without_sandbox("it measures counting only");
        env.set("RALPH_AGENT_NAME", "script");
        let work = works();
        let path = cassette(&env, &vec![work.as_str(); 40]);
        env.set("RALPH_AGENT_SCRIPT_PATH", path.to_str().unwrap());
        let points = env.ralph(&["__crash-points"]).success();
        let points: Vec<&str> = points.lines().collect();
        let mut log = vec![format!("plan {plan}: {tasks} tasks, {limit} sessions")];
        let number = limit.to_string();
        let mut ended = false;
        for turn in 0..12 {
            let mut call = vec!["build"];
            if turn == 0 {
                call.push(&number);
            }
            // The last turns are not interrupted, so that every run ends.
            let how = if turn < 9 { dice.below(5) } else { 9 };
            let code = match how {
                0..=2 => {
                    let point = points[dice.below(points.len() as u64) as usize];
                    let point = format!("{point}:{}", 1 + dice.below(2));
                    log.push(point.clone());
                    let output = env.command(&call).env("RALPH_TEST_CRASH", &point).output();
                    output.unwrap().status.code()
                }
                3 | 4 => {
                    let before = started(&env);
                    let mut running = env.start(&call);
                    let pid = running.id().to_string();
                    wait_until("a session or the end", PATIENCE, || {
                        started(&env) > before || running.try_wait().unwrap().is_some()
                    });
                    log.push(if how == 3 { "interrupt" } else { "cancel" }.to_owned());
                    if how == 3 {
                        for _ in 0..2 {
                            let _ = Command::new("kill").args(["-INT", &pid]).status();
                        }
                    } else {
                        env.ralph(&["cancel", "--now"]);
                    }
                    running.wait().unwrap().code()
                }
                _ => env.ralph(&call).code.into(),
            };
            log.push(format!("{code:?}, {} started", started(&env)));
            assert!(started(&env) <= limit, "{log:#?}");
            // Killed after its last record was written, a run has ended all the same.
            let state = std::fs::read_to_string(env.repo().join(".ralph/state.toml"));
            let over = state.unwrap_or_default().contains("finished = true");
            ended = over || !matches!(code, None | Some(130 | 1));
            if ended {
                break;
            }
        }
        assert!(ended, "{log:#?}");
    }
}
