//! The lines that [`PlainReporter`] prints for each fact.

use std::io::Write;

use ralph_core::TaskId;
use ralph_core::agent::EndClass;
use ralph_core::run::{
    Class, Control, Fact, Landing, Notice, Publication, SessionReport, SlotId, StopReason, Wait,
};
use ralph_core::task::Status;
use ralph_core::text::escaped;
use ralph_core::time::Timestamp;
use ralph_core::view::{Doing, words};

use super::{PlainReporter, Stream, Verbosity, start, summary};
use crate::line::{TextLine, field, paragraph, wrap};
use crate::style::Meaning;
use crate::units::{brief_duration, duration, money};

/// How many changed files are named.
const FILES: usize = 3;

/// The result of a task, kept until its iteration has ended.
#[derive(Debug)]
pub(super) struct Ending {
    task: TaskId,
    title: String,
    class: Class,
    status: Status,
    reason: String,
}

impl<W: Write> PlainReporter<W> {
    pub(super) fn fact(&mut self, fact: &Fact) {
        self.report_level(fact);
        if !self.view.is_parallel() {
            // An unfinished line of the agent comes before the fact that followed it.
            self.end_words(0);
        }
        match fact {
            Fact::RunStarted { .. } => {
                let lines = start::start(&self.view, self.style());
                self.lines(lines);
                self.level_reported = false;
                self.plan_reported = false;
            }
            Fact::Noticed { notice } => self.noticed(notice),
            Fact::PlanCounted { counts } => {
                if !self.plan_reported && counts.total() > 0 {
                    let text = start::plan(counts);
                    let lines = field("plan", Meaning::Faint, &text, self.style());
                    self.lines(lines);
                }
                self.plan_reported = true;
            }
            Fact::MergesNeeded { tasks } => {
                for waiting in tasks {
                    let text = words::needs_merge(waiting);
                    self.named("waits", Meaning::Warning, &text);
                }
            }
            // The summary, which follows at once, shows what was published.
            Fact::TasksLeft { .. }
            | Fact::PlanWritten { .. }
            | Fact::QuestionAsked { .. }
            | Fact::Published { .. } => {}
            Fact::Surveying { slot } => self.detail(*slot, "looks at the plan"),
            Fact::Claiming { slot } => self.detail(*slot, "claims a task"),
            Fact::ClaimMissed { slot } => {
                self.detail(*slot, "got no task: another agent claimed it first");
            }
            Fact::SlotFreed { slot } => self.detail(*slot, "has nothing to do"),
            Fact::IterationStarted { .. } => self.iteration_started(fact),
            Fact::SessionStarted { slot, log } => {
                if self.is(Verbosity::Normal) {
                    self.linked(*slot, "log ", log);
                }
            }
            Fact::MessageGiven { task, message, live, .. } => {
                let where_to = if *live { "read by the session" } else { "in the prompt" };
                let text = format!("{} about {task}: {where_to}", message.number);
                self.named("message", Meaning::Faint, &text);
            }
            Fact::SessionEnded { slot, report } => self.session_ended(*slot, report),
            Fact::CandidateMade { slot, changed, files, file_count, .. } => {
                self.changes(*slot, *changed, files, *file_count);
            }
            Fact::GateStarted { slot, gate, .. } => {
                self.detail(*slot, &format!("runs gate {gate}"));
            }
            Fact::StepStarted { slot, step, .. } => {
                self.detail(*slot, &format!("is {}", step.as_str()));
            }
            Fact::Judged { slot, gates, green, .. } => self.judged(*slot, gates, *green),
            Fact::Verifying { slot, agent, model } => {
                self.verifying(*slot, agent, model.as_deref());
            }
            Fact::Verified { slot, report } => self.verified(*slot, report),
            Fact::Unverified { detail, .. } => {
                self.named("note", Meaning::Faint, &format!("not verified: {detail}"));
            }
            Fact::Queued { slot } => self.detail(*slot, "waits for its turn to land"),
            Fact::Integrating { slot } => self.detail(*slot, "lands"),
            Fact::Integrated { slot, landing, .. } => self.landing(*slot, landing),
            Fact::HookRefused { slot, gate } => {
                self.judged(*slot, std::slice::from_ref(gate), false);
            }
            Fact::HeadMoved { .. } => {
                let text = "the branch or the files changed meanwhile; ralph runs the gates again";
                self.named("note", Meaning::Faint, text);
            }
            Fact::Settling { slot, class } => self.detail(*slot, &format!("records {class}")),
            Fact::TaskSettled { slot, task, title, class, status, reason, .. } => {
                let ending = Ending {
                    task: task.clone(),
                    title: title.clone(),
                    class: *class,
                    status: *status,
                    reason: reason.clone(),
                };
                self.endings.entry(*slot).or_default().push(ending);
            }
            Fact::Committed { slot, commit, .. } => {
                self.commits.insert(*slot, commit.get(..7).unwrap_or(commit).to_owned());
            }
            Fact::WorkSaved { task, name } => {
                if self.is(Verbosity::Verbose) {
                    self.named("saved", Meaning::Faint, &format!("{task} as {name}"));
                }
            }
            Fact::WorkFound { slot, task } => {
                let text = format!("found finished work of attempt {}", task.attempt_number);
                self.detail(*slot, &text);
            }
            Fact::Approved { slot, .. } => {
                self.detail(*slot, "you approved this work, and nothing changed since: it lands");
            }
            Fact::WorkPutBack { task, paths } => {
                let files = words::count(u64::from(*paths), "file");
                let text = format!("Reverted {files}. The work is saved: ralph recover {task}");
                self.named("note", Meaning::Faint, &text);
            }
            Fact::IterationEnded { slot, class, detail, duration_ms, .. } => {
                self.iteration_ended(*slot, *class, detail, *duration_ms);
            }
            Fact::AgentLimited { slot, agent, limit } => {
                let text = format!("notes a limit of {agent} ({})", limit.class.words());
                self.detail(*slot, &text);
            }
            Fact::AgentSwitched { from, to, limit, .. } => {
                let until = limit.map(|limit| self.until(limit.until)).unwrap_or_default();
                let text = words::switched(from, to, limit.as_ref());
                self.named("agent", Meaning::Warning, &format!("{text}{until}"));
            }
            Fact::WaitStarted { slot, wait, until } => self.waits(*slot, wait, *until),
            Fact::WaitEnded { slot } => self.detail(*slot, "continues"),
            Fact::ControlReceived { control: Control::Cancel(_) } => self.cancelled(),
            Fact::ControlReceived { control } => {
                let (name, text) = words::control(control);
                self.named(name, Meaning::Warning, &text);
            }
            Fact::ClaimLost { task, .. } => {
                let text = format!("this run lost its claim on {task} to another agent");
                self.named("warning", Meaning::Warning, &text);
            }
            Fact::PortFailed { port, error, streak, .. } => {
                let again =
                    if *streak > 1 { format!(" ({streak} times in a row)") } else { String::new() };
                let text = words::with_detail(words::port(*port), error);
                self.named("error", Meaning::Bad, &format!("{text}{again}"));
            }
            Fact::MarkerFound { marker } => {
                let text = format!("the plan is declared done ({marker})");
                self.named("note", Meaning::Faint, &text);
            }
            Fact::Anomaly { input, phase } => {
                if self.is(Verbosity::Verbose) {
                    let text = format!("ignored {input}: unexpected in phase {phase}");
                    self.named("anomaly", Meaning::Faint, &text);
                }
            }
            Fact::StopDecided { reason } => {
                // With nothing under way the summary follows at once; a user who cancelled knows.
                let known = *reason == StopReason::Cancelled && self.view.cancel.is_some();
                let busy = self.view.sessions() > 0 && !known;
                if busy || self.is(Verbosity::Verbose) {
                    self.named("stopping", Meaning::Warning, &reason.sentence());
                }
            }
            Fact::Publishing => {
                self.named("publishing", Meaning::Faint, "the branch of this run");
            }
            Fact::Watching { until, .. } => {
                let made = self.view.publication.as_ref().map(Publication::sentence);
                if let Some(made) = made {
                    self.named("published", Meaning::Good, &made);
                }
                let text = format!("for checks and comments{}", self.until(*until));
                self.named("watching", Meaning::Faint, &text);
            }
            Fact::Reviewed { review } => {
                if review.is_work() {
                    self.named("review", Meaning::Warning, &review.sentence());
                }
            }
            Fact::RunEnded { .. } => {
                let lines = summary(&self.view, self.style());
                self.lines(lines);
            }
            Fact::Unknown => {
                if self.is(Verbosity::Verbose) {
                    self.named("unknown", Meaning::Faint, "an event of a newer version of ralph");
                }
            }
        }
    }

