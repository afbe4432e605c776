//! Colors by meaning. Code that shows something says what it is, never which color it gets.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use ralph_core::records::Verdict;
use ralph_core::task::ShownStatus;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Something went well.
    Good,
    /// Something is wrong.
    Bad,
    /// Something needs attention.
    Warning,
    /// Something is running.
    Active,
    /// A command to type, or a name.
    Name,
    Faint,
    Heading,
    Thinking,
    Speech,
    Model,
    Tool,
}

impl Meaning {
    pub const fn of(status: ShownStatus) -> Option<Self> {
        match status {
            ShownStatus::Open => None,
            ShownStatus::Active => Some(Self::Active),
            ShownStatus::Blocked | ShownStatus::Deleted => Some(Self::Faint),
            ShownStatus::Waiting => Some(Self::Warning),
            ShownStatus::Done => Some(Self::Good),
            ShownStatus::Failed => Some(Self::Bad),
        }
    }

    pub const fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Good,
            Verdict::Fail => Self::Bad,
            Verdict::Ungated | Verdict::Unchanged | Verdict::Unclaimed => Self::Warning,
        }
    }

    pub(crate) const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Active | Self::Tool => AnsiColor::Cyan.on_default(),
            Self::Name | Self::Heading => Style::new().bold(),
            Self::Faint | Self::Thinking => Style::new().dimmed(),
            // The terminal's own color: any other vanishes on some theme.
            Self::Speech => Style::new(),
            Self::Model => AnsiColor::Magenta.on_default(),
        }
    }
}

/// Whether text is colored, and how wide it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    pub color: bool,
    /// The width of the terminal; `None` when it is not one, and then nothing is cut.
    pub width: Option<usize>,
}

impl TextStyle {
    /// No colors, no cutting: for files, pipes and tests.
    pub const PLAIN: Self = Self { color: false, width: None };

    /// Whether the output is a terminal, which understands cursor codes and links.
    pub const fn is_terminal(self) -> bool {
        self.width.is_some()
    }

    /// The name of one of several runs, each in its own color.
    pub fn paint_lane(self, lane: usize, text: impl Display) -> String {
        const COLORS: [AnsiColor; 6] = [
            AnsiColor::Cyan,
            AnsiColor::Magenta,
            AnsiColor::Yellow,
            AnsiColor::Green,
            AnsiColor::Blue,
            AnsiColor::BrightRed,
        ];
        if self.color {
            let style = COLORS[lane % COLORS.len()].on_default();
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }

    /// The text in the color of its meaning, if it has one.
    pub fn paint(self, meaning: impl Into<Option<Meaning>>, text: impl Display) -> String {
        let style = meaning.into().map_or(Style::new(), Meaning::style);
        match self.color && style != Style::new() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F60: text in white or black vanishes on a light or a dark theme.
    #[test]
    fn no_meaning_is_white_or_black() {
        let style = TextStyle { color: true, width: None };
        for meaning in [
            Meaning::Good,
            Meaning::Bad,
            Meaning::Warning,
            Meaning::Active,
            Meaning::Name,
            Meaning::Faint,
            Meaning::Heading,
            Meaning::Thinking,
            Meaning::Speech,
            Meaning::Model,
            Meaning::Tool,
        ] {
            let painted = style.paint(meaning, "x");
            for code in ["[30m", "[37m", "[90m", "[97m", "[40m", "[47m"] {
                assert!(!painted.contains(code), "{meaning:?} {painted:?}");
            }
        }
        assert_eq!(style.paint(Meaning::Speech, "x"), "x");
    }
}
