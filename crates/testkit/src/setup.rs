//! A run with the usual values, for tests and benches of the loop. Callers change what they are about.

use std::path::Path;
use std::sync::Arc;

use ralph_core::Lease;
use ralph_core::attempt::prompt::RULES;
use ralph_core::redact::Secrets;
use ralph_core::run::Policy;
use ralph_core::task::RetryLimit;
use ralph_engine::agents;
use ralph_engine::context::FeatureTexts;
use ralph_engine::entropy::Ids;
use ralph_engine::gates::GateRules;
use ralph_engine::ports::{Clock, KeepSaves, Scope, Vcs};
use ralph_engine::process::Watch;
use ralph_engine::project::Project;
use ralph_engine::prompts::{Prompting, Template};
use ralph_engine::run::setup::OpenStore;
use ralph_engine::run::{
    AgentProgram, AgentSetup, FileSetup, GateSetup, PortSetup, PromptStyle, Setup, WorkSetup,
};
use ralph_engine::run_files::state_file::{Record, Request};
use ralph_engine::run_files::{RunLogs, WorktreeLock};
use ralph_engine::sandbox;
use ralph_engine::socket::{Call, Reply, SessionIdentity, SessionRequestHandler};
use ralph_engine::trust::{Deciding, Trust};

/// What every caller has its own of.
pub struct Base<'a> {
    /// The repository; its `.ralph` exists.
    pub repo: &'a Path,
    /// The program that sessions find as ralph.
    pub ralph: &'a Path,
    pub ids: Ids,
    pub open_store: OpenStore,
    pub clock: Arc<dyn Clock>,
    pub vcs: Arc<dyn Vcs>,
}

/// An agent by the name of its profile.
pub fn agent(name: &str, executable: &Path) -> AgentProgram {
    AgentProgram {
        agent: agents::find(name).expect("there is such an agent"),
        executable: executable.into(),
        extra_args: vec![],
        cassette: None,
        made: None,
    }
}

/// One slot on all tasks of the task database, with the default policy, the agent `script`, no gates and no sandbox.
pub fn setup(base: Base<'_>) -> Setup {
    let Base { repo, ralph, mut ids, open_store, clock, vcs } = base;
    let project = Project::find(repo).expect("it is a repository");
    let sandbox = Arc::new(no_sandbox(&project, ralph));
    Setup {
        policy: Policy::default(),
        run: ids.run().expect("an id"),
        agent_ids: vec![ids.slot_agent().expect("an id")],
        resume: None,
        paused: false,
        notices: vec![],
        shared_budget: None,
        publish: None,
        work: WorkSetup {
            scope: Scope::All,
            target: "all tasks".to_owned(),
            plan: None,
            deliverable: None,
            about: None,
            folder: repo.to_owned(),
            recent_attempts: 5,
            pool: None,
            earlier: None,
            keep_saves: KeepSaves::default(),
        },
        agent: AgentSetup {
            program: agent("script", Path::new("script")),
            fallback: vec![],
            tools: vec![],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            watch: Watch::default(),
            style: PromptStyle::System,
            prompting: prompting(),
        },
        gates: GateSetup {
            specs: vec![],
            rules: GateRules::default(),
            environment: vec![],
            sandboxed_environment: vec![],
            verifier: None,
        },
        sandbox: Arc::clone(&sandbox),
        files: FileSetup {
            lock: WorktreeLock::take(&project.ralph_dir()).expect("no other run is here"),
            logs: RunLogs::create(&project.ralph_dir().join("logs"), clock.now())
                .expect("a folder for the logs"),
            keep_raw: true,
            record: Record::of(None, &project, "build"),
            request: Request::default(),
            deciding: Deciding {
                trust: Trust::of(Some(&project.ralph_dir()), &project),
                home: project.worktree.clone(),
                named: vec![],
                found: Arc::new(|_| None),
                open: true,
            },
            runtime: Some(repo.to_owned()),
            disk_floor: 0,
            secrets: Secrets::default(),
            project: project.clone(),
        },
        ports: PortSetup {
            open_store,
            store_path: project.ralph_dir().join("progress.db"),
            lease: Lease::DEFAULT,
            clock,
            programs: sandbox,
            vcs,
            handler: Arc::new(NoRequests),
            peek_text: Arc::new(|_| String::new()),
            ids,
            ralph: ralph.to_owned(),
        },
    }
}

fn prompting() -> Prompting {
    Prompting {
        test_command: String::new(),
        template: Template::built_in(RULES),
        feature: FeatureTexts::default(),
        skill_folders: vec![],
        build_skill: String::new(),
        learn: false,
        retries: RetryLimit::AtMost(3),
        budget: 12_000,
        rules: Template::built_in(RULES),
        mode: "build".to_owned(),
        plan_file: None,
        branch: None,
        bare: false,
        known: None,
        idea: None,
    }
}

/// Nobody asks for anything.
struct NoRequests;

impl SessionRequestHandler for NoRequests {
    fn answer(&self, _: &SessionIdentity, _: &Call) -> Reply {
        Reply::default()
    }
}

fn no_sandbox(project: &Project, ralph: &Path) -> sandbox::Sandbox {
    let config = sandbox::SandboxConfig {
        project: project.clone(),
        homes: vec![],
        environment: vec![],
        caches: sandbox::Caches::of(&project.root, &project.root),
        ralph: ralph.to_owned(),
        programs: vec![],
        hidden: vec![],
        writable: vec![],
        readable: vec![],
        home: sandbox::Home::masked(),
        sockets: vec![],
        limits: sandbox::Limits::default(),
        network: sandbox::Network::of_machine(),
        agents: vec![],
    };
    let none = sandbox::Wanted::Exactly(sandbox::Level::None);
    sandbox::choose(none, config).expect("there is always none").sandbox
}
