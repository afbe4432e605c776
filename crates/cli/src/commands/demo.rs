//! `ralph demo`: what there is, on a throw-away repository, by the real commands.

use std::path::Path;
use std::sync::{Arc, Barrier};

use clap::Args;
use ralph_core::task::{Actor, NewTask, Refusal};
use ralph_core::text::Title;
use ralph_core::time::Lease;
use ralph_core::{AgentId, TaskId};
use ralph_engine::clock::{self, Stopwatch};
use ralph_engine::ports::{ClaimRequest, Filter, Scope, Store, StoreError};
use ralph_engine::store::SqliteStore;
use ralph_engine::vcs::git::{GitError, git};
use ralph_ui::style::Meaning;

use crate::app;
use crate::environment::Environment;
use crate::error::{CliError, Done};
use crate::exit_codes::Exit;
use crate::wire::Context;

/// Show what ralph does, on a throw-away repository
///
/// Runs the real commands and prints what they print. Needs no key and no network, leaves nothing
/// behind and takes a few seconds.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph demo")]
pub(crate) struct DemoArgs {
    /// Keep the repository and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) fn cmd_demo(args: &DemoArgs, context: &mut Context<'_>) -> Done {
    let folder = tempfile::Builder::new().prefix("ralph-demo-").tempdir()?;
    git(folder.path(), &["init", "--quiet"]).map_err(git_error)?;
    let mut demo = Demo { folder: folder.path(), context };
    demo.say("A plan is a graph of tasks. Agents and people work on it with the same commands.")?;
    demo.tell("The first task, one that waits for it, and one with two parts:")?;
    demo.run("", &["task", "add", "Parse the config file", "--id", "parse", "-p", "0"])?;
    demo.run(
        "",
        &["task", "add", "Show where each value came from", "--id", "show", "--deps", "parse"],
    )?;
    demo.run("", &["task", "add", "Write the manual", "--id", "manual", "-p", "1"])?;
    demo.run(
        "",
        &["task", "add", "One page per command", "--id", "manual/pages", "--parent", "manual"],
    )?;
    demo.run(
        "",
        &[
            "task",
            "add",
            "Check the examples",
            "--id",
            "manual/check",
            "--parent",
            "manual",
            "--deps",
            "manual/pages",
        ],
    )?;
    demo.run("", &["task", "tree"])?;

    demo.say("A claim is exclusive, has a lease, and is made in one transaction.")?;
    demo.run("ada", &["task", "claim"])?;
    demo.run("bob", &["task", "claim"])?;
    demo.tell("Nothing else is ready, and a third agent is told why:")?;
    demo.refused("cyd", &["task", "claim"])?;

