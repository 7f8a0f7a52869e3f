// SPDX-License-Identifier: MIT OR Apache-2.0
//! What work costs on CPUs that are not all alike.

mod cache;
mod clock;
mod energy;
mod laws;
mod smt;
mod speed;
mod wakeup;

use crate::common::{ideal, Tape};
use rota_machine::config::Config;
use rota_machine::hardware::parts::{CoreType, SmtSpeed};
use rota_machine::hardware::Hardware;
use rota_machine::topology::Topology;
use rota_trace::EventKind;
use rota_workload::WorkClass;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A kind of cores at this speed, of which nothing else is known.
fn core_type(speed: u32) -> CoreType {
    CoreType {
        name: format!("c{speed}"),
        speed,
        capacity: speed,
        rank: 0,
        l2_kib: 1024,
        smt: None,
        clock: None,
        idle: Vec::new(),
        poll_ns: 0,
    }
}

/// CPUs of these speeds.
fn cores(speeds: &[u32]) -> Hardware {
    Hardware {
        core_types: speeds.iter().map(|speed| core_type(*speed)).collect(),
        type_of_cpu: (0..speeds.len()).collect(),
        cache: None,
        ipi: None,
        work: (WorkClass::Mixed, 0),
        timer_slack_ns: 0,
    }
}

/// Equal CPUs, which lose speed to busy siblings: 540, 640 and 790 of 1024 by class.
fn siblings(cpus: u32) -> Hardware {
    let mut kind = core_type(1024);
    let list = |speed| vec![speed];
    kind.smt = Some(SmtSpeed { compute: list(540), mixed: list(640), memory: list(790) });
    Hardware { core_types: vec![kind], type_of_cpu: vec![0; cpus as usize], ..cores(&[]) }
}

/// A machine without overheads.
fn on(hardware: Hardware, topology: &str, duration_ns: u64) -> Config {
    let cpus = hardware.type_of_cpu.len() as u32;
    Config {
        topology: Topology::parse(cpus, topology).unwrap(),
        hardware: Some(Arc::new(hardware)),
        audit: true,
        ..ideal(cpus, duration_ns)
    }
}

/// When a task ended, in nanoseconds.
fn end_ns(tape: &Tape, pid: u32) -> u64 {
    let ends = |kind: &EventKind| *kind == EventKind::Exit { pid };
    tape.0.iter().find(|event| ends(&event.kind)).expect("it ends").time_ns
}
