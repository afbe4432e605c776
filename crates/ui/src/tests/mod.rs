//! What the tests of several displays share.

pub(crate) mod sample;