    /// Shows the level of the sandbox once, with its sentence where there is one.
    fn report_level(&mut self, fact: &Fact) {
        if self.level_reported {
            return;
        }
        self.level_reported = true;
        let style = self.style();
        let lines = match fact {
            Fact::Noticed { notice: Notice::Level { level, text } } => {
                start::level(level, text, style)
            }
            _ => start::level(&self.view.level, "", style),
        };
        self.lines(lines);
    }

    fn noticed(&mut self, notice: &Notice) {
        if matches!(notice, Notice::Level { .. }) {
            return;
        }
        let (name, meaning) = match notice {
            _ if words::is_warning(notice) => ("warning", Meaning::Warning),
            Notice::DirtyStart { .. } => ("saved", Meaning::Faint),
            _ => ("note", Meaning::Faint),
        };
        self.named(name, meaning, &words::notice(notice));
    }

    /// A sentence with a label, unless the user wants it quiet.
    pub(super) fn named(&mut self, name: &str, meaning: Meaning, text: &str) {
        if self.is(Verbosity::Normal) {
            let lines = field(name, meaning, text, self.style());
            self.lines(lines);
        }
    }

    /// How soon the run stops. A user who pressed Ctrl-C sees it at every verbosity.
    fn cancelled(&mut self) {
        let sessions = self.view.sessions();
        let Some(cancel) = self.view.cancel.filter(|_| sessions > 0) else { return };
        let text = words::cancelled(cancel, sessions);
        let lines = paragraph(2, Some(Meaning::Warning), &text, self.style());
        self.lines(lines);
    }

