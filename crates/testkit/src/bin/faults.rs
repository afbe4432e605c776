//! Runs the fault campaign, prints its table and adds its results to a file. Ends with 1 when anything was
//! not survived, and with 64 when it was called wrongly.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_engine::clock::{Stopwatch, now};
use ralph_testkit::Times;
use ralph_testkit::faults::{
    MachineInfo, ROWS, Record, Row, Setting, inside, page, read, row, sums,
};

const USAGE: &str = "\
usage: faults [--row NAME]... [--times N|short|full] [--seed S] [--level none|landlock|full]
              [--ralph PATH] [--results FILE] [--write PAGE] [--list]

Disturbs ralph in every way of the list and counts what was lost, done twice, left behind or hung.

  --row NAME      only this row; may be given again
  --times N       tries of each row: a number, short (default) or full
  --seed S        what chance hangs on (default 1)
  --level LEVEL   the box around agents (default none)
  --ralph PATH    the ralph to test (default: the one beside this program)
  --results FILE  where results are added (default target/faults.jsonl)
  --write PAGE    put the sums of all results into the table of this page
  --list          list the rows and end
";

struct Call {
    rows: Vec<&'static Row>,
    setting: Setting,
    results: PathBuf,
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    if inside() {
        return ExitCode::SUCCESS;
    }
    let here = std::env::current_exe().unwrap_or_default();
    let beside = here.with_file_name("ralph");
    let mut call = match parse(std::env::args().skip(1), beside) {
        Ok(Some(call)) => call,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            say(&mut io::stderr(), &format!("error: {error}\n\n{USAGE}"));
            return ExitCode::from(64);
        }
    };
    call.setting.again = vec![here.into_os_string()];
    match run(&call) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&mut io::stderr(), &format!("error: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>, beside: PathBuf) -> Result<Option<Call>, String> {
    let setting = Setting {
        ralph: beside,
        level: "none".to_owned(),
        seed: 1,
        times: Times::Short,
        again: vec![],
    };
    let results = PathBuf::from("target/faults.jsonl");
    let mut call = Call { rows: vec![], setting, results, page: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--row" => {
                let name = value()?;
                call.rows.push(row(&name).ok_or(format!("there is no row {name}; see --list"))?);
            }
            "--times" => {
                let text = value()?;
                call.setting.times = Times::parse(&text).ok_or(format!("--times {text}"))?;
            }
            "--seed" => {
                let text = value()?;
                call.setting.seed = text.parse().map_err(|_| format!("--seed {text}"))?;
            }
            "--level" => {
                call.setting.level = value()?;
                if !["none", "landlock", "full"].contains(&call.setting.level.as_str()) {
                    return Err(format!("--level {}", call.setting.level));
                }
            }
            "--ralph" => call.setting.ralph = value()?.into(),
            "--results" => call.results = value()?.into(),
            "--write" => call.page = Some(value()?.into()),
            "--list" => {
                let list: String =
                    ROWS.iter().map(|row| format!("{:14} {}\n", row.name, row.fault)).collect();
                say(&mut io::stdout(), &list);
                return Ok(None);
            }
            "-h" | "--help" => {
                say(&mut io::stdout(), USAGE);
                return Ok(None);
            }
            other => return Err(format!("unexpected: {other}")),
        }
    }
    if call.rows.is_empty() {
        call.rows = ROWS.iter().collect();
    }
    call.setting.ralph = call.setting.ralph.canonicalize().map_err(|error| {
        let ralph = call.setting.ralph.display();
        format!("{ralph}: {error}; build it with cargo build -p ralph, or name one with --ralph")
    })?;
    Ok(Some(call))
}

/// Runs the rows. Whether all was survived.
fn run(call: &Call) -> io::Result<bool> {
    let (mut records, mut held) = (vec![], true);
    let place = MachineInfo::here();
    for row in &call.rows {
        say(&mut io::stderr(), &format!("{}: {}\n", row.name, row.fault));
        let clock = Stopwatch::start();
        let tally = (row.run)(&call.setting);
        let took = clock.elapsed().as_secs();
        let holds = tally.holds();
        held &= holds;
        let mut text = format!("{}: {} ({took} s)\n", row.name, tally.line());
        for complaint in &tally.complaints {
            text += &format!("  {}\n", complaint.replace('\n', "\n    "));
        }
        if !holds {
            text += &format!("{}: NOT survived\n", row.name);
        }
        say(&mut io::stderr(), &text);
        let record = Record::new(row.name, tally, &call.setting, &place, now());
        add(&call.results, &record)?;
        records.push(record);
    }
    say(&mut io::stdout(), &format!("\n{}", sums(&records)));
    if let Some(path) = &call.page {
        let old = std::fs::read_to_string(path)?;
        let new = page(&old, &sums(&read(&call.results)?))
            .ok_or_else(|| io::Error::other(format!("{} has no table", path.display())))?;
        std::fs::write(path, new)?;
    }
    Ok(held)
}

fn add(results: &Path, record: &Record) -> io::Result<()> {
    if let Some(folder) = results.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(results)?;
    file.write_all(record.to_line().as_bytes())
}

/// Whoever reads may be gone.
fn say(to: &mut dyn Write, text: &str) {
    let _ = to.write_all(text.as_bytes());
}
