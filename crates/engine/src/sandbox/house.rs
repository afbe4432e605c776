//! The settings that all sandboxes of a run share ([`House`]), and the mounts that each sandboxed command gets.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::caches::{Caches, TEMPORARY};
use super::guard::Guard;
use super::guest::{Guest, Kind};
use super::home::Home;
use super::level::Level;
use super::room::Room;
use super::stages::Limits;
use super::state::{AgentState, OwnState};
use super::wire::{Line, Network};
use super::wrapped::Wrapped;
use super::{seatbelt, secrets};
use crate::ports::Bind;
use crate::process::CommandSpec;
use crate::project::Project;

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

/// Settings that all sandboxes of a run share.
#[derive(Debug, Clone)]
pub struct House {
    /// The repository.
    pub project: Project,
    /// The user's home, and the one that the system knows of where that is another.
    pub homes: Vec<PathBuf>,
    /// The environment that the run was started with.
    pub environment: Vec<(OsString, OsString)>,
    /// Where tools write.
    pub caches: Caches,
    /// This program.
    pub ralph: PathBuf,
    /// Programs that must be found wherever they are.
    pub programs: Vec<PathBuf>,
    /// Ralph's own files outside of `.ralph`.
    pub hidden: Vec<PathBuf>,
    /// What the user lets sessions change.
    pub writable: Vec<PathBuf>,
    /// What the user lets sessions read although it is hidden otherwise.
    pub readable: Vec<PathBuf>,
    /// What is shown of the homes.
    pub home: Home,
    /// Sockets of other programs that the user lets sessions and gates talk to.
    pub sockets: Vec<Bind>,
    /// What everything in a sandbox may use.
    pub limits: Limits,
    /// What it may reach.
    pub network: Network,
    /// The agents of the run.
    pub agents: Vec<AgentState>,
}

impl House {
    /// The mounts for a program with these agents' states, at a level that mounts or at one that does not.
    pub(super) fn room(&self, guest: &Guest, states: &[OwnState], mounts: bool) -> Room {
        let shares_network = guest.kind != Kind::Helper && self.network.is_open();
        let mut room = Room { shares_network, ..Room::default() };
        if mounts {
            self.home.show_top(&mut room);
        }
        EMPTY.iter().for_each(|path| room.scratch(Path::new(path)));
        room.writable.push("/dev".into());
        // Where nothing can be mounted, a home can only be masked.
        let emptied = if mounts { self.home.emptied() } else { &[] };
        if mounts {
            self.home.empty(&mut room);
        }
        self.show_system(emptied, &mut room);
        self.show_worktree(guest, &mut room);
        for path in self.other_worktrees(guest) {
            room.hide(&path);
        }
        self.hide_own(guest, &mut room);
        let secrets = self.secrets();
        secrets.iter().for_each(|path| room.hide(path));
        if mounts {
            self.home.show(&mut room);
        }
        // A socket path reaches its listener, whatever network a sandbox has.
        for path in secrets::sockets() {
            room.hide(&path);
        }
        // Those of other projects, and the logins of their agents, too.
        room.close(self.caches.folder().parent().unwrap_or(self.caches.folder()));
        if guest.kind != Kind::Helper {
            // Each mounted by itself: no sandboxed program can replace the folders around them.
            let caches = self.caches_of(guest);
            let there = caches.folders().filter(|folder| folder.is_dir());
            there.for_each(|folder| room.show(Bind::writable(folder)));
        }
        for state in states {
            state.binds().into_iter().for_each(|bind| room.show(bind));
        }
        if let Some(bind) = self.home.git(mounts) {
            room.show(bind);
        }
        room.show(Bind::readable(&self.ralph).at(Path::new(BIN).join("ralph")));
        for path in self.readable.iter().filter(|path| path.exists()) {
            room.show(Bind::readable(path));
        }
        if guest.kind != Kind::Helper {
            for path in self.writable.iter().filter(|path| path.exists()) {
                room.show(Bind::writable(path));
            }
            self.sockets.iter().for_each(|socket| room.show(socket.clone()));
        }
        // Showing a folder does not include the logins in it.
        let opened = |path: &&PathBuf| {
            let mut opened = self.readable.iter().chain(&self.writable);
            opened.any(|place| path.starts_with(place) && *path != place)
        };
        secrets.iter().filter(opened).for_each(|path| room.hide(path));
        for bind in &guest.binds {
            room.show(bind.clone());
        }
        for path in guest.read_only.iter().filter(|path| path.exists()) {
            room.show(Bind::readable(path));
        }
        room
    }

