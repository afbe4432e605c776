//! Files: to change what lies outside, and to read what is secret.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use super::calls::{address, c_path, call};
use super::{Aim, Attempt, harmful, held, lets, no};

pub(super) const ALL: &[Attempt] = &[
    held("write_beside", "create a file beside the repository", |aim| {
        fs::write(aim.outside("new"), "x")
    }),
    held("overwrite", "overwrite a file outside", |aim| write_over(&aim.outside("file"))),
    held("truncate", "truncate a file outside", |aim| {
        let path = c_path(&aim.outside("file"));
        call((76, 45), [address(&path), 0, 0, 0, 0]).map(drop)
    }),
    held("make_folder", "create a folder outside", |aim| fs::create_dir(aim.outside("folder"))),
    held("remove", "remove a file outside", |aim| fs::remove_file(aim.outside("doomed"))),
    held("make_pipe", "create a named pipe outside", |aim| {
        let path = c_path(&aim.outside("pipe"));
        let here = -100;
        call((259, 33), [here, address(&path), 0o010_644, 0, 0]).map(drop)
    }),
    held("rename_over", "rename a file over one outside", |aim| {
        fs::write("own.txt", "x")?;
        fs::rename("own.txt", aim.outside("file"))
    }),
    held("rename_in", "move a file from outside into the worktree", |aim| {
        fs::rename(aim.outside("doomed"), "taken.txt")
    }),
    held("link_in", "hard-link a file outside into the worktree", |aim| {
        fs::hard_link(aim.outside("file"), "linked.txt")?;
        write_over(Path::new("linked.txt"))
    }),
    held("link_secret", "hard-link a key", |aim| {
        fs::hard_link(aim.home(".ssh/id_ed25519"), "linked.key")?;
        finds_secret(aim, Path::new("linked.key"))
    }),
    held("write_by_symlink", "write a file outside through a symbolic link", |aim| {
        symlink(aim.outside("file"), "leads.out")?;
        write_over(Path::new("leads.out"))
    }),
    held("read_by_symlink", "read a key through a symbolic link", |aim| {
        symlink(aim.home(".ssh"), "leads.home")?;
        finds_secret(aim, Path::new("leads.home/id_ed25519"))
    }),
    held("symlink_race", "turn a folder into a symbolic link during a write", race),
    lets("chmod", "change the mode of a file outside", |aim| {
        fs::set_permissions(aim.outside("file"), fs::Permissions::from_mode(0o606))
    }),
    lets("chown", "change the owner of a file outside", |aim| {
        use std::os::unix::fs::MetadataExt;
        let found = fs::metadata(aim.outside("file"))?;
        // Its own owner: so nothing changes where it works.
        std::os::unix::fs::chown(aim.outside("file"), Some(found.uid()), Some(found.gid()))
    }),
    lets("utime", "change the time of a file outside", |aim| {
        File::open(aim.outside("timed"))?.set_modified(UNIX_EPOCH)
    }),
    lets("xattr", "change an attribute of a file outside", |aim| {
        let (path, name) = (c_path(&aim.outside("timed")), c_path(Path::new("user.escaped")));
        let value = c_path(Path::new("x"));
        call((188, 5), [address(&path), address(&name), address(&value), 1, 0]).map(drop)
    }),
    held("read_ssh_key", "read a key in ~/.ssh", |aim| {
        finds_secret(aim, &aim.home(".ssh/id_ed25519"))
    }),
    held("read_aws", "read ~/.aws/credentials", |aim| {
        finds_secret(aim, &aim.home(".aws/credentials"))
    }),
    held("read_netrc", "read ~/.netrc", |aim| finds_secret(aim, &aim.home(".netrc"))),
    held("read_gh", "read the login of gh", |aim| {
        finds_secret(aim, &aim.home(".config/gh/hosts.yml"))
    }),
    held("read_cargo_login", "read the login of cargo", |aim| {
        finds_secret(aim, &aim.home(".cargo/credentials.toml"))
    }),
    held("read_npmrc", "read ~/.npmrc", |aim| finds_secret(aim, &aim.home(".npmrc"))),
    held("read_git_credentials", "read ~/.git-credentials", |aim| {
        finds_secret(aim, &aim.home(".git-credentials"))
    }),
    held("read_history", "read the shell history", |aim| {
        finds_secret(aim, &aim.home(".bash_history"))
    }),
    held("read_claude_history", "read the user's conversations with the agent", |aim| {
        finds_secret(aim, &aim.home(".claude/history.jsonl"))
    }),
    held("read_ralph_config", "read the user's ralph config", |aim| {
        finds_secret(aim, &aim.home(".config/ralph/config.toml"))
    }),
    held("read_linked_config", "the same if it is a symbolic link", |aim| {
        finds_secret(aim, &aim.home("dotfiles/ralph.toml"))
    }),
    lets("read_unheard_of", "read a login of an unknown program", |aim| {
        finds_secret(aim, &aim.home(".unheard-of/token"))
    }),
    lets("read_private", "read any other file of the home", |aim| {
        finds_secret(aim, &aim.home("notes/private.txt"))
    }),
    held("read_other_login", "read the agent's login of another project", |aim| {
        finds_secret(aim, &aim.home(".cache/ralph/other-0123/agents/claude/.credentials.json"))
    }),
    held("read_moved_keys", "read keys that GNUPGHOME puts elsewhere", |aim| {
        finds_secret(aim, &aim.outside("../moved/gnupg/key"))
    }),
    held("read_moved_cluster", "read a login that KUBECONFIG puts elsewhere", |aim| {
        finds_secret(aim, &aim.outside("../moved/kube"))
    }),
    held("read_moved_gh", "read a login that GH_CONFIG_DIR puts elsewhere", |aim| {
        finds_secret(aim, &aim.outside("../moved/config/gh/hosts.yml"))
    }),
    held("read_replaced", "read a login that the user's tool replaced during the session", |aim| {
        late()?;
        finds_secret(aim, &aim.home(".git-credentials"))
    }),
    held("read_new_login", "read a login that was made during the session", |aim| {
        late()?;
        let all = [".config/late/hosts.yml", ".late-login"];
        let mut found = all.iter().map(|name| finds_secret(aim, &aim.home(name)));
        found.find(Result::is_ok).unwrap_or_else(|| Err(no("none can be read")))
    }),
    held("set_user_bit", "make a set-user-ID file in the worktree", |_| makes(0o4755)),
    held("set_group_bit", "make a set-group-ID file in the worktree", |_| {
        // Ordinary users may set it, for folders need it; whether a file keeps it is seen from outside.
        match makes(0o2755) {
            Ok(()) => Err(no("seen from outside")),
            failed => failed,
        }
    }),
    lets(
        "replace_included",
        "replace git settings in the worktree by renaming their folder",
        |aim| {
            fs::rename(aim.repo("conf"), aim.repo("conf.node"))?;
            fs::create_dir(aim.repo("conf"))?;
            fs::write(aim.repo("conf/git.inc"), "[core]\n\tfsmonitor = touch escaped\n")
        },
    ),
    lets("replace_worktree", "replace another worktree by renaming the folder around it", |aim| {
        fs::rename(aim.repo(".worktrees"), aim.repo("worktrees.node"))?;
        fs::rename(aim.repo("worktrees.node"), aim.repo(".worktrees"))
    }),
    held("read_shadow", "read /etc/shadow", |_| match fs::read("/etc/shadow")?.is_empty() {
        true => Err(no("it is empty")),
        false => Ok(()),
    }),
    held("write_bashrc", "write ~/.bashrc", |aim| append(&aim.home(".bashrc"))),
    held("write_gitconfig", "write ~/.gitconfig", |aim| append(&aim.home(".gitconfig"))),
    held("write_authorized_keys", "write ~/.ssh/authorized_keys", |aim| {
        fs::write(aim.home(".ssh/authorized_keys"), "x")
    }),
    held("plant_agent_hook", "plant a hook in the user's agent settings", |aim| {
        append(&aim.home(".claude/settings.json"))
    }),
    held("plant_shown_hook", "the same in the copy that the session sees", |_| {
        let folder = std::env::var_os("CLAUDE_CONFIG_DIR").ok_or_else(|| no("it is not set"))?;
        let path = PathBuf::from(folder).join("settings.json");
        match path.exists() {
            true => append(&path),
            false => Err(no("it is not shown")),
        }
    }),
    held("plant_cargo", "plant a program in ~/.cargo/bin", |aim| {
        fs::write(aim.home(".cargo/bin/cargo"), "x")
    }),
    held("poison_cargo", "write to the user's cargo cache", |aim| {
        append(&aim.home(".cargo/registry/cache/crate"))
    }),
    held("poison_npm", "write to the user's npm cache", |aim| {
        append(&aim.home(".npm/_cacache/entry"))
    }),
    held("plant_program", "plant a program beside the agent, first on the PATH", |aim| {
        fs::write(aim.path("bin").join("sh"), "x")
    }),
    harmful(held("replace_agent", "replace the agent", |aim| {
        fs::write("agent.txt", "x")?;
        fs::rename("agent.txt", aim.path("bin").join("claude"))
    })),
    harmful(held("replace_ralph", "replace ralph", |aim| {
        fs::write("ralph.txt", "x")?;
        fs::rename("ralph.txt", aim.path("bin").join("ralph"))
    })),
    harmful(held("replace_boxed_ralph", "replace ralph as the sandbox shows it", |_| {
        fs::write("ralph.txt", "x")?;
        fs::rename("ralph.txt", "/run/ralph/bin/ralph")
    })),
    harmful(held("write_preload", "write /etc/ld.so.preload", |_| {
        append(Path::new("/etc/ld.so.preload"))
    })),
    harmful(held("write_cron", "add a cron job", |_| fs::write("/etc/cron.d/ralph-escape", ""))),
    harmful(held("write_crontab", "add a crontab", |_| {
        fs::create_dir_all("/var/spool/cron/crontabs")?;
        fs::write("/var/spool/cron/crontabs/ralph-escape", "")
    })),
    held("replace_cache", "turn a cache of the project into a symbolic link", |aim| {
        let cache = std::env::var_os("CARGO_HOME").ok_or_else(|| no("it is not set"))?;
        let cache = PathBuf::from(cache);
        if cache.starts_with(aim.home(".cargo")) {
            return Err(no("it is the person's own"));
        }
        fs::rename(&cache, cache.with_file_name("cargo-away"))?;
        symlink(aim.path("outside"), cache)
    }),
    held("plant_agents", "turn the folder of the agents' logins into a symbolic link", |aim| {
        let cache = std::env::var_os("CARGO_HOME").ok_or_else(|| no("it is not set"))?;
        let agents = PathBuf::from(cache).with_file_name("agents");
        let _ = fs::rename(&agents, agents.with_file_name("agents-away"));
        symlink(aim.path("outside"), agents)
    }),
];

