// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy in the running kernel, without sched_ext: loaded, given tasks, and made to
//! take decisions.

use crate::elf;
use crate::failure::Failure;
use crate::tasks::SleepingTasks;
use libbpf_rs::{
    ErrorKind, MapCore, MapFlags, MapType, Object, ObjectBuilder, PrintLevel, ProgramInput,
};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// BTF of the reference kernel, which CO-RE relocations of the policy refer to.
const REFERENCE_BTF: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/object/data/kernel-7.2.btf");
/// Section, and so map, of what the bench reports.
const BENCH_DATA: &str = ".bss.bench";
/// Picks that are kept when recording, as in `bench.bpf.c`.
pub const MAX_PICKS: usize = 65536;
/// Tasks that the bench's own arrays have room for, nobody (0) included.
const MAX_TASKS: usize = 65536;
/// The end of the verifier's log that an error shows.
const LOG_LINES: usize = 40;

static LIBBPF_LOG: Mutex<String> = Mutex::new(String::new());

fn keep_log(_: PrintLevel, line: String) {
    if let Ok(mut log) = LIBBPF_LOG.lock() {
        log.push_str(&line);
    }
}

/// What one task asks for.
#[derive(Clone, Copy, Debug)]
pub struct TaskSpec {
    /// sched_ext's weight, 100 is nice 0.
    pub weight: u32,
    /// Entry in the policy's `rota_shares`, if it has that map.
    pub share: Option<u64>,
}

/// How long a number of decisions took.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Decisions taken.
    pub decisions: u64,
    /// By the kernel's clock, around the loop.
    pub inside: Duration,
    /// By this process's clock, around the system call.
    pub outside: Duration,
}

/// A policy that was loaded.
#[derive(Debug)]
pub struct Hosted {
    policy: String,
    object: Object,
    places: Places,
}

/// Where the bench keeps what it reports, as offsets into [`BENCH_DATA`].
#[derive(Debug)]
struct Places {
    failure: usize,
    detail: usize,
    message: usize,
    picks: usize,
    decisions: usize,
    root: usize,
}

impl Places {
    fn read(object: &[u8]) -> Result<Self, String> {
        let elf = elf::read(object)?;
        let place = |name: &str| {
            let id = elf::defined(&elf, name).ok_or_else(|| format!("the bench has no {name}"))?;
            Ok::<_, String>(elf.symbols.get(id).st_value as usize)
        };
        Ok(Self {
            failure: place("bench_failure")?,
            detail: place("bench_failure_detail")?,
            message: place("bench_message")?,
            picks: place("bench_picks")?,
            decisions: place("bench_decisions")?,
            root: place("bench_root")?,
        })
    }
}

/// Whether this machine and user can run the bench; the reason if not.
pub fn available() -> Result<(), Failure> {
    let jit = std::fs::read_to_string("/proc/sys/net/system/bpf_jit_enable").unwrap_or_default();
    if jit.trim() == "0" {
        return Err(Failure::Unavailable(
            "the kernel's BPF JIT is off: sysctl net.system.bpf_jit_enable=1".into(),
        ));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Failure::Unavailable(
            "the kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF"
                .into(),
        ));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::Unavailable(
            "loading BPF programs needs root: run the bench with sudo".into(),
        ));
    }
    Ok(())
}

