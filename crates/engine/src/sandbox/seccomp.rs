//! The system calls that no sandboxed program needs: those that inspect other processes, change the machine, or
//! create namespaces in which a program has more rights.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// `EPERM`, as a sandbox of any kind answers.
const REFUSED: u32 = 1;
/// `ENOSYS`: callers fall back to an older call.
const UNKNOWN: u32 = 38;

/// Numbers of `x86_64`, then of `aarch64`; `None` where there is no such call.
const NEVER: &[(&str, Option<i64>, Option<i64>)] = &[
    ("ptrace", Some(101), Some(117)),
    ("process_vm_readv", Some(310), Some(270)),
    ("process_vm_writev", Some(311), Some(271)),
    ("process_madvise", Some(440), Some(440)),
    ("pidfd_getfd", Some(438), Some(438)),
    ("kcmp", Some(312), Some(272)),
    ("io_uring_setup", Some(425), Some(425)),
    ("io_uring_enter", Some(426), Some(426)),
    ("io_uring_register", Some(427), Some(427)),
    ("bpf", Some(321), Some(280)),
    ("perf_event_open", Some(298), Some(241)),
    ("userfaultfd", Some(323), Some(282)),
    ("add_key", Some(248), Some(217)),
    ("request_key", Some(249), Some(218)),
    ("keyctl", Some(250), Some(219)),
    ("mount", Some(165), Some(40)),
    ("umount2", Some(166), Some(39)),
    ("pivot_root", Some(155), Some(41)),
    ("chroot", Some(161), Some(51)),
    ("open_tree", Some(428), Some(428)),
    ("move_mount", Some(429), Some(429)),
    ("fsopen", Some(430), Some(430)),
    ("fsconfig", Some(431), Some(431)),
    ("fsmount", Some(432), Some(432)),
    ("fspick", Some(433), Some(433)),
    ("mount_setattr", Some(442), Some(442)),
    ("open_by_handle_at", Some(304), Some(265)),
    ("setns", Some(308), Some(268)),
    ("init_module", Some(175), Some(105)),
    ("finit_module", Some(313), Some(273)),
    ("delete_module", Some(176), Some(106)),
    ("kexec_load", Some(246), Some(104)),
    ("kexec_file_load", Some(320), Some(294)),
    ("reboot", Some(169), Some(142)),
    ("swapon", Some(167), Some(224)),
    ("swapoff", Some(168), Some(225)),
    ("acct", Some(163), Some(89)),
    ("quotactl", Some(179), Some(60)),
    ("settimeofday", Some(164), Some(170)),
    ("clock_settime", Some(227), Some(112)),
    ("clock_adjtime", Some(305), Some(266)),
    ("adjtimex", Some(159), Some(171)),
    ("sethostname", Some(170), Some(161)),
    ("setdomainname", Some(171), Some(162)),
    ("syslog", Some(103), Some(116)),
    ("vhangup", Some(153), Some(58)),
    ("iopl", Some(172), None),
    ("ioperm", Some(173), None),
    ("fanotify_init", Some(300), Some(262)),
    ("lookup_dcookie", Some(212), Some(18)),
    ("move_pages", Some(279), Some(239)),
    ("migrate_pages", Some(256), Some(238)),
];

/// Namespaces of any kind but those of time: in a user namespace of one's own one is root.
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// Puts letters into the input of a terminal.
const TIOCSTI: u64 = 0x5412;
/// The same for the console.
const TIOCLINUX: u64 = 0x541c;

/// The kinds of sockets that programs need: local ones, IPv4, IPv6, and the kernel's own news of the
/// network. Others, such as those to the host of a virtual machine, know no namespaces.
const FAMILIES: [u64; 4] = [1, 2, 10, 16];

/// The bits that make a file run as its owner, and as its group.
const SET_USER_ID: u64 = 0o4000;
const SET_GROUP_ID: u64 = 0o2000;
/// Flags of `open` with which it takes a mode: a file that may be made, and one without a name.
const MAKES: [u64; 2] = [0o100, 0o20_000_000];

