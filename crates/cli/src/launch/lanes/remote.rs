//! The branches of a plan on the remote: their bases, which of them exist there, and which are merged. If the remote
//! cannot be reached, ralph continues with the local branches.

use ralph_core::branch::BranchName;
use ralph_core::forge::{Course, Relation};
use ralph_core::run::Notice;
use ralph_engine::forge::Retry;
use ralph_engine::git::Git;
use ralph_engine::git::base::{branch_named, pr_base, start_of};
use ralph_engine::git::commit_of;
use ralph_engine::process::Stop;
use ralph_engine::publishing::upstream::relation;
use ralph_engine::publishing::{Outlet, PublishRecords, PublishSetup, WatchSetup, no_hook};
use ralph_engine::publishing::{Push, PushError};

use super::super::{git_failed, publish};
use super::call::Call;
use crate::config::{Config, key};
use crate::error::{Done, Result};
use crate::wiring::Context;

/// The known state of the remote.
#[derive(Debug)]
pub(super) struct Remote {
    /// Whether ralph publishes branches.
    pub(super) is_used: bool,
    /// The remote that branches are pushed to.
    pub(super) push: String,
    /// The remote that pull requests go to.
    pub(super) pr: String,
    /// The record of published branches, kept between runs.
    pub(super) records: PublishRecords,
    /// The commit of each branch there; `None` if the remote was not asked.
    tips: Option<Vec<Option<String>>>,
}

impl Remote {
    pub(super) fn new(is_used: bool, config: &Config, records: PublishRecords) -> Self {
        let (push, pr) = publish::remotes(config);
        Self { is_used, push, pr, records, tips: None }
    }
}

impl Call {
    /// Fetches those of the branches that exist on the remote. Returns the commit of each.
    fn fetch_existing(
        &self,
        remote: &str,
        names: &[&str],
        context: &Context<'_>,
    ) -> Result<Vec<Option<String>>, PushError> {
        let pusher = Push {
            folder: &self.home.worktree,
            environment: &context.environment.all,
            remote,
            branch: "",
            protected: &[],
            patience: Push::PATIENCE,
            sandboxed: &no_hook,
        };
        let tips = pusher.remote_tips(names, &Stop::never())?;
        let there = names.iter().zip(&tips).filter(|(_, tip)| tip.is_some());
        let there: Vec<&str> = there.map(|(name, _)| *name).collect();
        pusher.fetch(&there, &[], &Stop::never())?;
        Ok(tips)
    }

    /// Asks the remote for the branches of the plan and their base, and fetches them.
    pub(super) fn ask_remote(&mut self, context: &mut Context<'_>) -> Done {
        if !self.remote.is_used {
            return Ok(());
        }
        match self.fetch(context) {
            Ok(tips) => self.remote.tips = tips,
            Err(PushError::Interrupted { .. } | PushError::NoRemote { .. }) => {}
            Err(error) => {
                context.out.warning(format!("{error}; ralph continues with the local branches"));
            }
        }
        self.find_bases()
    }

    fn fetch(&self, context: &Context<'_>) -> Result<Option<Vec<Option<String>>>, PushError> {
        let Remote { push, pr, .. } = &self.remote;
        let has = |name: &str| {
            let asked = ["remote", "get-url", "--", name];
            Git::plumbing(&self.home.root, &asked).run().is_ok()
        };
        if !has(push) || !has(pr) {
            return Ok(None);
        }
        let names: Vec<&str> = self.sections.iter().map(|section| section.name.as_str()).collect();
        let tips = self.fetch_existing(push, &names, context)?;
        let set = self.config.get(key::GIT_PR_BASE);
        let usual = pr_base(&self.home, pr, set)?.map(|base| base.name);
        let mut bases: Vec<String> = usual.into_iter().collect();
        for section in &self.sections {
            if let Some(base) = &section.base {
                bases.extend(branch_named(&self.home, pr, base)?);
            }
        }
        bases.retain(|base| !names.contains(&base.as_str()));
        bases.sort();
        bases.dedup();
        let bases: Vec<&str> = bases.iter().map(String::as_str).collect();
        self.fetch_existing(pr, &bases, context)?;
        Ok(Some(tips))
    }

    /// The revision of a base. A published branch starts at the remote's version of its base: commits that only the
    /// local one has, such as the plan's, would be part of every pull request.
    pub(super) fn base_commit(&self, base: &str) -> Result<Option<String>> {
        let pr = &self.remote.pr;
        let is_section = self.sections.iter().any(|section| section.name.as_str() == base);
        if self.remote.is_used && !is_section {
            let name = branch_named(&self.home, pr, base).map_err(git_failed)?;
            if let Some(name) = name {
                let tracking = format!("refs/remotes/{pr}/{name}");
                if commit_of(&self.home.root, &tracking).map_err(git_failed)?.is_some() {
                    return Ok(Some(format!("{pr}/{name}")));
                }
            }
        }
        start_of(&self.home, pr, base).map_err(git_failed)
    }

