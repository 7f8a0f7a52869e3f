// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel itself costs, in a machine file.

use crate::document::Document;
use crate::error::MachineError;
use crate::numbers::{CHOICE, IDLE_EXIT_NS};
use crate::read::Read;
use rota_machine::config::Costs;
use rota_machine::hardware::parts::Ipi;

/// More nanoseconds than an instruction takes.
const MOST_NS: f64 = 1_000_000.0;

/// Costs, and what an interrupt to another CPU takes; `None`: that model is off.
pub(crate) fn costs(
    read: &mut Read<'_>,
    document: &Document,
) -> Result<(Costs, Option<Ipi>), MachineError> {
    let mut costs = Costs::typical();
    let mut interrupts = None;
    if let Some(table) = &document.cost_ns {
        for (to, from) in [
            (&mut costs.context_switch_ns, &table.switch),
            (&mut costs.wakeup_ns, &table.wakeup),
            (&mut costs.tick_ns, &table.tick),
            (&mut costs.idle_exit_ns, &table.idle_exit),
            (&mut costs.migration_ns, &table.migration),
            (&mut costs.llc_migration_ns, &table.llc_migration),
            (&mut costs.fork_ns, &table.fork),
            (&mut costs.exit_ns, &table.exit),
        ] {
            if let Some(value) = from {
                *to = *value.get_ref();
            }
        }
        if let Some(given) = &table.instruction {
            let ns = *given.get_ref();
            if !(0.0..=MOST_NS).contains(&ns) {
                return Err(read.refuse(given, "0 to 1000000 ns for each instruction"));
            }
            costs.insn_ps = (ns * 1000.0).round() as u64;
        }
        if let Some(ipi) = &table.ipi {
            let (near, far) = (ipi.get_ref().llc, ipi.get_ref().other_llc);
            if far.is_some_and(|far| far < near) {
                return Err(read.refuse(ipi, "other_llc to be no shorter than llc"));
            }
            interrupts = Some(Ipi {
                llc_ns: near,
                other_llc_ns: far.unwrap_or(near),
                send_ns: ipi.get_ref().send,
                receive_ns: ipi.get_ref().receive,
            });
        }
    }
    let states = document.core_type.iter().any(|core| core.idle.is_some());
    if states && document.cost_ns.as_ref().is_none_or(|costs| costs.idle_exit.is_none()) {
        costs.idle_exit_ns = read.assume("cost_ns.idle_exit", IDLE_EXIT_NS, CHOICE);
    }
    Ok((costs, interrupts))
}
