// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers written in Rust, to test the machine without a compiler.

use rota_machine::consts::KICK_IDLE;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::system::System;
use rota_vm::error::Fault;

/// What a native scheduler does in one callback.
pub(crate) type Handler = fn(&mut Native, &mut System, Op, &[u64]) -> Result<u64, Fault>;

/// A scheduler made of a handler and the set of its callbacks.
pub(crate) struct Native {
    params: OpsParams,
    ops: Vec<Op>,
    handler: Handler,
    cid: bool,
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
pub(crate) type Look = fn(&mut System, u64) -> String;

impl Native {
    pub(crate) fn new(name: &str, ops: &[Op], handler: Handler) -> Self {
        let params = OpsParams {
            name: name.into(),
            flags: 0,
            dispatch_max_batch: 0,
            timeout_ms: 0,
            exit_dump_len: 0,
            hotplug_seq: 0,
        };
        Self {
            params,
            ops: ops.to_vec(),
            handler,
            cid: false,
            log: Vec::new(),
            slice_ns: 10_000_000,
            count: 0,
            held: Vec::new(),
            look: None,
        }
    }

    /// Notes a callback: its name and, where its first argument is a task, the pid.
    pub(crate) fn note(&mut self, system: &System, op: Op, args: &[u64]) {
        let pid = args.first().map_or(0, |p| system.native_pid(*p));
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

    /// As a `struct sched_ext_ops_cid`.
    pub(crate) fn cid_form(mut self) -> Self {
        self.cid = true;
        self
    }

    /// With these callbacks, too.
    pub(crate) fn add(&mut self, ops: &[Op]) {
        self.ops.extend(ops);
    }

    pub(crate) fn hotplug_seq(mut self, hotplug_seq: u64) -> Self {
        self.params.hotplug_seq = hotplug_seq;
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

    fn cid_form(&self) -> bool {
        self.cid
    }

    fn has(&self, op: Op) -> bool {
        self.ops.contains(&op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        let value = (self.handler)(self, system, op, args)?;
        Ok(OpRet { value, instructions: 1 })
    }

    fn run_timer(&mut self, _: &mut System, _: u64) -> Result<OpRet, Fault> {
        Err(Fault::denied("no timers"))
    }

    fn release_owner(&mut self, _: &mut System, _: u64) {}
}

/// One shared first-in-first-out queue; an idle CPU that may serve a new task is woken.
pub(crate) fn shared_fifo() -> Native {
    Native::new("fifo", &[Op::Init, Op::Enqueue, Op::Dispatch], |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => {
            system.native_insert(args[0], 0, me.slice_ns, args[1])?;
            let idle = system.native_pick_idle(args[0], 0)?;
            if idle >= 0 {
                system.native_kick(idle as i32, KICK_IDLE);
            }
            Ok(0)
        }
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    })
}
