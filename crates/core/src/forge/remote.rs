//! The server and the repository that the address of a git remote names.

use std::fmt;

/// A repository on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The name of the server, in small letters and without a port.
    pub host: String,
    /// Whose repository it is.
    pub owner: String,
    /// Its name.
    pub repo: String,
}

impl Address {
    /// Reads `https://host/owner/repo.git`, `ssh://git@host:22/owner/repo` and `git@host:owner/repo.git`.
    /// `None` for paths and for addresses of any other shape.
    pub fn of(url: &str) -> Option<Self> {
        let url = url.trim();
        let (authority, path) = match url.split_once("://") {
            Some((scheme, rest)) => {
                let known = ["https", "http", "ssh", "git", "git+ssh", "ssh+git"];
                known.contains(&scheme.to_ascii_lowercase().as_str()).then_some(())?;
                rest.split_once('/')?
            }
            None => scp_like(url)?,
        };
        let host = host(authority)?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        let (owner, repo) = path.split_once('/')?;
        let named = |part: &str| {
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            !part.is_empty() && part.chars().all(plain) && part.chars().any(|c| c != '.')
        };
        (named(owner) && named(repo)).then(|| Self {
            host,
            owner: owner.to_owned(),
            repo: repo.to_owned(),
        })
    }

    /// The page on which a person opens a pull request.
    pub fn compare_page(&self, base: &str, branch: &str) -> String {
        let (base, branch) = (percent(base, "/"), percent(branch, "/"));
        let Self { host, owner, repo } = self;
        format!("https://{host}/{owner}/{repo}/compare/{base}...{branch}?expand=1")
    }

    /// The resource below the root of the API that lists pull requests and takes new ones.
    pub fn pulls(&self) -> String {
        format!("repos/{}/{}/pulls", percent(&self.owner, ""), percent(&self.repo, ""))
    }

    /// The resource that lists the open pull requests of a branch.
    pub fn pulls_of(&self, branch: &str) -> String {
        let head = percent(&format!("{}:{branch}", self.owner), "");
        format!("{}?state=open&per_page=100&head={head}", self.pulls())
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

fn host(authority: &str) -> Option<String> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?.0,
        None => host.split_once(':').map_or(host, |(host, _port)| host),
    };
    let host = host.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || host.starts_with('-') || !host.chars().all(plain) {
        return None;
    }
    // Two more names of the same server: ssh through the port of https, and an old one.
    let same = ["ssh.github.com", "www.github.com"].contains(&host.as_str());
    Some(if same { "github.com".to_owned() } else { host })
}

/// A text as a part of an address; only letters, digits and these stay as they are.
fn percent(text: &str, also: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        match c.is_ascii_alphanumeric() || "-._~".contains(c) || also.contains(c) {
            true => safe.push(c),
            false => safe.push_str(&format!("%{byte:02X}")),
        }
    }
    safe
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
    fn what_names_no_repository_on_a_server_is_told_apart() {
        for url in [
            "",
            "origin",
            "/srv/git/engine.git",
            "./engine:x/y",
            "../engine",
            "file:///srv/git/engine",
            "https://github.com",
            "https://github.com/ada",
            "https://github.com/a/b/c",
            "https:///ada/engine",
            "https://-oProxyCommand=x/a/b",
            "git@github.com:ada/../engine",
            "https://github.com/ada/..",
            "https://github.com/a?b/c#d",
            "https://github.com/a b/c",
            "ext::sh -c x/y",
        ] {
            assert_eq!(read(url), None, "{url}");
        }
    }

    #[test]
    fn a_branch_of_any_name_is_one_value_in_an_address() {
        let at = Address::of("https://github.com/ada/engine").unwrap();
        let found = at.pulls_of("fix/ü&state=all#x?{owner}");
        let head = "head=ada%3Afix%2F%C3%BC%26state%3Dall%23x%3F%7Bowner%7D";
        let expected = format!("repos/ada/engine/pulls?state=open&per_page=100&{head}");
        assert_eq!(found, expected);
        let page = at.compare_page("main", "fix/a b");
        assert_eq!(page, "https://github.com/ada/engine/compare/main...fix/a%20b?expand=1");
    }

    #[test]
    fn passwords_in_addresses_are_not_shown() {
        let text = "'https://ada:p@ss@h.org/x' and ssh://git@h.org and http://h.org/a@b";
        let shown = "'https://h.org/x' and ssh://h.org and http://h.org/a@b";
        assert_eq!(without_credentials(text), shown);
    }
}
