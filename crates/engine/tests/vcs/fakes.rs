//! The fake keeps the rules that tests of the loop rely on.

use ralph_engine::ports::{GitError, Trees, Vcs};
use ralph_testkit::fake_vcs::FakeVcs;

use crate::kit::{SaveNow, ids_between, run, task};

#[test]
fn the_fake_commits_saves_and_puts_back() {
    let fake = FakeVcs::new();
    fake.write("a", "committed");
    let first = fake.commit_all("first");
    fake.write("a", "person");
    let base = fake.begin(&run("r-1"), None).unwrap();
    assert!(base.start.is_some());
    let candidate = fake.candidate(&base).unwrap();
    assert!(!candidate.leftovers && candidate.tree == base.settled_tree);
    fake.write("b", "session");
    let candidate = fake.candidate(&base).unwrap();
    assert_eq!(fake.changes(&candidate.head_tree, &candidate.tree).unwrap(), ["b"]);
    let counted = fake.counted_changes(&candidate.head_tree, &candidate.tree).unwrap();
    assert_eq!((counted.len(), counted[0].added, counted[0].removed), (1, Some(1), Some(0)));
    let second = fake.commit(&base, &candidate, "second", "why").unwrap().unwrap();
    assert_eq!(fake.file_in(&second, "a").as_deref(), Some("committed"));
    assert_eq!(ids_between(&fake, Some(&first), &second), [second]);
    assert_eq!(fake.log().last().map(|commit| commit.body.as_str()), Some("why"));
    let stale = fake.commit(&base, &candidate, "again", "").unwrap_err();
    assert!(matches!(stale, GitError::HeadMoved { .. }));
    fake.write("a", "session");
    fake.write("c", "session");
    let saved = fake.save_wip(&base, &task("t/1"), 3).unwrap().unwrap();
    assert_eq!(saved.name, "refs/ralph/wip/t=2F1/3");
    assert_eq!(fake.save_wip(&base, &task("t/1"), 3).unwrap(), Some(saved.clone()));
    let candidate = fake.candidate(&base).unwrap();
    fake.write("c", "person");
    assert_eq!(fake.put_back(&base, &candidate).unwrap(), [std::path::PathBuf::from("a")]);
    assert_eq!(fake.read("a").as_deref(), Some("person"));
    assert_eq!(fake.read("c").as_deref(), Some("person"));
    assert_eq!(fake.file_in(&saved.commit, "c").as_deref(), Some("session"));
    assert!(fake.refs().contains_key("refs/ralph/start/r-1"));
    let resumed = fake.begin(&run("r-2"), Some((&run("r-1"), Some(&first)))).unwrap();
    assert_eq!((resumed.start, resumed.settled_tree), (base.start, base.settled_tree));
}

#[test]
fn the_fake_fails_on_request() {
    let fake = FakeVcs::new();
    fake.fail_next(GitError::Failed { verb: "add".into(), message: "no".into() });
    assert!(fake.begin(&run("r-1"), None).is_err());
    assert!(fake.begin(&run("r-1"), None).is_ok());
}
