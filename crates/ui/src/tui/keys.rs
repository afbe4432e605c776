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
    PlayPause,
    Faster,
    Slower,
    /// To the iteration before, and to the next.
    Earlier,
    Later,
    /// To so many tenths of the recording.
    Tenth(u8),
    GoTo,
}

impl Command {
    /// Whether it is about the run itself: a replay has no answer to it.
    pub(super) const fn controls(self) -> bool {
        matches!(
            self,
            Self::Pause
                | Self::Cancel
                | Self::Skip
                | Self::Retry
                | Self::Reopen
                | Self::Answer
                | Self::Approve
                | Self::Reject
                | Self::Tell
                | Self::Needs
        )
    }
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

/// The keys of a replay; where others have the same key, these win.
const REPLAY: (&str, &[Binding]) = (
    "The replay",
    &[
        row(
            &[Char(' '), Char('p')],
            "Space p",
            "Pause, or go on; at its end, start over",
            C::PlayPause,
        ),
        row(&[Char('+'), Char('=')], "+", "Faster", C::Faster),
        row(&[Char('-')], "-", "Slower", C::Slower),
        row(&[Left], "←", "To the iteration before", C::Earlier),
        row(&[Right], "→", "To the next iteration", C::Later),
        row(&DIGITS, "0-9", "To so many tenths of the recording", C::Tenth(0)),
        row(&[Char('g')], "g", "To an iteration, a percentage or a time", C::GoTo),
        row(&[Char('q')], "q", "Quit", C::Quit),
    ],
);

const DIGITS: [KeyCode; 10] = [
    Char('0'),
    Char('1'),
    Char('2'),
    Char('3'),
    Char('4'),
    Char('5'),
    Char('6'),
    Char('7'),
    Char('8'),
    Char('9'),
];

/// A group of the help: its name, and for each command its keys and what it does.
pub(super) type Group = (&'static str, Vec<(String, &'static str)>);

/// The keys as the help shows them. A replay has its own, and those of the others that it leaves.
pub(super) fn help(replays: bool) -> Vec<Group> {
    let own: &[Binding] = if replays { REPLAY.1 } else { &[] };
    let is_left = |key: &KeyCode| own.iter().all(|row| !row.keys.contains(key));
    let shown = |row: &Binding| {
        let left = row.keys.iter().zip(row.shown.split(' ')).filter(|(key, _)| is_left(key));
        left.map(|(_, name)| name).collect::<Vec<_>>().join(" ")
    };
    let rows_of = |rows: &[Binding]| {
        let rows = rows.iter().filter(|row| !replays || !row.command.controls());
        let rows = rows.map(|row| (shown(row), row.what));
        rows.filter(|(keys, _)| !keys.is_empty()).collect::<Vec<_>>()
    };
    let first = replays.then(|| {
        (REPLAY.0, REPLAY.1.iter().map(|row| (row.shown.to_owned(), row.what)).collect::<Vec<_>>())
    });
    let rest = GROUPS.iter().map(|(name, rows)| (*name, rows_of(rows)));
    first.into_iter().chain(rest).filter(|(_, rows)| !rows.is_empty()).collect()
}

/// What a key asks for where no text is typed; `replays` has the keys of a replay, too.
pub(super) fn command(key: &KeyEvent, replays: bool) -> Option<Command> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            Char('c') => Some(C::Interrupt),
            Char('u') => Some(C::PageUp),
            Char('d') => Some(C::PageDown),
            _ => None,
        };
    }
    let replay = std::iter::once(&REPLAY).filter(|_| replays);
    let mut all = replay.chain(&GROUPS).flat_map(|(_, rows)| rows.iter());
    let found = all.find(|binding| binding.keys.contains(&key.code))?.command;
    match (found, key.code) {
        (C::Tenth(_), Char(digit)) => {
            digit.to_digit(10).and_then(|tenth| u8::try_from(tenth).ok()).map(C::Tenth)
        }
        _ => Some(found),
    }
}

/// Whether the key with this name is about the run itself.
pub(super) fn controls(shown: &str) -> bool {
    let mut rows = GROUPS.iter().flat_map(|(_, rows)| rows.iter());
    rows.any(|row| row.shown == shown && row.command.controls())
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
        for groups in [&GROUPS[..], &[REPLAY]] {
            let mut seen = Vec::new();
            for key in groups.iter().flat_map(|(_, rows)| rows.iter()).flat_map(|row| row.keys) {
                assert!(!seen.contains(&key), "{key:?}");
                seen.push(key);
            }
        }
    }

    #[test]
    fn a_replay_has_keys_of_its_own() {
        let pressed =
            |letter, replays| command(&KeyEvent::new(Char(letter), KeyModifiers::NONE), replays);
        assert_eq!(pressed(' ', true), Some(C::PlayPause));
        assert_eq!(pressed(' ', false), Some(C::PageDown));
        assert_eq!((pressed('7', true), pressed('7', false)), (Some(C::Tenth(7)), None));
        assert_eq!((pressed('j', true), pressed('c', true)), (Some(C::Down), Some(C::Cancel)));
        let keys = help(true).into_iter().flat_map(|(_, rows)| rows);
        let keys: Vec<String> = keys.map(|(keys, _)| keys).collect();
        for shown in ["Space p", "0-9", "h", "PgDn", "Home", "Tab", "d"] {
            assert!(keys.iter().any(|key| key == shown), "{shown}: {keys:?}");
        }
        for hidden in ["c", "s", "n", "m"] {
            assert!(keys.iter().all(|key| key != hidden), "{hidden}");
        }
        assert_eq!(help(false).len(), GROUPS.len());
    }

    #[test]
    fn what_the_help_says_is_what_the_key_does() {
        for binding in GROUPS.iter().flat_map(|(_, rows)| rows.iter()) {
            for key in binding.keys {
                let event = KeyEvent::new(*key, KeyModifiers::NONE);
                assert_eq!(command(&event, false), Some(binding.command), "{}", binding.shown);
            }
        }
        let interrupt = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
        assert_eq!(command(&interrupt, false), Some(Command::Interrupt));
    }
}
