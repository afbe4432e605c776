//! Programs that ralph starts outside the sandbox come from outside the repository, whatever is on `PATH`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ralph_testkit::TestEnv;

use crate::looping::{build, project, say, session, sh, status, works, write};

/// Writes a program that leaves a mark, and then is the real git. The mark lies where no sandbox can write.
fn marking_git(env: &TestEnv, path: &Path) -> PathBuf {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|file| file.is_file());
    let mark = env.folder().join("marked");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {} 2>/dev/null\nexec {} \"$@\"\n",
        mark.display(),
        found.unwrap().display()
    );
    program(path, &script);
    mark
}

fn program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A repository on a branch with a remote, one task, and a `git` of its own in `bin`.
fn with_own_git() -> (TestEnv, PathBuf) {
    let env = project(&["a"]);
    let mark = marking_git(&env, &env.repo().join("bin/git"));
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "tools"]);
    env.git(&["init", "--quiet", "--bare", "../remote.git"]);
    env.git(&["remote", "add", "origin", "../remote.git"]);
    env.git(&["switch", "--quiet", "-c", "feature"]);
    (env, mark)
}

fn put_first(env: &mut TestEnv, folder: &str) {
    let path = std::env::var("PATH").unwrap();
    env.set("PATH", &format!("{folder}:{path}"));
}

/// Builds with a commit and a push, and calls what else asks git.
#[track_caller]
fn use_everything(env: &TestEnv) {
    let ran = build(env, &[&works()], &["--set", "git.auto_push=true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for call in [["status"].as_slice(), &["clean"], &["clean", "--worktrees"], &["init"]] {
        let ran = env.ralph(call);
        assert_eq!(ran.code, 0, "{call:?}: {}", ran.stderr);
    }
    // What it finds is not the same on every machine.
    env.ralph(&["doctor"]);
    assert_eq!(status(env, "a"), "done");
}

#[track_caller]
fn no_git_of_the_repository_runs(level: Option<&str>) {
    for entry in ["./bin", "in the repository", "by a link"] {
        let (mut env, mark) = with_own_git();
        if let Some(level) = level {
            env.at_level(level, "what runs outside must be the same at every level");
        }
        let folder = env.repo().join("bin");
        let folder = match entry {
            "in the repository" => folder.display().to_string(),
            "by a link" => {
                let link = env.folder().join("tools");
                symlink(folder, &link).unwrap();
                link.display().to_string()
            }
            relative => relative.to_owned(),
        };
        put_first(&mut env, &folder);
        use_everything(&env);
        let ran = std::fs::read_to_string(&mark).unwrap_or_default();
        assert_eq!(ran, "", "{entry}: these ran outside the sandbox");
        let pushed = std::fs::read_dir(env.folder().join("remote.git/refs/heads")).unwrap();
        assert_eq!(pushed.count(), 1, "{entry}: the branch was not pushed");
    }
}

#[test]
fn a_git_of_the_repository_on_the_path_never_runs_outside_the_sandbox() {
    no_git_of_the_repository_runs(None);
}

#[test]
fn a_git_of_the_repository_on_the_path_never_runs_for_ralph_without_a_sandbox() {
    no_git_of_the_repository_runs(Some("none"));
}

#[test]
fn a_git_of_the_users_own_folder_is_used() {
    let (mut env, mark) = with_own_git();
    let tools = env.folder().join("tools");
    marking_git(&env, &tools.join("git"));
    put_first(&mut env, tools.to_str().unwrap());
    use_everything(&env);
    let ran = std::fs::read_to_string(&mark).unwrap();
    assert!(ran.contains("push --porcelain"), "{ran}");
}

#[test]
fn an_agent_of_the_repository_runs_only_where_the_user_names_it() {
    let mut env = project(&["a"]);
    let mark = env.folder().join("marked");
    let claude = env.repo().join("bin/claude");
    program(&claude, &format!("#!/bin/sh\necho ran > {}\n", mark.display()));
    let tools = env.folder().join("tools");
    for name in ["git", "sh"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(name))
            .find(|file| file.is_file());
        std::fs::create_dir_all(&tools).unwrap();
        symlink(found.unwrap(), tools.join(name)).unwrap();
    }
    env.set("PATH", &format!("{}:{}", claude.parent().unwrap().display(), tools.display()));
    let says = "is inside the repository, where a session can change it";
    let refused = env.ralph(&["build", "--agent", "claude"]).failure(1);
    assert!(refused.contains(says) && refused.contains("agent.claude.path = "), "{refused}");
    assert!(env.ralph(&["doctor"]).stdout.contains(says));
    assert!(!mark.exists(), "an agent of the repository was asked for its version");
    let own = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, format!("[agent.claude]\npath = {:?}\n", claude.to_str().unwrap()))
        .unwrap();
    assert!(!env.ralph(&["doctor"]).stdout.contains(says));
    assert!(mark.exists(), "the user names it");
}

