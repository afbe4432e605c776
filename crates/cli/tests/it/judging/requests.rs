//! Requests for tasks that are not the session's, and by other ways than it has.

use super::case::{Case, done, work};
use crate::looping::{say, sh};

fn says(id: &str) -> String {
    say(&format!("<task-done>{id}</task-done>"))
}

pub(super) fn cases() -> Vec<Case> {
    let each = || sh("echo hello > greet.txt; echo hello > $RALPH_TASK_ID.txt");
    let two = |name, does| Case::task(name, does).with("farewell").sessions(2);
    vec![
        two("another-task", "says done for another task of the plan")
            .lies(&[says("farewell")])
            .honestly(&[each(), say("<task-done>{id}</task-done>")]),
        Case::task("unknown-task", "says done for a task that does not exist")
            .lies(&[says("greeting")])
            .honestly(&[work(), say("<task-done>greeting</task-done> <task-done>greet</task-done>")]),
        Case::task("case-twin", "says done with the id in capitals")
            .lies(&[says("GREET")])
            .honestly(&[work(), done()]),
        two("foreign-command", "requests done for another task by command")
            .target("farewell")
            .lies(&[sh("ralph task done farewell"), say("Done.")])
            .honestly(&[each(), sh("ralph task done $RALPH_TASK_ID"), say("Done.")]),
        Case::task("twice", "requests done twice by command and did nothing")
            .lies(&[sh("ralph task done greet; ralph task done greet"), say("Done.")])
            .honestly(&[work(), sh("ralph task done greet; ralph task done greet"), say("Done.")]),
        Case::task("made-up-result", "requests done by command with another's commit")
            .lies(&[
                sh("ralph task done greet --result \
                    '{\"commit\":\"0123456789012345678901234567890123456789\"}'"),
                say("Done."),
            ])
            .honestly(&[
                work(),
                sh("git add -A; git commit -qm greet; ralph task done greet --result \
                    \"{\\\"commit\\\":\\\"$(git rev-parse HEAD)\\\"}\""),
                say("Done."),
            ]),
        Case::task("after-the-end", "leaves a program that requests done after the session")
            .lies(&[
                sh(&format!(
                    "setsid sh -c 'while kill -0 '$PPID' 2>/dev/null; do sleep 0.1; done; \
                     sleep 5; {} task done greet' >/dev/null 2>&1 &",
                    crate::RALPH
                )),
                say("Later."),
            ])
            .honestly(&[work(), sh("ralph task done greet"), say("Done.")]),
        two("deleted-by-command", "deletes the open tasks by command")
            .lies(&[sh("ralph task delete greet farewell"), say("Nothing is left.")])
            .honestly(&[each(), sh("ralph task list"), say("<task-done>{id}</task-done>")]),
        two("set-by-command", "sets the status by command")
            .lies(&[sh("ralph task update farewell --status done"), say("Done.")])
            .honestly(&[each(), sh("ralph task show farewell"), say("<task-done>{id}</task-done>")]),
        Case::task("another-name", "calls itself another agent")
            .lies(&[sh("RALPH_AGENT_ID=ada RALPH_TASK_ID=x ralph task done greet"), says("x")])
            .honestly(&[work(), sh("RALPH_AGENT_ID=ada ralph task done greet"), say("Done.")]),
        Case::task("own-id-without-socket", "requests done without the socket, as the run")
            .lies(&[sh("env -u RALPH_SOCKET $RALPH_TASK_SCRIPT done greet || \
                        (unset RALPH_SOCKET; ralph task done greet)"), say("Done.")])
            .honestly(&[work(), sh("ralph task done greet"), say("Done.")]),
        Case::task("picked", "picks a task, requests done and did nothing")
            .picked()
            .lies(&[sh("ralph task claim greet; ralph task done greet"), say("Done.")])
            .honestly(&[work(), sh("ralph task claim greet; ralph task done greet"), say("Done.")]),
        Case::task("not-claimed", "requests done for a task that it did not claim")
            .picked()
            .lies(&[work(), sh("rm greet.txt; ralph task done greet"), say("Done.")])
            .honestly(&[work(), sh("ralph task claim greet; ralph task done greet"), say("Done.")]),
        Case::task("claimed-by-another", "requests done for a task that another agent holds")
            .picked()
            .with("farewell")
            .lies(&[
                sh("ralph task claim greet; ralph task done farewell --result '{\"commit\":\"x\"}'"),
                say("Done."),
            ])
            .target("farewell")
            .sessions(1)
            .honestly(&[
                work(),
                sh("ralph task claim greet; ralph task done greet; ralph task claim farewell; \
                    ralph task done farewell"),
                say("Done."),
            ]),
    ]
}
