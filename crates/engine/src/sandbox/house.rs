//! What is the same for all boxes of a run, and the room that each guest gets.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::caches::{Caches, TEMPORARY};
use super::guard::Guard;
use super::level::Level;
use super::room::{Mount, Room};
use super::stages::{Inner, Limits, Outer};
use super::state::{AgentState, OwnState};
use super::wire::{Line, Network};
use super::wrapped::Wrapped;
use super::{bubblewrap, seatbelt, secrets};
use crate::ports::{Bind, Jail, Shown};
use crate::process::CommandSpec;
use crate::project::Project;

/// Where a box has ralph, first on the `PATH`.
pub(super) const BIN: &str = "/run/ralph/bin";
/// Folders that are empty in a box.
pub(super) const EMPTY: [&str; 3] = ["/tmp", "/var/tmp", "/run"];
/// The devices that programs may write to where `/dev` is the machine's own.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];
/// What of `/run` programs need that are installed elsewhere than usual.
const OF_RUN: [&str; 4] =
    ["/run/current-system", "/run/opengl-driver", "/run/wrappers", "/run/systemd/resolve"];
/// Variables that lead to what a box does not show.
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

/// What a boxed program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An agent at work, or one that verifies.
    Session,
    /// A gate or a setup command.
    Judge,
    /// A program of the loop's own that looks at what sessions wrote.
    Helper,
}

/// A program that is to be boxed.
#[derive(Debug, Clone)]
pub struct Guest {
    /// What it is.
    pub kind: Kind,
    /// The worktree that it is about.
    pub worktree: PathBuf,
    /// What it may change: the worktree, or a checkout of it. The worktree is not shown otherwise.
    pub writable: Vec<PathBuf>,
    /// What else it is shown, a later one over an earlier one.
    pub binds: Vec<Bind>,
    /// What of the above it may only read. What is not there is left out.
    pub read_only: Vec<PathBuf>,
    /// What else it finds in its environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl Guest {
    /// A guest that works in a worktree.
    pub fn in_worktree(kind: Kind, worktree: &Path) -> Self {
        Self {
            kind,
            worktree: worktree.to_owned(),
            writable: vec![worktree.to_owned()],
            binds: vec![],
            read_only: vec![],
            environment: vec![],
        }
    }

    /// Is shown this, too.
    pub(crate) fn show(&mut self, shown: Shown) {
        self.binds.extend(shown.binds);
        self.read_only.extend(shown.read_only);
        self.environment.extend(shown.environment);
    }
}

/// What is the same for all boxes of a run.
#[derive(Debug, Clone)]
pub struct House {
    /// The repository.
    pub project: Project,
    /// The person's home, and the one that the system knows of where that is another.
    pub homes: Vec<PathBuf>,
    /// The environment that the run was started with.
    pub environment: Vec<(OsString, OsString)>,
    /// Where tools write.
    pub caches: Caches,
    /// This program.
    pub ralph: PathBuf,
    /// Programs that must be found wherever they lie.
    pub programs: Vec<PathBuf>,
    /// Ralph's own files outside of `.ralph`.
    pub hidden: Vec<PathBuf>,
    /// What the person lets sessions change.
    pub writable: Vec<PathBuf>,
    /// What the person lets sessions read although it is hidden otherwise.
    pub readable: Vec<PathBuf>,
    /// What everything in a box may use.
    pub limits: Limits,
    /// What it may reach.
    pub network: Network,
    /// The agents of the run.
    pub agents: Vec<AgentState>,
}

impl House {
    /// The room for a guest.
    pub fn room(&self, guest: &Guest) -> Room {
        let shares_network = guest.kind != Kind::Helper && self.network.is_open();
        let mut room = Room { shares_network, ..Room::default() };
        for path in EMPTY {
            room.mounts.push(Mount::Empty(path.into()));
        }
        room.writable.extend(EMPTY.into_iter().chain(["/dev"]).map(PathBuf::from));
        self.show_system(&mut room);
        self.show_worktree(guest, &mut room);
        for path in self.other_worktrees(guest) {
            room.hide(&path);
        }
        self.hide_own(guest, &mut room);
        for path in secrets::present(&self.homes, &self.readable) {
            room.hide(&path);
        }
        // A name in a folder leads to whoever listens there, whatever network a box has.
        for path in secrets::sockets() {
            room.hide(&path);
        }
        room.hide(self.caches.folder());
        if guest.kind != Kind::Helper {
            // Each by itself: what lies around them, nobody in a box may turn into something else.
            let there = self.caches.folders().filter(|folder| folder.is_dir());
            there.for_each(|folder| room.show(Bind::writable(folder)));
        }
        if guest.kind == Kind::Session {
            self.states().iter().flat_map(OwnState::binds).for_each(|bind| room.show(bind));
        }
        room.show(Bind::readable(&self.ralph).at(Path::new(BIN).join("ralph")));
        for path in self.readable.iter().filter(|path| path.exists()) {
            room.show(Bind::readable(path));
        }
        if guest.kind != Kind::Helper {
            for path in self.writable.iter().filter(|path| path.exists()) {
                room.show(Bind::writable(path));
            }
        }
        for bind in &guest.binds {
            room.show(bind.clone());
        }
        for path in guest.read_only.iter().filter(|path| path.exists()) {
            room.show(Bind::readable(path));
        }
        room
    }

