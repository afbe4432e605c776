//! What the tests of several displays share.

mod replayed;
pub(crate) mod sample;
