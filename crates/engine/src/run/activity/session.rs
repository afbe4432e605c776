//! One session: the prompt, the process, its requests, and how it ended.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::agent::{EndClass, ProcessEnd, SessionEnd, Signals};
use ralph_core::attempt::prompt::pick_prompt;
use ralph_core::records::Attempt;
use ralph_core::run::{Earlier, Effect, Input, Port, SessionReport, TaskBrief};
use ralph_core::text::tail;
use ralph_core::{TaskId, Timestamp};
use tokio::sync::{mpsc, watch};

use crate::agents::{PromptBy, SessionSpec, Written};
use crate::crash;
use crate::ports::{HEARTBEAT, Vcs};
use crate::process::{Mark, Said, Stop};
use crate::prompts::prompting::{PromptError, PromptFor};
use crate::quota::RAW_LOG;
use crate::run::activity::catch_panic;
use crate::run::activity::judge::blocking;
use crate::run::activity::session_listener::SessionListener;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::sandboxed::session_binds;
use crate::run::setup::{AgentProgram, PromptStyle};
use crate::run::slot_state::SlotState;
use crate::run_files::clean::CleanFile;
use crate::run_files::private_file;
use crate::sandbox::{Program, ProgramKind, SandboxedCommand};
use crate::socket::{SessionIdentity, SessionSocket};

/// How much of a final text the journal keeps.
const KEPT_TEXT: usize = 4_000;

/// What a session was asked to do.
pub(in crate::run) struct Job {
    pub(in crate::run) iteration: u32,
    pub(in crate::run) task: Option<TaskBrief>,
    pub(in crate::run) model: Option<String>,
    /// Which agent of the run works, 0 for the preferred one.
    pub(in crate::run) agent: usize,
    /// What the strategy would have chosen instead.
    pub(in crate::run) overridden: Option<String>,
    /// How often the task failed in the same way, where that chose the model.
    pub(in crate::run) raised: Option<u32>,
    /// How the iteration before it ended.
    pub(in crate::run) earlier: Box<Earlier>,
}

/// A session that is over and not reported yet.
pub(in crate::run) struct OverSession {
    job: Job,
    report: SessionReport,
}

/// Signals version control repeatedly that a session is alive, for as long as it is polled.
async fn heartbeats(vcs: &dyn Vcs) -> Infallible {
    let mut beat = tokio::time::interval(HEARTBEAT);
    loop {
        beat.tick().await;
        vcs.session_lives(true);
    }
}