    /// A line for debugging: shown only with `--verbose`.
    fn detail(&mut self, slot: SlotId, text: &str) {
        if self.is(Verbosity::Verbose) {
            self.beside(slot, &TextLine::new().add(Meaning::Faint, format!("slot {slot} {text}")));
        }
    }

    fn iteration_started(&mut self, fact: &Fact) {
        let Fact::IterationStarted {
            slot,
            iteration,
            task,
            about,
            retry,
            offered,
            model,
            agent,
            overridden,
            raised,
            ..
        } = fact
        else {
            return;
        };
        self.streams.remove(slot);
        self.endings.remove(slot);
        self.commits.remove(slot);
        self.cut_off.remove(slot);
        if !self.is(Verbosity::Normal) {
            return;
        }
        let style = self.style();
        let subject = (task.as_ref(), about.as_ref());
        let numbers = (*offered, *retry);
        let who: Vec<&str> = agent.iter().chain(model).map(String::as_str).collect();
        let who = Some(who.join(" ")).filter(|who| !who.is_empty());
        let heading = start::heading(*iteration, subject, numbers, who.as_deref(), style);
        self.screen.line("");
        self.top(&heading);
        if let Some(instead) = overridden {
            let why = match raised {
                Some(times) => format!("after the same failure {times} times"),
                None => "because the agent asked for it".to_owned(),
            };
            let text = format!("this model instead of {instead}, {why}");
            self.beside(*slot, &TextLine::new().add(Meaning::Faint, text));
        }
    }

