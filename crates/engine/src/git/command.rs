//! The one constructor of git commands. Nothing else in ralph starts git.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::pinned::{explain, pins};
use crate::host::host;
pub use crate::ports::{GitError, GitResult};
use crate::process::CommandSpec;

/// Variables that would send git to another repository than the one we found, as they do inside a
/// git hook.
pub(crate) const ELSEWHERE: [&str; 10] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
];

/// Settings of every call that the loop makes for itself: no program of the repository is started,
/// and no setting for users makes a call fail.
const PLUMBING: [&str; 5] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "core.looseCompression=1",
    "advice.addEmbeddedRepo=false",
];

/// Whether this process runs in a sandbox, as the one does that looks at sessions' files.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// This process runs in a sandbox: what the repository's settings name may run.
pub(crate) fn settle_inside() {
    INSIDE.store(true, Ordering::Relaxed);
}

fn is_inside() -> bool {
    INSIDE.load(Ordering::Relaxed)
}

/// How long to wait for another git that holds a lock, each time before trying again.
const WAITS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(400)];

/// Runs git in `folder` and returns what it printed. Arguments are never seen by a shell; the locale
/// and the absence of prompts are pinned.
pub fn git(folder: &Path, arguments: &[&str]) -> GitResult<String> {
    let printed = Git::new(folder, arguments).run()?;
    Ok(String::from_utf8_lossy(&printed).trim_end().to_owned())
}

/// One call of git, being put together.
#[derive(Debug)]
pub struct Git<'a> {
    folder: PathBuf,
    settings: Vec<&'static str>,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    verb: &'a str,
    input: &'a [u8],
    stdin: Option<File>,
    reads_settings: bool,
    /// The user reads what it prints, in the user's language.
    is_shown: bool,
}

