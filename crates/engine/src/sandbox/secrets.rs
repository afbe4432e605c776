//! What no sandbox shows: keys, logins, histories, and the sockets of other programs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::environment::value;
use super::registries;

/// Places of logins below a home and of the machine, and variables that put them elsewhere.
const PLACES: &str = include_str!("places.txt");

/// Folders of a home that a variable puts elsewhere.
const XDG: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config/"),
    ("XDG_DATA_HOME", ".local/share/"),
    ("XDG_STATE_HOME", ".local/state/"),
    ("XDG_CACHE_HOME", ".cache/"),
];

/// Those that are there, each by its real name. `but` is what the user lets a sandbox see.
pub(super) fn present(
    homes: &[PathBuf],
    environment: &[(OsString, OsString)],
    but: &[PathBuf],
) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = of_machine().map(PathBuf::from).collect();
    all.extend(host_keys());
    for home in homes {
        all.extend(of_user().map(|name| home.join(name)));
    }
    all.extend(moved(environment));
    all.retain(|path| !registries::is_plain(path));
    let but: Vec<PathBuf> = but.iter().filter_map(|path| path.canonicalize().ok()).collect();
    // Checked for existence first: most do not exist, and resolving paths is expensive.
    let there = all.into_iter().filter(|path| path.exists());
    let found = there.filter_map(|path| path.canonicalize().ok());
    // A variable that names a home, or the system, names no login.
    let broad = |path: &Path| path.components().count() < 3 && !path.is_file();
    let is_of_machine = |path: &PathBuf| of_machine().any(|known| path == Path::new(known));
    let around = |path: &PathBuf| homes.iter().any(|home| home.starts_with(path)) || broad(path);
    let found: BTreeSet<PathBuf> = found
        .filter(|path| !but.contains(path) && (!around(path) || is_of_machine(path)))
        .collect();
    found.into_iter().collect()
}

fn moved(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for line in PLACES.lines().filter_map(|line| line.strip_prefix('$')) {
        let mut words = line.split(' ');
        let Some(list) = words.next().and_then(|name| value(environment, name)) else { continue };
        let names: Vec<&str> = words.collect();
        // Also `FILE:/tmp/ticket`, as Kerberos has it: values that are not paths are left out below.
        for place in std::env::split_paths(list) {
            match names.is_empty() {
                true => all.push(place),
                false => all.extend(names.iter().map(|name| place.join(name))),
            }
        }
    }
    for (variable, folder) in XDG {
        let Some(place) = value(environment, variable) else { continue };
        let inside = of_user().filter_map(|name| name.strip_prefix(folder));
        all.extend(inside.map(|name| Path::new(place).join(name)));
    }
    // A disabled setting often names `/dev/null`.
    all.retain(|path| path.is_absolute() && !path.starts_with("/dev"));
    all
}

fn of_machine() -> impl Iterator<Item = &'static str> {
    PLACES.lines().filter(|line| line.starts_with('/'))
}

fn of_user() -> impl Iterator<Item = &'static str> {
    PLACES.lines().filter_map(|line| line.strip_prefix("~/"))
}

fn host_keys() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten();
    let secret = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    };
    entries.map(|entry| entry.path()).filter(secret)
}

/// The named sockets that other programs listen on, as the system lists them. A sandbox that shares the network
/// could otherwise talk to programs that run with the user's rights.
pub(super) fn sockets() -> Vec<PathBuf> {
    let listed = std::fs::read("/proc/net/unix").unwrap_or_default();
    let found: BTreeSet<PathBuf> = named_sockets(&String::from_utf8_lossy(&listed)).collect();
    found.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// Whether a sandbox can reach this path at all. It has no rights beyond those of a user: so even root's own
/// sandboxes see nothing of folders that are closed to others, and could mount nothing in them.
pub(super) fn is_in_reach(path: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    let groups = rustix::process::getgroups().unwrap_or_default();
    path.ancestors().skip(1).all(|folder| {
        folder.metadata().is_ok_and(|found| {
            let mode = found.mode();
            let of_group = || groups.iter().any(|group| group.as_raw() == found.gid());
            mode & 0o001 != 0
                || (mode & 0o100 != 0 && found.uid() == user)
                || (mode & 0o010 != 0 && of_group())
        })
    })
}

fn named_sockets(listed: &str) -> impl Iterator<Item = PathBuf> {
    let name = |line: &str| {
        let (_, name) = line.split_once(" /")?;
        Some(Path::new("/").join(name))
    };
    listed.lines().skip(1).filter_map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_hidden_unless_the_user_says_so() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join(".config/gh")).unwrap();
        std::fs::write(home.join(".netrc"), "").unwrap();
        std::os::unix::fs::symlink(home.join("elsewhere"), home.join(".aws")).unwrap();
        std::fs::create_dir(home.join("elsewhere")).unwrap();
        let hidden = present(std::slice::from_ref(&home), &[], &[home.join(".config/gh")]);
        for name in [".ssh", ".netrc", "elsewhere"] {
            assert!(hidden.contains(&home.join(name)), "{name}: {hidden:?}");
        }
        assert!(
            !hidden.contains(&home.join(".config/gh")) && !hidden.contains(&home.join(".gnupg"))
        );
    }

    #[test]
    fn logins_that_a_variable_moved_are_hidden_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let home = folder.join("home");
        for name in ["settings/gh", "gpg", "cargo/bin", "home", "share/keyrings"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in ["kube-a", "kube-b", "cargo/credentials.toml", "ticket", "settings/other"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let at = |name: &str| folder.join(name).into_os_string();
        let environment: Vec<(OsString, OsString)> = vec![
            ("XDG_CONFIG_HOME".into(), at("settings")),
            ("XDG_DATA_HOME".into(), at("share")),
            ("GNUPGHOME".into(), at("gpg")),
            ("KUBECONFIG".into(), std::env::join_paths([at("kube-a"), at("kube-b")]).unwrap()),
            ("CARGO_HOME".into(), at("cargo")),
            ("KRB5CCNAME".into(), format!("FILE:{}", folder.join("ticket").display()).into()),
            // These would hide everything.
            ("DOCKER_CONFIG".into(), home.clone().into_os_string()),
            ("AZURE_CONFIG_DIR".into(), "/".into()),
        ];
        let hidden = present(std::slice::from_ref(&home), &environment, &[]);
        let own: Vec<_> =
            hidden.iter().filter_map(|path| path.strip_prefix(&folder).ok()).collect();
        let wanted = [
            "cargo/credentials.toml",
            "gpg",
            "kube-a",
            "kube-b",
            "settings/gh",
            "share/keyrings",
            "ticket",
        ];
        assert_eq!(own, wanted.map(Path::new));
    }

    #[test]
    fn files_in_a_folder_of_another_user_are_out_of_reach() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        assert!(is_in_reach(&closed.join("socket")));
        // Only root can give a folder away, and a folder of its own stays in the reach of a user.
        let is_root = rustix::process::geteuid().is_root();
        if is_root && chown(&closed, Some(65_534), Some(65_534)).is_ok() {
            std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
            assert!(is_in_reach(&closed) && !is_in_reach(&closed.join("socket")));
        }
    }

    #[test]
    fn named_sockets_are_found_in_the_list() {
        let listed = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                      0: 00000002 00000000 00010000 0001 01 21 /a b/socket\n\
                      0: 00000002 00000000 00010000 0001 01 22 @abstract\n\
                      0: 00000003 00000000 00000000 0001 03 23\n";
        let found: Vec<_> = named_sockets(listed).collect();
        assert_eq!(found, [PathBuf::from("/a b/socket")]);
    }
}
