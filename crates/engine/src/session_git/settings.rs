//! The settings of a session's git directory: the user's effective settings as one file, without settings that sign
//! commits, hold secrets, or start programs other than git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::Git;
use crate::git::listed::{Listed, Listing, parts};

/// What the user has set for all repositories, as the text of a file: without what signs or knows secrets.
/// `None` if there is nothing.
pub fn shared_settings(worktree: &Path) -> Option<Vec<u8>> {
    let asked = ["config", "--global", "--list", "-z", "--includes"];
    let listed = Git::new(worktree, &asked).run().ok()?;
    let all = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(Listed::parse);
    let (names, others): (Vec<Listed>, Vec<Listed>) =
        all.partition(|setting| setting.key == b"user.name" || setting.key == b"user.email");
    Some(text_of(&others, &names)).filter(|text| !text.is_empty())
}

/// Whether a session may know of it and its git may follow it.
fn stays(setting: &Listed) -> bool {
    let (section, _, name) = parts(&setting.key);
    let sections: [&[u8]; 10] = [
        b"credential",
        b"gpg",
        b"include",
        b"includeif",
        b"sendemail",
        b"imap",
        b"github",
        b"gitlab",
        b"hub",
        b"safe",
    ];
    let keys: [&[u8]; 20] = [
        b"user.signingkey",
        b"log.showsignature",
        b"merge.verifysignatures",
        b"pull.verifysignatures",
        b"core.sshcommand",
        b"core.askpass",
        b"core.gitproxy",
        b"core.fsmonitor",
        b"core.worktree",
        b"core.alternaterefscommand",
        b"core.excludesfile",
        b"core.attributesfile",
        b"commit.template",
        b"extensions.worktreeconfig",
        b"uploadpack.packobjectshook",
        b"init.templatedir",
        b"gc.auto",
        b"maintenance.auto",
        b"user.name",
        b"user.email",
    ];
    let web: [&[u8]; 6] =
        [b"extraheader", b"cookiefile", b"sslkey", b"sslcert", b"emptyauth", b"savecookies"];
    let secret: [&[u8]; 4] = [b"token", b"password", b"secret", b"gpgsign"];
    let goes = sections.contains(&section)
        || keys.contains(&setting.key.as_slice())
        || (section == b"http" && web.contains(&name))
        || secret.iter().any(|word| name.ends_with(word));
    !goes
}

fn write(setting: &Listed, text: &mut Vec<u8>) {
    let (section, middle, name) = parts(&setting.key);
    text.push(b'[');
    text.extend(section);
    if let Some(middle) = middle {
        text.extend(b" \"");
        for byte in without_names(middle) {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.push(b'"');
    }
    text.extend(b"]\n\t");
    text.extend(name);
    if let Some(value) = &setting.value {
        text.extend(b" = \"");
        for byte in without_names(value) {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', byte]),
                b'\n' => text.extend(b"\\n"),
                b'\t' => text.extend(b"\\t"),
                0x08 => text.extend(b"\\b"),
                _ => text.push(byte),
            }
        }
        text.push(b'"');
    }
    text.push(b'\n');
}

/// An address without the names and passwords in it. The name that a shell is entered by is none.
fn without_names(value: &[u8]) -> Vec<u8> {
    let Some(start) = value.windows(3).position(|word| word == b"://") else {
        return value.to_vec();
    };
    let (scheme, rest) = (&value[..start], &value[start + 3..]);
    let end = rest.iter().position(|byte| b"/?# ".contains(byte)).unwrap_or(rest.len());
    let Some(at) = rest[..end].iter().rposition(|byte| *byte == b'@') else {
        return value.to_vec();
    };
    let mut kept = [scheme, b"://"].concat();
    let user = rest[..at].split(|byte| *byte == b':').next().unwrap_or_default();
    if scheme.ends_with(b"ssh") && !user.is_empty() {
        kept.extend(user);
        kept.push(b'@');
    }
    kept.extend(&rest[at + 1..]);
    kept
}

/// The settings as the text of a file, those in `more` behind the others.
pub(super) fn text_of(settings: &[Listed], more: &[Listed]) -> Vec<u8> {
    let mut text = Vec::new();
    for setting in settings.iter().filter(|setting| stays(setting)).chain(more) {
        write(setting, &mut text);
    }
    text
}

/// The files in a worktree that would decide what the user's git does outside: those that settings are
/// read from, and those that a setting names as a program. Settings may be remembered, files are not: a session
/// can make one that a setting has named all along.
pub(super) fn deciding_files(listing: &Listing, worktree: &Path, common: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for one in &listing.all {
        found.extend(one.file.clone());
        if names_a_program(one) {
            let value = one.value.as_deref().unwrap_or_default();
            found.extend(words(value).map(|word| worktree.join(OsStr::from_bytes(&word))));
        }
    }
    let linked = worktree.join(".git");
    if linked.is_file() {
        found.push(linked);
    }
    // A file has many settings, and resolving paths is expensive.
    found.sort();
    found.dedup();
    let inside = |path: &PathBuf| {
        let real = path.canonicalize().ok()?;
        let plain = real.starts_with(worktree) && !real.starts_with(common) && real.is_file();
        plain.then_some(real)
    };
    let mut files: Vec<PathBuf> = found.iter().filter_map(inside).collect();
    files.sort();
    files.dedup();
    files
}