/// A session writes a `pre-push` hook into the folder that `core.hooksPath` names, and the branch is pushed.
fn pushed_with_a_hook_of_the_session(level: Option<&str>) -> TestEnv {
    let mut env = project(&["a"]);
    if let Some(level) = level {
        env.at_level(level, "hooks run as gates do at every level");
    }
    env.git(&["init", "--quiet", "--bare", "../remote.git"]);
    env.git(&["remote", "add", "origin", "../remote.git"]);
    env.git(&["switch", "--quiet", "-c", "feature"]);
    env.git(&["config", "core.hooksPath", ".githooks"]);
    env.set("DEPLOY_TOKEN", "of-the-user");
    let body = "env > ../notes/environment; touch ../marked 2>/dev/null; exit 0";
    let plant = session(&[
        write(".githooks/pre-push", &format!("#!/bin/sh\n{body}\n")),
        sh("chmod +x .githooks/pre-push"),
        write("a.txt", "work\n"),
        say("<task-done>a</task-done>"),
    ]);
    let ran = build(&env, &[&plant], &["--set", "git.auto_push=true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let pushed = std::fs::read_dir(env.folder().join("remote.git/refs/heads")).unwrap();
    assert_eq!(pushed.count(), 1, "{}", ran.stderr);
    env
}

#[test]
fn a_pre_push_hook_of_the_worktree_runs_in_the_sandbox() {
    for level in [None, Some("landlock")] {
        let env = pushed_with_a_hook_of_the_session(level);
        let seen = std::fs::read_to_string(env.note("environment")).unwrap_or_default();
        assert!(seen.contains("PATH="), "{level:?}: the hook was not asked");
        assert!(!seen.contains("of-the-user"), "{level:?}: {seen}");
        assert!(!env.folder().join("marked").exists(), "{level:?}: it ran outside the sandbox");
    }
}

#[test]
fn without_a_sandbox_a_pre_push_hook_of_the_worktree_runs_as_gates_do() {
    let env = pushed_with_a_hook_of_the_session(Some("none"));
    assert!(env.folder().join("marked").exists());
}

#[test]
fn a_pre_push_hook_of_the_user_still_refuses() {
    let env = project(&["a"]);
    env.git(&["init", "--quiet", "--bare", "../remote.git"]);
    env.git(&["remote", "add", "origin", "../remote.git"]);
    env.git(&["switch", "--quiet", "-c", "feature"]);
    program(
        &env.repo().join(".git/hooks/pre-push"),
        "#!/bin/sh\necho 'Tests first.' >&2\nexit 1\n",
    );
    let ran = build(&env, &[&works()], &["--set", "git.auto_push=true"]);
    let says = "the pre-push hook rejected `feature`: Tests first";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    let pushed = std::fs::read_dir(env.folder().join("remote.git/refs/heads")).unwrap();
    assert_eq!((pushed.count(), status(&env, "a").as_str()), (0, "done"));
}
