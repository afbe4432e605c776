//! Which kind of server a host is, the address of its API, and which variables may hold its token. A token is sent
//! only to the server that it is for: a host that only a remote names gets none.

use std::ffi::OsString;
use std::fmt;

use ralph_core::forge::{ForgeKind, HostEntry, without_credentials};

use crate::ports::ForgeError;

/// A token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) kind: ForgeKind,
    /// The address of its API, without a slash at the end.
    pub(super) base: String,
    /// Whether the API is on this machine, where no encryption is needed.
    pub(super) local: bool,
    /// The variables that may hold a token for it, the first one first.
    pub(super) variables: Vec<String>,
}

const CLOUD: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];
const ENTERPRISE: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
const CODEBERG: [&str; 1] = ["CODEBERG_TOKEN"];

/// Variables that name the server that a kind's tokens are for, as their programs and CI set them.
const NAMES: [(&str, ForgeKind); 6] = [
    ("GH_HOST", ForgeKind::GitHub),
    ("GITLAB_HOST", ForgeKind::GitLab),
    ("CI_SERVER_URL", ForgeKind::GitLab),
    ("GITEA_SERVER_URL", ForgeKind::Gitea),
    ("GITEA_HOST", ForgeKind::Gitea),
    ("FORGEJO_HOST", ForgeKind::Gitea),
];

/// Servers that ralph knows without settings, and name prefixes that suggest a kind. A prefix is enough for a
/// link, but gets no token.
const KNOWN: [(&str, ForgeKind); 4] = [
    ("github.com", ForgeKind::GitHub),
    ("gitlab.com", ForgeKind::GitLab),
    ("codeberg.org", ForgeKind::Gitea),
    ("gitea.com", ForgeKind::Gitea),
];
const BEGINNINGS: [(&str, ForgeKind); 4] = [
    ("github.", ForgeKind::GitHub),
    ("gitlab.", ForgeKind::GitLab),
    ("gitea.", ForgeKind::Gitea),
    ("forgejo.", ForgeKind::Gitea),
];

impl Server {
    /// The server of this name; `None` if its kind is unknown.
    pub(super) fn of(
        host: &str,
        hosts: &[HostEntry],
        environment: &[(OsString, OsString)],
    ) -> Result<Option<Self>, ForgeError> {
        let usual = |kind: ForgeKind, variables: &[&str]| {
            let variables = variables.iter().map(|name| (*name).to_owned()).collect();
            Self { kind, base: usual_base(kind, host), local: false, variables }
        };
        if let Some(entry) = hosts.iter().find(|entry| entry.host == host) {
            let names = entry.token.as_deref().map(|name| vec![name]);
            let names = names.unwrap_or_else(|| usual_tokens(entry.kind, host).to_vec());
            let server = usual(entry.kind, &names);
            let base = entry.api.clone().unwrap_or(server.base);
            return Ok(Some(Self { base, local: entry.is_local(), ..server }));
        }
        if let Some(server) = Self::of_workflow(host, environment)? {
            return Ok(Some(server));
        }
        let named = |variable: &str| variable_host(environment, variable).as_deref() == Some(host);
        if let Some((name, kind)) = NAMES.iter().find(|(name, _)| named(name)) {
            let mut server = usual(*kind, usual_tokens(*kind, host));
            if *name == "CI_SERVER_URL"
                && let Some(base) = variable(environment, "CI_API_V4_URL")
            {
                let (scheme, _) = scheme_and_host(&base).unwrap_or_default();
                if scheme == "https" {
                    server.base = base.trim_end_matches('/').to_owned();
                }
            }
            return Ok(Some(server));
        }
        if let Some((_, kind)) = KNOWN.iter().find(|(known, _)| *known == host) {
            // A token whose server is named elsewhere is not for this one.
            let elsewhere = *kind == ForgeKind::GitLab
                && (hosts.iter().any(|entry| entry.kind == *kind && entry.token.is_none())
                    || NAMES
                        .iter()
                        .any(|(name, of)| of == kind && variable(environment, name).is_some()));
            let tokens: &[&str] = match host {
                _ if elsewhere => &[],
                "codeberg.org" => &CODEBERG,
                "gitea.com" => &[],
                _ => usual_tokens(*kind, host),
            };
            return Ok(Some(usual(*kind, tokens)));
        }
        let begins = |(word, _): &&(&str, ForgeKind)| host.starts_with(word);
        let guessed = BEGINNINGS.iter().find(begins).map(|(_, kind)| *kind);
        let guessed = guessed.or_else(|| host.ends_with(".ghe.com").then_some(ForgeKind::GitHub));
        Ok(guessed.map(|kind| usual(kind, &[])))
    }

