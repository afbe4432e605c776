//! The network of a sandbox: a proxy outside that forwards what the rules allow, and a bridge inside that
//! programs use to reach it.
//!
//! A sandbox has a network namespace with nothing but loopback. What leaves it goes through a unix socket
//! that is bound into the sandbox:
//!
//! ```text
//!  sandbox                                      │  outside, in ralph's process
//!  program ── TCP on loopback ── bridge ── unix socket ── Proxy ── TCP to the address that was checked
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `proxy` | accepts connections, limits, shutdown, refused connections |
//! | `connection` | one connection, from its first byte to its last |
//! | `http`, `socks` | the two protocols, without I/O |
//! | `chunks` | finds the end of a chunked body, without I/O |
//! | `dial` | connects to a host: resolved once, checked, dialed |
//! | `resolver` | resolves names, by a program of the system |
//! | `bridge` | the sandbox side |

pub mod bridge;
mod chunks;
mod connection;
mod dial;
pub(super) mod http;
mod proxy;
mod resolver;
mod socks;

pub use proxy::{Limits, Proxy};
pub use resolver::{Addresses, Getent, Resolver};

/// Reads what a program in a sandbox sends to the proxy, and what a server answers.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(bytes: &[u8]) {
    match http::read(bytes) {
        Ok(http::Journey { language: http::Language::Forward(head, _), .. }) => {
            assert!(http::end_of_head(&head, 0) == Some(head.len()), "one head, and all of it");
            assert!(!head.is_empty() && !head.starts_with(b"http"), "in the form of a server");
        }
        Ok(_) => {}
        Err(why) => assert!(why.to_string().len() < 500, "a refusal is a sentence"),
    }
    if let Some(end) = http::end_of_head(bytes, 0) {
        assert!(end <= bytes.len());
        let _ = http::is_open(&bytes[..end]);
    }
    if let Some(end) = http::end_of_answer(bytes) {
        let _ = (http::is_interim(&bytes[..end]), http::last_answer(&bytes[..end]));
    }
    if let [kind, next, rest @ ..] = bytes {
        let _ = (socks::address_length(*kind, *next), socks::host(*kind, rest));
    }
}