    /// Warns if branches start without commits that only the local base has.
    pub(super) fn warn_of_unpushed(&self, context: &mut Context<'_>) -> Done {
        let Some(remote) = &self.usual else { return Ok(()) };
        let Some(local) = remote.strip_prefix(&format!("{}/", self.remote.pr)) else {
            return Ok(());
        };
        let root = &self.home.root;
        if commit_of(root, &format!("refs/heads/{local}")).map_err(git_failed)?.is_none() {
            return Ok(());
        }
        let range = format!("{remote}..refs/heads/{local}");
        let asked = ["log", "--format=", "--name-only", "-z", "--end-of-options", &range];
        let printed = Git::plumbing(root, &asked).run().map_err(git_failed)?;
        let mut files = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        if files.any(|name| name != self.plan.name().as_bytes()) {
            context.out.warning(format!(
                "{local} has commits that are not in {remote}, and new branches start at {remote}: push {local} \
                 first if they need them"
            ));
        }
        Ok(())
    }

    /// The last known commit of a branch on the remote.
    fn remote_tip(&self, number: usize) -> Result<Option<String>> {
        let branch = &self.sections[number].name;
        match &self.remote.tips {
            Some(tips) if number < tips.len() => Ok(tips[number].clone()),
            // The remote was not asked, or the section is newer.
            _ => {
                let tracking = format!("refs/remotes/{}/{branch}", self.remote.push);
                commit_of(&self.home.root, &tracking).map_err(git_failed)
            }
        }
    }

    /// Where a branch that does not exist locally starts: at the remote's version, else at its base. A local branch
    /// that is behind the remote is fast-forwarded. Returns a sentence about it.
    pub(super) fn continues(&self, number: usize) -> Result<(Option<String>, Option<Notice>)> {
        let (branch, remote) = (&self.sections[number].name, &self.remote.push);
        let base = self.base_of(number);
        let Some(there) = self.remote_tip(number)? else { return Ok((base, None)) };
        let root = &self.home.root;
        let full = format!("refs/heads/{branch}");
        let output = |text: String| Some(Notice::Other { text });
        let Some(here) = commit_of(root, &full).map_err(git_failed)? else {
            let text = format!("branch {branch} already exists on {remote}; ralph continues it");
            return Ok((Some(there), output(text)));
        };
        let lies = relation(root, &here, &there).map_err(git_failed)?;
        if here == there || lies != Relation::Contained {
            return Ok((base, None));
        }
        let places = self.worktrees().places()?;
        let place = places.iter().find(|(name, _)| name == branch).map(|(_, place)| place);
        let moved = match place {
            Some(place) => Git::plumbing(place, &["merge", "--quiet", "--ff-only", &there]).run(),
            None => Git::plumbing(root, &["update-ref", &full, &there, &here]).run(),
        };
        let text = match moved {
            Ok(_) => format!("branch {branch} was behind {remote}; ralph continues from {remote}"),
            Err(error) => format!("branch {branch} is behind {remote}: {error}"),
        };
        Ok((base, output(text)))
    }

    /// Why a branch is not published yet; `None` if it is.
    pub(super) fn pending(&self, branch: &BranchName) -> Option<String> {
        if !self.remote.is_used {
            return None;
        }
        self.remote.records.read(branch.as_str()).pending.map(|pending| pending.why)
    }

    /// Removes a branch that is merged on the server, and its worktree.
    pub(super) fn remove_merged_branch(
        &self,
        branch: &BranchName,
        page: &str,
        context: &mut Context<'_>,
    ) -> Done {
        let stays = self.config.get(key::GIT_WORKTREE_KEEP) == "always";
        if stays || !self.remove_worktree(branch, context) {
            return Ok(());
        }
        self.worktrees().delete_branch(branch)?;
        let _ = self.remote.records.forget(branch.as_str());
        context.out.conclude(format!(
            "{branch} is merged ({page}): ralph removed its worktree and its branch"
        ))
    }

    /// Removes finished branches without a worktree that the server has merged since.
    pub(super) fn remove_merged_since(&self, context: &mut Context<'_>) -> Done {
        if !self.remote.is_used || self.remote.tips.is_none() {
            return Ok(());
        }
        let places = self.worktrees().places()?;
        for (number, section) in self.sections.iter().enumerate() {
            let branch = &section.name;
            let is_over = section.ticked == section.tasks
                && self.only.is_none_or(|only| only == number)
                && places.iter().all(|(name, _)| name != branch)
                && !self.remote.records.read(branch.as_str()).pushed.is_empty();
            let full = format!("refs/heads/{branch}");
            if !is_over || commit_of(&self.home.root, &full).map_err(git_failed)?.is_none() {
                continue;
            }
            let setup = PublishSetup {
                remote: self.remote.push.clone(),
                pr_remote: self.remote.pr.clone(),
                base: String::new(),
                protected: vec![],
                goal: String::new(),
                drafts: self.home.root.clone(),
                hosts: publish::hosts(&self.config),
                records: self.remote.records.clone(),
                retry: Retry { pauses: vec![], ..Retry::default() },
                watch: WatchSetup::default(),
            };
            let outlet = Outlet {
                folder: &self.home.worktree,
                environment: &context.environment.all,
                setup: &setup,
                sandboxed: &no_hook,
                stop: Stop::never(),
            };
            // If the server cannot be reached now, the next run asks it.
            let page = match outlet.course(branch.as_str()) {
                Ok(Course::Finished(pull)) => pull.page,
                _ => continue,
            };
            let page = ralph_core::text::printable_line(&page).into_owned();
            self.remove_merged_branch(branch, &page, context)?;
        }
        Ok(())
    }
}
