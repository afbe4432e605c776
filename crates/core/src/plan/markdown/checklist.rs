//! Checklists: checkboxes anywhere, or headings `### Task N: title` with a status line.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::doc::{Group, Item, PlanDoc, PlanKind, Tick};
use super::items::{CheckboxCollector, bare, body, list, says_none, title, value_of};
use super::mark::Mark;
use super::outline::{LineKind, Outline, OutlineLine, after_break};

pub(super) fn read(outline: &Outline<'_>) -> PlanDoc {
    let mut doc = PlanDoc::empty(PlanKind::Checklist);
    doc.name = outline.plain_headings().find_map(|(_, words)| bare(words));
    let tasks = heading_tasks(outline);
    if tasks.iter().any(|task| task.status.is_some()) {
        read_headings(outline, &tasks, &mut doc);
    } else {
        read_boxes(outline, &mut doc);
    }
    doc
}

/// The headings above the current line, outermost first, each with its group once it has one.
#[derive(Default)]
struct Above {
    headings: Vec<(u8, usize, String, Option<usize>)>,
    seen_any: bool,
}

impl Above {
    fn heading(&mut self, level: u8, line: usize, words: &str) {
        self.headings.retain(|(other, ..)| *other < level);
        // The title of the page is not a group.
        let is_title = !self.seen_any && level == 1;
        self.seen_any = true;
        if !is_title {
            self.headings.push((level, line, words.to_owned(), None));
        }
    }

    /// A heading that is a task itself.
    fn task(&mut self, level: u8) {
        self.headings.retain(|(other, ..)| *other < level);
        self.seen_any = true;
    }

    fn group(&mut self, doc: &mut PlanDoc) -> Option<usize> {
        let (_, line, words, group) = self.headings.last_mut()?;
        Some(*group.get_or_insert_with(|| {
            doc.groups.push(Group { title: words.clone(), line: *line, ..Group::default() });
            doc.groups.len() - 1
        }))
    }
}

fn read_boxes(outline: &Outline<'_>, doc: &mut PlanDoc) {
    let mut checkboxes = CheckboxCollector::of(outline);
    let mut above = Above::default();
    for (index, line) in outline.lines.iter().enumerate() {
        match &line.kind {
            LineKind::Heading { level, words, checkbox: None, .. } => {
                above.heading(*level, line.number, &outline.text[words.clone()]);
                checkboxes.line(index, None);
            }
            LineKind::Heading { level, checkbox: Some(_), .. } => {
                above.task(*level);
                let group = above.group(doc);
                checkboxes.line(index, group);
            }
            LineKind::Box { .. } | LineKind::Row | LineKind::Text => {
                let group = above.group(doc);
                checkboxes.line(index, group);
            }
            _ => checkboxes.line(index, None),
        }
    }
    (doc.items, doc.warnings) = checkboxes.finish();
    drop_empty_groups(doc);
}

/// A heading above nothing but text is not a group.
fn drop_empty_groups(doc: &mut PlanDoc) {
    let mut used = vec![false; doc.groups.len()];
    doc.items.iter().filter_map(|item| item.group).for_each(|group| used[group] = true);
    let mut place = 0..;
    let places: Vec<Option<usize>> =
        used.iter().map(|used| used.then(|| place.next()).flatten()).collect();
    let mut index = 0..;
    doc.groups.retain(|_| index.next().is_some_and(|index| used[index]));
    for item in &mut doc.items {
        item.group = item.group.and_then(|group| places[group]);
    }
}

/// A heading `Task N: title` and the lines below it.
struct HeadingTask<'t> {
    heading: usize,
    level: u8,
    label: &'t str,
    words: &'t str,
    /// The lines below it, up to the next heading of its level.
    lines: Range<usize>,
    /// The line of its status, and the words.
    status: Option<(usize, Range<usize>)>,
}

