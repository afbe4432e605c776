//! Which key does what. The help and the line of hints come from the same table.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::input::Edit;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Quit,
    /// Ctrl-C.
    Interrupt,
    Pause,
    Cancel,
    Skip,
    Retry,
    Reopen,
    Answer,
    Approve,
    Reject,
    Tell,
    Needs,
    Open,
    Diff,
    Search,
    Filter,
    Whole,
    Zoom,
    NextPane,
    PreviousPane,
    Focus,
    Back,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

/// A row of the table: its keys, as they are shown, and what they do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binding {
    pub(super) keys: &'static [KeyCode],
    pub(super) shown: &'static str,
    pub(super) what: &'static str,
    pub(super) command: Command,
}

const fn row(
    keys: &'static [KeyCode],
    shown: &'static str,
    what: &'static str,
    command: Command,
) -> Binding {
    Binding { keys, shown, what, command }
}

use Command as C;
use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

/// The groups of the help, each with its keys.
pub(super) const GROUPS: [(&str, &[Binding]); 4] = [
    (
        "The run",
        &[
            row(&[Char('p')], "p", "Pause the run, or resume it", C::Pause),
            row(
                &[Char('c')],
                "c",
                "Cancel the run: after the task, after the session, now",
                C::Cancel,
            ),
            row(&[Char('q')], "q", "Quit the display; the run continues", C::Quit),
        ],
    ),
    (
        "Needs you",
        &[
            row(&[Char('n')], "n", "List what waits for you", C::Needs),
            row(&[Char('a')], "a", "Answer the question of the task", C::Answer),
            row(&[Char('y')], "y", "Approve the work of the task", C::Approve),
            row(&[Char('x')], "x", "Reject it, and say why", C::Reject),
        ],
    ),
    (
        "The task",
        &[
            row(&[Enter], "Enter", "Show the task: attempts, gates, verdicts", C::Open),
            row(&[Char('d')], "d", "Show its work as a diff", C::Diff),
            row(&[Char('m')], "m", "Send a message to its session", C::Tell),
            row(&[Char('s')], "s", "Skip it: stop its session and leave it for you", C::Skip),
            row(&[Char('r')], "r", "Retry it from scratch", C::Retry),
            row(&[Char('o')], "o", "Reopen it, where it is done", C::Reopen),
        ],
    ),
    (
        "The screen",
        &[
            row(&[Tab, BackTab], "Tab", "Move between the plan and the sessions", C::Focus),
            row(&[Up, Char('k')], "↑ k", "Up", C::Up),
            row(&[Down, Char('j')], "↓ j", "Down", C::Down),
            row(&[Left, Char('h')], "← h", "To the plan", C::Left),
            row(&[Right, Char('l')], "→ l", "To the sessions", C::Right),
            row(&[PageUp, Char('b')], "PgUp b", "A page up", C::PageUp),
            row(&[PageDown, Char(' ')], "PgDn Space", "A page down", C::PageDown),
            row(&[Home, Char('g')], "Home g", "To the beginning", C::Top),
            row(&[End, Char('G')], "End G", "To the end, and follow", C::Bottom),
            row(&[Char(']')], "]", "The next session", C::NextPane),
            row(&[Char('[')], "[", "The session before", C::PreviousPane),
            row(&[Char('z')], "z", "One session alone, or all of them", C::Zoom),
            row(
                &[Char('e')],
                "e",
                "Show the output of tools and gates in full, or its beginning",
                C::Whole,
            ),
            row(&[Char('/')], "/", "Search the plan, or the session", C::Search),
            row(&[Char('f')], "f", "Show only the tasks in one state", C::Filter),
            row(&[Char('?')], "?", "Show this help", C::Help),
            row(&[Esc], "Esc", "Close, or show all tasks again", C::Back),
        ],
    ),
];

/// What a key asks for where no text is typed.
pub(super) fn command(key: &KeyEvent) -> Option<Command> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            Char('c') => Some(C::Interrupt),
            Char('u') => Some(C::PageUp),
            Char('d') => Some(C::PageDown),
            _ => None,
        };
    }
    let mut all = GROUPS.iter().flat_map(|(_, rows)| rows.iter());
    all.find(|binding| binding.keys.contains(&key.code)).map(|binding| binding.command)
}

/// What a key changes in a line of text.
pub(super) fn edit(key: &KeyEvent) -> Option<Edit> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match (key.code, control) {
        (Char('a'), true) | (Home, _) => Edit::Start,
        (Char('e'), true) | (End, _) => Edit::End,
        (Char('w'), true) => Edit::EraseWord,
        (Char('u'), true) => Edit::EraseAll,
        (Char(letter), false) => Edit::Insert(letter),
        (KeyCode::Backspace, _) => Edit::Backspace,
        (KeyCode::Delete, _) => Edit::Delete,
        (Left, _) => Edit::Left,
        (Right, _) => Edit::Right,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings() {
        let mut seen = Vec::new();
        for key in GROUPS.iter().flat_map(|(_, rows)| rows.iter()).flat_map(|row| row.keys) {
            assert!(!seen.contains(&key), "{key:?}");
            seen.push(key);
        }
    }

    #[test]
    fn what_the_help_says_is_what_the_key_does() {
        for binding in GROUPS.iter().flat_map(|(_, rows)| rows.iter()) {
            for key in binding.keys {
                let event = KeyEvent::new(*key, KeyModifiers::NONE);
                assert_eq!(command(&event), Some(binding.command), "{}", binding.shown);
            }
        }
        let interrupt = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
        assert_eq!(command(&interrupt), Some(Command::Interrupt));
    }
}
