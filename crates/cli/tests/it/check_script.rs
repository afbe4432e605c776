//! What `./check` ends with: `tools/leftovers` lists what tests left behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::env;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn leftovers(what: &str, folder: &Path) -> Output {
    Command::new(root().join("tools/leftovers")).arg(what).arg(folder).output().unwrap()
}

#[test]
fn nothing_left_is_success_and_the_folder_goes() {
    let env = env();
    let folder = env.folder().join("made");
    assert!(leftovers("note", &folder).status.success());
    let ran = leftovers("list", &folder);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(!folder.exists() && !env.folder().join("made.noted").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn processes_and_folders_that_are_left_are_listed_and_fail_the_check() {
    let env = env();
    let folder = env.folder().join("made");
    assert!(leftovers("note", &folder).status.success());
    std::fs::create_dir(folder.join("forgotten")).unwrap();
    let mut works_there =
        Command::new("sleep").arg("600").current_dir(folder.join("forgotten")).spawn().unwrap();
    let mut lives_there = Command::new("sleep")
        .arg("601")
        .current_dir("/")
        .env("HOME", folder.join("gone/home"))
        .spawn()
        .unwrap();
    let ran = leftovers("list", &folder);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{text}");
    let forgotten = format!("folder {}", folder.join("forgotten").display());
    let processes = [
        format!("process {} sleep 600", works_there.id()),
        format!("process {} sleep 601", lives_there.id()),
    ];
    for line in processes.iter().chain([&forgotten]) {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!works_there.wait().unwrap().success() && !lives_there.wait().unwrap().success());
    assert!(!folder.exists());
}