impl Hosted {
    /// Loads a linked object, with room for `tasks` tasks, and calls `ops.init()`.
    pub fn load(policy: &str, linked: &[u8], tasks: usize) -> Result<Self, Failure> {
        if tasks >= MAX_TASKS {
            let reason = format!("{tasks} tasks, at most {} fit", MAX_TASKS - 1);
            return Err(Failure::run(policy, reason));
        }
        let places = Places::read(linked).map_err(|e| Failure::object(policy, e))?;
        if let Ok(mut log) = LIBBPF_LOG.lock() {
            log.clear();
        }
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep_log)));
        let object = open(linked, tasks).map_err(|e| {
            let log = LIBBPF_LOG.lock().map(|log| log.clone()).unwrap_or_default();
            // the verifier too says "permission denied", but not without reasons
            if e.kind() == ErrorKind::PermissionDenied && !log.contains("PROG LOAD LOG") {
                let why = format!("the kernel permits no BPF here: {e}");
                return Failure::Unavailable(why);
            }
            let log = tail(&log);
            Failure::Load { policy: policy.into(), reason: format!("{e:#}"), log }
        })?;
        let mut hosted = Self { policy: policy.into(), object, places };
        match hosted.call("bench_init", &mut [0; 8])? {
            0 => Ok(hosted),
            err => Err(hosted.failed(&format!("ops.init() failed ({})", err as i32))),
        }
    }

    /// Makes the tasks and wakes them up, in order. Their number is that of `specs`.
    pub fn populate(&mut self, tasks: &SleepingTasks, specs: &[TaskSpec]) -> Result<(), Failure> {
        let shares = self.object.maps().find(|m| m.name() == "rota_shares");
        for (pid, spec) in tasks.pids().iter().zip(specs) {
            if let (Some(map), Some(share)) = (&shares, spec.share) {
                map.update(&pid.to_ne_bytes(), &share.to_ne_bytes(), MapFlags::ANY)
                    .map_err(|e| Failure::run(&self.policy, format!("rota_shares[{pid}]: {e}")))?;
            }
        }
        for (callback, program) in [("init_task", "bench_add"), ("enqueue", "bench_wake")] {
            for (i, (pid, spec)) in tasks.pids().iter().zip(specs).enumerate() {
                let mut args = [0; 16];
                args[..4].copy_from_slice(&(i as u32 + 1).to_ne_bytes());
                args[4..8].copy_from_slice(&pid.to_ne_bytes());
                args[8..12].copy_from_slice(&spec.weight.to_ne_bytes());
                let err = self.call(program, &mut args)? as i32;
                if err != 0 {
                    return Err(self.failed(&format!("ops.{callback}() of task {pid}: {err}")));
                }
            }
        }
        self.check()
    }

    /// Takes decisions, and says how long that took.
    pub fn decide(&mut self, decisions: u64) -> Result<Run, Failure> {
        let mut args = [0; 24];
        args[..8].copy_from_slice(&decisions.to_ne_bytes());
        let began = Instant::now();
        let failure = self.call("bench_decide", &mut args)?;
        let outside = began.elapsed();
        let inside = Duration::from_nanos(elf::u64_at(&args[8..16]));
        let taken = elf::u64_at(&args[16..24]);
        if failure != 0 || taken != decisions {
            return Err(self.failed(&format!("{taken} of {decisions} decisions were taken")));
        }
        Ok(Run { decisions, inside, outside })
    }

    /// The pids picked so far, in order, if the object was linked to record them.
    pub fn picks(&self) -> Result<Vec<u32>, Failure> {
        let data = self.section(BENCH_DATA)?;
        let count = (number(&data, self.places.decisions, 8) as usize).min(MAX_PICKS);
        let at = |i| self.places.picks + 4 * i;
        Ok((0..count).map(|i| number(&data, at(i), 4) as u32).collect())
    }

    fn call(&mut self, program: &str, args: &mut [u8]) -> Result<u32, Failure> {
        let found = self.object.progs_mut().find(|p| p.name() == program);
        let program = found.ok_or_else(|| Failure::run(&self.policy, format!("no {program}")))?;
        let input = ProgramInput { context_in: Some(args), ..ProgramInput::default() };
        let output = program.test_run(input).map_err(|e| Failure::run(&self.policy, e))?;
        Ok(output.return_value)
    }

    /// The present contents of a section of data.
    pub fn section(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let map = self.object.maps().find(|m| m.name().to_string_lossy().ends_with(name));
        map.and_then(|m| m.lookup(&[0; 4], MapFlags::ANY).ok().flatten())
            .ok_or_else(|| Failure::run(&self.policy, format!("cannot read {name}")))
    }

    /// The task at the root of the tree that was changed last, 0 if it is empty.
    pub fn tree_root(&self) -> Result<u32, Failure> {
        Ok(number(&self.section(BENCH_DATA)?, self.places.root, 4) as u32)
    }

    fn check(&self) -> Result<(), Failure> {
        match number(&self.section(BENCH_DATA)?, self.places.failure, 4) {
            0 => Ok(()),
            _ => Err(self.failed("it failed")),
        }
    }

    /// Why, from the bench's data (`enum bench_failure`).
    fn failed(&self, what: &str) -> Failure {
        let data = self.section(BENCH_DATA).unwrap_or_default();
        let detail = number(&data, self.places.detail, 8);
        let why = match number(&data, self.places.failure, 4) {
            1 => {
                let text = data.get(self.places.message..).unwrap_or_default();
                let text = text.split(|b| *b == 0).next().unwrap_or_default();
                let text = String::from_utf8_lossy(text);
                format!(": the policy gave up: \"{text}\", first argument {detail}")
            }
            2 => format!(": there is no dispatch queue {detail:#x}"),
            3 => format!(": task {detail} was inserted into a queue while it was in one"),
            4 => format!(": after {detail} decisions the policy gave the CPU nothing to run"),
            5 => format!(": a queue leads to task {detail}, which does not exist"),
            _ => String::new(),
        };
        Failure::run(&self.policy, format!("{what}{why}"))
    }
}

/// Native-endian number of `len` bytes; 0 where the data ends.
fn number(data: &[u8], at: usize, len: usize) -> u64 {
    let bytes = data.get(at..at + len).unwrap_or_default();
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn open(linked: &[u8], tasks: usize) -> libbpf_rs::Result<Object> {
    let mut builder = ObjectBuilder::default();
    builder.btf_custom_path(REFERENCE_BTF)?.name("rota_cost")?;
    let mut object = builder.open_memory(linked)?;
    for mut map in object.maps_mut() {
        if map.map_type() == MapType::StructOps {
            map.set_autocreate(false)?;
        } else if map.name() == "bench_tasks" {
            map.set_max_entries(tasks as u32 + 1)?;
        }
    }
    for mut program in object.progs_mut() {
        let ours = program.name().to_string_lossy().starts_with("bench_");
        program.set_autoload(ours);
    }
    object.load()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}
