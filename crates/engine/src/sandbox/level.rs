//! The sandbox levels by name.

ralph_core::words! {
    /// Its word is its name in settings, in the journal and in an attempt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// Not at all, but by the list of its tools.
        None = "none",
        /// By Landlock: Linux without namespaces.
        Landlock = "landlock",
        /// By `sandbox-exec`: macOS.
        Seatbelt = "seatbelt",
        /// By bubblewrap, and Landlock and seccomp in it: Linux.
        Full = "full",
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
        match name {
            "auto" => Some(Self::Auto),
            name => name.parse().ok().map(Self::Exactly),
        }
    }
}
