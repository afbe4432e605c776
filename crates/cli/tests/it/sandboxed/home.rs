//! The home that sessions and gates see: honest work finds what it needs, and is told what it misses.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ralph_testkit::{Ran, TestEnv, skip};

use super::{as_ordinary_user, has_boxes};
use crate::RALPH;
use crate::looping::{arguments, cassette, session, sh, works};

/// A repository below the home, a toolchain behind links, settings of registries, and a package beside it.
fn lived_in(level: &str) -> (TestEnv, tempfile::TempDir) {
    // Where every user can run it.
    let bin = tempfile::tempdir().unwrap();
    std::fs::set_permissions(bin.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ralph = bin.path().join("ralph");
    std::fs::copy(RALPH, &ralph).unwrap();
    let mut env = TestEnv::new(&ralph);
    env.at_level(level, "the home is another one at each level");
    let home = env.folder().canonicalize().unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{0}:{0}/tools/current/bin:{path}", home.display());
    env.set("HOME", &home.display().to_string()).set("PATH", &path).set("RALPH_TEST_SEED", "");
    let put = |name: &str, text: &str| {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    put("tools/versions/1/bin/tool", "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/data\"\n");
    put("tools/versions/1/lib/data", "the tool works\n");
    symlink("versions/1", home.join("tools/current")).unwrap();
    put(".npmrc", "registry=https://r.example.org/\n//r.example.org/:_authToken=TOKEN-OF-NPM\n");
    put(
        ".gitconfig",
        "[user]\n\tname = Of All\n\temail = all@example.org\n[credential]\n\thelper = TOKEN\n",
    );
    put(".tool/conf.toml", "there\n");
    put("lib/Cargo.toml", "[package]\nname = \"lib\"\n");
    put("lib/.git/config", "[remote \"origin\"]\n\turl = https://TOKEN-OF-GIT@example.org\n");
    put("other/Cargo.toml", "[package]\nname = \"other\"\n");
    put("private.txt", "PRIVATE\n");
    // Not at the top, where it would make a gate.
    env.write("app/Cargo.toml", "[dependencies]\nlib = { path = \"../../lib\" }\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    (env, bin)
}

fn build(env: &TestEnv, ordinary: bool, steps: &str, extra: &[&str]) -> Option<Ran> {
    cassette(env, &[&session(&[sh(steps), works()])]);
    let call = arguments(extra);
    match ordinary {
        true => as_ordinary_user(env, &call),
        false => Some(env.ralph(&call)),
    }
}

fn output_of(ran: &Ran) -> String {
    format!("{}{}", ran.stdout, ran.stderr)
}

/// What builds and tests do, each with a word when it worked.
const HONEST: &str = r#"{
tool && cat ../lib/Cargo.toml && echo PACKAGE
git config --global user.name
grep registry ~/.npmrc && echo REGISTRY
cat ~/.npmrc ~/.gitconfig ../lib/.git/config ~/private.txt
mkdir -p "$TMPDIR/made" && cd "$TMPDIR/made" && git init --quiet . && git commit --quiet --allow-empty -m x && echo COMMIT
mkdir -p a/b && echo x > a/b/run && chmod 755 a/b/run && cp -a a c && tar cf t.tar a && mkdir d && tar xpf t.tar -C d && echo COPIED
mkdir shared && chmod g+s shared && cp -a shared copy && echo SHARED
touch ~/written && echo WRITTEN
} > NOTES/seen 2>&1; true"#;

#[test]
fn honest_work_finds_its_tools_and_settings_and_no_login() {
    if !has_boxes("honest work in an empty home") {
        return;
    }
    for (level, ordinary) in
        [("full", false), ("full", true), ("landlock", false), ("landlock", true)]
    {
        let (env, _bin) = lived_in(level);
        env.task(&["add", "a", "--id", "a"]);
        let notes = env.note("").display().to_string();
        let steps = HONEST.replace("NOTES", notes.trim_end_matches('/'));
        let Some(ran) = build(&env, ordinary, &steps, &["--once"]) else { return };
        if ran.code == 10 && ran.stderr.contains("has no Landlock") {
            skip("honest work at landlock: this kernel has none");
            continue;
        }
        let seen = std::fs::read_to_string(env.note("seen")).unwrap_or_default();
        let about = format!("{level}, ordinary user: {ordinary}\n{seen}\n{}", output_of(&ran));
        assert_eq!(ran.code, 0, "{about}");
        let full = level == "full";
        for word in ["the tool works", "PACKAGE", "COMMIT", "COPIED"] {
            assert!(seen.contains(word), "{word}: {about}");
        }
        // Root's own programs may give no group away; for others it ends with the session.
        assert_eq!(seen.contains("SHARED"), ordinary || !is_root(), "{about}");
        for (word, so) in
            [("Of All", true), ("REGISTRY", full), ("WRITTEN", full), ("PRIVATE", !full)]
        {
            assert_eq!(seen.contains(word), so, "{word}: {about}");
        }
        for word in ["TOKEN-OF-NPM", "helper = TOKEN"] {
            assert!(!seen.contains(word), "{word}: {about}");
        }
        assert_eq!(seen.contains("TOKEN-OF-GIT"), !full, "{about}");
        assert!(!env.folder().join("written").exists(), "{about}");
    }
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

#[test]
fn a_red_gate_that_names_a_hidden_file_says_how_to_show_it() {
    if !has_boxes("a gate that misses a file") {
        return;
    }
    let (mut env, _bin) = lived_in("full");
    env.task(&["add", "a", "--id", "a"]);
    let gate = "cat ~/.tool/conf.toml ~/.ssh/id_ed25519";
    env.write(
        "ralph.toml",
        format!("[[gate]]\nname = \"reads\"\ncommand = \"{gate}; cat ~/.tool/conf.toml\"\n"),
    );
    std::fs::create_dir(env.folder().join(".ssh")).unwrap();
    std::fs::write(env.folder().join(".ssh/id_ed25519"), "KEY").unwrap();
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "gate"]);
    let advice = "sandbox.readable = [\"~/.tool\"]";
    let red = build(&env, false, "true", &["--once"]).unwrap();
    assert!(
        output_of(&red).contains(advice) && !output_of(&red).contains("[\"~/.ssh"),
        "{}",
        output_of(&red)
    );
    env.set("RALPH_SANDBOX_LEVEL", "full");
    let checked = env.ralph(&["doctor"]);
    assert!(checked.stdout.contains(advice), "{}", checked.stdout);
    let shown = ["--once", "--set", "sandbox.readable=[\"~/.tool\"]"];
    let green = build(&env, false, "true", &shown).unwrap();
    assert_eq!(green.code, 0, "{}", output_of(&green));
    assert!(!output_of(&green).contains("sandbox.readable"), "{}", output_of(&green));
}

#[test]
fn a_package_that_a_session_made_a_dependency_stays_hidden() {
    if !has_boxes("a dependency by a session") {
        return;
    }
    let (env, _bin) = lived_in("full");
    for id in ["a", "b", "c"] {
        env.task(&["add", id, "--id", id]);
    }
    let names = "printf '[dependencies]\\nother = { path = \"../../other\" }\\n' > app/Cargo.toml";
    let reads = "cat ../other/Cargo.toml > seen.txt; true";
    let seen = || std::fs::read_to_string(env.repo().join("seen.txt")).unwrap();
    let hides = "a session may have made it a dependency";
    let first = build(&env, false, names, &["--once"]).unwrap();
    assert!(first.code == 0 && !output_of(&first).contains(hides), "{}", output_of(&first));
    let second = build(&env, false, reads, &["--once"]).unwrap();
    assert!(
        output_of(&second).contains(hides) && seen().is_empty(),
        "{}{}",
        output_of(&second),
        seen()
    );
    // The user's own work is nobody's question.
    let user = |path: &Path| {
        env.write(
            "app/Cargo.toml",
            format!("[dependencies]\nx = {{ path = \"{}\" }}\n", path.display()),
        );
        env.git(&["commit", "--quiet", "-a", "-m", "user"]);
    };
    std::fs::create_dir(env.folder().join("mine")).unwrap();
    std::fs::write(env.folder().join("mine/Cargo.toml"), "MINE").unwrap();
    user(&PathBuf::from("../../mine"));
    let reads = "cat ../mine/Cargo.toml > seen.txt; true";
    let third = build(&env, false, reads, &["--once"]).unwrap();
    assert!(seen().contains("MINE") && !output_of(&third).contains(hides), "{}", output_of(&third));
}
