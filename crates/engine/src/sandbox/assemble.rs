//! Builds the chain of processes around a sandboxed program for a level.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::bubblewrap;
use super::config::{EMPTY, Sandbox};
use super::level::Level;
use super::mount_plan::MountPlan;
use super::network_attachment::NetworkAttachment;
use super::stages::{Inner, Limits, Outer};
use crate::process::CommandSpec;

/// The devices that programs may write to where `/dev` is the machine's own.
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

impl Sandbox {
    pub(super) fn add_stages(
        &self,
        temp: &Path,
        groups: &super::cgroup::Groups,
        (mount_plan, line): (&MountPlan, Option<&NetworkAttachment>),
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
            Level::Full => (mount_plan.writable.clone(), vec![], vec![]),
            _ => {
                let shared: Vec<&Path> =
                    EMPTY.iter().chain(["/dev"].iter()).map(Path::new).collect();
                let own =
                    mount_plan.writable.iter().filter(|path| !shared.contains(&path.as_path()));
                let devices = DEVICES.iter().map(PathBuf::from);
                let writable = own.cloned().chain([temp.to_owned()]).chain(devices).collect();
                // As root's own, the disks would be there to be read.
                let hidden = mount_plan.hidden.iter().cloned().chain(["/dev".into()]).collect();
                (writable, mount_plan.shown(), hidden)
            }
        };
        let inner = Inner {
            proxy: line.map(NetworkAttachment::socket),
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
                let nothing = self.config.caches.nothing();
                let mut all: Vec<OsString> = vec![self.bwrap.clone().into()];
                all.extend(bubblewrap::arguments(
                    mount_plan,
                    &command.folder,
                    &nothing,
                    self.is_root,
                ));
                all.extend(inside);
                all
            }
            _ => inside,
        };
        let outer = Outer { groups: groups.doors(), command: all };
        command.program = self.config.ralph.clone().into();
        command.args = outer.arguments();
        if self.level == Level::Full {
            // The folder of the program need not be there outside.
            command.folder = PathBuf::from("/");
        }
    }
}
