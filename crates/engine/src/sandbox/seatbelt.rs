//! The profile for `sandbox-exec`: a room in the words of macOS.
//!
//! Nothing can be mounted there: what is hidden is denied by name, and the git directory is the real one,
//! in which settings, hooks and the refs of others are read-only. Later rules win over earlier ones.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::house::{Guest, House, Room};
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

/// Files of the git directory that have programs run, or say where others are: read-only.
const GIT_SETTINGS: [&str; 8] = [
    "config",
    "config.worktree",
    "hooks",
    "info",
    "commondir",
    "gitdir",
    "packed-refs",
    "objects/info",
];

/// The profile of a guest.
pub fn profile(house: &House, guest: &Guest, room: &Room) -> String {
    let mut text = GROUND.to_owned();
    if room.shares_network {
        text.push_str("(allow network*)\n(allow system-socket)\n");
    } else {
        text.push_str("(allow network* (remote unix-socket))\n");
    }
    let mut say = |verdict: &str, what: &str, paths: &[PathBuf]| {
        if paths.is_empty() {
            return;
        }
        text.push_str(&format!("({verdict} {what}"));
        for path in paths {
            text.push_str(&format!("\n  (subpath {})", quoted(path)));
        }
        text.push_str(")\n");
    };
    let temporary = ["/private/tmp", "/private/var/folders", "/private/var/tmp"].map(PathBuf::from);
    say("allow", "file-write*", &temporary);
    say("allow", "file-write*", &room.writable);
    let of_git = own_git(house, guest);
    say("allow", "file-write*", &of_git);
    let settings: Vec<PathBuf> = of_git
        .iter()
        .chain([&house.project.git_dir])
        .flat_map(|folder| GIT_SETTINGS.map(|name| folder.join(name)))
        .collect();
    say("deny", "file-write*", &settings);
    say("deny", "file-write-unlink", &settings);
    say("deny", "file-write*", &guest.read_only);
    say("deny", "file-read* file-write*", &room.hidden);
    text.push_str(
        "(allow file-write* (subpath (param \"PROJECT_DIR\")))\n\
         (allow file-write* (subpath (string-append (param \"ROOT_GIT_DIR\") \"/objects\")))\n\
         (deny file-write* (subpath (string-append (param \"ROOT_GIT_DIR\") \"/hooks\")))\n\
         (deny file-write* (literal (string-append (param \"ROOT_GIT_DIR\") \"/config\")))\n\
         (deny file-read* (subpath (string-append (param \"HOME\") \"/.ssh\")))\n",
    );
    text
}

/// What git writes when somebody commits in this worktree: objects, its own refs, HEAD and index.
fn own_git(house: &House, guest: &Guest) -> Vec<PathBuf> {
    let common = &house.project.git_dir;
    let project =
        crate::project::Project { worktree: guest.worktree.clone(), ..house.project.clone() };
    let own = project.own_git_dir().unwrap_or_else(|_| common.clone());
    let mut all = vec![common.join("objects"), common.join("refs/heads"), common.join("logs"), own];
    all.dedup();
    all
}

/// A path as the profile takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A profile on disk. It goes away with this value.
#[derive(Debug)]
pub struct ProfileFile {
    file: tempfile::NamedTempFile,
    parameters: Vec<(&'static str, PathBuf)>,
}

impl ProfileFile {
    /// Writes the profile of a guest where only its owner can read it.
    pub fn write(house: &House, guest: &Guest, room: &Room) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("ralph-").suffix(".sb").tempfile()?;
        file.write_all(profile(house, guest, room).as_bytes())?;
        let home = house.homes.first().cloned().unwrap_or_else(|| "/var/empty".into());
        let parameters = vec![
            ("PROJECT_DIR", guest.writable.first().unwrap_or(&guest.worktree).clone()),
            ("HOME", home),
            ("ROOT_GIT_DIR", house.project.git_dir.clone()),
        ];
        Ok(Self { file, parameters })
    }

    /// The command that runs this one behind the profile.
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