    /// What programs need that lies where a box has nothing.
    fn show_system(&self, room: &mut Room) {
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
        let of_run = OF_RUN.iter().map(PathBuf::from).filter(|path| path.exists());
        for path in of_run.chain(resolver).chain(self.homes.iter().cloned()) {
            if room.is_hidden(&path) && path.exists() {
                room.show(Bind::readable(path));
            }
        }
        // What the person calls programs by, wherever that is.
        let path = self.environment.iter().find(|(name, _)| name == "PATH");
        for folder in path.iter().flat_map(|(_, path)| std::env::split_paths(path)) {
            let shared = EMPTY.iter().any(|shared| folder == Path::new(shared));
            if folder.is_absolute() && folder.is_dir() && !shared && room.is_hidden(&folder) {
                room.show(Bind::readable(folder));
            }
        }
        for program in &self.programs {
            let real = program.canonicalize().ok();
            for file in [Some(program.clone()), real].into_iter().flatten() {
                let Some(folder) = file.parent().filter(|folder| room.is_hidden(folder)) else {
                    continue;
                };
                // What lies beside a program belongs to it, but not in a folder that everybody uses.
                let shared = EMPTY.iter().any(|shared| folder == Path::new(shared));
                room.show(Bind::readable(if shared { &file } else { folder }));
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
            room.hide(root);
        }
        if !guest.writable.contains(&guest.worktree) && !holds_home {
            room.hide(&guest.worktree);
        }
        for path in &guest.writable {
            room.show(Bind::writable(path));
        }
    }

    /// The other checkouts of the repository, wherever they lie.
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

    fn states(&self) -> Vec<OwnState> {
        let home = self.homes.first().map(PathBuf::as_path);
        let own = |agent: &AgentState| {
            OwnState::new(*agent, self.caches.folder(), home, &self.environment)
        };
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

/// Where settings of git are kept that were found instead of the right ones.
const FOUND: &str = "box/found";

/// The box of a run.
#[derive(Debug)]
pub struct Sandbox {
    level: Level,
    house: Option<House>,
    bwrap: PathBuf,
    is_root: bool,
}

impl Sandbox {
    /// No box.
    pub fn none() -> Self {
        Self { level: Level::None, house: None, bwrap: PathBuf::new(), is_root: false }
    }

    pub(super) fn new(level: Level, house: House, bwrap: PathBuf) -> Self {
        let is_root = rustix::process::getuid().is_root();
        Self { level, house: Some(house), bwrap, is_root }
    }

    /// The same for another house.
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

    /// Where ralph is found in a box.
    pub fn ralph(&self) -> PathBuf {
        match (&self.house, self.level) {
            (_, Level::Full) => Path::new(BIN).join("ralph"),
            (Some(house), _) => house.ralph.clone(),
            (None, _) => PathBuf::new(),
        }
    }

    /// The command that runs this one in a box.
    pub fn wrap(&self, command: CommandSpec, guest: &Guest) -> io::Result<Wrapped> {
        let mut wrapped = Wrapped {
            command,
            boxed: false,
            states: vec![],
            line: None,
            guard: None,
            #[cfg(target_os = "linux")]
            _groups: super::cgroup::Groups::default(),
            _profile: None,
        };
        let Some(house) = self.house.as_ref().filter(|_| self.holds()) else { return Ok(wrapped) };
        wrapped.boxed = true;
        if !self.mounts() {
            let project = Project { worktree: guest.worktree.clone(), ..house.project.clone() };
            wrapped.guard = Some(Guard::of(&project, &house.project.ralph_dir().join(FOUND)));
        }
        if guest.kind == Kind::Session {
            self.make_folders(guest)?;
            wrapped.states = house.states();
            wrapped.states.iter().try_for_each(OwnState::copy_in)?;
        }
        let mut room = house.room(guest);
        if !self.mounts() {
            house.show_git(guest, &mut room);
        }
        if !room.shares_network && guest.kind != Kind::Helper {
            let rules = house.network.rules(guest.kind, &house.agents, &wrapped.command.env);
            let line = Line::lay(rules, &house.environment)?;
            room.show(Bind::readable(line.folder()));
            wrapped.line = Some(line);
        }
        self.set_environment(house, guest, &mut wrapped.command.env);
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
                self.add_stages(house, (&room, line), limits, &groups, &mut wrapped.command);
                wrapped._groups = groups;
            }
            #[cfg(not(target_os = "linux"))]
            Level::Full | Level::Landlock => {
                return Err(io::Error::other("this level is for Linux"));
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

    fn set_environment(
        &self,
        house: &House,
        guest: &Guest,
        environment: &mut Vec<(OsString, OsString)>,
    ) {
        environment.retain(|(name, _)| !LEADS_OUT.iter().any(|out| name == out));
        let mut set = |name: OsString, value: OsString| {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value));
        };
        for name in ["TMPDIR", "CLAUDE_CODE_TMPDIR"] {
            set(name.into(), self.temp(house).into_os_string());
        }
        if guest.kind != Kind::Helper {
            house.caches.environment().into_iter().for_each(|(name, value)| set(name, value));
        }
        if guest.kind == Kind::Session {
            house.states().iter().map(OwnState::environment).for_each(|(n, v)| set(n, v));
        }
        guest.environment.iter().for_each(|(name, value)| set(name.clone(), value.clone()));
        if self.level == Level::Full
            && let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == "PATH")
        {
            let all = std::iter::once(PathBuf::from(BIN)).chain(std::env::split_paths(path));
            if let Ok(joined) = std::env::join_paths(all) {
                *path = joined;
            }
        }
    }

    /// Where a boxed program has its temporary files.
    fn temp(&self, house: &House) -> PathBuf {
        match self.level {
            Level::Full => PathBuf::from("/tmp"),
            // Sockets of runs lie in the one that all share.
            _ => house.caches.of_name(TEMPORARY),
        }
    }

    #[cfg(target_os = "linux")]
    fn add_stages(
        &self,
        house: &House,
        (room, line): (&Room, Option<&Line>),
        limits: Limits,
        groups: &super::cgroup::Groups,
        command: &mut CommandSpec,
    ) {
        let mut own = limits;
        if groups.limits_memory {
            own.memory = None;
        }
        let mut program = vec![std::mem::take(&mut command.program)];
        program.append(&mut command.args);
        let (writable, readable, hidden) = match self.level {
            Level::Full => (room.writable.clone(), vec![], vec![]),
            _ => {
                let shared: Vec<&Path> =
                    EMPTY.iter().chain(["/dev"].iter()).map(Path::new).collect();
                let own = room.writable.iter().filter(|path| !shared.contains(&path.as_path()));
                let devices = DEVICES.iter().map(PathBuf::from);
                let writable = own.cloned().chain([self.temp(house)]).chain(devices).collect();
                // As root's own, the disks would be there to be read.
                let hidden = room.hidden.iter().cloned().chain(["/dev".into()]).collect();
                (writable, room.shown(), hidden)
            }
        };
        let inner = Inner {
            proxy: line.map(Line::socket),
            ports: line.map(|line| line.ports.clone()).unwrap_or_default(),
            limits: own,
            writable,
            readable,
            hidden,
            seccomp: true,
            command: program,
        };
        let mut inside: Vec<OsString> = vec![self.ralph().into()];
        inside.extend(inner.arguments());
        let all = match self.level {
            Level::Full => {
                let nothing = house.caches.nothing();
                let mut all: Vec<OsString> = vec![self.bwrap.clone().into()];
                all.extend(bubblewrap::arguments(room, &command.folder, &nothing, self.is_root));
                all.extend(inside);
                all
            }
            _ => inside,
        };
        let outer = Outer { groups: groups.doors(), command: all };
        command.program = house.ralph.clone().into();
        command.args = outer.arguments();
        if self.level == Level::Full {
            // The folder of the program need not be there outside.
            command.folder = PathBuf::from("/");
        }
    }
}

/// The box for helpers of the loop.
impl Jail for Sandbox {
    fn wrap(&self, mut command: CommandSpec, binds: &[Bind]) -> CommandSpec {
        let Some(house) = self.house.as_ref().filter(|_| self.mounts()) else { return command };
        let guest = Guest {
            kind: Kind::Helper,
            worktree: house.project.root.clone(),
            writable: vec![],
            binds: binds.to_vec(),
            read_only: vec![],
            environment: vec![],
        };
        self.set_environment(house, &guest, &mut command.env);
        #[cfg(target_os = "linux")]
        self.add_stages(
            house,
            (&house.room(&guest), None),
            Limits::default(),
            &super::cgroup::Groups::default(),
            &mut command,
        );
        command
    }
}
