//! When a run stops: two ordered lists of rules. The first rule that returns a reason decides. Rules of more than a few
//! lines have a file of their own.

mod agent;
mod blocked;
mod complete;

use agent::{exhausted, needs_user_action};
use blocked::blocked;
use complete::complete;

use super::SlotId;
use super::budget;
use super::class::Class;
use super::input::Survey;
use super::outcome::StopReason;
use super::state::RunState;
use crate::time::Timestamp;

/// What a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub state: &'a RunState,
    pub slot: SlotId,
    /// The plan as it was just seen; `None` after an iteration, where the state has the counts.
    pub survey: Option<&'a Survey>,
    pub now: Timestamp,
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub name: &'static str,
    /// Whether the run is to stop.
    pub check: fn(View<'_>) -> Option<StopReason>,
}

/// Before anything is chosen.
pub const BEFORE: &[Rule] = &[
    Rule { name: "cancel", check: cancelled },
    Rule { name: "no plan", check: no_plan },
    Rule { name: "complete", check: complete },
    Rule { name: "budget", check: used_up },
    Rule { name: "blocked", check: blocked },
    Rule { name: "limit", check: limit },
];

/// After an iteration.
pub const AFTER: &[Rule] = &[
    Rule { name: "failure", check: failure },
    Rule { name: "cancel", check: cancelled },
    Rule { name: "complete", check: complete },
    Rule { name: "asked", check: asked },
    Rule { name: "exhausted", check: exhausted },
    Rule { name: "hopeless", check: needs_user_action },
    Rule { name: "breaker", check: breaker },
    Rule { name: "budget", check: used_up },
    Rule { name: "idle", check: idle },
    Rule { name: "limit", check: limit },
];

/// The first rule that wants the run to stop.
pub fn first(rules: &[Rule], view: View<'_>) -> Option<StopReason> {
    rules.iter().find_map(|rule| (rule.check)(view))
}

fn cancelled(view: View<'_>) -> Option<StopReason> {
    view.state.is_cancelled().then_some(StopReason::Cancelled)
}

fn no_plan(view: View<'_>) -> Option<StopReason> {
    let survey = view.survey?;
    survey.absent.then(|| StopReason::NoPlan { why: survey.absent_why.clone() })
}

fn asked(view: View<'_>) -> Option<StopReason> {
    let question = view.state.asked.clone()?;
    Some(StopReason::Asked { question })
}

fn used_up(view: View<'_>) -> Option<StopReason> {
    let up = budget::of_run(view).into_iter().find(|used| used.is_up())?;
    Some(StopReason::Budget { what: up.words(), budget: Some(up.budget) })
}

fn failure(view: View<'_>) -> Option<StopReason> {
    (view.state.last_class == Some(Class::Failure)).then_some(StopReason::Failure)
}

fn breaker(view: View<'_>) -> Option<StopReason> {
    let errors = view.state.consecutive_errors;
    let most = view.state.policy.breaker;
    (most > 0 && errors >= most).then_some(StopReason::Breaker { errors })
}

fn idle(view: View<'_>) -> Option<StopReason> {
    let iterations = view.state.idle_iterations;
    let most = view.state.policy.idle;
    (most > 0 && iterations >= most).then_some(StopReason::Idle { iterations })
}

fn limit(view: View<'_>) -> Option<StopReason> {
    let sessions = view.state.policy.max_sessions?;
    let counts = view.survey.map_or(view.state.counts, |survey| survey.counts);
    (view.state.counted >= sessions)
        .then(|| StopReason::Limit { sessions, remaining: counts.unresolved() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::policy::{Policy, Unit};
    use crate::run::state::RunState;
    use crate::run::{Claims, EndsWhen, Picker, Survey};
    use crate::task::Counts;
    use crate::time::Timestamp;

    /// The order is the contract.
    #[test]
    fn s1_13_rules_are_asked_in_this_order() {
        let names = |rules: &[Rule]| rules.iter().map(|rule| rule.name).collect::<Vec<_>>();
        assert_eq!(names(BEFORE), ["cancel", "no plan", "complete", "budget", "blocked", "limit"]);
        assert_eq!(
            names(AFTER),
            [
                "failure",
                "cancel",
                "complete",
                "asked",
                "exhausted",
                "hopeless",
                "breaker",
                "budget",
                "idle",
                "limit"
            ]
        );
    }

    /// A plan in which a task waits for the user is never complete, whatever the agent says.
    #[test]
    fn a_promise_does_not_complete_a_plan_with_a_waiting_task() {
        let policy = Policy {
            unit: Unit::Iteration,
            picker: Picker::Agent,
            claims: Claims::Trust,
            ends: vec![EndsWhen::Marker],
            ..Policy::default()
        };
        let mut state = RunState::new(policy);
        state.marker = Some("COMPLETE".to_owned());
        let at = |counts| {
            let survey =
                Survey { counts, needs_you: vec!["\"pay\"".to_owned()], ..Survey::default() };
            let now = Timestamp::from_millis(0);
            complete(View { state: &state, slot: 0, survey: Some(&survey), now })
        };
        let open = Counts { done: 1, open: 1, ..Counts::default() };
        assert!(matches!(at(open), Some(StopReason::Marker { .. })));
        let waiting = at(Counts { waiting: 1, ..open });
        assert!(matches!(waiting, Some(StopReason::Blocked { why }) if why.contains("\"pay\"")));
    }

    /// An agent that picks from a plan file is started as long as the file has work, and not for tasks that
    /// only the user can decide about.
    #[test]
    fn a_plan_file_with_nothing_but_waiting_tasks_is_blocked() {
        let policy = Policy { unit: Unit::Iteration, picker: Picker::Agent, ..Policy::default() };
        let state = RunState::new(policy.clone());
        let counts = Counts { done: 1, waiting: 1, ..Counts::default() };
        let reason = |state: &RunState, claimable| {
            let survey = Survey { counts, claimable, ..Survey::default() };
            let now = Timestamp::from_millis(0);
            blocked(View { state, slot: 0, survey: Some(&survey), now })
        };
        assert!(matches!(reason(&state, 0), Some(StopReason::Blocked { .. })));
        assert_eq!(reason(&state, 1), None);
        let picks = RunState::new(Policy { unit: Unit::Task, ..policy });
        assert_eq!(reason(&picks, 0), None, "an empty look ends such a run otherwise");
    }

    #[test]
    fn tasks_that_wait_for_a_merge_block_the_run_and_name_the_branch() {
        let waiting = crate::run::NeedsMerge {
            task: crate::TaskId::new("b").unwrap(),
            needs: crate::TaskId::new("a").unwrap(),
            branch: "feat".to_owned(),
        };
        for picker in [Picker::Loop, Picker::Agent] {
            let state = RunState::new(Policy { picker, ..Policy::default() });
            let counts = Counts { done: 1, open: 1, ..Counts::default() };
            let needs_merge = vec![waiting.clone()];
            let survey = Survey { counts, needs_merge, ..Survey::default() };
            let now = Timestamp::from_millis(0);
            let view = View { state: &state, slot: 0, survey: Some(&survey), now };
            let Some(StopReason::Blocked { why }) = first(BEFORE, view) else {
                panic!("{picker:?}: {:?}", first(BEFORE, view));
            };
            let output = "1 waiting for a merge: b needs the work of a, which is on branch feat (git merge feat)";
            assert!(why.ends_with(output), "{why}");
        }
    }
}