    /// Where logins are. What is in the repository belongs to it, whatever a variable calls it.
    pub(super) fn secrets(&self) -> Vec<PathBuf> {
        let mut all = secrets::present(&self.homes, &self.environment, &self.readable);
        let holds_home = self.homes.iter().any(|home| home.starts_with(&self.project.root));
        all.retain(|path| holds_home || !path.starts_with(&self.project.root));
        all
    }

    /// What programs need from places that are empty in a sandbox. `emptied` are homes of which only what is
    /// listed is shown.
    fn show_system(&self, emptied: &[PathBuf], room: &mut Room) {
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
        let of_run = OF_RUN.iter().map(PathBuf::from).filter(|path| path.exists());
        let homes = self.homes.iter().filter(|home| !emptied.contains(home)).cloned();
        for path in of_run.chain(resolver).chain(homes) {
            if room.is_hidden(&path) && path.exists() {
                room.show(Bind::readable(path));
            }
        }
        // What the user calls programs by, wherever that is.
        let path = self.environment.iter().find(|(name, _)| name == "PATH");
        for folder in path.iter().flat_map(|(_, path)| std::env::split_paths(path)) {
            let shared = EMPTY.iter().any(|shared| folder == Path::new(shared));
            let of_home = |path: &Path| emptied.iter().any(|home| path.starts_with(home));
            let listed = of_home(&folder) || folder.canonicalize().is_ok_and(|real| of_home(&real));
            let is_there = folder.is_absolute() && folder.is_dir();
            if is_there && !shared && !listed && room.is_hidden(&folder) {
                room.show(Bind::readable(folder));
            }
        }
        for program in &self.programs {
            let real = program.canonicalize().ok();
            for file in [Some(program.clone()), real].into_iter().flatten() {
                let Some(folder) = file.parent().filter(|folder| room.is_hidden(folder)) else {
                    continue;
                };
                // Files next to a program belong to it, but not in a shared folder, nor in a home.
                let shared = EMPTY.iter().any(|shared| folder == Path::new(shared));
                let broad = emptied.iter().any(|home| folder.starts_with(home));
                room.show(Bind::readable(if shared || broad { &file } else { folder }));
            }
        }
    }

    /// The real git directory of a linked worktree, where a session has no other: what a commit there writes.
    fn show_git(&self, guest: &Guest, room: &mut Room) {
        let common = &self.project.git_dir;
        if guest.kind == Kind::Helper || guest.writable.iter().any(|own| common.starts_with(own)) {
            return;
        }
        let project = Project { worktree: guest.worktree.clone(), ..self.project.clone() };
        let own = project.own_git_dir().unwrap_or_else(|_| common.clone());
        room.show(Bind::readable(common));
        let written = ["objects", "refs/heads", "logs"].map(|name| common.join(name));
        for path in written.into_iter().chain([own]).filter(|path| path.is_dir()) {
            room.show(Bind::writable(path));
        }
    }

    fn show_worktree(&self, guest: &Guest, room: &mut Room) {
        let root = &self.project.root;
        let holds_home = self.homes.iter().any(|home| home.starts_with(root));
        if !guest.writable.contains(root) && !holds_home {
            room.close(root);
        }
        if !guest.writable.contains(&guest.worktree) && !holds_home {
            room.close(&guest.worktree);
        }
        for path in &guest.writable {
            room.show(Bind::writable(path));
        }
    }

    /// The other checkouts of the repository, wherever they are.
    fn other_worktrees(&self, guest: &Guest) -> Vec<PathBuf> {
        let list = std::fs::read_dir(self.project.git_dir.join("worktrees"));
        let named = list.into_iter().flatten().flatten().filter_map(|entry| {
            let file = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
            PathBuf::from(file.trim_end()).parent()?.canonicalize().ok()
        });
        let root = std::iter::once(self.project.root.clone());
        let ours = |path: &PathBuf| guest.writable.iter().any(|own| own.starts_with(path));
        named.chain(root).filter(|path| !ours(path)).collect()
    }

