//! The network of a box: a proxy outside that lets through what the rules allow, and a bridge inside that
//! programs find it by.
//!
//! A box has a network namespace with nothing but loopback. What leaves it goes through a unix socket
//! that is bound into the box:
//!
//! ```text
//!  box                                          │  outside, in ralph's process
//!  program ── TCP on loopback ── bridge ── unix socket ── Proxy ── TCP to the address that was checked
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `proxy` | accepting, limits, the end, what was refused |
//! | `connection` | one connection, from its first byte to its last |
//! | `http`, `socks` | the two languages, without I/O |
//! | `dial` | a host to a connection: looked up once, checked, dialled |
//! | `resolver` | names to addresses, by a program of the system |
//! | `bridge` | the inside |

pub mod bridge;
mod connection;
mod dial;
mod http;
mod proxy;
mod resolver;
mod socks;

pub use proxy::{Limits, Proxy};
pub use resolver::{Addresses, Getent, Resolver};
