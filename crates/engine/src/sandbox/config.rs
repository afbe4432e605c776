//! The settings that all sandboxes of a run share ([`SandboxConfig`]), and the mounts that each sandboxed command gets.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::caches::{Caches, TEMPORARY};
use super::environment::paths;
use super::guard::Guard;
use super::home::Home;
use super::level::Level;
use super::mount_plan::MountPlan;
use super::network_attachment::{Network, NetworkAttachment};
use super::sandboxed_command::{ProgramKind, SandboxedCommand};
use super::stages::Limits;
use super::state::{AgentState, OwnState};
use super::wrapped::Wrapped;
use super::{seatbelt, secrets};
use crate::host::names_of;
use crate::ports::{Bind, Jail};
use crate::process::CommandSpec;
use crate::project::{Project, is_folder};

/// Where a sandbox has ralph, first on the `PATH`.
pub(super) const BIN: &str = "/run/ralph/bin";
/// Folders that are empty in a sandbox.
pub(super) const EMPTY: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev/shm"];
/// What of `/run` programs need that are installed elsewhere than usual.
const OF_RUN: [&str; 4] =
    ["/run/current-system", "/run/opengl-driver", "/run/wrappers", "/run/systemd/resolve"];
/// Variables that lead to what a sandbox does not show.
const LEADS_OUT: [&str; 8] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_TTY",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "WAYLAND_DISPLAY",
];

#[derive(Debug, Clone)]
pub struct SandboxConfig {
    pub project: Project,
    /// The user's home, and the one that the system knows of where that is another.
    pub homes: Vec<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    pub caches: Caches,
    pub ralph: PathBuf,
    /// Programs that must be found wherever they are.
    pub programs: Vec<PathBuf>,
    /// Ralph's own files outside of `.ralph`.
    pub hidden: Vec<PathBuf>,
    /// What the user lets sessions change.
    pub writable: Vec<PathBuf>,
    /// What the user lets sessions read although it is hidden otherwise.
    pub readable: Vec<PathBuf>,
    pub home: Home,
    /// Sockets of other programs that the user lets sessions and gates talk to.
    pub sockets: Vec<Bind>,
    pub limits: Limits,
    pub network: Network,
    pub agents: Vec<AgentState>,
}

impl SandboxConfig {
    /// The mounts for a program with these agents' states, at a level that mounts or at one that does not.
    pub(super) fn mount_plan(
        &self,
        sandboxed: &SandboxedCommand,
        states: &[OwnState],
        mounts: bool,
    ) -> MountPlan {
        let shares_network = sandboxed.kind != ProgramKind::Helper && self.network.is_open();
        let mut mount_plan = MountPlan { shares_network, ..MountPlan::default() };
        if mounts {
            self.home.show_top(&mut mount_plan);
        }
        EMPTY.iter().for_each(|path| mount_plan.scratch(Path::new(path)));
        mount_plan.writable.push("/dev".into());
        // Where nothing can be mounted, a home can only be masked.
        let emptied = if mounts { self.home.emptied() } else { &[] };
        if mounts {
            self.home.empty(&mut mount_plan);
        }
        self.show_system(emptied, &mut mount_plan);
        self.show_worktree(sandboxed, &mut mount_plan);
        for path in self.other_worktrees(sandboxed) {
            mount_plan.hide(&path);
        }
        self.hide_own(sandboxed, &mut mount_plan);
        let secrets = self.secrets();
        secrets.iter().for_each(|path| mount_plan.hide(path));
        if mounts {
            self.home.show(&self.listed(), &mut mount_plan);
        }
        // A socket path reaches its listener, whatever network a sandbox has.
        for path in secrets::sockets() {
            mount_plan.hide(&path);
        }
        // Those of other projects, and the logins of their agents, too.
        mount_plan.close(self.caches.folder().parent().unwrap_or(self.caches.folder()));
        if sandboxed.kind != ProgramKind::Helper {
            // Each mounted by itself: no sandboxed program can replace the folders around them.
            let caches = self.caches_of(sandboxed);
            let there = caches.folders().filter(|folder| folder.is_dir());
            there.for_each(|folder| mount_plan.show(Bind::writable(folder)));
        }
        for state in states {
            state.binds().into_iter().for_each(|bind| mount_plan.show(bind));
        }
        if let Some(bind) = self.home.git(mounts) {
            mount_plan.show(bind);
        }
        mount_plan.show(Bind::readable(&self.ralph).at(Path::new(BIN).join("ralph")));
        for path in self.readable.iter().filter(|path| path.exists()) {
            mount_plan.show(Bind::readable(path));
        }
        if sandboxed.kind != ProgramKind::Helper {
            for path in self.writable.iter().filter(|path| path.exists()) {
                mount_plan.show(Bind::writable(path));
            }
            self.sockets.iter().for_each(|socket| mount_plan.show(socket.clone()));
        }
        // Showing a folder does not include the logins in it.
        let opened = |path: &&PathBuf| {
            let mut opened = self.readable.iter().chain(&self.writable);
            opened.any(|place| path.starts_with(place) && *path != place)
        };
        secrets.iter().filter(opened).for_each(|path| mount_plan.hide(path));
        for bind in &sandboxed.binds {
            mount_plan.show(bind.clone());
        }
        for path in sandboxed.read_only.iter().filter(|path| path.exists()) {
            mount_plan.show(Bind::readable(path));
        }
        mount_plan
    }

