//! The system calls that no sandboxed program needs: those that inspect other processes, change the machine, or
//! create namespaces in which a program has more rights.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_long};
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// As a sandbox of any kind answers.
const REFUSED: u32 = libc::EPERM as u32;
/// Callers fall back to an older call.
const UNKNOWN: u32 = libc::ENOSYS as u32;

const NEVER: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

/// Namespaces of any kind but those of time: in a user namespace of one's own one is root.
const NEW_NAMESPACES: [c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The kinds of sockets that programs need: local ones, IPv4, IPv6, and the kernel's own news of the
/// network. Others, such as those to the host of a virtual machine, know no namespaces.
const FAMILIES: [c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The bits that make a file run as its owner, and as its group.
const SET_ID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
/// Flags of `open` with which it takes a mode: a file that may be made, and one without a name. Of the latter
/// only the bit that no other flag has.
const MAKES: [u64; 2] = [libc::O_CREAT as u64, (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64];

/// Calls that `libc` does not have on every system.
const FCHMODAT2: c_long = 452;
const KEXEC_FILE_LOAD: c_long = if cfg!(target_arch = "x86_64") { 320 } else { 294 };

/// Calls that change a mode, and the argument that it is.
const CHANGES_MODE: &[(c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
];
/// Calls that make a file with a mode.
const MAKES_FILE: &[(c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
/// Calls that make a file where a flag says so: which argument is the mode; the flags are the one before.
const OPENS: &[(c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    (libc::SYS_openat, 3),
];

/// Refuses them from now on, for this process and all its children.
///
/// `is_root`: outside, the programs belong to root. Then no mode may have the bit for a group either. Others
/// may set it, because whole teams work in folders that pass on their group, and copies of those have it too.
pub(super) fn apply(is_root: bool) -> io::Result<()> {
    let arch = if cfg!(target_arch = "x86_64") {
        TargetArch::x86_64
    } else if cfg!(target_arch = "aarch64") {
        TargetArch::aarch64
    } else {
        return Err(io::Error::other("ralph has no system call filter for this processor"));
    };
    for (rules, answer) in [(refused(is_root)?, REFUSED), (unknown(), UNKNOWN)] {
        let filter =
            SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer), arch)
                .map_err(failed)?;
        let program: BpfProgram = filter.try_into().map_err(failed)?;
        seccompiler::apply_filter(&program).map_err(failed)?;
    }
    if cfg!(target_arch = "x86_64") {
        seccompiler::apply_filter(&other_interface()).map_err(failed)?;
    }
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("seccomp: {error}"))
}

/// The 32 bits of an argument that count, compared with a value.
fn when(argument: u8, op: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).map_err(failed)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(failed)
}

/// Unknown is every call by the numbers of x32: a second set of numbers for the same calls.
fn other_interface() -> [sock_filter; 4] {
    let (load, if_at_least, answer) = (0x20, 0x35, 0x06);
    let (x32, error, allow) = (0x4000_0000, 0x0005_0000, 0x7fff_0000);
    let step = |code, k, jf| sock_filter { code, jt: 0, jf, k };
    [
        step(load, 0, 0),
        step(if_at_least, x32, 1),
        step(answer, error | UNKNOWN, 0),
        step(answer, allow, 0),
    ]
}

fn refused(is_root: bool) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        NEVER.iter().map(|call| (*call, vec![])).collect();
    // One condition for each kind: a mask of all would only fit all at once.
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        let kinds = NEW_NAMESPACES.map(|kind| {
            let (length, bit) = (SeccompCmpArgLen::Qword, kind as u64);
            let has = SeccompCondition::new(0, length, SeccompCmpOp::MaskedEq(bit), bit);
            rule(vec![has.map_err(failed)?])
        });
        rules.insert(call, kinds.into_iter().collect::<io::Result<_>>()?);
    }
    // Puts letters into the input of a terminal, and of the console.
    #[allow(clippy::unnecessary_cast, reason = "the type differs by C library")]
    let letters = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|request| rule(vec![when(1, SeccompCmpOp::Eq, request as u64)?]));
    rules.insert(libc::SYS_ioctl, letters.into_iter().collect::<io::Result<_>>()?);
    let other = FAMILIES.map(|family| when(0, SeccompCmpOp::Ne, family as u64));
    let other = other.into_iter().collect::<io::Result<Vec<_>>>()?;
    rules.insert(libc::SYS_socket, vec![rule(other)?]);
    rules.extend(modes(is_root)?);
    Ok(rules)
}

/// No file gets a mode by which it runs with the rights of its owner.
fn modes(is_root: bool) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let has = |argument: u8, bit: u64| when(argument, SeccompCmpOp::MaskedEq(bit), bit);
    let changes = if is_root { &SET_ID[..] } else { &SET_ID[..1] };
    let mut rules = BTreeMap::new();
    for (calls, bits) in [(CHANGES_MODE, changes), (MAKES_FILE, &SET_ID[..])] {
        for (call, mode) in calls {
            let each = bits.iter().map(|bit| rule(vec![has(*mode, *bit)?]));
            rules.insert(*call, each.collect::<io::Result<Vec<_>>>()?);
        }
    }
    for (call, mode) in OPENS {
        let mut each = Vec::new();
        for (flag, bit) in MAKES.iter().flat_map(|flag| SET_ID.iter().map(move |bit| (flag, bit))) {
            each.push(rule(vec![has(mode - 1, *flag)?, has(*mode, *bit)?])?);
        }
        rules.insert(*call, each);
    }
    Ok(rules)
}

/// `clone3` hides its flags in memory, and `openat2` its mode, where no filter can look.
fn unknown() -> BTreeMap<i64, Vec<SeccompRule>> {
    BTreeMap::from([(libc::SYS_clone3, vec![]), (libc::SYS_openat2, vec![])])
}
