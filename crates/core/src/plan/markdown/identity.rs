//! Which item of a plan is which known task, after the user or an agent has edited the file.
//!
//! In four steps, each only among those that the ones before left: the same title in the same
//! group, the same title elsewhere (moved), the same text below another title or a title in other
//! words (reworded), and the rest is new or gone. The first two are look-ups. The third compares
//! pairs, all of them while they are few and only near ones otherwise.

use std::collections::HashMap;

use super::doc::PlanDoc;
use super::likeness::{Words, plain};
use crate::ids::TaskId;

/// Up to so many pairs, all are compared.
const FEW_PAIRS: usize = 40_000;
/// With more, each item is compared with so many on either side of its place.
const NEAR: usize = 8;
/// Titles this alike are one title in other words.
const ALIKE: f64 = 0.62;
/// In the same place between the same neighbors less likeness is enough.
const ALIKE_IN_PLACE: f64 = 0.45;
/// Repeated titles are aligned by what stands around them up to so many; more pair in order.
const FEW_TWINS: usize = 64;

/// A task as it was in an earlier reading. The order of a list of them is that of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub id: TaskId,
    pub title: String,
    pub body: String,
    pub group: Option<String>,
    pub done: bool,
}

/// Which item is which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identified {
    /// For each item the known task that it is, as an index; `None` for a new one.
    pub items: Vec<Option<usize>>,
    /// The known tasks that no longer have an item.
    pub gone: Vec<usize>,
}

pub fn identify(known: &[Known], doc: &PlanDoc) -> Identified {
    let known = known
        .iter()
        .map(|known| Entry::new(&known.title, &known.body, known.group.as_deref(), known.done));
    pair(&known.collect::<Vec<_>>(), &entries(doc))
}

/// What is compared of a task.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    title: String,
    body: &'t str,
    group: Option<String>,
    done: bool,
}

impl<'t> Entry<'t> {
    fn new(title: &str, body: &'t str, group: Option<&str>, done: bool) -> Self {
        Self { title: plain(title), body: body.trim(), group: group.map(plain), done }
    }
}

/// The items of a plan, to be compared.
pub(super) fn entries(doc: &PlanDoc) -> Vec<Entry<'_>> {
    let group = |index| doc.group_of(index).map(|group| group.title.as_str());
    doc.items
        .iter()
        .enumerate()
        .map(|(index, item)| Entry::new(&item.title, &item.body, group(index), item.is_done()))
        .collect()
}

/// Pairs former entries with present ones.
pub(super) fn pair(old: &[Entry<'_>], new: &[Entry<'_>]) -> Identified {
    let mut pairs =
        Pairs { old, new, old_of: vec![None; new.len()], new_of: vec![None; old.len()] };
    pairs.same(|entry| (entry.group.as_deref(), entry.title.as_str()));
    pairs.same(|entry| (None, entry.title.as_str()));
    pairs.reworded();
    let gone = (0..old.len()).filter(|index| pairs.new_of[*index].is_none()).collect();
    Identified { items: pairs.old_of, gone }
}

struct Pairs<'e, 't> {
    old: &'e [Entry<'t>],
    new: &'e [Entry<'t>],
    old_of: Vec<Option<usize>>,
    new_of: Vec<Option<usize>>,
}

type Key<'e> = (Option<&'e str>, &'e str);

impl<'e, 't> Pairs<'e, 't> {
    fn join(&mut self, old: usize, new: usize) {
        self.old_of[new] = Some(old);
        self.new_of[old] = Some(new);
    }

    /// Those not paired yet, former and present.
    fn left(&self) -> (Vec<usize>, Vec<usize>) {
        let open = |of: &[Option<usize>]| (0..of.len()).filter(|at| of[*at].is_none()).collect();
        (open(&self.new_of), open(&self.old_of))
    }

