// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota record`: what the tasks of this machine get from its scheduler.

mod args;
mod calls;
mod json;
mod session;
mod text;
mod workload;

pub(crate) use args::{RecordArgs, TargetArgs};
pub(crate) use session::Session;

use crate::error::{Error, Status};
use crate::output;
use crate::output_file::OutputFile;
use crate::trace_files::{self, Picture, TraceFile};
use calls::CallCounter;
use rota_measure::{GroupNumbers, Numbers, Results, Summary};
use rota_report::Caption;
use rota_trace::Tee;
use session::Ended;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use workload::Script;

/// A recording to be printed.
pub(crate) struct Recording<'a> {
    target: &'a TargetArgs,
    ended: Ended,
    numbers: Numbers,
    /// Tasks of one name together.
    groups: Vec<GroupNumbers>,
    calls: CallCounter,
}

pub(crate) fn run(args: &RecordArgs) -> Result<Status, Error> {
    let window = trace_files::window(args.trace_window, &args.trace, u64::MAX)?;
    let session = Session::start(&args.target)?;
    let caption = Caption {
        policy: session.scheduler().unwrap_or(text::DEFAULT_SCHEDULER).to_string(),
        workload: text::subject(&args.target),
        machine: text::cpus(session.cpus()),
    };
    let picture = Picture { cpus: session.cpus(), window, caption };
    let mut traces = Vec::new();
    for target in &args.trace {
        traces.push(TraceFile::create(target, &picture)?);
    }
    let mut script = match &args.workload {
        // Early, as nobody wants to record in vain.
        Some(path) => {
            let file = OutputFile::create(path)?;
            Some((file, Script::default()))
        }
        None => None,
    };
    let (mut summary, mut calls) = (Summary::new(session.cpus()), CallCounter::default());
    let mut sinks = Tee::new();
    sinks.push(&mut summary);
    sinks.push(&mut calls);
    traces.iter_mut().for_each(|trace| sinks.push(trace.sink()));
    script.iter_mut().for_each(|(_, script)| sinks.push(script));
    let ended = session.run(&mut sinks, |_| Ok(()))?;
    drop(sinks);

    let end_ns = ended.facts.duration_ns;
    for trace in traces {
        trace.finish(end_ns)?;
    }
    if let Some((file, script)) = script {
        let text = script.finish(end_ns, &ended.traits);
        let text = text.ok_or_else(|| Error::Failure("no task worked: no workload".into()))?;
        file.finish_with(text.as_bytes())?;
    }
    let Results { numbers, groups, .. } = summary.finish_all(end_ns);
    let status = match ended.command {
        Some(command) if args.exit_code => Status::Command(exit_code(command)),
        _ => Status::Done,
    };
    let recording = Recording { target: &args.target, ended, numbers, groups, calls };
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
