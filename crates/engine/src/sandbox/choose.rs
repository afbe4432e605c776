//! Chooses the sandbox level that works on this machine, and says how to get the next better one.

use std::path::{Path, PathBuf};

use super::config::{Sandbox, SandboxConfig};
use super::level::{Level, Wanted};
use crate::host::{host, may_run};

#[derive(Debug)]
pub struct Choice {
    pub sandbox: Sandbox,
    /// What it holds, in a sentence.
    pub text: String,
    /// Why it is not the best, and what to type.
    pub next: Option<Unavailable>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sandbox level {level} is not available here: {why}")]
pub struct Unavailable {
    pub level: Level,
    pub why: String,
    /// What to type, each alone or in this order.
    pub remedies: Vec<String>,
    /// The package that is missing, where that is all.
    pub package: Option<&'static str>,
}

fn words(level: Level) -> &'static str {
    match level {
        Level::Full => {
            "writes only in the worktree, temporary files and caches; secrets are hidden"
        }
        Level::Seatbelt => {
            "writes only in the worktree, temporary files and caches; secrets are unreadable"
        }
        Level::Landlock => {
            "writes only in the worktree, the git directory, temporary files and caches; secrets and \
             other worktrees are unreadable; docs/sandbox.md lists the gaps"
        }
        Level::None => "only the list of allowed tools limits the agent",
    }
}

/// The sandbox that was asked for, or why there is none.
pub fn choose(wanted: Wanted, config: SandboxConfig) -> Result<Choice, Unavailable> {
    let levels: Vec<Level> = match wanted {
        Wanted::Exactly(Level::None) => return Ok(none(None, config)),
        Wanted::Exactly(level) => vec![level],
        Wanted::Auto if cfg!(target_os = "macos") => vec![Level::Seatbelt],
        Wanted::Auto => vec![Level::Full, Level::Landlock],
    };
    let mut first = None;
    for level in levels {
        // A network that cannot be closed is never left open silently.
        if level != Level::Full && !config.network.is_open() {
            return Err(first.unwrap_or_else(|| Unavailable {
                level,
                why: "sandbox.network.policy needs sandbox level full".to_owned(),
                remedies: vec![],
                package: None,
            }));
        }
        match made(level, &config) {
            Ok(sandbox) => {
                let text = words(level).to_owned();
                return Ok(Choice { sandbox, text, next: first });
            }
            Err(why) if wanted != Wanted::Auto => return Err(why),
            Err(why) => first = first.or(Some(why)),
        }
    }
    Ok(none(first, config))
}

/// The level that `auto` most likely chooses here. Nothing is tried.
pub fn likely() -> Level {
    if cfg!(target_os = "macos") {
        return Level::Seatbelt;
    }
    if find_bwrap().is_some() {
        return Level::Full;
    }
    #[cfg(target_os = "linux")]
    if super::inside::landlock_version() > 0 {
        return Level::Landlock;
    }
    Level::None
}

fn none(next: Option<Unavailable>, config: SandboxConfig) -> Choice {
    let sandbox = Sandbox::new(Level::None, config, PathBuf::new());
    Choice { sandbox, text: words(Level::None).to_owned(), next }
}

#[cfg(target_os = "linux")]
fn made(level: Level, config: &SandboxConfig) -> Result<Sandbox, Unavailable> {
    let refused =
        |why: String, remedies: Vec<String>, package| Unavailable { level, why, remedies, package };
    let bwrap = match level {
        Level::Full => find_bwrap().ok_or_else(|| {
            let why = "bubblewrap is not installed".to_owned();
            refused(why, vec![install()], Some("bubblewrap"))
        })?,
        Level::Seatbelt => {
            return Err(refused("it works only on macOS".to_owned(), vec![], None));
        }
        Level::Landlock | Level::None => PathBuf::new(),
    };
    if level == Level::Landlock && super::inside::landlock_version() == 0 {
        let why = "this kernel has no Landlock, or it is disabled".to_owned();
        return Err(refused(why, vec![], None));
    }
    super::cgroup::sweep();
    super::network_attachment::sweep();
    let sandbox = Sandbox::new(level, config.clone(), bwrap);
    match super::self_test::run(&sandbox, config) {
        Ok(()) => Ok(sandbox),
        Err(why) => {
            let remedies = if level == Level::Full { namespaces() } else { vec![] };
            Err(refused(why, remedies, None))
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn made(level: Level, config: &SandboxConfig) -> Result<Sandbox, Unavailable> {
    let works = level == Level::Seatbelt && Path::new(super::seatbelt::PROGRAM).exists();
    match works {
        true => Ok(Sandbox::new(level, config.clone(), PathBuf::new())),
        false => Err(Unavailable {
            level,
            why: "this system does not support it".to_owned(),
            remedies: vec![],
            package: None,
        }),
    }
}

/// The program, never from the repository that it is to hold.
fn find_bwrap() -> Option<PathBuf> {
    let usual = ["/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin"];
    let usual = usual.iter().map(|place| Path::new(place).join("bwrap")).find(|path| may_run(path));
    usual.or_else(|| host().find("bwrap"))?.canonicalize().ok()
}

fn install() -> String {
    let managers = [
        ("/usr/bin/apt-get", "sudo apt-get install -y bubblewrap"),
        ("/usr/bin/dnf", "sudo dnf install -y bubblewrap"),
        ("/usr/bin/pacman", "sudo pacman -S bubblewrap"),
        ("/sbin/apk", "sudo apk add bubblewrap"),
        ("/usr/bin/zypper", "sudo zypper install bubblewrap"),
    ];
    let here = managers.iter().find(|(program, _)| Path::new(program).exists());
    here.map_or("install your system's bubblewrap package", |(_, command)| command).to_owned()
}

/// What keeps an ordinary user from creating namespaces, as far as the system shows.
fn namespaces() -> Vec<String> {
    let set = |name: &str| {
        let path = Path::new("/proc/sys").join(name.replace('.', "/"));
        std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let mut remedies = Vec::new();
    if set("kernel.apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        remedies.push("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".to_owned());
    }
    if set("kernel.unprivileged_userns_clone").as_deref() == Some("0") {
        remedies.push("sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned());
    }
    if set("user.max_user_namespaces").as_deref() == Some("0") {
        remedies.push("sudo sysctl -w user.max_user_namespaces=15000".to_owned());
    }
    remedies
}
