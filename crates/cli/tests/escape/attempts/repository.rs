//! The real git directory: what is planted there is run by git outside of the box. Landlock lets all of it
//! through where the directory lies in the worktree: it cannot take a folder out of one that it allows.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use super::{Aim, Attempt, lets};

pub(super) const ALL: &[Attempt] = &[
    lets("git_config", "a setting of git that runs a program", |aim| {
        append(aim, "config", "[core]\n\tfsmonitor = touch escaped\n")
    }),
    lets("git_hook", "a hook", |aim| {
        fs::create_dir_all(aim.repo(".git/hooks"))?;
        fs::write(aim.repo(".git/hooks/pre-commit"), "#!/bin/sh\n")
    }),
    lets("git_worktree_config", "settings of one worktree", |aim| {
        fs::write(aim.repo(".git/config.worktree"), "[core]\n\tfsmonitor = touch escaped\n")
    }),
    lets("git_common_dir", "another common directory", |aim| {
        fs::write(aim.repo(".git/commondir"), "/tmp\n")
    }),
    lets("git_alternates", "objects from elsewhere", |aim| {
        fs::create_dir_all(aim.repo(".git/objects/info"))?;
        fs::write(aim.repo(".git/objects/info/alternates"), "/tmp\n")
    }),
    lets("git_attributes", "attributes that name a filter", |aim| {
        fs::create_dir_all(aim.repo(".git/info"))?;
        fs::write(aim.repo(".git/info/attributes"), "* filter=escaped\n")
    }),
    lets("git_foreign_ref", "a branch of somebody else", |aim| {
        fs::write(aim.repo(".git/refs/heads/foreign"), format!("{}\n", aim.text("commit")))
    }),
    lets("git_own_refs", "the refs of ralph", |aim| {
        fs::create_dir_all(aim.repo(".git/refs/ralph/wip"))?;
        fs::write(aim.repo(".git/refs/ralph/wip/escaped"), format!("{}\n", aim.text("commit")))
    }),
    lets("git_other_worktree", "the files of another worktree", |aim| {
        fs::write(aim.repo(".git/worktrees/other/commondir"), "/tmp\n")
    }),
    lets("git_index", "the index of the worktree", |aim| {
        OpenOptions::new().append(true).open(aim.repo(".git/index")).map(drop)
    }),
];

fn append(aim: &Aim, name: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(aim.repo(".git").join(name))?;
    file.write_all(text.as_bytes())
}
