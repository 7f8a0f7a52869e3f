// SPDX-License-Identifier: MIT OR Apache-2.0
//! A load on this computer: played by a process of its own, and recorded.

use super::loads::Played as Load;
use super::AgreeChildArgs;
use crate::commands::bench::computer::Computer;
use crate::error::{Error, Status};
use crate::load;
use crate::output::json;
use rota_kernel::events::{RecordOptions, Recorder, Scope};
use rota_machine::interruption::Interruption;
use rota_measure::{GroupNumbers, Summary};
use rota_play::{Filtered, Options, PlayError, Played, Tape};
use rota_trace::Sink;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often the recorder's buffer is read.
const LOOK: Duration = Duration::from_millis(100);

/// What the computer did.
pub(super) struct Live {
    pub(super) groups: Vec<GroupNumbers>,
    /// Part of the computer that tasks of others had.
    pub(super) others: f64,
    /// When tasks of others ran.
    pub(super) interruptions: Vec<Interruption>,
    /// Records that were lost.
    pub(super) lost: u64,
}

/// Plays and records.
pub(super) fn run(load: &Load, seed: u64, computer: &Computer) -> Result<Live, Error> {
    let own = std::env::current_exe()
        .map_err(|e| Error::Failure(format!("cannot find this program: {e}")))?;
    let options = RecordOptions { scope: Scope::System, ..RecordOptions::default() };
    let mut recorder = Recorder::start(&options)?;
    let origin_ns = recorder.begin_ns();
    let mut child = Command::new(own)
        .args(["bench", "agree-child"])
        .arg(load.path())
        .args(["--duration", &format!("{}ns", load.duration_ns)])
        .args(["--warmup", &format!("{}ns", load.warmup_ns)])
        .args(["--seed", &seed.to_string(), "--hz", &computer.hz.to_string()])
        .args(["--cpus", &computer.cpus.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Error::Failure(format!("cannot start the player: {e}")))?;
    let pid = child.id();
    let failed = |e: std::io::Error| Error::Failure(format!("cannot wait for the player: {e}"));
    let mut tape = Tape::default();
    while child.try_wait().map_err(failed)?.is_none() {
        std::thread::sleep(LOOK);
        recorder.poll(&mut tape)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    rota_play::remove_groups(pid);
    let (facts, _) = recorder.finish(&mut tape)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.trim().trim_start_matches("rota: ").trim_start_matches("error: ");
        return Err(Error::Failure(format!("{}: {why}", load.name)));
    }
    let played: Played = serde_json::from_slice(&output.stdout)
        .map_err(|e| Error::Failure(format!("what the player said: {e}")))?;
    let filtered = Filtered::new(&played, origin_ns, &tape.0, &BTreeSet::new());
    let mut summary = Summary::new(computer.cpus).with_warmup(load.warmup_ns);
    filtered.events.iter().for_each(|event| summary.event(event));
    let interrupted_ns: u64 = filtered.interruptions.iter().map(|i| i.for_ns).sum();
    let capacity_ns = played.duration_ns * u64::from(computer.cpus);
    let mut groups = summary.finish_all(played.duration_ns).groups;
    groups.iter_mut().for_each(|group| take_account(group, &played));
    Ok(Live {
        groups,
        others: interrupted_ns as f64 / capacity_ns.max(1) as f64,
        lost: facts.counts.lost.total(),
        interruptions: filtered.interruptions.into_iter().map(as_machine).collect(),
    })
}

/// CPU time and run delay as the kernel accounts them, where it does so for all of the group's tasks.
fn take_account(group: &mut GroupNumbers, played: &Played) {
    let mine = played.tasks.iter().filter(|task| *task.instance_of == *group.name && task.tid != 0);
    let accounts: Option<Vec<_>> = mine.map(|task| task.had).collect();
    if let Some(accounts) = accounts.filter(|all| !all.is_empty()) {
        group.cpu_ns = accounts.iter().map(|had| had.cpu_ns).sum();
        group.run_delay_ns = accounts.iter().map(|had| had.run_delay_ns).sum();
    }
}

fn as_machine(
    rota_play::Interruption { cpu, at_ns, for_ns }: rota_play::Interruption,
) -> Interruption {
    Interruption { cpu, at_ns, for_ns }
}

/// The player.
pub(super) fn child(args: &AgreeChildArgs) -> Result<Status, Error> {
    let load = load::Load::read(&args.workload)?;
    let options = Options {
        duration_ns: args.duration,
        seed: args.seed,
        count_from_ns: Some(args.warmup),
        hz: args.hz,
        cpus: args.cpus,
        quiet: true,
        ext: false,
        part: None,
        share: None,
    };
    let played = rota_play::play(&load.workload, options).map_err(|error| match error {
        PlayError::Workload(why) => Error::Input(why),
        PlayError::Failure(why) => Error::Failure(why),
    })?;
    json::print(&mut crate::output::stdout(), &played)?;
    Ok(Status::Done)
}
