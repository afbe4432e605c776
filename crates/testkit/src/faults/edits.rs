//! A plan that the user changes while ralph works on it.

use std::time::Duration;

use super::Setting;
use super::tally::{Tally, campaign, moment, undisturbed};
use super::world::World;

/// Changes in one run.
const EDITS: usize = 8;

/// Tasks are added, changed and deleted during a run.
pub(super) fn of_plan(setting: &Setting) -> Tally {
    let whole = undisturbed(setting);
    campaign(setting.times.of(4, 100), |number, tally| {
        let mut random = setting.random(10, number);
        let mut world = World::turned(setting, number);
        let (mut added, mut what) = (vec![], String::from("edits:"));
        let run = world.build_disturbed(None, |child| {
            for edit in 0..EDITS {
                std::thread::sleep(moment(&mut random, whole / 4).min(Duration::from_secs(1)));
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                let id = format!("e{edit}");
                let known = ["write", "red", "own", "ask"][random.usize(0..4)];
                let victim = (!added.is_empty()).then(|| random.usize(0..added.len()));
                let call = match (random.u32(0..5), victim) {
                    (0, Some(victim)) => {
                        let id: String = added.remove(victim);
                        let gone = world.env.ralph(&["task", "delete", &id]).code == 0;
                        what += &format!(" delete {id} ({gone})");
                        if !gone {
                            added.push(id);
                        }
                        tally.tried();
                        continue;
                    }
                    (1, _) => vec!["update", known, "-d", "another description"],
                    (2, _) => vec!["update", known, "-p", "1"],
                    _ => {
                        added.push(id.clone());
                        vec!["add", "Added", "--id", &id]
                    }
                };
                what += &format!(" {call:?}");
                // A task that is done is not changed any more.
                let mut all = vec!["task"];
                all.extend(call);
                let _ = world.env.ralph(&all);
                tally.tried();
            }
        });
        world.expect(&added);
        let last = if added.is_empty() { run } else { world.build(None) };
        tally.went_on(&last);
        tally.check(&what, &world, &last);
    })
}