/// The words of a command, without their quotes.
fn words(command: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let words = command.split(|byte| b" \t\n;|&<>()".contains(byte));
    let plain = |word: &[u8]| -> Vec<u8> {
        word.iter().copied().filter(|byte| !b"\"'!\\".contains(byte)).collect()
    };
    words.map(plain).filter(|word| !word.is_empty())
}

fn names_a_program(setting: &Listed) -> bool {
    let (section, _, name) = parts(&setting.key);
    let pairs: [(&[u8], &[&[u8]]); 10] = [
        (b"filter", &[b"clean", b"smudge", b"process"]),
        (b"merge", &[b"driver"]),
        (b"diff", &[b"command", b"textconv", b"external"]),
        (b"credential", &[b"helper"]),
        (b"gpg", &[b"program", b"defaultkeycommand"]),
        (b"sequence", &[b"editor"]),
        (b"interactive", &[b"difffilter"]),
        (b"uploadpack", &[b"packobjectshook"]),
        (
            b"core",
            &[
                b"fsmonitor",
                b"sshcommand",
                b"askpass",
                b"editor",
                b"pager",
                b"gitproxy",
                b"alternaterefscommand",
            ],
        ),
        (b"trailer", &[b"command", b"cmd"]),
    ];
    let shell = section == b"alias"
        && setting.value.as_ref().is_some_and(|value| value.first() == Some(&b'!'));
    shell || pairs.iter().any(|(known, names)| *known == section && names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str) -> Listed {
        Listed::new(key, value)
    }

    #[test]
    fn what_signs_or_knows_secrets_does_not_stay() {
        for key in [
            "commit.gpgsign",
            "tag.gpgsign",
            "gpg.program",
            "gpg.ssh.program",
            "user.signingkey",
            "credential.helper",
            "credential.https://x.example.helper",
            "http.extraheader",
            "http.https://x.example/.extraheader",
            "http.cookiefile",
            "core.sshcommand",
            "core.askpass",
            "core.fsmonitor",
            "core.worktree",
            "include.path",
            "includeif.gitdir:~/x/.path",
            "extensions.worktreeconfig",
            "github.token",
            "tool.apitoken",
        ] {
            assert!(!stays(&setting(key, "x")), "{key}");
        }
        for key in
            ["core.autocrlf", "filter.lfs.clean", "remote.origin.url", "http.proxy", "alias.st"]
        {
            assert!(stays(&setting(key, "x")), "{key}");
        }
    }

    #[test]
    fn a_program_that_comes_after_the_setting_that_names_it_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let worktree = folder.path().canonicalize().unwrap();
        let key = b"core.sshcommand".to_vec();
        let value = Some(b"sh tools/ssh".to_vec());
        let mut listing = Listing::default();
        listing.all.push(Listed { is_local: true, file: None, key, value });
        let found = || deciding_files(&listing, &worktree, &worktree.join(".git"));
        assert_eq!(found(), [] as [PathBuf; 0]);
        std::fs::create_dir(worktree.join("tools")).unwrap();
        std::fs::write(worktree.join("tools/ssh"), "").unwrap();
        assert_eq!(found(), [worktree.join("tools/ssh")]);
    }

    #[test]
    fn addresses_lose_names_and_passwords() {
        for (from, to) in [
            ("https://me:pw@x.example/a", "https://x.example/a"),
            ("https://tok@x.example/a@b", "https://x.example/a@b"),
            ("ssh://git@x.example/a", "ssh://git@x.example/a"),
            ("ssh://git:pw@x.example/a", "ssh://git@x.example/a"),
            ("git@x.example:a", "git@x.example:a"),
            ("https://x.example/a", "https://x.example/a"),
        ] {
            assert_eq!(String::from_utf8(without_names(from.as_bytes())).unwrap(), to);
        }
    }

    #[test]
    fn git_reads_back_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        crate::git::git(folder.path(), &["init", "--quiet"]).unwrap();
        let wanted = vec![
            setting("alias.x", "!f() { echo \"a\\b\"; }; f # ; \t end "),
            setting("a.B \"c\\d.e.f", " two\nlines; # \u{8}"),
            Listed { value: None, ..setting("core.yes", "") },
            setting("remote.origin.fetch", ""),
        ];
        let file = folder.path().join("config");
        std::fs::write(&file, text_of(&wanted, &[setting("gc.auto", "0")])).unwrap();
        let name = file.display().to_string();
        let call = Git::new(folder.path(), &["config", "--file", &name, "--list", "-z"]);
        let listed = call.run().unwrap();
        let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let mut read: Vec<Listed> = entries.map(Listed::parse).collect();
        assert_eq!(read.pop(), Some(setting("gc.auto", "0")));
        assert_eq!(read, wanted);
    }
}
