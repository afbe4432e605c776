//! Which files look like secrets by their names: the loop never adds one to a commit by itself. Owns the
//! names and nothing else; what a file holds is the business of `redact`.

use crate::glob::Patterns;

/// Endings of names that hold private keys or key stores.
const ENDINGS: [&str; 9] =
    [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".ovpn"];
/// Whole names.
const NAMES: [&str; 18] = [
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    "credentials",
    "credentials.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
];
/// Beginnings of names of `.json` files that providers hand out.
const JSON: [&str; 3] = ["client_secret", "service-account", "service_account"];
/// What makes `.env.something` an example without values.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Whether a file looks like a secret by its path. `more` are patterns of the user's own.
pub fn looks_secret(path: &str, more: &Patterns) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_environment = name
        .strip_prefix(".env.")
        .is_some_and(|rest| !rest.split('.').any(|part| EXAMPLES.contains(&part)));
    let is_json = name.ends_with(".json") && JSON.iter().any(|start| name.starts_with(start));
    is_environment
        || is_json
        || NAMES.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || more.matches(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_distinguished_from_examples_and_sources() {
        for path in [
            ".env",
            "app/.env",
            ".env.local",
            ".env.production.local",
            "deploy/server.key",
            "CERT.PEM",
            "id_ed25519",
            "config/credentials.json",
            "client_secret_1.apps.json",
            ".git-credentials",
        ] {
            assert!(looks_secret(path, &Patterns::default()), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            ".env.production.example",
            "id_ed25519.pub",
            "src/keys.rs",
            "monkey.txt",
            "environment.ts",
            "credentials.rs",
        ] {
            assert!(!looks_secret(path, &Patterns::default()), "{path}");
        }
    }

    #[test]
    fn your_own_patterns_count_too() {
        let more = Patterns::read(["ops/*.txt"]).unwrap();
        assert!(looks_secret("ops/vault.txt", &more));
        assert!(!looks_secret("ops/vault.md", &more));
    }
}
