//! The profile for `sandbox-exec`: the mounts of a [`MountPlan`] as macOS rules.
//!
//! macOS cannot mount anything in a sandbox: hidden files are denied by name, and the git directory is the real
//! one, in which settings, hooks and the refs of others are read-only. Later rules win over earlier ones.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::config::SandboxConfig;
use super::mount_plan::{Mount, MountPlan};
use super::sandboxed_command::SandboxedCommand;
use crate::process::CommandSpec;

/// The program that puts another one behind a profile.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program of macOS needs to run at all.
const GROUND: &str = r#"(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup)
(allow ipc-posix-shm)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/(tty|ptmx|pty).*"))
(allow file-read*)
(allow file-write*
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/stdout") (literal "/dev/stderr")
  (regex #"^/dev/(tty|fd|ptmx|pty).*"))
"#;

/// Files of the git directory that have programs run, say where others are, or are the refs of others.
const GIT_SETTINGS: [&str; 9] = [
    "config",
    "config.worktree",
    "hooks",
    "info",
    "commondir",
    "gitdir",
    "packed-refs",
    "refs",
    "objects/info",
];

pub fn profile(
    config: &SandboxConfig,
    sandboxed: &SandboxedCommand,
    mount_plan: &MountPlan,
) -> String {
    let mut text = GROUND.to_owned();
    if mount_plan.shares_network {
        text.push_str("(allow network*)\n(allow system-socket)\n");
    }
    text.push_str("(allow file-write* (subpath (param \"PROJECT_DIR\")))\n");
    text.push_str(
        "(allow file-write* (subpath (string-append (param \"ROOT_GIT_DIR\") \"/objects\")))\n",
    );
    let mut say = |verdict: &str, what: &str, how: &str, path: &Path| {
        text.push_str(&format!("({verdict} {what} ({how} {}))\n", quoted(path)));
    };
    for path in ["/private/tmp", "/private/var/folders", "/private/var/tmp"] {
        say("allow", "file-write*", "subpath", Path::new(path));
    }
    // In the order of the mounts that there cannot be: a later one covers an earlier one.
    for mount in &mount_plan.mounts {
        match mount {
            Mount::Empty(path) | Mount::Nothing(path) => {
                say("deny", "file-read* file-write*", "subpath", path);
            }
            Mount::Show(bind) if bind.from == bind.to => {
                say("allow", "file-read*", "subpath", &bind.to);
                let verdict = if bind.writable { "allow" } else { "deny" };
                say(verdict, "file-write*", "subpath", &bind.to);
            }
            // A writable place stays where it is, and nothing can be mounted elsewhere.
            Mount::Scratch(_) | Mount::Link(..) | Mount::Show(_) => {}
        }
    }
    // Also what is not there yet: it may come during the session.
    for path in &config.hidden {
        say("deny", "file-read* file-write*", "subpath", path);
    }
    let (common, own) = (&config.project.git_dir, own_git(config, sandboxed));
    for path in [common.join("logs"), own.clone()] {
        say("allow", "file-write*", "subpath", &path);
    }
    for folder in [common, &own] {
        for name in GIT_SETTINGS {
            say("deny", "file-write*", "subpath", &folder.join(name));
        }
    }
    for path in own_ref(common, &own) {
        say("allow", "file-write*", "literal", &path);
    }
    text.push_str("(deny file-read* (subpath (string-append (param \"HOME\") \"/.ssh\")))\n");
    text
}

fn own_git(config: &SandboxConfig, sandboxed: &SandboxedCommand) -> PathBuf {
    let project =
        crate::project::Project { worktree: sandboxed.worktree.clone(), ..config.project.clone() };
    project.own_git_dir().unwrap_or_else(|_| config.project.git_dir.clone())
}

/// The one ref that a commit in this worktree moves, and its lock.
fn own_ref(common: &Path, own: &Path) -> Vec<PathBuf> {
    let head = std::fs::read_to_string(own.join("HEAD")).unwrap_or_default();
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else { return vec![] };
    let path = common.join(name);
    let mut lock = path.clone().into_os_string();
    lock.push(".lock");
    vec![path, lock.into()]
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A profile on disk. Dropping this removes it.
#[derive(Debug)]
pub struct ProfileFile {
    file: tempfile::NamedTempFile,
    parameters: Vec<(&'static str, PathBuf)>,
}

impl ProfileFile {
    /// Writes the profile of a program to a file that only its owner can read.
    pub fn write(
        config: &SandboxConfig,
        sandboxed: &SandboxedCommand,
        mount_plan: &MountPlan,
    ) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("ralph-").suffix(".sb").tempfile()?;
        file.write_all(profile(config, sandboxed, mount_plan).as_bytes())?;
        let home = config.homes.first().cloned().unwrap_or_else(|| "/var/empty".into());
        let parameters = vec![
            ("PROJECT_DIR", sandboxed.writable.first().unwrap_or(&sandboxed.worktree).clone()),
            ("HOME", home),
            ("ROOT_GIT_DIR", config.project.git_dir.clone()),
        ];
        Ok(Self { file, parameters })
    }

    pub fn wrap(&self, mut command: CommandSpec) -> CommandSpec {
        let mut args: Vec<OsString> = vec!["-f".into(), self.file.path().into()];
        for (name, value) in &self.parameters {
            let mut pair = OsString::from(format!("{name}="));
            pair.push(value);
            args.extend(["-D".into(), pair]);
        }
        args.push(std::mem::take(&mut command.program));
        args.append(&mut command.args);
        CommandSpec { program: PROGRAM.into(), args, ..command }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Caches, Limits, Network, ProgramKind};
    use super::*;
    use crate::project::Project;

    fn made() -> (tempfile::TempDir, SandboxConfig, SandboxedCommand) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a \"b\"");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join(".ralph/skills")).unwrap();
        std::fs::create_dir_all(folder.path().join("home/.ssh")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let project =
            Project { worktree: root.clone(), root: root.clone(), git_dir: root.join(".git") };
        let config = SandboxConfig {
            project,
            homes: vec![folder.path().join("home")],
            environment: vec![],
            caches: Caches::of(&folder.path().join("home/.cache"), &root),
            ralph: "/usr/local/bin/ralph".into(),
            programs: vec![],
            hidden: vec![root.join("secret.db")],
            writable: vec![],
            readable: vec![],
            home: super::super::Home::masked(),
            sockets: vec![],
            limits: Limits::default(),
            network: Network::of_machine(),
            agents: vec![],
        };
        let sandboxed = SandboxedCommand::in_worktree(ProgramKind::Session, &root);
        (folder, config, sandboxed)
    }

    /// The last rule that covers a path decides: its verdict on writing.
    fn may_write(profile: &str, path: &Path) -> bool {
        let covers = |line: &&str| {
            path.ancestors().enumerate().any(|(above, place)| {
                let how = if above == 0 { "(" } else { "(subpath " };
                line.contains("file-write*")
                    && line.contains(&format!("{}))", quoted(place)))
                    && line.contains(how)
            })
        };
        profile.lines().rfind(covers).is_some_and(|line| line.starts_with("(allow"))
    }

    #[test]
    fn s1_25_the_profile_lets_sessions_write_in_their_worktree_and_not_in_what_is_ours() {
        let (_folder, config, sandboxed) = made();
        let text = profile(&config, &sandboxed, &config.mount_plan(&sandboxed, &[], false));
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
        let count = |letter| text.matches(letter).count();
        assert_eq!(count('('), count(')'), "{text}");
        for name in ["PROJECT_DIR", "HOME", "ROOT_GIT_DIR"] {
            assert!(text.contains(&format!("(param \"{name}\")")), "{name}: {text}");
        }
        let git = &config.project.git_dir;
        for name in ["config", "hooks", "commondir", "refs", "packed-refs"] {
            assert!(!may_write(&text, &git.join(name)), "{name}: {text}");
        }
        assert!(may_write(&text, &git.join("refs/heads/main")), "{text}");
        assert!(may_write(&text, &config.project.root), "{text}");
        assert!(!may_write(&text, &config.project.root.join("secret.db")), "{text}");
        assert!(!may_write(&text, &config.project.root.join(".ralph")), "{text}");
        assert!(may_write(&text, &config.project.root.join(".ralph/skills")), "{text}");
        assert!(text.contains("a \\\"b\\\""), "quotes are escaped: {text}");
    }

    #[test]
    fn a_profile_is_given_by_its_parameters_and_goes_with_the_session() {
        let (_folder, config, sandboxed) = made();
        let file =
            ProfileFile::write(&config, &sandboxed, &config.mount_plan(&sandboxed, &[], false))
                .unwrap();
        let path = file.file.path().to_owned();
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let command = CommandSpec {
            program: "claude".into(),
            args: vec!["--print".into()],
            ..CommandSpec::default()
        };
        let wrapped = file.wrap(command);
        let words: Vec<String> =
            wrapped.args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(wrapped.program, PROGRAM);
        assert_eq!(words[..2], ["-f".to_owned(), path.display().to_string()]);
        let root = config.project.root.display();
        assert_eq!(words[2..4], ["-D".to_owned(), format!("PROJECT_DIR={root}")]);
        assert!(words[5].starts_with("HOME=") && words[7].ends_with(".git"), "{words:?}");
        assert_eq!(words[8..], ["claude", "--print"]);
        drop(file);
        assert!(!path.exists());
    }
}
