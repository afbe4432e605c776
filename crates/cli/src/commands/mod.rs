//! One file per command: an `XArgs` whose documentation is the help text, and a `cmd_x`.

/// The commands of one level: the enum that clap parses, and `run`, which calls the function of the parsed one.
macro_rules! commands {
    ($vis:vis enum $name:ident { $($(#[$attr:meta])* $command:ident($args:ty) => $run:path,)+ }) => {
        #[derive(Debug, clap::Subcommand)]
        $vis enum $name {
            $($(#[$attr])* $command($args)),+
        }

        impl $name {
            fn run(&self, context: &mut $crate::wiring::Context<'_>) -> $crate::error::Done {
                match self {
                    $(Self::$command(args) => $run(args, context)),+
                }
            }
        }
    };
}

pub(crate) mod answer;
mod apart;
pub(crate) mod approve;
pub(crate) mod attach;
pub(crate) mod build;
pub(crate) mod bundle;
pub(crate) mod clean;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod control;
pub(crate) mod crash_points;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
mod editor;
pub(crate) mod export;
pub(crate) mod feature;
mod flags;
mod follow;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod logs;
pub(crate) mod loop_;
pub(crate) mod man;
pub(crate) mod overview;
pub(crate) mod plan;
pub(crate) mod prompt;
pub(crate) mod recover;
pub(crate) mod replay;
pub(crate) mod report;
mod report_page;
pub(crate) mod runs;
pub(crate) mod script_agent;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod takeover;
pub(crate) mod task;
pub(crate) mod tell;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod watch;
