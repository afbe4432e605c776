//! Checks before any branch starts: the sections of the plan, the names of the branches, and their bases.

use std::cell::RefCell;
use std::path::PathBuf;

use ralph_core::branch::{BranchError, BranchName, check_free};
use ralph_core::forge::is_protected;
use ralph_core::ids::RunId;
use ralph_core::plan::markdown::Stray;
use ralph_core::run::lanes::{Schedule, Section, SectionError, sections};
use ralph_core::text::printable_line;
use ralph_engine::git::base::{current_branch, is_merged, pr_base, start_of};
use ralph_engine::plan_file::PlanFile;
use ralph_engine::ports::Scope;
use ralph_engine::project::Project;
use ralph_engine::worktrees::Worktrees;
use ralph_ui::dry_run::{LaneDryRun, LanesDryRun};

use super::super::gates;
use super::super::policy::sessions_of;
use super::super::publish;
use super::super::source::{named, no_plan, plan_error};
use super::super::{RunOptions, git_failed};
use super::remote::Remote;
use crate::config::{Config, key};
use crate::error::{CliError, Done, Result, quoted};
use crate::wiring::{Context, worktree_folder};

/// A call that works on branches.
pub(super) struct Call {
    pub(super) home: Project,
    pub(super) plan: PlanFile,
    pub(super) sections: Vec<Section>,
    /// Sections without a task.
    pub(super) empty: Vec<String>,
    /// Open checkboxes outside of every section.
    stray: Vec<Stray>,
    /// The only branch to work on, if one is named.
    pub(super) only: Option<usize>,
    pub(super) config: Config,
    /// The patterns of `.worktreeinclude`.
    pub(super) include: String,
    pub(super) folder: PathBuf,
    /// The base that each section names.
    bases: Vec<Option<String>>,
    /// The base of the others.
    pub(super) usual: Option<String>,
    pub(super) remote: Remote,
    pub(super) run: Option<RunId>,
    /// The commit at which ralph found or created each branch.
    pub(super) begun: RefCell<Vec<Option<String>>>,
    /// The plan as ralph last read it.
    text: String,
    /// Why the plan can no longer be read.
    unread: Option<String>,
}

/// Refuses a call from another worktree than the main one.
pub(super) fn check_home(project: &Project) -> Done {
    if project.worktree == project.root {
        return Ok(());
    }
    let here = project.worktree.display();
    Err(run_failed!("{here} is not the main worktree, and ralph works on branches from there")
        .hint(format!("run it there: ralph -C {} loop build", quoted(&project.root))))
}

impl Call {
    pub(super) fn read(
        options: &RunOptions,
        plan: &PlanFile,
        home: &Project,
        config: Config,
        context: &Context<'_>,
    ) -> Result<Self> {
        let read = plan.read().map_err(plan_error)?;
        let Some(read) = read else { return Err(no_plan(plan, home)) };
        let (sections, empty) =
            sections(&read.doc).map_err(|error| section_error(plan, &read.text, &error))?;
        if sections.is_empty() {
            return Err(no_plan(plan, home));
        }
        let only = options.branch.as_ref().map(|name| find(&sections, name)).transpose()?;
        let mut call = Self {
            plan: plan.clone(),
            only,
            include: gates::include(home, context)?,
            folder: worktree_folder(home, &config, context.environment.home.as_deref()),
            bases: vec![None; sections.len()],
            usual: None,
            remote: Remote::new(
                publish::wanted(options, &config, named("branches")?).is_some(),
                &config,
                publish::records(context.environment.state_home.as_deref(), home),
            ),
            run: None,
            begun: RefCell::new(vec![None; sections.len()]),
            text: read.text,
            unread: None,
            home: home.clone(),
            config,
            sections,
            empty,
            stray: read.doc.stray,
        };
        let current = current_branch(home).map_err(git_failed)?;
        call.open().try_for_each(|at| call.check_name(at, current.as_deref()))?;
        call.find_bases()?;
        Ok(call)
    }

    fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.sections.len()).filter(|at| {
            let section = &self.sections[*at];
            self.only.is_none_or(|only| only == *at) && section.ticked < section.tasks
        })
    }

    fn check_name(&self, at: usize, current: Option<&str>) -> Done {
        let section = &self.sections[at];
        let protected = self.config.texts(key::GIT_PROTECTED_BRANCHES);
        let mut checked = check_free(&section.name, &protected, current);
        if is_protected(section.name.as_str(), &protected) {
            checked = Err(BranchError::Protected { name: section.name.to_string() });
        }
        checked.map_err(|error| self.refused(section, &error))
    }

    fn refused(&self, section: &Section, error: &BranchError) -> CliError {
        let place = format!("{}:{}", self.plan.name(), section.line);
        let failed = run_failed!("{place}: {error}");
        match error {
            BranchError::Current { .. } => {
                failed.hint("switch to another branch first: git switch main")
            }
            _ => failed.hint("rename the section, or change git.protected_branches"),
        }
    }

    /// The base of each branch. A base that is not a commit is an error before anything starts.
    pub(super) fn find_bases(&mut self) -> Done {
        let usual = pr_base(&self.home, &self.remote.pr, self.config.get(key::GIT_PR_BASE));
        let usual = match usual.map_err(git_failed)? {
            Some(base) => match self.base_commit(&base.name)? {
                Some(commit) => Some(commit),
                None => start_of(&self.home, &self.remote.pr, &base.commit).map_err(git_failed)?,
            },
            None => None,
        };
        self.usual = usual;
        for at in self.open().collect::<Vec<_>>() {
            self.bases[at] = self.base_named(at)?;
        }
        Ok(())
    }

    /// The base that a section names for its branch, which must exist.
    fn base_named(&self, at: usize) -> Result<Option<String>> {
        let section = &self.sections[at];
        let place = format!("{}:{}", self.plan.name(), section.line);
        match &section.base {
            Some(base) => {
                let found = self.base_commit(base)?;
                let missing = || {
                    run_failed!(
                        "{place}: there is no commit {base:?} to start branch {} from",
                        section.name
                    )
                    .hint("see all branches: git branch --all")
                };
                found.ok_or_else(missing).map(Some)
            }
            None if self.usual.is_none() && section.needs.is_empty() => Err(run_failed!(
                "{place}: there is no commit to start branch {} from",
                section.name
            )
            .hint("commit something first, or set git.pr_base to a branch")),
            None => Ok(None),
        }
    }

    /// Rereads the plan for the user's changes: new sections, and new checkboxes in finished sections. A plan that
    /// cannot be read is reported once, and the running lanes continue.
    pub(super) fn refresh(&mut self, schedule: &mut Schedule, context: &mut Context<'_>) {
        let read = match self.plan.read() {
            Ok(Some(read)) if read.text == self.text => return,
            Ok(Some(read)) => read,
            Ok(None) | Err(_) => return,
        };
        self.text.clone_from(&read.text);
        match sections(&read.doc) {
            Ok((found, _)) => {
                schedule.refresh(&found);
                self.unread = None;
            }
            Err(error) => {
                context.out.warning(format!("{}: {error}", self.plan.name()));
                self.unread = Some(error.to_string());
            }
        }
        self.sections = schedule.sections().to_vec();
        self.bases.resize(self.sections.len(), None);
        self.begun.borrow_mut().resize(self.sections.len(), None);
    }

    /// Checks the sections after the first `count`, before their branches start.
    pub(super) fn check_late(&mut self, number: usize, count: usize) -> Done {
        if number >= count {
            let current = current_branch(&self.home).map_err(git_failed)?;
            self.check_name(number, current.as_deref())?;
            self.bases[number] = self.base_named(number)?;
        }
        Ok(())
    }

    pub(super) fn unread_words(&self) -> Option<String> {
        let why = self.unread.as_ref()?;
        Some(format!("ralph cannot read the changes in {}: {why}", self.plan.name()))
    }

    /// The base of a branch: what its section says, else the first branch that it needs, else the default.
    pub(super) fn base_of(&self, number: usize) -> Option<String> {
        let section = &self.sections[number];
        let needed = || {
            let need = section.needs.first()?;
            let name = self.sections[*need].name.as_str();
            start_of(&self.home, &self.remote.push, name).ok().flatten()
        };
        self.bases[number].clone().or_else(needed).or_else(|| self.usual.clone())
    }

    pub(super) fn worktrees(&self) -> Worktrees {
        Worktrees::new(&self.home, &self.folder)
    }

    /// The open checkboxes outside of every section, as a sentence; `None` if there are none, or if the user named one
    /// branch.
    pub(super) fn stray_words(&self) -> Option<String> {
        if self.only.is_some() {
            return None;
        }
        // If the plan can no longer be read, its last version counts.
        let now = self.plan.read().ok().flatten().map(|read| read.doc.stray);
        let stray = now.unwrap_or_else(|| self.stray.clone());
        let (first, file) = (stray.first()?, self.plan.name());
        let (what, them) = match stray.len() {
            1 => ("1 open checkbox is".to_owned(), "it"),
            many => (format!("{many} open checkboxes are"), "them"),
        };
        let place = format!("{file}:{}", first.line);
        Some(format!("{what} in no branch ({place}): move {them} below a `## Branch:` heading"))
    }

    pub(super) fn needs_words(&self, missing: &[usize]) -> String {
        let names: Vec<&str> = missing.iter().map(|at| self.sections[*at].name.as_str()).collect();
        format!("it needs {}, which is not complete", names.join(" and "))
    }

    /// How many tasks of a branch are done, and how many there are: from the store, or from the plan if no run has
    /// worked on it.
    pub(super) fn tally(&self, number: usize, context: &mut Context<'_>) -> Result<(u64, u64)> {
        let section = &self.sections[number];
        let plan = self.plan.of_branch(section.name.as_str(), &self.home.worktree, "");
        let counts = context.reader()?.counts(&Scope::Plan(plan.key()))?;
        Ok(match counts.total() {
            0 => (section.ticked as u64, section.tasks as u64),
            total => (counts.done, total),
        })
    }

    /// Warns about parts of the plan that ralph will not work on.
    pub(super) fn warn(&self, context: &mut Context<'_>) {
        for name in &self.empty {
            context.out.warning(format!("branch {name} has no tasks in the plan"));
        }
        for Stray { line, title } in &self.stray {
            let file = self.plan.name();
            context.out.warning(format!(
                "{file}:{line}: \"{}\" is in no branch, so ralph skips it; move it below a \
                 `## Branch:` heading",
                printable_line(title)
            ));
        }
    }

    /// Removes worktrees of branches that are done, clean and merged into their base.
    pub(super) fn remove_merged(&self, context: &mut Context<'_>) -> Done {
        if self.config.get(key::GIT_WORKTREE_KEEP) != "until-merged" {
            return Ok(());
        }
        let worktrees = self.worktrees();
        for ours in worktrees.ours()? {
            let at = self.sections.iter().position(|section| section.name == ours.branch);
            let Some(at) = at.filter(|at| self.sections[*at].ticked == self.sections[*at].tasks)
            else {
                continue;
            };
            let Some(base) = self.base_of(at) else { continue };
            let merged = is_merged(&self.home, ours.branch.as_str(), &base)?;
            if merged && !ours.unsaved && worktrees.check_removable(&ours.branch).is_ok() {
                worktrees.remove(&ours.branch)?;
                // A branch that is merged into its base needs no pull request.
                let _ = self.remote.records.forget(ours.branch.as_str());
                context.out.note(format!("{} is merged: ralph removed its worktree", ours.branch));
            }
        }
        Ok(())
    }

    /// Removes the worktree of a branch that has just been completed, if the settings keep none.
    pub(super) fn remove_finished(&self, number: usize, context: &mut Context<'_>) {
        if self.config.get(key::GIT_WORKTREE_KEEP) == "never" {
            self.remove_worktree(&self.sections[number].name, context);
        }
    }

    /// Removes the worktree of a branch, and says where its uncommitted work is. Returns whether it is gone.
    pub(super) fn remove_worktree(&self, branch: &BranchName, context: &mut Context<'_>) -> bool {
        match self.worktrees().remove(branch) {
            Ok(removed) => {
                if let Some(wip) = removed.and_then(|removed| removed.saved) {
                    let name = wip.saved.name;
                    context.out.note(format!("{branch}: uncommitted work is saved in {name}"));
                }
                true
            }
            Err(error) => {
                context.out.warning(format!("ralph keeps the worktree of {branch}: {error}"));
                false
            }
        }
    }

    /// The order of the branches.
    pub(super) fn schedule(&self) -> Schedule {
        // All of them run in parallel, unless the user limits them.
        let set = self.config.is_set(key::LOOP_JOBS).then(|| self.config.get(key::LOOP_JOBS));
        let jobs = set.map_or(0, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX));
        let mut schedule = Schedule::new(self.sections.clone(), jobs);
        if let Some(only) = self.only {
            schedule.only(only);
        }
        schedule
    }

    pub(super) fn rehearsed(&self, options: &RunOptions) -> Result<String> {
        let mut order = self.schedule();
        let at_once = std::iter::from_fn(|| order.next_lane()).count();
        let meant = (0..self.sections.len()).filter(|at| self.only.is_none_or(|only| only == *at));
        let lanes = meant.map(|at| {
            let section = &self.sections[at];
            let names = section.needs.iter().map(|need| self.sections[*need].name.to_string());
            LaneDryRun {
                branch: section.name.to_string(),
                goal: section.goal.clone(),
                base: match (&section.base, section.needs.first()) {
                    (None, Some(need)) => self.sections[*need].name.to_string(),
                    _ => self.base_of(at).unwrap_or_default(),
                },
                needs: names.collect(),
                done: section.ticked as u64,
                total: section.tasks as u64,
            }
        });
        let page = LanesDryRun {
            source: self.plan.name().to_owned(),
            max_iterations: sessions_of(options, &self.config, named("branches")?),
            once: options.once,
            at_once: at_once as u64,
            lanes: lanes.collect(),
        };
        Ok(page.text())
    }
}

fn find(sections: &[Section], name: &str) -> Result<usize> {
    let place = sections.iter().position(|section| section.name.as_str() == name);
    place.ok_or_else(|| {
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        let failed = run_failed!("the plan has no branch {name}");
        let all = names.join(", ");
        failed.near(name, names, format!("it has: {all}"))
    })
}

fn section_error(plan: &PlanFile, text: &str, error: &SectionError) -> CliError {
    let failed = run_failed!("{}: {error}", plan.name());
    let line = match error {
        SectionError::Name { line, .. }
        | SectionError::UnknownNeed { line, .. }
        | SectionError::Circle { line, .. } => Some(*line),
        SectionError::Together(_) => None,
    };
    let excerpt = line.and_then(|line| text.lines().nth(line.saturating_sub(1)));
    let failed = match excerpt {
        Some(line) => failed.excerpt(format!("  {}", line.trim_end())),
        None => failed,
    };
    match error {
        SectionError::Name { .. } | SectionError::Together(_) => {
            failed.hint("rename the section, for example: ## Branch: add-login")
        }
        SectionError::UnknownNeed { .. } => failed.hint("add that section, or fix the Needs: line"),
        SectionError::Circle { .. } => failed.hint("remove one of the Needs: lines"),
    }
}
