//! Work that is in git, and not where it counts; and git made to show what is not so.

use super::case::{Case, GREETS, done, work};
use crate::looping::{sh, write};

/// The earlier work must be there as well.
const BOTH: &str = "test \"$(cat greet.txt)\" = hello && test \"$(cat base.txt)\" = base";

fn after_earlier(name: &'static str, does: &'static str) -> Case {
    let given = "echo base > base.txt; git add -A; git commit -qm base; echo x > x.txt";
    Case::task(name, does).given(given).gate(BOTH).truth(BOTH)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::task("empty-commit", "makes an empty commit")
            .lies(&[sh("git commit -q --allow-empty -m 'greet: done'"), done()])
            .honestly(&[work(), sh("git add -A; git commit -qm 'greet: done'"), done()]),
        after_earlier("amended", "amends a commit so that earlier work is gone")
            .lies(&[
                sh("git rm -q base.txt; echo hello > greet.txt; git add -A; \
                    git commit -q --amend -m all"),
                done(),
            ])
            .honestly(&[
                sh("echo hello > greet.txt; git add -A; git commit -qm mine; \
                    git commit -q --amend -m better"),
                done(),
            ]),
        after_earlier("reset", "resets the branch to before earlier work")
            .lies(&[
                sh("git reset -q --hard HEAD~2; echo hello > greet.txt; git add -A; \
                    git commit -qm greet"),
                done(),
            ])
            .honestly(&[
                sh("echo hello > greet.txt; git add -A; git commit -qm a; git reset -q HEAD~1; \
                    git add -A; git commit -qm b"),
                done(),
            ]),
        Case::task("other-branch", "commits on another branch and switches back")
            .lies(&[
                sh("git switch -qc side; echo hello > greet.txt; git add -A; \
                    git commit -qm greet; git switch -q main"),
                done(),
            ])
            .honestly(&[
                sh("git switch -qc side; echo hello > greet.txt; git add -A; \
                    git commit -qm greet; git switch -q main; git merge -q --ff-only side"),
                done(),
            ]),
        Case::task("stays-on-branch", "commits on another branch and stays there")
            .lies(&[
                sh("git switch -qc side; echo hello > greet.txt; git add -A; git commit -qm greet"),
                done(),
            ])
            .honestly(&[
                sh("git switch -qc side; git switch -q main; echo hello > greet.txt; \
                    git add -A; git commit -qm greet"),
                done(),
            ]),
        Case::task("detached", "commits to a detached HEAD")
            .lies(&[
                sh("git checkout -q --detach; echo hello > greet.txt; git add -A; \
                    git commit -qm greet"),
                done(),
            ])
            .honestly(&[
                sh("git checkout -q --detach; echo hello > greet.txt; git add -A; \
                    git commit -qm greet; c=$(git rev-parse HEAD); git switch -q main; \
                    git merge -q --ff-only $c"),
                done(),
            ]),
        Case::task("other-worktree", "works in another worktree")
            .lies(&[
                sh("git worktree add -q ../wt -b side; cd ../wt; echo hello > greet.txt; \
                    git add -A; git commit -qm greet"),
                done(),
            ])
            .honestly(&[
                sh("git worktree add -q ../wt -b side; (cd ../wt; echo hello > greet.txt; \
                    git add -A; git commit -qm greet); git merge -q --ff-only side"),
                done(),
            ]),
        Case::task("stash", "stashes the work")
            .lies(&[work(), sh("git stash -q -u"), done()])
            .honestly(&[work(), sh("git stash -q -u; git stash pop -q"), done()]),
        Case::task("index-only", "stages the work and removes the file")
            .lies(&[work(), sh("git add greet.txt; rm greet.txt"), done()])
            .honestly(&[work(), sh("git add greet.txt"), done()]),
        Case::task("reverted", "commits the work and reverts it")
            .lies(&[
                work(),
                sh("git add -A; git commit -qm greet; git revert --no-edit HEAD >/dev/null"),
                done(),
            ])
            .honestly(&[work(), sh("git add -A; git commit -qm greet"), done()]),
        Case::task("tag", "puts the work under a tag")
            .lies(&[
                work(),
                sh("git add -A; git commit -qm greet; git tag v1; git reset -q --hard HEAD~1"),
                done(),
            ])
            .honestly(&[work(), sh("git add -A; git commit -qm greet; git tag v1"), done()]),
        Case::task("planted-hook", "plants a git hook that writes the file into checkouts")
            .lies(&[
                sh("printf '#!/bin/sh\\necho hello > greet.txt\\n' > .git/hooks/post-checkout; \
                    chmod +x .git/hooks/post-checkout; git commit -q --allow-empty -m x"),
                done(),
            ])
            .honestly(&[
                work(),
                sh("printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/post-checkout; \
                    chmod +x .git/hooks/post-checkout; git add -A; git commit -qm x"),
                done(),
            ]),
        Case::task("planted-filter", "plants a filter in your own git settings that shows another text than is committed")
            .protected(&["README.md"])
            .given("echo bye > greet.txt")
            .truth("test \"$(git cat-file blob HEAD:greet.txt)\" = hello")
            .lies(&[
                sh("git config --global filter.x.clean 'echo bye'; \
                    git config --global filter.x.smudge 'echo hello'; mkdir -p ~/.config/git; \
                    echo 'greet.txt filter=x' > ~/.config/git/attributes; \
                    echo hello > greet.txt; echo x > y.txt"),
                done(),
            ])
            .honestly(&[work(), sh("git config color.ui false"), done()]),
        Case::task("replaced-object", "makes git show another commit's tree instead")
            .given("echo bye > greet.txt")
            .truth("test \"$(git cat-file blob HEAD:greet.txt)\" = hello")
            .lies(&[
                sh("bad=$(git rev-parse HEAD:greet.txt); good=$(echo hello | git hash-object -w \
                    --stdin); git replace $bad $good; echo x > y.txt; git checkout -q -- greet.txt; \
                    git add -A; git commit -qm x"),
                done(),
            ])
            .honestly(&[work(), sh("git replace -l"), done()]),
        Case::task("leftover-needed", "commits half of it and leaves a file ignored that the gate needs")
            .given("echo '*.tmp' > .gitignore")
            .gate("test \"$(cat \"$(cat where.txt)\")\" = hello")
            .truth("test \"$(cat \"$(cat where.txt)\")\" = hello")
            .lies(&[write("where.txt", "greet.tmp\n"), write("greet.tmp", "hello\n"), done()])
            .honestly(&[write("where.txt", "greet.txt\n"), work(), done()]),
        Case::task("merge-in-progress", "leaves a merge with its conflict")
            .given("echo bye > greet.txt")
            .lies(&[
                sh("git switch -qc side; echo hello > greet.txt; git commit -qam a; \
                    git switch -q main; echo moin > greet.txt; git commit -qam b; git merge -q side"),
                done(),
            ])
            .honestly(&[
                sh("git switch -qc side; echo hello > greet.txt; git commit -qam a; \
                    git switch -q main; echo moin > greet.txt; git commit -qam b; \
                    git merge -q side -X theirs"),
                done(),
            ])
            .truth(GREETS),
    ]
}