impl Ports {
    /// Prepares a session, starts it, and notifies the loop.
    pub(in crate::run) fn begin_session(
        self: &Arc<Self>,
        mut slot: Box<SlotState>,
        job: Job,
    ) -> Vec<Effect> {
        slot.begin(job.iteration, job.task.as_ref(), self.now());
        self.prepare_messages(slot.id);
        self.stop(slot.id).send_replace(Stop::Go);
        let stop = self.stop(slot.id).subscribe();
        self.make_baseline(&slot);
        let moved = catch_panic(Port::Git, || {
            self.enter(&mut slot, job.task.as_ref())?;
            self.open_workspace(&mut slot, job.task.as_ref())?;
            self.found_work(&slot, job.task.as_ref())
        });
        let approved = job.task.as_ref().filter(|task| task.has_approved_work());
        if let (Ok(None), Some(task)) = (&moved, approved) {
            let why = self.why_missing(&slot, task);
            let missing = Input::WorkMissing { slot: slot.id, task: task.id.clone(), why };
            self.leave(&mut slot, false);
            self.close_messages(slot.id);
            return self.step_with(slot, Ok(missing));
        }
        let moved = match moved {
            Ok(Some(task)) => {
                slot.task = Some(task.clone());
                self.close_messages(slot.id);
                let found = Input::WorkFound { slot: slot.id, task: Box::new(task) };
                return self.step_with(slot, Ok(found));
            }
            moved => moved.map(drop),
        };
        let prepared =
            moved.and_then(|()| catch_panic(Port::Prompt, || self.prepare(&mut slot, job)));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failed) => {
                self.close_messages(slot.id);
                return self.step_with(slot, Err(failed));
            }
        };
        let log = prepared.log.display().to_string();
        let effects = self.step(&Input::SessionStarted { slot: slot.id, log });
        // Before the process: a session that is killed with the run has been paid for.
        crate::run::dispatcher::record(self);
        crash::point("session-started");
        self.tasks().spawn(Arc::clone(self).session(slot, prepared, stop));
        effects
    }

    /// Runs a session to its end and notifies the loop.
    async fn session(
        self: Arc<Self>,
        mut slot: Box<SlotState>,
        prepared: Prepared,
        stop: watch::Receiver<Stop>,
    ) {
        let Prepared { job, spec, sandboxed, log, raw, socket } = prepared;
        let context_full = Arc::new(AtomicBool::new(false));
        let ender = {
            let full = Arc::clone(&context_full);
            let (requests, ports, id) = (socket.requests().clone(), Arc::clone(&self), slot.id);
            tokio::spawn(async move {
                requests.session_to_end().await;
                full.store(true, Ordering::Relaxed);
                ports.stop(id).send_modify(|now| *now = Stop::Interrupt.max(*now));
            })
        };
        let (open, says) = self.open_conversation(slot.id);
        self.open_messages(slot.id);
        let vcs = Arc::clone(&slot.workspace().vcs);
        let agent = self.setup.agent.program_of(job.agent);
        let played = tokio::select! {
            biased;
            never = heartbeats(&*vcs) => match never {},
            played = self.play(&slot, agent, (&spec, &sandboxed), &log, raw, (stop, Some(says))) => played,
        };
        vcs.session_lives(false);
        ender.abort();
        // It may be at it just now.
        let _ = ender.await;
        if context_full.load(Ordering::Relaxed) {
            // That was for the session: gates and verifier run. What the user wants is the core's to decide.
            self.stop(slot.id).send_if_modified(|now| {
                let interrupted = *now == Stop::Interrupt;
                if interrupted {
                    *now = Stop::Go;
                }
                interrupted
            });
        }
        drop(open);
        slot.got = self.close_messages(slot.id);
        crash::point("session-ended");
        tokio::task::block_in_place(|| self.note_deciding(&slot));
        let Played { mut end, process, duration_ms, leftovers } = played;
        if end.class == EndClass::Cancelled && context_full.load(Ordering::Relaxed) {
            let full = SessionEnd::of(EndClass::MaxTurns, "context limit reached");
            end = SessionEnd { usage: end.usage, model: end.model, ..full };
        }
        let (requests, notes) = socket.requests().close();
        let added = socket.requests().added();
        if !added.is_empty() {
            let ids: Vec<&str> = added.iter().map(TaskId::as_str).collect();
            self.notice(format!("the session added tasks to the plan: {}", ids.join(", ")));
        }
        slot.proposals = socket.requests().proposals();
        let signals = match end.class {
            EndClass::Completed => Signals::read(&end.text),
            _ => Signals::default(),
        };
        let report = SessionReport {
            end,
            process,
            signals,
            requests,
            held: vec![],
            notes,
            duration_ms,
            leftovers,
        };
        slot.over = Some(Box::new(OverSession { job, report }));
        let answer = blocking(|| self.report_session(&mut slot));
        self.answer(slot, answer);
        // Nothing waits for the removal of its folder.
        drop(socket);
    }

    /// Asks the plan which tasks a session holds now that it is over, and reports its end. Where that fails, the loop
    /// decides when to try again.
    pub(in crate::run) fn report_session(&self, slot: &mut SlotState) -> Answer {
        let Some(mut over) = slot.over.take() else {
            return Err(Failed::new(Port::Store, "there is no session to report", true));
        };
        let held = match self.plan.after_session(self, slot, &over.job, &mut over.report) {
            Ok(held) => held,
            Err(failed) => {
                slot.over = Some(over);
                return Err(failed);
            }
        };
        if let Err(failed) = self.record_messages(slot, &held) {
            slot.over = Some(over);
            return Err(failed);
        }
        slot.held = held.iter().map(|task| task.id.clone()).collect();
        let report = over.report;
        let report = SessionReport { held, end: self.shortened(report.end), ..report };
        Ok(Input::SessionEnded { slot: slot.id, report: Box::new(report) })
    }

    /// Runs the process of a session to its end, shows what it says, and reads how it ended.
    pub(in crate::run) async fn play(
        &self,
        slot: &SlotState,
        agent: &AgentProgram,
        (spec, sandboxed): (&SessionSpec, &SandboxedCommand),
        log: &Path,
        raw: Option<File>,
        (stop, says): (watch::Receiver<Stop>, Option<mpsc::Receiver<Said>>),
    ) -> Played {
        let command = agent.command(spec);
        let mark = Mark::new(&self.setup.files.project.root, u64::from(slot.iteration));
        let mut listener = SessionListener::new(agent.driver(spec), self.display.clone(), slot.id);
        let interrupts = stop.clone();
        let mut raw = raw.map(|file| CleanFile::new(file, &self.setup.files.secrets));
        let raw_writer = raw.as_mut().map(|raw| raw as &mut (dyn Write + Send));
        let watch = &self.setup.agent.watch;
        let program = Program { command: &command, sandboxed, watch, mark: &mark, stop, says };
        let ended = self.run_program(program, &mut listener, raw_writer).await;
        let unwritten = raw.as_mut().and_then(|raw| raw.finish().err()).map(|e| e.to_string());
        if raw.is_some_and(|raw| raw.is_cut()) {
            let most = RAW_LOG >> 20;
            self.notice(format!("the raw log {} was cut off after {most} MiB", log.display()));
        }
        if let Some(error) = ended.raw_error.as_ref().or(unwritten.as_ref()) {
            self.notice(format!("the raw log {} is incomplete: {error}", log.display()));
        }
        // What was interrupted may finish: then its result counts like any other.
        let finished = listener.has_result()
            && ended.end == ProcessEnd::Stopped
            && *interrupts.borrow() == Stop::Interrupt;
        let mut process = ended.end;
        let mut end = if finished {
            listener.end(&ProcessEnd::Exited { code: 0 }, &ended.stderr_tail)
        } else {
            listener.end(&process, &ended.stderr_tail)
        };
        // A result that only says that it was interrupted is what was asked for.
        if finished && end.class == EndClass::Completed {
            process = ProcessEnd::Exited { code: 0 };
        } else if finished {
            end = SessionEnd { usage: end.usage, ..SessionEnd::of(EndClass::Cancelled, "") };
        }
        Played {
            end,
            process,
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            leftovers: ended.ended_leftovers,
        }
    }

    /// The row of the attempt that this session is.
    pub(in crate::run) fn attempt(
        &self,
        slot: &SlotState,
        job: &Job,
        task: &TaskBrief,
        started_at: Timestamp,
    ) -> Attempt {
        let agents = &self.setup.agent;
        let (program, several) = (agents.program_of(job.agent), !agents.fallback.is_empty());
        Attempt {
            id: task.attempt.clone(),
            task: task.id.clone(),
            run: Some(self.setup.run.clone()),
            agent: slot.agent.clone(),
            generation: task.generation,
            program: several.then(|| program.agent.name.to_owned()),
            model: job.model.clone(),
            sandbox: Some(self.setup.sandbox.level().to_string()),
            started_at,
            end: None,
        }
    }

    fn prepare(&self, slot: &mut SlotState, job: Job) -> Result<Prepared, Failed> {
        self.plan.before_session(self, slot)?;
        self.watch_deciding(slot)?;
        let prompt = self.prompt(slot, &job)?;
        crash::point("prompt-written");
        let identity = SessionIdentity {
            agent: slot.agent.clone(),
            task: job.task.as_ref().map(|task| (task.id.clone(), task.generation)),
            may_claim: self.setup.agent.style == PromptStyle::Peek,
            plan: self
                .setup
                .work
                .plan
                .as_ref()
                .filter(|_| self.setup.policy.by_iteration())
                .map(|plan| plan.name().to_owned()),
            requests: self.new_requests(),
            adds: self.plan.adds(self),
        };
        let (number, handler) = (self.next_session(), Arc::clone(&self.setup.ports.handler));
        let socket =
            SessionSocket::open(&self.sockets, number, identity, handler, &self.ralph_inside())
                .map_err(|error| Failed::new(Port::Prompt, error, false))?;
        let environment = self.session_environment(&socket);
        let log = self.setup.files.logs.raw(job.iteration);
        let raw = self.raw_log(&log);
        if let Some(task) = &job.task {
            self.store().begin_attempt(&self.attempt(slot, &job, task, self.now()))?;
            crash::point("attempt-begun");
            if let (Some(model), Some(instead)) = (&job.model, &job.overridden) {
                let text = match job.raised {
                    Some(times) => format!(
                        "using model {model} instead of {instead} after the same failure {times} \
                         times"
                    ),
                    None => format!("using model {model} instead of {instead}, as the agent asked"),
                };
                let by = slot.actor(task.generation);
                self.store().note(&task.id, &text, &by, self.now())?;
            }
        }
        let agent = self.setup.agent.program_of(job.agent);
        let prompt = self.in_files(agent, (job.iteration, ""), prompt)?;
        let spec = SessionSpec {
            executable: agent.executable.clone(),
            extra_args: agent.extra_args.clone(),
            folder: slot.workspace().folder.clone(),
            environment,
            prompt,
            model: job.model.clone(),
            permissions: self.permissions(agent),
            sandboxed: self.setup.sandbox.holds(),
            cassette: agent.cassette.clone(),
            session: None,
            verifies: false,
        };
        let workspace = slot.workspace();
        let mut sandboxed = self.sandboxed(&workspace, ProgramKind::Session, None)?;
        sandboxed.binds.extend(session_binds(&spec, &socket)?);
        Ok(Prepared { job, spec, sandboxed, log, raw, socket })
    }

    /// What a session finds: what the settings say, its socket, and ralph before all other programs.
    pub(in crate::run) fn session_environment(
        &self,
        socket: &SessionSocket,
    ) -> Vec<(OsString, OsString)> {
        let mut environment = self.setup.agent.environment.clone();
        environment.extend(socket.environment());
        if self.setup.sandbox.mounts() {
            return environment;
        }
        match self.sockets.bin(&self.setup.ports.ralph) {
            Ok(folder) => first_on_path(&mut environment, &folder),
            Err(error) => self.notice(format!("sessions may not find the ralph command: {error}")),
        }
        environment
    }

    /// The file for what an agent prints, where that is kept.
    pub(in crate::run) fn raw_log(&self, path: &Path) -> Option<File> {
        if !self.setup.files.keep_raw {
            return None;
        }
        private_file(path)
            .inspect_err(|error| self.notice(format!("no raw log: {}: {error}", path.display())))
            .ok()
    }

    /// The end with a text that fits into a journal line. Secrets go first: a cut may go through one.
    pub(in crate::run) fn shortened(&self, mut end: SessionEnd) -> SessionEnd {
        self.setup.files.secrets.clean(&mut end.text);
        SessionEnd { text: tail(&end.text, KEPT_TEXT), ..end }
    }

    fn prompt(&self, slot: &mut SlotState, job: &Job) -> Result<PromptBy, Failed> {
        let failed = |error| match error {
            PromptError::Store(error) => Failed::from(error),
            PromptError::Template(error) => Failed::new(Port::Prompt, error, true),
        };
        match (self.setup.agent.style, &job.task) {
            (PromptStyle::System | PromptStyle::Progress | PromptStyle::Stdin, Some(task)) => {
                let plan = slot.plan.as_ref().map(|synced| synced.plan.text.clone());
                let plan = plan.filter(|_| self.setup.agent.style == PromptStyle::Progress);
                let note = slot.workspace_note.clone();
                let store = &mut *self.store();
                let about = PromptFor {
                    iteration: job.iteration,
                    plan: plan.as_deref(),
                    note: note.as_deref(),
                };
                let prompt = self.setup.agent.prompting.prompt(store.as_mut(), &task.id, &about);
                let prompt = prompt.map_err(failed)?;
                self.prompted(slot.id, &task.id, prompt.messages.clone());
                if self.setup.agent.style == PromptStyle::Stdin {
                    let written = self.written(job.iteration, ".prompt.md", prompt.whole())?;
                    return Ok(PromptBy::Stdin(written.text));
                }
                let system = self.written(job.iteration, ".system.md", prompt.system.clone())?;
                let task =
                    self.written(job.iteration, ".task.md", prompt.task_file().to_owned())?;
                Ok(PromptBy::System { system, task })
            }
            (PromptStyle::Whole, _) => {
                let prompting = &self.setup.agent.prompting;
                let told = self.told_in_plan(slot)?;
                let text = prompting.whole(job.iteration, &job.earlier, &told).map_err(failed)?;
                for (task, messages) in told {
                    self.prompted(slot.id, &task, messages);
                }
                let written = self.written(job.iteration, ".prompt.md", text)?;
                Ok(PromptBy::Stdin(written.text))
            }
            (PromptStyle::Peek, _) | (_, None) => {
                let peek = slot.peek.take().unwrap_or_default();
                let text = (self.setup.ports.peek_text)(&peek);
                let prompting = &self.setup.agent.prompting;
                let offered = prompting.returned(self.store().as_mut(), &peek.claimable)?;
                for (task, known) in peek.claimable.iter().zip(&offered) {
                    self.prompted(slot.id, &task.id, known.unread());
                }
                let agent = self.setup.agent.program_of(job.agent).agent;
                let prompt =
                    pick_prompt(prompting.skill_for(agent), &text, &offered, prompting.budget);
                Ok(PromptBy::Argument(prompt))
            }
        }
    }

    /// The prompt as an agent by config takes it: in files, and as one text where it takes no rules apart. `of` names
    /// the iteration, and what the files are called besides.
    pub(in crate::run) fn in_files(
        &self,
        agent: &AgentProgram,
        (iteration, of): (u32, &str),
        prompt: PromptBy,
    ) -> Result<PromptBy, Failed> {
        let Some(made) = &agent.made else { return Ok(prompt) };
        let text = match prompt {
            PromptBy::System { .. } if made.takes_system() => return Ok(prompt),
            PromptBy::System { system, task } => [system.text, task.text].join("\n\n"),
            PromptBy::Stdin(text) | PromptBy::Argument(text) => text,
        };
        let system = self.written(iteration, &format!("{of}.system.md"), String::new())?;
        let task = self.written(iteration, &format!("{of}.prompt.md"), text)?;
        Ok(PromptBy::System { system, task })
    }

    pub(in crate::run) fn written(
        &self,
        iteration: u32,
        rest: &str,
        text: String,
    ) -> Result<Written, Failed> {
        let file = self.setup.files.logs.iteration(iteration, rest);
        let failed =
            |error| Failed::new(Port::Prompt, format!("{}: {error}", file.display()), false);
        let text = self.setup.files.secrets.redact_exact(&text).into_owned();
        let mut options = OpenOptions::new();
        options.create_new(true).write(true).mode(0o600);
        let opened = options.open(&file).or_else(|error| {
            // A second try of the same iteration writes it again.
            if error.kind() != std::io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            std::fs::remove_file(&file)?;
            options.open(&file)
        });
        opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(Written { text, file })
    }
}

/// A session's process that has ended.
pub(in crate::run) struct Played {
    pub(in crate::run) end: SessionEnd,
    pub(in crate::run) process: ProcessEnd,
    pub(in crate::run) duration_ms: u64,
    pub(in crate::run) leftovers: u32,
}

struct Prepared {
    job: Job,
    spec: SessionSpec,
    sandboxed: SandboxedCommand,
    log: PathBuf,
    raw: Option<File>,
    socket: SessionSocket,
}

/// Puts a folder before all others in which programs are looked for: prompts, skills and hooks call
/// `ralph`, and it must be the one that drives them.
fn first_on_path(environment: &mut [(OsString, OsString)], folder: &Path) {
    let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == "PATH") else { return };
    let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(path));
    if let Ok(joined) = std::env::join_paths(all) {
        *path = joined;
    }
}
