//! Which files a folder stands for in `ralph import FOLDER`.

use std::path::{Path, PathBuf};

use crate::error::{CliError, Result};

/// Where tools keep their list below the folder of a feature, a change or a project; the first that exists counts.
const LISTS: [&str; 5] = ["tasks.md", "tasks/tasks.json", "tasks.json", "prd.json", "issues.jsonl"];

/// The file itself, or the list in a folder, or all JSON files of a folder: Claude Code keeps one for each task.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let list = LISTS.iter().map(|name| path.join(name)).find(|file| file.is_file());
    if let Some(list) = list {
        return Ok(vec![list]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| CliError::file(path, "read", error))?;
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end == "json");
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_json).collect();
    // 2.json comes before 10.json.
    files.sort_by_key(|file| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (stem.parse::<u64>().unwrap_or(u64::MAX), stem)
    });
    match files.is_empty() {
        false => Ok(files),
        true => Err(failed!("{} has no task list", path.display()).hint(format!(
            "ralph looks for {} and files like 1.json there; name the file itself",
            LISTS.join(", ")
        ))),
    }
}
