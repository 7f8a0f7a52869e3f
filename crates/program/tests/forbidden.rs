// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said where the computer forbids what running a program takes, as some containers do: each
//! test starts itself again under a filter that refuses one system call.
#![allow(unsafe_code)]

use libc::{c_long, sock_filter, sock_fprog};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_program::{Launch, Program, ProgramError};
use rustix::thread::{CapabilitySet, CapabilitySets};
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
    start_after(move || refuse(call, errno)).expect("runs")
}

/// What starting a program comes to in a process that has done this first.
fn start_after(
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<String> {
    let mut command = Command::new(std::env::current_exe().expect("this one"));
    command.args(["--ignored", "--exact", "a_program_is_started", "--nocapture"]);
    // SAFETY: the closures make system calls and allocate nothing.
    unsafe { command.pre_exec(prepare) };
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(text)
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

/// As docker's and podman's own profiles do, whose answer comes before Rota's.
#[test]
fn where_a_container_refuses_a_call_before_rota_is_asked_it_is_named() {
    for (call, name) in [(libc::SYS_bpf, "bpf()"), (libc::SYS_personality, "personality(")] {
        let text = start_without(call, libc::EPERM);
        assert!(text.contains("lacks: true: is not run"), "{text}");
        assert!(text.contains(&format!("refuses {name}")), "{text}");
        assert!(text.contains("Operation not permitted (os error 1)"), "{text}");
        assert!(text.contains("a seccomp profile that allows"), "{text}");
    }
}

/// As in a container of a user without rights: namespaces of its own, no capabilities, and none to
/// gain.
#[test]
fn without_rights_in_namespaces_of_its_own_a_program_starts() {
    fn leave() -> io::Result<()> {
        let all = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS;
        // SAFETY: a plain call about this process, which has one thread.
        if unsafe { libc::unshare(all) } != 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOTSUP));
        }
        let none = CapabilitySet::empty();
        let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, none)?;
        // SAFETY: a plain flag of this process.
        match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
    match start_after(leave) {
        Err(error) if error.raw_os_error() == Some(libc::ENOTSUP) => {
            eprintln!("skipped: this computer gives users no namespaces");
        }
        text => {
            let text = text.expect("runs");
            assert!(text.contains("started"), "{text}");
        }
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
