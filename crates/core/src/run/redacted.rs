//! Inputs without secrets. Everything that the loop remembers, records or shows comes in by an input, so
//! this is the one place where texts from outside are redacted. Names that the loop decides by (ids of
//! tasks, trees, branches, paths) stay as they are.

use super::control::Control;
use super::fact::Fact;
use super::input::Input;
use super::landing::{Conflict, Landing};
use super::notice::Notice;
use super::report::{Request, RequestedOutcome, SessionReport};
use super::verifier::VerifierReport;
use crate::agent::{ProcessEnd, SessionEnd, Signals, Verdict};
use crate::redact::Secrets;

impl Input {
    /// The same without secrets.
    #[must_use]
    pub fn redacted(&self, secrets: &Secrets) -> Self {
        let mut input = self.clone();
        input.clean(secrets);
        input
    }

    fn clean(&mut self, secrets: &Secrets) {
        match self {
            Self::Begin { started, notices } => {
                if let Fact::RunStarted { target, .. } = &mut **started {
                    secrets.clean(target);
                }
                notices.iter_mut().for_each(|notice| notice.clean(secrets));
            }
            Self::Claimed { task, .. } | Self::WorkFound { task, .. } => {
                secrets.clean(&mut task.title);
                let gates = task.finished.iter_mut().flat_map(|work| &mut work.gates);
                gates.for_each(|gate| secrets.clean(&mut gate.digest));
            }
            Self::Peeked { about, .. } => {
                if let Some(about) = about {
                    secrets.clean(&mut about.title);
                }
            }
            Self::SessionEnded { report, .. } => report.clean(secrets),
            Self::HookRefused { gate, .. } => secrets.clean(&mut gate.digest),
            Self::WorkMissing { why, .. } => secrets.clean(why),
            Self::Judged { gates, conflict, change, .. } => {
                change.weakened.iter_mut().for_each(|sentence| secrets.clean(sentence));
                let found = conflict.iter_mut().filter_map(|conflict| conflict.report.as_mut());
                gates.iter_mut().chain(found).for_each(|gate| secrets.clean(&mut gate.digest));
            }
            Self::Integrated { landing, .. } => {
                if let Landing::Conflict(Conflict { report: Some(report), .. }) = landing {
                    secrets.clean(&mut report.digest);
                }
            }
            Self::Verified { report, .. } => report.clean(secrets),
            Self::Settled { settled, .. } => {
                for (_, subject) in settled.by_agent.iter_mut().chain(&mut settled.commit) {
                    secrets.clean(subject);
                }
            }
            Self::PortFailed { error, .. } => secrets.clean(error),
            Self::Published(publication) => {
                for text in [&mut publication.page, &mut publication.why, &mut publication.command]
                {
                    secrets.clean(text);
                }
            }
            Self::Reviewed(review) => {
                secrets.clean(&mut review.why);
                review.tasks.iter_mut().for_each(|title| secrets.clean(title));
            }
            Self::Notice(notice) => notice.clean(secrets),
            Self::Surveyed { survey, .. } => {
                for task in &mut survey.left {
                    secrets.clean(&mut task.title);
                    secrets.clean(&mut task.reason);
                }
            }
            Self::MessageGiven { message, .. } | Self::Control(Control::Tell { message, .. }) => {
                secrets.clean(&mut message.text);
            }
            Self::NothingToClaim { .. }
            | Self::SessionStarted { .. }
            | Self::CandidateMade { .. }
            | Self::Parked { .. }
            | Self::GateStarted { .. }
            | Self::StepStarted { .. }
            | Self::HeadMoved { .. }
            | Self::ClaimLost { .. }
            | Self::Woken { .. }
            | Self::Control(_)
            | Self::CtrlC => {}
        }
    }
}

impl SessionReport {
    fn clean(&mut self, secrets: &Secrets) {
        clean_end(&mut self.end, &mut self.process, secrets);
        self.held.iter_mut().for_each(|task| secrets.clean(&mut task.title));
        self.requests.iter_mut().for_each(|request| request.clean(secrets));
        self.notes.iter_mut().for_each(|note| secrets.clean(note));
        let Signals { done, failed, reason, promises, next_model: _, question, in_code, ignored } =
            &mut self.signals;
        // The id of a task of the session stays, even if it looks like a secret.
        let held = &self.held;
        ignored.iter_mut().for_each(|ignored| secrets.clean(&mut ignored.text));
        let named =
            done.iter_mut().chain(failed).chain(in_code.iter_mut().map(|code| &mut code.id));
        let strange = named.filter(|name| !held.iter().any(|task| task.id.as_str() == *name));
        let texts = strange.chain(promises).chain(reason).chain(question);
        texts.for_each(|text| secrets.clean(text));
    }
}

