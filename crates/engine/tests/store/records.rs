//! What is kept beside the tasks: log, attempts, evidence, questions, features and agents.

use ralph_core::FeatureId;
use ralph_core::ids::{AttemptId, QuestionId, RunId};
use ralph_core::records::{
    Attempt, AttemptEnd, Changes, Evidence, Feature, FileChange, Liveness, LogKind, Verdict,
};
use ralph_core::run::unread;
use ralph_core::task::{Refusal, Status, TaskPatch};
use ralph_engine::ports::{Scope, Store};

use super::kit::*;

fn question(text: &str) -> QuestionId {
    QuestionId::new(text).unwrap()
}

pub(crate) fn the_log_shows_what_happened_and_who_did_it(store: &mut dyn Store) {
    store.make("x");
    store.make("t");
    let t = id("t");
    store.block(&t, &id("x"), &pat(), at(1)).unwrap();
    store.unblock(&t, &id("x"), &pat(), at(2)).unwrap();
    store.update(&t, priority(1), &pat(), at(3)).unwrap();
    store.try_take("a", Some("t"), 4).unwrap();
    store.note(&t, "half way", &by("a"), at(5)).unwrap();
    store.release(&t, &by("a"), at(6)).unwrap();
    store.try_take("a", Some("t"), 7).unwrap();
    store.fail(&t, "red", false, THREE, &by("a"), at(8)).unwrap();
    store.ask(question("q-1"), &t, "which?", &by("a"), at(9)).unwrap();
    store.answer(&question("q-1"), "this", &pat(), at(10)).unwrap();
    store.try_take("a", Some("t"), 11).unwrap();
    store.fail(&t, "no", true, THREE, &by("a"), at(12)).unwrap();
    store.reset(&t, &pat(), at(13)).unwrap();
    store.try_take("a", Some("t"), 14).unwrap();
    store.done(&t, None, &by("a"), at(15)).unwrap();
    let log = store.log(&t).unwrap();
    let reported: Vec<_> =
        log.iter().map(|entry| (entry.kind, entry.by.as_str(), entry.text.as_str())).collect();
    assert_eq!(
        reported,
        [
            (LogKind::Created, "pat", ""),
            (LogKind::Blocked, "pat", "x"),
            (LogKind::Unblocked, "pat", "x"),
            (LogKind::Updated, "pat", "priority"),
            (LogKind::Claimed, "a", ""),
            (LogKind::Note, "a", "half way"),
            (LogKind::Released, "a", ""),
            (LogKind::Claimed, "a", ""),
            (LogKind::Retry, "a", "red"),
            (LogKind::Asked, "a", "which?"),
            (LogKind::Answered, "pat", "this"),
            (LogKind::Claimed, "a", ""),
            (LogKind::Failed, "a", "no"),
            (LogKind::Reset, "pat", ""),
            (LogKind::Claimed, "a", ""),
            (LogKind::Done, "a", ""),
        ]
    );
    let times: Vec<_> = log.iter().map(|entry| entry.at).collect();
    assert_eq!(times, (0..16).map(at).collect::<Vec<_>>());
}

pub(crate) fn the_log_of_a_deleted_task_stays(store: &mut dyn Store) {
    store.make("t");
    store.remove(&["t"]);
    store.note(&id("t"), "still", &pat(), at(1)).unwrap();
    store.make("t");
    use LogKind::{Created, Deleted, Note};
    assert_eq!(store.kinds("t"), [Created, Deleted, Note, Created]);
}

