//! The lines about gates and the verifier: each with its time, and of one that failed the failing assertion and
//! where the whole output is.

use std::io::Write;

use ralph_core::attempt::digest::OUTPUT;
use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, SlotId, VerifierReport};
use ralph_core::view::words;

use super::{PlainReporter, Verbosity};
use crate::line::{TextLine, wrap};
use crate::style::Meaning;
use crate::units::{money, short_duration};

/// How many lines of a failing gate are shown.
const DIGEST_LINES: usize = 10;

impl<W: Write> PlainReporter<W> {
    pub(super) fn judged(&mut self, slot: SlotId, gates: &[GateReport], green: bool) {
        if !self.is(Verbosity::Normal) {
            return;
        }
        let longest = gates.iter().map(|gate| gate.name.chars().count()).max().unwrap_or(0);
        for gate in gates {
            let (symbol, meaning) = match gate.verdict {
                Verdict::Pass => ("✓", Meaning::Good),
                Verdict::Fail => ("✗", Meaning::Bad),
                Verdict::Ungated | Verdict::Unchanged | Verdict::Unclaimed => ("·", Meaning::Faint),
            };
            let name = format!(" {:<longest$}  ", gate.name);
            let time = short_duration(gate.duration_ms);
            let how = match (gate.verdict, gate.exit_code) {
                (Verdict::Fail, Some(code)) => format!("  exit code {code}"),
                (Verdict::Pass, Some(1..)) => "  only failures from before the run".to_owned(),
                // Without an exit code the digest below says what happened.
                (_, _) => String::new(),
            };
            let line = TextLine::new().add(meaning, symbol).flexible(None, name);
            let bad = if meaning == Meaning::Good { Meaning::Warning } else { Meaning::Bad };
            self.beside(slot, &line.add(Meaning::Faint, time).add(bad, how));
            if gate.verdict == Verdict::Fail {
                self.digest(slot, &gate.digest, gate.log.as_deref());
            }
        }
        if !green && gates.iter().all(|gate| gate.verdict == Verdict::Pass) {
            let text = "✗ the files changed while the gates ran";
            self.beside(slot, &TextLine::new().add(Meaning::Bad, text));
        }
    }

    pub(super) fn verifying(&mut self, slot: SlotId, agent: &str, model: Option<&str>) {
        self.streams.remove(&slot);
        if self.is(Verbosity::Normal) {
            let by = model.unwrap_or(agent);
            let line = TextLine::new().add(Meaning::Faint, "verifier ").add(Meaning::Model, by);
            self.beside(slot, &line);
        }
    }

    pub(super) fn verified(&mut self, slot: SlotId, report: &VerifierReport) {
        if !self.is(Verbosity::Normal) {
            return;
        }
        self.end_words(slot);
        let mut took = vec![short_duration(report.duration_ms)];
        took.extend(report.end.usage.cost_micro_usd.map(money));
        let took = took.join(" · ");
        if let Some(class) = report.obstacle() {
            let line = TextLine::new().flexible(Some(Meaning::Warning), class.words());
            self.beside(slot, &line.add(Meaning::Faint, format!(" · {took}")));
            return;
        }
        let judged = report.judged();
        let (symbol, meaning) = match judged.verdict {
            Verdict::Pass => ("✓", Meaning::Good),
            _ => ("✗", Meaning::Bad),
        };
        let line = TextLine::new().add(meaning, symbol).plain(" verifier  ");
        self.beside(slot, &line.add(Meaning::Faint, took));
        if judged.verdict != Verdict::Pass {
            self.digest(slot, &judged.digest, None);
        }
    }

    fn digest(&mut self, slot: SlotId, digest: &str, log: Option<&str>) {
        let all = self.is(Verbosity::Verbose);
        let most = if all { usize::MAX } else { DIGEST_LINES };
        let room = self.room(slot).map(|room| room.saturating_sub(4));
        // What failed is enough: the file has the rest.
        let failed = digest.split_once(&format!("\n{OUTPUT}\n")).map(|(failed, _)| failed);
        let shown = failed.filter(|_| !all && log.is_some()).unwrap_or(digest);
        let lines = wrap(shown.trim_end(), room);
        for line in lines.iter().take(most) {
            self.beside(slot, &TextLine::new().add(Meaning::Bad, "  │ ").plain(line));
        }
        if let Some(log) = log {
            self.linked(slot, "    log ", log);
        } else if lines.len() > most {
            let more = words::count((lines.len() - most) as u64, "more line");
            self.beside(slot, &TextLine::new().add(Meaning::Faint, format!("    … {more}")));
        }
    }
}
