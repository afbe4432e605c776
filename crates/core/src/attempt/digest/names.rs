//! The names of failing tests, by the habits of the programs that run tests. Most name a test in one
//! line; mocha needs several, and JUnit's XML and go's JSON are read as what they are.

use serde::Deserialize;

/// What remembers the lines before.
#[derive(Debug, Default)]
pub(super) struct Runners {
    mocha: Mocha,
    /// The test of JUnit's XML that is open.
    open: Option<String>,
}

impl Runners {
    /// The test that failed, if the clean line says so.
    pub(super) fn take(&mut self, line: &str) -> Option<String> {
        if let Some(name) = self.mocha.take(line) {
            return Some(name);
        }
        failing_test(line).map(str::to_owned)
    }

    /// The tests that failed by a raw line of JUnit's XML, each with its first message. Of anything else
    /// nothing.
    pub(super) fn take_xml(&mut self, raw: &str) -> Vec<(String, String)> {
        if self.open.is_none() && !raw.contains("<testcase") {
            return vec![];
        }
        let mut found = Vec::new();
        let mut rest = raw;
        while let Some(start) = rest.find('<') {
            let Some(length) = end_of_tag(&rest[start..]) else { break };
            let tag = &rest[start + 1..start + length];
            rest = &rest[start + length + 1..];
            let kind = tag.split(|c: char| c.is_whitespace() || c == '/').next();
            match (kind, tag.starts_with('/')) {
                (Some("testcase"), _) => {
                    let name = attribute(tag, "name").unwrap_or_default();
                    self.open = match attribute(tag, "classname") {
                        _ if tag.ends_with('/') => None,
                        Some(class) if !class.is_empty() => Some(format!("{class}.{name}")),
                        _ => Some(name),
                    };
                }
                (Some("failure" | "error"), _) => {
                    let message = attribute(tag, "message").unwrap_or_default();
                    found.extend(self.open.clone().map(|test| (test, message)));
                }
                (_, true) if tag == "/testcase" => self.open = None,
                _ => {}
            }
        }
        found
    }
}

/// A line of `go test -json`.
#[derive(Debug, Deserialize)]
pub(super) struct GoEvent {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Test", default)]
    test: String,
    #[serde(rename = "Output", default)]
    pub(super) output: String,
}

impl GoEvent {
    /// The event that a raw line is, if it is one.
    pub(super) fn read(raw: &str) -> Option<Self> {
        let raw = raw.trim();
        if !raw.starts_with('{') || !raw.contains("\"Action\":") {
            return None;
        }
        serde_json::from_str(raw).ok()
    }

    pub(super) fn passed(&self) -> bool {
        self.action == "pass" && !self.test.is_empty()
    }

    pub(super) fn failed(&self) -> Option<&str> {
        (self.action == "fail" && !self.test.is_empty()).then_some(self.test.as_str())
    }
}

/// The name of the test that the line reports as failed.
pub(super) fn failing_test(line: &str) -> Option<&str> {
    let line = line.trim();
    let known = [
        cargo, nextest, go, python, javascript, tap, rspec, numbered, gradle, surefire, deno,
        dotnet, bun, swift,
    ];
    let name = known.into_iter().find_map(|read| read(line))?.trim();
    (!name.is_empty()).then_some(name)
}

/// `test tests::adds ... FAILED`
fn cargo(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// `FAIL [   0.005s] (1/9) my-crate tests::adds`
fn nextest(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(" [")?;
    let failed = matches!(word, "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL")
        || (word.starts_with("SIG") && word.chars().all(|c| c.is_ascii_uppercase()));
    let (time, rest) = rest.split_once(']')?;
    let timed = time.trim().strip_suffix('s')?.chars().all(|c| matches!(c, '0'..='9' | '.' | '>'));
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest,
        None => rest,
    };
    (failed && timed).then_some(rest)
}

/// `--- FAIL: TestAdds (0.00s)`
fn go(line: &str) -> Option<&str> {
    line.strip_prefix("--- FAIL: ")?.split_whitespace().next()
}

/// `FAILED tests/test_a.py::test_b - assert 1 == 2`, `ERROR tests/test_a.py`, and
/// `FAIL: test_b (module.Class)` of unittest.
fn python(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        // Parameters are in brackets, and may hold what else would end the name.
        let end = match (rest.find('['), rest.find(" - ")) {
            (Some(open), Some(dash)) if open < dash => rest.find("] - ").map(|end| end + 1),
            (_, dash) => dash,
        };
        let name = &rest[..end.unwrap_or(rest.len())];
        return name.split("::").next()?.ends_with(".py").then_some(name);
    }
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    let (test, class) = rest.split_once(" (")?;
    let one_word = !test.contains(char::is_whitespace) && !class.contains(char::is_whitespace);
    (one_word && class.ends_with(')')).then_some(rest)
}