pub(crate) fn attempts_come_back_as_they_went_in(store: &mut dyn Store) {
    store.make("t");
    store.make("other");
    let attempt = |name: &str, started| Attempt {
        id: AttemptId::new(name).unwrap(),
        task: id("t"),
        run: Some(RunId::new("r-1").unwrap()),
        agent: agent("a"),
        generation: 3,
        program: None,
        model: Some("m".to_owned()),
        sandbox: Some("box".to_owned()),
        started_at: at(started),
        end: None,
    };
    let bare = Attempt { run: None, model: None, sandbox: None, ..attempt("at-2", 2) };
    let end = AttemptEnd {
        at: at(9),
        outcome: "red".to_owned(),
        detail: "one test".to_owned(),
        commit: Some("abc".to_owned()),
        input_tokens: 1,
        output_tokens: 2,
        cost_micro_usd: Some(3),
        changed: Changes::of(vec![
            FileChange { path: "a b".to_owned(), added: Some(4), removed: Some(0) },
            FileChange { path: "picture".to_owned(), added: None, removed: None },
        ]),
        last_message: "I tried.".to_owned(),
        fingerprint: Some("test: a".to_owned()),
    };
    // What `begin` says of the end is not read.
    let said_too_early = Attempt { end: Some(end.clone()), ..attempt("at-1", 1) };
    store.begin_attempt(&said_too_early).unwrap();
    store.begin_attempt(&bare).unwrap();
    let both = store.attempts(&id("t")).unwrap();
    assert_eq!(both, [attempt("at-1", 1), bare.clone()]);
    let first = AttemptId::new("at-1").unwrap();
    store.end_attempt(&first, &end).unwrap();
    let second_end =
        AttemptEnd { outcome: "green".to_owned(), cost_micro_usd: None, ..end.clone() };
    store.end_attempt(&first, &second_end).unwrap();
    let ended = Attempt { end: Some(end), ..attempt("at-1", 1) };
    assert_eq!(store.attempts(&id("t")).unwrap(), [ended, bare]);
    assert_eq!(store.attempts(&id("other")).unwrap(), []);
    let lost = Attempt { task: id("nobody"), ..attempt("at-3", 3) };
    let refused = refusal(store.begin_attempt(&lost));
    assert_eq!(refused, Refusal::Unknown { id: id("nobody") });
}

pub(crate) fn a_message_waits_until_an_attempt_that_got_it_ends(store: &mut dyn Store) {
    store.make("t");
    let t = id("t");
    let attempt = Attempt {
        id: AttemptId::new("at-1").unwrap(),
        task: t.clone(),
        run: None,
        agent: agent("a"),
        generation: 1,
        model: None,
        program: None,
        sandbox: None,
        started_at: at(3),
        end: None,
    };
    let waiting = |store: &mut dyn Store| -> Vec<u32> {
        let (log, attempts) = (store.log(&t).unwrap(), store.attempts(&t).unwrap());
        unread(&log, &attempts).into_iter().map(|message| message.number).collect()
    };
    assert_eq!(store.tell(&t, "one", &pat(), at(1)).unwrap(), 1);
    assert_eq!(store.tell(&t, "two", &pat(), at(2)).unwrap(), 2);
    store.begin_attempt(&attempt).unwrap();
    for _ in 0..2 {
        store.give(&t, &attempt.id, &[1, 7], &by("a"), at(4)).unwrap();
    }
    let given = store.log(&t).unwrap().into_iter().filter(|entry| entry.kind == LogKind::Delivered);
    let given: Vec<String> = given.map(|entry| entry.text).collect();
    assert_eq!(given, ["message 1 to attempt at-1"]);
    assert_eq!(waiting(store), [1, 2]);
    let end = AttemptEnd { at: at(5), outcome: "red".to_owned(), ..AttemptEnd::default() };
    store.end_attempt(&attempt.id, &end).unwrap();
    assert_eq!(waiting(store), [2]);
}

pub(crate) fn a_message_needs_a_task_that_has_sessions(store: &mut dyn Store) {
    store.make("t");
    let told =
        |store: &mut dyn Store, task: &str| refusal(store.tell(&id(task), "x", &pat(), at(2)));
    assert_eq!(told(store, "nobody"), Refusal::Unknown { id: id("nobody") });
    let part = TaskPatch { parent: Some(Some(id("t"))), ..TaskPatch::default() };
    store.make("part");
    store.update(&id("part"), part, &pat(), at(1)).unwrap();
    assert_eq!(told(store, "t"), Refusal::OnlyParts { id: id("t"), children: vec![id("part")] });
    store.try_take("a", Some("part"), 3).unwrap();
    store.done(&id("part"), None, &by("a"), at(4)).unwrap();
    for task in ["part", "t"] {
        let wanted = Refusal::NoSession { id: id(task), status: Status::Done };
        assert_eq!(told(store, task), wanted);
    }
}

