//! What is read of a worktree, and what is not.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::git::git;
use crate::untrusted::SMALL;

/// A repository with some files, one of them secret.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let root = base.join("repo");
    std::fs::create_dir_all(root.join("docs")).unwrap();
    git(&root, &["init", "-q"]).unwrap();
    for (path, text) in [
        ("repo/docs/a.md", "words"),
        ("repo/.env", "TOKEN=secret"),
        ("repo/.git/config", "url = https://token@host"),
        ("secret", "secret"),
    ] {
        std::fs::write(base.join(path), text).unwrap();
    }
    (folder, root)
}

fn commit(root: &Path, paths: &[&str]) {
    git(root, &[&["add", "-f", "--"], paths].concat()).unwrap();
    Git::new(root, &["commit", "-q", "-m", "x"]).as_ralph().run().unwrap();
}

fn refused(root: &Path, path: impl AsRef<Path>) -> String {
    let error = read(root, path.as_ref(), SMALL).unwrap_err();
    assert_ne!(error.kind(), io::ErrorKind::NotFound);
    error.to_string()
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_regular_file_is_read_by_every_name_of_it() {
    let (_folder, root) = repository();
    for path in ["docs/a.md", "./docs/a.md", "docs/../docs/a.md"] {
        assert_eq!(read(&root, Path::new(path), SMALL).unwrap(), b"words", "{path}");
        assert_eq!(read(&root, &root.join(path), SMALL).unwrap(), b"words", "{path}");
    }
    let other = root.parent().unwrap().join("other");
    symlink(&root, &other).unwrap();
    assert_eq!(read(&root, &other.join("docs/a.md"), SMALL).unwrap(), b"words");
    for path in ["missing", "docs/missing", "nothing/a.md"] {
        assert_eq!(read_text(&root, Path::new(path), SMALL).unwrap(), None, "{path}");
    }
}

#[test]
fn only_a_committed_link_within_the_worktree_is_followed() {
    let (_folder, root) = repository();
    symlink("docs/a.md", root.join("AGENTS.md")).unwrap();
    symlink("docs", root.join("texts")).unwrap();
    symlink("../AGENTS.md", root.join("docs/back.md")).unwrap();
    let output = refused(&root, "AGENTS.md");
    assert!(
        output.contains("link to docs/a.md that is not committed; commit the link"),
        "{output}"
    );
    assert!(refused(&root, "texts/a.md").contains("link to docs that is not committed"));
    commit(&root, &["AGENTS.md", "texts", "docs"]);
    for path in ["AGENTS.md", "texts/a.md", "texts/back.md", "docs/back.md"] {
        assert_eq!(read(&root, Path::new(path), SMALL).unwrap(), b"words", "{path}");
    }
    // Another target than the committed one.
    std::fs::remove_file(root.join("AGENTS.md")).unwrap();
    symlink(".env", root.join("AGENTS.md")).unwrap();
    assert!(refused(&root, "AGENTS.md").contains("link to .env that is not committed"));
    // A committed file with the words of the link.
    std::fs::write(root.join("plain"), ".env").unwrap();
    commit(&root, &["plain"]);
    std::fs::remove_file(root.join("plain")).unwrap();
    symlink(".env", root.join("plain")).unwrap();
    assert!(refused(&root, "plain").contains("not committed"));
}

#[test]
fn no_link_leads_out_of_the_worktree_or_into_git_or_ralph() {
    let (_folder, root) = repository();
    std::fs::create_dir_all(root.join(".ralph/features/x")).unwrap();
    std::fs::write(root.join(".ralph/features/x/spec.md"), "spec").unwrap();
    for (name, target) in [
        ("config", ".git/config"),
        ("upper", ".GIT/config"),
        ("spec", ".ralph/features/x/spec.md"),
        ("out", "../secret"),
        ("docs/out", "../../secret"),
        ("around", "loop"),
        ("loop", "around"),
    ] {
        symlink(target, root.join(name)).unwrap();
        commit(&root, &[name]);
    }
    symlink(root.parent().unwrap().join("secret"), root.join("absolute")).unwrap();
    commit(&root, &["absolute"]);
    for (path, why) in [
        ("config", "it is in .git"),
        ("upper", "it is in .git"),
        ("spec", "a symbolic link into .ralph"),
        ("out", "outside the repository"),
        ("docs/out", "outside the repository"),
        ("absolute", "outside the repository"),
        ("loop", "more than 8 symbolic links"),
        (".git/config", "it is in .git"),
        ("docs/../.git/config", "it is in .git"),
        (".ralph/state.toml", "ralph's own state"),
        (".ralph/progress.db-wal", "ralph's own state"),
        (".ralph/logs/x", "ralph's own state"),
        ("../secret", "outside the repository"),
    ] {
        let output = refused(&root, path);
        assert!(output.contains(why), "{path}: {output}");
    }
    assert!(
        refused(&root, root.parent().unwrap().join("secret")).contains("outside the repository")
    );
    // The user's own files below .ralph are files like others.
    assert_eq!(read(&root, Path::new(".ralph/features/x/spec.md"), SMALL).unwrap(), b"spec");
}

#[test]
fn nothing_but_a_regular_file_is_read_and_nothing_is_waited_for() {
    let (_folder, root) = repository();
    pipe(&root.join("pipe"));
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    for (path, why) in [("pipe", "it is a pipe"), ("socket", "not a regular"), ("docs", "a folder")]
    {
        assert!(refused(&root, path).contains(why), "{path}: {}", refused(&root, path));
        let named = read_named(None, &root.join(path), SMALL).unwrap_err().to_string();
        assert!(named.contains(why), "{path}: {named}");
    }
    let device = read_named(Some(&root), Path::new("/dev/zero"), SMALL).unwrap_err();
    assert!(device.to_string().contains("not a regular file"), "{device}");
}

#[test]
fn a_file_above_its_limit_is_refused_by_the_limit() {
    let (_folder, root) = repository();
    let file = File::create(root.join("long")).unwrap();
    file.set_len(SMALL).unwrap();
    assert_eq!(read(&root, Path::new("long"), SMALL).unwrap().len() as u64, SMALL);
    file.set_len(SMALL + 1).unwrap();
    assert_eq!(refused(&root, "long"), "it is larger than 1 MiB");
    assert_eq!(read_start(&root, Path::new("long"), 10).unwrap(), [0; 10]);
}

#[test]
fn a_name_that_is_not_utf_8_is_a_name() {
    let (_folder, root) = repository();
    let name = Path::new(OsStr::from_bytes(b"a\xff.md"));
    std::fs::write(root.join(name), "words").unwrap();
    assert_eq!(read(&root, name, SMALL).unwrap(), b"words");
    std::fs::remove_file(root.join(name)).unwrap();
    symlink("../secret", root.join(name)).unwrap();
    assert!(refused(&root, name).contains("outside the repository"));
    symlink(name, root.join("link")).unwrap();
    commit(&root, &["link"]);
    assert!(refused(&root, "link").contains("outside the repository"));
}

#[test]
fn a_file_that_the_user_named_may_lie_elsewhere() {
    let (_folder, root) = repository();
    let base = root.parent().unwrap();
    symlink("secret", base.join("mine.md")).unwrap();
    assert_eq!(read_named(Some(&root), &base.join("mine.md"), SMALL).unwrap(), b"secret");
    let (reading, writing) = rustix::pipe::pipe().unwrap();
    io::Write::write_all(&mut File::from(writing), b"piped").unwrap();
    let piped = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reading));
    assert_eq!(read_named(Some(&root), Path::new(&piped), SMALL).unwrap(), b"piped");
    // In the worktree no link is followed for the user either, but any file can be named.
    assert!(read_named(Some(&root), &root.join(".git/config"), SMALL).is_ok());
    symlink("../secret", root.join("link.md")).unwrap();
    assert!(read_named(Some(&root), &root.join("link.md"), SMALL).is_err());
}
