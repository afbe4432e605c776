//! A killed ralph takes its agent with it; what the agent put into the background is found by the next.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use ralph_engine::process::end_leftovers;

use crate::kit::{FAKE_AGENT, SUPERVISED, pids, survivors, until};

/// A supervisor in a process of its own, whose agent has somebody in the background.
fn start(project: &Path) -> Child {
    let pids = project.join("pids");
    let ready = project.join("ready");
    let mut command = Command::new(SUPERVISED);
    command.arg(project).arg(FAKE_AGENT).arg("--pids").arg(&pids);
    command.args(["--grandchild-setsid", "--pids"]).arg(&ready).arg("--hang");
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    until("the agent is ready", || ready.exists());
    child
}

#[test]
fn what_a_killed_ralph_left_is_ended_by_the_next_on_the_same_project() {
    let (project, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = project.path().join("pids");
    let mut ralph = start(project.path());
    assert_eq!(pids(&file).len(), 2);

    assert_eq!(end_leftovers(project.path()), 0, "that ralph lives");
    assert_eq!(survivors(&file).len(), 2);

    ralph.kill().unwrap();
    ralph.wait().unwrap();
    // The agent dies with its ralph; the other has left the family.
    until("the agent is gone", || survivors(&file).len() < 2);
    assert_eq!(survivors(&file), pids(&file)[1..]);

    assert_eq!(end_leftovers(other.path()), 0, "that is another project");
    assert_eq!(survivors(&file).len(), 1);

    assert_eq!(end_leftovers(project.path()), 1);
    assert_eq!(survivors(&file), Vec::<u32>::new());
    assert_eq!(end_leftovers(project.path()), 0);
}

#[test]
fn two_ralphs_on_one_project_are_distinguished() {
    let project = tempfile::tempdir().unwrap();
    let (mut dead, file) = (start(project.path()), project.path().join("pids"));
    let before = pids(&file);
    std::fs::remove_file(project.path().join("ready")).unwrap();
    let mut living = start(project.path());
    dead.kill().unwrap();
    dead.wait().unwrap();
    until("the agent is gone", || survivors(&file).len() < 4);

    assert_eq!(end_leftovers(project.path()), 1);
    assert_eq!(survivors(&file), pids(&file)[before.len()..]);

    living.kill().unwrap();
    living.wait().unwrap();
    until("the agent is gone", || survivors(&file).len() < 2);
    assert_eq!(end_leftovers(project.path()), 1);
}
