//! The last words of a run for every way it can end, at two widths and without colors: look at the snapshots.

use ralph_core::TaskId;
use ralph_core::agent::Usage;
use ralph_core::ids::QuestionId;
use ralph_core::run::{
    Allowance, Class, Fact, LeftTask, NeedsMerge, Planned, Publication, PublishEnd, StopReason,
};
use ralph_core::task::{Counts, Status};
use ralph_core::view::next::table::EndState;
use ralph_core::view::{QuestionView, RunView};
use unicode_width::UnicodeWidthStr;

use super::super::summary;
use crate::style::TextStyle;
use crate::tests::sample::{self, Tape};

const NONE: Counts =
    Counts { open: 0, active: 0, done: 0, blocked: 0, deleted: 0, failed: 0, waiting: 0 };
const OPEN: Counts = Counts { open: 2, done: 1, ..NONE };
const DONE: Counts = Counts { done: 3, ..NONE };

fn id(task: &str) -> TaskId {
    TaskId::new(task).unwrap()
}

/// A run of one session that ended so.
fn ended(reason: StopReason, left: Counts) -> RunView {
    let mut tape = Tape::new(1, 3);
    tape.begin(0, 1, "t-2kq7m3ab", "Add the login form", 1);
    tape.end(
        0,
        "t-2kq7m3ab",
        sample::completed_with("<task-done>t-2kq7m3ab</task-done>", 8, 12),
        94_000,
    );
    let (title, class) = ("Add the login form", Class::Done);
    tape.settle(0, 1, "t-2kq7m3ab", title, class, Status::Done, "", 95_000);
    if left.failed > 0 {
        tape.fact(Fact::TasksLeft {
            tasks: vec![LeftTask {
                approval: false,
                id: id("t-q3nd5yhc"),
                title: "Send a mail to reset the password".into(),
                status: Status::Failed,
                reason: "gate test failed (exit code 101)".into(),
            }],
        });
    }
    tape.counts = left;
    let mut view = RunView::of(&sample::journal(&tape.stop(reason, 1, 0)));
    view.budget.micro_usd = 500_000;
    (view.budget.tokens, view.budget.time_ms) = (200_000, 5_400_000);
    view.budget.day_micro_usd = 20_000_000;
    view
}

/// A run that the agent ended in this way, with the words that the loop has for it.
fn failed(class: Class, output: &str) -> RunView {
    let mut why = format!("{}: {output}", class.words());
    if let Some(remedy) = class.remedy() {
        why = format!("{why}; {remedy}");
    }
    ended(StopReason::AgentFailed { why, class: Some(class) }, OPEN)
}

fn out_of(budget: Allowance, used: u64, limit: u64) -> RunView {
    let what = format!("{}: {}", budget.as_str(), budget.amounts(used, limit));
    ended(StopReason::Budget { what, budget: Some(budget) }, OPEN)
}

fn with(mut view: RunView, change: impl FnOnce(&mut RunView)) -> RunView {
    change(&mut view);
    view
}

/// The same before any session.
fn without_work(view: RunView) -> RunView {
    with(view, |view| {
        (view.commits, view.commit_count, view.usage) = (vec![], 0, Usage::default());
        if let Some(outcome) = &mut view.outcome {
            (outcome.successful, outcome.iterations, outcome.duration_ms) = (0, 0, 12);
        }
    })
}

