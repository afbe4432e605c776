//! The sandbox levels by name.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Not at all, but by the list of its tools.
    None,
    /// By Landlock: Linux without namespaces.
    Landlock,
    /// By `sandbox-exec`: macOS.
    Seatbelt,
    /// By bubblewrap, and Landlock and seccomp in it: Linux.
    Full,
}

impl Level {
    /// Its name in settings, in the journal and in an attempt.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Auto,
    /// This one and no other.
    Exactly(Level),
}

impl Wanted {
    pub fn named(name: &str) -> Option<Self> {
        let levels = [Level::None, Level::Landlock, Level::Seatbelt, Level::Full];
        match name {
            "auto" => Some(Self::Auto),
            name => levels.into_iter().find(|level| level.as_str() == name).map(Self::Exactly),
        }
    }
}