    /// The server on which a workflow of GitHub or Gitea runs. Its variables are about one server; the remote
    /// may be on another.
    fn of_workflow(
        host: &str,
        environment: &[(OsString, OsString)],
    ) -> Result<Option<Self>, ForgeError> {
        let Some(url) = variable(environment, "GITHUB_API_URL") else { return Ok(None) };
        let bad = || ForgeError::BadApi { url: without_credentials(&url) };
        let (scheme, name) = scheme_and_host(&url).ok_or_else(bad)?;
        let local = ["127.0.0.1", "localhost", "::1"].contains(&name.as_str());
        if scheme != "https" && !(scheme == "http" && local) {
            return Err(bad());
        }
        let server = variable_host(environment, "GITHUB_SERVER_URL");
        if server.unwrap_or_else(|| server_of(&name)) != host {
            return Ok(None);
        }
        let is = |name: &str| variable(environment, name).is_some();
        let kind = match is("GITEA_ACTIONS") || is("FORGEJO_ACTIONS") {
            true => ForgeKind::Gitea,
            false => ForgeKind::GitHub,
        };
        let variables = CLOUD.map(str::to_owned).to_vec();
        Ok(Some(Self { kind, base: url.trim_end_matches('/').to_owned(), local, variables }))
    }

    pub(super) fn token(&self, environment: &[(OsString, OsString)]) -> Option<(&str, Token)> {
        let mut all = self.variables.iter();
        all.find_map(|name| Some((name.as_str(), Token(variable(environment, name)?))))
    }
}

/// The tokens of a kind on a server that the user names.
fn usual_tokens(kind: ForgeKind, host: &str) -> &'static [&'static str] {
    // What `gh` itself takes for a server of GitHub's own.
    let cloud = ["github.com", "github.localhost"].contains(&host) || host.ends_with(".ghe.com");
    match kind {
        ForgeKind::GitHub if !cloud => &ENTERPRISE,
        kind => kind.row().tokens,
    }
}

fn usual_base(kind: ForgeKind, host: &str) -> String {
    match kind {
        ForgeKind::GitHub if host == "github.com" || host.ends_with(".ghe.com") => {
            format!("https://api.{host}")
        }
        kind => format!("https://{host}{}", kind.row().api),
    }
}

/// Every variable that may hold a token, for programs that need none of them.
pub(super) fn token_variables(hosts: &[HostEntry]) -> Vec<String> {
    let rows = ForgeKind::ALL.iter().flat_map(|kind| kind.row().tokens);
    let all = rows.chain(&ENTERPRISE).chain(&CODEBERG).map(|name| (*name).to_owned());
    all.chain(hosts.iter().filter_map(|entry| entry.token.clone())).collect()
}

fn server_of(api: &str) -> String {
    let cloud = api == "api.github.com" || api.ends_with(".ghe.com");
    match api.strip_prefix("api.") {
        Some(host) if cloud => host.to_owned(),
        _ => api.to_owned(),
    }
}

/// The host that a variable names, as an address or by itself.
fn variable_host(environment: &[(OsString, OsString)], name: &str) -> Option<String> {
    let value = variable(environment, name)?;
    let url = if value.contains("://") { value } else { format!("https://{value}") };
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let authority = authority.rsplit('@').next()?.to_owned();
    let authority = authority.strip_suffix(":443").unwrap_or(&authority).to_owned();
    (!authority.is_empty()).then_some(authority)
}

fn scheme_and_host(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?.0,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then(|| (scheme.to_ascii_lowercase(), host.to_ascii_lowercase()))
}

