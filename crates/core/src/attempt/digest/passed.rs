//! How many tests passed, by the sums that programs which run tests print at their end. Where one prints no
//! sum, its lines about single tests are counted.

/// What the lines until now come to.
#[derive(Debug, Default)]
pub(super) struct Passed {
    sum: Option<u64>,
    single: Option<u64>,
}

impl Passed {
    /// How many tests passed; `None` where the output does not say.
    pub(super) fn total(&self) -> Option<u32> {
        self.sum.or(self.single).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// A test passed by itself.
    pub(super) fn one(&mut self) {
        *self.single.get_or_insert(0) += 1;
    }

    pub(super) fn take(&mut self, line: &str) {
        let line = line.trim();
        if is_passed_test(line) {
            self.one();
        } else if let Some(missed) =
            line.strip_prefix("FAILED (").and_then(|rest| rest.strip_suffix(')'))
        {
            // The end of unittest: the sum before it counts all tests.
            let missed: u64 = missed
                .split(", ")
                .filter_map(|part| part.split_once('=')?.1.parse::<u64>().ok())
                .sum();
            self.sum = self.sum.map(|sum| sum.saturating_sub(missed));
        } else if let Some(count) = sum(line) {
            *self.sum.get_or_insert(0) += count;
        }
    }
}

/// A line about one test, or one package of go, that passed.
fn is_passed_test(line: &str) -> bool {
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    line.starts_with("--- PASS: ")
        || line
            .strip_prefix("ok")
            .is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.contains('\t'))
        || line.strip_prefix("ok ").is_some_and(|rest| numbered(rest) && !rest.contains("# SKIP"))
}

fn sum(line: &str) -> Option<u64> {
    let sums = [listed, counted, run, labelled];
    sums.into_iter().find_map(|read| read(line))
}

/// Parts of which one is `3 passed`: cargo, nextest, pytest, jest, vitest, Deno.
fn listed(line: &str) -> Option<u64> {
    let starts = ["test result: ", "Summary [", "Tests: ", "Tests  ", "FAILED | ", "ok | "];
    let bare = line.trim_matches(['=', ' ']);
    let is_pytest = bare.starts_with(|c: char| c.is_ascii_digit())
        && bare.split_once(" in ").is_some_and(|(parts, time)| {
            time.contains('s')
                && (parts.contains(" passed")
                    || parts.contains(" failed")
                    || parts.contains(" error"))
        });
    let is_sum =
        starts.iter().any(|start| line.starts_with(start)) && !line.contains("Assertions:");
    (is_sum || is_pytest).then(|| before(line, "passed").unwrap_or(0))
}

/// `3 passing (5ms)` of mocha, `# pass 3` of node, `3 pass` of Bun.
fn counted(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [count, "passing"] | [count, "passing", _] | [count, "pass"] => count.parse().ok(),
        ["#" | "ℹ", "pass", count] => count.parse().ok(),
        _ => None,
    }
}

/// All tests, and how many of them failed or were left out: unittest, rspec, Mix, Gradle, Swift.
fn run(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let all = match words[..] {
        ["Ran", count, "test" | "tests", "in", _] => count,
        ["Executed", count, "test," | "tests,", "with", ..] => count,
        [count, "example," | "examples," | "test," | "tests,", ..] => count,
        [count, "test" | "tests", "completed,", ..] => count,
        _ => return None,
    };
    let missed = ["failure", "failures", "failed", "skipped", "pending", "excluded", "invalid"];
    let missed: u64 = missed.iter().filter_map(|word| before(line, word)).sum();
    Some(all.parse::<u64>().ok()?.saturating_sub(missed))
}

/// Numbers behind words: Maven, phpunit, .NET.
fn labelled(line: &str) -> Option<u64> {
    // Maven says first how bad it is: `[ERROR] Tests run: 4`.
    let line = match line.split_once("] ") {
        Some((_, rest)) if line.starts_with('[') => rest,
        _ => line,
    };
    let value = |name: &str| after(line, name).unwrap_or(0);
    if line.starts_with("Tests run:") && !line.contains("Time elapsed") {
        let missed = value("Failures:") + value("Errors:") + value("Skipped:");
        return Some(value("run:").saturating_sub(missed));
    }
    if line.starts_with("Tests:") && line.contains("Assertions:") {
        let missed =
            value("Failures:") + value("Errors:") + value("Skipped:") + value("Incomplete:");
        return Some(value("Tests:").saturating_sub(missed));
    }
    (line.contains("Failed:") && line.contains("Total:")).then(|| value("Passed:"))
}

/// The number before a word.
fn before(line: &str, wanted: &str) -> Option<u64> {
    let mut last = "";
    for word in line.split_whitespace() {
        if word.trim_matches([',', ';', '.', '|', '(', ')', '=']) == wanted
            && let Ok(count) = last.trim_matches(['(', '|', '=']).parse()
        {
            return Some(count);
        }
        last = word;
    }
    None
}

/// The number behind a word.
fn after(line: &str, wanted: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip_while(|word| *word != wanted);
    words.nth(1)?.trim_matches([',', '.', ')']).parse().ok()
}