    /// Ralph's own files. Of `.ralph` there is left what belongs to the project.
    fn hide_own(&self, guest: &Guest, room: &mut Room) {
        let mut places = vec![self.project.ralph_dir()];
        places.extend(guest.writable.iter().map(|path| path.join(".ralph")));
        places.dedup();
        for place in places.into_iter().filter(|place| is_folder(place)) {
            room.hide(&place);
            let writable = guest.kind == Kind::Session;
            for name in OF_PROJECT {
                let path = place.join(name);
                if is_folder(&path) {
                    room.show(Bind { writable, ..Bind::readable(path) });
                }
            }
        }
        for path in &self.hidden {
            room.hide(path);
        }
    }

    /// Whether a variable leads to a socket that the user lets sandboxes use.
    fn admits(&self, value: &OsStr) -> bool {
        let text = value.to_string_lossy();
        let path = ["unix://", "unix:path="].iter().find_map(|kind| text.strip_prefix(kind));
        let path = path.unwrap_or(&text).split(',').next().unwrap_or_default();
        self.sockets.iter().any(|socket| socket.to == Path::new(path))
    }

    /// The caches for the tools of a program.
    fn caches_of(&self, guest: &Guest) -> Caches {
        match &guest.caches {
            _ if !guest.kind.judges() => self.caches.clone(),
            Some(fresh) => Caches::at(fresh),
            None => self.caches.of_judges(),
        }
    }

    /// The state of each agent, in a folder.
    fn states(&self, folder: &Path) -> Vec<OwnState> {
        let home = self.homes.first().map(PathBuf::as_path);
        let own = |agent: &AgentState| OwnState::new(*agent, folder, home, &self.environment);
        let mut all: Vec<OwnState> = self.agents.iter().filter_map(own).collect();
        all.dedup();
        all
    }
}

/// A folder itself, and not a link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Folders in `.ralph` that belong to the project and not to ralph.
pub(super) const OF_PROJECT: [&str; 3] = ["skills", "features", "prompts"];

/// The folder for changed git settings that ralph replaced.
const FOUND: &str = "box/found";

/// The sandbox of a run.
#[derive(Debug)]
pub struct Sandbox {
    pub(super) level: Level,
    pub(super) house: House,
    pub(super) bwrap: PathBuf,
    pub(super) is_root: bool,
}

impl Sandbox {
    pub(super) fn new(level: Level, house: House, bwrap: PathBuf) -> Self {
        let is_root = rustix::process::getuid().is_root();
        Self { level, house, bwrap, is_root }
    }

    /// The same with another sandbox config.
    pub(super) fn like(&self, house: House) -> Self {
        Self::new(self.level, house, self.bwrap.clone())
    }

    /// Its level.
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

    /// Where ralph is found in a sandbox.
    pub fn ralph(&self) -> PathBuf {
        match self.level {
            Level::Full => Path::new(BIN).join("ralph"),
            _ => self.house.ralph.clone(),
        }
    }

    /// A folder for the caches of one checkout; `None` without a sandbox, where tools use the user's own.
    pub fn fresh_caches(&self) -> io::Result<Option<tempfile::TempDir>> {
        self.holds().then(|| self.house.caches.fresh()).transpose()
    }

