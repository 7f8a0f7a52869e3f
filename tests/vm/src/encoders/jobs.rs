// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done in the machine: five encoders on one CPU, under each policy.

use super::numbers::Frames;
use crate::guest;
use crate::initramfs::Initramfs;
use crate::kernel::Role;
use crate::plan::Boot;
use crate::qemu::Pace;
use crate::verdict;
use anyhow::{Context, Result};
use rota_guest::job::Job;
use rota_guest::record::Record;
use rota_guest::span::Span;
use rota_guest::step::{Command, Step};
use serde::Deserialize;

/// Shares of the five encoders.
pub const SHARES: [u64; 5] = [1, 2, 3, 4, 5];

/// Of WFQ and VTRR: two of Linux 2.2's ticks [VTRR §4].
pub const QUANTUM_MS: u64 = 20;

/// With the time that encoders take to start.
const RUN_MS: u64 = 4_000;

/// MPEG audio of 128 kbit/s, 44.1 kHz: 144 · 128000 / 44100 bytes, with and without a byte more.
/// The input is noise, as silence is too easy.
const ENCODER: &str = "exec lame --silent -r -s 44.1 -m m -b 128 --cbr --flush - - </dev/urandom";

/// A scheduler that the paper measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// As the paper calls it.
    pub name: &'static str,
    /// As it ships.
    pub policy: &'static str,
    set: &'static [&'static str],
    /// What gives the encoders their shares.
    by: &'static [&'static str],
}

const QUANTUM: &[&str] = &["quantum_ns=20ms"];
const BY_SHARE: &[&str] = &["--share", "1,2,3,4,5"];

/// In the order of Figures 7, 8 and 9. Linux 2.2 knows nice values only: 19, 17, 15, 13, 11 have
/// quanta of 20, 40, 60, 80 and 100 ms [VTRR §5.3].
pub const ENTRIES: [Entry; 3] = [
    Entry { name: "Linux 2.2", policy: "linux22", set: &[], by: &["--nice", "19,17,15,13,11"] },
    Entry { name: "WFQ", policy: "wfq", set: QUANTUM, by: BY_SHARE },
    Entry { name: "VTRR", policy: "vtrr", set: QUANTUM, by: BY_SHARE },
];

/// The machine. Who counts frames has the CPU of the encoders, and goes before them, being in the
/// kernel's own class. With a second CPU it would come late, and then have many at once: an emulator
/// runs CPUs in turns.
pub fn boot() -> Boot {
    Boot {
        kernel: Role::Newest,
        cpus: 1,
        guest: guest::Guest::Bare,
        pace: Pace::Counted,
        part: 1,
        jobs: ENTRIES.iter().map(job).collect(),
    }
}

/// Puts the encoder into the guest.
pub fn add_encoder(files: &mut Initramfs) -> Result<()> {
    guest::add_tool(files, "lame", "lame")
}

fn job(entry: &Entry) -> Job {
    let duration = format!("{RUN_MS}ms");
    let bench = ["/bin/rota", "bench", "encoders", "--cpu", "0", "--json", "--duration", &duration];
    let encoder = ["--", "/bin/rota-guest", "join", "/bin/sh", "-c", ENCODER];
    let words = bench.iter().chain(entry.by).chain(&encoder);
    let run = Command::measuring(words, Span::from_ms(10 * RUN_MS));
    Job {
        name: format!("encoders/{}", entry.policy),
        policy: Some(entry.policy.to_owned()),
        set: entry.set.iter().map(|set| (*set).to_owned()).collect(),
        // Only the encoders are clients: others would have a hundred times their shares.
        steps: vec![
            Step::Load { policy: None, with: vec!["--partial".into()], wait: true },
            Step::Run(run),
        ],
    }
}

/// What is of use here of what `rota bench encoders --json` prints.
#[derive(Deserialize)]
struct Bench {
    encoders: Vec<Encoder>,
}

#[derive(Deserialize)]
struct Encoder {
    frames_ns: Vec<u64>,
}

/// The frames under each policy, in the order of [`ENTRIES`].
pub fn frames(records: &[Record]) -> Result<Vec<Frames>> {
    ENTRIES.iter().map(|entry| of_entry(entry, records)).collect()
}

fn of_entry(entry: &Entry, records: &[Record]) -> Result<Frames> {
    let own = format!("encoders/{}", entry.policy);
    let output = verdict::output_of(records, &own)?;
    let bench: Bench =
        serde_json::from_str(output).with_context(|| format!("{own}: it printed {output}"))?;
    let frames_ns = bench.encoders.into_iter().map(|encoder| encoder.frames_ns).collect();
    Frames::new(frames_ns, RUN_MS * 1_000_000).with_context(|| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_from_what_the_bench_printed() {
        let frames: Vec<String> = (0..5_u64)
            .map(|i| {
                let at: Vec<String> =
                    (1..=400_u64).map(|k| (k * 10_000_000 - i).to_string()).collect();
                format!("{{\"nice\":0,\"frames_ns\":[{}]}}", at.join(","))
            })
            .collect();
        let output = format!("{{\"encoders\":[{}]}}", frames.join(","));
        let step = |job: &str, does: &str| Record::Step {
            job: job.into(),
            step: "2".into(),
            does: does.into(),
            at_ns: 0,
            saw: serde_json::json!({ "output": output }),
        };
        let mut records: Vec<Record> =
            ENTRIES.iter().map(|e| step(&format!("encoders/{}", e.policy), "run")).collect();
        assert_eq!(super::frames(&records).unwrap().len(), 3);
        records[1] = step("encoders/wfq", "load");
        let error = format!("{:#}", super::frames(&records).unwrap_err());
        assert!(error.contains("encoders/wfq: nothing was run"), "{error}");
    }
}
