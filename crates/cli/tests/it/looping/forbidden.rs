//! What no commit may hold: ralph's own state, and repositories that a session left inside the worktree.

use super::*;

/// A session that makes the task database part of its work, and ends so.
fn tracks_the_database(end: &str) -> String {
    let blob = "b=$(echo x | git hash-object -w --stdin)";
    let track = "git update-index --add --cacheinfo 100644,$b,.ralph/progress.db";
    let commit = "git commit -qm 'with state'";
    session(&[sh(&format!("{blob}; {track}; {commit}; echo w > {{id}}.txt")), say(end)])
}

fn tasks(env: &TestEnv) -> usize {
    let listed: Value = ralph_testkit::data(&env.task(&["list", "--json"]));
    listed.as_array().unwrap().len()
}

#[test]
fn a_task_that_fails_with_the_task_database_in_its_work_leaves_the_database_alone() {
    for level in ["auto", "landlock", "none"] {
        let mut env = project(&["a", "b", "c"]);
        env.at_level(level, "each level has its own way to the tree");
        let fails = tracks_the_database("<task-failed>{id}</task-failed><reason>no</reason>");
        let ran = build(&env, &[&fails, &works(), &works()], &[]);
        assert_eq!(tasks(&env), 3, "{level}: {}", ran.stderr);
        // Without a git directory of its own, the session has committed to your branch itself.
        if level == "auto" {
            assert_eq!((ran.code, status(&env, "b")), (0, "done".to_owned()), "{}", ran.stderr);
        }
    }
}

#[test]
fn work_that_holds_the_task_database_is_returned_with_the_reason() {
    for level in ["auto", "none"] {
        let mut env = project(&["a"]);
        env.at_level(level, "each level has its own way to the tree");
        let tracks = tracks_the_database("<task-done>{id}</task-done>");
        let removes = session(&[
            sh("git rm -q --cached .ralph/progress.db; git commit -qm 'without state'"),
            works(),
        ]);
        let ran = build(&env, &[&tracks, &removes], &["--no-verify"]);
        assert_eq!(ran.code, 0, "{level}: {}", ran.stderr);
        assert_eq!(classes(&env), ["red", "done"], "{level}: {}", ran.stderr);
        let output = ".ralph/progress.db is ralph's own state and must not be committed";
        assert!(ran.stderr.contains(output), "{level}: {}", ran.stderr);
        let tree = env.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
        assert!(!tree.contains("progress.db"), "{level}: {tree}");
    }
}

#[test]
fn a_repository_that_a_session_leaves_in_the_worktree_is_not_committed() {
    let make = "git init -q inner; cd inner; git config user.name x; git config user.email x@x; \
                echo '#!/bin/sh' > run; echo 'touch $RAN' >> run; chmod +x run; \
                git config core.fsmonitor $PWD/run; git add run; git commit -qm inner";
    for level in ["auto", "none"] {
        let mut env = project(&["a"]);
        env.at_level(level, "each level has its own way to the tree");
        let embeds = session(&[sh(&format!("({make})")), works()]);
        let ran = build(&env, &[&embeds], &["--no-verify", "--max-iterations", "1"]);
        assert_eq!(classes(&env), ["red"], "{level}: {}", ran.stderr);
        let output = "inner is a repository of its own";
        assert!(ran.stderr.contains(output), "{level}: {}", ran.stderr);
        let tree = env.git(&["ls-tree", "-r", "HEAD"]);
        assert!(!tree.contains("160000"), "{level}: {tree}");
    }
}