    demo.say("What an agent says is a request. Bob cannot close what Ada holds:")?;
    demo.refused("bob", &["task", "done", "parse"])?;
    demo.tell("Ada can, and what waited for her is ready:")?;
    demo.run("ada", &["task", "done", "parse", "--result", r#"{"commit":"4f2a9c1"}"#])?;
    demo.run("", &["task", "ready"])?;

    demo.say("A failure comes back with its reason until its retries are used up.")?;
    demo.run(
        "bob",
        &["task", "fail", "manual/pages", "--reason", "the build of the pages is red"],
    )?;
    demo.run("", &["task", "plan-status"])?;
    demo.run("", &["task", "log", "manual/pages"])?;

    demo.say("One store for many: eight agents, each connected by itself, claim 400 tasks.")?;
    demo.race(8, 400)?;
    demo.end(args.keep)?;
    if args.keep {
        let _ = folder.keep();
    }
    Ok(())
}

struct Demo<'a, 'c> {
    folder: &'a Path,
    context: &'a mut Context<'c>,
}

impl Demo<'_, '_> {
    fn say(&mut self, text: &str) -> Done {
        let heading = self.context.out.look.paint(Meaning::Heading, text);
        Ok(self.context.out.line(format!("\n{heading}"))?)
    }

    fn tell(&mut self, text: &str) -> Done {
        Ok(self.context.out.line(format!("\n{text}"))?)
    }

    /// Prints a command as it would be typed, and runs it as `agent`.
    fn call(&mut self, agent: &str, arguments: &[&str]) -> Result<Exit, CliError> {
        let look = self.context.out.look;
        let typed: Vec<String> = arguments.iter().map(|word| shell_word(word)).collect();
        let identity =
            if agent.is_empty() { String::new() } else { format!("RALPH_AGENT_ID={agent} ") };
        let line = look.paint(Meaning::Name, format!("ralph {}", typed.join(" ")));
        self.context.out.line(format!("\n{} {identity}{line}", look.paint(Meaning::Faint, "$")))?;
        self.context.out.finish()?;
        let mut environment = Environment {
            arguments: vec!["ralph".into(), "-C".into(), self.folder.into()],
            ralph: vec![],
            user_config: None,
            ..self.context.environment.clone()
        };
        environment.arguments.extend(arguments.iter().map(Into::into));
        environment
            .arguments
            .push(format!("--color={}", if look.color { "always" } else { "never" }).into());
        if !agent.is_empty() {
            environment.ralph.push(("RALPH_AGENT_ID".to_owned(), agent.to_owned()));
        }
        Ok(app::run(&environment))
    }

    fn run(&mut self, agent: &str, arguments: &[&str]) -> Done {
        match self.call(agent, arguments)? {
            Exit::Success => Ok(()),
            exit => {
                Err(CliError::failed(format!("the demo went wrong with exit code {}", exit.code())))
            }
        }
    }

    fn refused(&mut self, agent: &str, arguments: &[&str]) -> Done {
        match self.call(agent, arguments)? {
            Exit::NotEligible => {
                let faint = self.context.out.look.paint(Meaning::Faint, "(exit code 2)");
                Ok(self.context.out.line(faint)?)
            }
            exit => {
                Err(CliError::failed(format!("the demo went wrong with exit code {}", exit.code())))
            }
        }
    }

    /// Lets agents race for tasks, each with a connection of its own, and counts what they got.
    fn race(&mut self, agents: usize, tasks: usize) -> Done {
        let path = self.folder.join(".ralph").join("race.db");
        let person = Actor::Person(self.context.environment.person());
        let mut store = SqliteStore::open(&path)?;
        for number in 1..=tasks {
            let id = TaskId::new(format!("race/{number}")).map_err(unexpected)?;
            let title = Title::new(format!("Task {number}")).map_err(unexpected)?;
            store.add(id, NewTask::titled(title), &person, clock::now())?;
        }
        let start = Arc::new(Barrier::new(agents));
        let watch = Stopwatch::start();
        let workers: Vec<_> = (0..agents)
            .map(|number| {
                let (path, start) = (path.clone(), Arc::clone(&start));
                std::thread::spawn(move || claim_all(&path, number, &start))
            })
            .collect();
        let mut claims = 0;
        for worker in workers {
            let claimed =
                worker.join().map_err(|_| CliError::failed("an agent of the demo died"))?;
            claims += claimed?;
        }
        let took = watch.elapsed();
        let left =
            store.list(&Filter::default())?.iter().filter(|task| task.generation != 1).count();
        let good = claims == tasks && left == 0;
        let verdict = format!(
            "{claims} claims in {} ms: {left} tasks left or claimed twice",
            took.as_millis()
        );
        let meaning = if good { Meaning::Good } else { Meaning::Bad };
        let line = self.context.out.look.paint(meaning, verdict);
        self.context.out.line(format!("\n  {line}"))?;
        if good { Ok(()) } else { Err(CliError::failed("tasks were lost or claimed twice")) }
    }

    fn end(&mut self, keep: bool) -> Done {
        self.say("That is ralph's store and its task commands. Next:")?;
        let look = self.context.out.look;
        let mut steps = vec![
            ("ralph task add \"What to do\"", "in a git repository of yours"),
            ("ralph import prd.json", "or bring in a plan"),
            ("ralph help task", "every command"),
        ];
        let kept = format!("cd {}", crate::error::quoted(self.folder));
        if keep {
            steps.push((&kept, "the repository of this demo"));
        }
        self.context.out.line("")?;
        for (command, why) in steps {
            let command = look.paint(Meaning::Name, format!("{command:<28}"));
            self.context.out.line(format!("  {command}  {}", look.paint(Meaning::Faint, why)))?;
        }
        Ok(())
    }
}

fn claim_all(path: &Path, number: usize, start: &Barrier) -> Result<usize, CliError> {
    let mut store = SqliteStore::open(path)?;
    let agent = AgentId::new(format!("agent-{number}")).map_err(unexpected)?;
    let request = ClaimRequest { agent, task: None, scope: Scope::All, lease: Lease::DEFAULT };
    start.wait();
    let mut claims = 0;
    loop {
        match store.claim(&request, clock::now()) {
            Ok(_) => claims += 1,
            Err(StoreError::Refused(Refusal::NothingReady { .. })) => return Ok(claims),
            Err(error) => return Err(error.into()),
        }
    }
}

fn unexpected(error: impl std::error::Error) -> CliError {
    CliError::failed(error.to_string())
}

fn git_error(error: GitError) -> CliError {
    let failed = CliError::failed(error.to_string());
    match error {
        GitError::NotStarted(_) => failed.hint("install git, for example: apt-get install git"),
        GitError::Failed { .. } => failed,
    }
}

/// A word as it would be typed.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}