    /// Where logins are. What is in the repository belongs to it, whatever a variable calls it.
    pub(super) fn secrets(&self) -> Vec<PathBuf> {
        let mut all = secrets::present(&self.homes, &self.environment, &self.readable);
        let holds_home = self.homes.iter().any(|home| home.starts_with(&self.project.root));
        all.retain(|path| holds_home || !path.starts_with(&self.project.root));
        all
    }

    /// What the user lists.
    fn listed(&self) -> Vec<&Path> {
        self.readable.iter().chain(&self.writable).map(PathBuf::as_path).collect()
    }

    /// What programs need from places that are empty in a sandbox. `emptied` are homes of which only what is
    /// listed is shown.
    fn show_system(&self, emptied: &[PathBuf], mount_plan: &mut MountPlan) {
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
        let of_run = OF_RUN.iter().map(PathBuf::from).filter(|path| path.exists());
        let homes = self.homes.iter().filter(|home| !emptied.contains(home)).cloned();
        for path in of_run.chain(resolver).chain(homes) {
            if mount_plan.is_hidden(&path) && path.exists() {
                mount_plan.show(Bind::readable(path));
            }
        }
        // What the user calls programs by, wherever that is.
        for folder in paths(&self.environment, "PATH") {
            let shared = EMPTY.iter().any(|shared| folder == Path::new(shared));
            let of_home = |path: &Path| emptied.iter().any(|home| path.starts_with(home));
            let listed = of_home(&folder) || folder.canonicalize().is_ok_and(|real| of_home(&real));
            let is_there = folder.is_absolute() && folder.is_dir();
            if is_there && !shared && !listed && mount_plan.is_hidden(&folder) {
                mount_plan.show(Bind::readable(folder));
            }
        }
        let listed = self.listed();
        for program in &self.programs {
            for file in names_of(program) {
                // A mount behind a link would put a folder in the place of the link.
                let is_missing = |folder: &&Path| {
                    mount_plan.is_hidden(folder) && !self.home.links_to(folder, &listed)
                };
                let Some(folder) = file.parent().filter(is_missing) else { continue };
                // Files next to a program belong to it, but not in a shared folder, nor in a home.
                let shared = EMPTY.iter().any(|shared| folder == Path::new(shared));
                let broad = emptied.iter().any(|home| folder.starts_with(home));
                mount_plan.show(Bind::readable(if shared || broad { &file } else { folder }));
            }
        }
    }

