//! What the tests of several displays share.

mod replayed;
#[path = "../../../core/tests/run_model/sample.rs"]
pub(crate) mod sample;
