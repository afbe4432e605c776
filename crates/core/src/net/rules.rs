//! Which hosts a sandbox may ask for, and which address ralph may connect to for each.

use core::net::IpAddr;

use thiserror::Error;

use super::address::{AddressKind, forbidden};
use super::endpoint::Endpoint;
use super::host::Host;

/// What the network of a sandbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The network of the machine: nothing stands between.
    AllowAll,
    /// What is listed, and nothing else.
    #[default]
    Allowlist,
    /// Nothing but what the agent itself needs.
    Deny,
}

#[derive(Debug, Clone, Default)]
pub struct Rules {
    policy: Policy,
    allowed: Vec<Endpoint>,
}

/// Why something may not be reached. Each is one sentence that names host and rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("{host}:{port} is not in the list of allowed hosts (sandbox.network.allowed)")]
    NotListed { host: Host, port: u16 },
    #[error(
        "{host}:{port} cannot be reached, because the network is closed (sandbox.network is deny)"
    )]
    Closed { host: Host, port: u16 },
    /// The name is listed, and leads where no name may lead.
    #[error(
        "{host}:{port} leads to {address}, {kind}; such an address must be in \
         sandbox.network.allowed itself"
    )]
    Address { host: Host, port: u16, address: IpAddr, kind: AddressKind },
    /// The name leads to the machine itself, by an address that the world knows.
    #[error(
        "{host}:{port} leads to {address}, an address of this machine; such an address must be in \
         sandbox.network.allowed itself"
    )]
    Own { host: Host, port: u16, address: IpAddr },
}

impl Rules {
    /// `listed` is what people allow, `needed` what the loop adds so that the agent can work at all: with
    /// [`Policy::Deny`] only that counts.
    pub fn new(policy: Policy, listed: Vec<Endpoint>, needed: Vec<Endpoint>) -> Self {
        let mut allowed = if policy == Policy::Deny { vec![] } else { listed };
        allowed.extend(needed);
        Self { policy, allowed }
    }

    pub fn policy(&self) -> Policy {
        self.policy
    }

    pub fn allowed(&self) -> &[Endpoint] {
        &self.allowed
    }

    /// The ports of this machine that may be reached, each once: a sandbox offers them at the same place.
    pub fn loopback_ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.allowed.iter().filter_map(Endpoint::loopback_port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Whether a host may be asked for at all. ralph checks this before it looks a name up: the look-up
    /// itself tells a name server something.
    pub fn may_ask(&self, host: &Host, port: u16) -> Result<(), Refused> {
        let is_listed = self.policy == Policy::AllowAll
            || self.allowed.iter().any(|entry| entry.allows(host, port))
            || host.fixed().is_some_and(|addresses| {
                addresses.iter().any(|address| self.lists_address(*address, port))
            });
        if is_listed {
            return Ok(());
        }
        let host = host.clone();
        Err(match self.policy {
            Policy::Deny => Refused::Closed { host, port },
            Policy::Allowlist | Policy::AllowAll => Refused::NotListed { host, port },
        })
    }

    /// Whether ralph may connect to this address for a host. `is_own`: it is an address of this machine.
    ///
    /// ralph may connect to an address that is listed itself. Any other must be public, whatever name led to it,
    /// so that nobody who owns a listed name can lead the sandbox to this machine or its network.
    pub fn may_dial(
        &self,
        host: &Host,
        port: u16,
        address: IpAddr,
        is_own: bool,
    ) -> Result<(), Refused> {
        self.may_ask(host, port)?;
        let address = address.to_canonical();
        if self.policy == Policy::AllowAll || self.lists_address(address, port) {
            return Ok(());
        }
        let host = host.clone();
        match forbidden(address) {
            Some(kind) => Err(Refused::Address { host, port, address, kind }),
            None if is_own => Err(Refused::Own { host, port, address }),
            None => Ok(()),
        }
    }

    fn lists_address(&self, address: IpAddr, port: u16) -> bool {
        self.allowed.iter().any(|entry| entry.allows_address(address, port))
    }
}
