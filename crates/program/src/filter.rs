// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seccomp filter: which system calls come to Rota, which are refused.

use libc::{c_long, sock_filter};

/// Which system calls are played: each stops its thread until Rota has answered.
const PLAYED: &[c_long] = &[
    // time
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    // waiting
    libc::SYS_futex,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_ctl,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    // threads and processes
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    // what a new thread does first, so that it stops before it does anything else
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    // scheduling
    libc::SYS_sched_yield,
    libc::SYS_getcpu,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_setpriority,
    // files
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_close,
    libc::SYS_inotify_add_watch,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_socket,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_setsockopt,
    // the computer
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    libc::SYS_capget,
    libc::SYS_bpf,
];

// Those that the C library's crate does not name yet.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;

/// Which system calls are refused, and with which error: they reach other processes or the network,
/// change what a file is apart from its contents (Landlock keeps those), or wait for real time.
const REFUSED: &[(c_long, i32)] = &[
    (libc::SYS_ptrace, libc::EPERM),
    (libc::SYS_process_vm_readv, libc::EPERM),
    (libc::SYS_process_vm_writev, libc::EPERM),
    (libc::SYS_process_madvise, libc::EPERM),
    (libc::SYS_pidfd_open, libc::ENOSYS),
    (libc::SYS_pidfd_getfd, libc::EPERM),
    (libc::SYS_pidfd_send_signal, libc::EPERM),
    (libc::SYS_rt_sigqueueinfo, libc::EPERM),
    (libc::SYS_rt_tgsigqueueinfo, libc::EPERM),
    (libc::SYS_chmod, libc::EPERM),
    (libc::SYS_fchmod, libc::EPERM),
    (libc::SYS_fchmodat, libc::EPERM),
    (SYS_FCHMODAT2, libc::EPERM),
    (libc::SYS_chown, libc::EPERM),
    (libc::SYS_lchown, libc::EPERM),
    (libc::SYS_fchown, libc::EPERM),
    (libc::SYS_fchownat, libc::EPERM),
    (libc::SYS_utime, libc::EPERM),
    (libc::SYS_utimes, libc::EPERM),
    (libc::SYS_futimesat, libc::EPERM),
    (libc::SYS_utimensat, libc::EPERM),
    (libc::SYS_setxattr, libc::EPERM),
    (libc::SYS_lsetxattr, libc::EPERM),
    (libc::SYS_fsetxattr, libc::EPERM),
    (libc::SYS_removexattr, libc::EPERM),
    (libc::SYS_lremovexattr, libc::EPERM),
    (libc::SYS_fremovexattr, libc::EPERM),
    (SYS_SETXATTRAT, libc::EPERM),
    (SYS_REMOVEXATTRAT, libc::EPERM),
    (SYS_FILE_SETATTR, libc::EPERM),
    (libc::SYS_perf_event_open, libc::ENOENT),
    (libc::SYS_openat2, libc::ENOSYS),
    // numbers of this computer's files, where a cgroup's is its id
    (libc::SYS_name_to_handle_at, libc::EOPNOTSUPP),
    (libc::SYS_open_by_handle_at, libc::EPERM),
    (libc::SYS_io_uring_setup, libc::ENOSYS),
    (libc::SYS_io_setup, libc::ENOSYS),
    (libc::SYS_timerfd_create, libc::ENOSYS),
    (libc::SYS_timer_create, libc::ENOSYS),
    (libc::SYS_setitimer, libc::ENOSYS),
    (libc::SYS_shmget, libc::ENOSYS),
    (libc::SYS_shmctl, libc::ENOSYS),
    (libc::SYS_msgget, libc::ENOSYS),
    (libc::SYS_msgctl, libc::ENOSYS),
    (libc::SYS_semget, libc::ENOSYS),
    (libc::SYS_semctl, libc::ENOSYS),
    (libc::SYS_mq_open, libc::ENOSYS),
    (libc::SYS_add_key, libc::ENOSYS),
    (libc::SYS_keyctl, libc::ENOSYS),
    (libc::SYS_request_key, libc::ENOSYS),
    (libc::SYS_ioprio_set, libc::EPERM),
    (libc::SYS_migrate_pages, libc::EPERM),
    (libc::SYS_move_pages, libc::EPERM),
    (libc::SYS_setpgid, libc::EPERM),
    (libc::SYS_unshare, libc::EPERM),
    (libc::SYS_setns, libc::EPERM),
    (libc::SYS_userfaultfd, libc::EPERM),
];

