//! What a test leaves: processes that live in its folder or have its home, and temporary folders of programs
//! that it killed. A test that leaves a process behind fails, unless it killed ralph on purpose and says so.

use std::path::Path;
use std::time::Duration;

use ralph_engine::clock::Stopwatch;

/// How long a process may need to end after the ralph that started it.
const GRACE: Duration = Duration::from_secs(5);

/// The living processes that work in this folder or have a home in it: number and command line. None
/// where there is no `/proc`.
pub fn processes_of(folder: &Path) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    numbers
        .filter(|pid| *pid != own && belongs(*pid, folder))
        .map(|pid| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&words).replace('\0', " "))
        })
        .collect()
}

/// A process that is dead and not yet waited for has neither folder nor environment.
fn belongs(pid: u32, folder: &Path) -> bool {
    let inside =
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let home = environment.split(|byte| *byte == 0).find_map(|variable| {
        let home = variable.strip_prefix(b"HOME=")?;
        Some(String::from_utf8_lossy(home).into_owned())
    });
    inside || home.is_some_and(|home| Path::new(&home).starts_with(folder))
}

/// Waits until nothing of this folder lives; what still does after the grace is killed and returned.
pub fn end_processes_of(folder: &Path, grace: Duration) -> Vec<(u32, String)> {
    let clock = Stopwatch::start();
    let mut left = processes_of(folder);
    while !left.is_empty() && clock.elapsed() < grace {
        std::thread::sleep(Duration::from_millis(10));
        left = processes_of(folder);
    }
    // A process may start another while it is being killed.
    let mut now = left.clone();
    while !now.is_empty() && clock.elapsed() < grace + GRACE {
        for (pid, _) in &now {
            if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
                // It may have ended by itself.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
        now = processes_of(folder);
    }
    left
}

/// Removes the temporary folders of killed programs: `ralph-…-PID-…`. The next run on their worktree would,
/// and that went with the test.
fn remove_folders_of_the_dead() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with("ralph-")) else { continue };
        let pid = name.rsplit('-').nth(1).and_then(|pid| pid.parse::<u32>().ok());
        let alive = |pid: u32| !Path::new("/proc/self").exists() || process_exists(pid);
        if pid.is_some_and(|pid| !alive(pid)) {
            // Somebody else may be removing it.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn process_exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// At the end of a test: nothing of its folder may live. `killed` says why something may.
pub(crate) fn check(folder: &Path, killed: Option<&str>) {
    check_after(GRACE, folder, killed);
}

fn check_after(grace: Duration, folder: &Path, killed: Option<&str>) {
    let grace = if killed.is_some() { Duration::ZERO } else { grace };
    let left = end_processes_of(folder, grace);
    remove_folders_of_the_dead();
    if left.is_empty() || killed.is_some() || std::thread::panicking() {
        return;
    }
    panic!("the test left processes behind: {left:?}");
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A process that sleeps; whatever the test finds, it ends with it.
    struct Sleeper(Child);

    impl Sleeper {
        fn start(command: &mut Command) -> Self {
            let child = command.spawn().unwrap();
            let words = format!("/proc/{}/cmdline", child.id());
            // The new program has no command line yet when `spawn` returns.
            crate::wait_until("the program runs", GRACE, || {
                std::fs::read(&words).is_ok_and(|words| words.starts_with(b"sleep"))
            });
            Self(child)
        }

        fn in_folder(folder: &Path) -> Self {
            Self::start(Command::new("sleep").arg("600").current_dir(folder))
        }

        fn was_killed(mut self) -> bool {
            !self.0.wait().unwrap().success()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_that_a_test_leaves_is_found_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let sleeper = Sleeper::in_folder(folder.path());
        let found = processes_of(folder.path());
        assert_eq!(found, [(sleeper.0.id(), "sleep 600 ".to_owned())]);
        assert_eq!(end_processes_of(folder.path(), Duration::ZERO), found);
        assert!(sleeper.was_killed());
        assert!(processes_of(folder.path()).is_empty());
    }

    #[test]
    fn a_process_with_its_home_in_the_folder_belongs_to_it_wherever_it_works() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let sleeper =
            Sleeper::start(Command::new("sleep").arg("600").current_dir("/").env("HOME", home));
        assert_eq!(end_processes_of(folder.path(), Duration::ZERO).len(), 1);
        assert!(sleeper.was_killed());
    }

    #[test]
    #[should_panic(expected = "left processes behind")]
    fn a_test_that_leaves_one_fails() {
        let folder = tempfile::tempdir().unwrap();
        let _sleeper = Sleeper::in_folder(folder.path());
        check_after(Duration::from_millis(50), folder.path(), None);
    }

    #[test]
    fn one_that_kills_ralph_and_says_so_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let sleeper = Sleeper::in_folder(folder.path());
        check(folder.path(), Some("ralph is killed"));
        assert!(sleeper.was_killed());
    }

    #[test]
    fn folders_of_killed_programs_go_and_those_of_living_ones_stay() {
        let make = |pid: u32| {
            let folder = std::env::temp_dir().join(format!("ralph-index-key-{pid}-x1y2z3"));
            std::fs::create_dir_all(folder.join("deep")).unwrap();
            folder
        };
        let (dead, alive) = (make(u32::MAX), make(std::process::id()));
        remove_folders_of_the_dead();
        let stays = alive.exists();
        std::fs::remove_dir_all(alive).unwrap();
        assert!(stays);
        assert_eq!(dead.exists(), !Path::new("/proc/self").exists());
    }
}
