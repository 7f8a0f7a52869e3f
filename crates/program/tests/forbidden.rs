// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said where the computer forbids what running a program takes, as some containers do: each
//! test starts itself again under a filter that refuses one system call.
#![allow(unsafe_code)]

use libc::{c_long, sock_filter, sock_fprog};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_program::{Launch, Program, ProgramError};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// From here on this system call of the calling process fails with this error, also after `exec()`.
fn refuse(call: c_long, errno: i32) -> io::Result<()> {
    let step = |code: u32, jf, k| sock_filter { code: code as u16, jt: 0, jf, k };
    let filter = [
        // `nr` of `struct seccomp_data`
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: a plain flag of this process.
    let privileges = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the filter is there during the call, which copies it.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    match (privileges, set) {
        (0, 0) => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What starting a program comes to without a system call.
fn start_without(call: c_long, errno: i32) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this one"));
    command.args(["--ignored", "--exact", "a_program_is_started", "--nocapture"]);
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(move || refuse(call, errno)) };
    let output = command.output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
#[ignore = "the other tests run it, under their filters"]
fn a_program_is_started() {
    let started = Program::start(Launch {
        command: vec!["true".into()],
        topology: Topology::flat(1).expect("a CPU"),
        hardware: None,
        kernel: Kernel::default(),
        groups: Vec::new(),
        call_ns: 1000,
        seed: 1,
        log: None,
        timeout: Duration::from_secs(60),
    });
    match started {
        Ok(_) => println!("started"),
        Err(error @ ProgramError::Computer { .. }) => println!("lacks: {error}"),
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn without_a_filter_for_it_a_program_starts() {
    let text = start_without(libc::SYS_acct, libc::ENOSYS);
    assert!(text.contains("started"), "{text}");
}

#[test]
fn where_seccomp_is_forbidden_it_is_named() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let text = start_without(libc::SYS_seccomp, errno);
        assert!(text.contains("lacks: true: is not run"), "{text}");
        assert!(text.contains("seccomp user notification of Linux 5.14"), "{text}");
        assert!(text.contains(&format!("os error {errno}")), "{text}");
    }
}

#[test]
fn where_landlock_is_missing_it_is_named() {
    for errno in [libc::ENOSYS, libc::EOPNOTSUPP] {
        let text = start_without(libc::SYS_landlock_create_ruleset, errno);
        assert!(text.contains("lacks: true: is not run"), "{text}");
        assert!(text.contains("Landlock of Linux 6.2 or later is needed"), "{text}");
    }
}
