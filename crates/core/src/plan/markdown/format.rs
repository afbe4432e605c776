//! Markdown plans for `ralph import` and `ralph export`.
//!
//! Markdown has no ids, so an imported task gets one that follows from its group and its title: the
//! same file brought in twice changes nothing.

use std::collections::{HashMap, HashSet};

use super::doc::{Item, ItemState, PlanDoc, PlanKind, read};
use super::items::{title, value_of};
use super::likeness::plain;
use super::mark::Mark;
use super::outline::{LineKind, Outline};
use crate::ids::{IdError, TaskId, generated};
use crate::plan::json::refuse_repeated;
use crate::plan::tally::Tally;
use crate::plan::{Done, Plan, PlanError, PlanTask};
use crate::stable_hash::stable_hash;
use crate::task::TaskPatch;
use crate::text::{TextError, Title, label, long};

/// Whether a file of this name and content is meant to be this kind of plan.
pub(in crate::plan) fn recognizes(kind: PlanKind, file_name: &str, text: &str) -> bool {
    // Standard input has no name; a list of checkboxes could still be anything.
    let is_named =
        is_markdown(file_name) || (kind != PlanKind::Checklist && !file_name.contains('.'));
    is_named && PlanKind::of(file_name, text) == kind
}

pub(in crate::plan) fn parse(kind: PlanKind, text: &str) -> Result<Plan, PlanError> {
    plan_of(&read(kind, text)?, text, None)
}

fn is_markdown(file_name: &str) -> bool {
    let name = file_name.to_ascii_lowercase();
    [".md", ".markdown"].iter().any(|end| name.ends_with(end))
}

/// Whether a file is a checklist in which most titles have the numbers of a dialect. The others are named when they
/// are imported.
pub(super) fn is_checklist(file_name: &str, text: &str, has_number: impl Fn(&str) -> bool) -> bool {
    if !is_markdown(file_name) || PlanKind::of(file_name, text) != PlanKind::Checklist {
        return false;
    }
    read(PlanKind::Checklist, text).is_ok_and(|doc| {
        let numbered = doc.items.iter().filter(|item| has_number(&item.title)).count();
        numbered > 0 && numbered * 2 >= doc.items.len()
    })
}

/// What a tool says about tasks in the words of its checkboxes, which plain checklists do not say.
pub(super) struct Dialect {
    /// The number and the title of each item that has a number.
    pub(super) tasks: Vec<Option<Numbered>>,
    /// The category of each item, if it is not the heading above it.
    pub(super) categories: Option<Vec<Option<String>>>,
    /// The items that each item depends on.
    pub(super) deps: Vec<Vec<usize>>,
    /// What a number looks like.
    pub(super) number: &'static str,
}

/// A checkbox whose words begin with a number.
pub(super) struct Numbered {
    pub(super) id: TaskId,
    /// Its words without the number.
    pub(super) title: String,
}

/// What each item depends on when tasks follow each other. `step` returns the phase of an item, and whether it runs
/// in parallel with its neighbors of the phase that do too. Items with parts are done with them, and dropped items hold
/// up nothing.
pub(super) fn ordered(doc: &PlanDoc, step: impl Fn(usize) -> (usize, bool)) -> Vec<Vec<usize>> {
    let standings = doc.standings();
    let mut has_parts = vec![false; doc.items.len()];
    for (item, state) in doc.items.iter().zip(&standings) {
        if let Some(parent) = item.parent.filter(|_| *state != ItemState::Dropped) {
            has_parts[parent] = true;
        }
    }
    let mut deps = vec![Vec::new(); doc.items.len()];
    // What the next task waits for, and the parallel tasks since then.
    let (mut before, mut beside) = (Vec::new(), Vec::new());
    let mut last_phase = None;
    let counts = |index: &usize| !has_parts[*index] && standings[*index] != ItemState::Dropped;
    for index in (0..doc.items.len()).filter(counts) {
        let (phase, parallel) = step(index);
        let joins = parallel && last_phase == Some(phase);
        if !joins && !beside.is_empty() {
            before = std::mem::take(&mut beside);
        }
        last_phase = Some(phase);
        if parallel {
            deps[index].clone_from(&before);
            beside.push(index);
        } else {
            deps[index] = std::mem::replace(&mut before, vec![index]);
        }
    }
    deps
}

