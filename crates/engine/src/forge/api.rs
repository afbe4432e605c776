//! Where the API of a server is, and which token is for it. A token goes to no other server than the one
//! that it is for.

use std::ffi::OsString;
use std::fmt;

use ralph_core::forge::without_credentials;

use crate::ports::ForgeError;

/// A token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text in which it is not.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// The API of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Api {
    /// Its address, without a slash at the end.
    pub(super) base: String,
    /// Whether it is on this machine, where no encryption is needed.
    pub(super) local: bool,
    /// The variables that may hold a token for it, the first one first.
    pub(super) variables: &'static [&'static str],
}

const CLOUD: &[&str] = &["GH_TOKEN", "GITHUB_TOKEN"];
const ENTERPRISE: &[&str] = &["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];

impl Api {
    /// The API of the server `host`.
    pub(super) fn of(host: &str, environment: &[(OsString, OsString)]) -> Result<Self, ForgeError> {
        if let Some(url) = variable(environment, "GITHUB_API_URL") {
            let bad = || ForgeError::BadApi { url: without_credentials(&url) };
            let (scheme, name) = scheme_and_host(&url).ok_or_else(bad)?;
            let local = ["127.0.0.1", "localhost", "::1"].contains(&name.as_str());
            if scheme != "https" && !(scheme == "http" && local) {
                return Err(bad());
            }
            let server = variable(environment, "GITHUB_SERVER_URL");
            let server = server.and_then(|url| scheme_and_host(&url)).map(|(_, host)| host);
            // The variables are about one server; the remote may be on another.
            if server.unwrap_or_else(|| server_of(&name)) == host {
                let base = url.trim_end_matches('/').to_owned();
                return Ok(Self { base, local, variables: CLOUD });
            }
        }
        let (base, variables) = match host {
            "github.com" => ("https://api.github.com".to_owned(), CLOUD),
            host if host.ends_with(".ghe.com") => (format!("https://api.{host}"), CLOUD),
            host => (format!("https://{host}/api/v3"), ENTERPRISE),
        };
        Ok(Self { base, local: false, variables })
    }

    /// The token for it, if there is one.
    pub(super) fn token(&self, environment: &[(OsString, OsString)]) -> Option<Token> {
        let token = self.variables.iter().find_map(|name| variable(environment, name))?;
        Some(Token(token))
    }
}

/// The server whose API is on this one.
fn server_of(api: &str) -> String {
    let cloud = api == "api.github.com" || api.ends_with(".ghe.com");
    match api.strip_prefix("api.") {
        Some(host) if cloud => host.to_owned(),
        _ => api.to_owned(),
    }
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

/// A variable that says something.
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

    fn found(host: &str, variables: &[(&str, &str)]) -> (String, Option<String>) {
        let environment = environment(variables);
        let api = Api::of(host, &environment).unwrap();
        let token = api.token(&environment).map(|token| token.reveal().to_owned());
        (api.base, token)
    }

    #[test]
    fn a_token_goes_only_to_the_server_that_it_is_for() {
        let both = [("GITHUB_TOKEN", "cloud"), ("GH_ENTERPRISE_TOKEN", "own")];
        let is = |base: &str, token: &str| (base.to_owned(), Some(token.to_owned()));
        assert_eq!(found("github.com", &both), is("https://api.github.com", "cloud"));
        assert_eq!(found("acme.ghe.com", &both), is("https://api.acme.ghe.com", "cloud"));
        assert_eq!(found("git.acme.org", &both), is("https://git.acme.org/api/v3", "own"));
        let cloud = [("GH_TOKEN", "first"), ("GITHUB_TOKEN", "second")];
        assert_eq!(found("github.com", &cloud), is("https://api.github.com", "first"));
        assert_eq!(found("gitlab.com", &cloud).1, None);
        // As in a workflow on github.com whose remote is elsewhere.
        let action = [("GITHUB_TOKEN", "t"), ("GITHUB_API_URL", "https://api.github.com")];
        assert_eq!(found("gitlab.com", &action).1, None);
        assert_eq!(found("github.com", &action), is("https://api.github.com", "t"));
        let empty = [("GH_TOKEN", " "), ("GITHUB_TOKEN", "a\nb")];
        assert_eq!(found("github.com", &empty).1, None);
    }

    #[test]
    fn another_address_of_the_api_is_for_its_own_server() {
        let own = [("GITHUB_API_URL", "https://git.acme.org/api/v3/"), ("GITHUB_TOKEN", "t")];
        let is = |base: &str| (base.to_owned(), Some("t".to_owned()));
        assert_eq!(found("git.acme.org", &own), is("https://git.acme.org/api/v3"));
        assert_eq!(found("github.com", &own), is("https://api.github.com"));
        let apart = [
            ("GITHUB_API_URL", "http://127.0.0.1:99/x"),
            ("GITHUB_SERVER_URL", "https://git.acme.org"),
            ("GITHUB_TOKEN", "t"),
        ];
        assert_eq!(found("git.acme.org", &apart), is("http://127.0.0.1:99/x"));
    }

    #[test]
    fn a_token_is_not_sent_in_the_open() {
        for url in ["http://api.github.com", "api.github.com", "ftp://x", "https://", "file:///x"] {
            let environment = environment(&[("GITHUB_API_URL", url)]);
            let error = Api::of("github.com", &environment).unwrap_err();
            assert!(matches!(error, ForgeError::BadApi { .. }), "{url}: {error:?}");
        }
        let environment = environment(&[("GITHUB_API_URL", "http://ada:secret@h.org")]);
        let error = Api::of("github.com", &environment).unwrap_err().to_string();
        assert_eq!(error, "GITHUB_API_URL is \"http://h.org\": it must begin with https://");
        assert_eq!(format!("{:?}", Token("secret".to_owned())), "Token(***)");
    }
}