pub(crate) fn the_history_has_all_attempts_that_did_not_end_before(store: &mut dyn Store) {
    store.make("t");
    store.make("other");
    let begin = |store: &mut dyn Store, name: &str, task: &str, started, ended: Option<i64>| {
        let attempt = Attempt {
            id: AttemptId::new(name).unwrap(),
            task: id(task),
            run: None,
            agent: agent("a"),
            generation: 1,
            program: None,
            model: None,
            sandbox: None,
            started_at: at(started),
            end: None,
        };
        store.begin_attempt(&attempt).unwrap();
        let end = ended.map(|ended| AttemptEnd {
            at: at(ended),
            outcome: "done".to_owned(),
            detail: String::new(),
            commit: None,
            input_tokens: 1,
            output_tokens: 2,
            cost_micro_usd: Some(3),
            ..AttemptEnd::default()
        });
        if let Some(end) = &end {
            store.end_attempt(&attempt.id, end).unwrap();
        }
        Attempt { end, ..attempt }
    };
    assert_eq!(store.history(at(0)).unwrap(), []);
    let early = begin(store, "at-1", "other", 1, Some(5));
    let late = begin(store, "at-2", "t", 3, Some(9));
    let between = begin(store, "at-3", "other", 2, Some(7));
    let open = begin(store, "at-4", "t", 4, None);
    store.remove(&["t"]);
    let all = [early, between.clone(), late.clone(), open.clone()];
    assert_eq!(store.history(at(0)).unwrap(), all);
    assert_eq!(store.history(at(7)).unwrap(), [between, late, open.clone()]);
    assert_eq!(store.history(at(10)).unwrap(), [open]);
}

pub(crate) fn evidence_comes_back_as_it_went_in(store: &mut dyn Store) {
    store.make("t");
    let attempt = Attempt {
        id: AttemptId::new("at-1").unwrap(),
        task: id("t"),
        run: None,
        agent: agent("a"),
        generation: 1,
        program: None,
        model: None,
        sandbox: None,
        started_at: at(0),
        end: None,
    };
    store.begin_attempt(&attempt).unwrap();
    let full = Evidence {
        task: id("t"),
        attempt: Some(attempt.id),
        tree: "4b825dc6".to_owned(),
        judge: "test".to_owned(),
        verdict: Verdict::Fail,
        exit_code: Some(-1),
        duration_ms: 1234,
        digest: "a\nb".to_owned(),
        at: at(1),
    };
    let bare =
        Evidence { attempt: None, verdict: Verdict::Ungated, exit_code: None, ..full.clone() };
    store.add_evidence(&full).unwrap();
    store.add_evidence(&bare).unwrap();
    assert_eq!(store.evidence(&id("t")).unwrap(), [full.clone(), bare]);
    let nobody = Evidence { task: id("nobody"), ..full };
    let refused = refusal(store.add_evidence(&nobody));
    assert_eq!(refused, Refusal::Unknown { id: id("nobody") });
}

pub(crate) fn s1_44_the_verdict_of_the_verifier_is_recorded_with_the_task(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let by_gate = Evidence {
        task: id("t"),
        attempt: None,
        tree: "4b825dc6".to_owned(),
        judge: "test".to_owned(),
        verdict: Verdict::Pass,
        exit_code: Some(0),
        duration_ms: 1,
        digest: String::new(),
        at: at(1),
    };
    store.add_evidence(&by_gate).unwrap();
    assert_eq!(store.task("t").verification_status, None);
    let verdict = |verdict| Evidence { judge: "verifier".to_owned(), verdict, ..by_gate.clone() };
    let status = |store: &mut dyn Store| store.task("t").verification_status;
    store.add_evidence(&verdict(Verdict::Fail)).unwrap();
    assert_eq!(status(store).as_deref(), Some("failed"));
    store.add_evidence(&verdict(Verdict::Pass)).unwrap();
    assert_eq!(status(store).as_deref(), Some("passed"));
    assert_eq!(store.task("t").status, Status::InProgress, "it changes nothing else");
    store.reset(&id("t"), &pat(), at(2)).unwrap();
    assert_eq!(status(store), None, "taken up anew, nothing is known of it");
    store.verify().unwrap();
}

