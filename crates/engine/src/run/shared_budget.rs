//! The money that runs with a shared budget have spent, each for itself.

use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::agent::Usage;

/// A run's part in what several runs spend together.
#[derive(Debug, Clone, Default)]
pub struct SharedBudget {
    all: Arc<Mutex<Vec<Usage>>>,
    own: usize,
}

impl SharedBudget {
    /// One for each of so many runs.
    pub fn shared(runs: usize) -> Vec<Self> {
        let all = Arc::new(Mutex::new(vec![Usage::default(); runs]));
        (0..runs).map(|own| Self { all: Arc::clone(&all), own }).collect()
    }

    /// One more that shares what these share; the first of a kind where there are none.
    pub fn beside(purses: &[Self]) -> Self {
        let Some(first) = purses.first() else { return Self::shared(1).remove(0) };
        let mut all = first.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Usage::default());
        let own = all.len() - 1;
        drop(all);
        Self { all: Arc::clone(&first.all), own }
    }

    /// This run has spent so much by now. What the others have: millionths of a dollar, and tokens.
    pub fn exchange(&self, spent: Usage) -> (u64, u64) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get_mut(self.own) {
            *own = spent;
        }
        let others = all.iter().enumerate().filter(|(at, _)| *at != self.own);
        others.fold((0, 0), |(money, tokens), (_, usage)| {
            let used = usage.input_tokens.saturating_add(usage.output_tokens);
            let cost = usage.cost_micro_usd.unwrap_or(0);
            (money.saturating_add(cost), tokens.saturating_add(used))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_hears_what_the_others_spent() {
        let purses = SharedBudget::shared(3);
        let spent = |cost, tokens| Usage {
            cost_micro_usd: Some(cost),
            input_tokens: tokens,
            ..Usage::default()
        };
        assert_eq!(purses[0].exchange(spent(10, 1)), (0, 0));
        assert_eq!(purses[1].exchange(spent(5, 2)), (10, 1));
        assert_eq!(purses[0].exchange(spent(20, 3)), (5, 2));
        assert_eq!(purses[2].exchange(Usage::default()), (25, 5));
        let later = SharedBudget::beside(&purses);
        assert_eq!(later.exchange(spent(100, 7)), (25, 5));
        assert_eq!(purses[1].exchange(spent(5, 2)), (120, 10));
    }
}
