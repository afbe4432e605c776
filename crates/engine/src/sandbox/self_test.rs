//! Tries forbidden acts inside a sandbox: that a sandbox could be created does not prove that it holds.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use super::config::{Sandbox, SandboxConfig};
use super::sandboxed_command::{ProgramKind, SandboxedCommand};
use super::stages::TRIES;
use crate::ports::Bind;
use crate::ports::{Probe, ProbeEnd};
use crate::process::CommandSpec;

/// How long it may take: a slow machine is no reason to run without a sandbox.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often the test is run where the sandbox could not be created, and how bubblewrap reports that.
const TRIED: u32 = 3;
const FLEETING: &str = "bwrap: Can't ";

/// What is tried. All but the last must be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tries {
    pub outside: PathBuf,
    /// A file that must not be readable.
    pub secret: PathBuf,
    /// A process that must not be reachable.
    pub pid: i32,
    /// The abstract socket that must not be reachable; empty where the system cannot fence that.
    pub socket: String,
    pub allowed: PathBuf,
}

impl Tries {
    pub fn arguments(&self) -> Vec<OsString> {
        vec![
            TRIES.into(),
            self.outside.clone().into(),
            self.secret.clone().into(),
            self.pid.to_string().into(),
            self.socket.clone().into(),
            self.allowed.clone().into(),
        ]
    }

    /// Reads them again, without the name of the command.
    pub fn read(arguments: &[OsString]) -> Option<Self> {
        let [outside, secret, pid, socket, allowed] = arguments else { return None };
        Some(Self {
            outside: outside.into(),
            secret: secret.into(),
            pid: pid.to_str()?.parse().ok()?,
            socket: socket.to_str()?.to_owned(),
            allowed: allowed.into(),
        })
    }

    /// Tries everything, and returns each unexpected result.
    pub fn go(&self) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        let mut forbid = |worked: bool, what| wrong.extend(worked.then_some(what));
        forbid(fs::write(self.outside.join("written"), "x").is_ok(), "it can write outside");
        forbid(
            fs::read(&self.secret).is_ok_and(|text| !text.is_empty()),
            "it can read what is hidden",
        );
        let reached = Pid::from_raw(self.pid).is_some_and(|pid| test_kill_process(pid).is_ok());
        forbid(reached, "it can signal processes outside");
        if !self.socket.is_empty() {
            let address = SocketAddr::from_abstract_name(self.socket.as_bytes());
            let reached = address.and_then(|address| UnixStream::connect_addr(&address)).is_ok();
            forbid(reached, "it can reach sockets outside");
        }
        let allowed = fs::write(self.allowed.join("self-test"), "x").is_ok();
        let _ = fs::remove_file(self.allowed.join("self-test"));
        forbid(!allowed, "it cannot write where it must");
        wrong
    }
}

/// Why a sandbox cannot be trusted or created.
pub(super) fn run(sandbox: &Sandbox, config: &SandboxConfig) -> Result<(), String> {
    let text = |error: io::Error| format!("the self-test cannot be prepared: {error}");
    config.caches.make().map_err(text)?;
    let place = config.caches.folder().parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(place).map_err(text)?;
    let folder = tempfile::Builder::new().prefix("self-test-").tempdir_in(place).map_err(text)?;
    let (outside, hidden) = (folder.path().join("outside"), folder.path().join("hidden"));
    fs::create_dir(&outside).map_err(text)?;
    fs::create_dir(&hidden).map_err(text)?;
    // Not where sessions write: what one left there must not make the next run give up its sandbox.
    let allowed = folder.path().join("allowed");
    fs::create_dir(&allowed).map_err(text)?;
    let secret = hidden.join("secret");
    fs::write(&secret, "canary").map_err(text)?;
    let name = format!("ralph-self-test-{}", std::process::id());
    let listener = SocketAddr::from_abstract_name(name.as_bytes())
        .and_then(|address| UnixListener::bind_addr(&address));
    // Landlock can fence abstract sockets and signals from its sixth version on.
    let is_fenced = listener.is_ok() && super::inside::landlock_version() >= 6;
    let tries = Tries {
        outside,
        secret,
        pid: rustix::process::getpid().as_raw_nonzero().get(),
        socket: if is_fenced { name } else { String::new() },
        allowed,
    };
    let mut config = config.clone();
    config.hidden.push(hidden);
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    let command = CommandSpec::new(sandbox.ralph(), tries.arguments(), Path::new("/"), env);
    let sandboxed = SandboxedCommand {
        writable: vec![],
        binds: vec![Bind::readable(&tries.outside), Bind::writable(&tries.allowed)],
        ..SandboxedCommand::in_worktree(ProgramKind::Judge, &config.project.root)
    };
    let tested = Sandbox::like(sandbox, config);
    let mut ran = tried(&tested, &command, &sandboxed).map_err(text)?;
    // A path that should be hidden may have been removed at that moment.
    for _ in 1..TRIED {
        if !ran.output.trim_start().starts_with(FLEETING) {
            break;
        }
        ran = tried(&tested, &command, &sandboxed).map_err(text)?;
    }
    match ran.end {
        ProbeEnd::Exited(0) => Ok(()),
        ProbeEnd::TimedOut => Err("the self-test timed out".to_owned()),
        ProbeEnd::Interrupted => Err("the self-test was interrupted".to_owned()),
        ProbeEnd::NotStarted(error) => Err(error),
        ProbeEnd::Exited(_) => Err(match ran.output.trim() {
            "" => "the self-test failed without output".to_owned(),
            output => output.lines().last().unwrap_or(output).to_owned(),
        }),
    }
}

fn tried(
    sandbox: &Sandbox,
    command: &CommandSpec,
    sandboxed: &SandboxedCommand,
) -> io::Result<Probe> {
    let wrapped = sandbox.wrap(command.clone(), sandboxed)?;
    Ok(crate::probe::run_spec(&wrapped.command, PATIENCE))
}