    /// The real git directory of a linked worktree, where a session has no other: what a commit there writes.
    fn show_git(&self, sandboxed: &SandboxedCommand, mount_plan: &mut MountPlan) {
        let common = &self.project.git_dir;
        if sandboxed.kind == ProgramKind::Helper
            || sandboxed.writable.iter().any(|own| common.starts_with(own))
        {
            return;
        }
        let project = Project { worktree: sandboxed.worktree.clone(), ..self.project.clone() };
        let own = project.own_git_dir().unwrap_or_else(|_| common.clone());
        mount_plan.show(Bind::readable(common));
        let written = ["objects", "refs/heads", "logs"].map(|name| common.join(name));
        for path in written.into_iter().chain([own]).filter(|path| path.is_dir()) {
            mount_plan.show(Bind::writable(path));
        }
    }

    fn show_worktree(&self, sandboxed: &SandboxedCommand, mount_plan: &mut MountPlan) {
        let root = &self.project.root;
        let holds_home = self.homes.iter().any(|home| home.starts_with(root));
        if !sandboxed.writable.contains(root) && !holds_home {
            mount_plan.close(root);
        }
        if !sandboxed.writable.contains(&sandboxed.worktree) && !holds_home {
            mount_plan.close(&sandboxed.worktree);
        }
        for path in &sandboxed.writable {
            mount_plan.show(Bind::writable(path));
        }
    }

    /// The other checkouts of the repository, wherever they are.
    fn other_worktrees(&self, sandboxed: &SandboxedCommand) -> Vec<PathBuf> {
        let list = std::fs::read_dir(self.project.git_dir.join("worktrees"));
        let named = list.into_iter().flatten().flatten().filter_map(|entry| {
            let file = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
            PathBuf::from(file.trim_end()).parent()?.canonicalize().ok()
        });
        let root = std::iter::once(self.project.root.clone());
        let ours = |path: &PathBuf| sandboxed.writable.iter().any(|own| own.starts_with(path));
        named.chain(root).filter(|path| !ours(path)).collect()
    }

    /// Ralph's own files. Of `.ralph` there is left what belongs to the project.
    fn hide_own(&self, sandboxed: &SandboxedCommand, mount_plan: &mut MountPlan) {
        let mut places = vec![self.project.ralph_dir()];
        places.extend(sandboxed.writable.iter().map(|path| path.join(".ralph")));
        places.dedup();
        for place in places.into_iter().filter(|place| is_folder(place)) {
            mount_plan.hide(&place);
            let writable = sandboxed.kind == ProgramKind::Session;
            for name in OF_PROJECT {
                let path = place.join(name);
                if is_folder(&path) {
                    mount_plan.show(Bind { writable, ..Bind::readable(path) });
                }
            }
        }
        for path in &self.hidden {
            mount_plan.hide(path);
        }
    }

    /// Whether a variable leads to a socket that the user lets sandboxes use.
    fn admits(&self, value: &OsStr) -> bool {
        let text = value.to_string_lossy();
        let path = ["unix://", "unix:path="].iter().find_map(|kind| text.strip_prefix(kind));
        let path = path.unwrap_or(&text).split(',').next().unwrap_or_default();
        self.sockets.iter().any(|socket| socket.to == Path::new(path))
    }

    fn caches_of(&self, sandboxed: &SandboxedCommand) -> Caches {
        match &sandboxed.caches {
            _ if !sandboxed.kind.judges() => self.caches.clone(),
            Some(fresh) => self.caches.of_judges_at(fresh),
            None => self.caches.of_judges(),
        }
    }

    fn states(&self, folder: &Path) -> Vec<OwnState> {
        let home = self.homes.first().map(PathBuf::as_path);
        let own = |agent: &AgentState| OwnState::new(*agent, folder, home, &self.environment);
        let mut all: Vec<OwnState> = self.agents.iter().filter_map(own).collect();
        all.dedup();
        all
    }
}

/// Folders in `.ralph` that belong to the project and not to ralph.
pub(super) const OF_PROJECT: [&str; 3] = ["skills", "features", "prompts"];

/// The folder for changed git settings that ralph replaced.
const FOUND: &str = "box/found";