pub(crate) fn a_task_waits_until_every_question_is_answered(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    let t = id("t");
    for name in ["q-1", "q-2"] {
        store.ask(question(name), &t, "which?", &by_claim("a", 1), at(1)).unwrap();
    }
    let task = store.task("t");
    assert_eq!((task.status, task.claim), (Status::Waiting, None));
    assert_eq!(store.ready_names(), [""; 0]);
    store.answer(&question("q-1"), "this", &pat(), at(2)).unwrap();
    assert_eq!(store.status("t"), Status::Waiting);
    let open = store.questions(None, true).unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].id.as_str(), open[0].by.as_str()), ("q-2", "a"));
    store.answer(&question("q-2"), "that", &pat(), at(3)).unwrap();
    assert_eq!(store.ready_names(), ["t"]);
    assert_eq!(store.task("t").retry_count, 0);
    let all = store.questions(Some(&t), false).unwrap();
    let answers: Vec<_> = all.into_iter().map(|asked| asked.answer).collect();
    let (this, that) = ("this".to_owned(), "that".to_owned());
    assert_eq!(answers, [Some((at(2), this)), Some((at(3), that))]);
}

pub(crate) fn questions_of_a_task_that_is_reset_or_deleted_are_withdrawn(store: &mut dyn Store) {
    for name in ["kept", "gone"] {
        store.make(name);
        store.ask(question(&format!("q-{name}")), &id(name), "which?", &pat(), at(0)).unwrap();
    }
    store.reset(&id("kept"), &pat(), at(1)).unwrap();
    store.remove(&["gone"]);
    assert_eq!(store.questions(None, true).unwrap(), []);
    assert_eq!(store.questions(None, false).unwrap().len(), 2);
}

pub(crate) fn a_question_is_answered_once(store: &mut dyn Store) {
    store.make("t");
    store.ask(question("q-1"), &id("t"), "which?", &pat(), at(0)).unwrap();
    store.answer(&question("q-1"), "this", &pat(), at(1)).unwrap();
    for name in ["q-1", "q-9"] {
        let refused = refusal(store.answer(&question(name), "that", &pat(), at(2)));
        let id = question(name);
        assert_eq!(refused, Refusal::UnknownQuestion { id });
    }
}

pub(crate) fn only_open_work_can_wait(store: &mut dyn Store) {
    for name in ["done", "failed", "deleted"] {
        store.make(name);
    }
    store.finish("done");
    store.give_up("failed");
    store.remove(&["deleted"]);
    for (name, from) in
        [("done", Status::Done), ("failed", Status::Failed), ("deleted", Status::Deleted)]
    {
        let no = transition(name, from, Status::Waiting);
        let q = question("q-1");
        let asked = refusal(store.ask(q, &id(name), "which?", &pat(), at(0)));
        assert_eq!(asked, no);
        assert_eq!(refusal(store.hold(&id(name), &pat(), at(0))), no);
    }
    assert_eq!(store.questions(None, false).unwrap(), []);
}

pub(crate) fn a_held_task_waits_until_it_is_reset(store: &mut dyn Store) {
    store.make("t");
    store.take("a", "t");
    store.hold(&id("t"), &by("a"), at(1)).unwrap();
    assert_eq!(store.status("t"), Status::Waiting);
    assert_eq!(store.questions(None, false).unwrap(), []);
    assert_eq!(store.counts(&Scope::All).unwrap().waiting, 1);
    let twice = refusal(store.hold(&id("t"), &pat(), at(1)));
    assert_eq!(twice, transition("t", Status::Waiting, Status::Waiting));
    store.reset(&id("t"), &pat(), at(2)).unwrap();
    assert_eq!(store.ready_names(), ["t"]);
}

pub(crate) fn features_are_listed_by_name_and_taken_once(store: &mut dyn Store) {
    store.make_feature("beta");
    store.make_feature("alpha");
    let own = FeatureId::new("f-2").unwrap();
    let refused = refusal(store.add_feature(own, &feature("beta"), at(1)));
    let name = feature("beta");
    assert_eq!(refused, Refusal::FeatureExists { name });
    let listed = store.features().unwrap();
    let expected = ["alpha", "beta"].map(|name| Feature {
        id: FeatureId::new(format!("f-{name}")).unwrap(),
        name: feature(name),
        created_at: at(0),
    });
    assert_eq!(listed, expected);
}

