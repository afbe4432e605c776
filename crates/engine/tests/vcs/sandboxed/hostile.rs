//! Sessions that want out: programs of theirs in every place where git would run one, files that never end,
//! and objects that are not what they say. Nothing runs outside, nothing hangs, and the work is not lost.

use std::path::PathBuf;

use ralph_engine::ports::{Candidate, Trees, Vcs};
use ralph_testkit::wait_until;

use super::{World, bytes_of, without_sandbox};
use crate::kit::{Repo, SaveNow, task};

/// A world, and a file outside of it that no program of a session can write from inside its box.
fn world() -> (World, PathBuf) {
    let repo = Repo::new();
    let escaped = repo.folder().join("escaped");
    (World::new(repo), escaped)
}

/// All that is done with the work of a session, to its good end.
#[track_caller]
fn settle(world: &World) -> Candidate {
    let candidate = world.vcs.candidate(&world.base).unwrap();
    world.vcs.save_wip(&world.base, &task("t-1"), 1).unwrap().unwrap();
    drop(world.vcs.checkout(&candidate, "*.log").unwrap());
    world.vcs.included("*.log").unwrap();
    let committed = world.vcs.commit(&world.base, &candidate, "subject", "").unwrap();
    world.repo.fsck();
    assert_eq!(world.repo.status(), "");
    world.session("git status");
    let _ = committed;
    candidate
}

#[test]
fn programs_that_a_session_names_run_nowhere_but_in_its_sandbox() {
    if without_sandbox() {
        return;
    }
    let (world, escaped) = world();
    let evil = format!("sh -c 'touch {} inside; cat'", escaped.display());
    let before = bytes_of(&world.repo.path(".git"));
    world.session(&format!(
        "cat > evil.sh <<'END'\n#!/bin/sh\n{evil}\nEND\nchmod +x evil.sh; E=\"$PWD/evil.sh\";
         git config core.fsmonitor \"$E\"; git config filter.x.clean \"$E\";
         git config filter.x.smudge \"$E\"; git config filter.x.required true;
         git config core.hooksPath \"$PWD\"; git config uploadpack.packObjectsHook \"$E\";
         git config core.alternateRefsCommand \"$E\"; git config core.sshCommand \"$E\";
         git config core.pager \"$E\"; git config diff.external \"$E\"; git config gpg.program \"$E\";
         git config core.worktree /etc; git config include.path /etc/passwd;
         for h in pre-commit commit-msg post-commit reference-transaction post-index-change; do
           cp evil.sh .git/hooks/$h || {{ mkdir -p .git/hooks; cp evil.sh .git/hooks/$h; }}; done;
         echo '* filter=x' > .gitattributes; echo /etc > .git/commondir-x; echo work > work.txt"
    ));
    let mut after = bytes_of(&world.repo.path(".git"));
    assert_eq!(after, before);
    let candidate = settle(&world);
    assert_eq!(world.repo.beyond_head(&candidate), ["A .gitattributes", "A evil.sh", "A work.txt"]);
    let file = world.vcs.file(&candidate.tree, "work.txt").unwrap();
    assert_eq!(file.as_deref(), Some(&b"work\n"[..]));
    assert!(!escaped.exists());
    after = bytes_of(&world.repo.path(".git"));
    assert_eq!(after.get(&PathBuf::from("config")), before.get(&PathBuf::from("config")));
    assert!(!after.keys().any(|path| path.starts_with("hooks")));
}

/// What a session does to its own directory; then its files are taken, its commits are not, and that is told.
#[track_caller]
fn refused(script: &str) {
    let (world, escaped) = world();
    let took = ralph_engine::clock::Stopwatch::start();
    world.session(&format!("echo 1 > one.txt; git add -A; git commit -qm one; {script}"));
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken, None, "{script}");
    assert_eq!(world.repo.beyond_head(&candidate), ["A one.txt"], "{script}");
    let reported = world.vcs.warnings().join("\n");
    assert!(reported.contains("but not its commits"), "{script}: {reported}");
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    let reported = world.vcs.warnings().join("\n");
    assert!(
        reported.contains("is kept in") && reported.contains("main.refused-1"),
        "{script}: {reported}"
    );
    assert!(world.repo.exists(".ralph/box/main.refused-1/git"), "{script}");
    assert_eq!(world.repo.status(), "", "{script}");
    world.repo.fsck();
    assert!(!escaped.exists());
    // The next session is a session like any other.
    let own = world.session("echo 2 > two.txt; git add -A; git commit -qm two; git rev-parse HEAD");
    assert_eq!(world.vcs.candidate(&world.base).unwrap().taken, Some(own), "{script}");
    // Well within the patience of a box.
    assert!(took.elapsed() < world.sandbox.patience, "{script}");
}