#[test]
fn files_of_a_folder_that_was_a_repository_are_committed_without_it() {
    let env = project(&["a"]);
    let vendors =
        session(&[sh("git init -q inner; echo x > inner/x.txt; rm -rf inner/.git"), works()]);
    let ran = build(&env, &[&vendors], &["--no-verify"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(env.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("inner/x.txt"));
}

#[test]
fn work_whose_objects_lie_outside_the_repository_is_not_accepted() {
    let mut env = project(&["a"]);
    env.without_sandbox("at level full a session has a git directory of its own");
    let elsewhere = "git init -q --bare ../notes/else; \
        echo $PWD/../notes/else/objects > .git/objects/info/alternates";
    let borrows = session(&[sh(elsewhere), works()]);
    let gives_back = session(&[sh("rm .git/objects/info/alternates"), works()]);
    let ran = build(&env, &[&borrows, &gives_back], &["--no-verify"]);
    assert_eq!(classes(&env), ["red", "done"], "{}", ran.stderr);
    assert!(ran.stderr.contains("objects/info/alternates"), "{}", ran.stderr);
}

#[test]
fn a_program_that_the_repository_names_is_not_run() {
    let env = project(&["a"]);
    let mark = env.note("ran");
    let program = format!("#!/bin/sh\ntouch {}\necho '2.1.999 (Claude Code)'\n", mark.display());
    env.write("tools/claude", program);
    env.git(&["update-index", "--add", "--chmod=+x", "tools/claude"]);
    env.git(&["checkout", "--", "tools/claude"]);
    env.write("ralph.toml", "[agent.claude]\npath = \"tools/claude\"\n");
    for call in [&["build"][..], &["build", "--dry-run"], &["doctor"], &["prompt", "README.md"]] {
        let ran = env.ralph(call);
        assert_ne!(ran.code, 0, "{call:?}");
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(output.contains("can only be set in your own config file"), "{call:?}: {output}");
        assert!(!mark.exists(), "{call:?}");
    }
}

#[test]
fn a_commit_hook_that_a_session_writes_runs_in_the_sandbox() {
    for level in ["auto", "landlock"] {
        let mut env = project(&["a"]);
        env.at_level(level, "each level has its own way to run hooks");
        let outside = env.folder().join("outside");
        std::fs::create_dir(&outside).unwrap();
        env.write(".githooks/pre-commit", "#!/bin/sh\nexit 0\n");
        env.write(".gitignore", "hooked\n");
        env.git(&["config", "core.hooksPath", ".githooks"]);
        env.git(&["add", "-A"]);
        env.git(&["commit", "-qm", "hooks", "--no-verify"]);
        let mark = outside.join("ran");
        let script = format!("touch {} ; touch hooked; exit 0", mark.display());
        let plants = format!(
            "printf '%s\\n' '#!/bin/sh' '{script}' > .githooks/pre-commit; chmod +x .githooks/pre-commit"
        );
        let ran = build(&env, &[&session(&[sh(&plants), works()])], &["--no-verify"]);
        assert_eq!(ran.code, 0, "{level}: {}", ran.stderr);
        assert!(env.repo().join("hooked").exists(), "{level}: the hook ran: {}", ran.stderr);
        assert!(!mark.exists(), "{level}: outside the sandbox: {}", ran.stderr);
    }
}

#[test]
fn a_filter_counts_from_the_users_own_git_config_only() {
    for level in ["auto", "landlock", "none"] {
        for is_users in [true, false] {
            let mut env = project(&["a"]);
            env.at_level(level, "each level has its own way to the tree").hurry();
            let scope = if is_users { "--global" } else { "--local" };
            env.git(&["config", scope, "filter.caps.clean", "tr a-z A-Z"]);
            env.write(".gitattributes", "*.txt filter=caps\n");
            let ran = build(&env, &[&works()], &["--no-verify", "--max-iterations", "1"]);
            // In a sandbox with mounts, git runs what the repository names inside of it.
            let is_filtered = is_users || level == "auto";
            assert_eq!(ran.code == 0, is_filtered, "{level} {is_users}: {}", ran.stderr);
            let why = "ralph runs filters only from your own git config";
            assert_eq!(ran.stderr.contains(why), !is_filtered, "{level}: {}", ran.stderr);
        }
    }
}
