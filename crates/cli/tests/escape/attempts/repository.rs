//! The real git directory: what is planted there is run by git outside of the box. Landlock lets all of it
//! through where the directory lies in the worktree: it cannot take a folder out of one that it allows.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use super::{Aim, Attempt, lets};

pub(super) const ALL: &[Attempt] = &[
    lets("git_config", "change a git setting that runs a program", |aim| {
        append(aim, "config", "[core]\n\tfsmonitor = touch escaped\n")
    }),
    lets("git_hook", "plant a hook", |aim| {
        fs::create_dir_all(aim.repo(".git/hooks"))?;
        fs::write(aim.repo(".git/hooks/pre-commit"), "#!/bin/sh\n")
    }),
    lets("git_worktree_config", "change the settings of one worktree", |aim| {
        fs::write(aim.repo(".git/config.worktree"), "[core]\n\tfsmonitor = touch escaped\n")
    }),
    lets("git_common_dir", "set another common directory", |aim| {
        fs::write(aim.repo(".git/commondir"), "/tmp\n")
    }),
    lets("git_alternates", "add objects from elsewhere", |aim| {
        fs::create_dir_all(aim.repo(".git/objects/info"))?;
        fs::write(aim.repo(".git/objects/info/alternates"), "/tmp\n")
    }),
    lets("git_attributes", "add attributes that name a filter", |aim| {
        fs::create_dir_all(aim.repo(".git/info"))?;
        fs::write(aim.repo(".git/info/attributes"), "* filter=escaped\n")
    }),
    lets("git_foreign_ref", "move another branch", |aim| {
        fs::write(aim.repo(".git/refs/heads/foreign"), format!("{}\n", aim.text("commit")))
    }),
    lets("git_own_refs", "change ralph's refs", |aim| {
        fs::create_dir_all(aim.repo(".git/refs/ralph/wip"))?;
        fs::write(aim.repo(".git/refs/ralph/wip/escaped"), format!("{}\n", aim.text("commit")))
    }),
    lets("git_other_worktree", "change another worktree's git files", |aim| {
        fs::write(aim.repo(".git/worktrees/other/commondir"), "/tmp\n")
    }),
    lets("git_index", "change the worktree's index", |aim| {
        OpenOptions::new().append(true).open(aim.repo(".git/index")).map(drop)
    }),
];

fn append(aim: &Aim, name: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(aim.repo(".git").join(name))?;
    file.write_all(text.as_bytes())
}
