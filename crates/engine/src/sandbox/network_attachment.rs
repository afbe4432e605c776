//! The network of a sandboxed command: a network of its own that ends in the proxy, unless the user allows the
//! machine's network.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError};

use ralph_core::net::{Endpoint, Host, Policy, Rules};
use tokio::runtime::Runtime;

use super::environment::value;
use super::net::{Getent, Proxy, http};
use super::sandboxed_command::ProgramKind;
use super::state::AgentState;
use crate::process::abandoned;

/// What the folders of proxies are named, before the pid.
const PREFIX: &str = "ralph-net-";
/// Paths of sockets are short: not below a `TMPDIR` of the user's.
const PLACE: &str = "/tmp";

#[derive(Debug, Clone, Default)]
pub struct Network {
    pub policy: Policy,
    pub allowed: Vec<Endpoint>,
}

impl Network {
    /// The network of the machine.
    pub fn of_machine() -> Self {
        Self { policy: Policy::AllowAll, allowed: vec![] }
    }

    /// The machine's network, without a proxy.
    pub(super) fn is_open(&self) -> bool {
        self.policy == Policy::AllowAll
    }

    /// The rules for a program: an agent reaches its model, whatever else is closed.
    pub(super) fn rules(
        &self,
        kind: ProgramKind,
        agents: &[AgentState],
        environment: &[(OsString, OsString)],
    ) -> Rules {
        let needed = match kind {
            ProgramKind::Session | ProgramKind::Verifier => {
                agents.iter().flat_map(|agent| endpoints(agent, environment)).collect()
            }
            ProgramKind::Judge | ProgramKind::Helper => vec![],
        };
        Rules::new(self.policy, self.allowed.clone(), needed)
    }
}

fn endpoints(agent: &AgentState, environment: &[(OsString, OsString)]) -> Vec<Endpoint> {
    let (variable, hosts) = agent.endpoint;
    match value(environment, variable).and_then(OsStr::to_str).filter(|text| !text.is_empty()) {
        Some(url) => of_url(url).into_iter().collect(),
        None => hosts
            .iter()
            .filter_map(|host| match host.contains(':') {
                true => host.parse().ok(),
                false => Some(Endpoint::new(Host::parse(host).ok()?, 443)),
            })
            .collect(),
    }
}

/// The host and the port of an address such as `http://127.0.0.1:8080/v1`.
fn of_url(url: &str) -> Option<Endpoint> {
    let (scheme, rest) = url.split_once("://")?;
    let usual = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = http::authority(place, Some(usual)).ok()?;
    Some(Endpoint::new(host, port))
}

#[derive(Debug)]
pub(super) struct NetworkAttachment {
    proxy: Proxy,
    folder: tempfile::TempDir,
    /// Ports of the loopback that lead to the same ports outside.
    pub(super) ports: Vec<u16>,
}

impl NetworkAttachment {
    /// Starts it on the runtime of the sandbox.
    pub(super) fn lay(rules: Rules, environment: &[(OsString, OsString)]) -> io::Result<Self> {
        let runtime = runtime()?;
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(PLACE)?;
        let ports = rules.loopback_ports();
        let _inside = runtime.enter();
        let resolver = Getent::new(environment.to_vec());
        let proxy = Proxy::start(rules, &folder.path().join("proxy"), resolver)?;
        Ok(Self { proxy, folder, ports })
    }

    /// The folder that a sandbox shows.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("proxy")
    }

    pub(super) fn refusals(&self) -> Vec<String> {
        self.proxy.refusals().into_iter().map(|(_, _, why)| why).collect()
    }
}

/// Proxies must outlive the runtime of their caller, and a run may have several.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    static MAKING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = RUNTIME.get() {
        return Ok(made);
    }
    let made =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Removes the folders of proxies whose process is gone.
pub(super) fn sweep() {
    for folder in abandoned(Path::new(PLACE), PREFIX) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_in_its_address() {
        for (url, host, port) in [
            ("http://127.0.0.1:8080/v1", "127.0.0.1", 8080),
            ("https://proxy.example.com", "proxy.example.com", 443),
            ("http://u:p@h.example.com/x:9", "h.example.com", 80),
            ("https://[::1]:9/x", "::1", 9),
            ("https://[::1]/x", "::1", 443),
        ] {
            let host = Host::parse(host).unwrap();
            assert_eq!(of_url(url), Some(Endpoint::new(host, port)), "{url}");
        }
        for wrong in ["", "example.com", "http://", "http://h:port"] {
            assert_eq!(of_url(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_gate_does_not_reach_the_model() {
        let network = Network { policy: Policy::Deny, allowed: vec![] };
        let agent = AgentState { endpoint: ("URL", &["api.example.com"]), ..AgentState::default() };
        let host = Host::parse("api.example.com").unwrap();
        let rules = |kind| network.rules(kind, &[agent], &[]);
        assert!(rules(ProgramKind::Session).may_ask(&host, 443).is_ok());
        assert!(rules(ProgramKind::Verifier).may_ask(&host, 443).is_ok());
        assert!(rules(ProgramKind::Judge).may_ask(&host, 443).is_err());
    }
}
