//! What viewers see, rendered once for all of them. Each part knows the revision at which it last changed, so a viewer
//! that has seen a revision gets exactly the parts after it.

use std::collections::VecDeque;
use std::fmt::Write;

use axum::body::Bytes;
use ralph_core::time::Timestamp;
use ralph_core::view::RunView;
use ralph_core::view::live::{Entry, LiveRun, LiveView, Said, Transcript};
use ralph_core::view::stream::RunNumber;
use serde::Serialize;

#[derive(Default)]
pub(super) struct Picture {
    /// Counts the streams: viewers of an earlier one begin again.
    epoch: u64,
    revision: u64,
    /// The runs as JSON, and when they changed.
    runs: String,
    view: String,
    view_at: u64,
    plan: u64,
    plan_at: u64,
    transcripts: Vec<Rendered>,
    /// What came with the newest revision: nearly all viewers want exactly this.
    newest: Option<(u64, Bytes)>,
}

/// The transcript of a slot.
struct Rendered {
    run: usize,
    slot: usize,
    /// The number of its first entry.
    from: u64,
    entries: VecDeque<Line>,
    changed_at: u64,
    /// When all that it had before was dropped, because its run started over.
    began_at: u64,
}

struct Line {
    json: String,
    /// Entries of a run only grow, or get a result: this tells whether one did.
    size: usize,
    changed_at: u64,
}

#[derive(Serialize)]
struct RunJson<'a> {
    name: &'a str,
    left: bool,
    ended: bool,
    view: &'a RunView,
}

impl Picture {
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether there is anything to see.
    pub(super) fn is_shown(&self) -> bool {
        self.view_at > 0
    }

    /// Begins with another stream.
    pub(super) fn begin(&mut self) {
        self.epoch += 1;
        self.runs.clear();
        self.transcripts.clear();
        self.view_at = 0;
        self.newest = None;
    }

    pub(super) fn set_plan(&mut self, version: u64) {
        self.revision += 1;
        (self.plan, self.plan_at) = (version, self.revision);
    }

    /// With the next change a run has nothing of what it had: its entries are others, also where their sizes are the same.
    pub(super) fn start_over(&mut self, run: RunNumber) {
        let next = self.revision + 1;
        for transcript in self.transcripts.iter_mut().filter(|one| one.run == run as usize) {
            transcript.entries.clear();
            (transcript.from, transcript.changed_at, transcript.began_at) = (0, next, next);
        }
    }

    /// Renders what changed.
    pub(super) fn show(&mut self, live: &LiveView, now: Timestamp) {
        self.revision += 1;
        let run = |run: &LiveRun| {
            let json = RunJson {
                name: &run.name,
                left: run.left,
                ended: run.has_ended(),
                view: &run.view,
            };
            serde_json::to_string(&json).unwrap_or_default()
        };
        let runs = live.runs.iter().map(run).collect::<Vec<_>>().join(",");
        if self.view_at == 0 || runs != self.runs {
            let (at, version) = (now.as_millis(), self.revision);
            self.view = format!(
                "event: view\ndata: {{\"at\":{at},\"version\":{version},\"runs\":[{runs}]}}\n\n"
            );
            (self.runs, self.view_at) = (runs, self.revision);
        }
        for (run, one) in live.runs.iter().enumerate() {
            for (slot, transcript) in one.transcripts.iter().enumerate() {
                self.transcript(run, slot, transcript);
            }
        }
    }

    fn transcript(&mut self, run: usize, slot: usize, transcript: &Transcript) {
        let known = self.transcripts.iter().position(|one| (one.run, one.slot) == (run, slot));
        let at = known.unwrap_or_else(|| {
            let entries = VecDeque::new();
            self.transcripts.push(Rendered {
                run,
                slot,
                from: 0,
                entries,
                changed_at: 0,
                began_at: 0,
            });
            self.transcripts.len() - 1
        });
        self.transcripts[at].take(transcript, self.revision);
    }

    /// What a viewer that has seen a revision has not seen yet.
    pub(super) fn since(&mut self, seen: u64) -> Option<Bytes> {
        if seen >= self.revision || !self.is_shown() {
            return None;
        }
        let is_next = seen + 1 == self.revision;
        if is_next
            && let Some((revision, bytes)) = &self.newest
            && *revision == self.revision
        {
            return Some(bytes.clone());
        }
        let mut text = String::new();
        if self.view_at > seen {
            text.push_str(&self.view);
        }
        for transcript in self.transcripts.iter().filter(|one| one.changed_at > seen) {
            transcript.since(seen, &mut text);
        }
        if self.plan_at > seen {
            let _ = write!(text, "event: plan\ndata: {{\"version\":{}}}\n\n", self.plan);
        }
        let bytes = Bytes::from(text);
        if is_next {
            self.newest = Some((self.revision, bytes.clone()));
        }
        Some(bytes)
    }
}

impl Rendered {
    /// Takes over what the transcript has now.
    fn take(&mut self, transcript: &Transcript, revision: u64) {
        let gone = transcript.dropped.saturating_sub(self.from);
        let gone =
            usize::try_from(gone).map_or(self.entries.len(), |gone| gone.min(self.entries.len()));
        self.entries.drain(..gone);
        self.from = transcript.dropped;
        for (at, entry) in transcript.entries.iter().enumerate() {
            let size = size(&entry.what);
            if self.entries.get(at).is_some_and(|line| line.size == size) {
                continue;
            }
            let json = serde_json::to_string::<Entry>(entry).unwrap_or_default();
            let line = Line { json, size, changed_at: revision };
            match self.entries.get_mut(at) {
                Some(known) => *known = line,
                None => self.entries.push_back(line),
            }
            self.changed_at = revision;
        }
    }

