//! Builds the chain of processes around a sandboxed program for a level, and the sandbox of ralph's own git.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::bubblewrap;
use super::guest::{Guest, Kind};
#[cfg(target_os = "linux")]
use super::house::EMPTY;
#[cfg(target_os = "linux")]
use super::house::House;
use super::house::Sandbox;
#[cfg(target_os = "linux")]
use super::level::Level;
#[cfg(target_os = "linux")]
use super::room::Room;
#[cfg(target_os = "linux")]
use super::stages::{Inner, Limits, Outer};
#[cfg(target_os = "linux")]
use super::wire::Line;
use crate::ports::{Bind, Jail};
use crate::process::CommandSpec;

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

#[cfg(target_os = "linux")]
impl Sandbox {
    pub(super) fn add_stages(
        &self,
        (house, temp, groups): (&House, &Path, &super::cgroup::Groups),
        (room, line): (&Room, Option<&Line>),
        limits: Limits,
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
                let writable = own.cloned().chain([temp.to_owned()]).chain(devices).collect();
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
            is_root: self.is_root,
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

/// The sandbox for helpers of the loop.
impl Jail for Sandbox {
    fn wrap(&self, mut command: CommandSpec, binds: &[Bind]) -> CommandSpec {
        if !self.mounts() {
            return command;
        }
        let house = &self.house;
        let guest = Guest {
            kind: Kind::Helper,
            worktree: house.project.root.clone(),
            writable: vec![],
            binds: binds.to_vec(),
            read_only: vec![],
            environment: vec![],
            held: vec![],
            caches: None,
        };
        self.set_environment(house, (&guest, &[]), &mut command.env);
        #[cfg(target_os = "linux")]
        self.add_stages(
            (house, &self.temp(house, &guest), &super::cgroup::Groups::default()),
            (&house.room(&guest, &[], true), None),
            Limits::default(),
            &mut command,
        );
        command
    }
}
