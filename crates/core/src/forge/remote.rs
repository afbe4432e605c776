//! The server and the repository that the address of a git remote names.

use std::fmt;

use crate::text::escaped;

/// A repository on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The server: its name in small letters, with the port of its pages where that is an unusual one.
    pub host: String,
    /// Whose repository it is; on GitLab a group with its subgroups, such as `tools/internal`.
    pub owner: String,
    pub repo: String,
    /// Git reaches it by ssh, so the name may be one that only your ssh settings know.
    pub by_ssh: bool,
}

/// Other names of a server: ssh through the port of https, and old ones.
const ALSO: [(&str, &str); 3] = [
    ("ssh.github.com", "github.com"),
    ("www.github.com", "github.com"),
    ("altssh.gitlab.com", "gitlab.com"),
];

/// The deepest path of a repository: what GitLab allows.
const DEEPEST: usize = 21;

impl Address {
    /// Reads `https://host/owner/repo.git`, `ssh://git@host:22/owner/repo` and `git@host:owner/repo.git`.
    /// `None` for paths and for addresses of any other shape.
    pub fn of(url: &str) -> Option<Self> {
        let url = url.trim();
        let (scheme, (authority, path)) = match url.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest.split_once('/')?),
            None => ("ssh".to_owned(), scp_like(url)?),
        };
        let by_ssh = match scheme.as_str() {
            "ssh" | "git+ssh" | "ssh+git" => true,
            "https" | "http" | "git" => false,
            _ => return None,
        };
        let (name, port) = host_and_port(authority)?;
        // Only the port of https is one that pages and the API are reached by.
        let port = port.filter(|port| scheme == "https" && *port != 443);
        let host = match (port, usual_name(&name)) {
            (Some(port), name) if name.contains(':') => format!("[{name}]:{port}"),
            (Some(port), name) => format!("{name}:{port}"),
            (None, name) => name,
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        let (owner, repo) = path.rsplit_once('/')?;
        let named = |part: &str| {
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            !part.is_empty() && part.chars().all(plain) && part.chars().any(|c| c != '.')
        };
        let all = path.split('/').all(named) && path.split('/').count() <= DEEPEST;
        all.then(|| Self { host, owner: owner.to_owned(), repo: repo.to_owned(), by_ssh })
    }

    /// The same repository on the server of this name, as `ssh -G` prints it; `None` where it is not a name.
    #[must_use]
    pub fn on(&self, name: &str) -> Option<Self> {
        let (name, _) = host_and_port(name)?;
        Some(Self { host: usual_name(&name), ..self.clone() })
    }

    /// Whether the path has one owner and no subgroups.
    pub fn is_flat(&self) -> bool {
        !self.owner.contains('/')
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.repo)
    }
}

/// `user@host:path`, as ssh takes it. A slash before the colon makes it a path on this machine.
fn scp_like(url: &str) -> Option<(&str, &str)> {
    let (authority, path) = match url.find("]:") {
        Some(at) => (&url[..=at], &url[at + 2..]),
        None => url.split_once(':')?,
    };
    (!authority.contains('/')).then_some((authority, path))
}

fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
    };
    let host = host.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || host.starts_with('-') || !host.chars().all(plain) {
        return None;
    }
    match port {
        None | Some("") => Some((host, None)),
        Some(port) => Some((host, Some(port.parse().ok()?))),
    }
}

fn usual_name(name: &str) -> String {
    let known = ALSO.iter().find(|(other, _)| *other == name);
    known.map_or(name, |(_, usual)| usual).to_owned()
}

/// A text as a part of an address; only letters, digits and these stay as they are.
pub(super) fn percent(text: &str, also: &str) -> String {
    escaped(text, '%', |byte| {
        let c = char::from(byte);
        c.is_ascii_alphanumeric() || "-._~".contains(c) || also.contains(c)
    })
}

