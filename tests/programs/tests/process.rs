// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that attach no scheduler: what they find, what they cannot do, and how they end.

use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_program::{Launch, Program, ProgramError};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs the test program in a machine of 8 CPUs, and returns why it attached nothing and what it
/// printed.
fn run(arguments: &[&str]) -> (ProgramError, String) {
    run_for(arguments, Duration::from_secs(60))
}

fn launch(command: Vec<OsString>, log: &Path) -> Launch {
    Launch {
        command,
        topology: Topology::parse(8, "smt=2,llc=4,node=4").expect("legal"),
        hardware: None,
        kernel: Kernel::default(),
        groups: Vec::new(),
        call_ns: 1000,
        seed: 1,
        log: Some(log.to_owned()),
        timeout: Duration::from_secs(60),
    }
}

fn run_for(arguments: &[&str], timeout: Duration) -> (ProgramError, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut command = vec![env!("CARGO_BIN_EXE_rota-program-tests").into()];
    command.extend(arguments.iter().map(Into::into));
    let mut program = Program::start(Launch { timeout, ..launch(command, &log) }).expect("starts");
    let error = program.set_up().expect_err("it attaches nothing");
    drop(program);
    (error, fs::read_to_string(log).expect("a log"))
}

#[test]
fn an_hour_passes_at_once_and_the_date_is_that_of_each_run() {
    let (error, log) = run(&["clocks"]);
    assert!(error.to_string().contains("exit status: 0"), "{error}");
    // 2025-01-01, 00:00 UTC: 20089 days of 86400 s
    assert_eq!(20_089 * 86_400, 1_735_689_600);
    assert_eq!(log, "slept 3600s\ndate 1735689600\ndate moved 3600s\n");
}

#[test]
fn a_script_that_executes_a_program_is_that_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    // which it has from another process, in real time
    let script = "what=$(sleep 0.1; echo clocks); exec env \"$0\" $what";
    let program = env!("CARGO_BIN_EXE_rota-program-tests");
    let command = ["sh", "-c", script, program].map(Into::into).to_vec();
    let mut program = Program::start(launch(command, &log)).expect("starts");
    let error = program.set_up().expect_err("it attaches nothing");
    drop(program);
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains("slept 3600s\ndate 1735689600\ndate moved 3600s\n"), "{error}: {log}");
}

#[test]
fn a_programs_version_is_what_it_says_and_nothing_if_it_knows_no_such_option() {
    let version = |words: &[&str]| {
        let command: Vec<_> = words.iter().map(Into::into).collect();
        rota_program::version(&command)
    };
    let known = version(&["sed", "--posix"]).expect("a version");
    let said = Command::new("sed").arg("--version").output().expect("runs").stdout;
    assert_eq!(known, String::from_utf8_lossy(&said).lines().next().expect("a line"));

    // ends with status 1; prints nothing; is not there
    assert_eq!(version(&[env!("CARGO_BIN_EXE_rota-program-tests")]), None);
    assert_eq!((version(&["sh"]), version(&["no-such-program"])), (None, None));
}

#[test]
fn a_scripts_version_is_not_its_interpreters() {
    let folder = tempfile::tempdir().expect("a folder");
    let version = |script: &str| {
        let path = folder.path().join("loader");
        fs::write(&path, script).expect("writes");
        rota_program::version(&["bash".into(), path.into()])
    };
    assert_eq!(version("[ \"$1\" = --version ] && echo loader 3\n").as_deref(), Some("loader 3"));
    // looks at none of its words
    assert_eq!(version("exit 1\n"), None);
}

#[test]
fn threads_take_turns_in_simulated_time() {
    let (_, log) = run(&["threads"]);
    assert_eq!(
        log,
        "finished [(10, 10ms), (20, 20ms), (30, 30ms)]\n\
         nothing came: Err(Timeout) at 5.03s\n"
    );
}

#[test]
fn threads_talk_by_local_sockets_in_simulated_time() {
    let (error, log) = run(&["sockets"]);
    // 50 ms of patience are 13 ticks of 4 ms
    assert!(error.to_string().contains("exit status: 0"), "{error}\n{log}");
    assert_eq!(
        log,
        "again: address in use\n\
         answer to question at 10ms\n\
         operation would block at 62ms\n\
         end at 1.01s\n\
         gone: entity not found\n"
    );
}

