//! The results of campaigns: one line of JSON for each row that was run, summed to the table of the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::Command;

use ralph_core::Timestamp;
use serde_json::{Value, json};

use super::tally::Tally;
use super::{ROWS, Setting};

/// Where the table stands in the page.
const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->\n";

/// The machine and the code.
#[derive(Debug, Clone)]
pub struct MachineInfo {
    /// The kernel.
    pub kernel: String,
    /// How many cores.
    pub cores: usize,
    /// The file system of the worlds.
    pub file_system: String,
    /// The commit.
    pub commit: String,
}

impl MachineInfo {
    /// Here and now.
    pub fn here() -> Self {
        let printed = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().ok();
            let output = output.filter(|output| output.status.success());
            let text =
                output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
            text.unwrap_or_else(|| "unknown".to_owned())
        };
        let temporary = std::env::temp_dir().display().to_string();
        Self {
            kernel: printed("uname", &["-sr"]),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            file_system: printed("stat", &["-f", "-c", "%T", &temporary]),
            commit: printed("git", &["rev-parse", "--short", "HEAD"]),
        }
    }
}

/// One run of one row.
#[derive(Debug)]
pub struct Record {
    /// The row.
    pub row: String,
    /// Its figures.
    pub tally: Tally,
    date: String,
    place: String,
    seed: u64,
    level: String,
    commit: String,
}

impl Record {
    /// Of a run that has just ended.
    pub fn new(
        row: &str,
        tally: Tally,
        setting: &Setting,
        place: &MachineInfo,
        at: Timestamp,
    ) -> Self {
        let MachineInfo { kernel, cores, file_system, commit } = place;
        Self {
            row: row.to_owned(),
            tally,
            date: at.to_string().chars().take(10).collect(),
            place: format!("{kernel}, {cores} cores, {file_system}"),
            seed: setting.seed,
            level: setting.level.clone(),
            commit: commit.clone(),
        }
    }

    /// As a line of the file of results.
    pub fn to_line(&self) -> String {
        let Self { row, tally, date, place, seed, level, commit } = self;
        let mut value = tally.to_json();
        let rest = json!({
            "row": row, "date": date, "place": place, "seed": seed, "level": level, "commit": commit,
        });
        if let (Some(value), Value::Object(rest)) = (value.as_object_mut(), rest) {
            value.extend(rest);
        }
        format!("{value}\n")
    }

    fn from_line(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            row: text("row")?,
            tally: Tally::from_json(&value),
            date: text("date")?,
            place: text("place")?,
            seed: value["seed"].as_u64()?,
            level: text("level")?,
            commit: text("commit")?,
        })
    }
}

/// The results in a file; none when there is no file.
pub fn read(path: &Path) -> io::Result<Vec<Record>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter_map(Record::from_line).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(error),
    }
}

/// The table, and where it comes from.
pub fn sums(records: &[Record]) -> String {
    let mut text = String::from(
        "| fault | tried | survived | lost | duplicated | orphaned | hung | slowest resume |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut total = Tally::default();
    let mut notes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for row in ROWS {
        let mut sum = Tally::default();
        for record in records.iter().filter(|record| record.row == row.name) {
            sum.add(Tally::from_json(&record.tally.to_json()));
        }
        if sum.tried == 0 && sum.complaints.is_empty() && sum.notes.is_empty() {
            continue;
        }
        write_row(&mut text, &format!("{} (`{}`)", row.fault, row.name), &sum);
        notes.entry(row.name).or_default().extend(std::mem::take(&mut sum.notes));
        total.add(sum);
    }
    write_row(&mut text, "**all**", &total);
    for (row, notes) in notes.iter().filter(|(_, notes)| !notes.is_empty()) {
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        let _ = write!(text, "\n`{row}`: {}.\n", notes.join("; "));
    }
    let all = |of: fn(&Record) -> String| -> String {
        let found: BTreeSet<String> = records.iter().map(of).collect();
        found.into_iter().collect::<Vec<_>>().join(", ")
    };
    let _ = write!(
        text,
        "\nDate: {}. Machine: {}. Seeds: {}. Sandbox level: {}. Commits: {}.\n",
        all(|record| record.date.clone()),
        all(|record| record.place.clone()),
        all(|record| record.seed.to_string()),
        all(|record| record.level.clone()),
        all(|record| record.commit.clone()),
    );
    text
}

fn write_row(text: &mut String, name: &str, sum: &Tally) {
    let Tally { tried, survived, lost, duplicated, orphaned, hung, slowest, .. } = sum;
    let slowest = match slowest.as_millis() {
        0 => "–".to_owned(),
        ms => format!("{ms} ms"),
    };
    let _ = writeln!(
        text,
        "| {name} | {tried} | {survived} | {lost} | {duplicated} | {orphaned} | {hung} | {slowest} |"
    );
}

/// A page with a new table; `None` when it has no place for one.
pub fn page(old: &str, table: &str) -> Option<String> {
    let (before, rest) = old.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(row: &str, tried: usize, survived: usize, seed: u64) -> Record {
        let line = json!({
            "row": row, "date": "2026-01-02", "place": "Linux", "seed": seed, "level": "none",
            "commit": "abc", "tried": tried, "survived": survived, "slowest_ms": 7 * tried,
        });
        Record::from_line(&line.to_string()).unwrap()
    }

    #[test]
    fn results_of_several_runs_are_summed_and_read_back() {
        let records =
            [record("killed", 3, 3, 1), record("killed", 5, 4, 2), record("int", 1, 1, 1)];
        let text: String = records.iter().map(Record::to_line).collect();
        let again: Vec<Record> = text.lines().filter_map(Record::from_line).collect();
        let table = sums(&again);
        assert!(table.contains("(`killed`) | 8 | 7 | 0 | 0 | 0 | 0 | 35 ms |"), "{table}");
        assert!(table.contains("| **all** | 9 | 8 |") && table.contains("Seeds: 1, 2."), "{table}");
    }

    #[test]
    fn only_the_table_of_a_page_changes() {
        let old = format!("# Page\n{BEGIN}old\n{END}rest\n");
        let new = page(&old, "new").unwrap();
        assert_eq!(new, format!("# Page\n{BEGIN}\nnew\n{END}rest\n"));
        assert_eq!(page("no place", "new"), None);
    }
}
