//! Servers that the user names in their settings: `host=kind`, with a variable for the token and the address
//! of the API where they are not the usual ones.

use super::kind::ForgeKind;

/// A server that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// The server, with its port where that is an unusual one.
    pub host: String,
    pub kind: ForgeKind,
    /// The variable that holds its token, where it is not the usual one of the kind.
    pub token: Option<String>,
    /// The address of its API, where it is not the usual one.
    pub api: Option<String>,
}

/// Why an entry is not valid. Displays as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("it is not a host and its kind")]
    Shape,
    #[error("{0:?} is not one of github, gitlab, gitea and forgejo")]
    Kind(String),
    #[error("{0:?} is neither the name of a variable nor an https:// address")]
    Extra(String),
}

impl HostEntry {
    /// Reads `git.example.org=gitlab`, followed, in any order, by the variable with the token and the address
    /// of the API: `git.example.org=gitlab WORK_TOKEN https://git.example.org/gitlab/api/v4`.
    pub fn read(text: &str) -> Result<Self, HostError> {
        let (host, rest) = text.split_once('=').ok_or(HostError::Shape)?;
        let host = host.trim().to_ascii_lowercase();
        let plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        if host.is_empty() || host.starts_with('-') || !host.chars().all(plain) {
            return Err(HostError::Shape);
        }
        let mut words = rest.split_whitespace();
        let kind = words.next().ok_or(HostError::Shape)?;
        let kind = ForgeKind::named(kind).ok_or_else(|| HostError::Kind(kind.to_owned()))?;
        let mut entry = Self { host, kind, token: None, api: None };
        for word in words {
            let is_variable = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !word.starts_with(|c: char| c.is_ascii_digit());
            if is_variable && entry.token.is_none() {
                entry.token = Some(word.to_owned());
            } else if is_address(word) && entry.api.is_none() {
                entry.api = Some(word.trim_end_matches('/').to_owned());
            } else {
                return Err(HostError::Extra(word.to_owned()));
            }
        }
        Ok(entry)
    }

    /// Whether the API is on this machine, where no encryption is needed.
    pub fn is_local(&self) -> bool {
        self.api.as_deref().is_some_and(|api| api.starts_with("http://"))
    }
}

/// An address of an API: encrypted, or on this machine. One with a login would show it.
fn is_address(word: &str) -> bool {
    let authority = |rest: &str| rest.split('/').next().unwrap_or_default().to_owned();
    let named = |authority: &str| {
        !authority.is_empty() && !authority.contains('@') && !word.contains(['?', '#', '"', '\\'])
    };
    if let Some(rest) = word.strip_prefix("https://") {
        return named(&authority(rest));
    }
    let Some(rest) = word.strip_prefix("http://") else { return false };
    let authority = authority(rest);
    let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
    named(&authority) && ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_a_host_and_its_kind_and_perhaps_token_and_api() {
        let entry = HostEntry::read(" Git.Acme.org = GitLab ").unwrap();
        let expected = HostEntry {
            host: "git.acme.org".into(),
            kind: ForgeKind::GitLab,
            token: None,
            api: None,
        };
        assert_eq!(entry, expected);
        for text in [
            "git.acme.org:8443=forgejo ACME_TOKEN https://git.acme.org:8443/git/api/v1/",
            "git.acme.org:8443=forgejo https://git.acme.org:8443/git/api/v1 ACME_TOKEN",
        ] {
            let entry = HostEntry::read(text).unwrap();
            assert_eq!((entry.host.as_str(), entry.kind), ("git.acme.org:8443", ForgeKind::Gitea));
            assert_eq!(entry.token.as_deref(), Some("ACME_TOKEN"));
            assert_eq!(entry.api.as_deref(), Some("https://git.acme.org:8443/git/api/v1"));
            assert!(!entry.is_local());
        }
        assert!(HostEntry::read("h=gitea http://127.0.0.1:99").unwrap().is_local());
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for (text, part) in [
            ("git.acme.org", "not a host and its kind"),
            ("=gitlab", "not a host and its kind"),
            ("-x=gitlab", "not a host and its kind"),
            ("h=", "not a host and its kind"),
            ("h=bitbucket", "not one of github"),
            ("h=gitlab http://h.org/api", "neither"),
            ("h=gitlab https://a:b@h.org", "neither"),
            ("h=gitlab http://127.0.0.1.evil.org", "neither"),
            ("h=gitlab A B", "neither"),
            ("h=gitlab 1A", "neither"),
        ] {
            let error = HostEntry::read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
