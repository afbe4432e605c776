//! How much of each budget is used, when that is nearly all of it, and the words for it.

use serde::{Deserialize, Serialize};

use super::exit::View;
use super::policy::Budget;
use crate::agent::Usage;
use crate::amounts::{money, tokens};
use crate::time::duration;

/// From so many hundredths on a budget is nearly used up.
const NEAR: u64 = 80;

words! {
    /// One of the budgets, and what it is for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Allowance {
        Money = "money for this run",
        Tokens = "tokens for this run",
        Time = "time for this run",
        Task = "money for one task",
        Day = "money for today, all runs together",
    }
}

impl Allowance {
    /// `$0.60 of $0.50`.
    pub fn amounts(self, used: u64, limit: u64) -> String {
        let show: fn(u64) -> String = match self {
            Self::Money | Self::Task | Self::Day => money,
            Self::Tokens => tokens,
            Self::Time => duration,
        };
        format!("{} of {}", show(used), show(limit))
    }
}

/// A budget that there is, and what of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    pub budget: Allowance,
    /// How much is used: millionths of a dollar, tokens or milliseconds.
    pub used: u64,
    /// How much there is; more than 0.
    pub limit: u64,
}

impl Used {
    /// Nothing is left.
    pub const fn is_up(self) -> bool {
        self.used >= self.limit
    }

    /// Little is left, but something.
    pub const fn is_near(self) -> bool {
        // In the wide type, so that no budget is too large to be compared.
        !self.is_up() && self.used as u128 * 100 >= self.limit as u128 * NEAR as u128
    }

    /// `money for this run: $0.60 of $0.50`.
    pub fn words(self) -> String {
        format!("{}: {}", self.budget.as_str(), self.budget.amounts(self.used, self.limit))
    }
}

/// Every budget that the run as a whole has. What was spent today is known only with a survey.
pub fn of_run(view: View<'_>) -> Vec<Used> {
    let budget = view.state.policy.budget;
    let usage = view.state.usage;
    let read_and_written = usage.input_tokens.saturating_add(usage.output_tokens);
    let lasted = view.now.millis_since(view.state.began_at);
    let today = view.survey.map_or(0, |survey| survey.day_micro_usd);
    let others =
        view.survey.map_or((0, 0), |survey| (survey.others_micro_usd, survey.others_tokens));
    let money = usage.cost_micro_usd.unwrap_or(0).saturating_add(others.0);
    let read_and_written = read_and_written.saturating_add(others.1);
    let all = [
        (Allowance::Money, money, budget.micro_usd),
        (Allowance::Tokens, read_and_written, budget.tokens),
        (Allowance::Time, lasted, budget.time_ms),
        (Allowance::Day, today, budget.day_micro_usd),
    ];
    let there = all.into_iter().filter(|(_, _, limit)| *limit > 0);
    there.map(|(budget, used, limit)| Used { budget, used, limit }).collect()
}

impl Budget {
    /// Some budget counts money.
    pub const fn has_money(self) -> bool {
        self.micro_usd > 0 || self.task_micro_usd > 0 || self.day_micro_usd > 0
    }

    /// What of the budget for one task is used; `None` where there is none.
    pub fn of_task(self, spent_micro_usd: u64) -> Option<Used> {
        let limit = self.task_micro_usd;
        (limit > 0).then_some(Used { budget: Allowance::Task, used: spent_micro_usd, limit })
    }

    /// Why a task that cost so much has to wait for the user; `None` while it may continue.
    pub fn holds_task(self, spent_micro_usd: u64) -> Option<String> {
        let used = self.of_task(spent_micro_usd).filter(|used| used.is_up())?;
        let amounts = used.budget.amounts(used.used, used.limit);
        Some(format!("the budget for one task is used up: {amounts} (budget.task_usd)"))
    }
}

impl Usage {
    /// Tokens were used, and the agent reported no price.
    pub const fn is_unpriced(&self) -> bool {
        (self.input_tokens > 0 || self.output_tokens > 0) && self.cost_micro_usd.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(used: u64, limit: u64) -> Used {
        Used { budget: Allowance::Money, used, limit }
    }

    #[test]
    fn a_budget_is_near_from_eighty_hundredths_until_it_is_used_up() {
        let near = |n, limit| used(n, limit).is_near();
        assert_eq!(
            [near(79, 100), near(80, 100), near(99, 100), near(100, 100)],
            [false, true, true, false]
        );
        assert!(near(u64::MAX - 1, u64::MAX) && !near(u64::MAX / 2, u64::MAX));
        assert!(used(100, 100).is_up() && used(1, 1).is_up() && !used(0, 1).is_up());
    }

    #[test]
    fn every_budget_says_what_it_is_for() {
        let words = |budget, used, limit| Used { budget, used, limit }.words();
        assert_eq!(
            words(Allowance::Day, 1_200_000, 1_000_000),
            "money for today, all runs together: $1.20 of $1.00"
        );
        assert_eq!(words(Allowance::Tokens, 1_000, 2_000), "tokens for this run: 1k of 2k");
        assert_eq!(words(Allowance::Time, 60_000, 60_000), "time for this run: 1m 00s of 1m 00s");
    }

    #[test]
    fn no_budget_for_tasks_holds_none() {
        assert_eq!(Budget::default().holds_task(u64::MAX), None);
        let budget = Budget { task_micro_usd: 500_000, ..Budget::default() };
        assert_eq!(budget.holds_task(499_999), None);
        assert_eq!(
            budget.holds_task(600_000).as_deref(),
            Some("the budget for one task is used up: $0.60 of $0.50 (budget.task_usd)")
        );
    }
}
