//! Pull requests on GitHub, and on servers that speak as it does.
//!
//! There are three ways, and the first that works is taken: the program `gh` where it is logged in, the
//! API with a token from the environment, and the person, who gets the command to type. Both programs
//! carry the same requests, so what is asked and what an answer means is written once.
//!
//! Nothing here resolves a name or opens a connection: `gh` and `curl` do, with the proxies and
//! certificates of the machine. Words of others are only ever in the text of a request, never in
//! arguments, and the token is in neither arguments nor errors.
//!
//! | file | owns |
//! |---|---|
//! | `github` | find, open or change: one pull request per branch |
//! | `way` | which way there is from here, and a request by it |
//! | `api` | where the API of a server is, and which token is for it |
//! | `answer` | what an answer says, and what a refusal means |
//! | `look` | which way there would be, for people who ask |
//! | `hand` | what a person can type |

mod answer;
mod api;
mod github;
mod hand;
mod look;
mod way;

pub use github::{GitHub, Place};
pub(crate) use hand::quoted;
pub use look::Looked;

/// Reads an answer, and what a refusal means.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use ralph_core::forge::Address;
    let Some(address) = Address::of("https://h.org/ada/engine.git") else { return };
    let about = answer::About { address: &address, branch: "b", base: "main" };
    if let Some(Err(error)) = answer::Answer::read(bytes).map(|answer| answer.good(&about)) {
        assert!(error.to_string().len() < 2_000, "a refusal is a sentence");
    }
}
