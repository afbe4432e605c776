//! What users see when something is wrong: each row types a command into a shell and shows its output and exit code,
//! without color. The terminal has 80 columns; the first row of each section, and all rows about arguments, are typed
//! at 120 columns too, and only there the width may matter. The rows are the files in `rows/`:
//!
//! ```text
//! ## a section, with a fresh repository
//! + a command that sets it up
//! $ a command that is shown
//! its output, as users see it
//! [its exit code]
//! ```
//!
//! `RALPH_BLESS=1 cargo test -p ralph --test it screens` writes the outputs; read the diff. [`texts`] compares the
//! rows with the texts in the code.

mod not_shown;
mod texts;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_testkit::TestEnv;

/// The widths of the terminal.
const WIDTHS: [&str; 2] = ["80", "120"];

fn rows() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens/rows")
}

/// A line that a shell runs.
fn is_typed(line: &str) -> bool {
    line.starts_with("+ ") || line.starts_with("$ ")
}

/// A repository, a home, and processes that end with it.
struct Place {
    env: TestEnv,
}

impl Place {
    fn new() -> Self {
        let env = TestEnv::in_memory(crate::RALPH);
        std::fs::create_dir(env.folder().join("bin")).unwrap();
        std::os::unix::fs::symlink(crate::RALPH, env.folder().join("bin/ralph")).unwrap();
        Self { env }
    }

    /// Begins a section: nothing is left of the one before.
    fn fresh(&self) {
        self.end_processes();
        for entry in std::fs::read_dir(self.env.folder()).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with("bin") => {}
                true => std::fs::remove_dir_all(path).unwrap(),
                false => std::fs::remove_file(path).unwrap(),
            }
        }
        for name in ["home", "notes", "repo", "tmp"] {
            std::fs::create_dir(self.env.folder().join(name)).unwrap();
        }
        self.env.git(&["init", "--quiet", "--initial-branch=main", "--template="]);
        let config = "[user]\n\tname = You\n\temail = you@example.com\n";
        std::fs::write(self.env.home().join(".gitconfig"), config).unwrap();
    }

    fn end_processes(&self) {
        let pids = std::fs::read_to_string(self.env.folder().join("pids")).unwrap_or_default();
        for pid in pids.split_whitespace() {
            let _ = Command::new("kill").arg(pid).stderr(Stdio::null()).status();
        }
    }

    /// What a line prints, on both streams, and its exit code.
    fn run(&self, line: &str, width: &str) -> (String, i32) {
        let call = self.env.command(&[]);
        let path = std::env::var("PATH").unwrap();
        let script = format!("exec 2>&1\n{}\n{line}", include_str!("prelude.sh"));
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", format!("{}/bin:{path}", self.env.folder().display()));
        command.env("COLUMNS", width).env("NO_COLOR", "1").env("TZ", "UTC");
        command.current_dir(self.env.repo()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (self.without_places(&text), output.status.code().unwrap_or(-1))
    }

    /// The text without folders, processes and times of this run.
    fn without_places(&self, text: &str) -> String {
        let folder = self.env.folder().display().to_string();
        let text = text.replace(&format!("{folder}/repo"), "/repo");
        let text = text.replace(&format!("{folder}/home"), "/home/you").replace(&folder, "/tmp");
        let text = after(&text, "pid ", "4711", |letter| letter.is_ascii_digit());
        let text = after(&text, "until 20", "30-01-01T00:00:00Z", |letter| {
            letter.is_ascii_digit() || "-:TZ".contains(letter)
        });
        let text = after(&text, "/clone-", "0123456789abcdef", |letter| letter.is_ascii_hexdigit());
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.end_processes();
    }
}

/// Replaces the letters behind each `mark`.
fn after(text: &str, mark: &str, by: &str, of: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(&of);
        let shown = if rest.len() == part.len() { "" } else { by };
        format!("{text}{mark}{shown}{rest}")
    })
}

/// A section with the outputs of now.
fn shown(place: &Place, section: &[&str], all_wide: bool) -> String {
    place.fresh();
    let (mut text, mut first, mut is_wide) = (String::new(), vec![], true);
    for line in section.iter().filter(|line| is_typed(line) || line.starts_with("## ")) {
        text.push_str(&format!("{line}\n"));
        if let Some(typed) = line.strip_prefix("+ ") {
            first.push(typed);
        } else if let Some(typed) = line.strip_prefix("$ ") {
            if !first.is_empty() {
                let (output, code) = place.run(&format!("set -e\n{}", first.join("\n")), WIDTHS[0]);
                assert_eq!(code, 0, "{first:#?} failed: {output}");
                first.clear();
            }
            let narrow = place.run(typed, WIDTHS[0]);
            let wide = (is_wide || all_wide).then(|| place.run(typed, WIDTHS[1]));
            is_wide = false;
            match wide.filter(|wide| *wide != narrow) {
                None => text.push_str(&format!("{}[{}]\n", narrow.0, narrow.1)),
                Some(wide) => {
                    for (width, (output, code)) in WIDTHS.iter().zip([narrow, wide]) {
                        text.push_str(&format!("--- {width} columns\n{output}[{code}]\n"));
                    }
                }
            }
        }
    }
    text
}

/// Every row of a file is as the file says.
fn check(name: &str) {
    let (place, path) = (Place::new(), rows().join(name));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("## "))
        .map(|(n, _)| n)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut now = format!("{}\n", lines[..starts[0]].join("\n").trim_end());
    for (start, end) in starts.iter().zip(ends) {
        now.push_str(&format!("\n{}", shown(&place, &lines[*start..end], name == "words.txt")));
    }
    if std::env::var_os("RALPH_BLESS").is_some() {
        std::fs::write(&path, now).unwrap();
        return;
    }
    let differs = now.lines().zip(text.lines()).find(|(now, then)| now != then);
    assert!(
        now == text,
        "{name} shows something else: {differs:#?}\nRALPH_BLESS=1 cargo test -p ralph --test it screens, then read \
         the diff\n{now}"
    );
}

macro_rules! files {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { check($name); })*
        const FILES: &[&str] = &[$($name),*];
    };
}

files! {
    errors_of_branches: "branches.txt",
    errors_of_features: "features.txt",
    errors_of_history: "history.txt",
    errors_of_places: "places.txt",
    errors_of_plans: "plans.txt",
    errors_of_runs: "runs.txt",
    errors_of_settings: "settings.txt",
    errors_of_tasks: "tasks.txt",
    errors_of_words: "words.txt",
}

#[test]
fn every_file_of_rows_has_its_test() {
    let mut names: Vec<String> = std::fs::read_dir(rows())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, FILES);
}

/// Help wraps at the width of the terminal. The reference has the texts.
#[test]
fn every_help_screen_fits_the_terminal() {
    let mut env = crate::env();
    let page = include_str!("../../../../../docs/cli.md");
    let names = page.lines().filter_map(|line| line.strip_prefix("## ralph"));
    let names: Vec<Vec<&str>> = names.map(|name| name.split_whitespace().collect()).collect();
    assert!(names.len() > 40, "only {} commands", names.len());
    for width in WIDTHS {
        env.set("COLUMNS", width);
        let some = if width == WIDTHS[0] { names.len() } else { 5 };
        for name in names.iter().take(some) {
            let help = env.ralph(&[&["help"], name.as_slice()].concat()).success();
            let is_long = |line: &&str| line.chars().count() > width.parse().unwrap();
            let long = help.lines().find(is_long);
            assert_eq!(long, None, "ralph help {} at {width} columns", name.join(" "));
        }
    }
}
