//! The readable log of a run: one block per iteration and a summary, in the form of S3.
//!
//! No colors and no control characters. With several slots a block is written when its iteration has
//! ended, so blocks never mix; with one slot it grows as the agent works.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use ralph_core::agent::{AgentEvent, Usage};
use ralph_core::records::Verdict;
use ralph_core::run::{
    About, Class, Fact, GateReport, Outcome, RunEvent, SessionReport, SlotId, TaskBrief,
    VerifierReport,
};
use ralph_core::text::printable_line;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::{Reporter, RunView, words};

use crate::line::wrap;
use crate::plain::stream::{Fit, Stream};
use crate::units::{duration, money, short_duration};

const WIDTH: usize = 80;

#[derive(Debug, Default)]
struct Block {
    began: Timestamp,
    iteration: u32,
    retries: u32,
    model: Option<String>,
    usage: Usage,
    stream: Stream,
    text: String,
}

#[derive(Debug)]
pub struct SessionLog<W> {
    out: W,
    zone: Zone,
    view: RunView,
    blocks: BTreeMap<SlotId, Block>,
    ended: bool,
}

impl<W: Write> SessionLog<W> {
    /// A log in the time of a clock so many minutes ahead of UTC.
    pub fn new(out: W, zone: Zone) -> Self {
        let (view, blocks) = (RunView::default(), BTreeMap::new());
        Self { out, zone, view, blocks, ended: false }
    }

    fn time(&self, at: Timestamp) -> String {
        at.civil(&self.zone)
    }

    /// Adds lines to the block of a slot.
    fn say(&mut self, slot: SlotId, lines: impl IntoIterator<Item = String>) {
        let Some(block) = self.blocks.get_mut(&slot) else { return };
        for line in lines {
            block.text.push_str(&line);
            block.text.push('\n');
        }
        if !self.view.is_parallel() {
            let text = std::mem::take(&mut block.text);
            self.write(&text);
        }
    }

    /// A log that cannot be written does not end the run.
    fn write(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        }
    }

    fn header(&mut self, at: Timestamp, slot: SlotId, fact: &Fact) {
        let Fact::IterationStarted { iteration, task, about, retry, offered, model, .. } = fact
        else {
            return;
        };
        let retries = task.as_ref().map_or(*retry, |task| task.retry_count);
        let subject = words::subject(task.as_ref(), about.as_ref(), *offered);
        let (iteration, model) = (*iteration, model.clone());
        self.blocks
            .insert(slot, Block { began: at, iteration, retries, model, ..Block::default() });
        let lines = [
            "=".repeat(WIDTH),
            format!("ITERATION {iteration}"),
            "=".repeat(WIDTH),
            format!("Mode: {}", printable_line(&self.view.mode)),
            format!("Task: {}", printable_line(&subject)),
            format!("Spec: {}", spec(task.as_ref(), about.as_ref())),
            format!("Start Time: {}", self.time(at)),
            "-".repeat(WIDTH),
        ];
        self.say(slot, lines);
    }

    fn session_ended(&mut self, slot: SlotId, report: &SessionReport) {
        let Some(block) = self.blocks.get_mut(&slot) else { return };
        let mut lines = block.stream.end(Fit::PLAIN);
        block.usage = block.usage.plus(report.end.usage);
        if let Some(model) = &report.end.model {
            block.model = Some(model.clone());
        }
        if !block.stream.spoke() {
            lines.extend(wrap(report.end.text.trim(), None));
        }
        if let Some(class) = Class::of(report.end.class) {
            let text = words::with_detail(class.words(), &report.end.detail);
            lines.extend(wrap(&format!("Session: {text}"), None));
        }
        self.say(slot, lines);
    }

    fn verified(&mut self, slot: SlotId, report: &VerifierReport) {
        let Some(block) = self.blocks.get_mut(&slot) else { return };
        let lines = block.stream.end(Fit::PLAIN);
        block.usage = block.usage.plus(report.end.usage);
        self.say(slot, lines);
        let time = short_duration(report.duration_ms);
        if let Some(class) = report.obstacle() {
            let text = words::with_detail(class.words(), &report.end.detail);
            self.say(slot, wrap(&format!("Verifier: {text} ({time})"), None));
            return;
        }
        let judged = report.judged();
        let found = words::verdict(&judged.name, judged.verdict);
        self.say(slot, [format!("Verifier: {found} ({time})")]);
        self.digest(slot, judged.verdict, &judged.digest);
    }

    fn digest(&mut self, slot: SlotId, verdict: Verdict, digest: &str) {
        if verdict != Verdict::Pass {
            let digest = wrap(digest.trim_end(), None);
            self.say(slot, digest.into_iter().map(|line| format!("  {line}")));
        }
    }

    fn judged(&mut self, slot: SlotId, gates: &[GateReport]) {
        for gate in gates {
            let code = match (gate.verdict, gate.exit_code) {
                (Verdict::Fail, Some(code)) => format!(", exit code {code}"),
                (Verdict::Pass, Some(code @ 1..)) => {
                    format!(", exit code {code}, only failures from before the run")
                }
                _ => String::new(),
            };
            let time = short_duration(gate.duration_ms);
            let name = printable_line(&gate.name);
            let found = words::verdict(&gate.name, gate.verdict);
            self.say(slot, [format!("Gate {name}: {found} ({time}{code})")]);
            self.digest(slot, gate.verdict, &gate.digest);
        }
    }

    fn footer(&mut self, at: Timestamp, slot: SlotId, class: Class, duration_ms: u64) {
        let Some(block) = self.blocks.get(&slot) else { return };
        let status = if class.is_success() { "success" } else { "failed" };
        let usage = &block.usage;
        let lines = [
            Some("-".repeat(WIDTH)),
            Some(format!("ITERATION {} COMPLETE", block.iteration)),
            Some(format!("End Time: {}", self.time(at))),
            Some(format!("Duration: {}", duration(duration_ms))),
            usage.requests.map(|requests| format!("API Requests: {requests}")),
            block.model.as_ref().map(|model| format!("Model: {}", printable_line(model))),
            usage.turns.map(|turns| format!("Messages: {turns}")),
            usage.cost_micro_usd.map(|cost| format!("Cost: {}", money(cost))),
            Some(format!("Retries: {}", block.retries)),
            Some(format!("Status: {status}")),
            Some("=".repeat(WIDTH)),
            Some(String::new()),
        ];
        let text: String = lines.into_iter().flatten().map(|line| line + "\n").collect();
        let before = self.blocks.remove(&slot).map(|block| block.text).unwrap_or_default();
        self.write(&format!("{before}{text}"));
    }

    /// Iterations that were still running at the end of the run get a footer, too.
    fn close(&mut self, at: Timestamp) {
        let open: Vec<(SlotId, Timestamp)> =
            self.blocks.iter().map(|(slot, block)| (*slot, block.began)).collect();
        for (slot, began) in open {
            self.footer(at, slot, Class::Cancelled, at.millis_since(began));
        }
    }

    /// The summary, once.
    fn summary(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let outcome = self.view.outcome.as_ref();
        let (good, bad) = outcome.map_or((self.view.successful, self.view.failed), |outcome| {
            (outcome.successful, outcome.failed)
        });
        let reason = match outcome {
            Some(outcome) => outcome.sentence(),
            None => "Stopped by an error: ralph exited before the run ended.".to_owned(),
        };
        let code = outcome.map_or(1, Outcome::code);
        let rule = "=".repeat(WIDTH);
        let mut text = format!("{rule}\nSESSION SUMMARY\n{rule}\n");
        let _ = writeln!(text, "Total Iterations: {}", good + bad);
        let _ = writeln!(text, "Successful: {good}");
        let _ = writeln!(text, "Failed: {bad}");
        let _ =
            writeln!(text, "Total Duration: {}", duration(self.view.elapsed(self.view.last_at)));
        let _ = writeln!(text, "Exit Reason: {}", printable_line(&reason));
        let _ = writeln!(text, "Exit Code: {code}");
        let _ = writeln!(text, "{rule}");
        self.write(&text);
    }
}

