// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines made of files in a directory.

use super::*;
use rota_object::btf::Btf;
use std::fs;
use tempfile::TempDir;

/// A machine on which everything is right.
struct Fake(TempDir);

impl Fake {
    fn new() -> Self {
        let fake = Self(tempfile::tempdir().expect("directory"));
        fake.file("/proc/sys/kernel/osrelease", "7.2.12+deb14-cloud-amd64\n");
        fake.file("/proc/sys/net/core/bpf_jit_enable", "1\n");
        fake.file("/proc/self/status", "Name:\trota\nCapEff:\t000001ffffffffff\n");
        fake.file("/proc/self/uid_map", "         0          0 4294967295\n");
        fake.file("/proc/cmdline", "console=ttyS0 quiet\n");
        fake.file("/sys/kernel/sched_ext/state", "disabled\n");
        fake.file("/sys/devices/system/cpu/isolated", "\n");
        fake.file("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        fake.file("/sys/kernel/btf/vmlinux", kernel(&[("scx_bpf_kick_cpu", &["cpu", "flags"])]));
        fake
    }

    fn file(&self, path: &str, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(path, contents).expect("written");
        self
    }

    fn without(&self, path: &str) -> &Self {
        let path = self.0.path().join(path.trim_start_matches('/'));
        if path.is_dir() {
            fs::remove_dir_all(path).expect("removed");
        } else {
            fs::remove_file(path).expect("removed");
        }
        self
    }

    fn findings(&self) -> Findings {
        computer_at(self.0.path(), &self.0.path().join("control.sock"))
    }

    /// The one thing that is missing.
    fn lacks(&self, name: &str) -> String {
        let findings = self.findings();
        let missing: Vec<&Fact> = findings.missing(Purpose::Run).collect();
        let [only] = missing.as_slice() else { panic!("{missing:#?}") };
        assert_eq!(only.name, name);
        only.message()
    }
}

/// BTF of a kernel with these functions and the names of their parameters.
fn kernel(functions: &[(&str, &[&str])]) -> Vec<u8> {
    let (mut types, mut strings) = (Vec::new(), vec![0u8]);
    let mut name = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let int = name("int");
    let mut word = |value: u32| types.extend(value.to_le_bytes());
    [int, 1 << 24, 4, 1 << 24 | 32].into_iter().for_each(&mut word);
    for (i, (function, params)) in (0u32..).zip(functions) {
        [0, 13 << 24 | params.len() as u32, 1].into_iter().for_each(&mut word);
        for param in *params {
            [name(param), 1].into_iter().for_each(&mut word);
        }
        [name(function), 12 << 24, 2 + 2 * i].into_iter().for_each(&mut word);
    }
    let lengths = [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32];
    let mut btf = vec![0x9f, 0xeb, 1, 0];
    lengths.iter().for_each(|length| btf.extend(length.to_le_bytes()));
    [btf, types, strings].concat()
}

#[test]
fn complete_machine_lacks_nothing() {
    let findings = Fake::new().findings();
    assert!(findings.is_ready(Purpose::Run), "{findings:#?}");
    assert!(
        findings.facts.iter().all(|f| f.state == State::Ok && f.how.is_empty()),
        "{findings:#?}"
    );
    let names: Vec<&str> = findings.facts.iter().map(|f| f.name).collect();
    let expected = ["kernel", "sched_ext", "BTF", "kfuncs", "JIT", "privileges", "scheduler"];
    assert_eq!(names, expected);
}

#[test]
fn old_kernel_is_told_once() {
    let fake = Fake::new();
    fake.file("/proc/sys/kernel/osrelease", "6.1.0-44-amd64\n").without("/sys/kernel/sched_ext");
    let message = fake.lacks("kernel");
    assert!(message.starts_with("Linux 6.1.0-44-amd64 is older than sched_ext: install"));
    assert!(message.contains("6.12 or later") && message.contains("trixie-backports"));
}

#[test]
fn kernel_built_without_sched_ext_is_told_from_an_old_one() {
    let fake = Fake::new();
    fake.file("/proc/sys/kernel/osrelease", "6.12.1\n").without("/sys/kernel/sched_ext");
    let message = fake.lacks("sched_ext");
    assert!(
        message.contains("built without sched_ext") && message.contains("CONFIG_SCHED_CLASS_EXT=y")
    );
    let unmounted = Fake::new();
    assert!(unmounted
        .without("/sys")
        .findings()
        .missing(Purpose::Run)
        .any(|f| f.how.contains("mount -t sysfs")));
}

#[test]
fn no_linux_at_all() {
    let empty = tempfile::tempdir().expect("directory");
    let findings = computer_at(empty.path(), Path::new("/nonexistent"));
    let first = findings.missing(Purpose::Run).next().expect("missing");
    assert!(first.found.contains("not Linux"), "{first:?}");
}

#[test]
fn kernel_without_types() {
    let fake = Fake::new();
    fake.without("/sys/kernel/btf");
    assert!(fake.lacks("BTF").contains("CONFIG_DEBUG_INFO_BTF=y"));
    fake.file("/sys/kernel/btf/vmlinux", "not BTF");
    assert!(fake.lacks("BTF").contains("cannot be understood"));
}

#[test]
fn function_that_shows_its_hidden_argument_is_malformed() {
    let sound = kernel(&[
        ("scx_bpf_kick_cpu", &["cpu", "flags"]),
        ("scx_bpf_kick_cpu_impl", &["cpu", "flags", "aux"]),
        ("bpf_other", &["aux"]),
    ]);
    assert_eq!(kfuncs_are_broken(&Btf::parse(&sound).expect("BTF")), None);
    let twin = kernel(&[("scx_bpf_error", &["fmt", "aux"]), ("scx_bpf_error_impl", &["aux"])]);
    assert_eq!(kfuncs_are_broken(&Btf::parse(&twin).expect("BTF")), None);
    let bad = kernel(&[
        ("scx_bpf_kick_cpu", &["cpu", "flags", "aux"]),
        ("scx_bpf_dsq_insert", &["p", "aux"]),
        ("scx_bpf_now", &[]),
    ]);
    let broken = kfuncs_are_broken(&Btf::parse(&bad).expect("BTF")).expect("malformed");
    assert_eq!(broken.names, ["scx_bpf_dsq_insert", "scx_bpf_kick_cpu"]);
    let fake = Fake::new();
    fake.file("/sys/kernel/btf/vmlinux", bad);
    let message = fake.lacks("kfuncs");
    assert!(message.contains("scx_bpf_dsq_insert and 1 more"), "{message}");
    assert!(message.contains("+deb14"), "{message}");
}

#[test]
fn compiler_that_is_off() {
    let fake = Fake::new();
    fake.file("/proc/sys/net/core/bpf_jit_enable", "0\n");
    assert!(fake.lacks("JIT").contains("sysctl net.core.bpf_jit_enable=1"));
    fake.without("/proc/sys/net/core/bpf_jit_enable");
    assert!(fake.findings().is_ready(Purpose::Run), "what cannot be read is not missing");
}

#[test]
fn privileges_are_two_capabilities_or_root() {
    let fake = Fake::new();
    let with = |bits: &[u32]| {
        let caps = bits.iter().fold(0u64, |caps, bit| caps | 1 << bit);
        fake.file("/proc/self/status", format!("CapEff:\t{caps:016x}\n"));
    };
    with(&[]);
    assert!(fake
        .lacks("privileges")
        .contains("at least CAP_BPF and CAP_PERFMON: run it with sudo"));
    with(&[39]);
    assert!(fake.lacks("privileges").contains("at least CAP_PERFMON:"));
    with(&[21]);
    assert!(fake.findings().is_ready(Purpose::Run));
    with(&[38, 39]);
    let findings = fake.findings();
    assert!(findings.is_ready(Purpose::Run));
    assert!(findings.warnings().any(|f| f.how.contains("--stats")), "{findings:#?}");
}

#[test]
fn root_of_a_user_namespace_is_nobody() {
    let fake = Fake::new();
    fake.file("/proc/self/uid_map", "         0     100000      65536\n");
    assert!(fake.lacks("privileges").contains("user namespace"));
}

#[test]
fn kernel_that_keeps_its_memory_to_itself() {
    let fake = Fake::new();
    fake.file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    assert!(fake.lacks("lockdown").contains("lockdown=integrity"));
    fake.file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    assert!(fake.findings().is_ready(Purpose::Run));
}

#[test]
fn isolated_cpus_are_refused_by_sched_ext() {
    let fake = Fake::new();
    fake.file("/sys/devices/system/cpu/isolated", "2-3\n");
    assert!(fake.findings().is_ready(Purpose::Run), "isolated by a cpuset, not at boot");
    fake.file("/proc/cmdline", "quiet isolcpus=2,3\n");
    assert!(fake.lacks("isolation").contains("(2-3)"));
}

#[test]
fn other_scheduler_is_named_with_its_reach() {
    let fake = Fake::new();
    fake.file("/sys/kernel/sched_ext/state", "enabled\n");
    fake.file("/sys/kernel/sched_ext/root/ops", "rusty_1.0\n");
    fake.file("/sys/kernel/sched_ext/switch_all", "1\n");
    let message = fake.lacks("scheduler");
    let expected = "the scheduler 'rusty_1.0' is loaded and schedules all tasks: stop its";
    assert!(message.starts_with(expected), "{message}");
    fake.file("/sys/kernel/sched_ext/switch_all", "0\n");
    assert!(fake.lacks("scheduler").contains("tasks with policy SCHED_EXT"));
    fake.file("/sys/kernel/sched_ext/state", "disabling\n").without("/sys/kernel/sched_ext/root");
    assert!(fake.lacks("scheduler").contains("sched_ext is disabling"));
}

#[test]
fn recording_minds_no_scheduler_and_needs_no_sched_ext() {
    let fake = Fake::new();
    fake.file("/sys/kernel/sched_ext/state", "enabled\n");
    assert!(!fake.findings().is_ready(Purpose::Run) && fake.findings().is_ready(Purpose::Record));
    fake.without("/sys/kernel/sched_ext");
    assert!(fake.findings().is_ready(Purpose::Record));
    fake.without("/sys/kernel/btf");
    assert!(!fake.findings().is_ready(Purpose::Record));
}
