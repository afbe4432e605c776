//! Only the owner reads what ralph writes, whatever the umask is.

use super::*;

/// Every file and folder, as `MODE TYPE PATH`, without those that are the project's own.
const FIND: &str = "find ../runtime ../tmp .ralph ! -type l -printf '%m %y %p\\n'";

/// The files and folders that somebody else may read or write.
fn open_to_others(listed: &str) -> Vec<&str> {
    let open = |line: &&str| {
        let mode = u32::from_str_radix(line.split(' ').next().unwrap(), 8).unwrap();
        let given = ["../runtime", "../tmp"].iter().any(|made| line.ends_with(&format!(" {made}")));
        mode & 0o077 != 0 && !given
    };
    // What git itself makes in a checkout that is thrown away lies in a closed folder.
    listed.lines().filter(open).filter(|line| !line.contains("/tree/")).collect()
}

#[test]
fn files_are_0600_and_folders_0700_under_every_umask() {
    for umask in ["000", "022"] {
        let mut env = project(&["a", "b"]);
        env.without_sandbox("in a sandbox a session does not see what ralph writes");
        // As a clone has it: nothing of ralph is there yet.
        std::fs::remove_dir_all(env.repo().join(".ralph")).unwrap();
        for name in ["runtime", "tmp"] {
            std::fs::create_dir(env.folder().join(name)).unwrap();
        }
        let place = |name: &str| env.folder().join(name).display().to_string();
        let (runtime, tmp) = (place("runtime"), place("tmp"));
        env.set("XDG_RUNTIME_DIR", &runtime).set("TMPDIR", &tmp);
        let gate = toml::Value::String(format!("{FIND} >> ../notes/seen; test -f good.txt"));
        let rules = "[gates]\nclean = false\n";
        env.write("ralph.toml", format!("{rules}[[gate]]\nname = \"check\"\ncommand = {gate}\n"));
        env.git(&["add", "ralph.toml"]);
        env.git(&["commit", "-qm", "gate"]);
        let look = format!("{FIND} >> ../notes/seen; ralph task log a note");
        let first =
            session(&[sh(&look), write("a.txt", "x\n"), say("<task-done>{id}</task-done>")]);
        let second = session(&[write("good.txt", "x\n"), say("<task-done>{id}</task-done>")]);
        cassette(&env, &[&first, &second, &first, &second]);
        let run = |arguments: &[&str]| {
            let command = env.command(arguments);
            let words: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
            let mut shell = std::process::Command::new("sh");
            shell
                .env_clear()
                .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell
                .args(["-c", &format!("umask {umask}; exec \"$@\""), "sh", crate::RALPH])
                .args(words);
            shell.current_dir(env.repo()).stdin(std::process::Stdio::null());
            Ran::of(arguments, shell.output().unwrap())
        };
        for task in ["a", "b"] {
            run(&["task", "add", task, "--id", task]).success();
        }
        let ran = run(&arguments(&[]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let seen = std::fs::read_to_string(env.note("seen")).unwrap();
        assert!(seen.lines().count() > 20, "{seen}");
        for part in ["progress.db", "iteration-001.ndjson", "run.lock", "../runtime/"] {
            assert!(seen.contains(part), "{part}: {seen}");
        }
        let left =
            std::process::Command::new("sh").args(["-c", FIND]).current_dir(env.repo()).output();
        let left = String::from_utf8(left.unwrap().stdout).unwrap();
        assert_eq!(open_to_others(&format!("{seen}{left}")), [""; 0], "umask {umask}");
    }
}