fn heading_tasks<'t>(outline: &Outline<'t>) -> Vec<HeadingTask<'t>> {
    let mut tasks: Vec<HeadingTask<'_>> = Vec::new();
    // The task whose section is not over yet.
    let mut current: Option<usize> = None;
    for (index, line) in outline.lines.iter().enumerate() {
        if let LineKind::Heading { level, words, .. } = &line.kind {
            let found = task_heading(&outline.text[words.clone()]).filter(|_| *level >= 2);
            let open = current.map(|current| &mut tasks[current]);
            if let Some(open) = open.filter(|open| *level <= open.level || found.is_some()) {
                open.lines.end = index;
                current = None;
            }
            if let Some((label, words)) = found {
                let lines = index + 1..outline.lines.len();
                current = Some(tasks.len());
                tasks.push(HeadingTask {
                    heading: index,
                    level: *level,
                    label,
                    words,
                    lines,
                    status: None,
                });
            }
        } else if let Some(task) = current.map(|current| &mut tasks[current])
            && task.status.is_none()
        {
            let value = field(outline, line, "status");
            task.status = value.map(|range| (index, range));
        }
    }
    tasks
}

/// The label and the title of a heading such as `Task 3: Write it`.
fn task_heading(words: &str) -> Option<(&str, &str)> {
    let head = words.get(.."task".len()).filter(|head| head.eq_ignore_ascii_case("task"))?;
    let rest = words[head.len()..].strip_prefix([' ', '\t', '-', '#'])?.trim_start();
    let rest = rest.strip_prefix('#').unwrap_or(rest);
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let is_label = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let length = rest.find(|c| !is_label(c)).unwrap_or(rest.len());
    let label = rest[..length].trim_end_matches('.');
    let behind = rest[label.len()..].trim_start_matches([':', '.', ')', '-', '–', '—', ' ', '\t']);
    Some((label, behind.trim()))
}

/// The place in the text of the value of `**Key:** value`, outside of checkboxes and code.
fn field(outline: &Outline<'_>, line: &OutlineLine, key: &str) -> Option<Range<usize>> {
    let readable = matches!(line.kind, LineKind::Text | LineKind::Bullet { .. });
    let range =
        value_of(outline.content(line), key).filter(|_| readable && line.under.is_none())?;
    Some(line.start + range.start..line.start + range.end)
}

fn read_headings(outline: &Outline<'_>, tasks: &[HeadingTask<'_>], doc: &mut PlanDoc) {
    let mut above = Above::default();
    let mut tasks = tasks.iter().peekable();
    for (index, line) in outline.lines.iter().enumerate() {
        let LineKind::Heading { level, words, .. } = &line.kind else { continue };
        match tasks.next_if(|task| task.heading == index) {
            Some(task) => {
                above.task(*level);
                let group = above.group(doc);
                doc.items.push(heading_item(outline, task, group));
            }
            None => above.heading(*level, line.number, &outline.text[words.clone()]),
        }
    }
}

