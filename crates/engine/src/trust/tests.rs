//! The ledger on disk, and what sessions do to deciding files.

use std::sync::Arc;

use ralph_core::trust::{AGENTS, FOUND, INCLUDE, SETTINGS};

use super::*;
use crate::git::git;

struct World {
    _folder: tempfile::TempDir,
    state: PathBuf,
    project: Project,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("repo");
        std::fs::create_dir_all(&root).unwrap();
        git(&root, &["init", "-q"]).unwrap();
        let project = Project::find(&root).unwrap();
        Self { _folder: folder, state: base.join("state"), project }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.project.worktree.join(name), text).unwrap();
    }

    fn trust(&self) -> Trust {
        Trust::of(Some(&self.state), &self.project)
    }

    fn deciding(&self) -> Deciding {
        Deciding {
            trust: self.trust(),
            home: self.project.worktree.clone(),
            named: vec!["docs/my.md".to_owned()],
            found: Arc::new(|worktree| {
                worktree.join("Makefile").exists().then(|| "make test".to_owned())
            }),
            open: false,
        }
    }

    fn now(&self, name: &str) -> Version {
        version(&self.project.worktree, name)
    }

    /// What counts in place of what a file says now.
    fn instead(&self, name: &str) -> Option<Version> {
        self.trust().read().unwrap().instead_of(name, &self.now(name))
    }
}

fn text(text: &str) -> Version {
    Version::Text(text.to_owned())
}

#[test]
fn what_changes_during_a_session_waits_and_what_changes_outside_of_one_is_yours() {
    let world = World::new();
    world.write(SETTINGS, "mine");
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    let watch = deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    world.write(SETTINGS, "theirs");
    world.write(INCLUDE, ".env");
    assert_eq!(deciding.session_wrote(&watch).unwrap(), [INCLUDE, SETTINGS]);
    // Asked again, as after the gates, there is nothing new.
    assert!(deciding.session_wrote(&watch).unwrap().is_empty());
    deciding.run_ends("r-").unwrap();
    assert_eq!(world.instead(SETTINGS), Some(text("mine")));
    assert_eq!(world.instead(INCLUDE), Some(Version::Absent));
    assert!(world.trust().read().unwrap().sessions.is_empty());
    world.write(SETTINGS, "mine again");
    assert_eq!(world.instead(SETTINGS), None);
    deciding.run_begins().unwrap();
    world.write(SETTINGS, "theirs");
    assert_eq!(world.instead(SETTINGS), Some(text("mine again")));
}

#[test]
fn of_agents_md_only_the_test_command_decides() {
    let world = World::new();
    world.write(AGENTS, "# A\n\n```sh\nTEST_COMMAND=\"make check\"\n```\n");
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    let watch = deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    world.write(AGENTS, "# Learned a lot\n\n```sh\nTEST_COMMAND=\"make check\"\n```\n");
    assert!(deciding.session_wrote(&watch).unwrap().is_empty());
    world.write(AGENTS, "```sh\nTEST_COMMAND=\"true\"\n```\n");
    assert_eq!(deciding.session_wrote(&watch).unwrap(), [AGENTS]);
    assert_eq!(world.instead(AGENTS), Some(text("make check")));
}

#[test]
fn a_file_that_only_settings_name_is_watched_and_a_link_out_counts_for_nothing() {
    let world = World::new();
    std::fs::create_dir(world.project.worktree.join("docs")).unwrap();
    world.write("docs/my.md", "mine");
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    let watch = deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    let path = world.project.worktree.join("docs/my.md");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert_eq!(deciding.session_wrote(&watch).unwrap(), ["docs/my.md"]);
    assert_eq!(world.instead("docs/my.md"), Some(text("mine")));
}

#[test]
fn what_a_killed_session_left_waits_and_what_you_wrote_after_it_does_not() {
    let world = World::new();
    for name in [SETTINGS, INCLUDE, "PROMPT_build.md"] {
        world.write(name, "mine");
    }
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    world.write(SETTINGS, "theirs");
    std::fs::remove_file(world.project.worktree.join(INCLUDE)).unwrap();
    // The stamp says when the session lived last; the run was killed then.
    let stamp = world.project.git_dir.join("ralph-session");
    std::fs::write(&stamp, "ended\n").unwrap();
    let lived = std::fs::metadata(world.project.worktree.join(SETTINGS)).unwrap().modified();
    std::fs::File::open(&stamp).unwrap().set_modified(lived.unwrap()).unwrap();
    // Files know the time to a few milliseconds.
    let later = crate::clock::Stopwatch::start();
    while later.elapsed() < std::time::Duration::from_millis(30) {
        world.write("PROMPT_build.md", "mine again");
    }
    world
        .trust()
        .update(|ledger| {
            ledger.sessions[0].run = (ledger.sessions[0].run.0.clone(), "x".into(), 1, 1);
        })
        .unwrap();
    let ledger = world.trust().settled(&deciding.found).unwrap();
    assert_eq!(ledger.instead_of(SETTINGS, &world.now(SETTINGS)), Some(text("mine")));
    assert_eq!(ledger.instead_of(INCLUDE, &world.now(INCLUDE)), Some(text("mine")));
    assert_eq!(ledger.instead_of("PROMPT_build.md", &world.now("PROMPT_build.md")), None);
    assert!(ledger.sessions.is_empty());
}