#[test]
fn what_it_watches_are_files_of_the_simulated_machine() {
    let (_, log) = run(&["watch"]);
    assert_eq!(
        log,
        "/sys/devices/system/cpu: 1\n/sys/fs/cgroup: 2\n\
         /sys/fs/cgroup/none: entity not found\n/run: entity not found\n\
         operation would block\n"
    );
}

#[test]
fn random_numbers_are_those_of_the_seed() {
    let (_, first) = run(&["hashes"]);
    let (_, second) = run(&["hashes"]);
    assert_eq!(first, second);
}

#[test]
fn the_program_finds_the_simulated_machine() {
    let (_, log) = run(&["computer"]);
    // CPUs 4 and 5 are a core, 4 to 7 a cache and a node; nobody else's process is there
    assert_eq!(
        log,
        "pid 999\ncpus 8\n\
         /sys/devices/system/cpu/possible: 0-7\n\
         /sys/devices/system/cpu/cpu5/topology/thread_siblings_list: 4-5\n\
         /sys/devices/system/cpu/cpu5/cache/index3/shared_cpu_list: 4-7\n\
         /sys/devices/system/node/node1/cpulist: 4-7\n\
         /proc/sys/kernel/osrelease: 7.2.12\n\
         /sys/devices/system/cpu/cpu6/online: 1\n\
         /proc/1/comm: entity not found\n\
         [\"has_cpu\", \"has_memory\", \"has_normal_memory\", \"node0\", \"node1\", \"online\", \
         \"possible\"]\n"
    );
}

#[test]
fn a_program_that_fails_says_so_with_the_end_of_its_output() {
    let (error, _) = run(&["fail"]);
    let text = error.to_string();
    assert!(text.contains("ended before it attached a scheduler: exit status: 3"), "{text}");
    assert!(text.ends_with("The end of its output:\n    cannot go on"), "{text}");
}

#[test]
fn a_program_that_crashes_ends() {
    let (error, _) = run(&["crash"]);
    assert!(error.to_string().contains("signal: 6"), "{error}");
}

#[test]
fn a_program_that_computes_for_ever_is_stopped_after_real_time() {
    let (error, _) = run_for(&["spin"], Duration::from_millis(300));
    assert!(matches!(error, ProgramError::Hangs { .. }), "{error}");
    assert!(error.to_string().contains("no system call for 0.3 s: it computes"), "{error}");
}

#[test]
fn a_program_that_waits_for_ever_is_told() {
    let (error, log) = run(&["wait"]);
    assert!(matches!(error, ProgramError::Waits { .. }), "{error}");
    assert_eq!(log, "waiting\n");
}

#[test]
fn a_hostile_program_changes_nothing_and_reaches_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "precious").expect("written");
    let mut bystander =
        Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().expect("sleeps");

    let (_, log) = run(&["forbidden", file.to_str().expect("text"), &bystander.id().to_string()]);

    let done: Vec<&str> = log.lines().filter(|line| line.ends_with(": done")).collect();
    // rm -f runs, and fails by itself; each of 20 attempts has a line, and rm and mount one each
    assert_eq!(done, ["run another: done", "write at home: done"], "{log}");
    assert_eq!(log.lines().filter(|line| line.contains(": ")).count(), 22, "{log}");
    assert_eq!(names(folder.path()), ["file"]);
    assert_eq!(fs::read_to_string(&file).expect("is there"), "precious");
    let left = fs::metadata(&file).expect("is there");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&left) & 0o777, 0o644, "{log}");
    assert_eq!(bystander.try_wait().expect("can be asked"), None, "it lives");
    bystander.kill().expect("killed");
    bystander.wait().expect("over");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn what_cannot_be_executed_is_told_by_its_name() {
    let launch = |command: &str| Launch {
        command: vec![command.into()],
        topology: Topology::flat(1).expect("a CPU"),
        hardware: None,
        kernel: Kernel::default(),
        groups: Vec::new(),
        call_ns: 1000,
        seed: 1,
        log: None,
        timeout: Duration::from_secs(60),
    };
    let error =
        |command: &str| Program::start(launch(command)).expect_err("no program").to_string();
    assert!(error("/nowhere/scx_none").starts_with("/nowhere/scx_none: No such file"));
    assert!(error("/etc/passwd").starts_with("/etc/passwd: Permission denied"));
}
