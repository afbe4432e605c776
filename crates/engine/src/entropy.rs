//! The only source of randomness: for unique names, for the key of content hashes, and for secrets.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::OnceLock;

use fastrand::Rng;
use ralph_core::ids::{AgentId, AttemptId, IdError, QuestionId, RunId, generated};
use ralph_core::{FeatureId, TaskId};

/// A number that stands for some content as long as this process lives. Its key is random and never leaves
/// the process, so nobody can make other content that has the same number.
pub(crate) fn keyed_hash(content: impl std::hash::Hash) -> u64 {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    KEY.get_or_init(RandomState::new).hash_one(content)
}

/// A secret of 128 bits as 32 hex digits, from the system: unlike ids, it cannot be guessed from others.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes ids. Seeded, it makes the same ones again.
#[derive(Debug, Clone)]
pub struct Ids(Rng);

impl Ids {
    /// From the system's randomness, or from `seed`.
    #[expect(clippy::disallowed_methods, reason = "this is the one source of randomness")]
    pub fn new(seed: Option<u64>) -> Self {
        Self(seed.map_or_else(Rng::new, Rng::with_seed))
    }

    /// `t-` and eight base-32 characters.
    pub fn task(&mut self) -> Result<TaskId, IdError> {
        TaskId::new(generated("t-", self.0.u64(..)))
    }

    /// `f-` and eight base-32 characters.
    pub fn feature(&mut self) -> Result<FeatureId, IdError> {
        FeatureId::new(generated("f-", self.0.u64(..)))
    }

    /// Four hex digits, for an agent that registers itself.
    pub fn agent(&mut self) -> Result<AgentId, IdError> {
        AgentId::new(format!("{:04x}", self.0.u16(..)))
    }

    /// `q-` and eight base-32 characters.
    pub fn question(&mut self) -> Result<QuestionId, IdError> {
        QuestionId::new(generated("q-", self.0.u64(..)))
    }

    /// Eight hex digits, for names that only need to differ.
    pub fn hex(&mut self) -> String {
        format!("{:08x}", self.0.u32(..))
    }

    /// `a-` and eight base-32 characters.
    pub fn attempt(&mut self) -> Result<AttemptId, IdError> {
        AttemptId::new(generated("a-", self.0.u64(..)))
    }

    /// `r-` and eight base-32 characters.
    pub fn run(&mut self) -> Result<RunId, IdError> {
        RunId::new(generated("r-", self.0.u64(..)))
    }

    /// `agent-` and eight hex digits, for a slot of a run.
    pub fn slot_agent(&mut self) -> Result<AgentId, IdError> {
        AgentId::new(format!("agent-{:08x}", self.0.u32(..)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_128_bits_and_comes_once() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert_ne!(one, other);
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
