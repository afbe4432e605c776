//! Limits for everything in a sandbox together, where ralph can set them: as root, or in a control group that was
//! delegated to the user. Elsewhere limits apply to single processes only.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::stages::Limits;
use crate::process::abandoned;

/// Where control groups are mounted.
const MOUNTED: &str = "/sys/fs/cgroup";

/// How they are named, before the pid.
const PREFIX: &str = "ralph-";

/// No two sandboxes of a process have the same.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The groups of one sandbox. Dropping this removes them, which needs all their processes to be gone.
#[derive(Debug, Default)]
pub(super) struct Groups {
    folders: Vec<PathBuf>,
    /// Memory is limited here and not in each process.
    pub(super) limits_memory: bool,
}

impl Groups {
    /// Makes them. What cannot be limited this way is left to others.
    pub(super) fn make(limits: &Limits) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = &format!("{PREFIX}{}-{number}", std::process::id());
        let mut groups = Self::default();
        let limit = |most: u64| (most > 0).then(|| most.to_string());
        let processes = limit(limits.processes);
        let memory = limits.memory.and_then(limit);
        let second = Path::new(MOUNTED);
        if second.join("cgroup.controllers").is_file() {
            let own = own_second(second);
            let settings = [("pids.max", processes.clone()), ("memory.max", memory.clone())];
            if groups.add(&own.join(name), &settings).is_ok() {
                groups.limits_memory = memory.is_some();
            }
            return groups;
        }
        for (controller, file, value) in
            [("pids", "pids.max", processes), ("memory", "memory.limit_in_bytes", memory.clone())]
        {
            let Some(value) = value else { continue };
            let folder = second.join(controller).join(name);
            let made = groups.add(&folder, &[(file, Some(value))]).is_ok();
            groups.limits_memory |= made && controller == "memory";
        }
        groups
    }

    fn add(&mut self, folder: &Path, settings: &[(&str, Option<String>)]) -> io::Result<()> {
        std::fs::create_dir(folder)?;
        for (file, value) in settings {
            let Some(value) = value else { continue };
            if let Err(error) = std::fs::write(folder.join(file), value) {
                let _ = std::fs::remove_dir(folder);
                return Err(error);
            }
        }
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// The files that a process joins them by, while it has one thread. In the first version a thread joins at once;
    /// for a whole process the kernel waits until all processors have taken notice, which takes 10 ms.
    pub(super) fn doors(&self) -> Vec<PathBuf> {
        let door = |folder: &PathBuf| {
            let of_threads = folder.join("tasks");
            if of_threads.is_file() { of_threads } else { folder.join("cgroup.procs") }
        };
        self.folders.iter().map(door).collect()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Our own group in the second version: groups are made below it.
fn own_second(mounted: &Path) -> PathBuf {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    mounted.join(own)
}

pub(super) fn sweep() {
    let mounted = Path::new(MOUNTED);
    for place in [own_second(mounted), mounted.join("pids"), mounted.join("memory")] {
        // One that a living run has just made is empty, too.
        for group in abandoned(&place, PREFIX) {
            // The system refuses to remove a group with processes.
            let _ = std::fs::remove_dir(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_joins_is_in_every_group_with_all_that_it_starts() {
        let limits = Limits { processes: 100, memory: Some(1 << 30), ..Limits::default() };
        let groups = Groups::make(&limits);
        let doors = groups.doors();
        let joins: String =
            doors.iter().map(|door| format!("echo 0 > '{}' && ", door.display())).collect();
        let mut shell = crate::host::host().shell();
        let joined = shell.args(["-c", &format!("{joins}/bin/cat /proc/self/cgroup")]).output();
        let joined = joined.unwrap();
        assert!(joined.status.success(), "{joined:?}");
        let member_of = String::from_utf8(joined.stdout).unwrap();
        // There are none where ralph may not create any.
        for folder in &groups.folders {
            let name = folder.file_name().unwrap().to_string_lossy();
            let controller = match folder.join("cgroup.controllers").is_file() {
                true => String::new(),
                false => folder.parent().unwrap().file_name().unwrap().to_string_lossy().into(),
            };
            let joined = |line: &str| line.contains(&controller) && line.ends_with(&*name);
            assert!(member_of.lines().any(joined), "{}: {member_of}", folder.display());
        }
    }
}
