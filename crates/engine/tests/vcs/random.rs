//! Random work of a person, then random work of sessions: real git against the fake, which knows the
//! rules and nothing of git, and against what must never change.

use proptest::prelude::*;
use ralph_engine::ports::{Trees, Vcs};
use ralph_testkit::fake_vcs::FakeVcs;

use crate::kit::{Repo, SaveNow, run, task};

const FILES: [&str; 8] = ["a", "b", "d/c", "d/e/f", "g h", "n\nl", "x", "d/y"];

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Act {
    Write(usize, u8),
    Remove(usize),
}

/// What a person stages: the file as it is, or an earlier state of it.
#[derive(Debug, Clone, Copy)]
enum StagedFile {
    AsItIs(usize),
    Earlier(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    AgentCommits,
    PutBack,
}

fn act() -> impl Strategy<Value = Act> {
    let file = 0..FILES.len();
    prop_oneof![
        // Few texts of one length: sessions often write what is there already, or was.
        2 => (file.clone(), 0u8..3).prop_map(|(file, text)| Act::Write(file, text)),
        1 => file.prop_map(Act::Remove),
    ]
}

fn stage() -> impl Strategy<Value = StagedFile> {
    let file = 0..FILES.len();
    prop_oneof![file.clone().prop_map(StagedFile::AsItIs), file.prop_map(StagedFile::Earlier)]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![3 => Just(End::Commit), 1 => Just(End::AgentCommits), 2 => Just(End::PutBack)]
}

struct Both {
    repo: Repo,
    fake: FakeVcs,
}

impl Both {
    fn act(&self, act: Act) {
        match act {
            Act::Write(file, text) => {
                let text = format!("text {text}\n");
                self.repo.write(FILES[file], &text);
                self.fake.write(FILES[file], &text);
            }
            Act::Remove(file) => {
                let _ = std::fs::remove_file(self.repo.path(FILES[file]));
                self.fake.remove(FILES[file]);
            }
        }
    }

    fn stage(&self, stage: StagedFile) {
        let (file, earlier) = match stage {
            StagedFile::AsItIs(file) => (FILES[file], false),
            StagedFile::Earlier(file) => (FILES[file], true),
        };
        let now = self.repo.exists(file).then(|| self.repo.read(file));
        if earlier {
            self.repo.write(file, "text s\n");
        }
        let pathspec = format!(":(literal){file}");
        if self.repo.exists(file) {
            self.repo.git(&["add", "--", &pathspec]);
        } else {
            self.repo.git(&["rm", "--quiet", "--cached", "--ignore-unmatch", "--", &pathspec]);
        }
        match now {
            Some(text) => self.repo.write(file, text),
            None if earlier => self.repo.remove(file),
            None => {}
        }
    }

    /// Files of a tree or commit, as the fake knows them.
    fn assert_same_files(&self) {
        for file in FILES {
            let real = self.repo.exists(file).then(|| self.repo.read(file));
            assert_eq!(real, self.fake.read(file), "{file:?}");
        }
    }
}

/// The lines of `ls-files -z --stage` for all files but these.
fn staged_without(repo: &Repo, changed: &[String]) -> Vec<String> {
    let listed = String::from_utf8(repo.git_bytes(&["ls-files", "-z", "--stage"])).unwrap();
    let is_changed = |line: &str| {
        let (_, path) = line.split_once('\t').unwrap();
        changed.iter().any(|name| name == path)
    };
    let lines = listed.split_terminator('\0').filter(|line| !is_changed(line));
    lines.map(str::to_owned).collect()
}

fn check(committed: &[Act], dirty: &[Act], staged: &[StagedFile], sessions: &[(Vec<Act>, End)]) {
    let both = Both { repo: Repo::new(), fake: FakeVcs::new() };
    let (repo, fake) = (&both.repo, &both.fake);
    for name in [".gitignore", "a.txt", "src/b.txt"] {
        fake.write(name, &repo.read(name));
    }
    committed.iter().for_each(|act| both.act(*act));
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "committed"]);
    fake.commit_all("committed");
    dirty.iter().for_each(|act| both.act(*act));
    staged.iter().for_each(|stage| both.stage(*stage));
    let (vcs, base) = repo.begin();
    let model = fake.begin(&run("r-1"), None).unwrap();
    for (number, (acts, end)) in (1..).zip(sessions) {
        acts.iter().for_each(|act| both.act(*act));
        if *end == End::AgentCommits {
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "--quiet", "--allow-empty", "-m", "agent"]);
            fake.commit_all("agent");
        }
        let (index, seen) = (repo.staged(), repo.seen());
        let candidate = vcs.candidate(&base).unwrap();
        let expected = fake.candidate(&model).unwrap();
        assert_eq!((repo.staged(), repo.seen()), (index, seen.clone()));
        let changed = vcs.changes(&candidate.head_tree, &candidate.tree).unwrap();
        assert_eq!(changed, fake.changes(&expected.head_tree, &expected.tree).unwrap());
        if *end == End::PutBack {
            let saved = vcs.save_wip(&base, &task("t"), number).unwrap();
            assert_eq!(saved.is_some(), candidate.leftovers);
            let back = vcs.put_back(&base, &candidate).unwrap();
            assert_eq!(back, fake.put_back(&model, &expected).unwrap());
            for path in &back {
                let (saved, name) = (saved.as_ref().unwrap(), path.to_str().unwrap());
                match seen.get(path) {
                    Some((_, text)) => {
                        let found = repo.git_bytes(&["show", &format!("{}:{name}", saved.commit)]);
                        assert_eq!(found, *text, "what is taken away is saved");
                    }
                    None => {
                        let found = repo.git(&["ls-tree", &saved.commit, "--", name]);
                        assert_eq!(found, "", "also that it was removed");
                    }
                }
            }
            assert!(!vcs.candidate(&base).unwrap().leftovers);
        } else {
            let before = staged_without(repo, &changed);
            let id = vcs.commit(&base, &candidate, "loop", "").unwrap();
            assert_eq!(id.is_some(), fake.commit(&model, &expected, "loop", "").unwrap().is_some());
            assert_eq!(staged_without(repo, &changed), before, "staged work stays");
            assert_eq!(repo.seen(), seen);
            let status = repo.git_bytes(&["status", "--porcelain", "-z"]);
            let status = String::from_utf8(status).unwrap();
            let dirty = |name: &&String| status.split('\0').any(|s| s.get(3..) == Some(name));
            assert_eq!(changed.iter().find(dirty), None, "what is committed is clean");
        }
        both.assert_same_files();
    }
    assert_eq!(vcs.warnings(), Vec::<String>::new());
    repo.fsck();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(ralph_testkit::times(16, 1500)).unwrap(),
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_candidate_is_exactly_what_sessions_did_and_nothing_is_lost(
        committed in prop::collection::vec(act(), 0..6),
        dirty in prop::collection::vec(act(), 0..6),
        staged in prop::collection::vec(stage(), 0..3),
        sessions in prop::collection::vec((prop::collection::vec(act(), 0..5), end()), 1..4),
    ) {
        check(&committed, &dirty, &staged, &sessions);
    }
}