impl VerifierReport {
    fn clean(&mut self, secrets: &Secrets) {
        clean_end(&mut self.end, &mut self.process, secrets);
        if let Some(Verdict::Fail(why)) = &mut self.verdict {
            secrets.clean(why);
        }
    }
}

fn clean_end(end: &mut SessionEnd, process: &mut ProcessEnd, secrets: &Secrets) {
    secrets.clean(&mut end.text);
    secrets.clean(&mut end.detail);
    end.denied.iter_mut().for_each(|tool| secrets.clean(tool));
    if let ProcessEnd::NotStarted { error } = process {
        secrets.clean(error);
    }
}

impl Request {
    fn clean(&mut self, secrets: &Secrets) {
        match &mut self.outcome {
            RequestedOutcome::Done { result } => {
                result.iter_mut().for_each(|result| secrets.clean(result));
            }
            RequestedOutcome::Fail { reason: text, .. }
            | RequestedOutcome::Left { reason: text }
            | RequestedOutcome::Ask { text } => {
                secrets.clean(text);
            }
        }
    }
}

impl Notice {
    fn clean(&mut self, secrets: &Secrets) {
        match self {
            Self::Level { text, .. } | Self::Promise { text } | Self::Other { text } => {
                secrets.clean(text);
            }
            Self::WrongId { named: texts, .. }
            | Self::Denied { tools: texts }
            | Self::Baseline { failing: texts, .. }
            | Self::TestsWeakened { found: texts, .. } => {
                texts.iter_mut().for_each(|text| secrets.clean(text));
            }
            Self::SignalsIgnored { signals } => {
                signals.iter_mut().for_each(|signal| secrets.clean(&mut signal.text));
            }
            Self::Ungated
            | Self::Unclaimed { .. }
            | Self::DirtyStart { .. }
            | Self::LeftoversEnded { .. }
            | Self::ClaimsTakenBack { .. }
            | Self::Trusted { .. }
            | Self::Protected { .. }
            | Self::BudgetNear { .. }
            | Self::Overtaken { .. }
            | Self::Unpriced => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::EndClass;
    use crate::ids::{AttemptId, TaskId};
    use crate::run::TaskBrief;
    use crate::task::Generation;

    #[test]
    fn texts_are_cleaned_and_names_of_tasks_stay() {
        let key = "pipeline-1";
        let secrets = Secrets::new([key]);
        let brief = TaskBrief {
            id: TaskId::new(key).unwrap(),
            title: format!("use {key}"),
            generation: Generation::default(),
            retry_count: 0,
            returns: 0,
            spec: None,
            attempt: AttemptId::new("a-1").unwrap(),
            attempt_number: 1,
            spent_micro_usd: 0,
            failed: None,
            finished: None,
            unsignaled: None,
        };
        let signals = Signals {
            done: vec![key.to_owned(), format!("{key}-x")],
            reason: Some(format!("{key}!")),
            ..Signals::default()
        };
        let report = SessionReport {
            end: SessionEnd { text: key.to_owned(), ..SessionEnd::of(EndClass::Completed, key) },
            process: ProcessEnd::NotStarted { error: key.to_owned() },
            signals,
            requests: vec![Request {
                task: TaskId::new(key).unwrap(),
                outcome: RequestedOutcome::Done { result: Some(format!("{{\"k\":\"{key}\"}}")) },
            }],
            held: vec![brief],
            notes: vec![key.to_owned()],
            duration_ms: 0,
            leftovers: 0,
        };
        let input = Input::SessionEnded { slot: 0, report: Box::new(report) };
        let Input::SessionEnded { report, .. } = input.redacted(&secrets) else { unreachable!() };
        assert_eq!(report.signals.done, [key, "[redacted]-x"]);
        assert_eq!(report.signals.reason.as_deref(), Some("[redacted]!"));
        assert_eq!((&*report.end.text, &*report.end.detail), ("[redacted]", "[redacted]"));
        assert_eq!(report.held[0].title, "use [redacted]");
        assert_eq!((report.held[0].id.as_str(), report.requests[0].task.as_str()), (key, key));
        assert_eq!(
            report.requests[0].outcome,
            RequestedOutcome::Done { result: Some("{\"k\":\"[redacted]\"}".into()) }
        );
        assert_eq!(report.notes, ["[redacted]"]);
        assert_eq!(report.process, ProcessEnd::NotStarted { error: "[redacted]".to_owned() });
    }
}