    /// A path beside a word: from the root of the project, and as a link where the terminal has them.
    pub(super) fn linked(&mut self, slot: SlotId, word: &str, file: &str) {
        let style = self.style();
        let root = self.options.root.trim_end_matches('/');
        let inside = file.strip_prefix(root).and_then(|path| path.strip_prefix('/'));
        let shown = if root.is_empty() { file } else { inside.unwrap_or(file) };
        let line = TextLine::new().add(Meaning::Faint, word).flexible(Some(Meaning::Faint), shown);
        let mut text = line.fit(style, self.room(slot));
        let path = if file.starts_with('/') { file.to_owned() } else { format!("{root}/{file}") };
        if style.color && style.is_terminal() && path.starts_with('/') {
            text = hyperlink(&path, &text);
        }
        self.beside_all(slot, [text]);
    }

    /// Shows the rest of an unfinished line.
    pub(super) fn end_words(&mut self, slot: SlotId) {
        let fit = self.slot_fit(slot);
        let lines = self.streams.entry(slot).or_default().end(fit);
        self.beside_all(slot, lines);
    }

    fn session_ended(&mut self, slot: SlotId, report: &SessionReport) {
        if !self.is(Verbosity::Normal) {
            return;
        }
        self.end_words(slot);
        let spoke = self.streams.get(&slot).is_some_and(Stream::spoke);
        if !spoke {
            let style = self.style();
            let lines = wrap(report.end.text.trim(), self.room(slot));
            self.beside_all(slot, lines.into_iter().map(|line| style.paint(Meaning::Speech, line)));
        }
        if report.end.class != EndClass::Completed {
            self.cut_off.insert(slot);
        }
        let usage = report.end.usage;
        let mut took = vec![brief_duration(report.duration_ms)];
        took.extend(usage.cost_micro_usd.map(money));
        took.extend(usage.turns.map(|turns| words::count(u64::from(turns), "turn")));
        let took = took.join(" · ");
        match Class::of(report.end.class) {
            None => self.beside(slot, &TextLine::new().add(Meaning::Good, took)),
            // The detail follows with the result of the task.
            Some(class) => {
                let limit = class.is_limit() || class == Class::Cancelled;
                let meaning = if limit { Meaning::Warning } else { Meaning::Bad };
                let line = TextLine::new().flexible(Some(meaning), class.words());
                self.beside(slot, &line.add(Meaning::Faint, format!(" · {took}")));
            }
        }
        if report.leftovers > 0 {
            let left = words::count(u64::from(report.leftovers), "process");
            let text = format!("killed {left} that the session left running");
            self.named("warning", Meaning::Warning, &text);
        }
    }

    fn changes(&mut self, slot: SlotId, changed: bool, files: &[String], count: u32) {
        if !self.is(Verbosity::Normal) {
            return;
        }
        if !changed {
            // A session that was cut off had no say.
            if !self.cut_off.contains(&slot) {
                self.beside(slot, &TextLine::new().add(Meaning::Warning, "No changes detected"));
            }
            return;
        }
        let mut text = format!("{} changed", words::count(u64::from(count), "file"));
        if !files.is_empty() {
            let named: Vec<&str> = files.iter().take(FILES).map(String::as_str).collect();
            let rest = if count as usize > named.len() { ", …" } else { "" };
            text.push_str(&format!(": {}{rest}", named.join(", ")));
        }
        self.beside(slot, &TextLine::new().flexible(Some(Meaning::Faint), text));
    }

    fn landing(&mut self, slot: SlotId, landing: &Landing) {
        let (meaning, text) = match landing {
            Landing::Straight => return,
            Landing::Rebased => {
                (Meaning::Faint, "rebased onto work that landed meanwhile; gates run again".into())
            }
            Landing::Conflict(_) | Landing::InTheWay { .. } => {
                (Meaning::Warning, landing.obstacle().unwrap_or_default())
            }
        };
        if self.is(Verbosity::Normal) {
            self.beside(slot, &TextLine::new().flexible(Some(meaning), text));
        }
    }