/// The tasks of a document.
pub(super) fn plan_of(
    doc: &PlanDoc,
    text: &str,
    dialect: Option<Dialect>,
) -> Result<Plan, PlanError> {
    let mut ids = content_ids(doc);
    let mut warnings: Vec<String> = doc.warnings.iter().map(ToString::to_string).collect();
    for (index, task) in dialect.iter().flat_map(|dialect| &dialect.tasks).enumerate() {
        match (task, &dialect) {
            (Some(task), _) => ids[index] = task.id.clone(),
            (None, Some(Dialect { number, .. })) => warnings.push(format!(
                "line {}: no number such as {number}, so ralph calls the task {}",
                doc.items[index].line, ids[index]
            )),
            (None, None) => {}
        }
    }
    let mut tally = Tally::default();
    let standings = doc.standings();
    let is_kept = |index: &usize| standings[*index] != ItemState::Dropped;
    let open = with_open_parts(doc, &standings);
    let deps = doc.all_dependencies();
    let kept = (0..doc.items.len()).filter(is_kept);
    let tasks = kept.map(|index| {
        let item = &doc.items[index];
        let at_line = |error: TextError| PlanError { line: item.line, problem: error.to_string() };
        let mut fields = fields(doc, index, &ids, &deps[index]).map_err(at_line)?;
        let mut title = &item.title;
        if let Some(dialect) = &dialect {
            title = dialect.tasks[index].as_ref().map_or(title, |task| &task.title);
            fields.deps = Some(dialect.deps[index].iter().map(|dep| ids[*dep].clone()).collect());
            if let Some(categories) = &dialect.categories {
                let category = categories[index].as_deref().unwrap_or_default();
                fields.category = Some(label("category", category).map_err(at_line)?);
            }
        }
        // What is done stays so below an item that was dropped.
        fields.parent = Some(item.parent.filter(is_kept).map(|parent| ids[parent].clone()));
        tally.lost(!deps[index].1.is_empty(), "dependencies that name no task", "task");
        if item.is_done() && open[index] {
            tally.add("the tick of ", "task", " with open parts");
        }
        let done = (item.is_done() && !open[index]).then_some(Done { at: None });
        let title = Title::new(title).map_err(at_line)?;
        let waits = (standings[index] == ItemState::Waits).then(|| why_waiting(doc, index));
        Ok(PlanTask { line: item.line, id: ids[index].clone(), title, fields, done, waits })
    });
    let tasks = tasks.collect::<Result<Vec<_>, PlanError>>()?;
    refuse_repeated(&tasks)?;
    let dropped = (0..doc.items.len()).filter(|index| !is_kept(index));
    let dropped: Vec<TaskId> = dropped.map(|index| ids[index].clone()).collect();
    dropped.iter().for_each(|_| tally.add("", "task", " marked [-] (dropped)"));
    for group in doc.groups.iter().filter(|_| doc.kind == PlanKind::Branches) {
        tally.lost(group.goal.is_some(), "the goal", "branch section");
        tally.lost(group.base.is_some(), "the base", "branch section");
        tally.lost(!group.needs.is_empty(), "the needs", "branch section");
    }
    let mut not_kept = tally.sentences();
    if has_text_around(doc, text) {
        not_kept.push("the text around the tasks".to_owned());
    }
    Ok(Plan { tasks, dropped, warnings, not_kept })
}

/// An id that follows from words, and from how many came before with the same words.
pub(in crate::plan) fn words_id(words: &str, time: u64) -> Result<TaskId, IdError> {
    let id = generated("t-", mixed(hash_of("", &plain(words)) ^ mixed(time)));
    TaskId::new(id)
}

