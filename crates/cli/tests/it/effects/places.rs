//! Settings about places: the repository, its remote and worktrees, the sandbox, logs and the screen.

use super::*;

#[test]
fn logs_lie_where_the_setting_says() {
    let env = project(&["a"]);
    let place = ["--set", "logs.dir=.ralph/diary"];
    build(&env, &[&works()], &place).success();
    assert!(!env.repo().join(".ralph/logs").exists());
    assert!(std::fs::read_dir(env.repo().join(".ralph/diary")).unwrap().count() >= 2);
    let shown = env.ralph(&["logs", "--set", "logs.dir=.ralph/diary"]).success();
    assert!(shown.contains("── 1 ── a"), "{shown}");
}

#[test]
fn raw_logs_are_kept_only_where_that_is_set() {
    let env = project(&["a", "b"]);
    for (raw, kept) in [("true", true), ("false", false)] {
        build(&env, &[&works()], &["--once", "--set", &format!("logs.raw={raw}")]).success();
        let there = runs(&env).pop().unwrap().join("iteration-001.ndjson").exists();
        assert_eq!(there, kept, "logs.raw={raw}");
    }
}

#[test]
fn old_logs_go_when_they_are_larger_than_the_setting() {
    let env = project(&["a", "b", "c", "d"]);
    // The newest one stays, and the run at work has its own.
    for (size, left) in [("2GiB", 1), ("2GiB", 2), ("2GiB", 3), ("1B", 2)] {
        build(&env, &[&works()], &["--once", "--set", &format!("logs.keep_size={size}")]).success();
        assert_eq!(runs(&env).len(), left, "logs.keep_size={size}");
    }
}

