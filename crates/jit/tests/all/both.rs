// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program under both engines, and all that can be seen of a run of it.

use crate::run_support::{Builder, Hosted, TestHost};
use rota_object::image::FuncId;
use rota_vm::memory::Perm;
use rota_vm::runtime::{Exec, Step};

/// What a run leaves.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    /// Result and count, or fault, of each call.
    pub(crate) calls: Vec<Result<(u64, u64), String>>,
    printed: Vec<String>,
    random: u32,
    timers: Vec<u64>,
    memory: Vec<Vec<u8>>,
    unfilled: Vec<(String, u32, u64)>,
}

/// Starts a program, interpreted or compiled.
pub(crate) fn start(builder: Builder, compiled: bool) -> Hosted {
    let mut host = TestHost::new();
    host.engine = if compiled { crate::engine() } else { None };
    let mut hosted = builder.start_with(host, Vec::new());
    hosted.host.task = hosted.host.memory.alloc("task", 64, Perm::ReadWrite);
    hosted
}

/// Calls the first function with these arguments, and then its timers.
pub(crate) fn seen(mut hosted: Hosted, calls: &[&[u64]], budget: u64) -> Seen {
    hosted.runtime.set_budget(budget);
    let mut results = Vec::new();
    for args in calls {
        let result = hosted.call(0, args);
        results
            .push(result.map(|ret| (ret.r0, ret.instructions)).map_err(|fault| fault.to_string()));
    }
    let timers: Vec<u64> = hosted.host.timers.keys().copied().collect();
    for &timer in &timers {
        let ran = hosted.runtime.run_timer(&mut hosted.host, timer);
        results.push(ran.map(|ret| (ret.r0, ret.instructions)).map_err(|fault| fault.to_string()));
    }
    left_by(hosted, results, timers)
}

/// Calls the first function, and stops it again and again.
pub(crate) fn seen_in_parts(mut hosted: Hosted, args: &[u64], budget: u64, part: u64) -> Seen {
    hosted.runtime.set_budget(budget);
    let mut exec = Exec::new(&hosted.runtime);
    exec.start(&mut hosted.host, FuncId(0), args);
    let result = loop {
        match exec.run(&mut hosted.runtime, &mut hosted.host, part) {
            Ok(Step::Paused) => {}
            Ok(Step::Done(ret)) => break Ok((ret.r0, ret.instructions)),
            Err(fault) => break Err(fault.to_string()),
        }
    };
    left_by(hosted, vec![result], Vec::new())
}

fn left_by(hosted: Hosted, calls: Vec<Result<(u64, u64), String>>, timers: Vec<u64>) -> Seen {
    let memory = &hosted.host.memory;
    let bytes = |region: usize| {
        let addr = (region as u64) << 32;
        let size = memory.region_size(addr);
        memory.copy(addr, size).unwrap_or_default()
    };
    Seen {
        calls,
        printed: hosted.host.printed.clone(),
        random: hosted.host.random,
        timers,
        memory: (0..memory.windows().len()).map(bytes).collect(),
        unfilled: memory.unfilled_reads(),
    }
}
