// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command on this computer, recorded or not.

use super::child::{Report, Told};
use super::question::Setting;
use crate::affinity::on_first;
use crate::commands::bench::child_command;
use crate::commands::record::plain::{self, Works};
use crate::commands::record::{Session, TargetArgs, Wanted};
use crate::error::Error;
use crate::replay::{Made, Making};
use rota_measure::Summary;
use rota_trace::Tee;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::NamedTempFile;

/// Until hogs have their CPUs.
const SETTLED: Duration = Duration::from_millis(100);
/// Of the recorder: no event of a busy second may be lost.
const BUFFER: u32 = 64 << 20;

/// A recording of a run.
pub(super) struct Recording {
    pub(super) report: Report,
    pub(super) made: Option<Made>,
    /// CPU time without what the recorder took at switches and wakeups.
    pub(super) work_ns: u64,
    pub(super) p99_ns: Option<u64>,
    pub(super) lost: u64,
    pub(super) length_ns: u64,
}

/// How long the first copy takes.
pub(super) fn run(setting: Setting, command: &[OsString]) -> Result<u64, Error> {
    let _hogs = Hogs::start(setting)?;
    let report = report_file()?;
    let words = words(setting, &report, command)?;
    let failed = |e: std::io::Error| Error::Failure(format!("cannot run the command: {e}"));
    let mut runner = Command::new(&words[0]);
    runner.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr()));
    let mut runner = on_first(Some(setting.cpus), || runner.spawn())?.map_err(failed)?;
    let status = runner.wait().map_err(failed)?;
    if !status.success() {
        return Err(Error::Failure(format!("the command ended with {status}")));
    }
    took_ns(&read(&report)?)
}

/// A workload that is to be made of a recording.
pub(super) struct Wish {
    pub(super) making: Making,
    /// The work of the command in runs without the recorder at its calls, if there were any.
    pub(super) plain_ns: Option<u64>,
}

/// The same under the recorder. With a `wish` there is a workload, too.
pub(super) fn record(
    setting: Setting,
    command: &[OsString],
    wish: Option<Wish>,
    cpus: u32,
) -> Result<Recording, Error> {
    let (mut making, plain_ns) = match wish {
        Some(Wish { making, plain_ns }) => (Some(making), plain_ns),
        None => (None, None),
    };
    let _hogs = Hogs::start(setting)?;
    let file = report_file()?;
    let target = TargetArgs {
        duration: None,
        pid: None,
        cgroup: None,
        no_kernel_threads: true,
        ops: false,
        buffer: BUFFER,
        command: words(setting, &file, command)?,
    };
    let wanted = Wanted { transfers: making.is_some(), ..Wanted::default() };
    let session = Session::start(&target, wanted)?.on_first(setting.cpus);
    let mut summary = Summary::new(cpus);
    let mut sinks = Tee::new();
    sinks.push(&mut summary);
    making.iter_mut().for_each(|making| sinks.push(&mut making.gatherer));
    let ended = session.run(&mut sinks, |_, _| Ok(()))?;
    drop(sinks);
    plain::until_freed();
    let end_ns = ended.facts.duration_ns;
    let report = read(&file)?;
    let numbers = summary.finish_all(end_ns).numbers;
    let work_ns = plain::of(&ended, &numbers);
    let works = |plain_work_ns| Works { plain_work_ns, recorded_work_ns: work_ns };
    let calls_ns = plain_ns.map(|plain_ns| works(plain_ns).of_calls_ns());
    let recorder = (ended.kernel_threads(), ended.taken(calls_ns));
    let made = making.map(|making| making.finish(end_ns, "a what-if", true, recorder));
    Ok(Recording {
        report,
        made: made.transpose()?,
        work_ns,
        p99_ns: numbers.totals.wakeup_latency_ns.p99,
        lost: ended.facts.counts.lost.total(),
        length_ns: end_ns,
    })
}

/// Of the first copy.
pub(super) fn took_ns(report: &Report) -> Result<u64, Error> {
    let none = || Error::Failure("the command's runner reported no time".into());
    report.took_ns.first().copied().ok_or_else(none)
}

fn report_file() -> Result<NamedTempFile, Error> {
    let file = NamedTempFile::new();
    file.map_err(|e| Error::Failure(format!("cannot make a temporary file: {e}")))
}

fn read(file: &NamedTempFile) -> Result<Report, Error> {
    let text = std::fs::read_to_string(file.path()).unwrap_or_default();
    let told = serde_json::from_str(&text);
    match told.map_err(|_| Error::Failure("the command's runner was stopped".into()))? {
        Told::Ran(report) => Ok(report),
        Told::Refused(why) => Err(Error::Input(why)),
        Told::Failed(why) => Err(Error::Failure(why)),
    }
}

fn words(
    Setting { cpus: _, hogs: _, copies, nice, slice_ns }: Setting,
    report: &NamedTempFile,
    command: &[OsString],
) -> Result<Vec<OsString>, Error> {
    let runner = child_command("what-if-child")?();
    let mut words = vec![runner.get_program().to_owned()];
    words.extend(runner.get_args().map(ToOwned::to_owned));
    words.push("--report".into());
    words.push(report.path().into());
    let numbers = [
        ("--copies", i64::from(copies)),
        ("--nice", i64::from(nice)),
        ("--slice-ns", slice_ns.unwrap_or(0) as i64),
    ];
    words.extend(numbers.map(|(name, number)| format!("{name}={number}").into()));
    words.push("--".into());
    words.extend(command.iter().cloned());
    Ok(words)
}

/// Tasks that never sleep. They end with this.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start(setting: Setting) -> Result<Self, Error> {
        let start = child_command("what-if-hog")?;
        let mut hogs = Self(Vec::new());
        for _ in 0..setting.hogs {
            let mut hog = start();
            hog.stdin(Stdio::null());
            let child = on_first(Some(setting.cpus), || hog.spawn())?;
            hogs.0.push(child.map_err(|e| Error::Failure(format!("cannot start a hog: {e}")))?);
        }
        if !hogs.0.is_empty() {
            std::thread::sleep(SETTLED);
        }
        Ok(hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // It may be gone already.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}
