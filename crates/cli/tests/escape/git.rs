//! The real git directory is out of reach: what is planted there would be run outside of the box.

use std::fs;

use crate::world::{Who, World, everybody, has_boxes};

#[test]
fn landlock_alone_lets_the_git_directory_of_the_main_worktree_be_changed() {
    let world = World::new(Who::Me, "landlock");
    world.aim("repository");
    let ended = world.build(&[]);
    let tried = world.tried(&ended);
    let held: Vec<_> = tried.iter().filter(|(_, (worked, _))| !worked).collect();
    assert!(held.is_empty(), "say so in docs/sandbox.md: {held:#?}");
}

#[test]
fn nothing_that_a_session_plants_gets_into_the_real_git_directory() {
    if !has_boxes("the real git directory") {
        return;
    }
    for who in everybody("the real git directory") {
        let world = World::new(who, "full");
        world.aim("repository");
        let config = fs::read(world.repo(".git/config")).unwrap();
        let foreign = fs::read(world.repo(".git/refs/heads/foreign")).unwrap();
        let common = fs::read(world.repo(".git/worktrees/other/commondir")).unwrap();
        let ended = world.build(&[]);
        assert_eq!(ended.code, 0, "{}", ended.output);
        // In a directory of its own all of it works, and leads nowhere.
        let _ = world.tried(&ended);
        assert_eq!(fs::read(world.repo(".git/config")).unwrap(), config, "{who:?}");
        assert_eq!(fs::read(world.repo(".git/refs/heads/foreign")).unwrap(), foreign);
        assert_eq!(fs::read(world.repo(".git/worktrees/other/commondir")).unwrap(), common);
        for planted in [
            "hooks/pre-commit",
            "config.worktree",
            "commondir",
            "objects/info/alternates",
            "info/attributes",
            "refs/ralph/wip/escaped",
        ] {
            assert!(!world.repo(".git").join(planted).exists(), "{who:?}: {planted}");
        }
        assert!(!world.repo("escaped").exists());
    }
}
