//! Every parser of bytes that come from outside, each with what must hold whatever they are. The fuzzer
//! runs them, and so does a test of the engine, on the inputs that are kept in `fuzz/corpus`.

use ralph_core::agent::{AgentEvent, ProcessEnd, Signals, Verdict};
use ralph_core::attempt::{digest, fingerprint, skill, weakened};
use ralph_core::branch::BranchName;
use ralph_core::forge::{Address, ForgeKind, HostEntry, Route, without_credentials};
use ralph_core::ids::{AgentId, FeatureName, TaskId};
use ralph_core::net::{Endpoint, Host};
use ralph_core::plan::markdown::{self, PlanKind};
use ralph_core::plan::{FORMATS, Proposals, parse_sync};
use ralph_core::redact::{Secrets, StreamKind};
use ralph_core::run::{Policy, RunEvent, RunState};
use ralph_core::time::Timestamp;
use ralph_core::{agents_md, glob, text};

/// A parser and its name.
type Target = (&'static str, fn(&[u8]));

/// All of them.
pub(crate) const ALL: &[Target] = &[
    ("acp", |bytes| decodes("acp", bytes)),
    ("claude", |bytes| decodes("claude", bytes)),
    ("script", |bytes| decodes("script", bytes)),
    ("cassette", cassette),
    ("signals", signals),
    ("plan_branches", |bytes| markdown_plan(PlanKind::Branches, bytes)),
    ("plan_progress", |bytes| markdown_plan(PlanKind::Progress, bytes)),
    ("plan_checklist", |bytes| markdown_plan(PlanKind::Checklist, bytes)),
    ("plan_prd", |bytes| plan("prd", bytes)),
    ("plan_beads", |bytes| plan("beads", bytes)),
    ("plan_sync", sync),
    ("proposals", proposals),
    ("agents_md", agents),
    ("state", state),
    ("journal", journal),
    ("socket", socket),
    ("forge", forge),
    ("git", ralph_engine::fuzzing::git_output),
    ("globs", globs),
    ("digest", digests),
    ("weakened", weakens),
    ("skill", skills),
    ("redact", redacts),
    ("text", texts),
    ("names", names),
    ("network", network),
];

fn network(bytes: &[u8]) {
    ralph_engine::fuzzing::proxy_bytes(bytes);
    let text = lossy(bytes);
    if let Ok(entry) = text.parse::<Endpoint>() {
        assert_eq!(entry.to_string().parse(), Ok(entry), "read back as the same");
    }
    if let Ok(host) = Host::parse(&text) {
        assert_eq!(Host::parse(&host.to_string()), Ok(host), "read back as the same");
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two texts out of one.
fn halves(bytes: &[u8]) -> (String, String) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0xFF);
    let mut part = || lossy(parts.next().unwrap_or_default());
    (part(), part())
}

fn decodes(agent: &str, bytes: &[u8]) {
    let Some(agent) = ralph_engine::agents::find(agent) else { panic!("no agent {agent}") };
    for (cut, is_active) in [(false, true), (true, false)] {
        let (mut driver, mut events) = ((agent.driver)(None), vec![]);
        driver.set_display_active(is_active);
        for line in bytes.split(|byte| *byte == b'\n') {
            driver.line(line, cut, &mut events, &mut vec![]);
        }
        for event in &events {
            if let AgentEvent::ToolStarted { input, .. } = event {
                assert!(!input.contains('\n'), "on one line");
            }
        }
        let end = driver.end(&ProcessEnd::Exited { code: i32::from(cut) }, &lossy(bytes));
        let json = serde_json::to_string(&end).expect("an end is JSON");
        assert_eq!(serde_json::from_str::<ralph_core::agent::SessionEnd>(&json).ok(), Some(end));
    }
    let _ = agent.version(&lossy(bytes));
}

fn cassette(bytes: &[u8]) {
    let _ = ralph_engine::agents::script::cassette::parse(&lossy(bytes));
}

fn signals(bytes: &[u8]) {
    let text = lossy(bytes);
    let found = Signals::read(&text);
    let all = found.done.iter().chain(&found.failed).chain(&found.promises);
    for content in all.chain(&found.reason).chain(&found.question) {
        assert!(!content.is_empty() && content.chars().count() <= 4_001, "{}", content.len());
    }
    let _ = (found.request("a"), Verdict::read(&text));
}

fn markdown_plan(kind: PlanKind, bytes: &[u8]) {
    let Ok(text) = markdown::decode(bytes) else { return };
    let _ = PlanKind::of("PLAN.md", text);
    let Ok(doc) = markdown::read(kind, text) else { return };
    assert_eq!(markdown::content_ids(&doc).len(), doc.items.len());
    assert_eq!(doc.parents().len(), doc.items.len());
    let _ = (doc.due_parents(), doc.all_dependencies());
    for format in FORMATS {
        let _ = (format.parse)(text);
    }
    assert_eq!(markdown::apply(text, &[]).as_deref(), Ok(text), "what is not changed stays");
}

fn plan(format: &str, bytes: &[u8]) {
    let text = lossy(bytes);
    let Some(format) = FORMATS.iter().find(|known| known.name == format) else {
        panic!("no format {format}")
    };
    let _ = (format.recognizes)("plan.json", &text);
    if let Err(error) = (format.parse)(&text) {
        assert!(error.to_string().len() < 4_000, "an error is a sentence");
    }
}

fn sync(bytes: &[u8]) {
    if let Err(error) = parse_sync(&lossy(bytes)) {
        assert!(error.to_string().len() < 4_000, "an error is a sentence");
    }
}

fn proposals(bytes: &[u8]) {
    let feature = FeatureName::new("feature").expect("a name");
    let Ok(read) = Proposals::from_lines(feature.clone(), &lossy(bytes)) else { return };
    let lines = read.to_lines();
    let again = Proposals::from_lines(feature, &lines).expect("what was written can be read");
    assert_eq!(again.to_lines(), lines);
}

fn agents(bytes: &[u8]) {
    let Some(command) = agents_md::test_command(&lossy(bytes)) else { return };
    let line = format!("```sh\n{}\n```\n", agents_md::test_command_line(&command));
    assert_eq!(agents_md::test_command(&line).as_deref(), Some(command.as_str()), "{line:?}");
}

fn state(bytes: &[u8]) {
    use ralph_engine::run_files::state_file::StateFile;
    let Ok(read) = toml::from_str::<StateFile>(&lossy(bytes)) else { return };
    let _ = (read.resume(vec![]), read.budget_left());
    let text = toml::to_string(&read).expect("a state is TOML");
    assert_eq!(toml::from_str::<StateFile>(&text).ok(), Some(read));
}

fn journal(bytes: &[u8]) {
    let mut state = RunState::new(Policy::default());
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<RunEvent>(line) else { continue };
        let json = serde_json::to_string(&event).expect("an event is JSON");
        assert_eq!(serde_json::from_str::<RunEvent>(&json).ok().as_ref(), Some(&event));
        state.evolve(&event.fact, event.at);
    }
}

