//! Hidden commands that ralph runs around a sandboxed program, and for the sandbox self-test. They need no config, no
//! project and no store.

use std::process::ExitCode;

use crate::environment::Environment;

/// Runs a stage, if the arguments name one.
#[cfg(target_os = "linux")]
pub(crate) fn run(environment: &Environment) -> Option<ExitCode> {
    use std::convert::Infallible;
    use std::io::{self, Write};

    use ralph_engine::sandbox::inside;
    use ralph_engine::sandbox::self_test::Tries;
    use ralph_engine::sandbox::stages::{FAILED, INNER, Inner, OUTER, Outer, SAYS, TRIES};

    let (name, rest) = environment.arguments.get(1..)?.split_first()?;
    let refusal = |tried: io::Result<Infallible>| match tried {
        Err(error) => error.to_string(),
    };
    let output = if name == OUTER {
        Outer::read(rest).map(|outer| refusal(inside::outer(&outer)))
    } else if name == INNER {
        Inner::read(rest).map(|inner| refusal(inside::inner(&inner)))
    } else if name == TRIES {
        match Tries::read(rest).map(|tries| tries.go()) {
            Some(wrong) if wrong.is_empty() => return Some(ExitCode::SUCCESS),
            wrong => wrong.map(|wrong| wrong.join(", ")),
        }
    } else {
        return None;
    };
    let output = output.unwrap_or_else(|| "invalid arguments".to_owned());
    let _ = writeln!(io::stderr(), "{SAYS}{output}");
    Some(ExitCode::from(u8::try_from(FAILED).unwrap_or(1)))
}

/// Other systems have no stages.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &Environment) -> Option<ExitCode> {
    None
}