/// For each item an id that follows from its group, its title and how many came before it with
/// both: the same text always gives the same ids.
pub fn content_ids(doc: &PlanDoc) -> Vec<TaskId> {
    let mut times: HashMap<(Option<String>, String), u64> = HashMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    let ids = doc.items.iter().enumerate().map(|(index, item)| {
        let key = (doc.group_of(index).map(|group| plain(&group.title)), plain(&item.title));
        let mut hash = hash_of(key.0.as_deref().unwrap_or_default(), &key.1);
        let time = times.entry(key).or_default();
        hash = mixed(hash ^ mixed(*time));
        *time += 1;
        let mut id = generated("t-", hash);
        // Two in a file of ten thousand share 40 bits about once in twenty thousand files.
        while !taken.insert(id.clone()) {
            hash = mixed(hash);
            id = generated("t-", hash);
        }
        id
    });
    // What `generated` makes is an id.
    ids.filter_map(|id| TaskId::new(id).ok()).collect()
}

/// Of two texts and what is between them.
fn hash_of(group: &str, title: &str) -> u64 {
    stable_hash(group.bytes().chain([0x1f]).chain(title.bytes()))
}

/// The mixing step of SplitMix64: every bit of the input reaches every bit of the output.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Why an item waits: its own mark, or that of an item which it is a part of.
fn why_waiting(doc: &PlanDoc, index: usize) -> String {
    let above = std::iter::successors(Some(index), |index| doc.items[*index].parent);
    let marked = above.map(|index| &doc.items[index]).find_map(|item| match item.mark {
        Mark::Waits(mark) => Some(format!("marked [{mark}] on line {}", item.line)),
        _ => None,
    });
    marked.unwrap_or_default()
}

/// For each item whether something inside it is open or waits.
fn with_open_parts(doc: &PlanDoc, standings: &[ItemState]) -> Vec<bool> {
    let mut open = vec![false; doc.items.len()];
    for (index, item) in doc.items.iter().enumerate().rev() {
        let is_open = matches!(standings[index], ItemState::Open | ItemState::Waits) || open[index];
        if let Some(parent) = item.parent.filter(|_| is_open) {
            open[parent] = true;
        }
    }
    open
}

/// The fields that this kind of plan has words for.
fn fields(
    doc: &PlanDoc,
    index: usize,
    ids: &[TaskId],
    (deps, _): &(Vec<usize>, Vec<&str>),
) -> Result<TaskPatch, TextError> {
    let item: &Item = &doc.items[index];
    let group = doc.group_of(index);
    let name = group.and_then(|group| title(&group.title)).map(|(name, _)| name);
    let name = name.unwrap_or_default();
    let mut fields = TaskPatch {
        description: Some(long("description", item.body.as_str())?),
        ..TaskPatch::default()
    };
    if doc.kind == PlanKind::Branches {
        fields.branch = Some(label("branch", &name)?);
        let globs = group.map(|group| group.touches.as_slice()).unwrap_or_default();
        let globs = globs.iter().filter_map(|glob| label("touches", glob).transpose());
        fields.touches = Some(globs.collect::<Result<_, _>>()?);
    } else {
        fields.category = Some(label("category", &name)?);
    }
    if item.label.is_some() {
        fields.spec = Some(label("spec", item.spec.as_deref().unwrap_or_default())?);
        fields.deps = Some(deps.iter().map(|dep| ids[*dep].clone()).collect());
    }
    Ok(fields)
}

/// Whether the file says something outside of its tasks, headings and fields.
fn has_text_around(doc: &PlanDoc, text: &str) -> bool {
    let outline = Outline::of(text);
    let mut spans = doc.items.iter().map(|item| item.span.clone()).peekable();
    let is_field = |line: &str| {
        doc.kind == PlanKind::Branches
            && ["goal", "base", "needs", "touches"].iter().any(|key| value_of(line, key).is_some())
    };
    outline.lines.iter().any(|line| {
        // Spans of parts lie inside those of their parents, which come first and end last.
        while spans.next_if(|span| span.end <= line.start).is_some() {}
        let inside = spans.peek().is_some_and(|span| span.contains(&line.start));
        let heading = matches!(line.kind, LineKind::Heading { .. });
        !inside && !heading && !is_field(outline.content(line))
    })
}
