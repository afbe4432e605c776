//! How files are opened that a session could have written.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, mknodat};

use super::*;

#[test]
fn folders_are_entered_one_after_the_other_where_the_kernel_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join("docs")).unwrap();
    std::fs::write(root.join("docs/a.md"), "words").unwrap();
    symlink("docs", root.join("texts")).unwrap();
    symlink("a.md", root.join("docs/b.md")).unwrap();
    let folder = open(root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let opened = |path: &str| open_stepwise(&folder, Path::new(path), OFlags::RDONLY);
    assert!(opened("docs/a.md").is_ok());
    for path in ["texts/a.md", "docs/b.md", ""] {
        assert!(opened(path).is_err(), "{path}");
    }
}

#[test]
fn ralphs_own_files_are_opened_through_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repo");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    let ralph = root.join(".ralph");
    std::fs::create_dir(&ralph).unwrap();
    let lock = ralph.join("run.lock");
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open_own(&lock, &mut options).unwrap();
    refuse_foreign_state(&ralph).unwrap();
    std::fs::remove_file(&lock).unwrap();
    symlink("../../secret", &lock).unwrap();
    let output = open_own(&lock, &mut options).unwrap_err().to_string();
    assert!(
        output.contains("symbolic link to ../../secret") && output.contains("remove it"),
        "{output}"
    );
    let (path, why) = refuse_foreign_state(&ralph).unwrap_err();
    assert!(path == lock && why.to_string().contains("../../secret"), "{why}");
    std::fs::remove_file(&lock).unwrap();
    mknodat(CWD, &lock, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(open_own(&lock, &mut options).is_err());
    assert!(read_own(&lock, SMALL).is_err());
    std::fs::rename(&ralph, root.join("moved")).unwrap();
    symlink("moved", &ralph).unwrap();
    assert!(refuse_foreign_state(&ralph).unwrap_err().1.to_string().contains("link to moved"));
}

#[test]
fn a_ralph_folder_of_another_user_or_none_at_all_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let ralph = folder.path().join(".ralph");
    refuse_foreign_state(&ralph).unwrap();
    std::fs::write(&ralph, "").unwrap();
    let (path, why) = refuse_foreign_state(&ralph).unwrap_err();
    assert_eq!((path, why.to_string()), (ralph.clone(), "it is not a folder".to_owned()));
    std::fs::remove_file(&ralph).unwrap();
    std::fs::create_dir(&ralph).unwrap();
    refuse_foreign_state(&ralph).unwrap();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::os::unix::fs::chown(&ralph, Some(12_345), None).unwrap();
    let (_, why) = refuse_foreign_state(&ralph).unwrap_err();
    assert!(why.to_string().contains("it belongs to uid 12345, not to you"), "{why}");
    // The whole repository is that user's: git has asked whether it may be used.
    std::os::unix::fs::chown(folder.path(), Some(12_345), None).unwrap();
    refuse_foreign_state(&ralph).unwrap();
}