#[test]
fn a_session_of_a_run_that_lives_is_left_alone() {
    let world = World::new();
    let deciding = world.deciding();
    deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    world.write(SETTINGS, "theirs");
    assert_eq!(world.trust().settled(&deciding.found).unwrap().sessions.len(), 1);
    assert_eq!(world.instead(SETTINGS), None);
}

#[test]
fn a_session_elsewhere_may_bring_in_what_you_have_and_nothing_else() {
    let world = World::new();
    let elsewhere = world.state.parent().unwrap().join("other");
    std::fs::create_dir(&elsewhere).unwrap();
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    let watch = deciding.session_begins(&elsewhere, "r-1").unwrap();
    // You changed it on the main branch meanwhile, and the session merged that.
    world.write(SETTINGS, "yours");
    std::fs::write(elsewhere.join(SETTINGS), "yours").unwrap();
    assert!(deciding.session_wrote(&watch).unwrap().is_empty());
    std::fs::write(elsewhere.join(SETTINGS), "theirs").unwrap();
    assert_eq!(deciding.session_wrote(&watch).unwrap(), [SETTINGS]);
    world.write(SETTINGS, "theirs");
    assert_eq!(world.instead(SETTINGS), Some(Version::Absent));
    // Without a sandbox a session elsewhere can write here, too.
    let open = Deciding { open: true, ..world.deciding() };
    let watch = open.session_begins(&elsewhere, "r-1").unwrap();
    world.write(SETTINGS, "also theirs");
    assert_eq!(open.session_wrote(&watch).unwrap(), [SETTINGS]);
}

#[test]
fn what_ralph_merged_of_a_sessions_work_is_the_sessions() {
    let world = World::new();
    world.write(SETTINGS, "a\nb\n");
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    world.write(SETTINGS, "a, by a session\nb, by you\n");
    deciding.work_was_merged(&world.project.worktree, |_| text("a\nb, by you\n")).unwrap();
    assert_eq!(world.instead(SETTINGS), Some(text("a\nb\n")));
}

#[test]
fn an_approval_is_of_one_git_directory_and_sessions_words_stay() {
    let world = World::new();
    world.write(SETTINGS, "mine");
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    world.trust().set_approval(Approval::Approved).unwrap();
    assert_eq!(world.trust().read().unwrap().approval, Approval::Approved);
    let watch = deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    world.write(SETTINGS, "theirs");
    deciding.session_wrote(&watch).unwrap();
    // Another repository at the same path.
    std::fs::remove_dir_all(&world.project.git_dir).unwrap();
    git(&world.project.worktree, &["init", "-q"]).unwrap();
    let ledger = world.trust().read().unwrap();
    assert_eq!(ledger.approval, Approval::Never);
    assert_eq!(ledger.instead_of(SETTINGS, &text("theirs")), Some(text("mine")));
}

#[test]
fn without_a_state_folder_nothing_is_kept_and_nothing_fails() {
    let world = World::new();
    let trust = Trust::of(None, &world.project);
    trust.set_approval(Approval::Approved).unwrap();
    assert_eq!(trust.read().unwrap().approval, Approval::Never);
}

#[test]
fn a_ledger_that_is_no_ledger_is_an_error() {
    let world = World::new();
    write_privately(&world.trust().path().unwrap(), "{ not json").unwrap();
    assert!(world.trust().read().is_err());
    assert!(world.trust().set_approval(Approval::Approved).is_err());
}

#[test]
fn a_clone_is_distinguished_from_a_repository_that_was_made_here() {
    let world = World::new();
    assert_eq!(clone_source(&world.project), None);
    world.write("a", "a");
    git(&world.project.worktree, &["add", "a"]).unwrap();
    let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "clone: from x"];
    git(&world.project.worktree, &commit).unwrap();
    assert_eq!(clone_source(&world.project), None);
    let to = world.state.parent().unwrap().join("clone");
    let from = world.project.worktree.to_str().unwrap();
    git(&world.project.worktree, &["clone", "-q", from, to.to_str().unwrap()]).unwrap();
    let clone = Project::find(&to).unwrap();
    assert_eq!(clone_source(&clone).as_deref(), Some(from));
    // A worktree of the clone is the clone.
    let side = world.state.parent().unwrap().join("side");
    git(&to, &["worktree", "add", "-q", side.to_str().unwrap()]).unwrap();
    let side = Project::find(&side).unwrap();
    assert!(clone_source(&side).is_some());
    assert_eq!(Trust::of(Some(&world.state), &side), Trust::of(Some(&world.state), &clone));
}

#[test]
fn a_test_command_that_the_project_shows_is_not_swapped_by_a_session() {
    let world = World::new();
    let deciding = world.deciding();
    deciding.run_begins().unwrap();
    let watch = deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    world.write("Makefile", "test:\n");
    // There was none before: any is more than that.
    assert!(deciding.session_wrote(&watch).unwrap().is_empty());
    deciding.run_begins().unwrap();
    let watch = deciding.session_begins(&world.project.worktree, "r-1").unwrap();
    std::fs::remove_file(world.project.worktree.join("Makefile")).unwrap();
    assert_eq!(deciding.session_wrote(&watch).unwrap(), [FOUND]);
    let ledger = world.trust().read().unwrap();
    assert_eq!(ledger.instead_of(FOUND, &Version::Absent), Some(text("make test")));
}
