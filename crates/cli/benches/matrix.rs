// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long `rota compare` takes for 8 policies with 10 seeds: 10 s of 100 tasks on 8 CPUs. It
//! fails if that is more than a minute with two threads.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const POLICIES: &str =
    "fifo,rr,wrr,wfq,vtrr,rr:quantum_ns=2ms,wfq:quantum_ns=2ms,vtrr:quantum_ns=2ms";

fn main() -> ExitCode {
    let load = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/mix100.json");
    let mut compare = Command::new(env!("CARGO_BIN_EXE_rota"));
    compare.args(["compare", load, "--policies", POLICIES, "--cpus", "8", "--seeds", "10"]);
    let begin = Instant::now();
    let output = compare.args(["-j", "2", "--csv"]).output();
    let took = begin.elapsed();
    let whole = output.is_ok_and(|output| {
        let rows = String::from_utf8_lossy(&output.stdout).into_owned();
        let runs = rows.matches(",,context_switches,count,value,").count();
        output.status.success() && runs == 80
    });
    println!("compare, 8 policies, 10 seeds, 10 s, 100 tasks, 8 CPUs, 2 threads: {took:.1?}");
    if !whole || took > LIMIT {
        eprintln!("error: expected all 80 runs within {LIMIT:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