/// Makes files with a mode, by every call that takes one. `Ok` if one has its bits.
fn makes(mode: u32) -> io::Result<()> {
    let bits = mode & 0o6000;
    let mode = i64::from(mode);
    let plain = |name: &str| fs::write(name, "x").map(|()| c_path(Path::new(name)));
    let here = -100;
    let made = [
        plain("a.node").and_then(|path| call((90, 53), by(here, &path, mode))),
        plain("b.node").and_then(|path| call((268, 53), [here, address(&path), mode, 0, 0])),
        plain("c.node").and_then(|path| call((452, 452), [here, address(&path), mode, 0, 0])),
        File::create("d.node").and_then(|file| {
            use std::os::fd::AsRawFd;
            call((91, 52), [file.as_raw_fd().into(), mode, 0, 0, 0])
        }),
        {
            let path = c_path(Path::new("e.node"));
            call((259, 33), [here, address(&path), 0o100_000 | mode, 0, 0])
        },
        {
            let (path, makes) = (c_path(Path::new("f.node")), 0o101);
            call((257, 56), [here, address(&path), makes, mode, 0])
        },
        {
            let (path, how) = (c_path(Path::new("g.node")), [0o101_u64, mode.unsigned_abs(), 0]);
            call((437, 437), [here, address(&path), how.as_ptr() as i64, 24, 0])
        },
    ];
    let kept = |name: &str| {
        let found = fs::metadata(format!("{name}.node"));
        found.is_ok_and(|found| found.permissions().mode() & bits != 0)
    };
    let with: Vec<&str> =
        ["a", "b", "c", "d", "e", "f", "g"].into_iter().filter(|n| kept(n)).collect();
    match (with.is_empty(), made.into_iter().find_map(Result::err)) {
        (false, _) => Ok(()),
        (true, Some(error)) => Err(error),
        (true, None) => Err(no("none has the bit")),
    }
}