/// `● suite › adds`, `✕ adds (5 ms)`, `× suite > adds 5ms`, `FAIL src/a.test.ts > suite > adds`
fn javascript(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("● ") {
        return name.contains(" › ").then_some(name);
    }
    if let Some(name) = line.strip_prefix(['✕', '✗', '×', '✖']) {
        let name = untimed(name);
        // The heading of node's own runner.
        return (!name.ends_with("failing tests:")).then_some(name);
    }
    let name = line.strip_prefix("FAIL ")?.trim_start();
    let file = name.split_whitespace().next()?;
    [".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".vue"]
        .iter()
        .any(|extension| file.ends_with(extension))
        .then_some(name)
}

/// The name without how long it took: `(5 ms)` or `5ms` at its end.
fn untimed(name: &str) -> &str {
    if let Some((name, _)) = name.rsplit_once(" (").filter(|(_, time)| time.ends_with("s)")) {
        return name;
    }
    let is_time = |word: &str| {
        let number = word.strip_suffix("ms").or_else(|| word.strip_suffix('s'));
        number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| matches!(c, '0'..='9' | '.')))
    };
    name.rsplit_once(' ').filter(|(_, word)| is_time(word)).map_or(name, |(name, _)| name)
}

/// `not ok 3 - adds`
fn tap(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("not ok ")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name);
    // TAP marks failures that are expected.
    (!name.contains("# TODO") && !name.contains("# SKIP")).then_some(name)
}

/// `rspec ./spec/calc_spec.rb:5 # Calc adds`: what it is about, for lines move.
fn rspec(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("rspec ").filter(|rest| rest.contains(".rb"))?;
    Some(rest.split_once(" # ").map_or(rest, |(_, about)| about))
}

/// `1) Tests\CalcTest::testAdds` of phpunit, `1) test adds (CalcTest)` of mix.
fn numbered(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let phpunit = name.split_whitespace().next().is_some_and(|word| word.contains("::"));
    let mix = name.starts_with("test ") && name.ends_with(')') && name.contains(" (");
    (is_number && (phpunit || mix)).then_some(name)
}

/// `CalcTest > adds() FAILED`
fn gradle(line: &str) -> Option<&str> {
    let name = line.strip_suffix(" FAILED")?;
    (name.contains(" > ") && !name.starts_with('>')).then_some(name)
}

/// `[ERROR] org.example.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!`
fn surefire(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[ERROR]").unwrap_or(line).trim_start();
    let rest = rest.strip_suffix("<<< FAILURE!").or_else(|| rest.strip_suffix("<<< ERROR!"))?;
    let (name, _) = rest.split_once("Time elapsed:")?;
    let name = name.trim_end().trim_end_matches("--").trim_end();
    (!name.starts_with("Tests run:")).then_some(name)
}

/// `adds ... FAILED (5ms)`
fn deno(line: &str) -> Option<&str> {
    let (name, time) = line.split_once(" ... FAILED (")?;
    time.ends_with("s)").then_some(name)
}

/// `Failed Calc.Tests.Adds [5 ms]`
fn dotnet(line: &str) -> Option<&str> {
    let (name, time) = line.strip_prefix("Failed ")?.rsplit_once(" [")?;
    time.ends_with("s]").then_some(name)
}

/// `(fail) suite > adds [0.10ms]`
fn bun(line: &str) -> Option<&str> {
    let name = line.strip_prefix("(fail) ")?;
    Some(name.rsplit_once(" [").filter(|(_, time)| time.ends_with("s]")).map_or(name, |(n, _)| n))
}

/// `Test Case '-[CalcTests.CalcTests testAdds]' failed (0.002 seconds).`
fn swift(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Test Case '")?;
    rest.split_once("' failed (").map(|(name, _)| name)
}

/// The list at the end of mocha's output: a number, the suites and the test below each other, a colon.
#[derive(Debug, Default)]
struct Mocha {
    listing: bool,
    parts: Vec<String>,
}

impl Mocha {
    /// How many suites deep a name is followed.
    const DEPTH: usize = 20;

    fn take(&mut self, line: &str) -> Option<String> {
        let text = line.trim();
        if let Some(count) = text.strip_suffix(" failing") {
            self.listing = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
            self.parts.clear();
            return None;
        }
        if !self.listing {
            return None;
        }
        let (number, name) = text.split_once(") ").unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            self.parts = vec![name.to_owned()];
        } else if self.parts.is_empty() || text.is_empty() || self.parts.len() > Self::DEPTH {
            self.parts.clear();
            return None;
        } else {
            self.parts.push(text.to_owned());
        }
        let last = self.parts.last()?.strip_suffix(':')?.to_owned();
        self.parts.pop();
        self.parts.push(last);
        Some(std::mem::take(&mut self.parts).join(" › "))
    }
}

/// Where the tag that a text begins with ends; quotes may hold anything.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// The value of an attribute, without its entities.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!(" {name}="))? + name.len() + 2;
    let quote = tag[start..].chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = tag[start + 1..].split(quote).next()?;
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#10;", " ")];
    let value = plain.iter().fold(value.to_owned(), |text, (from, to)| text.replace(from, to));
    Some(value.replace("&amp;", "&"))
}