#[derive(Debug)]
pub struct Sandbox {
    pub(super) level: Level,
    pub(super) config: SandboxConfig,
    pub(super) bwrap: PathBuf,
    pub(super) is_root: bool,
}

impl Sandbox {
    pub(super) fn new(level: Level, config: SandboxConfig, bwrap: PathBuf) -> Self {
        let is_root = rustix::process::getuid().is_root();
        Self { level, config, bwrap, is_root }
    }

    pub(super) fn like(&self, config: SandboxConfig) -> Self {
        Self::new(self.level, config, self.bwrap.clone())
    }

    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether the agent may do everything that it likes.
    pub fn holds(&self) -> bool {
        self.level != Level::None
    }

    /// Whether files can be shown in other places, so that a session gets a git directory of its own.
    pub fn mounts(&self) -> bool {
        self.level == Level::Full
    }

    pub fn ralph(&self) -> PathBuf {
        match self.level {
            Level::Full => Path::new(BIN).join("ralph"),
            _ => self.config.ralph.clone(),
        }
    }

    /// A folder for the caches of one checkout; `None` without a sandbox, where tools use the user's own.
    pub fn fresh_caches(&self) -> io::Result<Option<tempfile::TempDir>> {
        self.holds().then(|| self.config.caches.fresh()).transpose()
    }

    pub fn wrap(&self, command: CommandSpec, sandboxed: &SandboxedCommand) -> io::Result<Wrapped> {
        let mut wrapped = Wrapped {
            command,
            sandboxed: false,
            states: vec![],
            _state: None,
            line: None,
            guard: None,
            left: (vec![], crate::clock::now()),
            #[cfg(target_os = "linux")]
            _groups: super::cgroup::Groups::default(),
            _profile: None,
        };
        let config = &self.config;
        if !self.mounts() {
            let project =
                Project { worktree: sandboxed.worktree.clone(), ..config.project.clone() };
            let guard = Guard::of(&project, &config.project.ralph_dir().join(FOUND));
            wrapped.guard = Some(match self.holds() {
                true => guard,
                false => guard.but_alternates(&project),
            });
        }
        if !self.holds() {
            return Ok(wrapped);
        }
        wrapped.sandboxed = true;
        wrapped.left.0 = sandboxed.writable.iter().chain(&config.writable).cloned().collect();
        match sandboxed.kind {
            ProgramKind::Session => {
                self.make_folders(sandboxed)?;
                wrapped.states = config.states(config.caches.folder());
            }
            ProgramKind::Verifier => {
                let folder = config.caches.fresh()?;
                let states = config.states(folder.path()).into_iter();
                wrapped.states = states.map(OwnState::of_verifier).collect();
                wrapped._state = Some(folder);
            }
            ProgramKind::Judge | ProgramKind::Helper => {}
        }
        wrapped.states.iter().try_for_each(OwnState::copy_in)?;
        // Who may write nowhere, as the self-test, needs none.
        if sandboxed.kind.judges() && !sandboxed.writable.is_empty() {
            let home = config.homes.first().map(PathBuf::as_path);
            config.caches_of(sandboxed).prepare_for_judges(home, &config.environment)?;
        }
        let mut mount_plan = config.mount_plan(sandboxed, &wrapped.states, self.mounts());
        if !self.mounts() {
            config.show_git(sandboxed, &mut mount_plan);
        }
        if !mount_plan.shares_network && sandboxed.kind != ProgramKind::Helper {
            let rules = config.network.rules(sandboxed.kind, &config.agents, &wrapped.command.env);
            let line = NetworkAttachment::lay(rules, &config.environment)?;
            mount_plan.show(Bind::readable(line.folder()));
            wrapped.line = Some(line);
        }
        self.set_environment(sandboxed, &wrapped.states, &mut wrapped.command.env);
        match self.level {
            Level::None => {}
            Level::Seatbelt => {
                let profile = seatbelt::ProfileFile::write(config, sandboxed, &mount_plan)?;
                wrapped.command = profile.wrap(std::mem::take(&mut wrapped.command));
                wrapped._profile = Some(profile);
            }
            #[cfg(target_os = "linux")]
            Level::Full | Level::Landlock => {
                let limits = if sandboxed.kind == ProgramKind::Helper {
                    Limits::default()
                } else {
                    config.limits
                };
                let groups = super::cgroup::Groups::make(&limits);
                let line = wrapped.line.as_ref();
                let temp = self.temp(sandboxed);
                self.add_stages(&temp, &groups, (&mount_plan, line), limits, &mut wrapped.command);
                wrapped._groups = groups;
            }
            #[cfg(not(target_os = "linux"))]
            Level::Full | Level::Landlock => {
                return Err(io::Error::other("this level works only on Linux"));
            }
        }
        Ok(wrapped)
    }

