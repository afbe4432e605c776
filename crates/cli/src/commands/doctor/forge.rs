//! Checks the remote and the access to its server.

use ralph_core::forge::ForgeKind;
use ralph_engine::forge::{ForgeContext, RemoteForge, Retry, TransportReport};
use ralph_engine::ports::ForgeError;
use ralph_engine::process::Stop;
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::{Config, key};
use crate::environment::Environment;
use crate::launch::publish;
use crate::wiring::Context;

/// Whether ralph could push a branch and open its pull request. Asks the server only if `online`.
pub(super) fn inspect(
    project: &Project,
    config: &Config,
    context: &Context<'_>,
    online: bool,
) -> Check {
    let set = config.get(key::GIT_AUTO_PR);
    let wanted = config.get(key::GIT_AUTO_PUSH) || set == Some(true);
    let forge = forge(project, config, context.environment);
    // Without publishing, missing access is fine.
    let lacking = |says: String| match wanted {
        true => Check::warn("forge", says),
        false => {
            Check::ok("forge", format!("{says}; ralph publishes nothing unless you turn it on"))
        }
    };
    let looked = match forge.transport_report() {
        Ok(looked) => looked,
        Err(error @ (ForgeError::NoRemote { .. } | ForgeError::NoAddress { .. })) => {
            return lacking(error.to_string());
        }
        Err(error) => return Check::fail("forge", error.to_string()),
    };
    if online {
        return match forge.reach() {
            Ok(way) => Check::ok("forge", format!("{} answers, through {way}", place(&looked))),
            Err(error) => Check::fail("forge", error.to_string()).remedy(remedy(&looked)),
        };
    }
    if !looked.may_reach() {
        let says = match looked.kind {
            Some(ForgeKind::GitHub) => "ralph needs gh, or a token and curl, and found neither",
            Some(_) => "ralph needs a token and curl, and one of them is missing",
            None => "ralph does not know this kind of server, so it can only push",
        };
        return lacking(format!("{}: {says}", place(&looked))).remedy(remedy(&looked));
    }
    let by = match (looked.gh, &looked.token) {
        (true, None) => "gh, if it is logged in".to_owned(),
        (true, Some(token)) => format!("gh, if it is logged in, else {token}"),
        (false, token) => token.clone().unwrap_or_default(),
    };
    Check::ok("forge", format!("{} through {by}; to try it: ralph doctor --online", place(&looked)))
}

fn place(looked: &TransportReport) -> String {
    format!("{} on {}", looked.address, looked.address.host)
}

fn remedy(looked: &TransportReport) -> String {
    let host = &looked.address.host;
    match (looked.kind, &looked.wants) {
        (Some(ForgeKind::GitHub), Some(name)) => {
            format!("gh auth login --hostname {host}, or set {name}")
        }
        (Some(_), Some(name)) => format!("set {name}"),
        (kind, _) => {
            let kind = kind.map_or("KIND".to_owned(), |kind| kind.to_string().to_lowercase());
            format!("in your own config: publish.hosts = [\"{host}={kind}\"]")
        }
    }
}

fn forge(project: &Project, config: &Config, environment: &Environment) -> RemoteForge {
    let place = ForgeContext {
        folder: project.worktree.clone(),
        environment: environment.all.clone(),
        hosts: publish::hosts(config),
        patience: ForgeContext::PATIENCE,
        retry: Retry { pauses: vec![], ..Retry::default() },
        stop: Stop::never(),
    };
    let (push, pr) = publish::remotes(config);
    RemoteForge::new(place, push, pr)
}
