//! Which variables hold secrets, by their names.

/// How the names of secrets end, in capitals.
const ENDINGS: [&str; 26] = [
    "TOKEN",
    "API_KEY",
    "APIKEY",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "_PASS",
    "CREDENTIAL",
    "CREDENTIALS",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
    "AUTH_KEY",
    "MASTER_KEY",
    "_PAT",
    "_AUTH",
    "_PWD",
    "_JWT",
    "COOKIE",
    "SECRET_KEY_BASE",
    "CONNECTION_STRING",
    "WEBHOOK_URL",
];

/// How the names of addresses end, which are secrets if there is a password in them.
const ADDRESSES: [&str; 4] = ["URL", "URI", "DSN", "PROXY"];

/// Values of such variables that say that there is no secret.
const WORDS: [&str; 8] = [
    "disabled",
    "required",
    "optional",
    "readonly",
    "read-only",
    "read-write",
    "anonymous",
    "undefined",
];

/// Whether the value of this variable is a secret. The path of a file that holds one is none.
pub fn is_secret_name(name: &str, value: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    let is_path = value.starts_with(b"/") || value.starts_with(b"~/");
    let names_files =
        ["CREDENTIALS", "CREDENTIAL", "_PWD"].iter().any(|ending| name.ends_with(ending));
    let has_password =
        || ADDRESSES.iter().any(|ending| name.ends_with(ending)) && password_of(value).is_some();
    has_password()
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
            && !(is_path && names_files)
            && !WORDS.iter().any(|word| value == word.as_bytes())
}

/// The password in an address: `scheme://user:password@host`.
pub(super) fn password_of(value: &[u8]) -> Option<&[u8]> {
    let text = str::from_utf8(value).ok()?;
    let (_, rest) = text.split_once("://")?;
    let (login, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    (!password.is_empty()).then_some(password.as_bytes())
}
