//! Package registries without logins: copies of the user's package manager settings.
//!
//! A line is dropped if a key in it, or in its comment, belongs to a login, with everything that belongs to that
//! line; addresses lose user names and passwords. Remaining values that look like secrets are dropped too. Maven
//! settings are XML and lose whole elements.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_core::redact::Secrets;

use crate::ports::Bind;
use crate::project::write_privately;

const OF_HOME: [&str; 13] = [
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".config/pnpm/rc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".config/uv/uv.toml",
    ".config/pypoetry/config.toml",
    ".condarc",
    ".gemrc",
    ".config/go/env",
    MAVEN,
];
const MAVEN: &str = ".m2/settings.xml";

/// Variables that name such a file.
const NAMED: [&str; 4] =
    ["NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE", "UV_CONFIG_FILE"];

/// Words in the keys of logins.
const LOGINS: [&str; 14] = [
    "auth",
    "token",
    "passw",
    "secret",
    "username",
    "user_name",
    "login",
    "credential",
    "apikey",
    "api_key",
    "otp",
    "keyfile",
    "certfile",
    "client_cert",
];
/// Keys that are a login by themselves.
const KEYS: [&str; 5] = ["key", "cert", "user", "email", "_key"];

/// Larger than any of them is.
const MOST: u64 = 1 << 20;

/// Copies existing settings into `folder`, and returns what a sandbox shows in their place.
pub(super) fn copies(
    homes: &[PathBuf],
    environment: &[(OsString, OsString)],
    folder: &Path,
) -> Vec<Bind> {
    let mut all: Vec<PathBuf> = Vec::new();
    for home in homes {
        all.extend(OF_HOME.iter().map(|name| home.join(name)));
    }
    let named = environment.iter().filter(|(name, _)| NAMED.iter().any(|known| name == *known));
    all.extend(named.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute()));
    let mut binds = Vec::new();
    for (number, path) in all.iter().enumerate() {
        let is_small = |found: std::fs::Metadata| found.is_file() && found.len() <= MOST;
        if !path.metadata().is_ok_and(is_small) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let kept = match path.ends_with(MAVEN) {
            true => maven_without_logins(&text),
            false => Some(without_logins(&text)),
        };
        let Some(kept) = kept.filter(|kept| !kept.trim().is_empty()) else { continue };
        let copy = folder.join(format!("settings-{number}"));
        if write_privately(&copy, &kept).is_ok() {
            binds.push(Bind::readable(copy).at(path));
        }
    }
    binds
}