fn socket(bytes: &[u8]) {
    use ralph_engine::socket::protocol::{Call, ControlLine, ControlReply, Reply};
    let _ = serde_json::from_slice::<Call>(bytes);
    let _ = serde_json::from_slice::<Reply>(bytes);
    let _ = serde_json::from_slice::<ControlLine>(bytes);
    let _ = serde_json::from_slice::<ControlReply>(bytes);
}

fn forge(bytes: &[u8]) {
    ralph_engine::fuzzing::forge_answer(bytes);
    let url = lossy(bytes);
    if let Some(address) = Address::of(&url) {
        for kind in ForgeKind::ALL {
            let route = Route { kind, target: address.clone(), source: address.clone(), ids: None };
            let _ = (route.new_page("main", &url), route.list(&url, 1));
        }
    }
    if let Ok(entry) = HostEntry::read(&url) {
        assert!(!entry.host.is_empty() && !entry.host.starts_with('-'));
    }
    let clean = without_credentials(&url);
    assert_eq!(without_credentials(&clean), clean, "nothing is left to take out");
}

fn globs(bytes: &[u8]) {
    let (patterns, path) = halves(bytes);
    // Long patterns are as slow as they are long, which is expected.
    let lines = |text: &str| -> Vec<String> {
        text.lines().take(8).map(|line| line.chars().take(60).collect()).collect()
    };
    let (one, other) = (lines(&patterns), lines(&path));
    if let Ok(patterns) = glob::Patterns::read(&one) {
        let _: Vec<bool> = other.iter().map(|name| patterns.matches(name)).collect();
    }
    assert_eq!(glob::any_meet(&one, &other), glob::any_meet(&other, &one));
}

