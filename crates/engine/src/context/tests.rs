//! What is gathered, from a store in memory and a folder on disk.

use std::path::Path;

use ralph_core::ids::{AttemptId, QuestionId};
use ralph_core::records::AttemptEnd;
use ralph_core::task::{Actor, NewTask, Refusal, TaskPatch};
use ralph_core::text::Title;
use ralph_core::{AgentId, FeatureId, FeatureName, Lease, Timestamp};

use super::*;
use crate::ports::{ClaimRequest, Scope, StoreError};
use crate::project::Project;
use crate::store::SqliteStore;

const THREE: RetryLimit = RetryLimit::AtMost(3);

struct Story {
    store: SqliteStore,
    now: i64,
}

impl Story {
    fn new() -> Self {
        Self { store: SqliteStore::empty().unwrap(), now: 0 }
    }

    fn now(&mut self) -> Timestamp {
        self.now += 1;
        Timestamp::from_millis(1_700_000_000_000 + self.now * 1_000)
    }

    fn add(&mut self, name: &str, change: impl FnOnce(&mut TaskPatch)) -> TaskId {
        let now = self.now();
        let title = Title::new(format!("The task {name}")).unwrap();
        self.store.add(id(name), NewTask::titled(title), &pat(), now).unwrap();
        let mut patch = TaskPatch::default();
        change(&mut patch);
        let now = self.now();
        self.store.update(&id(name), patch, &pat(), now).unwrap();
        id(name)
    }

    fn claim(&mut self, task: &TaskId) {
        let request = ClaimRequest {
            agent: agent(),
            task: Some(task.clone()),
            scope: Scope::All,
            lease: Lease::seconds(600).unwrap(),
        };
        let now = self.now();
        self.store.claim(&request, now).unwrap();
    }

    fn done(&mut self, task: &TaskId, result: Option<&str>) {
        self.claim(task);
        let now = self.now();
        self.store.done(task, result, &worker(), now).unwrap();
    }

    fn fail(&mut self, task: &TaskId, reason: &str) {
        self.claim(task);
        let now = self.now();
        self.store.fail(task, reason, false, THREE, &worker(), now).unwrap();
    }

    /// Resets a claimed task: one that is pending already stays as it is.
    fn reset(&mut self, task: &TaskId) {
        self.claim(task);
        let now = self.now();
        self.store.reset(task, &pat(), now).unwrap();
    }

    fn note(&mut self, task: &TaskId, text: &str) {
        let now = self.now();
        self.store.note(task, text, &pat(), now).unwrap();
    }

    fn attempt(&mut self, task: &TaskId, name: &str, outcome: &str, detail: &str) -> AttemptId {
        let id = AttemptId::new(name).unwrap();
        let attempt = Attempt {
            id: id.clone(),
            task: task.clone(),
            run: None,
            agent: agent(),
            generation: 1,
            program: None,
            model: None,
            sandbox: None,
            started_at: self.now(),
            end: None,
        };
        self.store.begin_attempt(&attempt).unwrap();
        let end = AttemptEnd {
            at: self.now(),
            outcome: outcome.into(),
            detail: detail.into(),
            commit: Some(format!("commit-of-{name}")),
            input_tokens: 0,
            output_tokens: 0,
            cost_micro_usd: None,
            ..AttemptEnd::default()
        };
        self.store.end_attempt(&id, &end).unwrap();
        id
    }

    fn judged(&mut self, task: &TaskId, by: &AttemptId, judge: &str, verdict: Verdict) {
        let evidence = Evidence {
            task: task.clone(),
            attempt: Some(by.clone()),
            tree: format!("tree-of-{by}"),
            judge: judge.into(),
            verdict,
            exit_code: Some(1),
            duration_ms: 1,
            digest: format!("{judge} of {by}"),
            at: self.now(),
        };
        self.store.add_evidence(&evidence).unwrap();
    }

