//! `ralph trust`: clones ask once, what sessions write into deciding files waits for the user, and nothing else asks.

mod clones;
mod command;
mod sessions;

use ralph_testkit::{Ran, TestEnv};

use crate::looping::{
    arguments, build, cassette, classes, project, say, session, sh, status, works, write,
};

/// A gate that passes once there is a file `proof.txt`.
const SETTINGS: &str = "[[gate]]\nname = \"proof\"\ncommand = \"test -f proof.txt\"\n";

/// A repository with these files committed.
fn committed(tasks: &[&str], files: &[(&str, &str)]) -> TestEnv {
    let env = project(tasks);
    for (path, text) in files {
        env.write(path, text);
    }
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "files"]);
    env
}
