//! Which variables hold secrets, by their names.

/// How the names of secrets end, in capitals.
const ENDINGS: [&str; 20] = [
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
];

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
    let names_files = name.ends_with("CREDENTIALS") || name.ends_with("CREDENTIAL");
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        && !(is_path && names_files)
        && !WORDS.iter().any(|word| value == word.as_bytes())
}
