// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota record`: what the tasks of this machine get from its scheduler.

mod args;
mod busy;
mod calls;
mod condition;
mod json;
pub(crate) mod plain;
mod ring;
mod session;
mod text;

pub(crate) use args::{RecordArgs, TargetArgs};
pub(crate) use session::{warn, Ended, Session, Wanted};
pub(crate) use text::{cpus, subject, DEFAULT_SCHEDULER};

use crate::error::{Error, Status};
use crate::output;
use crate::output_file::OutputFile;
use crate::replay::{Circumstances, Compared, Making};
use crate::trace_files::{self, Picture, TraceFile, TraceTarget};
use calls::CallCounter;
use plain::Works;
use ring::{Ring, Ringed};
use rota_kernel::events::count_online;
use rota_measure::{GroupNumbers, Numbers, Results, Summary};
use rota_replay::Waits;
use rota_report::Caption;
use rota_trace::Tee;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A recording to be printed.
pub(crate) struct Recording<'a> {
    target: &'a TargetArgs,
    ended: Ended,
    numbers: Numbers,
    /// Tasks of one name together.
    groups: Vec<GroupNumbers>,
    calls: CallCounter,
    /// Which part of it was kept, if not all was to be.
    ringed: Option<Ringed>,
    /// The command's work in runs before, and in this one.
    works: Option<Works>,
    /// What the workload's sleeps wait for, and how well it does what was recorded.
    workload: Option<(Waits, Compared)>,
}

pub(crate) fn run(args: &RecordArgs) -> Result<Status, Error> {
    let window = trace_files::window(args.trace_window, &args.trace, u64::MAX)?;
    let wanted = Wanted {
        live: args.last.is_some(),
        last_ns: args.last,
        transfers: args.workload.is_some(),
    };
    // Files and machine first, as nobody wants to run or record in vain.
    let files = args.trace.iter().map(TraceTarget::begin).collect::<Result<Vec<_>, _>>()?;
    let mut making = match &args.workload {
        Some(path) => {
            let file = OutputFile::create(path)?;
            let making = Making::here(args.machine.as_deref(), count_online())?;
            Some((file, making.of_joined_tasks(args.target.cgroup.is_some())))
        }
        None => None,
    };
    let plain_ns = plain::work_ns(&args.target, args.plain)?;
    let session = Session::start(&args.target, wanted)?;
    let caption = Caption {
        policy: session.scheduler().unwrap_or(text::DEFAULT_SCHEDULER).to_string(),
        workload: text::subject(&args.target),
        machine: text::cpus(session.cpus()),
    };
    let picture = Picture { cpus: session.cpus(), window, caption };
    let traces = files.into_iter().zip(&args.trace);
    let mut traces: Vec<TraceFile> =
        traces.map(|(file, target)| TraceFile::filling(file, target, &picture)).collect();
    let (mut summary, mut calls) = (Summary::new(session.cpus()), CallCounter::default());
    let mut sinks = Tee::new();
    sinks.push(&mut summary);
    sinks.push(&mut calls);
    traces.iter_mut().for_each(|trace| sinks.push(trace.sink()));
    making.iter_mut().for_each(|(_, making)| sinks.push(&mut making.gatherer));
    let busy_ns = busy::now_ns();
    let (ended, ringed, busy_ns) = match Ring::of(args) {
        None => (session.run(&mut sinks, |_, _| Ok(()))?, None, busy_ns),
        Some(mut ring) => {
            let mut ended = session.run(&mut ring, |ring, recorder| {
                ring.look(recorder);
                Ok(())
            })?;
            let (ringed, busy_ns) = ring.finish(&mut ended, busy_ns, &mut sinks);
            (ended, Some(ringed), busy_ns)
        }
    };
    // What is made of the recording takes time, too.
    let busy_ns = (busy_ns, busy::now_ns());
    drop(sinks);
    warn(&ended.facts, args.target.buffer);

    let end_ns = ended.facts.duration_ns;
    for trace in traces {
        trace.finish(end_ns)?;
    }
    let Results { numbers, groups, .. } = summary.finish_all(end_ns);
    let works = plain_ns.map(|plain_work_ns| {
        let recorded_work_ns = plain::of(&ended, &numbers);
        Works { plain_work_ns, recorded_work_ns }
    });
    let workload = match making {
        Some((file, making)) => {
            let about = text::about(&args.target, &ended.facts);
            let ends_itself = ended.command.is_some();
            let calls_ns = works.map(Works::of_calls_ns);
            let recorder = (ended.kernel_threads(), ended.taken(calls_ns));
            let made = making.finish(end_ns, &about, ends_itself, recorder)?;
            made.write(file, args.anonymise)?;
            let scheduler = ended.facts.scheduler.as_deref();
            let circumstances = Circumstances {
                scheduler,
                lost: ended.facts.counts.lost.total(),
                others: busy::of_others(busy_ns, &numbers, &ended.facts),
            };
            Compared::of(&made, (&numbers, &groups), &circumstances)
                .map(|compared| (made.replay.waits, compared))
        }
        None => None,
    };
    let status = match ended.command {
        Some(command) if args.exit_code => Status::Command(exit_code(command)),
        _ => Status::Done,
    };
    let recording =
        Recording { target: &args.target, ended, numbers, groups, calls, ringed, works, workload };
    let mut out = crate::output::stdout();
    if args.json {
        output::json::print(&mut out, &json::Record::new(&recording))?;
    } else {
        text::print(&mut out, &recording, args.all_tasks)?;
    }
    out.flush()?;
    Ok(status)
}

/// As a shell has it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_a_signal_ended_has_128_more_than_its_number() {
        // What wait(2) tells: the signal in the low bits, an exit code in the byte above.
        let code = |raw| exit_code(ExitStatus::from_raw(raw));
        assert_eq!((code(0), code(3 << 8), code(255 << 8)), (0, 3, 255));
        assert_eq!((code(15), code(9)), (143, 137));
    }
}