/// A text without the names and passwords in the addresses of it.
pub fn without_credentials(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        shown.push_str(head);
        let end = tail.find(|c: char| c == '/' || c == '\'' || c == '"' || c.is_whitespace());
        let authority = &tail[..end.unwrap_or(tail.len())];
        rest = match authority.rfind('@') {
            Some(at) => &tail[at + 1..],
            None => tail,
        };
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Option<String> {
        Address::of(url).map(|at| format!("{} {at}", at.host))
    }

    #[test]
    fn every_way_to_write_a_remote_names_the_same_repository() {
        for url in [
            "https://github.com/ada/engine",
            "https://github.com/ada/engine.git",
            "https://github.com/ada/engine/",
            "https://ada:secret@GitHub.com:443/ada/engine.git/",
            "http://www.github.com/ada/engine",
            "ssh://git@github.com/ada/engine.git",
            "ssh://git@ssh.github.com:443/ada/engine.git",
            "git+ssh://git@github.com/ada/engine",
            "git://github.com/ada/engine",
            "git@github.com:ada/engine.git",
            "git@github.com:/ada/engine",
            "github.com:ada/engine",
            " git@github.com:ada/engine.git\n",
        ] {
            assert_eq!(read(url).as_deref(), Some("github.com ada/engine"), "{url}");
        }
        let other = read("git@code.example.org:team-1/a.b_c");
        assert_eq!(other.as_deref(), Some("code.example.org team-1/a.b_c"));
        assert_eq!(read("ssh://git@[::1]:22/o/r").as_deref(), Some("::1 o/r"));
        assert_eq!(read("git@[::1]:o/r.git").as_deref(), Some("::1 o/r"));
    }

    #[test]
    fn what_names_no_repository_on_a_server_is_distinguished() {
        for url in [
            "",
            "origin",
            "/srv/git/engine.git",
            "./engine:x/y",
            "../engine",
            "file:///srv/git/engine",
            "https://github.com",
            "https://github.com/ada",
            "https:///ada/engine",
            "https://-oProxyCommand=x/a/b",
            "git@github.com:ada/../engine",
            "https://github.com/ada/..",
            "https://github.com/a?b/c#d",
            "https://github.com/a b/c",
            "https://github.com//a/b/../c",
            "https://github.com:99999/a/b",
            "ext::sh -c x/y",
        ] {
            assert_eq!(read(url), None, "{url}");
        }
    }

    #[test]
    fn a_repository_in_subgroups_has_all_of_them_as_its_owner() {
        for url in [
            "https://gitlab.com/acme/tools/internal/engine.git",
            "git@gitlab.com:acme/tools/internal/engine.git",
            "ssh://git@altssh.gitlab.com:443/acme/tools/internal/engine.git",
        ] {
            let found = Address::of(url).unwrap();
            assert_eq!(
                (found.host.as_str(), found.owner.as_str()),
                ("gitlab.com", "acme/tools/internal")
            );
            assert_eq!((found.repo.as_str(), found.is_flat()), ("engine", false), "{url}");
        }
        let deep = format!("https://gitlab.com/{}engine", "a/".repeat(21));
        assert_eq!(Address::of(&deep), None);
    }

    #[test]
    fn the_port_of_https_is_part_of_the_server_and_that_of_ssh_is_not() {
        assert_eq!(read("https://git.acme.org:8443/o/r").as_deref(), Some("git.acme.org:8443 o/r"));
        assert_eq!(read("ssh://git@git.acme.org:2222/o/r").as_deref(), Some("git.acme.org o/r"));
        assert_eq!(read("http://git.acme.org:3000/o/r").as_deref(), Some("git.acme.org o/r"));
        assert_eq!(read("https://[::1]:8443/o/r").as_deref(), Some("[::1]:8443 o/r"));
    }

    #[test]
    fn a_name_of_the_ssh_settings_is_replaced_by_what_it_stands_for() {
        let found = Address::of("git@work-gh:ada/engine.git").unwrap();
        assert!(found.by_ssh && !Address::of("https://github.com/a/b").unwrap().by_ssh);
        let on = |name: &str| found.on(name).map(|at| format!("{} {at}", at.host));
        assert_eq!(on("SSH.github.com").as_deref(), Some("github.com ada/engine"));
        for odd in ["", "-oProxyCommand=x", "a b", "x/y"] {
            assert_eq!(on(odd), None, "{odd}");
        }
    }

    #[test]
    fn passwords_in_addresses_are_not_shown() {
        let text = "'https://ada:p@ss@h.org/x' and ssh://git@h.org and http://h.org/a@b";
        let shown = "'https://h.org/x' and ssh://h.org and http://h.org/a@b";
        assert_eq!(without_credentials(text), shown);
    }
}
