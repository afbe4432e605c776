//! Which way to the server of a remote there would be, for people who ask. Makes no request unless told to.

use std::ffi::OsString;

use ralph_core::forge::Address;

use super::answer::About;
use super::api::Api;
use super::github::{GitHub, Place};
use super::way::{Request, Way, program};
use crate::ports::ForgeError;

/// What there is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The repository that the remote names.
    pub address: Address,
    /// Whether `gh` is installed. Whether it is logged in is not asked.
    pub gh: bool,
    /// Whether `curl` is installed.
    pub curl: bool,
    /// The variable with a token for the server.
    pub token: Option<&'static str>,
    /// The variable that a token would be looked for in first.
    pub wants: &'static str,
}

impl Looked {
    /// Whether there may be a way.
    pub const fn may_reach(&self) -> bool {
        self.gh || (self.curl && self.token.is_some())
    }
}

impl GitHub {
    /// Looks which way there would be, and asks nobody.
    pub fn look(&self) -> Result<Looked, ForgeError> {
        let address = self.address()?;
        let environment: &[(OsString, OsString)] = &self.place().environment;
        let api = Api::of(&address.host, environment)?;
        let has = |name: &str| program(environment, name).is_some();
        let set = |name: &&&str| super::api::variable(environment, name).is_some();
        Ok(Looked {
            gh: has("gh"),
            curl: has("curl"),
            token: api.variables.iter().find(set).copied(),
            wants: api.variables[0],
            address,
        })
    }

    /// Asks the server for the repository, by the way that a pull request would go. Says by which.
    pub fn reach(&self) -> Result<&'static str, ForgeError> {
        let place: &Place = self.place();
        let address = self.address()?;
        let way = Way::to(&address, place)?;
        let name = match &way {
            Way::Gh(_) => "gh",
            Way::Api(..) => "the API with a token",
            Way::None(why) => {
                let host = address.host.clone();
                return Err(ForgeError::Network { host, said: why.clone() });
            }
        };
        let path = format!("{}?per_page=1", address.pulls());
        let about = About { address: &address, branch: "", base: "" };
        way.ask(&Request { method: "GET", path, body: None }, &about, place)?;
        Ok(name)
    }
}
