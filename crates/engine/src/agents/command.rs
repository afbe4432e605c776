//! Any program as an agent, described by the user's config alone: its arguments, and what its exit codes mean.
//!
//! Its stdout is text, and the end of that text is what the agent said last. Arguments may contain placeholders
//! ([`PLACEHOLDERS`]). Without one for the prompt, the program gets the prompt on its standard input. Where it takes no
//! [`SYSTEM_FILE`], rules and task are one text.

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};
use ralph_core::text::tail;

use super::text::{last_words, one_line};
use super::unfinished::unfinished;
use super::{
    Conventions, Driver, Login, Profile, PromptBy, SessionSpec, Tiers, Tools, Written, set,
};
use crate::process::{CommandSpec, LineEffect, Stdin};
use crate::sandbox::AgentState;

/// The prompt as text; a long one is replaced by the words to read its file.
pub const PROMPT: &str = "{prompt}";
/// The path of a file with the prompt.
pub const PROMPT_FILE: &str = "{prompt_file}";
/// The path of a file with the rules: the prompt is then the task alone.
pub const SYSTEM_FILE: &str = "{system_file}";
/// The model. Without one its argument is left out, with the option before it.
pub const MODEL: &str = "{model}";
/// Everything that arguments may contain in braces.
pub const PLACEHOLDERS: [&str; 4] = [PROMPT_FILE, PROMPT, SYSTEM_FILE, MODEL];

/// The longest prompt that goes by argument, in bytes: Linux refuses 128 KiB.
const MAX_ARGUMENT: usize = 100 << 10;
/// How much of stdout is what the agent said last, in bytes.
const KEPT: usize = 64 << 10;

/// An agent that the user's config describes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandAgent {
    pub name: String,
    /// Its arguments, with placeholders.
    pub args: Vec<String>,
    /// What makes it print its version; empty if nothing does.
    pub version: String,
    /// Exit codes that mean a usage limit.
    pub limit_exit: Vec<i32>,
    /// Exit codes that mean that it is not logged in.
    pub login_exit: Vec<i32>,
    /// The folders of its files.
    pub state: Vec<AgentState>,
}

/// The profile of an agent that the user's config describes. It lives as long as the program: a run makes one for each
/// agent that its settings name.
pub fn profile(name: &str, program: &str, hosts: &[&str]) -> &'static Profile {
    let hosts: Vec<&'static str> = hosts.iter().map(|host| kept(host)).collect();
    Box::leak(Box::new(Profile {
        name: kept(name),
        program: kept(program),
        install: "",
        oldest: None,
        login: Login::default(),
        variables: &[],
        shared_variables: &[],
        state: vec![AgentState { endpoint: ("", hosts.leak()), ..AgentState::NONE }].leak(),
        tools: Tools::default(),
        tiers: Tiers::default(),
        conventions: Conventions::NONE,
        // What it reads of a tree is not known: neither is what to keep from it.
        steering: &[],
        // What an agent without arguments does; `AgentProgram` has the whole description.
        command: |spec| CommandAgent::default().command(spec),
        interactive: None,
        driver: |_| driver(),
    }))
}

/// A folder in the home of which a session sees the files read-only, in a folder of its own.
pub fn state(folder: &str, files: &[String]) -> AgentState {
    let files: Vec<&'static str> = files.iter().map(|file| kept(file)).collect();
    AgentState { folder: kept(folder), settings: files.leak(), ..AgentState::NONE }
}