    /// The command that runs this one in a sandbox.
    pub fn wrap(&self, command: CommandSpec, guest: &Guest) -> io::Result<Wrapped> {
        let mut wrapped = Wrapped {
            command,
            boxed: false,
            states: vec![],
            _state: None,
            line: None,
            guard: None,
            left: (vec![], crate::clock::now()),
            #[cfg(target_os = "linux")]
            _groups: super::cgroup::Groups::default(),
            _profile: None,
        };
        let house = &self.house;
        if !self.mounts() {
            let project = Project { worktree: guest.worktree.clone(), ..house.project.clone() };
            let guard = Guard::of(&project, &house.project.ralph_dir().join(FOUND));
            wrapped.guard = Some(match self.holds() {
                true => guard,
                false => guard.but_alternates(&project),
            });
        }
        if !self.holds() {
            return Ok(wrapped);
        }
        wrapped.boxed = true;
        wrapped.left.0 = guest.writable.iter().chain(&house.writable).cloned().collect();
        match guest.kind {
            Kind::Session => {
                self.make_folders(guest)?;
                wrapped.states = house.states(house.caches.folder());
            }
            Kind::Verifier => {
                let folder = house.caches.fresh()?;
                wrapped.states = house.states(folder.path());
                wrapped._state = Some(folder);
            }
            Kind::Judge | Kind::Helper => {}
        }
        wrapped.states.iter().try_for_each(OwnState::copy_in)?;
        // Who may write nowhere, as the self-test, needs none.
        if guest.kind.judges() && !guest.writable.is_empty() {
            let home = house.homes.first().map(PathBuf::as_path);
            house.caches_of(guest).prepare_for_judges(home, &house.environment)?;
        }
        let mut room = house.room(guest, &wrapped.states, self.mounts());
        if !self.mounts() {
            house.show_git(guest, &mut room);
        }
        if !room.shares_network && guest.kind != Kind::Helper {
            let rules = house.network.rules(guest.kind, &house.agents, &wrapped.command.env);
            let line = Line::lay(rules, &house.environment)?;
            room.show(Bind::readable(line.folder()));
            wrapped.line = Some(line);
        }
        self.set_environment(house, (guest, &wrapped.states), &mut wrapped.command.env);
        match self.level {
            Level::None => {}
            Level::Seatbelt => {
                let profile = seatbelt::ProfileFile::write(house, guest, &room)?;
                wrapped.command = profile.wrap(std::mem::take(&mut wrapped.command));
                wrapped._profile = Some(profile);
            }
            #[cfg(target_os = "linux")]
            Level::Full | Level::Landlock => {
                let limits =
                    if guest.kind == Kind::Helper { Limits::default() } else { house.limits };
                let groups = super::cgroup::Groups::make(&limits);
                let line = wrapped.line.as_ref();
                let temp = self.temp(house, guest);
                let around = (house, temp.as_path(), &groups);
                self.add_stages(around, (&room, line), limits, &mut wrapped.command);
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
    fn make_folders(&self, guest: &Guest) -> io::Result<()> {
        let own = guest.worktree.join(".ralph");
        if own.is_symlink() {
            // It may have come with the work of a session, and lead anywhere.
            return Err(io::Error::other(format!("{} is a symbolic link", own.display())));
        }
        for name in ["skills", "features"] {
            std::fs::create_dir_all(guest.worktree.join(".ralph").join(name))?;
        }
        Ok(())
    }

    pub(super) fn set_environment(
        &self,
        house: &House,
        (guest, states): (&Guest, &[OwnState]),
        environment: &mut Vec<(OsString, OsString)>,
    ) {
        environment.retain(|(name, value)| {
            !LEADS_OUT.iter().any(|out| name == out) || house.admits(value)
        });
        let mut set = |name: OsString, value: OsString| {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value));
        };
        for name in ["TMPDIR", "CLAUDE_CODE_TMPDIR"] {
            set(name.into(), self.temp(house, guest).into_os_string());
        }
        if guest.kind != Kind::Helper {
            house
                .caches_of(guest)
                .environment()
                .into_iter()
                .for_each(|(name, value)| set(name, value));
        }
        states.iter().map(OwnState::environment).for_each(|(n, v)| set(n, v));
        guest.environment.iter().for_each(|(name, value)| set(name.clone(), value.clone()));
        // Git in other folders than the worktree knows who commits, too.
        let own = house.home.git(self.mounts()).filter(|_| guest.kind != Kind::Helper);
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

    /// Where a sandboxed program has its temporary files.
    pub(super) fn temp(&self, house: &House, guest: &Guest) -> PathBuf {
        match self.level {
            Level::Full => PathBuf::from("/tmp"),
            // Sockets of runs are in the one that all share.
            _ => house.caches_of(guest).of_name(TEMPORARY),
        }
    }
}
