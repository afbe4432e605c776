//! Who may ask what. A request needs a token, in the cookie that the printed link sets or as a bearer; its `Host` must be
//! one of the names that the server has, so that no foreign page can rebind its name to this address; and whatever changes
//! something must come from the page itself.

use std::net::IpAddr;

use axum::http::header::{
    AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};

/// The shortest token that you may choose.
pub const TOKEN_MIN: usize = 16;
/// Says whether the browser asks for a page of the same origin. Pages cannot set it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The tokens of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who has it may do all that you may. `None`: the server only shows.
    pub full: Option<String>,
    /// Who has it may look.
    pub read_only: String,
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Full,
    ReadOnly,
}

/// Whether a text can be a token: long enough, and the same in a link, a header and a cookie.
pub fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    (TOKEN_MIN..=512).contains(&text.len()) && text.bytes().all(plain)
}

impl Access {
    /// What this token allows. Takes the same time for every wrong token of a length.
    pub(crate) fn role(&self, token: &str) -> Option<Role> {
        let full = self.full.as_deref().is_some_and(|full| equal(full, token));
        let read_only = equal(&self.read_only, token);
        match (full, read_only) {
            (true, _) => Some(Role::Full),
            (false, true) => Some(Role::ReadOnly),
            (false, false) => None,
        }
    }
}

/// Compares without stopping at the first difference.
fn equal(secret: &str, given: &str) -> bool {
    let pairs = secret.bytes().zip(given.bytes());
    let differ =
        pairs.fold(0_u8, |differ, (one, other)| std::hint::black_box(differ | (one ^ other)));
    secret.len() == given.len() && differ == 0
}

/// The names under which a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) listen: IpAddr,
}

impl Names {
    /// The origin of the page that asks, where its `Host` is a name of this server. The port may be another one: an ssh
    /// tunnel has its own.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<String> {
        let mut hosts = headers.get_all(HOST).iter();
        let (host, more) = (hosts.next()?.to_str().ok()?, hosts.next());
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let known = match bare.parse::<IpAddr>() {
            // Nobody can rebind an address: an unspecified one stands for all of this machine.
            Ok(address) => {
                address.is_loopback() || address == self.listen || self.listen.is_unspecified()
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        (known && more.is_none()).then(|| format!("http://{host}"))
    }
}

/// The token of a request, and whether it came as a bearer, which no foreign page can send.
pub(crate) fn token(headers: &HeaderMap, port: u16) -> Option<(&str, bool)> {
    if let Some(given) = headers.get(AUTHORIZATION) {
        let (kind, token) = given.to_str().ok()?.split_once(' ')?;
        return kind.eq_ignore_ascii_case("bearer").then_some((token.trim(), true));
    }
    let name = cookie_name(port);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    cookies.flat_map(|cookies| cookies.split(';')).find_map(|cookie| {
        let (known, token) = cookie.trim().split_once('=')?;
        (known == name).then_some((token, false))
    })
}

/// Browsers send the cookies of all ports of a host: each server has its own name.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("ralph_{port}")
}

/// Whether the browser says that another site asks.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    site.is_some_and(|site| site != b"same-origin" && site != b"none")
}

