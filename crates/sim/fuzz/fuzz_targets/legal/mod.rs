// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random workload files over the whole grammar of `docs/workloads.md` and `docs/requests.md` that
//! the reader has to take.

mod events;
mod outside;
mod requests;
mod settings;
mod spans;
mod tasks;

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use rota_catalog::Policy;
use std::fmt;
use std::ops::RangeInclusive;

/// The most CPUs of its machine.
const CPUS: u32 = 8;
/// Lengths of a run.
const RUN_NS: RangeInclusive<u64> = 1_000_000..=60_000_000;

/// A workload file, a machine, and the policies to try it with.
pub struct Legal {
    pub text: String,
    pub cpus: u32,
    pub smt: u32,
    pub hz: u32,
    pub ideal: bool,
    pub shuffle_ties: bool,
    pub seed: u64,
    pub duration_ns: u64,
    pub policies: Vec<&'static Policy>,
}

/// What the parts of a file must know of each other.
struct File {
    cpus: u32,
    /// CPUs of a core.
    smt: u32,
    /// Kinds of tasks but for servers: `t0`, `t1` …, of which the first is no thread.
    tasks: u32,
    /// `s0`, `s1` …, each with its servers.
    sockets: u32,
}

impl<'a> Arbitrary<'a> for Legal {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let smt = u.int_in_range(1..=2)?;
        let cpus = smt * u.int_in_range(1..=CPUS / 2)?;
        let sockets = u.int_in_range(-2_i32..=2)?.max(0) as u32;
        let file = File { cpus, smt, tasks: u.int_in_range(1..=5)?, sockets };
        Ok(Self {
            text: file.text(u)?,
            cpus,
            smt,
            hz: *u.choose(&[100, 250, 300, 1000])?,
            ideal: u.ratio(1, 4)?,
            shuffle_ties: u.ratio(1, 4)?,
            seed: u.int_in_range(0..=99)?,
            duration_ns: u.int_in_range(RUN_NS)?,
            policies: policies(u)?,
        })
    }
}

fn policies(u: &mut Unstructured<'_>) -> Result<Vec<&'static Policy>> {
    let count = u.int_in_range(1..=2)?;
    (0..count).map(|_| u.choose(rota_catalog::policies())).collect()
}

impl fmt::Debug for Legal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, cpus, smt, hz, ideal, shuffle_ties, seed, duration_ns, policies } = self;
        let policies: Vec<&str> = policies.iter().map(|policy| policy.name).collect();
        write!(
            f,
            "--cpus {cpus} --topology smt={smt} --hz {hz} --seed {seed} --duration {duration_ns}ns \
             ideal: {ideal}, shuffle_ties: {shuffle_ties}, policies: {policies:?}\n{text}"
        )
    }
}

impl File {
    fn text(&self, u: &mut Unstructured<'_>) -> Result<String> {
        let mut members = Vec::new();
        let fair_by_default = self.global(u, &mut members)?;
        if u.ratio(1, 8)? {
            members
                .push(member("resources", r#"{"m0": {"type": "mutex"}, "u": {"type": "timer"}}"#));
        }
        self.requests(u, &mut members)?;
        let mut tasks = self.servers(u)?;
        for number in 0..self.tasks {
            let at = u.int_in_range(0..=tasks.len())?;
            tasks.insert(at, self.task(u, number, fair_by_default)?);
        }
        members.push(member("tasks", &object(&tasks)));
        self.outside(u, &mut members)?;
        let comment = if u.arbitrary()? { "/* any */ // text\n" } else { "" };
        Ok(format!("{comment}{}", object(&members)))
    }

    /// Whether tasks that name no policy are the scheduler's.
    fn global(&self, u: &mut Unstructured<'_>, members: &mut Vec<String>) -> Result<bool> {
        let mut keys = Vec::new();
        let policy = *u.choose(&["OTHER", "OTHER", "BATCH", "IDLE", "RR", "FIFO"])?;
        if u.ratio(1, 3)? {
            keys.push(format!(r#""default_policy": "SCHED_{policy}""#));
        }
        let fair = keys.is_empty() || !matches!(policy, "RR" | "FIFO");
        let others = [
            r#""pi_enabled": true"#,
            r#""duration": -1"#,
            r#""mem_buffer_size": 65536"#,
            r#""io_device": "/dev/sda""#,
            r#""calibration": "CPU3""#,
            r#""log_size": "auto""#,
            r#""ftrace": "main,task""#,
            r#""lock_pages": false"#,
            r#""cumulative_slack": true"#,
            r#""gnuplot": false"#,
        ];
        for other in others {
            if u.ratio(1, 6)? {
                keys.push(other.to_owned());
            }
        }
        members.push(member("global", &object(&keys)));
        Ok(fair)
    }
}

fn member(key: &str, value: &str) -> String {
    format!("\"{key}\": {value}")
}

/// Some objects end with a comma, as rt-app's may.
fn object(members: &[String]) -> String {
    let comma = if members.len() % 3 == 1 { "," } else { "" };
    format!("{{{}{comma}}}", members.join(", "))
}