fn heading_item(outline: &Outline<'_>, task: &HeadingTask<'_>, group: Option<usize>) -> Item {
    let heading = &outline.lines[task.heading];
    let text = outline.text;
    let (mut spec, mut deps, mut below) = (None, Vec::new(), Vec::new());
    for index in task.lines.clone() {
        let line = &outline.lines[index];
        let value = |key| field(outline, line, key).map(|range| &text[range]);
        if task.status.as_ref().is_some_and(|(status, _)| *status == index) {
            continue;
        }
        if let Some(found) = value("spec").filter(|_| spec.is_none()) {
            spec = bare(found).filter(|found| !says_none(found));
        } else if let Some(found) = value("dependencies").or_else(|| value("depends on")) {
            deps = list(&found.replace(" and ", ", ").replace(" & ", ", "));
        } else {
            below.push(index);
        }
    }
    let fallback = || (format!("Task {}", task.label), false);
    let (title, cut) = title(task.words).unwrap_or_else(fallback);
    let mut whole = if cut { format!("{}\n\n", task.words) } else { String::new() };
    whole.push_str(&body(outline, &below));
    let words = task.status.as_ref().map(|(_, range)| range.clone());
    let last = task.lines.clone().next_back().map_or(heading.end, |index| outline.lines[index].end);
    let status = words.as_ref().map(|range| text[range.clone()].to_owned());
    // The underline of a heading is the line below it.
    let is_underlined = matches!(heading.kind, LineKind::Heading { underlined: true, .. });
    let above = task.heading + usize::from(is_underlined);
    let end = outline.lines.get(above).unwrap_or(heading);
    let next = outline.lines.get(above + 1);
    let crowded = next.is_some_and(|next| next.number == end.number + 1);
    Item {
        line: heading.number,
        title,
        body: whole.trim_end().to_owned(),
        mark: match status.as_deref().is_some_and(says_done) {
            true => Mark::Done,
            false => Mark::Open,
        },
        group,
        parent: None,
        label: Some(task.label.to_owned()),
        status,
        spec,
        deps,
        span: heading.start..after_break(outline.text, last),
        tick: words.map_or(Tick::Missing(end.end, crowded), Tick::Words),
    }
}

/// Whether the words of a status say that the task is done.
fn says_done(words: &str) -> bool {
    let words = words.trim();
    if words.starts_with(['✅', '✔', '☑']) || words.starts_with("[x]") || words.starts_with("[X]")
    {
        return true;
    }
    let letters = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = letters.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(
        first.to_lowercase().as_str(),
        "done" | "complete" | "completed" | "finished" | "implemented"
    )
}

/// The words to write for a status, in the case of those that were there.
pub(super) fn status_words(item: &Item, done: bool) -> String {
    let first = item.status.as_deref().and_then(|words| words.chars().find(|c| c.is_alphabetic()));
    let small = first.is_some_and(char::is_lowercase);
    match (done, small) {
        (true, true) => "complete",
        (true, false) => "Complete",
        (false, true) => "not started",
        (false, false) => "Not started",
    }
    .to_owned()
}

/// For each item of `wanted` what its dependencies mean: see [`PlanDoc::dependencies`].
pub(super) fn dependencies(
    doc: &PlanDoc,
    wanted: Range<usize>,
) -> impl Iterator<Item = (Vec<usize>, Vec<&str>)> {
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let some = doc.items.get(wanted.clone()).unwrap_or_default();
    if some.iter().any(|item| !item.deps.is_empty()) {
        for (index, item) in doc.items.iter().enumerate() {
            by_name.entry(item.title.to_lowercase()).or_insert(index);
            if let Some(label) = &item.label {
                by_name.entry(label.to_lowercase()).or_insert(index);
            }
        }
    }
    some.iter().zip(wanted).map(move |(item, index)| meant(item, index, &by_name))
}

/// The items that an item depends on, each once, and the words that mean none.
fn meant<'d>(
    item: &'d Item,
    own: usize,
    by_name: &HashMap<String, usize>,
) -> (Vec<usize>, Vec<&'d str>) {
    let (mut found, mut unknown, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for words in &item.deps {
        let wanted = words.to_lowercase();
        let label = wanted.strip_prefix("tasks").or_else(|| wanted.strip_prefix("task"));
        let label = label.unwrap_or(&wanted).trim_start_matches([' ', '#', '-']);
        // `Task 1 (the schema)` and `Task 1: the schema` mean Task 1.
        let short = label.split([' ', ':', '(']).next().unwrap_or_default();
        let index = [wanted.as_str(), label, short].iter().find_map(|name| by_name.get(*name));
        match index {
            Some(index) if *index == own => unknown.push(words.as_str()),
            Some(index) if seen.insert(*index) => found.push(*index),
            Some(_) => {}
            None => unknown.push(words),
        }
    }
    (found, unknown)
}
