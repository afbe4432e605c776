//! `ralph feature list`, `show` and `delete`.

use ralph_core::FeatureName;
use ralph_core::task::Counts;
use ralph_engine::features::{FeatureFiles, TextFault};
use ralph_engine::ports::{Filter, Scope};
use ralph_ui::columns::{Cell, table};
use ralph_ui::style::Meaning;
use ralph_ui::tasks;

use super::interview;
use crate::error::{Done, Result, known_feature};
use crate::wiring::Context;

pub(super) fn list(json: bool, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let mut rows: Vec<(String, String, Counts)> = Vec::new();
    for feature in store.features()? {
        let counts = store.counts(&Scope::Feature(feature.name.clone()))?;
        rows.push((feature.name.to_string(), feature.id.to_string(), counts));
    }
    if json {
        let list: Vec<serde_json::Value> = rows
            .iter()
            .map(|(name, id, counts)| serde_json::json!({"name": name, "id": id, "counts": counts}))
            .collect();
        return context.out.json(&list);
    }
    if rows.is_empty() {
        return context.out.conclude("no features yet; create one: ralph feature create NAME");
    }
    let cells: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(name, id, counts)| {
            vec![
                Cell::meaning(name, Some(Meaning::Name)),
                Cell::new(id),
                Cell::new(counts.to_string()),
            ]
        })
        .collect();
    context.out.data(table(&["FEATURE", "ID", "TASKS"], 2, &cells, context.out.style))
}

pub(super) fn show(name: &FeatureName, json: bool, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let feature = known_feature(name, &mut *store)?;
    let counts = store.counts(&Scope::Feature(name.clone()))?;
    let list = store.list(&Filter { feature: Some(name.clone()), ..Filter::default() })?;
    let project = context.project()?;
    let files = FeatureFiles::of(&project, name);
    if json {
        let value = serde_json::json!({
            "name": name, "id": feature.id, "created_at": feature.created_at, "counts": counts,
            "spec": files.spec(), "plan": files.plan(),
            "spec_text": FeatureFiles::read(&files.spec())?,
            "plan_text": FeatureFiles::read(&files.plan())?,
            "question": open_question(&files)?,
            "proposed": FeatureFiles::read(&files.proposed())?.map(|text| text.lines().count()),
        });
        return context.out.json(&value);
    }
    let style = context.out.style;
    context.out.line(format!(
        "{}  {}",
        style.paint(Meaning::Name, name),
        style.paint(Meaning::Faint, &feature.id)
    ))?;
    context.out.line(format!("  {counts}"))?;
    let texts = [
        (files.spec(), FeatureFiles::spec_template(name)),
        (files.plan(), FeatureFiles::plan_template(name)),
    ];
    for (path, template) in texts {
        let fault = FeatureFiles::fault(&path, &template);
        let fault = fault.map(|fault| format!("  ({})", short(&fault))).unwrap_or_default();
        context.out.line(format!("  {}{fault}", path.display()))?;
    }
    if open_question(&files)?.is_some() {
        context.out.line("  a question about the spec is open")?;
        context.out.note(format!("see and answer it: ralph feature create {name} --interview"));
    }
    if files.proposed().exists() {
        context.out.line(format!("  {}", files.proposed().display()))?;
        context.out.note(format!("apply the proposed tasks: ralph feature build {name} --apply"));
    }
    if !list.is_empty() {
        context.out.line("")?;
        context.out.data(tasks::tree(&list, style))?;
    }
    Ok(())
}

fn short(fault: &TextFault) -> &'static str {
    match fault {
        TextFault::Missing => "missing",
        TextFault::NotAFile => "not a file",
        TextFault::Unreadable(_) => "unreadable",
        TextFault::Blank => "empty",
        TextFault::Template => "template",
    }
}

fn open_question(files: &FeatureFiles) -> Result<Option<String>> {
    Ok(interview::load(files)?.open_text().map(str::to_owned))
}

pub(super) fn delete(name: &FeatureName, confirm: bool, context: &mut Context<'_>) -> Done {
    for id in context.change(|store, by, now| store.delete_feature(name, confirm, by, now))? {
        context.out.line(id)?;
    }
    let files = FeatureFiles::of(&context.project()?, name);
    if files.folder.exists() {
        context.out.note(format!("its files stay in {}", files.folder.display()));
    }
    Ok(())
}
