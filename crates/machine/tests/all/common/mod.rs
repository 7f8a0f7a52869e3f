// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers written in Rust, to test the machine without a compiler.
#![allow(dead_code)] // each test file uses its part

pub(crate) mod blind;
pub(crate) mod eevdf;
pub(crate) mod hosted;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod vtrr_queue;
pub(crate) mod wild;

use rota_machine::config::Config;
use rota_machine::consts::KICK_IDLE;
use rota_machine::core::Core;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::run::{Machine, Outcome};
use rota_machine::topology::Topology;
use rota_trace::{Event, EventKind, Sink};
use rota_vm::error::Fault;
use std::sync::Arc;

/// Keeps every event.
#[derive(Default)]
pub(crate) struct Tape(pub(crate) Vec<Event>);

impl Sink for Tape {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl Tape {
    /// Pids in the order in which they started slices on a CPU.
    pub(crate) fn picks(&self, cpu: u32) -> Vec<u32> {
        let pick = |e: &Event| match e.kind {
            EventKind::Pick { pid, .. } if e.cpu == Some(cpu) => Some(pid),
            _ => None,
        };
        self.0.iter().filter_map(pick).collect()
    }

    /// When a task came onto which CPU.
    pub(crate) fn starts(&self, pid: u32) -> Vec<(u64, u32)> {
        let start = |e: &Event| match (e.cpu, &e.kind) {
            (Some(cpu), EventKind::SwitchIn { pid: p }) if *p == pid => Some((e.time_ns, cpu)),
            _ => None,
        };
        self.0.iter().filter_map(start).collect()
    }

    /// The pid of a task; tasks that start later have higher ones.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        let known = |e: &Event| match &e.kind {
            EventKind::Task { pid, name: n, .. } if n == name => Some(*pid),
            _ => None,
        };
        self.0.iter().find_map(known).unwrap_or_else(|| panic!("no task {name}"))
    }

    /// When a task was on a CPU, in microseconds; times that touch are one.
    pub(crate) fn spans(&self, name: &str) -> Vec<(u64, u64)> {
        let pid = self.pid(name);
        let (mut spans, mut since) = (Vec::<(u64, u64)>::new(), 0);
        for event in &self.0 {
            match event.kind {
                EventKind::SwitchIn { pid: p } if p == pid => since = event.time_ns / 1000,
                EventKind::SwitchOut { pid: p, .. } if p == pid => {
                    let end = event.time_ns / 1000;
                    match spans.last_mut() {
                        Some(last) if last.1 == since => last.1 = end,
                        _ if end > since => spans.push((since, end)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        spans
    }

    /// CPU time of a task from its switches, up to `end_ns`.
    pub(crate) fn cpu_ns(&self, pid: u32, end_ns: u64) -> u64 {
        let (mut total, mut since) = (0, None);
        for e in self.0.iter().take_while(|e| e.time_ns <= end_ns) {
            match e.kind {
                EventKind::SwitchIn { pid: p } if p == pid => since = Some(e.time_ns),
                EventKind::SwitchOut { pid: p, .. } if p == pid => {
                    total += e.time_ns - since.take().unwrap()
                }
                _ => {}
            }
        }
        total + since.map_or(0, |s| end_ns - s)
    }
}

/// What a native scheduler does in one callback.
pub(crate) type Handler = fn(&mut Native, &mut Core, Op, &[u64]) -> Result<u64, Fault>;

/// A scheduler made of a handler and the set of its callbacks.
pub(crate) struct Native {
    params: OpsParams,
    ops: Vec<Op>,
    handler: Handler,
    /// Free use.
    pub(crate) log: Vec<String>,
    /// Free use.
    pub(crate) slice_ns: u64,
    /// Free use: a number.
    pub(crate) count: u64,
    /// Free use: tasks that the scheduler keeps.
    pub(crate) held: Vec<u64>,
    /// Free use: a look at the machine.
    pub(crate) look: Option<Look>,
}

/// What a test sees of the machine, with a task.
pub(crate) type Look = fn(&mut Core, u64) -> String;

impl Native {
    pub(crate) fn new(name: &str, ops: &[Op], handler: Handler) -> Self {
        let params = OpsParams {
            name: name.into(),
            flags: 0,
            dispatch_max_batch: 0,
            timeout_ms: 0,
            exit_dump_len: 0,
        };
        Self {
            params,
            ops: ops.to_vec(),
            handler,
            log: Vec::new(),
            slice_ns: 10_000_000,
            count: 0,
            held: Vec::new(),
            look: None,
        }
    }

    /// Notes a callback: its name and, where its first argument is a task, the pid.
    pub(crate) fn note(&mut self, core: &Core, op: Op, args: &[u64]) {
        let pid = args.first().map_or(0, |p| core.native_pid(*p));
        let task = if pid == 0 { String::new() } else { format!(" {pid}") };
        self.log.push(format!("{}{task}", op.name()));
    }

    pub(crate) fn max_batch(mut self, tasks: u32) -> Self {
        self.params.dispatch_max_batch = tasks;
        self
    }

    pub(crate) fn flags(mut self, flags: u64) -> Self {
        self.params.flags = flags;
        self
    }

    pub(crate) fn timeout_ms(mut self, timeout_ms: u32) -> Self {
        self.params.timeout_ms = timeout_ms;
        self
    }
}

impl Ops for Native {
    fn params(&self) -> &OpsParams {
        &self.params
    }

    fn has(&self, op: Op) -> bool {
        self.ops.contains(&op)
    }

    fn call(&mut self, core: &mut Core, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        let value = (self.handler)(self, core, op, args)?;
        Ok(OpRet { value, instructions: 1 })
    }

    fn run_timer(&mut self, _: &mut Core, _: u64) -> Result<OpRet, Fault> {
        Err(Fault::denied("no timers"))
    }

    fn release_owner(&mut self, _: &mut Core, _: u64) {}
}

/// One shared first-in-first-out queue; an idle CPU that may serve a new task is woken.
pub(crate) fn shared_fifo() -> Native {
    Native::new("fifo", &[Op::Init, Op::Enqueue, Op::Dispatch], |me, core, op, args| match op {
        Op::Init => core.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => {
            core.native_insert(args[0], 0, me.slice_ns, args[1])?;
            let idle = core.native_pick_idle(args[0], 0)?;
            if idle >= 0 {
                core.native_kick(idle as i32, KICK_IDLE);
            }
            Ok(0)
        }
        Op::Dispatch => core.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    })
}

/// A config without overheads and with exact slices.
pub(crate) fn ideal(cpus: u32, duration_ns: u64) -> Config {
    Config::new(Topology::flat(cpus).unwrap(), duration_ns).ideal()
}

/// Runs a workload text under a scheduler.
pub(crate) fn run(config: Config, workload: &str, ops: &mut dyn Ops) -> (Outcome, Tape) {
    let workload = Arc::new(rota_workload::parse("test.json", workload).unwrap());
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(config, workload, &btf).unwrap();
    let mut tape = Tape::default();
    let outcome = machine.run(ops, &mut tape).unwrap();
    (outcome, tape)
}
