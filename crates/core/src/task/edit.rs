//! Making and changing tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{FeatureName, TaskId};
use crate::text::Title;

/// Which task comes first: 0 before 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Priority(u16);

impl Priority {
    pub const MAX: u16 = 9999;

    pub fn new(number: i64) -> Result<Self, PriorityError> {
        match u16::try_from(number) {
            Ok(value) if value <= Self::MAX => Ok(Self(value)),
            _ => Err(PriorityError { number }),
        }
    }
}

/// In the middle of the 0 to 4 that most plans use.
impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TryFrom<i64> for Priority {
    type Error = PriorityError;
    fn try_from(number: i64) -> Result<Self, PriorityError> {
        Self::new(number)
    }
}

impl From<Priority> for i64 {
    fn from(priority: Priority) -> i64 {
        i64::from(priority.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a priority is a whole number from 0 (first) to 9999, not {number}")]
pub struct PriorityError {
    number: i64,
}

/// What to change on a task. `None` leaves a field as it is; a `Some` of nothing empties it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named")]
    pub category: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named")]
    pub spec: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named")]
    pub reference: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named")]
    pub parent: Option<Option<TaskId>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named")]
    pub feature: Option<Option<FeatureName>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "named")]
    pub branch: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deps: Option<Vec<TaskId>>,
}

/// A field that is given: `null` empties it. serde does not call this for a field that is left out.
fn named<'de, D, T>(from: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from).map(Some)
}

impl TaskPatch {
    /// This patch, and where `later` names a field, that one.
    #[must_use]
    pub fn amended(self, later: Self) -> Self {
        Self {
            title: later.title.or(self.title),
            description: later.description.or(self.description),
            priority: later.priority.or(self.priority),
            category: later.category.or(self.category),
            spec: later.spec.or(self.spec),
            reference: later.reference.or(self.reference),
            parent: later.parent.or(self.parent),
            feature: later.feature.or(self.feature),
            branch: later.branch.or(self.branch),
            touches: later.touches.or(self.touches),
            steps: later.steps.or(self.steps),
            deps: later.deps.or(self.deps),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A task to create. Fields left out of `fields` get their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Its id, or `None` for a generated one.
    pub id: Option<TaskId>,
    /// Its title; `fields.title` is not read.
    pub title: Title,
    pub fields: TaskPatch,
}

impl NewTask {
    /// A task with a title and nothing else.
    pub fn titled(title: Title) -> Self {
        Self { id: None, title, fields: TaskPatch::default() }
    }
}
