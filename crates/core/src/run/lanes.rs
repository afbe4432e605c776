//! Several branches at once: which one may start, and their joint exit code.
//!
//! A lane is a run of one branch in a worktree of its own. This module owns only the order: which lane needs
//! which, which must not run in parallel, how many run at most. Each lane starts once, and again when its
//! section gets new tasks after all of it was done.

use std::collections::HashMap;

use crate::branch::{BranchError, BranchName, check_together};
use crate::glob;
use crate::plan::markdown::{Group, ItemState, PlanDoc};
use crate::task::cycle_in;

/// A branch section of a plan, as far as the order of lanes needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: BranchName,
    /// The line of its heading, from 1.
    pub line: usize,
    pub goal: String,
    /// What it starts from, where the plan says so.
    pub base: Option<String>,
    /// The indexes of the sections that must be complete first.
    pub needs: Vec<usize>,
    /// Patterns of the files that it changes; none is not known.
    pub touches: Vec<String>,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many of them are ticked.
    pub ticked: usize,
}

/// Why ralph cannot work on the sections of a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// A name that cannot be that of a branch.
    #[error("line {line}: {error}")]
    Name {
        /// The line of the heading.
        line: usize,
        error: BranchError,
    },
    /// Names that cannot both exist.
    #[error("{0}")]
    Together(BranchError),
    /// A branch that needs one which the plan does not have.
    #[error("line {line}: branch {branch} needs {needs}, and the plan has no such branch")]
    UnknownNeed {
        /// The line of the heading.
        line: usize,
        branch: String,
        needs: String,
    },
    /// Branches that need each other.
    #[error("line {line}: these branches need each other: {}", names.join(" → "))]
    Circle {
        /// The line of the first one's heading.
        line: usize,
        /// Each needs the next; the first is also the last.
        names: Vec<String>,
    },
}

/// The sections of a plan that have a task, checked against each other, and the names of those that have
/// none.
pub fn sections(doc: &PlanDoc) -> Result<(Vec<Section>, Vec<String>), SectionError> {
    let standings = doc.standings();
    let tally = |group: usize| {
        let own = |wanted: fn(&ItemState) -> bool| {
            let items = doc.items.iter().zip(&standings);
            items.filter(|(item, found)| item.group == Some(group) && wanted(found)).count()
        };
        (own(|found| *found != ItemState::Dropped), own(|found| *found == ItemState::Done))
    };
    let mut empty = Vec::new();
    let mut kept: Vec<(&Group, BranchName, usize, usize)> = Vec::new();
    for (at, group) in doc.groups.iter().enumerate() {
        let name = BranchName::new(&group.title)
            .map_err(|error| SectionError::Name { line: group.line, error })?;
        match tally(at) {
            (0, _) => empty.push(group.title.clone()),
            (tasks, ticked) => kept.push((group, name, tasks, ticked)),
        }
    }
    let names: Vec<BranchName> = kept.iter().map(|(_, name, ..)| name.clone()).collect();
    check_together(&names).map_err(SectionError::Together)?;
    let place: HashMap<&str, usize> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let mut found = Vec::new();
    for (group, name, tasks, ticked) in &kept {
        let needs = group.needs.iter().filter(|need| !empty.contains(need)).map(|need| {
            place.get(need.as_str()).copied().ok_or_else(|| SectionError::UnknownNeed {
                line: group.line,
                branch: group.title.clone(),
                needs: need.clone(),
            })
        });
        found.push(Section {
            name: name.clone(),
            line: group.line,
            goal: group.goal.clone().unwrap_or_default(),
            base: group.base.clone(),
            needs: needs.collect::<Result<_, _>>()?,
            touches: group.touches.clone(),
            tasks: *tasks,
            ticked: *ticked,
        });
    }
    match circle(&found) {
        Some(circle) => Err(SectionError::Circle {
            line: found[circle[0]].line,
            names: circle.into_iter().map(|at| found[at].name.to_string()).collect(),
        }),
        None => Ok((found, empty)),
    }
}

/// Sections that need each other, the first one again at the end.
fn circle(sections: &[Section]) -> Option<Vec<usize>> {
    let edges = (0..sections.len())
        .flat_map(|at| sections[at].needs.iter().map(move |need| (at as u32, *need as u32)));
    // Of several needs in a circle the first one counts, which is the last one that is seen.
    let edges: Vec<(u32, u32)> = edges.rev().collect();
    let circle = cycle_in(sections.len(), &edges)?;
    Some(circle.into_iter().map(|at| at as usize).collect())
}

/// The state of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Lane {
    Waiting,
    Running,
    /// All of it is done, and ralph watches its pull request.
    Watching,
    /// Whether all of it is done.
    Ended(bool),
    /// It never started.
    LeftOut,
}

/// Decides which lane starts next.
#[derive(Debug)]
pub struct Schedule {
    sections: Vec<Section>,
    lanes: Vec<Lane>,
    /// The tasks of each section, and how many were ticked, when its lane last started again.
    again: Vec<Option<(usize, usize)>>,
    /// The only lane that may start, where the user asked for one.
    only: Option<usize>,
    jobs: usize,
    stopped: bool,
}