#[test]
fn a_head_that_never_ends_or_leads_elsewhere_is_not_followed() {
    if without_sandbox() {
        return;
    }
    refused("rm .git/HEAD; mkfifo .git/HEAD");
    refused("rm .git/HEAD; ln -s /etc/passwd .git/HEAD");
}

#[test]
fn refs_that_never_end_lead_elsewhere_or_nowhere_are_not_followed() {
    if without_sandbox() {
        return;
    }
    refused("rm .git/refs/heads/main; mkfifo .git/refs/heads/main");
    refused("echo 'ref: refs/../../../../proc/self/environ' > .git/HEAD");
    refused("echo 1111111111111111111111111111111111111111 > .git/refs/heads/main");
}

#[test]
fn giant_names_and_endless_objects_are_not_read() {
    if without_sandbox() {
        return;
    }
    refused(
        "printf 'ref: refs/heads/' > .git/HEAD; head -c 1000000 /dev/zero | tr '\\0' x >> .git/HEAD",
    );
    refused("mkfifo .git/objects/pack/pack-1111111111111111111111111111111111111111.idx");
}

#[test]
fn objects_that_are_not_what_they_say_are_refused_and_the_files_are_taken() {
    if without_sandbox() {
        return;
    }
    // A blob that only an older commit has.
    refused(
        "echo old > one.txt; git commit -qam old; echo 1 > one.txt; git commit -qam new;
         b=$(git rev-parse HEAD~1:one.txt); f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-);
         chmod u+w $f; echo broken > $f",
    );
    // A commit that no sound repository has.
    refused(
        "t=$(git rev-parse HEAD^{tree}); p=$(git rev-parse HEAD);
         c=$(printf 'tree %s\\nparent %s\\nauthor x\\ncommitter x\\n\\nbad\\n' $t $p |
             git hash-object -t commit -w --stdin --literally); git update-ref HEAD $c",
    );
    // A tree that leads out of the worktree when it is checked out.
    refused(
        "b=$(git rev-parse HEAD:one.txt); p=$(git rev-parse HEAD);
         t=$({ printf '100644 ../out\\0'; echo $b | sed 's/../\\\\x&/g' | xargs -0 printf '%b'; } |
             head -c 34 | git hash-object -t tree -w --stdin --literally);
         c=$(git commit-tree $t -p $p -m bad); c=$(git commit-tree HEAD^{tree} -p $c -m after);
         git update-ref HEAD $c",
    );
}

#[test]
fn objects_of_elsewhere_and_refs_of_ours_change_nothing() {
    if without_sandbox() {
        return;
    }
    let (world, _) = world();
    let own = world.session(
        "echo 1 > one.txt; git add -A; git commit -qm one; printf '/etc\\n/nowhere\\n' >> .git/objects/info/alternates;
         git update-ref refs/ralph/look HEAD~1; git update-ref refs/ralph/wip/x/1 HEAD;
         git replace HEAD~1 HEAD; git rev-parse HEAD",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken, Some(own));
    assert_eq!(world.repo.git(&["for-each-ref", "refs/ralph/wip", "refs/replace"]), "");
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap();
    assert_eq!(world.repo.git(&["log", "--format=%s"]), "one\nfirst");
}

#[test]
fn files_that_the_session_hides_from_its_own_git_are_judged_all_the_same() {
    if without_sandbox() {
        return;
    }
    let (world, _) = world();
    world.session(
        "git update-index --assume-unchanged a.txt; git update-index --skip-worktree src/b.txt;
         echo other > a.txt; echo other > src/b.txt; echo '*.txt' >> .git/info/exclude; echo n > new.txt;
         git status --porcelain",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.repo.beyond_head(&candidate), ["M a.txt", "A new.txt", "M src/b.txt"]);
}

#[test]
fn a_sandbox_that_hangs_is_killed_in_time() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.git(&["config", "filter.x.clean", "sleep 300"]);
    let mut sandbox = super::git_sandbox();
    sandbox.patience = std::time::Duration::from_millis(1500);
    let vcs = super::vcs_at(repo.place(), &sandbox);
    repo.write(".gitattributes", "*.x filter=x\n");
    repo.write("a.x", "x\n");
    let failed = vcs.begin(&crate::kit::run("r-1"), None).unwrap_err();
    assert!(failed.to_string().contains("timed out after"), "{failed}");
    let nobody = || {
        let shown = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
        !String::from_utf8_lossy(&shown.stdout).lines().any(|line| line == "sleep 300")
    };
    wait_until("the filter is gone", std::time::Duration::from_secs(20), nobody);
}