/// The text of settings in lines, without what logs in.
pub(super) fn without_logins(text: &str) -> String {
    let secrets = Secrets::new(std::iter::empty::<&[u8]>());
    let mut kept = String::new();
    let mut dropped = Dropped::default();
    for line in text.lines() {
        let bare = line.trim_start();
        if dropped.holds(line) {
            continue;
        }
        let output = bare.trim_start_matches(['#', ';', '!', ' ']);
        if bare.starts_with("//") || names_a_login(line) || is_one_word(output) {
            dropped = Dropped::after(line);
            continue;
        }
        let line = without_names(line);
        if secrets.redact(&line) == line.as_str() {
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    kept
}

/// Whether this is one of the settings, and there is no login in it.
pub(super) fn is_plain(path: &Path) -> bool {
    if !OF_HOME.iter().any(|name| path.ends_with(name)) || path.ends_with(MAVEN) {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let lines = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    lines(&without_logins(&text)) == lines(&text)
}

/// A single word without a key: a login that someone pasted there.
fn is_one_word(line: &str) -> bool {
    let opens = line.starts_with(['[', ']', '{', '}', '-', '"', '\'']);
    !line.is_empty() && !opens && !line.contains(['=', ':', ' ', '\t'])
}

/// What still belongs to a dropped line: deeper indentation, and the content of brackets and long strings.
#[derive(Debug, Default)]
struct Dropped {
    indented: Option<usize>,
    open: i64,
    quoted: Option<&'static str>,
}

impl Dropped {
    fn after(line: &str) -> Self {
        let mut dropped = Self { indented: Some(indentation(line)), ..Self::default() };
        dropped.read(line);
        dropped
    }

    fn holds(&mut self, line: &str) -> bool {
        let held = self.open > 0 || self.quoted.is_some();
        if held {
            self.read(line);
            return true;
        }
        let deeper = self.indented.is_some_and(|above| indentation(line) > above);
        if !deeper && !line.trim().is_empty() {
            *self = Self::default();
        }
        deeper
    }

    fn read(&mut self, line: &str) {
        for quotes in ["\"\"\"", "'''"] {
            if line.matches(quotes).count() % 2 == 1 {
                self.quoted = if self.quoted.is_some() { None } else { Some(quotes) };
            }
        }
        let count = |marks: [char; 2]| i64::try_from(line.matches(marks).count()).unwrap_or(0);
        self.open = (self.open + count(['[', '{']) - count([']', '}'])).max(0);
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether any key in the line is that of a login.
fn names_a_login(line: &str) -> bool {
    let is_of_key = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    line.char_indices().filter(|(_, c)| matches!(c, '=' | ':')).any(|(at, _)| {
        let before = line[..at].trim_end().trim_end_matches(['"', '\'']);
        let key = before.rsplit(|c| !is_of_key(c)).next().unwrap_or_default().to_ascii_lowercase();
        LOGINS.iter().any(|word| key.contains(word)) || KEYS.contains(&key.as_str())
    })
}

/// The line with addresses that have neither names nor passwords.
fn without_names(line: &str) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        kept.push_str(before);
        let end = after.find(['/', '?', '#', ' ', '\t', '"', '\'', ',']).unwrap_or(after.len());
        let (place, behind) = after.split_at(end);
        kept.push_str(place.rsplit_once('@').map_or(place, |(_, host)| host));
        rest = behind;
    }
    kept.push_str(rest);
    kept
}

/// Maven's settings without servers, and nothing where anything of a login is left.
fn maven_without_logins(text: &str) -> Option<String> {
    let mut kept = text.to_owned();
    for (from, to) in [("<!--", "-->"), ("<servers", "</servers>"), ("<username", "</username>")] {
        while let Some(start) = kept.find(from) {
            let end = kept[start..].find(to)? + start + to.len();
            kept.replace_range(start..end, "");
        }
    }
    let left = kept.to_ascii_lowercase();
    let lines = kept.lines().map(without_names).collect::<Vec<_>>().join("\n");
    let secret = ["passw", "passphrase", "privatekey", "token", "secret", "<server>", "<!["];
    (!secret.iter().any(|word| left.contains(word))).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_lose_their_logins_and_keep_the_rest() {
        for (text, kept) in [
            (
                "registry=https://me:pw@r.example/npm/\n//r.example/:_authToken=abc\n_auth = x\n\
                 @me:registry=https://r.example/\n# _authToken=old\nstrict-ssl=false\nemail=a@b.c\n",
                "registry=https://r.example/npm/\n@me:registry=https://r.example/\nstrict-ssl=false\n",
            ),
            (
                "[registries.a]\nindex = \"sparse+https://u:p@x.example/i/\"\ntoken = \"t\"\n\
                 b = { index = \"https://y.example\", token = \"t\" }\n[build]\njobs = 2\n\
                 [registry]\nglobal-credential-providers = [\n\"cargo:token\",\n\"x\"\n]\n\
                 [net]\nretry = 3\n",
                "[registries.a]\nindex = \"sparse+https://x.example/i/\"\n[build]\njobs = 2\n\
                 [registry]\n[net]\nretry = 3\n",
            ),
            (
                "npmScopes:\n  me:\n    npmRegistryServer: \"https://r.example\"\n    npmAuthToken: >-\n\
                 \x20     abc\n      def\n    npmAlwaysX: true\n",
                "npmScopes:\n  me:\n    npmRegistryServer: \"https://r.example\"\n    npmAlwaysX: true\n",
            ),
            (
                "[global]\nindex-url = https://u:p@pypi.example/simple\nextra-index-url =\n\
                 \x20   https://u:p@a.example/s\n    https://b.example/s\nclient_cert = /x\n",
                "[global]\nindex-url = https://pypi.example/simple\nextra-index-url =\n\
                 \x20   https://a.example/s\n    https://b.example/s\n",
            ),
            ("token = \"\"\"\nabc\n\"\"\"\nrest = 1\n", "rest = 1\n"),
            ("note = ghp_0123456789abcdefghijABCDEFGHIJ012345\nok = 1\n", "ok = 1\n"),
        ] {
            assert_eq!(without_logins(text), kept, "{text}");
        }
    }

    #[test]
    fn settings_of_maven_lose_servers_or_are_not_shown() {
        let text = "<settings><servers><server><id>a</id><password>p</password></server></servers>\n\
                    <mirrors><mirror><url>https://u:p@m.example/</url></mirror></mirrors></settings>";
        let kept = maven_without_logins(text).unwrap();
        assert_eq!(
            kept,
            "<settings>\n<mirrors><mirror><url>https://m.example/</url></mirror></mirrors></settings>"
        );
        for odd in ["<settings><password>x</password></settings>", "<servers><server>", "<![CDATA["]
        {
            assert_eq!(maven_without_logins(odd), None, "{odd}");
        }
    }

    #[test]
    fn copies_lie_where_the_user_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join(".config/pip")).unwrap();
        std::fs::write(home.join(".npmrc"), "//r.example/:_authToken=abc\n").unwrap();
        std::fs::write(home.join(".config/pip/pip.conf"), "[global]\ntimeout = 3\n").unwrap();
        let other = folder.path().join("npmrc");
        std::fs::write(&other, "registry=https://r.example\n_auth=x\n").unwrap();
        let environment = [("npm_config_userconfig".into(), other.clone().into_os_string())];
        let binds =
            copies(std::slice::from_ref(&home), &environment, &folder.path().join("copies"));
        let places: Vec<_> = binds.iter().map(|bind| bind.to.clone()).collect();
        assert_eq!(places, [home.join(".config/pip/pip.conf"), other]);
        let text = std::fs::read_to_string(&binds[1].from).unwrap();
        assert_eq!(text, "registry=https://r.example\n");
    }
}