impl Schedule {
    /// For these sections, at most `jobs` at a time; 0 is all of them.
    pub fn new(sections: Vec<Section>, jobs: usize) -> Self {
        let lanes = vec![Lane::Waiting; sections.len()];
        let again = vec![None; sections.len()];
        let jobs = if jobs == 0 { usize::MAX } else { jobs };
        Self { sections, lanes, again, only: None, jobs, stopped: false }
    }

    /// The sections.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Starts only this one; the others count as complete or not by what the plan says.
    pub fn only(&mut self, lane: usize) {
        self.only = Some(lane);
        for (at, section) in self.sections.iter().enumerate() {
            if at != lane {
                let complete = section.ticked == section.tasks;
                self.lanes[at] = if complete { Lane::Ended(true) } else { Lane::LeftOut };
            }
        }
    }

    /// Takes the current sections of the plan. New ones get a lane behind the others; one that was complete and
    /// has open tasks again starts again. Sections that are gone stay as they were.
    pub fn refresh(&mut self, found: &[Section]) {
        for section in found {
            if !self.sections.iter().any(|known| known.name == section.name) {
                let lane = if self.only.is_some() { Lane::LeftOut } else { Lane::Waiting };
                self.sections.push(section.clone());
                self.lanes.push(lane);
                self.again.push(None);
            }
        }
        let names: Vec<BranchName> =
            self.sections.iter().map(|section| section.name.clone()).collect();
        let place = |wanted: &BranchName| names.iter().position(|name| name == wanted);
        for section in found {
            let Some(at) = place(&section.name) else { continue };
            let needs = section.needs.iter().filter_map(|need| place(&found[*need].name));
            self.sections[at] = Section { needs: needs.collect(), ..section.clone() };
            let tally = (section.tasks, section.ticked);
            // Where the plan and the task database disagree, the lane must not start again and again.
            let news = section.ticked < section.tasks && self.again[at] != Some(tally);
            if self.lanes[at] == Lane::Ended(true)
                && news
                && self.only.is_none_or(|only| only == at)
            {
                self.again[at] = Some(tally);
                self.lanes[at] = Lane::Waiting;
            }
        }
    }

    /// The next lane that may start now; it counts as running from then on. `None` while it has to wait for
    /// others, and when none is left.
    pub fn next_lane(&mut self) -> Option<usize> {
        if self.stopped || self.running().count() >= self.jobs {
            return None;
        }
        let free = |at: &usize| {
            self.lanes[*at] == Lane::Waiting
                && self.sections[*at].needs.iter().all(|need| self.is_complete(*need))
                && !self.running().any(|other| self.touch(*at, other))
        };
        let next = (0..self.lanes.len()).find(free)?;
        self.lanes[next] = Lane::Running;
        Some(next)
    }

    /// A lane has ended; `complete` when all of it is done.
    pub fn ended(&mut self, lane: usize, complete: bool) {
        self.lanes[lane] = Lane::Ended(complete);
    }

    /// A lane only watches its pull request, or has work again. While it watches it takes up no place, and lanes
    /// that need it may start.
    pub fn watches(&mut self, lane: usize, watches: bool) {
        match (&self.lanes[lane], watches) {
            (Lane::Running, true) => self.lanes[lane] = Lane::Watching,
            (Lane::Watching, false) => self.lanes[lane] = Lane::Running,
            _ => {}
        }
    }

    /// Starts no more lanes.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether lanes are running.
    pub fn is_busy(&self) -> bool {
        self.lanes.iter().any(|lane| matches!(lane, Lane::Running | Lane::Watching))
    }

    /// The lanes that never started, each with the incomplete ones that it needs.
    pub fn left_out(&self) -> Vec<(usize, Vec<usize>)> {
        let waiting = (0..self.lanes.len()).filter(|at| self.lanes[*at] == Lane::Waiting);
        let missing = |at: usize| {
            let needs = self.sections[at].needs.iter().copied();
            needs.filter(|need| !self.is_complete(*need)).collect()
        };
        waiting.map(|at| (at, missing(at))).collect()
    }

    fn is_complete(&self, lane: usize) -> bool {
        matches!(self.lanes[lane], Lane::Ended(true) | Lane::Watching)
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.lanes.len()).filter(|at| self.lanes[*at] == Lane::Running)
    }

    fn touch(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.sections[one].touches, &self.sections[other].touches);
        glob::any_meet(one, other)
    }
}

/// Exit codes of lanes, the one with the highest precedence first.
pub const JOINT_ORDER: [u8; 12] = [130, 1, 5, 10, 4, 3, 6, 8, 7, 2, 9, 0];

/// The exit code of lanes that ended with these.
pub fn joint_code(codes: impl IntoIterator<Item = u8>) -> u8 {
    let rank = |code: &u8| JOINT_ORDER.iter().position(|known| known == code).unwrap_or(1);
    codes.into_iter().min_by_key(rank).unwrap_or(0)
}

#[cfg(test)]
mod tests;
