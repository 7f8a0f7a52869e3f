// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::cause::{Cause, WakeSource};
use crate::event::Sink;
use crate::kind::{Cost, EventKind, OffCpu, SchedClass};
use crate::lock::{Job, JobKind, JobStep, Lock, LockKind, LockStep};
use crate::request::Request;
use crate::setting::{FairKind, Policy, Setting};
use crate::transfer::{StreamKind, Transfer};
use crate::CsvSink;
use proptest::prelude::*;

/// Texts as tasks, groups and reasons may have them.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ -~äß,\"=\n\\\\]{0,12}"]
}

/// Texts that never hold a blank.
fn word() -> impl Strategy<Value = String> {
    "[a-z_/]{0,8}"
}

/// Every kind of event of a task.
pub(crate) fn of_task(pid: u32) -> impl Strategy<Value = EventKind> {
    let (a, b) = (any::<u32>(), any::<u64>());
    (a, b, any::<u64>(), any::<bool>(), text(), word()).prop_flat_map(
        move |(small, big, other, flag, text, word)| {
            let lock =
                |step| Lock { pid, kind: LockKind::Barrier, name: text.as_str().into(), step };
            let job = |step| Job { pid, kind: JobKind::Relative, step };
            let (period_ns, slack_ns) = (big, other as i64);
            let cost = if flag { Cost::Instructions(big) } else { Cost::Nanoseconds(big) };
            let why = if flag { OffCpu::Sleep } else { OffCpu::Runnable };
            let class = if flag { SchedClass::Realtime } else { SchedClass::Fair };
            let energy_nj = flag.then_some(other);
            let cpus = [small % 8192, 3, 4, 5].into_iter().collect();
            let path: std::sync::Arc<str> = text.as_str().into();
            let kind = if flag { FairKind::Batch } else { FairKind::Ext };
            let fair = Policy::Fair { kind, nice: small as i32, slice_ns: energy_nj };
            let realtime = Policy::Realtime { round_robin: flag, priority: small };
            let deadline =
                Policy::Deadline { runtime_ns: big, deadline_ns: other, period_ns: small.into() };
            prop::sample::select(vec![
                EventKind::Program { pid },
                EventKind::SchedClass { pid, class },
                EventKind::Share { pid, share: big },
                EventKind::Affinity { pid, cpus },
                EventKind::Cgroup { pid, path: path.clone() },
                EventKind::CgroupSet {
                    path,
                    weight: small,
                    limit_ns: flag.then_some((big, other)),
                    idle: flag,
                },
                EventKind::Setting(Setting::Process { pid, process: small }),
                EventKind::Setting(Setting::Session { pid, session: small }),
                EventKind::Setting(Setting::Policy { pid, policy: fair }),
                EventKind::Setting(Setting::Policy { pid, policy: realtime }),
                EventKind::Setting(Setting::Policy { pid, policy: deadline }),
                EventKind::Fork { pid, parent: small },
                EventKind::Exit { pid },
                EventKind::Wakeup { pid, waker: small },
                EventKind::Cause(Cause::Block {
                    pid,
                    call: text.as_str().into(),
                    uninterruptible: flag,
                    absolute: big % 2 == 0,
                }),
                EventKind::Cause(Cause::Spin { pid, call: text.as_str().into() }),
                EventKind::Cause(Cause::Source {
                    pid,
                    source: if flag { WakeSource::Timer } else { WakeSource::Device },
                }),
                EventKind::Transfer(Transfer {
                    pid,
                    stream: big,
                    kind: if flag { StreamKind::Pipe } else { StreamKind::Tcp },
                    puts: flag,
                    bytes: other,
                    calls: small,
                    first_ago_ns: big,
                    last_ago_ns: other,
                    buffer: big,
                }),
                EventKind::Enqueue { pid, enq_flags: big },
                EventKind::Dispatch { pid, dsq: big },
                EventKind::Pick { pid, slice_ns: big },
                EventKind::SwitchIn { pid },
                EventKind::SwitchOut { pid, why },
                EventKind::Work { pid, done: big, energy_nj },
                EventKind::Idle,
                EventKind::Migrate { pid, from: small, to: 7 },
                EventKind::OpCall { op: word.clone().into(), pid, cost },
                EventKind::Throttle { pid, throttled: flag },
                EventKind::Plug { online: flag },
                EventKind::Lock(lock(LockStep::Wait { holder: small })),
                EventKind::Lock(lock(LockStep::Acquire)),
                EventKind::Lock(lock(LockStep::Release { holder: small })),
                EventKind::Job(job(JobStep::Begin { slack_ns, period_ns })),
                EventKind::Job(job(JobStep::End { response_ns: big, slack_ns })),
                EventKind::CoreCookie { pid, cookie: text.as_str().into() },
                EventKind::ForcedIdle { forced: flag },
                EventKind::Outside { what: text.clone() },
                EventKind::PolicyExit { kind: small, code: slack_ns, reason: text.clone() },
                EventKind::Request(Request::Class {
                    class: small,
                    name: text.clone(),
                    socket: word,
                }),
                EventKind::Request(Request::Begin {
                    request: big,
                    class: small,
                    sender: pid,
                    demand_ns: other,
                    think_ns: energy_nj,
                }),
                EventKind::Request(Request::Drop { class: small }),
                EventKind::Request(Request::Serve { request: big, pid }),
                EventKind::Request(Request::End { request: big, pid }),
                EventKind::Task { pid, name: text, weight: small, instance_of: None },
            ])
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        kinds in prop::collection::vec(
            (any::<u64>(), prop::option::of(any::<u32>()), (1..5u32).prop_flat_map(of_task)),
            0..60,
        ),
    ) {
        let events: Vec<Event> =
            kinds.into_iter().map(|(time_ns, cpu, kind)| Event { time_ns, cpu, kind }).collect();
        let mut sink = CsvSink::new(Vec::new());
        events.iter().for_each(|event| sink.event(event));
        let file = sink.finish().unwrap();
        let read: Result<Vec<Event>, CsvError> = CsvEvents::new(&file[..]).collect();
        prop_assert_eq!(read.unwrap(), events);
    }

    #[test]
    fn any_lines_are_read_or_refused(text: String) {
        let text = format!("time_ns,cpu,event,pid,task,detail\n{text}");
        for event in CsvEvents::new(text.as_bytes()).take(100) {
            if let Err(error) = event {
                prop_assert!(!error.what.is_empty());
                break;
            }
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let error = |line: &str| {
        let text = format!("time_ns,cpu,event,pid,task,detail\n0,,idle,,,\n{line}\n");
        let events: Result<Vec<Event>, CsvError> = CsvEvents::new(text.as_bytes()).collect();
        events.unwrap_err().to_string()
    };
    assert_eq!(error("x,,idle,,,"), "line 3: time_ns \"x\": expected nanoseconds");
    assert_eq!(error("1,,idle,,"), "line 3: 5 columns: expected 6");
    assert_eq!(error("1,-1,idle,,,"), "line 3: cpu \"-1\": expected a number, or nothing");
    assert_eq!(error("1,,nap,1,a,"), "line 3: event nap: expected one that Rota writes");
    assert_eq!(error("1,,wakeup,1,a,"), "line 3: event wakeup: no waker_pid");
    let wrong = "line 3: event wakeup: waker_pid=4294967296: expected at most 4294967295";
    assert_eq!(error("1,,wakeup,1,a,waker_pid=4294967296"), wrong);
}
