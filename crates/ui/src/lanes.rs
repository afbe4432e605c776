//! Several runs on one screen: complete lines, each prefixed with its branch, and a summary of all branches.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::amounts::{count, money};
use ralph_core::text::printable_line;
use unicode_width::UnicodeWidthStr;

use crate::columns::cut;
use crate::style::{Meaning, TextStyle};

/// The longest branch name that is shown, in cells.
const WIDEST: usize = 28;

/// Writes complete lines, each with a prefix, to an output that other writers share.
#[derive(Debug)]
pub struct LaneWriter<W> {
    out: Arc<Mutex<W>>,
    prefix: String,
    half: Vec<u8>,
}

impl<W> LaneWriter<W> {
    /// A writer that puts `prefix` before each line.
    pub fn new(out: &Arc<Mutex<W>>, prefix: impl Into<String>) -> Self {
        Self { out: Arc::clone(out), prefix: prefix.into(), half: Vec::new() }
    }
}

impl<W: Write> Write for LaneWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.half.extend_from_slice(bytes);
        let Some(end) = self.half.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(bytes.len());
        };
        let rest = self.half.split_off(end + 1);
        let lines = std::mem::replace(&mut self.half, rest);
        let mut text = Vec::new();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            text.extend_from_slice(self.prefix.as_bytes());
            text.extend_from_slice(line);
        }
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// The prefix of each branch, all equally wide: the text, and its width in cells.
pub fn prefixes(names: &[&str], style: TextStyle) -> Vec<(String, usize)> {
    let names: Vec<String> = names.iter().map(|name| cut(&printable_line(name), WIDEST)).collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let prefix = |(at, name): (usize, &String)| {
        let gap = " ".repeat(widest - name.width());
        (format!("{}{gap} │ ", style.paint_lane(at, name)), widest + 3)
    };
    names.iter().enumerate().map(prefix).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLine {
    pub branch: String,
    /// The name of its outcome.
    pub state: String,
    pub good: bool,
    pub done: u64,
    pub total: u64,
    /// Commits since it began.
    pub commits: u64,
    /// Millionths of a dollar, where that is known.
    pub cost_micro_usd: Option<u64>,
    /// A link, a reason, or what to type.
    pub more: Option<String>,
}

/// A line for each branch, then the sentence about all of them.
pub fn summary(lanes: &[LaneLine], joint: &str, style: TextStyle) -> Vec<String> {
    let widest = |text: fn(&LaneLine) -> &str| lanes.iter().map(|lane| text(lane).width()).max();
    let name = widest(|lane| &lane.branch).unwrap_or(0);
    let state = widest(|lane| &lane.state).unwrap_or(0);
    let mut lines = vec![String::new(), style.paint(Meaning::Heading, "Branches")];
    for lane in lanes {
        let padded = |text: &str, width: usize| {
            let gap = " ".repeat(width.saturating_sub(text.width()));
            (printable_line(text).into_owned(), gap)
        };
        let (branch, gap) = padded(&lane.branch, name);
        let (word, after) = padded(&lane.state, state);
        let meaning = if lane.good { Meaning::Good } else { Meaning::Bad };
        let commits = count(lane.commits, "commit");
        let cost = lane.cost_micro_usd.map(|cost| format!("  {}", money(cost))).unwrap_or_default();
        let more = lane.more.as_deref().map(|more| format!("  {}", printable_line(more)));
        lines.push(format!(
            "  {branch}{gap}  {}{after}  {}/{} tasks  {commits}{cost}{}",
            style.paint(meaning, word),
            lane.done,
            lane.total,
            more.unwrap_or_default()
        ));
    }
    lines.push(String::new());
    lines.push(joint.to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_say_whose_they_are() {
        let out = Arc::new(Mutex::new(Vec::new()));
        let mut one = LaneWriter::new(&out, "a │ ");
        let mut two = LaneWriter::new(&out, "b │ ");
        one.write_all(b"half ").unwrap();
        two.write_all(b"x\ny\nz").unwrap();
        one.write_all(b"whole\n").unwrap();
        two.write_all(b"\n").unwrap();
        let text = String::from_utf8(out.lock().unwrap().clone()).unwrap();
        assert_eq!(text, "b │ x\nb │ y\na │ half whole\nb │ z\n");
    }

    #[test]
    fn prefixes_are_equally_wide_and_safe() {
        let long = "x".repeat(60);
        let names = ["a", "größe", "\u{1b}[2Jx", &long];
        let all = prefixes(&names, TextStyle::PLAIN);
        assert_eq!(all[0].0, format!("a{} │ ", " ".repeat(27)));
        assert!(all.iter().all(|(text, width)| text.width() == *width && *width == 31), "{all:?}");
        assert!(!all[2].0.contains('\u{1b}'));
        let style = TextStyle { color: true, ..TextStyle::PLAIN };
        let coloured = prefixes(&["a", "b"], style);
        assert_ne!(coloured[0].0.replace('a', "b"), coloured[1].0, "each has its colour");
    }

    #[test]
    fn s4_12_the_summary_has_a_line_for_each_branch() {
        let lane = |branch: &str, good, more: Option<&str>| LaneLine {
            branch: branch.to_owned(),
            state: if good { "Complete" } else { "Blocked" }.to_owned(),
            good,
            done: 2,
            total: 3,
            commits: u64::from(good),
            cost_micro_usd: good.then_some(1_230_000),
            more: more.map(str::to_owned),
        };
        let lanes = [lane("one", true, None), lane("longer", false, Some("needs one"))];
        let lines = summary(&lanes, "Blocked: something.", TextStyle::PLAIN);
        assert_eq!(
            lines,
            [
                "",
                "Branches",
                "  one     Complete  2/3 tasks  1 commit  $1.23",
                "  longer  Blocked   2/3 tasks  0 commits  needs one",
                "",
                "Blocked: something."
            ]
        );
    }
}