fn spec(task: Option<&TaskBrief>, about: Option<&About>) -> String {
    let spec = task.and_then(|task| task.spec.as_deref());
    let spec = spec.or_else(|| about.and_then(|about| about.spec.as_deref()));
    printable_line(spec.unwrap_or("none")).into_owned()
}

impl<W: Write> Reporter for SessionLog<W> {
    fn event(&mut self, event: &RunEvent) {
        self.view.apply(event);
        match &event.fact {
            fact @ Fact::IterationStarted { slot, .. } => self.header(event.at, *slot, fact),
            Fact::SessionEnded { slot, report } => self.session_ended(*slot, report),
            Fact::CandidateMade { slot, changed: false, .. } => {
                self.say(*slot, ["No changes detected".to_owned()]);
            }
            Fact::Judged { slot, gates, .. } => self.judged(*slot, gates),
            Fact::HookRefused { slot, gate } => {
                self.judged(*slot, std::slice::from_ref(gate));
            }
            Fact::Verified { slot, report } => self.verified(*slot, report),
            Fact::Unverified { slot, detail, .. } => {
                self.say(*slot, [format!("Not verified: {}", printable_line(detail))]);
            }
            Fact::TaskSettled { slot, task, status, reason, .. } => {
                let reason = reason.trim().lines().next().unwrap_or_default();
                let text = words::with_detail(words::status(*status), reason);
                self.say(*slot, [printable_line(&format!("Task {task}: {text}")).into_owned()]);
            }
            Fact::Committed { slot, commit, subject } => {
                let text = format!("Commit: {commit} {subject}");
                self.say(*slot, [printable_line(&text).into_owned()]);
            }
            Fact::IterationEnded { slot, class, duration_ms, .. } => {
                self.footer(event.at, *slot, *class, *duration_ms);
            }
            Fact::RunEnded { .. } => {
                self.close(event.at);
                self.summary();
            }
            _ => {}
        }
    }

    fn agent(&mut self, slot: SlotId, _at: Timestamp, event: &AgentEvent) {
        let Some(block) = self.blocks.get_mut(&slot) else { return };
        let lines = block.stream.event(event, false, Fit::PLAIN);
        self.say(slot, lines);
    }

    /// S3-15: there is a summary on every exit.
    fn finish(&mut self) {
        self.close(self.view.last_at);
        if self.view.run.is_some() {
            self.summary();
        }
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests;
