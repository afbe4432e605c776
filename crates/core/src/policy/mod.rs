//! Small decisions that depend on nothing but their arguments: which model, how long to wait.

pub mod backoff;
pub mod strategy;
