//! What a sandbox may reach: listed hosts, addresses that ralph never connects to, and the rules over both.
//!
//! | file | owns |
//! |---|---|
//! | `host` | what a client names: a name or an address |
//! | `endpoint` | one entry of `sandbox.network.allowed` |
//! | `address` | addresses that no name may lead to |
//! | `rules` | who may be asked for, and which address ralph may connect to for it |

mod address;
mod endpoint;
mod host;
mod rules;
#[cfg(test)]
mod tests;

pub use address::{AddressKind, forbidden};
pub use endpoint::{Endpoint, EndpointError};
pub use host::{Host, HostError};
pub use rules::{Policy, Refused, Rules};