    fn iteration_ended(&mut self, slot: SlotId, class: Class, detail: &str, duration_ms: u64) {
        let mut tail = TextLine::new();
        if let Some(commit) = self.commits.remove(&slot) {
            tail = tail.plain("  ").add(Meaning::Name, commit);
        }
        tail = tail.add(Meaning::Faint, format!("  {}", brief_duration(duration_ms)));
        let endings = self.endings.remove(&slot).unwrap_or_default();
        if endings.is_empty() {
            // Work was accepted, but no task of the plan is done by it.
            let is_short = class == Class::Done && !detail.is_empty();
            let (symbol, meaning) = match is_short {
                true => ("·", Meaning::Warning),
                false => mark(class, None),
            };
            let word = if is_short { "changed" } else { class.words() };
            let text = words::with_detail(word, first_line(detail));
            let line =
                TextLine::new().add(meaning, symbol).plain(" ").flexible(Some(meaning), text);
            self.top(&line.join(&tail));
        }
        for ending in endings {
            let (symbol, meaning) = mark(ending.class, Some(ending.status));
            let word = format!("{symbol} {:<7}  ", words::status(ending.status));
            let line = TextLine::new().add(meaning, word).add(Meaning::Name, ending.task.as_str());
            let reason = first_line(&ending.reason);
            let text = match ending.status {
                Status::Done => ending.title.as_str(),
                _ if reason.is_empty() => ending.class.words(),
                _ => reason,
            };
            self.top(&line.plain("  ").flexible(None, text).join(&tail));
            let asked = self.view.questions.iter().find(|asked| asked.task == ending.task);
            if let (Status::Waiting, Some(question)) = (ending.status, asked) {
                let command = format!("ralph answer {} \"…\"", question.id);
                self.top(&TextLine::new().plain(format!("{:11}", "")).add(Meaning::Tool, command));
            }
        }
    }

    /// Until when, on the clock and from now.
    fn until(&self, until: Timestamp) -> String {
        let zone = &self.options.zone;
        let (clock, today) = (until.civil(zone), self.view.last_at.civil(zone));
        let shown = match clock.get(..10) == today.get(..10) {
            true => until.clock(zone),
            false => until.labeled(zone),
        };
        let left = duration(until.millis_since(self.view.last_at) + 999);
        format!(", until {shown} ({left})")
    }

    fn waits(&mut self, slot: SlotId, wait: &Wait, until: Option<Timestamp>) {
        let mut text = words::wait(wait);
        if let Some(until) = until {
            text.push_str(&self.until(until));
        }
        let idle = self.view.slots.iter().filter(|slot| slot.doing == Doing::Idle).count();
        // While other slots work, a slot that finds every task claimed is not worth a line.
        if matches!(wait, Wait::Others { .. }) && idle < self.view.slots.len() {
            self.detail(slot, &text);
        } else {
            self.named("waiting", Meaning::Warning, &text);
        }
    }
}

/// The symbol of an ending and what it means.
const fn mark(class: Class, status: Option<Status>) -> (&'static str, Meaning) {
    match (status, class) {
        (Some(Status::Done), _) | (None, Class::Done) => ("✓", Meaning::Good),
        (Some(Status::Failed), _) => ("✗", Meaning::Bad),
        (Some(Status::Waiting), _) | (None, Class::Question) => ("?", Meaning::Warning),
        (_, Class::Cancelled | Class::Skipped | Class::ClaimLost) => ("·", Meaning::Warning),
        (_, class) if class.is_limit() => ("·", Meaning::Warning),
        _ => ("✗", Meaning::Bad),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// A link that terminals can open, around a text.
fn hyperlink(path: &str, text: &str) -> String {
    let path = escaped(path, '%', |b| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b));
    format!("\u{1b}]8;;file://{path}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
}
