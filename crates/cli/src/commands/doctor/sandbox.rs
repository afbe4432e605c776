//! Checks which sandbox level works here by trying it, and how to get a better one.

use std::path::Path;
use std::time::Duration;

use ralph_engine::host::host;
use ralph_engine::ports::ProbeEnd;
use ralph_engine::probe;
use ralph_engine::project::{Project, write_through};
use ralph_engine::sandbox::{self, Choice, Level, Unavailable, Wanted};

use super::check::Check;
use crate::config::{self, Config};
use crate::launch;
use crate::wiring::Context;

const NAME: &str = "sandbox";
const RISK: &str = "sessions run with all your permissions";
/// The command that fixes what this check reports.
const FIX: &str = "ralph doctor --fix";
/// How long the installation of a package may take.
const PATIENCE: Duration = Duration::from_secs(300);

fn choose(
    wanted: Wanted,
    project: &Project,
    config: &Config,
    context: &Context<'_>,
) -> Result<Choice, Unavailable> {
    let sandbox_config =
        launch::sandbox_config(project, config, &[], context).map_err(|error| Unavailable {
            level: Level::Full,
            why: error.message().to_owned(),
            remedies: vec![],
            package: None,
        })?;
    sandbox::choose(wanted, sandbox_config)
}

pub(super) fn inspect(project: &Project, config: &Config, context: &Context<'_>) -> Check {
    let wanted = launch::wanted_level(config);
    if wanted == Wanted::Exactly(Level::None) {
        let check = Check::ok(NAME, format!("none, as the settings say: {RISK}"));
        return match better_than_set(project, config, context) {
            Some(level) => check.remedy(format!("{level} works here; to turn it on: {FIX}")),
            None => check,
        };
    }
    match choose(wanted, project, config, context) {
        Ok(Choice { sandbox, text, next }) => {
            let says = format!("{}: {text}", sandbox.level());
            let Some(next) = next else { return Check::ok(NAME, says) };
            let why = format!("{says}; {} does not work: {}", next.level, next.why);
            let check = next.remedies.iter().fold(Check::warn(NAME, why), Check::remedy);
            match next.package {
                Some(_) => check.remedy(FIX),
                None => check,
            }
        }
        Err(error) => {
            let check =
                error.remedies.iter().fold(Check::fail(NAME, error.to_string()), Check::remedy);
            let check = if error.package.is_some() { check.remedy(FIX) } else { check };
            check.remedy(
                "use the best level that works here: sandbox.level = \"auto\" in your own config",
            )
        }
    }
}

/// The level that works here and is better than the one in the user's own config file.
fn better_than_set(project: &Project, config: &Config, context: &Context<'_>) -> Option<Level> {
    let choice = choose(Wanted::Auto, project, config, context).ok()?;
    let level = choice.sandbox.level();
    let set = match launch::wanted_level(config) {
        Wanted::Auto => return None,
        Wanted::Exactly(set) => set,
    };
    (level > set).then_some(level)
}

/// Installs what is missing, and writes the better level into the user's own config file. Returns what it did.
pub(super) fn fix(project: &Project, config: &Config, context: &Context<'_>) -> Vec<String> {
    let mut done = Vec::new();
    let wanted = match launch::wanted_level(config) {
        Wanted::Exactly(Level::None) => Wanted::Auto,
        wanted => wanted,
    };
    let missing = match choose(wanted, project, config, context) {
        Ok(choice) => choice.next.and_then(|next| next.package),
        Err(error) => error.package,
    };
    if let Some(package) = missing {
        done.extend(install(package, context));
    }
    if let Some(level) = better_than_set(project, config, context) {
        done.extend(write_level(level, context));
    }
    done
}

fn install(package: &str, context: &Context<'_>) -> Option<String> {
    let manager = Path::new("/usr/bin/apt-get");
    if ralph_engine::process::user() != 0 || !manager.exists() {
        return None;
    }
    let arguments = ["install", "-y", "--no-install-recommends", package];
    let variables = host().environment(&context.environment.all);
    let ran = probe::run(manager, &arguments, Path::new("/"), &variables, PATIENCE);
    matches!(ran.end, ProbeEnd::Exited(0)).then(|| format!("installed {package}"))
}

fn write_level(level: Level, context: &Context<'_>) -> Option<String> {
    let path = context.environment.user_config.as_ref()?;
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(_) => return None,
    };
    let (text, _) = config::set(&text, "sandbox.level", level.as_str()).ok()?;
    write_through(path, &text, 0o600).ok()?;
    Some(format!("wrote sandbox.level = \"{level}\" into {}", path.display()))
}