fn digests(bytes: &[u8]) {
    let text = lossy(bytes);
    for most in [200, digest::DEFAULT_MAX] {
        let found = digest::read(&text, most);
        let shown = found.text();
        assert!(shown.len() <= most, "{} of {most}", shown.len());
        let mark = fingerprint::fingerprint("gate", &shown);
        assert_eq!(mark, fingerprint::fingerprint("gate", &shown));
        assert!(mark.len() < 300, "{}", mark.len());
    }
}

fn weakens(bytes: &[u8]) {
    let (before, after) = halves(bytes);
    for path in ["tests/a.rs", "a_test.go", "test_a.py", "a.test.ts"] {
        let file = |before, after| weakened::ChangedFile { path, before, after };
        let _ = weakened::find(&[file(Some(&before), Some(&after))]);
        let _ = weakened::find(&[file(Some(&before), None), file(None, Some(&after))]);
        assert_eq!(
            weakened::find(&[file(Some(&before), Some(&before))]),
            [""; 0],
            "nothing changed"
        );
    }
}

fn skills(bytes: &[u8]) {
    let _ = skill::description(&lossy(bytes));
}

fn redacts(bytes: &[u8]) {
    let secrets = Secrets::new(["hunter2-hunter2", "\"quoted\\secret", "nnnnnnnn-8"]);
    let (cut, bytes) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    for kind in [StreamKind::Text, StreamKind::Json] {
        let run = |size: usize| {
            let (mut stream, mut out) = (secrets.stream(kind), vec![]);
            for piece in bytes.chunks(size) {
                stream.feed(piece, &mut out);
                assert!(stream.held() <= 64 << 10);
            }
            stream.finish(&mut out);
            out
        };
        let whole = run(bytes.len().max(1));
        assert_eq!(whole, run(usize::from(cut) % 40 + 1), "pieces do not matter");
        assert!(!whole.windows(15).any(|part| part == b"hunter2-hunter2"));
    }
    // A line of JSON stays one.
    let line = serde_json::to_string(&[lossy(bytes)]).expect("a text is JSON");
    let (mut stream, mut out) = (secrets.stream(StreamKind::Json), vec![]);
    stream.feed(line.as_bytes(), &mut out);
    stream.finish(&mut out);
    assert!(serde_json::from_slice::<[String; 1]>(&out).is_ok(), "{}", lossy(&out));
}

fn texts(bytes: &[u8]) {
    let given = lossy(bytes);
    let shown = text::printable(&given).into_owned();
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
    assert!(!shown.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}']), "{shown:?}");
    assert_eq!(text::printable(&shown), shown);
    assert!(!text::printable_line(&given).contains(['\n', '\t']));
}

fn names(bytes: &[u8]) {
    let given = lossy(bytes);
    let _ = (AgentId::new(given.as_str()), FeatureName::new(given.as_str()));
    if let Some(at) = Timestamp::parse(&given) {
        // It is written in seconds.
        let second = at.as_millis().div_euclid(1000) * 1000;
        assert_eq!(Timestamp::parse(&at.to_string()), Some(Timestamp::from_millis(second)));
        let _ = (at.day(), at.civil(&ralph_core::time::Zone::UTC), at.compact());
    }
    if let Ok(id) = TaskId::new(given.as_str()) {
        ralph_engine::fuzzing::wip_ref(&id);
    }
    if let Ok(branch) = BranchName::new(&given) {
        let file = branch.file_name();
        assert!(!file.contains('/') && file.len() <= 255, "{file}");
        assert!(branch.as_task().is_some());
    }
}