/// Calls that change a mode, and the argument that it is.
const CHANGES_MODE: &[(&str, Option<i64>, Option<i64>, u8)] = &[
    ("chmod", Some(90), None, 1),
    ("fchmod", Some(91), Some(52), 1),
    ("fchmodat", Some(268), Some(53), 2),
    ("fchmodat2", Some(452), Some(452), 2),
];
/// Calls that make a file with a mode.
const MAKES_FILE: &[(&str, Option<i64>, Option<i64>, u8)] = &[
    ("creat", Some(85), None, 1),
    ("mknod", Some(133), None, 1),
    ("mknodat", Some(259), Some(33), 2),
];
/// Calls that make a file where a flag says so: which argument is the mode; the flags are the one before.
const OPENS: &[(&str, Option<i64>, Option<i64>, u8)] =
    &[("open", Some(2), None, 2), ("openat", Some(257), Some(56), 3)];

const fn number(call: &(&str, Option<i64>, Option<i64>)) -> Option<i64> {
    if cfg!(target_arch = "x86_64") { call.1 } else { call.2 }
}

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
    let failed = |error: &dyn std::fmt::Display| io::Error::other(format!("seccomp: {error}"));
    for (rules, answer) in [(refused(is_root)?, REFUSED), (unknown(), UNKNOWN)] {
        let filter =
            SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer), arch)
                .map_err(|error| failed(&error))?;
        let program: BpfProgram = filter.try_into().map_err(|error| failed(&error))?;
        seccompiler::apply_filter(&program).map_err(|error| failed(&error))?;
    }
    if cfg!(target_arch = "x86_64") {
        seccompiler::apply_filter(&other_interface()).map_err(|error| failed(&error))?;
    }
    Ok(())
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
        NEVER.iter().filter_map(|call| Some((number(call)?, vec![]))).collect();
    let failed = |error: seccompiler::BackendError| io::Error::other(format!("seccomp: {error}"));
    let rule = |argument, length, op, value| {
        SeccompCondition::new(argument, length, op, value)
            .and_then(|condition| SeccompRule::new(vec![condition]))
            .map_err(failed)
    };
    // One condition for each kind: a mask of all would only fit all at once.
    let (clone, unshare, ioctl, socket) =
        if cfg!(target_arch = "x86_64") { (56, 272, 16, 41) } else { (220, 97, 29, 198) };
    for call in [clone, unshare] {
        let mut kinds = Vec::new();
        for bit in (0..64).map(|shift| 1_u64 << shift).filter(|bit| NEW_NAMESPACES & bit != 0) {
            kinds.push(rule(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit)?);
        }
        rules.insert(call, kinds);
    }
    let letters = [TIOCSTI, TIOCLINUX]
        .map(|request| rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request));
    rules.insert(ioctl, letters.into_iter().collect::<io::Result<_>>()?);
    let other = FAMILIES.map(|family| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family).map_err(failed)
    });
    let other = other.into_iter().collect::<io::Result<Vec<_>>>()?;
    rules.insert(socket, vec![SeccompRule::new(other).map_err(failed)?]);
    rules.extend(modes(is_root)?);
    Ok(rules)
}

/// No file gets a mode by which it runs with the rights of its owner.
fn modes(is_root: bool) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let failed = |error: seccompiler::BackendError| io::Error::other(format!("seccomp: {error}"));
    let has = |argument: u8, bit: u64| {
        let op = SeccompCmpOp::MaskedEq(bit);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, bit).map_err(failed)
    };
    let rule = |conditions| SeccompRule::new(conditions).map_err(failed);
    let both = [SET_USER_ID, SET_GROUP_ID];
    let changes = if is_root { &both[..] } else { &both[..1] };
    let mut rules = BTreeMap::new();
    for (calls, bits) in [(CHANGES_MODE, changes), (MAKES_FILE, &both[..])] {
        for call in calls {
            let Some(number) = number(&(call.0, call.1, call.2)) else { continue };
            let each = bits.iter().map(|bit| rule(vec![has(call.3, *bit)?]));
            rules.insert(number, each.collect::<io::Result<Vec<_>>>()?);
        }
    }
    for call in OPENS {
        let Some(number) = number(&(call.0, call.1, call.2)) else { continue };
        let mut each = Vec::new();
        for (flag, bit) in MAKES.iter().flat_map(|flag| both.iter().map(move |bit| (flag, bit))) {
            each.push(rule(vec![has(call.3 - 1, *flag)?, has(call.3, *bit)?])?);
        }
        rules.insert(number, each);
    }
    Ok(rules)
}

/// `clone3` hides its flags in memory, and `openat2` its mode, where no filter can look.
fn unknown() -> BTreeMap<i64, Vec<SeccompRule>> {
    BTreeMap::from([(435, vec![]), (437, vec![])])
}