    fn gather(&mut self, task: &TaskId) -> AttemptContext {
        let texts = FeatureTexts::default();
        let about = Gather {
            task,
            limit: THREE,
            texts: &texts,
            plan_file: None,
            branch: None,
            skills: &[],
            learn: false,
        };
        gather(&mut self.store, &about).unwrap()
    }
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn agent() -> AgentId {
    AgentId::new("agent-1").unwrap()
}

fn worker() -> Actor {
    Actor::Agent(agent(), None)
}

fn pat() -> Actor {
    Actor::User(AgentId::new("pat").unwrap())
}

fn judges(context: &AttemptContext) -> Vec<&str> {
    context.failures.iter().map(|failure| failure.digest.as_str()).collect()
}

#[test]
fn s1_15_a_first_attempt_knows_its_task_and_nothing_else() {
    let mut story = Story::new();
    let task = story.add("a", |p| {
        p.description = Some("At length.".into());
        p.steps = Some(vec!["one".into()]);
        p.category = Some(Some("c".into()));
        p.spec = Some(Some("specs/a.md".into()));
        p.reference = Some(Some("#1".into()));
    });
    let context = story.gather(&task);
    let expected = AssignedTask {
        id: task,
        title: "The task a".into(),
        description: "At length.".into(),
        steps: vec!["one".into()],
        category: Some("c".into()),
        spec: Some("specs/a.md".into()),
        reference: Some("#1".into()),
    };
    assert_eq!(context, AttemptContext { task: Some(expected), ..AttemptContext::default() });
}

#[test]
fn s1_15_parent_and_finished_blockers_are_reported() {
    let mut story = Story::new();
    let parent = story.add("parent", |p| p.description = Some("All of it.".into()));
    let noted = story.add("noted", |p| p.description = Some("not this".into()));
    let silent = story.add("silent", |p| p.description = Some("described".into()));
    let open = story.add("open", |_| {});
    let gone = story.add("gone", |_| {});
    let task = story.add("a", |p| {
        p.parent = Some(Some(parent));
        p.deps = Some(vec![noted.clone(), silent.clone(), open, gone.clone()]);
    });
    story.note(&noted, "first");
    story.note(&noted, "use the new api");
    story.done(&noted, Some(r#"{"commit":"abc123","files":3}"#));
    story.attempt(&silent, "s", "completed", "");
    story.done(&silent, None);
    let now = story.now();
    story.store.delete(crate::ports::DeleteWhich::Ids(vec![gone]), &pat(), now).unwrap();
    let context = story.gather(&task);
    let parent = ParentTask { title: "The task parent".into(), description: "All of it.".into() };
    assert_eq!(context.parent, Some(parent));
    let reported: Vec<_> = context
        .blockers
        .iter()
        .map(|b| (b.id.as_str(), b.summary.as_str(), b.commit.as_deref()))
        .collect();
    assert_eq!(
        reported,
        [
            ("noted", "use the new api", Some("abc123")),
            ("silent", "described", Some("commit-of-s"))
        ]
    );
}

#[test]
fn many_blockers_are_counted_rather_than_listed() {
    let mut story = Story::new();
    let blockers: Vec<TaskId> = (0..120).map(|n| story.add(&format!("b{n}"), |_| {})).collect();
    for blocker in &blockers {
        story.done(blocker, None);
    }
    let task = story.add("a", |p| p.deps = Some(blockers));
    let context = story.gather(&task);
    assert_eq!((context.blockers.len(), context.more_blockers), (100, 20));
    assert_eq!(context.blockers[99].id.as_str(), "b119");
}

#[test]
fn s1_15_retry_information_is_there_only_after_a_failure() {
    let mut story = Story::new();
    let task = story.add("a", |_| {});
    assert_eq!(story.gather(&task).retry, None);
    story.fail(&task, "first");
    story.fail(&task, "second reason");
    let retry = story.gather(&task).retry.unwrap();
    assert_eq!((retry.attempt, retry.max), (3, THREE));
    assert_eq!(retry.reason.as_deref(), Some("second reason"));
    story.reset(&task);
    assert_eq!(story.gather(&task).retry, None);
}

#[test]
fn only_what_was_red_at_the_last_judging_is_reported() {
    let mut story = Story::new();
    let task = story.add("a", |_| {});
    let first = story.attempt(&task, "n1", "gates_red", "");
    story.judged(&task, &first, "test", Verdict::Fail);
    story.judged(&task, &first, "lint", Verdict::Fail);
    let second = story.attempt(&task, "n2", "gates_red", "");
    story.judged(&task, &second, "test", Verdict::Pass);
    story.judged(&task, &second, "lint", Verdict::Fail);
    assert_eq!(judges(&story.gather(&task)), ["lint of n2"]);
    // A session that was never judged leaves what was known.
    story.attempt(&task, "n3", "timeout", "too long");
    assert_eq!(judges(&story.gather(&task)), ["lint of n2"]);
    let fourth = story.attempt(&task, "n4", "gates_red", "");
    story.judged(&task, &fourth, "test", Verdict::Pass);
    assert_eq!(judges(&story.gather(&task)), [""; 0]);
}

#[test]
fn a_reset_forgets_and_a_reason_is_not_reported_twice() {
    let mut story = Story::new();
    let task = story.add("a", |_| {});
    let first = story.attempt(&task, "n1", "gates_red", "verifier of n1");
    story.judged(&task, &first, "verifier", Verdict::Fail);
    story.judged(&task, &first, "test", Verdict::Fail);
    story.fail(&task, "verifier of n1");
    let context = story.gather(&task);
    assert_eq!(judges(&context), ["test of n1"]);
    assert_eq!(context.earlier[0].detail, "");
    // The loop puts the name of the gate before what it found.
    let second = story.attempt(&task, "n2", "red", "gate test failed (exit code 1)\ntest of n2");
    story.judged(&task, &second, "test", Verdict::Fail);
    story.fail(&task, "gate test failed (exit code 1)\ntest of n2");
    assert_eq!(judges(&story.gather(&task)), [""; 0]);
    story.reset(&task);
    let context = story.gather(&task);
    assert!(context.failures.is_empty() && context.earlier.is_empty());
}

#[test]
fn the_last_attempts_are_reported_but_not_limits() {
    let mut story = Story::new();
    let task = story.add("a", |_| {});
    for (name, outcome) in [
        ("n0", "malformed"),
        ("n1", "crash"),
        ("n2", "timeout"),
        ("n3", Class::RateLimit.as_str()),
        ("n4", "hang"),
        ("n5", "empty"),
        ("n6", Class::Cancelled.as_str()),
        ("n7", Class::UnknownModel.as_str()),
        ("n8", "max-turns"),
    ] {
        story.attempt(&task, name, outcome, "why");
    }
    let context = story.gather(&task);
    let reported: Vec<_> =
        context.earlier.iter().map(|attempt| (attempt.number, attempt.outcome.as_str())).collect();
    let last = [(2, "crash"), (3, "timeout"), (5, "hang"), (6, "empty"), (9, "max-turns")];
    assert_eq!(reported, last);
}

#[test]
fn notes_are_reported_the_last_ones_first_written_first() {
    let mut story = Story::new();
    let task = story.add("a", |_| {});
    for number in 1..=25 {
        story.note(&task, &format!("note {number}"));
    }
    let notes = story.gather(&task).notes;
    assert_eq!((notes.len(), notes[0].as_str(), notes[19].as_str()), (20, "note 6", "note 25"));
}

#[test]
fn answers_are_reported_and_open_questions_are_not() {
    let mut story = Story::new();
    let task = story.add("a", |_| {});
    for (name, text) in [("q1", "which?"), ("q2", "when?")] {
        let now = story.now();
        story.store.ask(QuestionId::new(name).unwrap(), &task, text, &pat(), now).unwrap();
        if name == "q1" {
            let now = story.now();
            story.store.answer(&QuestionId::new(name).unwrap(), "that one", &pat(), now).unwrap();
        }
    }
    let expected = AnsweredQuestion { question: "which?".into(), answer: "that one".into() };
    assert_eq!(story.gather(&task).answers, [expected]);
}

fn project(folder: &Path) -> Project {
    Project { worktree: folder.to_owned(), root: folder.to_owned(), git_dir: folder.join(".git") }
}

fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn s1_8_spec_and_plan_follow_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    write(folder.path(), ".ralph/features/login/spec.md", b"# login \xff\n");
    let mut story = Story::new();
    let login = FeatureName::new("login").unwrap();
    let now = story.now();
    story.store.add_feature(FeatureId::new("f-1").unwrap(), &login, now).unwrap();
    let inside = story.add("inside", |p| p.feature = Some(Some(login.clone())));
    let outside = story.add("outside", |_| {});
    let mut read = |scope| FeatureTexts::read(&project, &mut story.store, &scope);

    let texts = read(Scope::Feature(login.clone())).unwrap();
    let spec = texts.spec.clone().unwrap();
    assert_eq!(spec.path, ".ralph/features/login/spec.md");
    assert_eq!(&*spec.text, "# login \u{fffd}\n");
    assert_eq!((texts.feature.as_ref(), &texts.plan), (Some(&login), &None));
    assert_eq!(read(Scope::Task(inside)).unwrap(), texts);
    assert_eq!(read(Scope::Task(outside)).unwrap(), FeatureTexts::default());
    assert_eq!(read(Scope::All).unwrap(), FeatureTexts::default());

    let other = FeatureName::new("other").unwrap();
    let error = read(Scope::Feature(other)).unwrap_err();
    assert!(matches!(
        error,
        ContextError::Store(StoreError::Refused(Refusal::UnknownFeature { .. }))
    ));
    assert!(read(Scope::Task(id("missing"))).is_err());
    std::fs::create_dir(folder.path().join(".ralph/features/login/plan.md")).unwrap();
    let error = read(Scope::Feature(login)).unwrap_err();
    assert!(
        error.to_string().ends_with("plan.md cannot be read: it is a folder, not a regular file"),
        "{error}"
    );
}

#[test]
fn s1_9_spec_and_plan_are_as_they_were_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    write(folder.path(), ".ralph/features/login/spec.md", "before");
    let mut story = Story::new();
    let login = FeatureName::new("login").unwrap();
    let now = story.now();
    story.store.add_feature(FeatureId::new("f-1").unwrap(), &login, now).unwrap();
    let task = story.add("a", |p| p.feature = Some(Some(login.clone())));
    let texts = FeatureTexts::read(&project, &mut story.store, &Scope::Feature(login)).unwrap();
    write(folder.path(), ".ralph/features/login/spec.md", "after");
    let about = Gather {
        task: &task,
        limit: THREE,
        texts: &texts,
        plan_file: Some("plan.md"),
        branch: None,
        skills: &[],
        learn: true,
    };
    for _ in 0..2 {
        let context = gather(&mut story.store, &about).unwrap();
        assert_eq!(&*context.spec.unwrap().text, "before");
        assert!(context.learn && context.plan_file.as_deref() == Some("plan.md"));
    }
}

#[test]
fn s1_16_skills_are_found_and_odd_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join(".ralph/skills");
    assert_eq!(Skills::discover(std::slice::from_ref(&skills)), Skills::default());
    write(&skills, "b-tests/SKILL.md", "---\nname: x\ndescription: Runs them.\n---\n");
    write(
        &skills,
        "a-docs/SKILL.md",
        format!("---\ndescription: |\n  Docs.\n---\n{}", " ".repeat(100_000)),
    );
    write(&skills, "c-empty/SKILL.md", "no front matter");
    write(&skills, "d-other/README.md", "no skill");
    write(&skills, "README.md", "no folder");
    std::fs::create_dir_all(skills.join("e-folder/SKILL.md")).unwrap();
    let Skills { found, warnings } = Skills::discover(std::slice::from_ref(&skills));
    let found: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.description.as_str())).collect();
    assert_eq!(found, [("a-docs", "Docs."), ("b-tests", "Runs them.")]);
    let warnings: Vec<_> = warnings.iter().map(|w| w.reason.as_str()).collect();
    assert_eq!(
        warnings,
        ["its front matter has no description", "it is a folder, not a regular file"]
    );
}