    /// Pairs those with the same key.
    fn same(&mut self, key: impl Fn(&'e Entry<'t>) -> Key<'e>) {
        let (old, new) = self.left();
        let mut by_key: HashMap<Key<'e>, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for index in old {
            by_key.entry(key(&self.old[index])).or_default().0.push(index);
        }
        for index in new {
            if let Some((_, new)) = by_key.get_mut(&key(&self.new[index])) {
                new.push(index);
            }
        }
        for (old, new) in by_key.into_values() {
            if old.len() == new.len() || old.len().max(new.len()) > FEW_TWINS {
                old.into_iter().zip(new).for_each(|(old, new)| self.join(old, new));
            } else {
                self.align(&old, &new);
            }
        }
    }

    /// Pairs twins in their order so that as much as possible of what is around them agrees.
    fn align(&mut self, old: &[usize], new: &[usize]) {
        let mut best = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
        for (i, a) in old.iter().enumerate().rev() {
            for (j, b) in new.iter().enumerate().rev() {
                let both = best[i + 1][j + 1] + self.agreement(*a, *b);
                best[i][j] = both.max(best[i + 1][j]).max(best[i][j + 1]);
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < old.len() && j < new.len() {
            if best[i][j] == best[i + 1][j + 1] + self.agreement(old[i], new[j]) {
                self.join(old[i], new[j]);
                (i, j) = (i + 1, j + 1);
            } else if best[i][j] == best[i + 1][j] {
                i += 1;
            } else {
                j += 1;
            }
        }
    }

    /// How much speaks for two entries of one title; at least 1.
    fn agreement(&self, old: usize, new: usize) -> u32 {
        let title = |entries: &'e [Entry<'t>], at: Option<usize>| {
            at.and_then(|at| entries.get(at)).map(|entry| entry.title.as_str())
        };
        let before = title(self.old, old.checked_sub(1)) == title(self.new, new.checked_sub(1));
        let after = title(self.old, Some(old + 1)) == title(self.new, Some(new + 1));
        let (old, new) = (&self.old[old], &self.new[new]);
        let body = old.body == new.body && !old.body.is_empty();
        1 + 6 * u32::from(body)
            + 3 * u32::from(before)
            + 2 * u32::from(after)
            + u32::from(old.done == new.done)
    }

    /// Pairs titles in other words, the most alike first.
    fn reworded(&mut self) {
        let (old, new) = self.left();
        let words = |entries: &'e [Entry<'t>], left: &[usize]| -> Vec<Words<'e>> {
            left.iter().map(|index| Words::of(&entries[*index].title)).collect()
        };
        let (old_words, new_words) = (words(self.old, &old), words(self.new, &new));
        let all = old.len() * new.len() <= FEW_PAIRS;
        let mut found: Vec<(f64, usize, usize)> = Vec::new();
        let mut from = 0;
        for (j, b) in new.iter().enumerate() {
            // Former ones that stood where this one stands now.
            while from < old.len() && old[from] < self.place(*b) {
                from += 1;
            }
            let range = match all {
                true => 0..old.len(),
                false => from.saturating_sub(NEAR)..(from + NEAR).min(old.len()),
            };
            for i in range {
                let likeness = old_words[i].likeness(&new_words[j]);
                found.extend(self.score(old[i], *b, likeness).map(|score| (score, old[i], *b)));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, old, new) in found {
            if self.new_of[old].is_none() && self.old_of[new].is_none() {
                self.join(old, new);
            }
        }
    }

    /// The former place that comes after that of the nearest paired entry above.
    fn place(&self, new: usize) -> usize {
        let above = self.old_of[..new].iter().rev().take(NEAR * 4).find_map(|old| *old);
        above.map_or(new, |old| old + 1)
    }

    /// How much speaks for a rewording, if enough does.
    fn score(&self, old: usize, new: usize, likeness: f64) -> Option<f64> {
        let above = |of: &[Option<usize>], at: usize| at.checked_sub(1).map(|at| of[at]);
        // Paired with each other, or both at the edge of the plan.
        let in_place = match (above(&self.new_of, old), above(&self.old_of, new)) {
            (None, None) => true,
            (Some(Some(paired)), _) => new.checked_sub(1) == Some(paired),
            _ => false,
        } || match (self.new_of.get(old + 1), self.old_of.get(new + 1)) {
            (None, None) => true,
            (Some(Some(paired)), _) => *paired == new + 1,
            _ => false,
        };
        let (old, new) = (&self.old[old], &self.new[new]);
        let same_group = old.group == new.group;
        let same_body = !old.body.is_empty() && old.body == new.body;
        let enough = if in_place && same_group { ALIKE_IN_PLACE } else { ALIKE };
        let likeness = if same_body { likeness.max(0.7) } else { likeness };
        let bonus = 0.1 * f64::from(u8::from(same_group)) + 0.1 * f64::from(u8::from(in_place));
        (likeness >= enough).then_some(likeness + bonus)
    }
}
