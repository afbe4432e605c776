//! Which tasks a statement is about, in SQL.

use rusqlite::ToSql;

use crate::ports::Scope;

pub(super) const READY: &str =
    "t.status = 'pending' AND t.open_blockers = 0 AND t.children = 0 AND t.failed_above = 0";

pub(super) const EXPIRED: &str =
    "t.lease_expires_at <= :now AND t.open_blockers = 0 AND t.children = 0 AND t.failed_above = 0";

pub(super) const fn ready_index(scope: &Scope) -> &'static str {
    match scope {
        Scope::All | Scope::Plan(_) => "tasks_ready",
        Scope::Feature(_) => "tasks_ready_of_feature",
        Scope::Task(_) => "tasks_by_id",
    }
}

/// The condition of a scope, and the value that it needs.
pub(super) fn scope_condition(scope: &Scope) -> (&'static str, Option<String>) {
    match scope {
        Scope::All => ("", None),
        Scope::Feature(name) => ("AND t.feature = :scope", Some(name.to_string())),
        Scope::Task(id) => ("AND t.id = :scope", Some(id.to_string())),
        Scope::Plan(file) => ("AND t.ref = :scope", Some(file.clone())),
    }
}

/// The values of a statement, with that of its scope.
pub(super) fn scoped<'a>(
    scope: &'a Option<String>,
    others: &[(&'a str, &'a dyn ToSql)],
) -> Vec<(&'a str, &'a dyn ToSql)> {
    let mut values = others.to_vec();
    if let Some(name) = scope {
        values.push((":scope", name));
    }
    values
}