/// Every end, each with a name.
fn ends() -> Vec<(&'static str, RunView)> {
    let why = |text: &str| text.to_owned();
    let plan = Planned { tasks: 4, file: "implementation_plan.md".into() };
    let planned = with(ended(StopReason::Marker { text: "COMPLETE".into() }, NONE), |view| {
        (view.mode, view.planned) = ("plan".into(), Some(plan.clone()));
        if let Some(outcome) = &mut view.outcome {
            outcome.planned = Some(plan);
        }
    });
    let some_failed = with(ended(StopReason::Complete, Counts { failed: 1, ..DONE }), |view| {
        if let Some(outcome) = &mut view.outcome {
            outcome.failed_task = Some(id("t-q3nd5yhc"));
        }
    });
    let in_feature = |mode: &str, reason| {
        with(ended(reason, NONE), |view| {
            (view.mode, view.target) = (mode.to_owned(), "feature login".into());
            (view.commits, view.commit_count) = (vec![], 0);
        })
    };
    let blocked = |text: &str, left| ended(StopReason::Blocked { why: why(text) }, left);
    let claimed = "nothing is ready, and tasks remain: 2 claimed by other agents";
    let waiting = Counts { waiting: 2, ..DONE };
    let nothing_ready = "nothing is ready, and tasks remain: 2 waiting for you: \"Remember the session\", \"Log out\"";
    let asks = with(blocked(nothing_ready, waiting), |view| {
        view.questions = vec![QuestionView {
            id: QuestionId::new("q-5ohb2kdx").unwrap(),
            task: id("t-m4xw6tfe"),
            text: "How long is a session remembered: a day, as the spec says, or 30 days, as the mock-up shows?".into(),
        }];
    });
    let merge = NeedsMerge { task: id("t-b"), needs: id("t-a"), branch: "add-login".into() };
    let needs_merge = format!(
        "nothing is ready, and tasks remain: 1 waiting for a merge: t-b {} ({})",
        merge.reason(),
        merge.command()
    );
    let merges = with(blocked(&needs_merge, OPEN), |view| {
        view.merges = vec![merge];
    });
    let published = |made: Publication| {
        with(ended(StopReason::Complete, DONE), |view| {
            view.warnings.push(made.sentence());
            view.publication = Some(made);
        })
    };
    let unpublished = published(Publication {
        why: "GitHub refused the push: permission denied".into(),
        command: "gh auth login".into(),
        ..Publication::blank(PublishEnd::Failed, "add-login")
    });
    let to_open = published(Publication {
        why: "there is no token for git.example.com".into(),
        page: "https://git.example.com/shop/compare/add-login".into(),
        ..Publication::blank(PublishEnd::ByHand, "add-login")
    });
    let no_boxes = Some(why("TODO.md has no checkboxes"));
    let no_tool = "gate test cannot run (exit code 127, also without the agent's changes): command not found: nosuchtool";
    vec![
        ("plan written", planned),
        ("all done", ended(StopReason::Complete, DONE)),
        ("some failed", some_failed),
        ("nothing to do", without_work(ended(StopReason::Complete, NONE))),
        ("nothing ready", ended(StopReason::Complete, Counts { blocked: 2, ..DONE })),
        ("declared done", ended(StopReason::Marker { text: "COMPLETE".into() }, OPEN)),
        ("session done", in_feature("feature-plan", StopReason::Session)),
        ("no plan", without_work(ended(StopReason::NoPlan { why: None }, NONE))),
        ("not a plan", without_work(ended(StopReason::NoPlan { why: no_boxes }, NONE))),
        ("feature question", in_feature("feature-spec", StopReason::Asked { question: why("?") })),
        ("waits for an answer", asks),
        ("waits for a merge", merges),
        ("blocked", blocked(claimed, Counts { active: 2, ..DONE })),
        ("the agent said FAILURE", ended(StopReason::Failure, OPEN)),
        ("gates fail", ended(StopReason::GatesFailed, OPEN)),
        ("gate unusable", ended(StopReason::GateUnusable { why: why(no_tool) }, OPEN)),
        ("logged out", failed(Class::Auth, "API Error: 401 Invalid authentication credentials")),
        ("no access", failed(Class::Forbidden, "403 your organization has no access to opus")),
        ("out of credit", failed(Class::Billing, "Credit balance is too low")),
        ("unknown model", failed(Class::UnknownModel, "model: sonnet-9")),
        ("prompt too long", failed(Class::TooLong, "prompt is too long: 214000 tokens")),
        ("rejected", failed(Class::Rejected, "400 invalid_request_error")),
        ("agent did not start", failed(Class::NotStarted, "claude: permission denied")),
        ("agent crashed", failed(Class::Crash, "ended with signal 11 and no result")),
        ("errors in a row", ended(StopReason::Breaker { errors: 3 }, OPEN)),
        ("git failed", ended(StopReason::GitFailed { why: why("index.lock exists") }, OPEN)),
        ("out of money", out_of(Allowance::Money, 510_000, 500_000)),
        ("out of tokens", out_of(Allowance::Tokens, 224_000, 200_000)),
        ("out of time", out_of(Allowance::Time, 5_405_000, 5_400_000)),
        ("out of money today", out_of(Allowance::Day, 20_010_000, 20_000_000)),
        ("idle", ended(StopReason::Idle { iterations: 2 }, OPEN)),
        ("limit", ended(StopReason::Limit { sessions: 20, remaining: 2 }, OPEN)),
        ("cancelled", ended(StopReason::Cancelled, OPEN)),
        ("cancelled when done", ended(StopReason::Cancelled, DONE)),
        ("ralph failed", ended(StopReason::Error { why: why("the disk is full") }, OPEN)),
        ("not published", unpublished),
        ("pull request to open", to_open),
    ]
}

fn gallery(width: usize) -> String {
    let style = TextStyle { color: false, width: Some(width) };
    let show = |(name, view): &(&str, RunView)| {
        let lines = summary(view, style);
        assert!(lines.iter().all(|line| line.width() <= width), "{name}: {lines:#?}");
        format!("[{name}]{}\n", lines.join("\n"))
    };
    ends().iter().map(show).collect::<Vec<_>>().join("\n")
}

#[test]
fn gallery_of_ends_at_80_columns() {
    insta::assert_snapshot!(gallery(80));
}

#[test]
fn gallery_of_ends_at_120_columns() {
    insta::assert_snapshot!(gallery(120));
}

#[test]
fn the_gallery_has_every_end() {
    let shown: Vec<EndState> = ends().iter().filter_map(|(_, view)| EndState::of(view)).collect();
    for end in EndState::ALL {
        assert!(shown.contains(&end), "{end:?}");
    }
}
