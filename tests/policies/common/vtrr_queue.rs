// SPDX-License-Identifier: MIT OR Apache-2.0
//! vtrr's run queue, read from the memory of the hosted policy after each decision.

use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_vm::error::Fault;
use rota_vm::host::Host;
use std::sync::Arc;

/// A client in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Client {
    pub(crate) pid: u64,
    pub(crate) share: u64,
    /// Quanta left in this cycle, with the resets that the policy has still to make.
    pub(crate) counter: u64,
    /// CPU time since its last whole quantum.
    pub(crate) part_ns: u64,
}

/// The queue after a decision.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) now_ns: u64,
    /// From the head on.
    pub(crate) clients: Vec<Client>,
    pub(crate) cycle: u64,
    pub(crate) quanta_left: u64,
    pub(crate) total_share: u64,
    /// The pid of the client that was picked.
    pub(crate) picked: Option<u64>,
}

impl Queue {
    /// Who is in it, with which share.
    pub(crate) fn members(&self) -> Vec<(u64, u64)> {
        self.clients.iter().map(|client| (client.pid, client.share)).collect()
    }
}

/// A hosted vtrr, and who looks at its queue after each decision.
pub(crate) struct Watched<'a> {
    pub(crate) ops: &'a mut BpfOps,
    pub(crate) look: &'a mut dyn FnMut(Queue),
}

impl Ops for Watched<'_> {
    fn params(&self) -> &OpsParams {
        self.ops.params()
    }

    fn has(&self, op: Op) -> bool {
        self.ops.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        let result = self.ops.call(system, op, args);
        if op == Op::Dispatch {
            (self.look)(queue(self.ops, system)?);
        }
        result
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.ops.run_timer(system, timer)
    }

    fn set_share(&mut self, system: &mut System, pid: u32, share: u64) -> Result<(), Fault> {
        self.ops.set_share(system, pid, share)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ops.release_owner(system, addr);
    }
}

/// The value at a path such as `clients[3].share`.
fn value(ops: &mut BpfOps, system: &mut System, path: &str) -> Result<u64, Fault> {
    let (name, within) = path.split_at(path.find(['[', '.']).unwrap_or(path.len()));
    let image = Arc::clone(ops.runtime().image());
    let variable = image.variables.iter().find(|v| v.name == name).expect("a global variable");
    let (offset, size) = match within {
        "" => (0, variable.size),
        _ => {
            let field = image.btf.field_at(variable.ty, within).expect("a member");
            (u64::from(field.offset()), field.size)
        }
    };
    let base = ops.runtime().global_addr(name).expect("a global variable");
    system.memory().read(base + offset, size)
}

fn queue(ops: &mut BpfOps, system: &mut System) -> Result<Queue, Fault> {
    let [cycle, quanta_left, total_share, quantum_ns, cursor] =
        ["cycle", "quanta_left", "total_share", "quantum_seen", "cursor"]
            .map(|name| value(ops, system, name));
    let (cycle, quantum_ns, cursor) = (cycle?, quantum_ns?, cursor?);
    let mut clients = Vec::new();
    let mut picked = None;
    let mut at = value(ops, system, "clients[0].next")?;
    while at != 0 {
        let [share, counter, since, part_ns, runs, next] =
            ["share", "counter", "cycle", "part_ns", "runs", "next"]
                .map(|member| value(ops, system, &format!("clients[{at}].{member}")));
        let pid = value(ops, system, &format!("pid_of[{at}]"))?;
        let (share, since, part_ns) = (share?, since?, part_ns?);
        let due = (counter? + (cycle - since) * share).min(2 * share);
        // What it ran in advance of a reset is taken off with the reset.
        let ahead = if since < cycle { part_ns / quantum_ns } else { 0 };
        let counter = due - ahead.min(due);
        clients.push(Client { pid, share, counter, part_ns: part_ns % quantum_ns });
        if at == cursor && runs? != 0 {
            picked = clients.last().map(|client| client.pid);
        }
        at = next?;
    }
    let now_ns = system.native_now();
    let (quanta_left, total_share) = (quanta_left?, total_share?);
    Ok(Queue { now_ns, clients, cycle, quanta_left, total_share, picked })
}