/// What does nothing and says that it is done: the program's memory is never missed in simulated
/// time, and it has no rights to give up.
const NEEDLESS: &[c_long] = &[
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mlockall,
    libc::SYS_munlock,
    libc::SYS_munlockall,
];

/// Offsets in `struct seccomp_data`.
const NR: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// Numbers from here on are those of the x32 calls.
const X32: u32 = 0x4000_0000;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn give(value: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: value }
}

/// The low half of an argument.
fn argument(nth: u32) -> u32 {
    ARGUMENTS + 8 * nth
}

fn refuse(errno: i32) -> sock_filter {
    give(libc::SECCOMP_RET_ERRNO | errno as u32 & 0xffff)
}

/// Messages with an address, which the filter cannot see, or with descriptors: refused once the
/// listener has been handed over by one.
pub(crate) fn without_messages() -> Vec<sock_filter> {
    let mut all = vec![load(NR)];
    for call in [libc::SYS_sendmsg, libc::SYS_sendmmsg] {
        all.extend([skip_unless(EQUAL, call as u32), refuse(libc::EACCES)]);
    }
    all.push(give(libc::SECCOMP_RET_ALLOW));
    all
}

fn skip_unless(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 1, k }
}

/// The filter that brings calls here, for x86-64.
pub(crate) fn program() -> Vec<sock_filter> {
    let mut all = vec![
        load(ARCH),
        sock_filter { code: EQUAL, jt: 1, jf: 0, k: AUDIT_ARCH_X86_64 },
        give(libc::SECCOMP_RET_KILL_PROCESS),
        load(NR),
        skip_unless(AT_LEAST, X32),
        refuse(libc::ENOSYS),
    ];
    for call in PLAYED {
        all.extend([skip_unless(EQUAL, *call as u32), give(libc::SECCOMP_RET_USER_NOTIF)]);
    }
    for (call, errno) in REFUSED {
        all.extend([skip_unless(EQUAL, *call as u32), refuse(*errno)]);
    }
    for call in NEEDLESS {
        all.extend([skip_unless(EQUAL, *call as u32), refuse(0)]);
    }
    // Its own limits only, which are those of process 0. It may read them; none that it sets has an
    // effect, as of none that Rota gives out there is a limit.
    all.extend([
        sock_filter { code: EQUAL, jt: 0, jf: 9, k: libc::SYS_prlimit64 as u32 },
        load(argument(0)),
        sock_filter { code: EQUAL, jt: 1, jf: 0, k: 0 },
        refuse(libc::EPERM),
        load(argument(2)),
        sock_filter { code: EQUAL, jt: 0, jf: 3, k: 0 },
        load(argument(2) + 4),
        skip_unless(EQUAL, 0),
        give(libc::SECCOMP_RET_ALLOW),
        refuse(0),
    ]);
    // To those that it is connected with, not to an address.
    all.extend([
        sock_filter { code: EQUAL, jt: 0, jf: 6, k: libc::SYS_sendto as u32 },
        load(argument(4)),
        sock_filter { code: EQUAL, jt: 0, jf: 3, k: 0 },
        load(argument(4) + 4),
        skip_unless(EQUAL, 0),
        give(libc::SECCOMP_RET_ALLOW),
        refuse(libc::EACCES),
    ]);
    all.push(give(libc::SECCOMP_RET_ALLOW));
    all
}