pub(crate) fn a_feature_with_unfinished_tasks_is_deleted_when_confirmed(store: &mut dyn Store) {
    store.make_feature("login");
    let name = feature("login");
    for task in ["a", "b", "c", "gone"] {
        store.make_with(task, of_feature("login"));
    }
    store.make("free");
    store.finish("a");
    store.take("w", "b");
    store.remove(&["gone"]);
    let refused = refusal(store.delete_feature(&name, false, &pat(), at(1)));
    let unfinished = 2;
    assert_eq!(refused, Refusal::FeatureUnfinished { name: name.clone(), unfinished });
    let gone = store.delete_feature(&name, true, &pat(), at(1)).unwrap();
    assert_eq!(gone, ids(&["b", "c"]));
    assert_eq!(store.status("a"), Status::Done);
    assert_eq!(store.ready_names(), ["free"]);
    assert_eq!(store.features().unwrap(), []);
    let twice = refusal(store.delete_feature(&name, true, &pat(), at(1)));
    assert_eq!(twice, Refusal::UnknownFeature { name });
    let new = refusal(store.try_make("d", of_feature("login")));
    assert!(matches!(new, Refusal::UnknownFeature { .. }));
}

pub(crate) fn a_deleted_feature_comes_back_under_its_name(store: &mut dyn Store) {
    store.make_feature("login");
    let name = feature("login");
    store.delete_feature(&name, false, &pat(), at(1)).unwrap();
    let own = FeatureId::new("f-login").unwrap();
    store.add_feature(FeatureId::new("f-new").unwrap(), &name, at(2)).unwrap();
    store.make_with("t", of_feature("login"));
    let listed = store.features().unwrap();
    assert_eq!((listed.len(), &listed[0].id), (1, &own));
}

pub(crate) fn a_reopened_task_of_a_deleted_feature_can_be_edited(store: &mut dyn Store) {
    store.make_feature("login");
    store.make_with("t", of_feature("login"));
    store.finish("t");
    store.delete_feature(&feature("login"), false, &pat(), at(1)).unwrap();
    store.reopen(&ids(&["t"]), "why", &pat(), at(2)).unwrap();
    store.change("t", priority(7));
    let again = refusal(store.update(&id("t"), of_feature("login"), &pat(), at(3)));
    assert_eq!(again, Refusal::UnknownFeature { name: feature("login") });
}

pub(crate) fn an_agent_is_registered_once(store: &mut dyn Store) {
    let liveness =
        Liveness { host: "h".to_owned(), boot_id: "b".to_owned(), pid: 7, pid_started: 8 };
    store.register_agent(&agent("b"), None, at(1)).unwrap();
    store.register_agent(&agent("a"), Some(&liveness), at(2)).unwrap();
    store.register_agent(&agent("b"), Some(&liveness), at(3)).unwrap();
    store.make("t");
    store.make("u");
    store.take("b", "u");
    store.take("b", "t");
    let agents = store.agents().unwrap();
    let reported: Vec<_> =
        agents.iter().map(|a| (a.id.as_str(), a.registered_at, a.liveness.clone())).collect();
    let lives = Some(liveness);
    assert_eq!(reported, [("b", at(1), lives.clone()), ("a", at(2), lives)]);
    assert_eq!(agents[0].claims, ids(&["t", "u"]));
    assert_eq!(agents[1].claims, []);
}

pub(crate) fn an_agent_that_leaves_gives_its_claims_back(store: &mut dyn Store) {
    store.register_agent(&agent("a"), None, at(0)).unwrap();
    for name in ["t", "u", "other"] {
        store.make(name);
    }
    store.take("a", "t");
    store.take("a", "u");
    store.take("b", "other");
    let given = store.deregister_agent(&agent("a"), &pat(), at(1)).unwrap();
    assert_eq!(given, ids(&["t", "u"]));
    assert_eq!(store.ready_names(), ["t", "u"]);
    assert_eq!(store.task("t").retry_count, 0);
    assert_eq!(store.kinds("t").last(), Some(&LogKind::Released));
    assert_eq!(store.status("other"), Status::InProgress);
    assert_eq!(store.agents().unwrap(), []);
    for unknown in ["a", "b"] {
        let refused = refusal(store.deregister_agent(&agent(unknown), &pat(), at(1)));
        let id = agent(unknown);
        assert_eq!(refused, Refusal::UnknownAgent { id });
    }
}
