//! What no box shows: keys, logins, histories, and the sockets of other programs.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Below a home.
const OF_PERSON: [&str; 62] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker",
    ".oci",
    ".netrc",
    ".git-credentials",
    ".gitconfig",
    ".config/git",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/gcloud",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".config/doctl",
    ".config/ralph",
    ".config/fly",
    ".fly",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".pki",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/Slack",
    ".config/discord",
    ".my.cnf",
    ".pgpass",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
    ".lesshst",
    ".viminfo",
    ".codex",
    ".gemini",
    ".config/opencode",
    ".local/share/opencode",
    ".claude",
];

/// Of the machine. An ordinary user may not read them anyway; as root, this is what hides them.
const OF_MACHINE: [&str; 20] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/kubernetes",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
    "/var/lib/kubelet",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/postgresql",
    "/var/lib/mysql",
    "/var/spool/cron",
    "/var/log",
    "/var/backups",
    "/lost+found",
];

/// Those that are there, each by its real name. `homes` are the person's, `but` is what the person lets a
/// box see.
pub(super) fn present(homes: &[PathBuf], but: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = OF_MACHINE.iter().map(PathBuf::from).collect();
    all.extend(host_keys());
    for home in homes {
        all.extend(OF_PERSON.iter().map(|name| home.join(name)));
        all.push(home.join(".claude.json"));
    }
    let but: Vec<PathBuf> = but.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let found = all.into_iter().filter_map(|path| path.canonicalize().ok());
    let found: BTreeSet<PathBuf> = found.filter(|path| !but.contains(path)).collect();
    found.into_iter().collect()
}

fn host_keys() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten();
    let secret = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    };
    entries.map(|entry| entry.path()).filter(secret)
}

/// The sockets that other programs listen on and that have a name, as the system lists them. A box that
/// shares the network could otherwise talk to whoever listens there with the person's rights.
pub(super) fn sockets() -> Vec<PathBuf> {
    let listed = std::fs::read("/proc/net/unix").unwrap_or_default();
    let found: BTreeSet<PathBuf> = named_sockets(&String::from_utf8_lossy(&listed)).collect();
    found.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// Whether a box gets as far as this at all. It has no rights beyond those of a user: so of folders that
/// are closed to others root's own boxes see nothing either, and could mount nothing in them.
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
    fn what_is_there_is_hidden_unless_the_person_says_so() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join(".config/gh")).unwrap();
        std::fs::write(home.join(".netrc"), "").unwrap();
        std::os::unix::fs::symlink(home.join("elsewhere"), home.join(".aws")).unwrap();
        std::fs::create_dir(home.join("elsewhere")).unwrap();
        let hidden = present(std::slice::from_ref(&home), &[home.join(".config/gh")]);
        for name in [".ssh", ".netrc", "elsewhere"] {
            assert!(hidden.contains(&home.join(name)), "{name}: {hidden:?}");
        }
        assert!(
            !hidden.contains(&home.join(".config/gh")) && !hidden.contains(&home.join(".gnupg"))
        );
    }

    #[test]
    fn what_lies_in_a_folder_of_somebody_else_is_out_of_reach() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        assert!(is_in_reach(&closed.join("socket")));
        // Only root can give a folder away.
        if chown(&closed, Some(65_534), Some(65_534)).is_ok() {
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
