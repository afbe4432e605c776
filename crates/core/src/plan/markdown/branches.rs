//! Plans of branches: sections `## Branch: name`, each with a goal, a base and checkboxes.

use std::collections::HashMap;

use super::doc::{Group, ItemState, PlanDoc, PlanKind, Stray, Warning};
use super::items::{CheckboxCollector, bare, list, value_of};
use super::outline::{LineKind, Outline};
use crate::plan::PlanError;
use crate::plan::json::quoted;

/// The name of the branch that a heading starts, which may be empty.
pub(super) fn name(words: &str) -> Option<&str> {
    let head = words.get(.."branch".len()).filter(|head| head.eq_ignore_ascii_case("branch"))?;
    let name = words[head.len()..].trim_start().strip_prefix(':')?;
    Some(name.trim().trim_matches('`').trim())
}

pub(super) fn read(outline: &Outline<'_>) -> Result<PlanDoc, PlanError> {
    let mut doc = PlanDoc::empty(PlanKind::Branches);
    let mut checkboxes = CheckboxCollector::of(outline);
    let mut outside = CheckboxCollector::of(outline);
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut branch = None;
    for (index, line) in outline.lines.iter().enumerate() {
        if let LineKind::Heading { level, words, underlined, .. } = &line.kind {
            let words = &outline.text[words.clone()];
            let found = name(words).filter(|_| *level == 2);
            // `Base: master` above a rule is not a heading.
            if *underlined && field(&mut doc, branch, outline.content(line)) {
                continue;
            }
            if *level == 1 && doc.name.is_none() {
                doc.name = bare(words);
            }
            if *level <= 2 {
                branch = None;
                checkboxes.end_section(*level, index);
            }
            match branch {
                Some(_) => checkboxes.line(index, branch),
                None if found.is_some() => outside.end_section(*level, index),
                None => outside.line(index, None),
            }
            if let Some(name) = found {
                check(name, line.number, &mut seen)?;
                branch = Some(doc.groups.len());
                let title = name.to_owned();
                doc.groups.push(Group { title, line: line.number, ..Group::default() });
            }
            continue;
        }
        match branch {
            Some(_) => checkboxes.line(index, branch),
            None => outside.line(index, None),
        }
        if line.under.is_none() && matches!(line.kind, LineKind::Text | LineKind::Bullet { .. }) {
            field(&mut doc, branch, outline.content(line));
        }
    }
    (doc.items, doc.warnings) = checkboxes.finish();
    doc.stray = stray(outside);
    doc.warnings.extend(doc.stray.iter().map(|stray| Warning {
        line: stray.line,
        text: format!(
            "\"{}\" is in no branch, so ralph skips it; move it below a `## Branch:` heading",
            stray.title
        ),
    }));
    doc.warnings.sort_by_key(|warning| warning.line);
    Ok(doc)
}

/// The checkboxes that are neither done nor dropped. What has parts is done with them.
fn stray(checkboxes: CheckboxCollector<'_, '_>) -> Vec<Stray> {
    let (items, _) = checkboxes.finish();
    let doc = PlanDoc { items, ..PlanDoc::empty(PlanKind::Branches) };
    let (standings, parents) = (doc.standings(), doc.parents());
    let items = doc.items.into_iter().zip(standings).zip(parents);
    let open = items.filter(|((_, state), is_parent)| {
        !is_parent && matches!(state, ItemState::Open | ItemState::Waits)
    });
    open.map(|((item, _), _)| Stray { line: item.line, title: item.title }).collect()
}

fn check<'t>(
    name: &'t str,
    line: usize,
    seen: &mut HashMap<&'t str, usize>,
) -> Result<(), PlanError> {
    let problem = match seen.insert(name, line) {
        _ if name.is_empty() => "a branch needs a name: ## Branch: name".to_owned(),
        Some(first) => format!("the branch {} is already on line {first}", quoted(name)),
        None => return Ok(()),
    };
    Err(PlanError { line, problem })
}

/// Reads a line such as `Base: master`, if it is one. What is said first counts.
fn field(doc: &mut PlanDoc, branch: Option<usize>, line: &str) -> bool {
    let Some(group) = branch.and_then(|branch| doc.groups.get_mut(branch)) else {
        return false;
    };
    let value = |key| value_of(line, key).map(|range| &line[range]);
    if let Some(goal) = value("goal") {
        group.goal = group.goal.take().or_else(|| bare(goal));
    } else if let Some(base) = value("base") {
        group.base = group.base.take().or_else(|| bare(base));
    } else if let Some(needs) = value("needs").filter(|_| group.needs.is_empty()) {
        group.needs = list(needs);
    } else if let Some(touches) = value("touches").filter(|_| group.touches.is_empty()) {
        group.touches = list(touches);
    } else {
        return ["needs", "touches"].into_iter().any(|key| value(key).is_some());
    }
    true
}
