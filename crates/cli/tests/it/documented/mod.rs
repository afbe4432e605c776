//! Every command in README.md, CONTRIBUTING.md and docs/ works: ralph understands all arguments, and the tests run
//! each block in a repository that has what the block is about. Commands that cannot run here have a reason below.

mod book;
mod extract;
mod map;
mod settings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ralph_testkit::TestEnv;

use crate::looping::{project, say, session, sh, write};
use extract::{Block, Typed, blocks, spans};

/// What is not run here. Its arguments are checked all the same.
const NOT_RUN: [(&str, &str); 17] = [
    ("cargo ", "builds ralph itself"),
    ("./check", "is what runs these tests"),
    ("tools/", "is run by ./check --full"),
    ("ralph demo --color always", "draws the picture of start.md; `demo` has its own tests"),
    ("sqlite3 .ralph/progress.db .recover", "not every sqlite3 is built with it"),
    ("ralph logs -f", "follows a run that goes on: `looking`"),
    ("ralph status --watch", "follows a run that goes on: `looking`"),
    ("ralph watch", "needs a terminal: `tui`"),
    ("ralph build --ui tui", "needs a terminal: `tui`"),
    ("ralph replay --ui tui", "needs a terminal: `tui`"),
    ("ralph attach", "needs a session that goes on: `looping::telling`"),
    ("ralph takeover", "needs a session of an agent for terminals: `looping::telling`"),
    ("ralph pause", "needs a run that goes on: `looping::people`"),
    ("ralph resume", "needs a run that goes on: `looping::people`"),
    ("ralph cancel", "needs a run that goes on: `looping::people`"),
    ("ralph build --agent acp", "needs an agent of the protocol: `acp`"),
    ("ralph doctor", "looks for a login: `doctor`"),
];

/// Exit codes other than 0 that are right for what is shown.
const CODES: [(&str, i32, &str); 3] = [
    (
        "ralph reject t-2kq7m3ab \"Keep the API\"",
        2,
        "the line before it in the guide has approved the work: it is one or the other",
    ),
    (
        "ralph feature create login --answer \"Links are good for ten minutes\"",
        7,
        "the agent asks a second time",
    ),
    (
        "ralph task fail parse --reason \"the tests are red\"",
        2,
        "the line before it in the guide has done the task: it is one or the other",
    ),
];

/// Words in commands that stand for something else, and what is there in its place.
const PLACEHOLDERS: [(&str, &str); 6] = [
    (" ID", " parse"),
    (" N", " 2"),
    (" FILE", " prompt.md"),
    (" NAME", " login"),
    ("<branch>", "main"),
    (" … ", " A "),
];

/// What a block needs that is not in its page: commands that come first, and blocks of the page before it.
struct Needs {
    page: &'static str,
    block: usize,
    after: &'static [usize],
    first: &'static str,
}

const fn needs(
    page: &'static str,
    block: usize,
    after: &'static [usize],
    first: &'static str,
) -> Needs {
    Needs { page, block, after, first }
}

/// An attempt on `show` that a gate refuses. ralph saves its work; afterward nothing of it is in the worktree.
const RED: &str = "printf '[[gate]]\\nname = \"no\"\\ncommand = \"false\"\\n' > ralph.toml; git add -A; \
    git commit -qm gate; ralph task add A --id show; ralph build --once; git clean -fdq";