#[test]
fn files_that_the_setting_names_are_never_committed() {
    let env = project(&[]);
    env.write("implementation_plan.md", "- [ ] one\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "plan"]);
    let ticks = session(&[
        write("one.txt", "one\n"),
        write("scratch.local", "mine\n"),
        write("implementation_plan.md", "- [x] one\n"),
        say("done"),
    ]);
    let ran = build(&env, &[&ticks], &["--set", "git.never_commit=[\"*.local\"]"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        env.git(&["show", "--format=", "--name-only"]),
        "implementation_plan.md\none.txt\n",
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("scratch.local"), "{}", ran.stderr);
}

#[test]
fn a_push_goes_to_the_remote_of_the_setting() {
    let env = project(&["a"]);
    for name in ["origin", "backup"] {
        let place = env.folder().join(format!("{name}.git")).display().to_string();
        env.git(&["init", "--quiet", "--bare", &place]);
        env.git(&["remote", "add", name, &place]);
    }
    env.git(&["switch", "--quiet", "-c", "feature"]);
    let ran =
        build(&env, &[&works()], &["--set", "git.auto_push=true", "--set", "git.remote=backup"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let has = |name: &str| env.git(&["ls-remote", "--heads", name]).lines().count();
    assert_eq!((has("origin"), has("backup")), (0, 1), "{}", ran.stderr);
}

#[test]
fn a_branch_goes_to_the_fork_and_its_pull_request_to_the_upstream() {
    if !ralph_testkit::github::has_curl() {
        return;
    }
    let mut env = project(&["a"]);
    let server = crate::publishing::remote(&mut env, "git.example");
    env.git(&["init", "--quiet", "--bare", "../remotes/eve/engine.git"]);
    env.git(&["remote", "add", "mine", "git@git.example:eve/engine.git"]);
    env.git(&["switch", "--quiet", "-c", "feature"]);
    let flags = ["git.auto_pr=true", "git.push_remote=mine", "git.pr_remote=origin"];
    let flags: Vec<&str> = flags.iter().flat_map(|flag| ["--set", flag]).collect();
    let ran = build(&env, &[&works()], &flags);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let has = |name: &str| env.git(&["ls-remote", "--heads", name, "feature"]).lines().count();
    assert_eq!((has("origin"), has("mine")), (0, 1), "{}", ran.stderr);
    let pulls = server.pulls();
    assert_eq!(pulls.len(), 1, "{}", ran.stderr);
    assert_eq!(pulls[0]["head"]["label"], "eve:feature");
}

#[test]
fn worktrees_of_branches_lie_where_the_setting_says() {
    let mut env = project(&[]);
    env.write("IMPLEMENTATION_PLAN.md", "## Branch: one\nGoal: Words\n\n- [ ] Write a\n");
    let here = stand_in(&mut env, "pwd > $here/place; result hm");
    env.ralph(&["loop", "build", "--once", "--set", "git.worktree.dir=.trees"]).success();
    let place = std::fs::read_to_string(here.join("place")).unwrap();
    assert!(place.trim_end().ends_with("/repo/.trees/one"), "{place}");
    assert!(env.repo().join(".trees/one").exists() && !env.repo().join(".worktrees").exists());
}

#[test]
fn colors_are_as_the_setting_says() {
    let env = project(&["a"]);
    let shown =
        |color: &str| env.ralph(&["task", "list", "--set", &format!("ui.color={color}")]).success();
    assert!(shown("always").contains('\u{1b}'));
    assert!(!shown("auto").contains('\u{1b}'), "this is no terminal");
    assert!(env.ralph(&["task", "list", "--color", "always"]).success().contains('\u{1b}'));
}

#[test]
fn a_run_is_shown_as_the_setting_says() {
    let env = project(&["a"]);
    let ran = build(&env, &[&works()], &["--set", "ui.mode=json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let first: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["kind"], "run_started");
}

/// The level of the newest run, as its record has it.
fn level(env: &TestEnv) -> String {
    let started = journal(env);
    of_kind(&started, "run_started")[0]["level"].as_str().unwrap_or("?").to_owned()
}

#[test]
fn the_level_of_the_sandbox_is_a_setting() {
    let mut env = project(&["a", "b"]);
    let outside = env.folder().join("outside");
    let tries = session(&[sh(&format!("touch {}", outside.display())), works()]);
    build(&env, &[&tries], &["--once"]).success();
    if level(&env) == "none" {
        return ralph_testkit::skip("the level of the sandbox: there is none here");
    }
    assert!(!outside.exists());
    env.without_sandbox("this is about having none");
    let ran = build(&env, &[&tries], &["--once", "--set", "sandbox.level=none"]);
    assert!(outside.exists(), "{}", ran.stderr);
}

#[test]
fn the_sandbox_shows_what_the_settings_name() {
    let env = project(&["a", "b"]);
    let place = env.folder().join("place");
    std::fs::create_dir(&place).unwrap();
    std::fs::create_dir(env.home().join(".kube")).unwrap();
    std::fs::write(env.home().join(".kube/config"), "SECRET").unwrap();
    let place = place.display().to_string();
    let tries = format!("cat ~/.kube/config > seen.txt; touch {place}/written; true");
    let tries = session(&[sh(&tries), works()]);
    let found = || {
        let seen = std::fs::read_to_string(env.repo().join("seen.txt")).unwrap();
        (seen.contains("SECRET"), env.folder().join("place/written").exists())
    };
    build(&env, &[&tries], &["--once"]).success();
    if level(&env) != "full" {
        return ralph_testkit::skip("what a sandbox shows: there is no full one here");
    }
    assert_eq!(found(), (false, false));
    let writable = format!("sandbox.writable=[{place:?}]");
    let shown = ["--once", "--set", "sandbox.readable=[\"~/.kube\"]", "--set", &writable];
    let ran = build(&env, &[&tries], &shown);
    assert_eq!(found(), (true, true), "{}", ran.stderr);
}

#[test]
fn a_session_has_an_empty_home_unless_the_settings_mask_it() {
    let env = project(&["a", "b"]);
    std::fs::write(env.home().join("notes.txt"), "MINE").unwrap();
    let tries =
        "cat ~/notes.txt > seen.txt; touch ~/written ~/.written && ls -a ~ >> seen.txt; true";
    let tries = session(&[sh(tries), works()]);
    let seen = || std::fs::read_to_string(env.repo().join("seen.txt")).unwrap();
    build(&env, &[&tries], &["--once"]).success();
    if level(&env) != "full" {
        return ralph_testkit::skip("an empty home: there is no full sandbox here");
    }
    assert!(!seen().contains("MINE") && seen().contains(".written"), "{}", seen());
    assert!(!env.home().join("written").exists(), "it ends with the session");
    build(&env, &[&tries], &["--once", "--set", "sandbox.home=masked"]).success();
    assert_eq!(level(&env), "full");
    assert!(seen().contains("MINE") && !seen().contains(".written"), "{}", seen());
}

#[test]
fn sessions_reach_the_sockets_that_the_settings_admit() {
    let mut env = project(&["a", "b"]);
    let path = env.folder().join("home/keys.sock");
    let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for caller in server.incoming() {
            let mut caller = caller.unwrap();
            // Who closes with something unread resets the connection.
            let _ = std::io::Read::read(&mut caller, &mut [0; 4096]);
            let _ = std::io::Write::write_all(&mut caller, b"HTTP/1.0 200 OK\r\n\r\nhello");
        }
    });
    env.set("SSH_AUTH_SOCK", &path.display().to_string());
    let asks = "curl -s -m 9 --unix-socket \"${SSH_AUTH_SOCK:-none}\" http://x/ > heard.txt; true";
    let asks = session(&[sh(asks), works()]);
    let heard = || std::fs::read_to_string(env.repo().join("heard.txt")).unwrap();
    build(&env, &[&asks], &["--once"]).success();
    assert_eq!(heard(), "");
    let admits = ["--once", "--set", "sandbox.sockets=[\"$SSH_AUTH_SOCK\"]"];
    build(&env, &[&asks], &admits).success();
    assert_eq!(heard(), "hello");
}

#[test]
fn the_sandbox_reaches_what_the_settings_allow() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for caller in server.incoming() {
            let _ = std::io::Write::write_all(&mut caller.unwrap(), b"hello");
        }
    });
    let listed = format!("sandbox.network.allowed=[\"localhost:{port}\"]");
    for (settings, heard) in [
        (&["sandbox.network.policy=deny"][..], ""),
        (&["sandbox.network.policy=allowlist"], ""),
        (&["sandbox.network.policy=allowlist", &listed], "hello"),
    ] {
        let env = project(&["a"]);
        let tries = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && head -c 5 <&3");
        let tries = format!("timeout 20 bash -c '{tries}' > ../notes/heard 2>/dev/null; true");
        let set = settings.iter().flat_map(|setting| ["--set", setting]).collect::<Vec<_>>();
        let ran = build(&env, &[&session(&[sh(&tries), works()])], &set);
        if level(&env) != "full" {
            return ralph_testkit::skip("the network of a sandbox: there is no full one here");
        }
        let output = std::fs::read_to_string(env.note("heard")).unwrap();
        assert_eq!(output, heard, "{settings:?}: {}", ran.stderr);
    }
}

#[test]
fn worktrees_may_lie_beside_the_repository_and_in_your_home() {
    for dir in ["../wts", "~/wts", "ABSOLUTE/deep/wts"] {
        let env = project(&["a", "b"]);
        let dir = dir.replace("ABSOLUTE", env.folder().to_str().unwrap());
        let set = format!("git.worktree.dir={dir}");
        let place = match dir.strip_prefix('~') {
            Some(rest) => env.home().join(&rest[1..]),
            None => env.repo().join(&dir),
        };
        // A session that is not done leaves its worktree where the setting says.
        let ran =
            build(&env, &[&only_says("hm")], &["-j", "2", "--max-iterations", "1", "--set", &set]);
        assert!(ran.stderr.contains("hm"), "{dir}: {}", ran.stderr);
        let made = std::fs::read_dir(place.join("ralph")).map(Iterator::count).unwrap_or_default();
        assert_eq!(made, 1, "{dir}: {}", ran.stderr);
        assert!(!env.repo().join("~").exists() && !env.repo().join(".worktrees").exists());
        // And the next run goes on there, and leaves nothing.
        let ran = build(&env, &[&works(), &works()], &["-j", "2", "--new", "--set", &set]);
        assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{dir}: {}", ran.stderr);
        assert!(!place.exists(), "{dir}: {}", ran.stderr);
        assert_eq!(env.git(&["worktree", "list"]).lines().count(), 1, "{dir}");
        assert_eq!(env.git(&["branch", "--list", "ralph/*"]), "", "{dir}");
    }
}

#[test]
fn saved_work_of_finished_tasks_is_kept_as_long_as_the_settings_say() {
    let env = project(&["a", "b"]);
    let saves = || env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip"]);
    let leaves = session(&[write("{id}-half.txt", "half\n"), say("hm")]);
    let ends = ["recover.keep_size=0B", "recover.keep=0s"];
    for (task, end) in ["a", "b"].into_iter().zip(ends) {
        build(&env, &[&leaves], &["--once", "--set", end]);
        assert_eq!(saves(), format!("refs/ralph/wip/{task}/1\n"), "unfinished work stays: {end}");
        build(&env, &[&works()], &["--once"]).success();
        assert_eq!(status(&env, task), "done");
        assert_eq!(saves().lines().count(), 1, "30 days and 1 GB");
        build(&env, &[], &["--task", task, "--set", end]);
        assert_eq!(saves(), "", "{end}");
    }
}
