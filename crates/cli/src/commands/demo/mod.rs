//! `ralph demo`: runs the real commands on a throw-away repository.
//!
//! | file | owns |
//! |---|---|
//! | `story` | the files of the repository and the agent's script |
//! | `proof` | checks that everything the demo showed really happened |

mod proof;
mod story;

use std::path::Path;

use clap::Args;
use ralph_engine::clock::Stopwatch;
use ralph_engine::git::git;
use ralph_ui::line::{TextLine, paragraph};
use ralph_ui::style::{Meaning, TextStyle};
use ralph_ui::units::short_duration;

use crate::environment::Environment;
use crate::error::{CliError, Done};
use crate::exit_codes::Exit;
use crate::wiring::Context;

/// Watch the whole loop at work, in a throw-away repository
///
/// Creates a small repository, plans three tasks and runs the real commands on them. The agent is a
/// built-in script: you need no key, no network and no money. Takes a few seconds and leaves nothing
/// behind.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph demo")]
pub(crate) struct DemoArgs {
    /// Keep the repository and print its path
    #[arg(long)]
    keep: bool,
}

pub(crate) fn cmd_demo(args: &DemoArgs, context: &mut Context<'_>) -> Done {
    let watch = Stopwatch::start();
    let folder = tempfile::Builder::new().prefix("ralph-demo-").tempdir()?;
    let repo = folder.path().join("greet");
    story::prepare(folder.path(), &repo)?;
    let mut demo = Demo { folder: folder.path(), repo: &repo, context };
    let shown = demo.show();
    if args.keep {
        let _ = folder.keep();
    }
    shown?;
    let mut demo = Demo { folder: Path::new(""), repo: &repo, context };
    demo.end(args.keep, &watch)
}

struct Demo<'a, 'c> {
    folder: &'a Path,
    repo: &'a Path,
    context: &'a mut Context<'c>,
}

impl Demo<'_, '_> {
    fn show(&mut self) -> Done {
        self.say(
            "1. A plan",
            "This is a throw-away repository with two gates: a test, and a check that the README \
             mentions every option. There are three tasks, each waiting for the one before:",
        )?;
        for (id, title, after) in story::TASKS {
            let mut call = vec!["task", "add", title, "--id", id];
            if let Some(dep) = after {
                call.extend(["--deps", dep]);
            }
            self.run(&call)?;
        }
        self.run(&["task", "tree"])?;
        self.say(
            "2. The loop",
            "Each task gets a fresh agent session. When the agent says that a task is done, ralph runs \
             the gates on its work, and a second session, the verifier, checks work that passed. They \
             decide, not the agent. Here the agent is a built-in script, and its prices are invented.",
        )?;
        self.run(&["build"])?;
        self.say(
            "3. The evidence",
            "A gate rejected the first attempt at --loud, and the verifier rejected the first attempt \
             at this task. The next session got the reason in its prompt. ralph keeps all attempts, \
             verdicts, changes and costs:",
        )?;
        self.run(&["task", "show", story::REFUTED])?;
        self.say(
            "4. The commits",
            "One for each task, with exactly the files that the gates checked:",
        )?;
        self.typed("git", &["log", "--oneline"])?;
        let log = git(self.repo, &["log", "--oneline", "--no-decorate"])?;
        self.context.out.line(log)?;
        proof::check(self.repo)
    }

    fn say(&mut self, heading: &str, text: &str) -> Done {
        let style = self.context.out.style;
        self.context.out.line(format!("\n{}", style.paint(Meaning::Heading, heading)))?;
        // Prose is not wider, even on wider terminals.
        let width = Some(style.width.unwrap_or(80).min(80));
        for line in paragraph(0, None, text, TextStyle { width, ..style }) {
            self.context.out.line(line)?;
        }
        self.context.out.line("")
    }

    /// Prints a command as it would be typed.
    fn typed(&mut self, program: &str, arguments: &[&str]) -> Done {
        let words: Vec<String> = arguments.iter().map(|word| shell_word(word)).collect();
        let line = TextLine::new().add(Meaning::Faint, "$ ");
        let line = line.add(Meaning::Name, format!("{program} {}", words.join(" ")));
        self.context.out.line(line.show(self.context.out.style))?;
        self.context.out.finish()
    }

    fn run(&mut self, arguments: &[&str]) -> Done {
        self.typed("ralph", arguments)?;
        let color = |style: TextStyle| if style.color { "always" } else { "never" };
        let mut environment = Environment {
            arguments: vec!["ralph".into(), "-C".into(), self.repo.into()],
            ralph: vec![],
            user_config: Some(story::user_config(self.folder)),
            // Sockets are removed with the rest, if their path is short enough to be inside.
            runtime_dir: Some(self.folder.to_owned()),
            state_home: Some(self.folder.join("state")),
            ..self.context.environment.clone()
        };
        // Caches that the sessions' tools would keep.
        environment.all.retain(|(name, _)| name != "XDG_CACHE_HOME");
        environment.all.push(("XDG_CACHE_HOME".into(), self.folder.join("cache").into()));
        environment.arguments.extend(arguments.iter().map(Into::into));
        environment.arguments.push(format!("--color={}", color(self.context.out.style)).into());
        match (self.context.program.run)(&environment) {
            Exit::Success => Ok(()),
            // The user stopped the demo, and the run has said so.
            Exit::Cancelled => Err(CliError::already_reported(Exit::Cancelled.code())),
            exit => Err(failed!("the demo failed with exit code {}", exit.code())),
        }
    }

    fn end(&mut self, keep: bool, watch: &Stopwatch) -> Done {
        let style = self.context.out.style;
        let took = short_duration(u64::try_from(watch.elapsed().as_millis()).unwrap_or(u64::MAX));
        let text =
            format!("✓ 3 tasks done, 5 sessions, 2 of them rejected, all verified, in {took}.");
        self.context.out.line(format!("\n{}", style.paint(Meaning::Good, text)))?;
        let heading = style.paint(Meaning::Heading, "Next, in your own git repository:");
        self.context.out.line(format!("\n{heading}"))?;
        let kept = format!("cd {}", crate::error::quoted(self.repo));
        let mut steps = vec![
            ("ralph init", "set up settings, prompts and test command"),
            ("ralph doctor", "check your setup"),
            ("ralph task add \"What to do\"", "add a task; or write a plan: ralph plan"),
            ("ralph feature create NAME", "or start a feature: spec, plan, tasks"),
            ("ralph build", "let Claude Code work through the plan"),
        ];
        if keep {
            steps.push((&kept, "the repository of this demo"));
        }
        for (command, why) in steps {
            let line = TextLine::new().plain("  ").add(Meaning::Name, format!("{command:<28}"));
            self.context.out.line(line.plain("  ").add(Meaning::Faint, why).show(style))?;
        }
        Ok(())
    }
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("\"{word}\"")
    }
}
