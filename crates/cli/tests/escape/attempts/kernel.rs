//! The kernel: rooms of its own, devices, settings of the machine, and calls that nobody needs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::calls::{address, apart, c_path, call, raw, reached, reaches};
use super::{Attempt, harmful, held, no};

const NEW_USER: i64 = 0x1000_0000;
const NEW_MOUNTS: i64 = 0x2_0000;
const NEW_NETWORK: i64 = 0x4000_0000;
const CHILD_ENDS: i64 = 17;

pub(super) const ALL: &[Attempt] = &[
    held("unshare_user", "create a user namespace", |_| {
        apart(|| call((272, 97), [NEW_USER, 0, 0, 0, 0]).map(drop))
    }),
    held("unshare_mounts", "create a mount namespace", |_| {
        apart(|| call((272, 97), [NEW_MOUNTS, 0, 0, 0, 0]).map(drop))
    }),
    held("unshare_network", "create a network namespace", |_| {
        apart(|| call((272, 97), [NEW_NETWORK, 0, 0, 0, 0]).map(drop))
    }),
    held("clone_user", "start a child in a new user namespace", |_| {
        apart(|| match call((56, 220), [NEW_USER | CHILD_ENDS, 0, 0, 0, 0])? {
            // The child.
            0 => Err(io::Error::from_raw_os_error(1)),
            _ => Ok(()),
        })
    }),
    held("clone3", "use clone3, whose flags no filter sees", |_| reaches((435, 435), [0; 5])),
    held("join_namespace", "join the namespace of another process", |_| {
        let file = File::open("/proc/self/ns/uts")?;
        apart(|| reaches((308, 268), [i64::from(file.as_raw_fd()), 0, 0, 0, 0]))
    }),
    harmful(held("mount", "mount", |_| reaches((165, 40), [0; 5]))),
    harmful(held("unmount", "unmount, to see what is below", |_| {
        let path = c_path(Path::new("/tmp"));
        const DETACH: i64 = 2;
        call((166, 39), [address(&path), DETACH, 0, 0, 0]).map(drop)
    })),
    harmful(held("pivot_root", "pivot_root", |_| reaches((155, 41), [0; 5]))),
    held("chroot", "chroot", |_| {
        let path = c_path(Path::new("/"));
        apart(|| call((161, 51), [address(&path), 0, 0, 0, 0]).map(drop))
    }),
    held("open_tree", "copy a mount", |_| {
        const CLONE: i64 = 1;
        let (here, path) = (-100, c_path(Path::new("/")));
        call((428, 428), [here, address(&path), CLONE, 0, 0]).map(drop)
    }),
    held("move_mount", "move a mount", |_| reaches((429, 429), [0; 5])),
    held("new_mount", "mount with the new system calls", |_| {
        let kind = c_path(Path::new("tmpfs"));
        call((430, 430), [address(&kind), 0, 0, 0, 0]).map(drop)
    }),
    held("open_by_handle", "open a file by handle", |_| reaches((304, 265), [-100, 0, 0, 0, 0])),
    held("make_disk", "create a device for the disk", |_| {
        let disk = fs::metadata("/")?.dev();
        let (here, path) = (-100, c_path(Path::new("disk.node")));
        let _ = fs::remove_file("disk.node");
        let disk = i64::try_from(disk).map_err(|_| no("no number"))?;
        call((259, 33), [here, address(&path), 0o060_600, disk, 0])?;
        File::open("disk.node").map(drop)
    }),
    held("open_disk", "open a disk", |_| {
        let mut disks = fs::read_dir("/sys/block")?.flatten().map(|disk| disk.file_name());
        let opens = disks.any(|disk| File::open(Path::new("/dev").join(disk)).is_ok());
        if opens { Ok(()) } else { Err(no("none can be opened")) }
    }),
    held("open_memory", "open the machine's memory", |_| File::open("/dev/mem").map(drop)),
    held("open_kernel_log", "open the kernel's log", |_| {
        OpenOptions::new().append(true).open("/dev/kmsg").map(drop)
    }),
    held("core_pattern", "change the program that the kernel starts at a crash", |_| {
        OpenOptions::new().append(true).open("/proc/sys/kernel/core_pattern").map(drop)
    }),
    held("sysrq", "use the SysRq keys", |_| {
        OpenOptions::new().append(true).open("/proc/sysrq-trigger").map(drop)
    }),
    held("power", "change the power state", |_| {
        OpenOptions::new().append(true).open("/sys/power/state").map(drop)
    }),
    held("control_groups", "change its control groups", |_| {
        let places = ["", "pids", "memory", "unified", "cpu"];
        let made = places.iter().any(|place| {
            let path = Path::new("/sys/fs/cgroup").join(place).join("escaped");
            fs::create_dir(&path).and_then(|()| fs::remove_dir(&path)).is_ok()
        });
        if made { Ok(()) } else { Err(no("none can be made")) }
    }),
    held("other_abi", "ptrace through another system-call ABI", |_| {
        if !cfg!(target_arch = "x86_64") {
            return Err(no("there is none here"));
        }
        apart(|| reached(raw(0x4000_0000 | 521, [0; 5])))
    }),
    held("io_uring", "io_uring", |_| reaches((425, 425), [1, 0, 0, 0, 0])),
    held("bpf", "bpf", |_| reaches((321, 280), [5, 0, 0, 0, 0])),
    held("perf", "perf_event_open", |_| reaches((298, 241), [0; 5])),
    held("userfaultfd", "userfaultfd", |_| reaches((323, 282), [1, 0, 0, 0, 0])),
    held("keys", "read the kernel's key rings", |_| {
        const ID_OF_SESSION: [i64; 5] = [0, -3, 0, 0, 0];
        reaches((250, 219), ID_OF_SESSION)
    }),
    held("add_key", "add a kernel key", |_| reaches((248, 217), [0; 5])),
    held("type_letters", "type into the terminal (TIOCSTI)", |_| {
        const TIOCSTI: i64 = 0x5412;
        reaches((16, 29), [0, TIOCSTI, 0, 0, 0])
    }),
    held("type_letters_high", "the same with high bits set", |_| {
        reaches((16, 29), [0, 0x1_0000_5412, 0, 0, 0])
    }),
    held("console", "the same for the console", |_| {
        const TIOCLINUX: i64 = 0x541c;
        reaches((16, 29), [0, TIOCLINUX, 0, 0, 0])
    }),
    held("kernel_log", "read kernel messages", |_| {
        const SIZE: i64 = 10;
        call((103, 116), [SIZE, 0, 0, 0, 0]).map(drop)
    }),
    harmful(held("load_module", "load a kernel module", |_| reaches((175, 105), [0; 5]))),
    harmful(held("load_kernel", "load another kernel", |_| reaches((246, 104), [0; 5]))),
    harmful(held("set_clock", "set the clock", |_| reaches((164, 170), [0; 5]))),
    harmful(held("set_name", "set the host name", |_| reaches((170, 161), [0; 5]))),
    harmful(held("swap", "turn on swap", |_| reaches((167, 224), [0; 5]))),
    harmful(held("reboot", "reboot", |_| {
        // Without its magic numbers it would do nothing.
        reaches((169, 142), [0; 5])
    })),
    held("raw_socket", "open a raw socket", |_| {
        const PACKET: i64 = 17;
        call((41, 198), [PACKET, 3, 0, 0, 0]).map(drop)
    }),
    held("host_socket", "connect to the host of a virtual machine", |_| {
        const VSOCK: i64 = 40;
        call((41, 198), [VSOCK, 1, 0, 0, 0]).map(drop)
    }),
    held("crypto_socket", "use the kernel's crypto sockets", |_| {
        const ALG: i64 = 38;
        call((41, 198), [ALG, 5, 0, 0, 0]).map(drop)
    }),
];