    /// The folders that a session may write in must be there to be shown.
    fn make_folders(&self, sandboxed: &SandboxedCommand) -> io::Result<()> {
        let own = sandboxed.worktree.join(".ralph");
        if own.is_symlink() {
            // It may have come with the work of a session, and lead anywhere.
            return Err(io::Error::other(format!("{} is a symbolic link", own.display())));
        }
        for name in ["skills", "features"] {
            std::fs::create_dir_all(sandboxed.worktree.join(".ralph").join(name))?;
        }
        Ok(())
    }

    pub(super) fn set_environment(
        &self,
        sandboxed: &SandboxedCommand,
        states: &[OwnState],
        environment: &mut Vec<(OsString, OsString)>,
    ) {
        let config = &self.config;
        environment.retain(|(name, value)| {
            !LEADS_OUT.iter().any(|out| name == out) || config.admits(value)
        });
        let mut set = |name: OsString, value: OsString| {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value));
        };
        for name in ["TMPDIR", "CLAUDE_CODE_TMPDIR"] {
            set(name.into(), self.temp(sandboxed).into_os_string());
        }
        if sandboxed.kind != ProgramKind::Helper {
            config
                .caches_of(sandboxed)
                .environment()
                .into_iter()
                .for_each(|(name, value)| set(name, value));
        }
        states.iter().filter_map(OwnState::environment).for_each(|(n, v)| set(n, v));
        sandboxed.environment.iter().for_each(|(name, value)| set(name.clone(), value.clone()));
        // Git in other folders than the worktree knows who commits, too.
        let own = config.home.git(self.mounts()).filter(|_| sandboxed.kind != ProgramKind::Helper);
        if let Some(bind) = own {
            set("GIT_CONFIG_GLOBAL".into(), bind.to.into());
        }
        if self.level == Level::Full
            && let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == "PATH")
        {
            let all = std::iter::once(PathBuf::from(BIN)).chain(std::env::split_paths(path));
            if let Ok(joined) = std::env::join_paths(all) {
                *path = joined;
            }
        }
    }

    pub(super) fn temp(&self, sandboxed: &SandboxedCommand) -> PathBuf {
        match self.level {
            Level::Full => PathBuf::from("/tmp"),
            // Sockets of runs are in the one that all share.
            _ => self.config.caches_of(sandboxed).of_name(TEMPORARY),
        }
    }
}

/// The sandbox for helpers of the loop.
impl Jail for Sandbox {
    fn wrap(&self, mut command: CommandSpec, binds: &[Bind]) -> CommandSpec {
        if !self.mounts() {
            return command;
        }
        let config = &self.config;
        let sandboxed = SandboxedCommand {
            writable: vec![],
            binds: binds.to_vec(),
            ..SandboxedCommand::in_worktree(ProgramKind::Helper, &config.project.root)
        };
        self.set_environment(&sandboxed, &[], &mut command.env);
        #[cfg(target_os = "linux")]
        self.add_stages(
            &self.temp(&sandboxed),
            &super::cgroup::Groups::default(),
            (&config.mount_plan(&sandboxed, &[], true), None),
            Limits::default(),
            &mut command,
        );
        command
    }
}
