//! When a run stops: two ordered lists of rules. The first rule that returns a reason decides.

use super::SlotId;
use super::budget;
use super::class::Class;
use super::input::Survey;
use super::outcome::StopReason;
use super::policy::{Claims, EndsWhen, Exhausted, Picker};
use super::state::RunState;
use crate::text::with_detail;
use crate::time::Timestamp;

/// What a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The run.
    pub state: &'a RunState,
    /// The slot that asks.
    pub slot: SlotId,
    /// The plan as it was just seen; `None` after an iteration, where the state has the counts.
    pub survey: Option<&'a Survey>,
    /// The time.
    pub now: Timestamp,
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// Whether the run is to stop.
    pub check: fn(View<'_>) -> Option<StopReason>,
}

/// After so many tasks in a row whose requests the provider rejects, the cause is not the tasks: the run stops.
const MOST_PARKED: u32 = 3;

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

fn complete(view: View<'_>) -> Option<StopReason> {
    let policy = &view.state.policy;
    let counts = view.survey.map_or(view.state.counts, |survey| survey.counts);
    let settled = || match (policy.picker, view.survey) {
        (Picker::Loop, _) => counts.total() > 0 && counts.unresolved() == 0,
        // An empty survey: nothing to claim and no agent at work.
        (Picker::Agent, Some(survey)) => {
            survey.claimable == 0 && survey.foreign == 0 && survey.needs_merge.is_empty()
        }
        (Picker::Agent, None) => counts.open == 0 && counts.active == 0,
    };
    // Where the run skips failed tasks, they do not keep it from being complete: the outcome names them.
    let ticked = match policy.on_exhausted {
        Exhausted::Fail => counts.total() > 0 && counts.unresolved() == 0,
        Exhausted::Stop => counts.done > 0 && counts.done == counts.total(),
    };
    let done = (policy.ends_when(EndsWhen::Settled) && settled())
        || (policy.ends_when(EndsWhen::Ticked) && ticked);
    if done {
        return Some(StopReason::Complete);
    }
    if policy.ends_when(EndsWhen::Session) && view.state.successful > 0 {
        return Some(StopReason::Session);
    }
    // Where claims are confirmed, the plan decides whether it is done.
    let agrees = policy.claims == Claims::Trust || counts.unresolved() == 0;
    let text =
        view.state.marker.clone().filter(|_| agrees && policy.ends_when(EndsWhen::Marker))?;
    // Only the user can call a task done that waits for the user.
    if counts.waiting > 0 {
        let names = view.survey.map(|survey| survey.needs_you.as_slice()).unwrap_or_default();
        let why = format!("the agent said {text}, and {} {}", counts.waiting, waiting_words(names));
        return Some(StopReason::Blocked { why });
    }
    Some(StopReason::Marker { text })
}

fn asked(view: View<'_>) -> Option<StopReason> {
    let question = view.state.asked.clone()?;
    Some(StopReason::Asked { question })
}

fn exhausted(view: View<'_>) -> Option<StopReason> {
    let class = view.state.exhausted?;
    if class == Class::Red && view.state.hook_refused {
        let output = view.state.last_error.clone().unwrap_or_default();
        let why = output.strip_prefix("red: ").unwrap_or(&output).to_owned();
        return Some(StopReason::GitFailed { why });
    }
    if class == Class::Red {
        return Some(StopReason::GatesFailed);
    }
    Some(StopReason::AgentFailed { why: why(view.state, class), class: Some(class) })
}

fn used_up(view: View<'_>) -> Option<StopReason> {
    let up = budget::of_run(view).into_iter().find(|used| used.is_up())?;
    Some(StopReason::Budget { what: up.words(), budget: Some(up.budget) })
}

fn blocked(view: View<'_>) -> Option<StopReason> {
    let survey = view.survey?;
    let policy = &view.state.policy;
    // An agent that picks from a plan file is given the file, unless nothing in it is left to do. One that picks
    // from the task database waits for others, and not for the user.
    let picks = policy.picker == Picker::Agent && !policy.by_iteration();
    if survey.claimable > 0
        || (picks && (survey.needs_merge.is_empty() || survey.foreign > 0))
        || view.state.others_busy(view.slot)
    {
        return None;
    }
    let counts = survey.counts;
    let mut parts = Vec::new();
    let mut part = |n: u64, text: &str| {
        if n > 0 {
            parts.push(format!("{n} {text}"));
        }
    };
    part(counts.waiting, &waiting_words(&survey.needs_you));
    part(survey.foreign, "claimed by other agents");
    part(counts.blocked, "blocked by unfinished or failed tasks");
    let merges = survey.needs_merge.len() as u64;
    if let Some(first) = survey.needs_merge.first() {
        let words = format!("{} {} ({})", first.task, first.reason(), first.command());
        part(merges, &format!("waiting for a merge: {words}"));
    }
    part(
        counts.open.saturating_sub(merges),
        "open below a failed task, or with unfinished parts (ralph task tree)",
    );
    let why = format!("nothing is ready, and tasks remain: {}", parts.join(", "));
    Some(StopReason::Blocked { why })
}

/// The names of the tasks that wait for the user, or the commands to type where they are not known.
fn waiting_words(names: &[String]) -> String {
    const MOST: usize = 5;
    if names.is_empty() {
        return "waiting for you (ralph answer, ralph retry ID)".to_owned();
    }
    let more = names.len().saturating_sub(MOST);
    let mut words = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        words.push_str(&format!(" and {more} more"));
    }
    format!("waiting for you: {words}")
}

fn failure(view: View<'_>) -> Option<StopReason> {
    (view.state.last_class == Some(Class::Failure)).then_some(StopReason::Failure)
}

fn needs_user_action(view: View<'_>) -> Option<StopReason> {
    let stuck = |class: &Class| {
        class.parks() && (!view.state.last_parked || view.state.parked_in_a_row >= MOST_PARKED)
    };
    let class = view.state.last_class.filter(|class| class.needs_user_action() || stuck(class))?;
    let mut why = why(view.state, class);
    if let Some(remedy) = class.remedy() {
        why = format!("{}; {remedy}", why.trim_end_matches('.'));
    }
    Some(StopReason::AgentFailed { why, class: Some(class) })
}

/// The class in words, with what was said about it last.
fn why(state: &RunState, class: Class) -> String {
    let named = format!("{class}: ");
    let output = state.last_error.as_deref().and_then(|error| error.strip_prefix(&named));
    with_detail(class.words(), output.unwrap_or_default())
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
    use crate::run::Survey;
    use crate::run::policy::{Policy, Unit};
    use crate::run::state::RunState;
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
