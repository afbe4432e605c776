//! Every exit code, in one table. `ralph help exit-codes` and the documentation print it.

use std::process::ExitCode;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is as asked.
    Success,
    /// Something failed.
    Error,
    /// The task does not exist, or what was asked is not possible for it now.
    NotEligible,
    /// The arguments are wrong.
    Usage,
}

impl Exit {
    /// All of them, in the order of their codes.
    pub(crate) const ALL: [Self; 4] = [Self::Success, Self::Error, Self::NotEligible, Self::Usage];

    /// The number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Error => 1,
            Self::NotEligible => 2,
            Self::Usage => 64,
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "done as asked; an empty answer is an answer",
            Self::Error => {
                "an error: bad content, config, store or environment; nothing was changed"
            }
            Self::NotEligible => {
                "`ralph task`, `ralph feature`: there is no such thing, nothing is ready, or it may not do that now"
            }
            Self::Usage => "the arguments are wrong; nothing was done",
        }
    }

    /// The table as text.
    pub(crate) fn table() -> String {
        let mut text = String::from("Exit codes of ralph:\n\n");
        for exit in Self::ALL {
            text.push_str(&format!("  {:>3}  {}\n", exit.code(), exit.meaning()));
        }
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