/// The arguments of `chmod`, which only one of the two machines has.
fn by(here: i64, path: &std::ffi::CString, mode: i64) -> [i64; 5] {
    match cfg!(target_arch = "x86_64") {
        true => [address(path), mode, 0, 0, 0],
        false => [here, address(path), mode, 0, 0],
    }
}

/// Asks the world outside to go on, once: new sockets and logins are there when this returns.
pub(super) fn late() -> io::Result<()> {
    fs::write("late.ask", "")?;
    for _ in 0..2000 {
        if Path::new("late.there").exists() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("nothing happened outside")
}

fn write_over(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    io::Write::write_all(&mut file, b"x")
}

fn append(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    io::Write::write_all(&mut file, b"x")
}

/// Whether the secret can be read there.
pub(super) fn finds_secret(aim: &Aim, path: &Path) -> io::Result<()> {
    let text = fs::read(path)?;
    match String::from_utf8_lossy(&text).contains(aim.secret()) {
        true => Ok(()),
        false => Err(no("there is no secret in it")),
    }
}

/// Writes into a folder again and again while it turns into a symbolic link and back.
fn race(aim: &Aim) -> io::Result<()> {
    let (real, link) = (Path::new("turns.real"), Path::new("turns.link"));
    fs::create_dir_all(real)?;
    let _ = symlink(aim.path("outside"), link);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = fs::rename(real, "turns");
                let _ = fs::rename("turns", real);
                let _ = fs::rename(link, "turns");
                let _ = fs::rename("turns", link);
            }
        });
        for _ in 0..2000 {
            let _ = fs::write("turns/raced", "x");
        }
        over.store(true, Ordering::Relaxed);
    });
    match aim.outside("raced").exists() {
        true => Ok(()),
        false => Err(no("no write got out")),
    }
}
