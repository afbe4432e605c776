//! Pull requests as any server reports them, and what they mean for a branch that is about to be pushed.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    Open,
    /// It was merged, by whatever method.
    Merged,
    /// It was closed without being merged.
    Closed,
}

/// A pull request as a server reports it. Every text comes from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub number: u64,
    pub page: String,
    pub title: String,
    /// Its text; may be empty.
    pub body: String,
    pub state: PullState,
    pub branch: String,
    pub base: String,
    /// The last commit of the source branch; empty where the server does not say.
    pub head: String,
    /// Whether it comes from the repository that ralph pushes to.
    pub is_ours: bool,
}

/// How the local branch relates to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Every commit of the branch is part of it.
    Contained,
    /// The branch has it and more.
    Extended,
    /// Neither has the other.
    Apart,
    /// The commit is not in this repository.
    Unknown,
}

/// What is known of a branch before it is pushed.
#[derive(Debug, Clone, Default)]
pub struct BranchFacts {
    /// Its pull requests, each with how the local branch relates to its last commit.
    pub pulls: Vec<(Pull, Relation)>,
    pub is_there: bool,
    /// The branch, as it began here, was at the remote before.
    pub was_there: bool,
    /// Every commit of the branch was at the remote before.
    pub all_were_there: bool,
}

/// What to do with a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Course {
    /// Push it, and update its open pull request or open a new one.
    Push,
    /// It is merged: there is nothing to push, and nothing to keep.
    Finished(Pull),
    /// It is merged, and new commits came after that. Pushing would propose the merged work again.
    MergedAndMore(Pull),
    /// Someone closed its pull request: ralph respects that.
    Closed(Pull),
    /// Someone deleted it on the server: ralph respects that.
    Deleted,
}

/// Decides what to do with a branch. A pull request whose commits have nothing to do with the local branch
/// belongs to an earlier branch of the same name and does not count.
pub fn course(facts: &BranchFacts) -> Course {
    let ours = || facts.pulls.iter().filter(|(pull, _)| pull.is_ours);
    if ours().any(|(pull, _)| pull.state == PullState::Open) {
        return Course::Push;
    }
    let newest =
        ours().filter(|(_, lies)| *lies != Relation::Apart).max_by_key(|(pull, _)| pull.number);
    match newest {
        Some((pull, lies)) if pull.state == PullState::Merged => {
            let contained = match lies {
                Relation::Contained => true,
                Relation::Unknown => facts.all_were_there,
                Relation::Extended | Relation::Apart => false,
            };
            match contained {
                true => Course::Finished(pull.clone()),
                false => Course::MergedAndMore(pull.clone()),
            }
        }
        Some((pull, _)) => Course::Closed(pull.clone()),
        None if facts.was_there && !facts.is_there => Course::Deleted,
        None => Course::Push,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(number: u64, state: PullState) -> Pull {
        Pull {
            number,
            page: format!("https://h.org/pull/{number}"),
            title: "x".to_owned(),
            body: String::new(),
            state,
            branch: "x".to_owned(),
            base: "main".to_owned(),
            head: "c".repeat(40),
            is_ours: true,
        }
    }

    fn of(pulls: &[(PullState, Relation)]) -> BranchFacts {
        let numbered = pulls.iter().zip(1..);
        let pulls = numbered.map(|((state, lies), number)| (pull(number, *state), *lies)).collect();
        BranchFacts { pulls, is_there: true, was_there: true, all_were_there: true }
    }

    use PullState::{Closed, Merged, Open};
    use Relation::{Apart, Contained, Extended, Unknown};

    #[test]
    fn a_branch_with_an_open_pull_request_is_pushed() {
        assert_eq!(course(&BranchFacts::default()), Course::Push);
        assert_eq!(course(&of(&[(Open, Extended)])), Course::Push);
        assert_eq!(
            course(&of(&[(Merged, Contained), (Closed, Contained), (Open, Unknown)])),
            Course::Push
        );
    }

    #[test]
    fn a_merged_branch_is_finished_unless_commits_came_after() {
        assert_eq!(course(&of(&[(Merged, Contained)])), Course::Finished(pull(1, Merged)));
        assert_eq!(course(&of(&[(Merged, Unknown)])), Course::Finished(pull(1, Merged)));
        assert_eq!(course(&of(&[(Merged, Extended)])), Course::MergedAndMore(pull(1, Merged)));
        let facts = BranchFacts { all_were_there: false, ..of(&[(Merged, Unknown)]) };
        assert_eq!(course(&facts), Course::MergedAndMore(pull(1, Merged)));
    }

    #[test]
    fn a_closed_pull_request_stays_closed() {
        for lies in [Contained, Extended, Unknown] {
            assert_eq!(course(&of(&[(Closed, lies)])), Course::Closed(pull(1, Closed)));
        }
        let both = of(&[(Merged, Contained), (Closed, Contained)]);
        assert_eq!(course(&both), Course::Closed(pull(2, Closed)));
    }

    #[test]
    fn a_branch_deleted_on_the_server_is_not_pushed_again() {
        let facts = BranchFacts { was_there: true, ..BranchFacts::default() };
        assert_eq!(course(&facts), Course::Deleted);
    }

    #[test]
    fn pull_requests_of_other_branches_of_the_same_name_decide_nothing() {
        let facts = BranchFacts {
            was_there: false,
            is_there: false,
            ..of(&[(Merged, Apart), (Closed, Apart)])
        };
        assert_eq!(course(&facts), Course::Push);
        let mut facts = of(&[(Merged, Contained)]);
        facts.pulls[0].0.is_ours = false;
        assert_eq!(course(&facts), Course::Push);
    }
}
