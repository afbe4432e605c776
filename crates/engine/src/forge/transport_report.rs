//! Reports which transport to the server of a remote ralph would use, for users who ask. Makes no request unless
//! told to.

use ralph_core::forge::{Address, ForgeKind};

use super::remote_forge::{ForgeContext, RemoteForge};
use super::server::Server;
use super::transport::program;
use crate::ports::ForgeError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportReport {
    pub address: Address,
    /// The kind of the server; `None` if unknown.
    pub kind: Option<ForgeKind>,
    /// Whether `gh` is installed and could serve. Whether it is logged in is not asked.
    pub gh: bool,
    pub curl: bool,
    pub token: Option<String>,
    /// The variable that a token would be looked for in first; `None` where no token is for the server.
    pub wants: Option<String>,
}

impl TransportReport {
    pub const fn may_reach(&self) -> bool {
        self.gh || (self.curl && self.token.is_some())
    }
}

impl RemoteForge {
    /// Finds the transport that ralph would use, without a request.
    pub fn transport_report(&self) -> Result<TransportReport, ForgeError> {
        let (_, address) = self.addresses()?;
        let ForgeContext { environment, hosts, .. } = &self.place;
        let server = Server::of(&address.host, hosts, environment)?;
        let kind = server.as_ref().map(|server| server.kind);
        let has = |name: &str| program(environment, name).is_some();
        let variables = server.map(|server| server.variables).unwrap_or_default();
        let set = |name: &&String| super::server::variable(environment, name).is_some();
        Ok(TransportReport {
            gh: matches!(kind, None | Some(ForgeKind::GitHub)) && address.is_flat() && has("gh"),
            curl: has("curl"),
            token: variables.iter().find(set).cloned(),
            wants: variables.first().cloned(),
            kind,
            address,
        })
    }

    /// Asks the server for the repository, by the transport of pull requests. Says by which.
    pub fn reach(&self) -> Result<String, ForgeError> {
        let errand = self.reached()?;
        errand.get(errand.route.list("", 1))?;
        Ok(errand.transport.name())
    }
}