/// Why a request may not change anything; `None` if it may.
pub(crate) fn refuses_change(
    headers: &HeaderMap,
    (role, is_bearer): (Role, bool),
    origin: &str,
) -> Option<&'static str> {
    let own = |value: &[u8]| value == origin.as_bytes();
    let is_own = match headers.get(ORIGIN) {
        Some(asking) => own(asking.as_bytes()),
        None => is_bearer,
    };
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match role {
        _ if !is_own => Some("the request comes from another page"),
        Role::ReadOnly => Some("this link is read-only"),
        Role::Full if !kind.eq_ignore_ascii_case("application/json") => {
            Some("the request needs the header Content-Type: application/json")
        }
        Role::Full => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn headers(of: &[(HeaderName, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        of.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    fn names(listen: &str) -> Names {
        Names { listen: listen.parse().unwrap() }
    }

    #[test]
    fn tokens_are_compared_as_a_whole() {
        let access = Access { full: Some("f".repeat(32)), read_only: "r".repeat(32) };
        assert_eq!(access.role(&"f".repeat(32)), Some(Role::Full));
        assert_eq!(access.role(&"r".repeat(32)), Some(Role::ReadOnly));
        for wrong in ["", "f", &"f".repeat(31), &"f".repeat(33), &"x".repeat(32)] {
            assert_eq!(access.role(wrong), None, "{wrong}");
        }
        let only_shows = Access { full: None, ..access };
        assert_eq!(only_shows.role(&"f".repeat(32)), None);
        assert_eq!(only_shows.role(""), None);
    }

    #[test]
    fn a_token_is_the_same_in_a_link_and_a_cookie() {
        assert!(is_token(&"aB3-_.~0".repeat(2)));
        for bad in [
            "short",
            "sixteen letters;",
            "sixteen letters ",
            "0123456789abcde\n",
            "%41%41%41%41%41%41",
        ] {
            assert!(!is_token(bad), "{bad}");
        }
    }

    #[test]
    fn only_names_that_cannot_be_rebound_are_answered() {
        let local = names("127.0.0.1");
        for host in ["127.0.0.1:4650", "localhost:8080", "LOCALHOST", "[::1]:4650", "127.0.0.1"] {
            let origin = local.origin(&headers(&[(HOST, host)]));
            assert_eq!(origin, Some(format!("http://{host}")), "{host}");
        }
        for host in [
            "evil.example:4650",
            "192.168.0.9:4650",
            "localhost.evil.example",
            "",
            "[::1",
            "localhost:4650:1",
        ] {
            assert_eq!(local.origin(&headers(&[(HOST, host)])), None, "{host}");
        }
        let twice = headers(&[(HOST, "localhost")]);
        let mut more = twice.clone();
        more.append(HOST, HeaderValue::from_static("localhost"));
        assert_eq!((local.origin(&more), local.origin(&HeaderMap::new())), (None, None));
        let open = names(&Ipv4Addr::UNSPECIFIED.to_string());
        assert!(open.origin(&headers(&[(HOST, "192.168.0.9:4650")])).is_some());
        assert!(open.origin(&headers(&[(HOST, "evil.example:4650")])).is_none());
    }

    #[test]
    fn a_token_comes_as_a_bearer_or_in_the_cookie_of_this_port() {
        let of = |name, text| {
            token(&headers(&[(name, text)]), 4650).map(|(token, is)| (token.to_owned(), is))
        };
        assert_eq!(of(AUTHORIZATION, "Bearer abc"), Some(("abc".to_owned(), true)));
        assert_eq!(of(AUTHORIZATION, "Basic abc"), None);
        assert_eq!(of(COOKIE, "a=b; ralph_4650=abc"), Some(("abc".to_owned(), false)));
        assert_eq!(of(COOKIE, "ralph_4651=abc; xralph_4650=abc"), None);
    }

    #[test]
    fn changes_come_from_the_page_itself() {
        let own = "http://localhost:4650";
        let json = (CONTENT_TYPE, "application/json; charset=utf-8");
        let may = |more: &[(HeaderName, &str)], role, is_bearer| {
            let all: Vec<_> = [std::slice::from_ref(&json), more].concat();
            refuses_change(&headers(&all), (role, is_bearer), own).is_none()
        };
        assert!(may(&[(ORIGIN, own)], Role::Full, false));
        assert!(may(&[], Role::Full, true));
        assert!(!may(&[], Role::Full, false));
        assert!(!may(&[(ORIGIN, own)], Role::ReadOnly, false));
        for foreign in
            ["http://evil.example", "null", "http://localhost:4651", "https://localhost:4650"]
        {
            assert!(!may(&[(ORIGIN, foreign)], Role::Full, false), "{foreign}");
            assert!(!may(&[(ORIGIN, foreign)], Role::Full, true), "{foreign}");
        }
        let form = headers(&[(ORIGIN, own), (CONTENT_TYPE, "text/plain")]);
        assert!(refuses_change(&form, (Role::Full, false), own).is_some());
    }

    #[test]
    fn another_site_is_recognized() {
        let site = |text| is_foreign(&headers(&[(FETCH_SITE, text)]));
        assert!(site("cross-site") && site("same-site"));
        assert!(!site("same-origin") && !site("none") && !is_foreign(&HeaderMap::new()));
    }
}
