//! Hidden commands that ralph runs around a sandboxed program, and for the sandbox self-test. They need no config, no
//! project and no store.

use std::process::ExitCode;

use crate::environment::Environment;

/// Runs a stage, if the arguments name one.
#[cfg(target_os = "linux")]
pub(crate) fn run(environment: &Environment) -> Option<ExitCode> {
    use std::io::Write;

    use ralph_engine::sandbox::inside;
    use ralph_engine::sandbox::self_test::Tries;
    use ralph_engine::sandbox::stages::{FAILED, INNER, Inner, OUTER, Outer, SAYS, TRIES};

    let (name, rest) = environment.arguments.get(1..)?.split_first()?;
    let unreadable = || "invalid arguments".to_owned();
    let refused = |error: std::io::Error| error.to_string();
    let output = if name == OUTER {
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
    let _ = writeln!(std::io::stderr(), "{SAYS}{output}");
    Some(ExitCode::from(u8::try_from(FAILED).unwrap_or(1)))
}

/// Other systems have no stages.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &Environment) -> Option<ExitCode> {
    None
}
