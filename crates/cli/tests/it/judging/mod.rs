//! False completion: ways in which an agent says that work is done which is not, each beside the same act
//! done honestly. Under strict settings every false one must be refused and every honest one accepted; what
//! looser settings let through is measured and listed in `docs/false-completion.md`.
//!
//! Whether work is there is not asked of ralph: a fresh clone of the repository is tested after each run.
//!
//! `./check` runs every fourth case, beginning with another one for each commit; `./check --full` runs them all.

mod case;
mod files;
mod gates;
mod history;
mod outside;
mod page;
mod plans;
mod requests;
mod unstopped;
mod words;

use case::{Case, Level};
use ralph_testkit::sampled;

/// How a group of cases is named on the page, and its cases.
type Group = (&'static str, fn() -> Vec<Case>);

const GROUPS: [Group; 6] = [
    ("Words", words::cases),
    ("Files", files::cases),
    ("History", history::cases),
    ("Gates and tests", gates::cases),
    ("Plan files", plans::cases),
    ("Requests", requests::cases),
];

/// The names of all cases.
pub(crate) fn names() -> Vec<&'static str> {
    GROUPS.iter().flat_map(|(_, cases)| cases()).map(|case| case.name).collect()
}

/// Of so many cases one is run in a normal run of the tests.
const EVERY: usize = 4;

/// Runs a group: false ones at every level, honest ones at the strict one.
fn judge(group: usize) {
    let (name, cases) = GROUPS[group];
    let (number, blesses) = (cases().len(), std::env::var_os("RALPH_BLESS").is_some());
    let cases = if blesses { cases() } else { sampled(EVERY, cases()) };
    let judged = cases.iter().map(judge_case);
    let (rows, faults): (Vec<String>, Vec<Vec<String>>) = judged.unzip();
    let faults = faults.concat();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    match rows.len() == number {
        true => page::same_as_section(name, &rows),
        false => page::section_has(name, number, &rows),
    }
}

/// The row of a case, and what is wrong.
fn judge_case(case: &Case) -> (String, Vec<String>) {
    let found = Level::ALL.map(|level| case.lie(level));
    let mut faults: Vec<String> =
        found.iter().filter_map(|measured| measured.fault.clone()).collect();
    if found[0].accepted {
        faults.push(format!("{}: accepted, and it is not so", case.name));
    }
    let honest = case.honest();
    faults.extend(honest.fault.clone());
    if !honest.accepted {
        faults.push(format!("{}: honest and refused ({})", case.name, honest.why));
    }
    (page::row(case, &found), faults)
}

#[test]
fn words_are_not_work() {
    judge(0);
}

#[test]
fn files_are_counted_only_where_they_belong() {
    judge(1);
}

#[test]
fn history_is_looked_at_and_not_believed() {
    judge(2);
}

#[test]
fn what_judges_stays_as_it_was() {
    judge(3);
}

#[test]
fn a_plan_file_is_a_request() {
    judge(4);
}

#[test]
fn requests_count_for_their_own_task() {
    judge(5);
}

/// The figures that README and page tell are those of the lists above.
#[test]
fn the_figures_that_are_reported_are_those_of_the_suite() {
    let n = names().len();
    for file in ["README.md", "docs/false-completion.md"] {
        let text = std::fs::read_to_string(page::root().join(file)).unwrap();
        let prompt = format!("0 of {n} false claims accepted, 0 of {n} honest ones refused");
        assert!(text.contains(&prompt), "{file} does not say: {prompt}");
    }
    // What warm gates without protected files let through, by the page.
    let text = std::fs::read_to_string(page::root().join("docs/false-completion.md")).unwrap();
    let cells = text.lines().map(|line| line.split(" | ").collect::<Vec<_>>());
    let lax =
        cells.filter(|row| row.len() == 6 && row[1..3] == ["refused", "**accepted**"]).count();
    let prompt = format!("{lax} of the {n} false claims");
    let gates = std::fs::read_to_string(page::root().join("docs/gates.md")).unwrap();
    assert!(gates.contains(&prompt), "docs/gates.md does not say: {prompt}");
}