const NEEDS: &[Needs] = &[
    needs("docs/cassette.md", 0, &[], "ralph task add A --id a"),
    needs("docs/sandbox.md", 0, &[], "ralph task add A --id a"),
    needs("README.md", 2, &[1], ""),
    needs("docs/ci.md", 0, &[], "ralph task add A --id a"),
    needs("docs/docker.md", 0, &[], "ralph task add A --id a"),
    needs("docs/overnight.md", 0, &[], "ralph task add A --id a; ralph task add B --id b"),
    needs("docs/overnight.md", 1, &[], "ralph task add A --id a"),
    needs("docs/overnight.md", 2, &[], "ralph task add A --id a; ralph build"),
    needs("docs/security.md", 0, &[], "ralph task add A --id a"),
    needs(
        "docs/several-branches.md",
        0,
        &[],
        "cp $NOTES/branches.md IMPLEMENTATION_PLAN.md; git add -A; git commit -qm plan",
    ),
    needs(
        "docs/several-branches.md",
        1,
        &[],
        "cp $NOTES/branches.md IMPLEMENTATION_PLAN.md; git add -A; git commit -qm plan",
    ),
    needs("docs/several-branches.md", 3, &[], "ralph task add A --id a"),
    needs("docs/sharing.md", 0, &[], "ralph task add Parse --id parse"),
    needs("docs/sharing.md", 2, &[], "ralph task add A --id a"),
    needs("docs/sharing.md", 3, &[], "ralph task add A --id a"),
    needs("docs/start.md", 3, &[2], ""),
    needs("docs/start.md", 4, &[2, 3], ""),
    needs("docs/undo.md", 0, &[], "ralph task add A --id parse; ralph build"),
    needs("docs/undo.md", 1, &[], "ralph task add A --id parse; ralph build"),
    needs("docs/undo.md", 2, &[], "ralph task add A --id parse; ralph build"),
    needs("docs/undo.md", 3, &[], RED),
    needs("docs/undo.md", 4, &[], "ralph task add A --id show; ralph skip show"),
    needs("docs/undo.md", 5, &[], "ralph task add A --id a"),
    needs("docs/upgrade.md", 2, &[], "ralph task add A --id a"),
    needs("docs/uninstall.md", 0, &[], "ralph init; ralph task add A --id a; ralph build"),
    needs(
        "docs/branches.md",
        0,
        &[],
        "printf '## Branch: login\\nGoal: Log in\\n\\n- [ ] Form\\n' > IMPLEMENTATION_PLAN.md; git add -A; git commit -qm plan",
    ),
    needs(
        "docs/features.md",
        1,
        &[],
        "cp $NOTES/ask.jsonl $NOTES/spec.jsonl; ralph feature create login --interview x",
    ),
    needs(
        "docs/loop.md",
        0,
        &[],
        "mkdir docs; cp $NOTES/progress.md docs/; cp $NOTES/branches.md IMPLEMENTATION_PLAN.md; git add -A; git commit -qm plan; ralph task add A --id t-2kq7m3ab; ralph feature create login; echo Login. > .ralph/features/login/spec.md; echo Steps. > .ralph/features/login/plan.md; ralph task add B --feature login",
    ),
    needs(
        "docs/loop.md",
        1,
        &[],
        "ralph task add A --id asks; cp $NOTES/question.jsonl $NOTES/work.jsonl; ralph build --once; cp $NOTES/worked.jsonl $NOTES/work.jsonl; rm -f $NOTES/work.jsonl.cursor",
    ),
    needs(
        "docs/loop.md",
        2,
        &[],
        "ralph task add A --id t-2kq7m3ab; ralph build --once --set completion.approve=always",
    ),
    needs("docs/loop.md", 3, &[], "ralph task add A --id parse"),
    needs(
        "docs/steering.md",
        0,
        &[],
        "ralph task add A --id t-2kq7m3ab; echo new >> README.md; git add -A",
    ),
    needs(
        "docs/interchange.md",
        0,
        &[],
        "mkdir docs .beads; cp $NOTES/progress.md docs/plan.md; cp $NOTES/prd.json .; ralph task add A --id a; ralph export beads > plan.txt; mkdir -p specs/001-login .taskmaster/tasks; echo '- [ ] T001 A' > specs/001-login/tasks.md; echo '{\"tasks\":[{\"id\":1,\"title\":\"A\",\"status\":\"pending\"}]}' > .taskmaster/tasks/tasks.json",
    ),
    needs("docs/interchange.md", 1, &[], "cp $NOTES/prd.json ."),
    needs("docs/init.md", 0, &[], "ralph init"),
    needs("docs/init.md", 1, &[], "ralph init"),
    needs("docs/journal.md", 0, &[], "ralph task add A --id a; ralph build --once"),
    needs("docs/replay.md", 0, &[], "ralph task add A --id a; ralph build --once"),
    needs("docs/replay.md", 1, &[], "ralph task add A --id a; ralph build --once"),
    needs("docs/replay.md", 2, &[1], "ralph task add A --id a; ralph build --once"),
    needs("docs/json.md", 2, &[0], ""),
    needs("docs/json.md", 3, &[], "ralph task add A --id a"),
    needs("docs/store.md", 0, &[], "ralph task add A --id a"),
    needs("docs/tasks.md", 0, &[], "ralph task add A --id parse"),
    needs("docs/tasks.md", 1, &[], "ralph task add D --id d; ralph task add E --id e --deps d"),
    needs(
        "docs/tasks.md",
        2,
        &[],
        "ralph task add A --id parse; RALPH_AGENT_ID=ada ralph task claim parse",
    ),
    needs("docs/tasks.md", 3, &[], "ralph task add A --id parse; ralph task claim parse"),
    needs("docs/tasks.md", 5, &[4], ""),
    needs("docs/tasks.md", 6, &[4], ""),
    needs("docs/tasks.md", 7, &[4], ""),
    needs("docs/tasks.md", 8, &[4], ""),
    needs("docs/tasks.md", 9, &[4], ""),
    needs("docs/tasks.md", 10, &[4], ""),
    needs("docs/tasks.md", 11, &[4], ""),
    needs("docs/tasks.md", 12, &[4, 11], ""),
    needs("docs/tasks.md", 13, &[4, 11, 12], ""),
    needs("docs/tasks.md", 16, &[], "cp $NOTES/synced.jsonl plan.jsonl"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every page with commands: its name and text. The help pages have their own test.
fn pages() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut docs: Vec<String> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md") && name != "cli.md")
        .map(|name| format!("docs/{name}"))
        .collect();
    docs.sort();
    names.extend(docs);
    let read = |name: String| {
        let text = std::fs::read_to_string(root().join(&name)).unwrap();
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// A repository with an agent that plays what each command is about.
fn world() -> TestEnv {
    let mut env = project(&[]);
    env.set("RALPH_AGENT_NAME", "script").set("EDITOR", "true");
    std::fs::write(env.note("prelude.sh"), include_str!("prelude.sh")).unwrap();
    let tick = sh(
        "echo $$ $(date +%N) >> work.txt; for plan in *.md docs/*.md; do [ -e $plan ] && sed -i '0,/- \\[ \\]/s//- [x]/' $plan; done; true",
    );
    let work = session(&[tick, say("<task-done>{id}</task-done>")]);
    let ends = say("<promise>Tastes Like Burning.</promise>");
    let branches = "# Plan\n\n## Branch: login\nGoal: Log in\n\n- [ ] Form\n\n## Branch: search\nGoal: Search\n\n- [ ] Index\n";
    let spec =
        session(&[write(".ralph/features/login/spec.md", "Log in by mail.\n"), say("Done.")]);
    let asks = say("<question>How long?</question>");
    let sessions = [
        ("work", vec![work.clone(); 40]),
        ("worked", vec![work; 40]),
        (
            "plan",
            vec![
                session(&[
                    write("implementation_plan.md", "# Plan\n\n- [ ] One\n- [ ] Two\n"),
                    ends.clone()
                ]);
                4
            ],
        ),
        ("branches", vec![session(&[write("IMPLEMENTATION_PLAN.md", branches), ends]); 4]),
        ("spec", vec![spec.clone(); 4]),
        ("ask", vec![asks.clone(), asks.clone(), spec]),
        ("question", vec![asks]),
        (
            "feature",
            vec![session(&[write(".ralph/features/login/plan.md", "1. Form\n"), say("Done.")]); 4],
        ),
        (
            "propose",
            vec![session(&[sh("ralph task add Form --id login/form"), say("Proposed.")]); 4],
        ),
    ];
    for (name, list) in sessions {
        let text: String =
            list.iter().map(|session| format!("{{\"do\":\"session\"}}\n{session}\n")).collect();
        std::fs::write(env.note(&format!("{name}.jsonl")), text).unwrap();
    }
    let progress =
        "# Progress: x\n\n## Status\n\nIN_PROGRESS\n\n## Tasks\n\n- [ ] One\n- [ ] Two\n";
    let prd = r#"{"project":"p","userStories":[{"id":"US-1","title":"A","description":"d","acceptanceCriteria":[],"priority":1,"passes":false},{"id":"US-2","title":"B","description":"d","acceptanceCriteria":[],"priority":2,"passes":false,"owner":"x"}]}"#;
    let plan = "{\"id\":\"login/01\",\"t\":\"A\",\"spec\":\"login.md\"}\n{\"id\":\"login/02\",\"t\":\"B\",\"spec\":\"login.md\"}\n{\"id\":\"login/03\",\"t\":\"C\",\"spec\":\"login.md\"}\n";
    for (name, text) in [
        ("progress.md", progress),
        ("branches.md", branches),
        ("prd.json", prd),
        ("synced.jsonl", plan),
    ] {
        std::fs::write(env.note(name), text).unwrap();
    }
    env.write("prompt.md", "Write a file.\n");
    env.write("specs/one.md", "# One\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "given"]);
    env
}

/// Runs a script of bash in the repository; `ralph` is the one under test.
fn bash(env: &TestEnv, script: &str) -> Output {
    // As a loop, so that the environment is that of one.
    let call = env.command(&["build"]);
    let mut command = Command::new("bash");
    command.args(["-c", &format!(". $NOTES/prelude.sh\n{script}")]).env_clear();
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("RALPH_BINARY", crate::RALPH).env("NOTES", env.note(""));
    command.current_dir(env.repo()).stdin(Stdio::null()).output().unwrap()
}

/// The command with something in place of its placeholders.
fn filled(text: &str) -> String {
    let open = format!("{text} ");
    let filled = PLACEHOLDERS.iter().fold(open, |text, (from, to)| {
        text.replace(&format!("{} ", from.trim_end()), &format!("{} ", to.trim_end()))
    });
    filled.trim_end().replace("\"…\"", "\"yes\"").replace('…', "x")
}

/// Whether a line is an error, as text or as JSON.
fn is_error(line: &str) -> bool {
    line.contains("error:") || line.starts_with(r#"{"v":1,"kind":"error""#)
}

/// What the arguments of these commands are found guilty of.
fn not_understood(env: &TestEnv, commands: &[Typed]) -> Vec<String> {
    let calls = env.note("calls");
    let mut wrong = vec![];
    for command in commands.iter().filter(|command| command.text.contains("ralph ")) {
        let _ = std::fs::remove_file(&calls);
        let ran = bash(env, &format!("only_parsed\n{}", filled(&command.text)));
        let output = String::from_utf8_lossy(&ran.stderr).into_owned();
        let called = std::fs::read(&calls).unwrap_or_default();
        let elsewhere = command.text.contains("ralph-") || command.text.contains("debug/ralph");
        if output.lines().any(is_error) || (called.is_empty() && !elsewhere) {
            wrong.push(format!("{}: {}: {output}", command.line, command.text));
        }
    }
    wrong
}

#[test]
fn the_arguments_of_every_command_in_the_pages_are_understood() {
    let env = world();
    // Files that commands read, and the folders of those that they write.
    for (from, to) in [("prd.json", "prd.json"), ("synced.jsonl", "plan.jsonl")] {
        std::fs::copy(env.note(from), env.repo().join(to)).unwrap();
    }
    env.write(".beads/issues.jsonl", "");
    for shell in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"]
    {
        std::fs::create_dir_all(env.home().join(shell)).unwrap();
    }
    let mut seen = 0;
    let mut known = BTreeSet::new();
    for (name, text) in pages() {
        let in_blocks = blocks(&text).into_iter().flat_map(|block| block.commands);
        let mut commands: Vec<Typed> = in_blocks.chain(spans(&text)).collect();
        // The same words are the same call, wherever they stand.
        commands.retain(|command| known.insert(command.text.clone()));
        seen += commands.len();
        assert_eq!(not_understood(&env, &commands), [""; 0], "{name}");
    }
    assert!(seen > 120, "only {seen} commands were found");
}

#[test]
fn a_command_that_there_is_not_is_noticed() {
    let env = world();
    for (text, so) in [
        ("ralph build --once", true),
        ("ralph task list | head", true),
        ("export X=$(ralph task agent register)", true),
        ("ralph build --no-such-flag", false),
        ("ralph nosuchcommand", false),
        ("ralph task nosuchcommand", false),
        ("ralph run -J 4", false),
        ("X=$(ralph task agent regster)", false),
        ("ralph status one too many", false),
    ] {
        let command = Typed { line: 1, text: text.to_owned(), shown: vec![] };
        assert_eq!(not_understood(&env, &[command]).is_empty(), so, "{text}");
    }
}

fn is_run(command: &Typed) -> bool {
    !NOT_RUN.iter().any(|(text, _)| command.text.starts_with(text))
}

/// A script that runs these commands and says what came of each in the file `codes`.
fn script(commands: &[&Typed]) -> String {
    let mut script = String::new();
    for (index, command) in commands.iter().enumerate() {
        let text = filled(&command.text);
        // A question's name is made up anew each time.
        let text = text.replace("q-5ohb2kdx", "$(ralph answer | grep -o 'q-[a-z0-9]*' | head -1)");
        script.push_str(&format!(
            "{text} 2> $NOTES/said.{index}\necho $? >> $NOTES/codes; cat $NOTES/said.{index} >&2\n"
        ));
    }
    script
}

/// Runs a block where it belongs; what went wrong.
fn run_block(page: &str, all: &[Block], number: usize) -> Vec<String> {
    let commands: Vec<&Typed> = all[number].commands.iter().filter(|c| is_run(c)).collect();
    if commands.is_empty() {
        return vec![];
    }
    let env = world();
    let needs = NEEDS.iter().find(|needs| needs.page == page && needs.block == number);
    if let Some(needs) = needs {
        let before: Vec<&Typed> = needs.after.iter().flat_map(|n| &all[*n].commands).collect();
        let before: Vec<&Typed> = before.into_iter().filter(|command| is_run(command)).collect();
        bash(&env, &format!("{}\n{}", script(&before), needs.first));
        let _ = std::fs::remove_file(env.note("codes"));
    }
    let ran = bash(&env, &script(&commands));
    let output = String::from_utf8_lossy(&ran.stderr).into_owned();
    let codes = std::fs::read_to_string(env.note("codes")).unwrap_or_default();
    let codes: Vec<i32> = codes.lines().map(|code| code.parse().unwrap()).collect();
    assert_eq!(codes.len(), commands.len(), "{page}: {output}");
    let mut wrong = vec![];
    for (index, (command, code)) in commands.iter().zip(codes).enumerate() {
        let Typed { line, text, shown } = command;
        let output = std::fs::read_to_string(env.note(&format!("said.{index}"))).unwrap();
        let expected = CODES.iter().find(|(known, ..)| text == known).map_or(0, |row| row.1);
        let right = match shown.first().filter(|first| is_error(first)) {
            Some(error) => code != 0 && output.starts_with(error.as_str()),
            None => code == expected && !output.contains("panicked"),
        };
        if !right {
            wrong.push(format!("{page}:{line}: {text}\nexit code {code}: {output}"));
        }
    }
    wrong
}

/// Every block of a page works.
fn runs(page: &str) {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let all = blocks(&text);
    let wrong: Vec<String> =
        (0..all.len()).flat_map(|number| run_block(page, &all, number)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test] fn $test() { runs($page); })*
        /// The pages whose blocks are run.
        const RUN: &[&str] = &[$($page),*];
    };
}

pages! {
    readme: "README.md",
    contributing: "CONTRIBUTING.md",
    acp: "docs/acp.md",
    list_of_pages: "docs/README.md",
    branches: "docs/branches.md",
    cassette: "docs/cassette.md",
    ci: "docs/ci.md",
    database: "docs/database.md",
    docker: "docs/docker.md",
    doctor: "docs/doctor.md",
    faults: "docs/faults.md",
    features: "docs/features.md",
    fuzzing: "docs/fuzzing.md",
    init: "docs/init.md",
    interchange: "docs/interchange.md",
    journal: "docs/journal.md",
    json: "docs/json.md",
    loops: "docs/loop.md",
    overnight: "docs/overnight.md",
    replay: "docs/replay.md",
    sandbox: "docs/sandbox.md",
    security: "docs/security.md",
    settings: "docs/settings.md",
    several_branches: "docs/several-branches.md",
    sharing: "docs/sharing.md",
    start: "docs/start.md",
    steering: "docs/steering.md",
    store: "docs/store.md",
    tasks: "docs/tasks.md",
    trust: "docs/trust.md",
    tui: "docs/tui.md",
    undo: "docs/undo.md",
    uninstall: "docs/uninstall.md",
    upgrade: "docs/upgrade.md",
}

#[test]
fn every_page_with_a_block_of_commands_is_run() {
    for (name, text) in pages() {
        assert_eq!(RUN.contains(&name.as_str()), !blocks(&text).is_empty(), "{name}");
    }
}

/// What users ask, the page that answers it, and a command of the answer.
const QUESTIONS: [(&str, &str, &str); 12] = [
    ("How do I start?", "docs/start.md", "ralph init"),
    ("How do I take something back?", "docs/undo.md", "ralph undo"),
    ("How do I get lost work back?", "docs/undo.md", "ralph recover"),
    ("How do I let it run overnight?", "docs/overnight.md", "ralph build 200"),
    ("How do I use it in CI?", "docs/ci.md", "ralph build 10 --strict-exit"),
    ("How do I use it in a container?", "docs/docker.md", "ralph build --dry-run"),
    ("How do my tests reach a database?", "docs/database.md", "ralph doctor"),
    ("How do we share a plan?", "docs/sharing.md", "ralph export beads"),
    ("How do I work on several branches?", "docs/several-branches.md", "ralph loop build"),
    ("What is safe, and what is not?", "docs/security.md", "ralph trust --list"),
    ("How do I upgrade?", "docs/upgrade.md", "ralph config check"),
    ("How do I remove it?", "docs/uninstall.md", "ralph clean --everything"),
];

#[test]
fn every_question_has_a_page_whose_commands_are_run() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for (question, page, command) in QUESTIONS {
        let file = page.trim_start_matches("docs/");
        assert!(summary.contains(&format!("]({file})")), "{question} {page} is not in the book");
        assert!(RUN.contains(&page), "{question} the commands of {page} are not run");
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let mut typed = blocks(&text).into_iter().flat_map(|block| block.commands);
        let answers = typed.any(|typed| typed.text.starts_with(command));
        assert!(answers, "{question} {page} does not say: {command}");
    }
}

#[test]
fn what_is_listed_as_not_run_is_in_a_page() {
    let all: Vec<Typed> = pages()
        .iter()
        .flat_map(|(_, text)| blocks(text))
        .flat_map(|block| block.commands)
        .collect();
    for (text, reason) in NOT_RUN {
        assert!(all.iter().any(|command| command.text.starts_with(text)), "{text} ({reason})");
    }
}
