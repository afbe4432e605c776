//! The two ralph processes around a sandboxed program, as arguments of hidden commands.
//!
//! ```text
//!   subreaper ── ralph __box ⇒ bwrap ── bwrap (pid 1) ── ralph __inside ⇒ program
//!             joins cgroups,                          limits, Landlock,
//!             ignores INT, TERM, HUP                  seccomp, signals as ever
//! ```
//!
//! The first becomes `bwrap`, which must survive the signals that are meant for the program: only KILL ends it, and
//! with it everything in the sandbox. The second becomes the program, unless the sandbox has its own network: then
//! it stays next to the program and carries its connections to the proxy.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The hidden command of the first stage.
pub const OUTER: &str = "__box";
/// The hidden command of the second stage.
pub const INNER: &str = "__inside";
/// The hidden command that tries what is forbidden.
pub const TRIES: &str = "__box-test";
/// The exit code of a stage that could not continue, as `env` and `nohup` have it.
pub const FAILED: i32 = 125;
/// The prefix of the error message of a stage.
pub const SAYS: &str = "ralph: sandbox: ";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Processes and threads; 0 = unlimited.
    pub processes: u64,
    /// Bytes of memory; `None`: unlimited.
    pub memory: Option<u64>,
    /// Bytes of one file; `None`: unlimited.
    pub file_size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outer {
    /// Files of control groups that it writes its pid into.
    pub groups: Vec<PathBuf>,
    pub command: Vec<OsString>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inner {
    pub limits: Limits,
    /// Where the program may write; empty: without Landlock.
    pub writable: Vec<PathBuf>,
    /// What it may read although it is inside a hidden path.
    pub readable: Vec<PathBuf>,
    /// What it may not even read. Only where nothing can be mounted.
    pub hidden: Vec<PathBuf>,
    /// The socket of the proxy, where the sandbox has a network of its own.
    pub proxy: Option<PathBuf>,
    /// Ports of the loopback that lead to the same ports outside, by the proxy.
    pub ports: Vec<u16>,
    /// Refuse the system calls that no program needs.
    pub seccomp: bool,
    /// The program belongs to root outside, whatever user it is in the sandbox.
    pub is_root: bool,
    pub command: Vec<OsString>,
}

impl Outer {
    pub fn arguments(&self) -> Vec<OsString> {
        let mut all = vec![OUTER.into()];
        for group in &self.groups {
            all.extend(["--group".into(), group.into()]);
        }
        all.push("--".into());
        all.extend(self.command.iter().cloned());
        all
    }

    /// Reads them again, without the name of the command.
    pub fn read(arguments: &[OsString]) -> Option<Self> {
        let mut read = Self::default();
        read.command = options(arguments, |name, value| match name {
            "--group" => {
                read.groups.push(value.into());
                Some(())
            }
            _ => None,
        })?;
        Some(read)
    }
}

impl Inner {
    pub fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec![INNER.into()];
        let mut say = |name: &str, value: OsString| all.extend([name.into(), value]);
        if self.limits.processes > 0 {
            say("--processes", self.limits.processes.to_string().into());
        }
        let limits = [("--memory", self.limits.memory), ("--file-size", self.limits.file_size)];
        for (name, limit) in limits {
            limit.into_iter().for_each(|limit| say(name, limit.to_string().into()));
        }
        let places = [
            ("--writable", &self.writable),
            ("--readable", &self.readable),
            ("--hidden", &self.hidden),
        ];
        for (name, paths) in places {
            paths.iter().for_each(|path| say(name, path.into()));
        }
        if let Some(proxy) = &self.proxy {
            say("--proxy", proxy.into());
        }
        self.ports.iter().for_each(|port| say("--port", port.to_string().into()));
        if self.seccomp {
            say("--seccomp", "on".into());
        }
        if self.is_root {
            say("--root", "on".into());
        }
        all.push("--".into());
        all.extend(self.command.iter().cloned());
        all
    }

    /// Reads them again, without the name of the command.
    pub fn read(arguments: &[OsString]) -> Option<Self> {
        let mut read = Self::default();
        read.command = options(arguments, |name, value| {
            let number = || value.to_str().and_then(|text| text.parse::<u64>().ok());
            match name {
                "--processes" => read.limits.processes = number()?,
                "--memory" => read.limits.memory = Some(number()?),
                "--file-size" => read.limits.file_size = Some(number()?),
                "--writable" => read.writable.push(value.into()),
                "--readable" => read.readable.push(value.into()),
                "--hidden" => read.hidden.push(value.into()),
                "--proxy" => read.proxy = Some(value.into()),
                "--port" => read.ports.push(u16::try_from(number()?).ok()?),
                "--seccomp" => read.seccomp = value == "on",
                "--root" => read.is_root = value == "on",
                _ => return None,
            }
            Some(())
        })?;
        Some(read)
    }
}

/// Takes options with a value each up to `--`; what follows is the command, which there must be.
fn options(
    arguments: &[OsString],
    mut take: impl FnMut(&str, &OsStr) -> Option<()>,
) -> Option<Vec<OsString>> {
    let mut rest = arguments.iter();
    loop {
        let name = rest.next()?.to_str()?;
        if name == "--" {
            let command: Vec<OsString> = rest.cloned().collect();
            return (!command.is_empty()).then_some(command);
        }
        take(name, rest.next()?)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_stage_are_read_back() {
        let outer = Outer { groups: vec!["/a b".into()], command: vec!["x".into(), "--".into()] };
        assert_eq!(Outer::read(&outer.arguments()[1..]), Some(outer));
        let inner = Inner {
            limits: Limits { processes: 7, memory: Some(8), file_size: Some(9) },
            writable: vec!["/w".into(), "--".into()],
            readable: vec!["/r".into()],
            hidden: vec!["/h".into()],
            proxy: Some("/p".into()),
            ports: vec![1, 65535],
            seccomp: true,
            is_root: true,
            command: vec!["x".into(), "--seccomp".into()],
        };
        assert_eq!(Inner::read(&inner.arguments()[1..]), Some(inner));
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in
            [&["--"][..], &[], &["--port", "70000", "--", "x"], &["--what", "1", "--", "x"]]
        {
            let words: Vec<OsString> = wrong.iter().map(Into::into).collect();
            assert_eq!(Inner::read(&words), None, "{wrong:?}");
        }
    }
}