impl<'a> Git<'a> {
    /// Git in `folder`, as the user would call it.
    pub fn new(folder: &Path, arguments: &[&'a str]) -> Self {
        Self {
            folder: folder.to_owned(),
            settings: Vec::new(),
            arguments: arguments.iter().map(OsString::from).collect(),
            variables: Vec::new(),
            verb: arguments.first().copied().unwrap_or_default(),
            input: &[],
            stdin: None,
            reads_settings: false,
            is_shown: false,
        }
    }

    /// Git for the loop's own purposes: without hooks, monitors and advice.
    pub fn plumbing(folder: &Path, arguments: &[&'a str]) -> Self {
        Self::new(folder, arguments).set(&PLUMBING)
    }

    /// Plumbing on an index of our own.
    pub fn scratch(folder: &Path, index: &Path, arguments: &[&'a str]) -> Self {
        // A split index would leave its other half in the user's git directory. What git remembers of folders
        // without new files would have to be trusted.
        let call = Self::plumbing(folder, arguments)
            .set(&["core.splitIndex=false", "core.untrackedCache=false"]);
        call.env("GIT_INDEX_FILE", index)
    }

    /// Plumbing in a checkout of our own: all files of a tree, wherever the user leaves some out.
    pub fn checkout(folder: &Path, arguments: &[&'a str]) -> Self {
        Self::plumbing(folder, arguments)
            .set(&["core.sparseCheckout=false", "core.splitIndex=false"])
    }

    /// Git that lists settings, and so runs nothing that they name.
    pub(crate) fn listing(folder: &Path, arguments: &[&'a str]) -> Self {
        Self { reads_settings: true, ..Self::new(folder, arguments) }
    }

    pub(crate) fn set(mut self, settings: &[&'static str]) -> Self {
        self.settings.extend(settings);
        self
    }

    /// One more argument, of any bytes.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The call as the system gets it. In a sandbox the repository's own settings count; outside, those that
    /// name programs do not.
    fn command(&self, is_sandboxed: bool) -> GitResult<Command> {
        let pins = match is_sandboxed || self.reads_settings {
            true => Arc::default(),
            false => pins(&self.folder),
        };
        if pins.is_led_away {
            return Err(GitError::Led {
                key: "core.worktree".to_owned(),
                why: "points outside the worktree; ralph does not follow it",
            });
        }
        let mut command = host().git();
        match self.folder.is_absolute() {
            // A statically linked ralph would have to fork to start git elsewhere, which copies its page tables.
            true => command.arg("-C").arg(&self.folder),
            false => command.current_dir(&self.folder),
        };
        command.env("GIT_TERMINAL_PROMPT", "0");
        if !self.is_shown {
            command.env("LC_ALL", "C");
        }
        command.env("GIT_OPTIONAL_LOCKS", "0");
        // The judged objects are the committed ones, not replacements that git could show instead.
        command.env("GIT_NO_REPLACE_OBJECTS", "1");
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        // By the environment: a key or a value may be any bytes.
        for (number, (key, value)) in pins.settings.iter().enumerate() {
            let variable = format!("RALPH_GIT_{number}");
            let mut argument = OsString::from("--config-env=");
            argument.push(key);
            argument.push("=");
            argument.push(&variable);
            command.arg(argument).env(variable, value);
        }
        command.envs(pins.variables.iter().copied());
        match (self.arguments.split_first(), pins.option(self.verb)) {
            (Some((verb, rest)), Some(option)) => command.arg(verb).arg(option).args(rest),
            _ => command.args(&self.arguments),
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// The call in a process group of its own: Ctrl-C is for ralph, which stops in its own time. It must not cut a
    /// commit in half.
    fn apart(&self) -> GitResult<Command> {
        let mut command = self.command(is_inside())?;
        command.process_group(0);
        Ok(command)
    }

    /// Commits in the name of ralph: saving work must not depend on who the user is.
    #[must_use]
    pub fn as_ralph(mut self) -> Self {
        for (name, value) in [("NAME", "ralph"), ("EMAIL", "ralph@localhost")] {
            self.variables.push((format!("GIT_AUTHOR_{name}").into(), value.into()));
            self.variables.push((format!("GIT_COMMITTER_{name}").into(), value.into()));
        }
        self
    }

    /// What it reads on its standard input.
    #[must_use]
    pub fn input(mut self, bytes: &'a [u8]) -> Self {
        self.input = bytes;
        self
    }

    /// It reads this file. Git keeps it open for as long as it, or a git that it started, runs: so a lock on the
    /// file lasts even if ralph is killed.
    #[must_use]
    pub fn reading(mut self, file: &File) -> Self {
        self.stdin = file.try_clone().ok();
        self
    }

    /// The same call for the supervisor, for calls that may take long and can be stopped. `environment` is
    /// what it finds beside the variables of every call.
    pub(crate) fn spec(&self, environment: &[(OsString, OsString)]) -> GitResult<CommandSpec> {
        Ok(self.spec_of(&self.command(false)?, environment))
    }

    /// The same call for a sandbox.
    pub(crate) fn sandboxed_spec(
        &self,
        environment: &[(OsString, OsString)],
    ) -> GitResult<CommandSpec> {
        Ok(self.spec_of(&self.command(true)?, environment))
    }

    fn spec_of(&self, command: &Command, environment: &[(OsString, OsString)]) -> CommandSpec {
        let changed = command.get_envs().filter(|(name, _)| *name != "PATH");
        let changed: Vec<_> = changed.collect();
        let environment = host().environment(environment);
        let kept =
            |(name, _): &&(OsString, OsString)| changed.iter().all(|(known, _)| known != name);
        let mut env: Vec<_> = environment.iter().filter(kept).cloned().collect();
        let set = |(name, value): &(&OsStr, Option<&OsStr>)| Some((name.into(), (*value)?.into()));
        env.extend(changed.iter().filter_map(set));
        CommandSpec {
            program: command.get_program().to_owned(),
            args: command.get_args().map(OsStr::to_owned).collect(),
            folder: self.folder.clone(),
            env,
            stdin: self.input.to_owned().into(),
        }
    }

    /// Runs it and returns its output, byte for byte. Waits a moment for a lock of another git.
    pub fn run(self) -> GitResult<Vec<u8>> {
        let mut waits = WAITS.iter();
        loop {
            let output = self.once()?;
            if output.status.success() {
                return Ok(output.stdout);
            }
            let refused = match refusal(self.verb, &output) {
                GitError::Failed { verb, message } => {
                    let message = explain(&self.folder, &message).unwrap_or(message);
                    GitError::Failed { verb, message }
                }
                other => other,
            };
            match (&refused, waits.next()) {
                (GitError::Busy { .. }, Some(wait)) => pause(*wait),
                _ => return Err(refused),
            }
        }
    }

    /// Starts it with pipes on all sides, for a dialog.
    pub(crate) fn open(&self) -> GitResult<Child> {
        let mut command = self.apart()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(GitError::NotStarted)
    }

    /// Becomes git: what it shows goes to the user's terminal, through the user's pager. Returns only if git cannot be
    /// started.
    pub fn replace_process(self) -> GitError {
        match (Self { is_shown: true, ..self }).command(is_inside()) {
            Ok(mut command) => GitError::NotStarted(command.exec()),
            Err(error) => error,
        }
    }

    /// Runs it where an exit code of 1 is an answer, too: whether it was 0, and what was printed.
    pub fn yes_or_no(self) -> GitResult<(bool, Vec<u8>)> {
        let output = self.once()?;
        match output.status.code() {
            Some(code @ (0 | 1)) => Ok((code == 0, output.stdout)),
            _ => Err(refusal(self.verb, &output)),
        }
    }

    /// Runs it where an exit code of 1 means that there is nothing, and returns the line that it printed.
    pub(crate) fn answer(self) -> GitResult<Option<String>> {
        let verb = self.verb;
        let (is_there, printed) = self.yes_or_no()?;
        Ok(Some(text(verb, printed)?).filter(|_| is_there))
    }

    /// Runs it and returns the one line that it printed.
    pub fn line(self) -> GitResult<String> {
        let verb = self.verb;
        match text(verb, self.run()?)? {
            empty if empty.is_empty() => {
                Err(GitError::Odd { verb: verb.to_owned(), answer: empty })
            }
            line => Ok(line),
        }
    }

    /// Runs it and returns the lines that it printed.
    pub(crate) fn lines(self) -> GitResult<Vec<String>> {
        let printed = self.run()?;
        Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
    }

    /// Runs it and returns the lines that it printed, each in two at its first space.
    pub(crate) fn pairs(self) -> GitResult<Vec<(String, String)>> {
        let printed = self.run()?;
        let text = String::from_utf8_lossy(&printed);
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(first, rest)| (first.to_owned(), rest.to_owned())).collect())
    }

    fn once(&self) -> GitResult<Output> {
        let mut command = self.apart()?;
        if let Some(file) = &self.stdin {
            command.stdin(file.try_clone().map_err(GitError::NotStarted)?);
        } else if self.input.is_empty() {
            command.stdin(Stdio::null());
        } else {
            // A file and not a pipe: no thread has to write while git prints.
            let mut file = tempfile::tempfile().map_err(GitError::NotStarted)?;
            file.write_all(self.input).map_err(GitError::NotStarted)?;
            file.rewind().map_err(GitError::NotStarted)?;
            command.stdin(file);
        }
        command.output().map_err(GitError::NotStarted)
    }
}

/// What git printed, without the end of its line. Ids and names that are not text have no other name.
fn text(verb: &str, printed: Vec<u8>) -> GitResult<String> {
    let text = String::from_utf8(printed).map_err(|error| GitError::Odd {
        verb: verb.to_owned(),
        answer: String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })?;
    Ok(text.trim_end().to_owned())
}

#[expect(clippy::disallowed_methods, reason = "git has no way to wait for its locks but to ask")]
fn pause(wait: Duration) {
    std::thread::sleep(wait);
}

/// What an error of git means. Git's text only decides which error is returned.
fn refusal(verb: &str, output: &Output) -> GitError {
    let printed = String::from_utf8_lossy(&output.stderr);
    let printed = printed.trim();
    if let Some(path) = lock_in(printed) {
        return GitError::Busy { path };
    }
    let unknown = ["Please tell me who you are", "empty ident", "auto-detect", "was given and"];
    if unknown.iter().any(|words| printed.contains(words)) {
        let last = printed.lines().last().unwrap_or_default();
        let message = last.strip_prefix("fatal: ").unwrap_or(last).to_owned();
        return GitError::NoIdentity { message };
    }
    let message = if printed.is_empty() { output.status.to_string() } else { printed.to_owned() };
    GitError::Failed { verb: verb.to_owned(), message }
}

fn lock_in(output: &str) -> Option<PathBuf> {
    if let Some((_, rest)) = output.split_once("could not lock config file ") {
        let (path, why) = rest.split_once(": ")?;
        return why.starts_with("File exists").then(|| PathBuf::from(format!("{path}.lock")));
    }
    let (_, rest) = output.split_once("Unable to create '")?;
    let (path, rest) = rest.split_once("': ")?;
    (path.ends_with(".lock") && rest.starts_with("File exists")).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_found_in_what_git_says() {
        let output = "error: could not lock config file .git/config: File exists";
        assert_eq!(lock_in(output), Some(PathBuf::from(".git/config.lock")));
        assert_eq!(lock_in("error: could not lock config file x: Permission denied"), None);
        let output = "fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git";
        assert_eq!(lock_in(output), Some(PathBuf::from("/r/.git/index.lock")));
        let output = "fatal: Unable to create '/r/.git/index.lock': Permission denied";
        assert_eq!(lock_in(output), None);
        assert_eq!(lock_in("fatal: not a git repository"), None);
    }

    #[test]
    fn input_of_any_size_and_any_bytes_arrives() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]).unwrap();
        let bytes: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        let call = Git::plumbing(folder.path(), &["hash-object", "-w", "--stdin"]).input(&bytes);
        let id = call.line().unwrap();
        let back = Git::plumbing(folder.path(), &["cat-file", "blob", &id]).run().unwrap();
        assert!(back == bytes);
    }
}