/// A variable that is set and not empty.
pub(super) fn variable(environment: &[(OsString, OsString)], name: &str) -> Option<String> {
    let (_, value) = environment.iter().find(|(known, _)| known == name)?;
    let value = value.to_str()?.trim();
    (!value.is_empty() && !value.contains(char::is_control)).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Everything that may hold a token, each holding its own name.
    fn all_tokens() -> Vec<(&'static str, &'static str)> {
        let names = [
            "GH_TOKEN",
            "GH_ENTERPRISE_TOKEN",
            "GITLAB_TOKEN",
            "GITEA_TOKEN",
            "CODEBERG_TOKEN",
            "ACME_TOKEN",
        ];
        names.map(|name| (name, name)).to_vec()
    }

    fn entries(hosts: &[&str]) -> Vec<HostEntry> {
        hosts.iter().map(|text| HostEntry::read(text).unwrap()).collect()
    }

    /// The address of the API and the token that goes there.
    fn found(host: &str, hosts: &[&str], variables: &[(&str, &str)]) -> (String, Option<String>) {
        let environment = environment(variables);
        let server = Server::of(host, &entries(hosts), &environment).unwrap();
        let Some(server) = server else { return (String::new(), None) };
        let token = server.token(&environment).map(|(_, token)| token.reveal().to_owned());
        (server.base, token)
    }

    fn token(host: &str, hosts: &[&str], more: &[(&str, &str)]) -> Option<String> {
        found(host, hosts, &[&all_tokens()[..], more].concat()).1
    }

    #[test]
    fn a_host_that_only_the_remote_names_gets_no_token() {
        for host in [
            "git.acme.org",
            "gitlab.acme.org",
            "github.evil.org",
            "gitea.com",
            "evil.ghe.com",
            "github.com.evil.org",
            "gitlab.com:8443",
            "127.0.0.1",
        ] {
            assert_eq!(token(host, &[], &[]), None, "{host}");
        }
        // As in a workflow on github.com whose remote is elsewhere.
        let action = [("GITHUB_API_URL", "https://api.github.com")];
        assert_eq!(token("git.acme.org", &[], &action), None);
    }

    #[test]
    fn each_token_goes_to_the_server_that_it_is_for() {
        let is = |name: &str| Some(name.to_owned());
        assert_eq!(token("github.com", &[], &[]), is("GH_TOKEN"));
        assert_eq!(token("gitlab.com", &[], &[]), is("GITLAB_TOKEN"));
        assert_eq!(token("codeberg.org", &[], &[]), is("CODEBERG_TOKEN"));
        let own = [("GH_HOST", "git.acme.org"), ("GITLAB_HOST", "https://gl.acme.org")];
        assert_eq!(token("git.acme.org", &[], &own), is("GH_ENTERPRISE_TOKEN"));
        assert_eq!(token("gl.acme.org", &[], &own), is("GITLAB_TOKEN"));
        assert_eq!(token("gitlab.com", &[], &own), None, "it is for gl.acme.org");
        assert_eq!(token("github.com", &[], &own), is("GH_TOKEN"));
        let own = [("GH_HOST", "acme.ghe.com"), ("GITEA_SERVER_URL", "https://g.acme.org:3000/")];
        assert_eq!(token("acme.ghe.com", &[], &own), is("GH_TOKEN"));
        assert_eq!(token("other.ghe.com", &[], &own), None);
        assert_eq!(token("g.acme.org:3000", &[], &own), is("GITEA_TOKEN"));
        assert_eq!(token("g.acme.org", &[], &own), None, "another port is another server");
    }

    #[test]
    fn the_users_settings_name_servers_and_their_tokens() {
        let hosts = ["gl.acme.org=gitlab", "gt.acme.org=forgejo", "gh.acme.org=github"];
        let is = |base: &str, name: &str| (base.to_owned(), Some(name.to_owned()));
        let all = all_tokens();
        let at = |host: &str| found(host, &hosts, &all);
        assert_eq!(at("gl.acme.org"), is("https://gl.acme.org/api/v4", "GITLAB_TOKEN"));
        assert_eq!(at("gt.acme.org"), is("https://gt.acme.org/api/v1", "GITEA_TOKEN"));
        assert_eq!(at("gh.acme.org"), is("https://gh.acme.org/api/v3", "GH_ENTERPRISE_TOKEN"));
        assert_eq!(at("gitlab.com").1, None, "the token is for gl.acme.org");
        let hosts = ["gl.acme.org=gitlab ACME_TOKEN https://gl.acme.org/git/api/v4"];
        let at = |host: &str| found(host, &hosts, &all);
        assert_eq!(at("gl.acme.org"), is("https://gl.acme.org/git/api/v4", "ACME_TOKEN"));
        assert_eq!(at("gitlab.com"), is("https://gitlab.com/api/v4", "GITLAB_TOKEN"));
    }

    #[test]
    fn another_address_of_the_api_is_for_its_own_server() {
        let own = [("GITHUB_API_URL", "https://git.acme.org/api/v3/"), ("GITHUB_TOKEN", "t")];
        let is = |base: &str| (base.to_owned(), Some("t".to_owned()));
        assert_eq!(found("git.acme.org", &[], &own), is("https://git.acme.org/api/v3"));
        assert_eq!(found("github.com", &[], &own), is("https://api.github.com"));
        let apart = [
            ("GITHUB_API_URL", "http://127.0.0.1:99/x"),
            ("GITHUB_SERVER_URL", "https://git.acme.org"),
            ("GITHUB_TOKEN", "t"),
        ];
        assert_eq!(found("git.acme.org", &[], &apart), is("http://127.0.0.1:99/x"));
        let gitea = [&apart[..], &[("GITEA_ACTIONS", "true")]].concat();
        let server = Server::of("git.acme.org", &[], &environment(&gitea)).unwrap().unwrap();
        assert_eq!(server.kind, ForgeKind::Gitea);
    }

    #[test]
    fn a_token_is_not_sent_in_the_open() {
        for url in ["http://api.github.com", "api.github.com", "ftp://x", "https://", "file:///x"] {
            let environment = environment(&[("GITHUB_API_URL", url)]);
            let error = Server::of("github.com", &[], &environment).unwrap_err();
            assert!(matches!(error, ForgeError::BadApi { .. }), "{url}: {error:?}");
        }
        let environment = environment(&[("GITHUB_API_URL", "http://ada:secret@h.org")]);
        let error = Server::of("github.com", &[], &environment).unwrap_err().to_string();
        assert_eq!(error, "GITHUB_API_URL is \"http://h.org\": it must begin with https://");
        assert_eq!(format!("{:?}", Token("secret".to_owned())), "Token(***)");
        let ci = [
            ("CI_SERVER_URL", "http://gl.acme.org"),
            ("CI_API_V4_URL", "http://gl.acme.org/api/v4"),
            ("GITLAB_TOKEN", "t"),
        ];
        assert_eq!(found("gl.acme.org", &[], &ci).0, "https://gl.acme.org/api/v4");
    }
}