    /// Everything from the first entry on that changed after a revision.
    fn since(&self, seen: u64, text: &mut String) {
        let changed = || self.entries.iter().position(|line| line.changed_at > seen);
        let first = if self.began_at > seen { Some(0) } else { changed() };
        let Some(first) = first else { return };
        let (run, slot, from) = (self.run, self.slot, self.from + first as u64);
        let head = format!(
            "event: said\ndata: {{\"run\":{run},\"slot\":{slot},\"from\":{from},\"entries\":["
        );
        text.push_str(&head);
        for (at, line) in self.entries.iter().skip(first).enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&line.json);
        }
        text.push_str("]}\n\n");
    }
}

/// A number that grows whenever an entry does.
fn size(said: &Said) -> usize {
    match said {
        Said::Text { text } | Said::Thinking { text } => text.len(),
        Said::Tool { result, is_over, .. } => {
            usize::from(*is_over) + result.as_ref().map_or(0, String::len)
        }
        Said::Session { .. }
        | Said::Denied { .. }
        | Said::Told { .. }
        | Said::Retrying { .. }
        | Said::Gate { .. }
        | Said::Ended { .. }
        | Said::Missed => 0,
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::agent::AgentEvent;
    use ralph_core::view::stream::{Observation, Observed};

    use super::*;

    fn agent(event: AgentEvent) -> Observation {
        Observation {
            of: 0,
            what: Observed::Agent { slot: 0, at: Timestamp::from_millis(5), event },
        }
    }

    fn text(text: &str) -> Observation {
        agent(AgentEvent::Text { text: text.to_owned() })
    }

    fn tool(id: &str) -> Observation {
        let (id, name, input) = (id.to_owned(), "Run".to_owned(), "ls".to_owned());
        agent(AgentEvent::ToolStarted { id, name, input })
    }

    fn since(picture: &mut Picture, seen: u64) -> String {
        let bytes = picture.since(seen).map(|bytes| bytes.to_vec()).unwrap_or_default();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_viewer_gets_what_it_has_not_seen() {
        let (mut live, mut picture) = (LiveView::default(), Picture::default());
        let mut show = |picture: &mut Picture, seen: &[Observation]| {
            seen.iter().for_each(|one| live.apply(one));
            picture.show(&live, Timestamp::from_millis(9));
            picture.revision()
        };
        assert_eq!(picture.since(0), None);
        picture.begin();
        let first = show(&mut picture, &[text("Hel"), tool("a"), tool("b")]);
        let all = since(&mut picture, 0);
        assert!(all.starts_with("event: view\ndata: {\"at\":9,"), "{all}");
        assert!(all.contains("\"from\":0,\"entries\":[{"), "{all}");
        let (id, printed) = ("a".to_owned(), "done".to_owned());
        let ended = agent(AgentEvent::ToolEnded { id, is_error: false, text: printed });
        let second = show(&mut picture, &[ended]);
        let news = since(&mut picture, first);
        assert!(news.contains("\"from\":1,"), "the call with its result and what follows: {news}");
        assert!(!news.contains("Hel") && news.contains("done"), "{news}");
        assert_eq!(since(&mut picture, first), news);
        assert_eq!(picture.since(second), None);
        show(&mut picture, &[]);
        assert_eq!(since(&mut picture, second), "");
        picture.set_plan(7);
        assert_eq!(since(&mut picture, second), "event: plan\ndata: {\"version\":7}\n\n");
    }

    #[test]
    fn hostile_text_stays_inside_its_line() {
        let (mut live, mut picture) = (LiveView::default(), Picture::default());
        live.apply(&text("</script>\n\ndata: x\r\n\u{1b}[2J\u{2028}\0"));
        picture.begin();
        picture.show(&live, Timestamp::from_millis(9));
        let all = since(&mut picture, 0);
        assert_eq!(all.lines().filter(|line| line.starts_with("data: ")).count(), 2, "{all}");
        assert!(!all.contains(['\u{1b}', '\r', '\0']), "{all}");
    }

    #[test]
    fn of_a_run_that_starts_over_nothing_stays() {
        let (mut live, mut picture) = (LiveView::default(), Picture::default());
        picture.begin();
        [text("Hello"), tool("a"), tool("b")].iter().for_each(|one| live.apply(one));
        picture.show(&live, Timestamp::from_millis(9));
        let first = picture.revision();
        let joined = Observed::Joined { name: String::new() };
        live.apply(&Observation { of: 0, what: joined });
        picture.start_over(0);
        picture.show(&live, Timestamp::from_millis(9));
        let none = "\"from\":0,\"entries\":[]}";
        assert!(since(&mut picture, first).contains(none), "{}", since(&mut picture, first));
        let second = picture.revision();
        live.apply(&text("World"));
        picture.show(&live, Timestamp::from_millis(9));
        for seen in [0, first, second] {
            let all = since(&mut picture, seen);
            assert!(all.contains("World") && !all.contains("Hello"), "{seen}: {all}");
            assert!(all.contains("\"from\":0,") && !all.contains("tool"), "{seen}: {all}");
        }
    }

    #[test]
    fn entries_that_are_dropped_keep_the_numbers_of_the_others() {
        let (mut live, mut picture) = (LiveView::default(), Picture::default());
        picture.begin();
        for number in 0..5_000 {
            live.apply(&tool(&number.to_string()));
            if number % 100 == 0 {
                picture.show(&live, Timestamp::from_millis(9));
            }
        }
        picture.show(&live, Timestamp::from_millis(9));
        let transcript = &live.runs[0].transcripts[0];
        let rendered = &picture.transcripts[0];
        assert_eq!(rendered.from, transcript.dropped);
        assert_eq!(rendered.entries.len(), transcript.entries.len());
    }
}