/// Reads the output of such an agent, whose exit codes do not matter.
pub fn driver() -> Box<dyn Driver> {
    CommandAgent::default().driver()
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// The first word in braces that is not a placeholder.
pub fn unknown_placeholder(argument: &str) -> Option<&str> {
    let starts = argument.match_indices('{').map(|(at, _)| &argument[at..]);
    let words = starts.filter_map(|rest| {
        let word = &rest[..=rest.find('}')?];
        let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
        let inner = &word[1..word.len() - 1];
        (!inner.is_empty() && inner.chars().all(is_word)).then_some(word)
    });
    words.into_iter().find(|word| !PLACEHOLDERS.contains(word))
}

impl CommandAgent {
    /// Whether it takes the rules apart from the task.
    pub fn takes_system(&self) -> bool {
        self.has(SYSTEM_FILE)
    }

    fn has(&self, placeholder: &str) -> bool {
        self.args.iter().any(|argument| argument.contains(placeholder))
    }

    /// The call of a session. The prompt lies in files by then.
    pub fn command(&self, spec: &SessionSpec) -> CommandSpec {
        let none = Written { text: String::new(), file: Default::default() };
        let (system, prompt) = match &spec.prompt {
            PromptBy::System { system, task } => (system.clone(), task.clone()),
            PromptBy::Stdin(text) | PromptBy::Argument(text) => {
                (none.clone(), Written { text: text.clone(), ..none })
            }
        };
        let mut args: Vec<String> = Vec::with_capacity(self.args.len());
        for argument in &self.args {
            if argument.contains(MODEL) && spec.model.is_none() {
                if argument == MODEL && args.last().is_some_and(|last| last.starts_with('-')) {
                    args.pop();
                }
                continue;
            }
            let file = prompt.file.to_string_lossy();
            let text = match prompt.text.len() <= MAX_ARGUMENT && !prompt.text.contains('\0') {
                true => prompt.text.clone(),
                false => format!("Read the file {file} and do what it says."),
            };
            let values = [
                (PROMPT_FILE, file.as_ref()),
                (PROMPT, &text),
                (SYSTEM_FILE, &system.file.to_string_lossy()),
                (MODEL, spec.model.as_deref().unwrap_or_default()),
            ];
            args.push(filled(argument, &values));
        }
        args.extend(spec.extra_args.iter().cloned());
        let by_stdin = !self.has(PROMPT) && !self.has(PROMPT_FILE);
        let stdin = Stdin::Text(if by_stdin { prompt.text.into_bytes() } else { vec![] });
        let mut env = spec.environment.clone();
        set(&mut env, "NO_COLOR", "1");
        CommandSpec { stdin, ..CommandSpec::new(&spec.executable, args, &spec.folder, env) }
    }

    pub fn driver(&self) -> Box<dyn Driver> {
        Box::new(TextDriver {
            text: String::new(),
            name: self.name.clone(),
            limit_exit: self.limit_exit.clone(),
            login_exit: self.login_exit.clone(),
        })
    }
}

/// The argument with its placeholders filled in. What comes in is not looked at again.
fn filled(argument: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

struct TextDriver {
    text: String,
    name: String,
    limit_exit: Vec<i32>,
    login_exit: Vec<i32>,
}

impl Driver for TextDriver {
    fn line(
        &mut self,
        line: &[u8],
        _cut: bool,
        events: &mut Vec<AgentEvent>,
        _replies: &mut Vec<u8>,
    ) -> LineEffect {
        let text = String::from_utf8_lossy(line).into_owned() + "\n";
        self.text.push_str(&text);
        if self.text.len() > 2 * KEPT {
            self.text = tail(&self.text, KEPT);
        }
        events.push(AgentEvent::Text { text });
        LineEffect::Going
    }

    fn end(self: Box<Self>, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd {
        let named = |code: i32, setting: &str| {
            let cause = format!("exited with code {code}, see agent.{}.{setting}", self.name);
            match last_words(stderr_tail).as_str() {
                "" => cause,
                words => one_line(&format!("{words} ({cause})"), 600),
            }
        };
        match end {
            ProcessEnd::Exited { code: 0 } if self.text.trim().is_empty() => {
                SessionEnd::of(EndClass::Empty, "the agent returned no text")
            }
            ProcessEnd::Exited { code: 0 } => {
                let text = tail(self.text.trim_end(), KEPT);
                SessionEnd { text, ..SessionEnd::of(EndClass::Completed, "") }
            }
            ProcessEnd::Exited { code } if self.limit_exit.contains(code) => {
                SessionEnd::of(EndClass::UsageWindow, named(*code, "limit_exit"))
            }
            ProcessEnd::Exited { code } if self.login_exit.contains(code) => {
                SessionEnd::of(EndClass::Auth, named(*code, "login_exit"))
            }
            end => {
                let (class, detail) = unfinished(end, stderr_tail);
                SessionEnd::of(class, detail)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Permissions;

    fn agent(args: &[&str]) -> CommandAgent {
        CommandAgent {
            name: "made".to_owned(),
            args: args.iter().map(|argument| (*argument).to_owned()).collect(),
            limit_exit: vec![75],
            login_exit: vec![41],
            ..CommandAgent::default()
        }
    }

    fn written(text: &str, file: &str) -> Written {
        Written { text: text.to_owned(), file: file.into() }
    }

    fn spec(model: Option<&str>) -> SessionSpec {
        SessionSpec {
            executable: "made".into(),
            extra_args: vec![],
            folder: "/w".into(),
            environment: vec![],
            prompt: PromptBy::System {
                system: written("RULES", "/l/1.system.md"),
                task: written("TASK {model}", "/l/1.prompt.md"),
            },
            model: model.map(str::to_owned),
            permissions: Permissions::Boxed,
            cassette: None,
            session: None,
            sandboxed: true,
            verifies: false,
        }
    }

    fn call(args: &[&str], model: Option<&str>) -> (Vec<String>, String) {
        let command = agent(args).command(&spec(model));
        let words = command.args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let Stdin::Text(stdin) = command.stdin else { panic!("a conversation") };
        (words, String::from_utf8(stdin).unwrap())
    }

    #[test]
    fn placeholders_are_filled_in_once() {
        let (args, stdin) =
            call(&["--message", "{prompt}", "--model={model}", "{\"a\":1}"], Some("m"));
        assert_eq!(args, ["--message", "TASK {model}", "--model=m", "{\"a\":1}"]);
        assert_eq!(stdin, "");
        let (args, stdin) = call(&["--rules", "{system_file}", "{prompt_file}"], None);
        assert_eq!(args, ["--rules", "/l/1.system.md", "/l/1.prompt.md"]);
        assert_eq!(stdin, "");
    }

    #[test]
    fn without_a_placeholder_the_prompt_goes_by_stdin() {
        assert_eq!(call(&["run"], None), (vec!["run".to_owned()], "TASK {model}".to_owned()));
    }

    #[test]
    fn without_a_model_its_option_is_left_out() {
        let args = ["-y", "--model", "{model}", "-m={model}", "end"];
        assert_eq!(call(&args, None).0, ["-y", "end"]);
        assert_eq!(call(&args, Some("x")).0, ["-y", "--model", "x", "-m=x", "end"]);
    }

    #[test]
    fn a_prompt_that_no_argument_can_hold_is_read_from_its_file() {
        let mut spec = spec(None);
        let long = written(&"x".repeat(MAX_ARGUMENT + 1), "/l/long.md");
        spec.prompt = PromptBy::System { system: written("", "/l/long.md"), task: long };
        let command = agent(&["{prompt}"]).command(&spec);
        assert_eq!(command.args, ["Read the file /l/long.md and do what it says."]);
    }

    #[test]
    fn an_unknown_placeholder_is_found() {
        assert_eq!(unknown_placeholder("--x={promt}"), Some("{promt}"));
        assert_eq!(unknown_placeholder("{prompt_file}{file}"), Some("{file}"));
        for fine in ["{prompt}", "a{b", "{}", "{\"json\":{}}", "{A}", "}{"] {
            assert_eq!(unknown_placeholder(fine), None, "{fine}");
        }
    }

    fn ended(lines: &[&str], end: ProcessEnd) -> SessionEnd {
        let mut driver = agent(&[]).driver();
        let mut events = vec![];
        for line in lines {
            driver.line(line.as_bytes(), false, &mut events, &mut vec![]);
        }
        assert_eq!(events.len(), lines.len());
        driver.end(&end, "last words\n")
    }

    #[test]
    fn the_end_of_stdout_is_what_it_said_and_the_exit_code_says_how_it_ended() {
        let end = ended(&["Well.", "<task-done>a</task-done>", ""], ProcessEnd::Exited { code: 0 });
        assert_eq!(
            (end.class, &*end.text),
            (EndClass::Completed, "Well.\n<task-done>a</task-done>")
        );
        for (lines, end, class) in [
            (&[][..], ProcessEnd::Exited { code: 0 }, EndClass::Empty),
            (&["x"], ProcessEnd::Exited { code: 75 }, EndClass::UsageWindow),
            (&["x"], ProcessEnd::Exited { code: 41 }, EndClass::Auth),
            (&["x"], ProcessEnd::Exited { code: 1 }, EndClass::Crash),
            (&["x"], ProcessEnd::Signalled { signal: 9 }, EndClass::Crash),
            (&["x"], ProcessEnd::TimedOut { after_ms: 1 }, EndClass::Timeout),
            (&["x"], ProcessEnd::Stopped, EndClass::Cancelled),
        ] {
            assert_eq!(ended(lines, end.clone()).class, class, "{end:?}");
        }
        let limit = ended(&["x"], ProcessEnd::Exited { code: 75 });
        assert_eq!(limit.detail, "last words (exited with code 75, see agent.made.limit_exit)");
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let line = "y".repeat(1000);
        let lines: Vec<&str> = std::iter::repeat_n(line.as_str(), 500).chain(["end"]).collect();
        let end = ended(&lines, ProcessEnd::Exited { code: 0 });
        assert!(
            end.text.len() <= KEPT + "…".len() && end.text.ends_with("end"),
            "{}",
            end.text.len()
        );
    }
}
