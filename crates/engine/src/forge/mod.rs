//! Pull requests on the server of a remote: GitHub, GitLab, Gitea and Forgejo.
//!
//! ralph uses the first of three transports that works: the program `gh` where it is logged in, the API with a token
//! from the environment, and you, who get the command to type or the link to open. `gh` and `curl` carry the same
//! requests; which requests a server takes is a row of data in the core, so requests and answers are written once.
//!
//! Nothing here resolves a name or opens a connection: `gh` and `curl` do, with the machine's proxies and
//! certificates. Text from others is only ever in the body of a request, never in arguments, and the token is in
//! neither arguments nor errors.
//!
//! | file | owns |
//! |---|---|
//! | `remote_forge` | the pull requests of a branch: list, open or change |
//! | `transport` | chooses a transport, sends requests, retries |
//! | `server` | the kind of a server, the address of its API, and its token |
//! | `answer` | answers, and what a refusal means |
//! | `transport_report` | which transport ralph would use, for users who ask |
//! | `manual` | the command or link for you |

mod answer;
mod manual;
mod remote_forge;
mod server;
mod transport;
mod transport_report;

pub(crate) use answer::shortened;
pub use remote_forge::{ForgeContext, RemoteForge, Retry};
pub(crate) use transport::{paused, quoted as curl_value};
pub use transport_report::TransportReport;

/// Reads an answer, and what a refusal means.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use ralph_core::forge::{Address, ForgeKind, Route};
    let Some(at) = Address::of("https://h.org/ada/engine.git") else { return };
    for kind in ForgeKind::ALL {
        let route = Route { kind, target: at.clone(), source: at.clone(), ids: None };
        let about = answer::About::of(&route, &transport::Transport::Gh("gh".into()), "b", "main");
        match answer::Answer::read(bytes).map(|answer| answer.good(&about)) {
            Some(Err(error)) => {
                assert!(error.to_string().len() < 2_000, "a refusal is a sentence");
            }
            Some(Ok(reply)) => drop(route.read(&reply.body)),
            None => {}
        }
    }
}
