//! The stages of ralph around a boxed program, and the tries of the self-test. They are commands that only
//! ralph itself calls: nothing of what a command otherwise needs is made for them.

use std::process::ExitCode;

use crate::environment::Environment;

/// Carries out a stage, if that is what was called.
#[cfg(target_os = "linux")]
pub(crate) fn run(environment: &Environment) -> Option<ExitCode> {
    use std::io::Write;

    use ralph_engine::sandbox::inside;
    use ralph_engine::sandbox::self_test::Tries;
    use ralph_engine::sandbox::stages::{FAILED, INNER, Inner, OUTER, Outer, SAYS, TRIES};

    let (name, rest) = environment.arguments.get(1..)?.split_first()?;
    let unreadable = || "it was called in a way that it does not understand".to_owned();
    let refused = |error: std::io::Error| error.to_string();
    let said = if name == OUTER {
        match Outer::read(rest) {
            Some(outer) => inside::outer(&outer).map_or_else(refused, |never| match never {}),
            None => unreadable(),
        }
    } else if name == INNER {
        match Inner::read(rest) {
            Some(inner) => inside::inner(&inner).map_or_else(refused, |never| match never {}),
            None => unreadable(),
        }
    } else if name == TRIES {
        match Tries::read(rest).map(|tries| tries.go()) {
            Some(wrong) if wrong.is_empty() => return Some(ExitCode::SUCCESS),
            Some(wrong) => wrong.join(", "),
            None => unreadable(),
        }
    } else {
        return None;
    };
    let _ = writeln!(std::io::stderr(), "{SAYS}{said}");
    Some(ExitCode::from(u8::try_from(FAILED).unwrap_or(1)))
}

/// There are no stages elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &Environment) -> Option<ExitCode> {
    None
}
