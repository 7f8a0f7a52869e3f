// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events read back from what [`crate::csv`] and [`crate::parquet`] write.

use crate::cause::{Cause, WakeSource};
use crate::cpu_list::CpuList;
use crate::event::Event;
use crate::fields::Form;
use crate::kind::{Cost, EventKind, Field, OffCpu, SchedClass};
use crate::lock::{Job, JobKind, JobStep, Lock, LockKind, LockStep};
use crate::request::Request;
use crate::setting::{FairKind, Policy, Setting};
use crate::transfer::{StreamKind, Transfer};

/// What a row says besides its time, CPU, event, pid and task: text of each field.
#[derive(Debug, Default)]
pub(crate) struct Said {
    fields: Vec<(Field, String)>,
}

impl Said {
    pub(crate) fn clear(&mut self) {
        self.fields.clear();
    }

    pub(crate) fn push(&mut self, field: Field, text: String) {
        self.fields.push((field, text));
    }

    /// Reads `name=value` pairs separated by blanks, of which the last may hold some.
    pub(crate) fn read(&mut self, detail: &str) -> Result<(), String> {
        self.clear();
        let mut left = detail;
        while !left.is_empty() {
            let (name, rest) = left.split_once('=').ok_or_else(|| unknown(left))?;
            let field = Field::ALL.iter().find(|field| field.name() == name);
            let field = *field.ok_or_else(|| unknown(name))?;
            let (value, rest) = match field.may_have_blanks() {
                true => (rest, ""),
                false => rest.split_once(' ').unwrap_or((rest, "")),
            };
            self.push(field, value.to_owned());
            left = rest;
        }
        Ok(())
    }

    fn has(&self, field: Field) -> bool {
        self.fields.iter().any(|(known, _)| *known == field)
    }

    fn text(&self, field: Field) -> Result<&str, String> {
        let found = self.fields.iter().find(|(known, _)| *known == field);
        found.map(|(_, text)| text.as_str()).ok_or_else(|| format!("no {}", field.name()))
    }

    fn number(&self, field: Field) -> Result<u64, String> {
        let text = self.text(field)?;
        let number = match (field.form(), text.strip_prefix("0x")) {
            (Form::Bits, Some(digits)) => u64::from_str_radix(digits, 16),
            _ => text.parse(),
        };
        number.map_err(|_| format!("{}={text}: expected a number", field.name()))
    }

    fn small(&self, field: Field) -> Result<u32, String> {
        let number = self.number(field)?;
        u32::try_from(number)
            .map_err(|_| format!("{}={number}: expected at most {}", field.name(), u32::MAX))
    }

    fn signed(&self, field: Field) -> Result<i64, String> {
        let text = self.text(field)?;
        text.parse().map_err(|_| format!("{}={text}: expected a number", field.name()))
    }

    fn optional(&self, field: Field) -> Result<Option<u64>, String> {
        self.has(field).then(|| self.number(field)).transpose()
    }
}

fn unknown(name: &str) -> String {
    format!("\"{name}\": expected a field and its value, as weight=100")
}

impl Field {
    /// Fields that are written last, as their text is not ours.
    fn may_have_blanks(self) -> bool {
        matches!(
            self,
            Field::ExitReason
                | Field::What
                | Field::Lock
                | Field::Cgroup
                | Field::Cookie
                | Field::ClassName
                | Field::Call
        )
    }
}

/// Puts the event of a row together. `task` is the name of the task that it is about.
pub(crate) fn event(
    (time_ns, cpu): (u64, Option<u32>),
    name: &str,
    pid: Option<u32>,
    task: &str,
    said: &Said,
) -> Result<Event, String> {
    let kind = kind(name, pid, task, said).map_err(|what| format!("event {name}: {what}"))?;
    Ok(Event { time_ns, cpu, kind })
}

fn kind(name: &str, pid: Option<u32>, task: &str, said: &Said) -> Result<EventKind, String> {
    let of = pid.ok_or("no pid");
    let or_none = pid.unwrap_or(0);
    Ok(match name {
        "task" => EventKind::Task {
            pid: of?,
            name: task.to_owned(),
            weight: said.small(Field::Weight)?,
            instance_of: None,
        },
        "program" => EventKind::Program { pid: of? },
        "sched_class" => EventKind::SchedClass { pid: of?, class: class(said)? },
        "share" => EventKind::Share { pid: of?, share: said.number(Field::Share)? },
        "affinity" => EventKind::Affinity { pid: of?, cpus: cpus(said.text(Field::Cpus)?)? },
        "cgroup" => EventKind::Cgroup { pid: of?, path: said.text(Field::Cgroup)?.into() },
        "cgroup_set" => EventKind::CgroupSet {
            path: said.text(Field::Cgroup)?.into(),
            weight: said.small(Field::Weight)?,
            limit_ns: match said.optional(Field::QuotaNs)? {
                Some(quota_ns) => Some((quota_ns, said.number(Field::PeriodNs)?)),
                None => None,
            },
            idle: said.optional(Field::Idle)?.is_some_and(|idle| idle != 0),
        },
        "process" => {
            let process = said.small(Field::Process)?;
            EventKind::Setting(Setting::Process { pid: of?, process })
        }
        "session" => {
            let session = said.small(Field::Session)?;
            EventKind::Setting(Setting::Session { pid: of?, session })
        }
        "policy" => EventKind::Setting(Setting::Policy { pid: of?, policy: policy(said)? }),
        "fork" => EventKind::Fork { pid: of?, parent: said.small(Field::ParentPid)? },
        "exit" => EventKind::Exit { pid: of? },
        "wakeup" => EventKind::Wakeup { pid: of?, waker: said.small(Field::WakerPid)? },
        "block" => EventKind::Cause(Cause::Block {
            pid: of?,
            call: match said.has(Field::Call) {
                true => said.text(Field::Call)?.into(),
                false => "".into(),
            },
            uninterruptible: match said.text(Field::SleepState)? {
                "D" => true,
                "S" => false,
                text => return Err(format!("sleep_state={text}: expected S or D")),
            },
            absolute: said.optional(Field::Absolute)?.is_some_and(|absolute| absolute != 0),
        }),
        "spin" => EventKind::Cause(Cause::Spin { pid: of?, call: said.text(Field::Call)?.into() }),
        "wake_source" => EventKind::Cause(Cause::Source { pid: of?, source: source(said)? }),
        "put" | "take" => EventKind::Transfer(transfer(of?, name == "put", said)?),
        "enqueue" => EventKind::Enqueue { pid: of?, enq_flags: said.number(Field::EnqFlags)? },
        "dispatch" => EventKind::Dispatch { pid: of?, dsq: said.number(Field::DsqId)? },
        "pick" => EventKind::Pick { pid: of?, slice_ns: said.number(Field::SliceNs)? },
        "switch_in" => EventKind::SwitchIn { pid: of? },
        "switch_out" => EventKind::SwitchOut { pid: of?, why: why(said)? },
        "work" => EventKind::Work {
            pid: of?,
            done: said.number(Field::Work)?,
            energy_nj: said.optional(Field::EnergyNj)?,
        },
        "idle" => EventKind::Idle,
        "migrate" => EventKind::Migrate {
            pid: of?,
            from: said.small(Field::FromCpu)?,
            to: said.small(Field::ToCpu)?,
        },
        "op_call" => EventKind::OpCall {
            op: said.text(Field::Op)?.to_owned().into(),
            pid: or_none,
            cost: match said.optional(Field::OpInstructions)? {
                Some(count) => Cost::Instructions(count),
                None => Cost::Nanoseconds(said.number(Field::OpNs)?),
            },
        },
        "throttle" => EventKind::Throttle { pid: of?, throttled: true },
        "unthrottle" => EventKind::Throttle { pid: of?, throttled: false },
        "cpu_online" => EventKind::Plug { online: true },
        "cpu_offline" => EventKind::Plug { online: false },
        "lock_wait" | "lock_acquire" | "lock_release" => EventKind::Lock(lock(name, of?, said)?),
        "job_begin" | "job_end" => EventKind::Job(job(name, of?, said)?),
        "core_cookie" => {
            EventKind::CoreCookie { pid: of?, cookie: said.text(Field::Cookie)?.into() }
        }
        "forced_idle" => EventKind::ForcedIdle { forced: true },
        "forced_idle_end" => EventKind::ForcedIdle { forced: false },
        "outside" => EventKind::Outside { what: said.text(Field::What)?.to_owned() },
        "policy_exit" => EventKind::PolicyExit {
            kind: said.small(Field::ExitKind)?,
            code: said.signed(Field::ExitCode)?,
            reason: said.text(Field::ExitReason)?.to_owned(),
        },
        name => EventKind::Request(request(name, pid, said)?),
    })
}

fn request(name: &str, pid: Option<u32>, said: &Said) -> Result<Request, String> {
    Ok(match name {
        "request_class" => Request::Class {
            class: said.small(Field::Class)?,
            name: said.text(Field::ClassName)?.to_owned(),
            socket: said.text(Field::Socket)?.to_owned(),
        },
        "request_begin" => Request::Begin {
            request: said.number(Field::Request)?,
            class: said.small(Field::Class)?,
            sender: pid.unwrap_or(0),
            demand_ns: said.number(Field::DemandNs)?,
            think_ns: said.optional(Field::ThinkNs)?,
        },
        "request_drop" => Request::Drop { class: said.small(Field::Class)? },
        "request_serve" => {
            Request::Serve { request: said.number(Field::Request)?, pid: pid.ok_or("no pid")? }
        }
        "request_end" => {
            Request::End { request: said.number(Field::Request)?, pid: pid.ok_or("no pid")? }
        }
        _ => return Err("expected one that Rota writes".into()),
    })
}

fn lock(name: &str, pid: u32, said: &Said) -> Result<Lock, String> {
    let kinds = [LockKind::Mutex, LockKind::Condition, LockKind::Barrier, LockKind::Semaphore];
    let text = said.text(Field::LockKind)?;
    let kind = kinds.into_iter().find(|kind| kind.name() == text);
    let step = match name {
        "lock_wait" => LockStep::Wait { holder: said.small(Field::HolderPid)? },
        "lock_acquire" => LockStep::Acquire,
        _ => LockStep::Release { holder: said.small(Field::HolderPid)? },
    };
    let kind = kind.ok_or_else(|| format!("lock_kind={text}: expected mutex, condition, …"))?;
    Ok(Lock { pid, kind, name: said.text(Field::Lock)?.into(), step })
}

fn job(name: &str, pid: u32, said: &Said) -> Result<Job, String> {
    let kinds = [JobKind::Absolute, JobKind::Relative, JobKind::Reservation];
    let text = said.text(Field::JobKind)?;
    let kind = kinds.into_iter().find(|kind| kind.name() == text);
    let slack_ns = said.signed(Field::SlackNs)?;
    let step = match name {
        "job_begin" => JobStep::Begin { slack_ns, period_ns: said.number(Field::PeriodNs)? },
        _ => JobStep::End { response_ns: said.number(Field::ResponseNs)?, slack_ns },
    };
    let kind = kind.ok_or_else(|| format!("job_kind={text}: expected absolute, relative, …"))?;
    Ok(Job { pid, kind, step })
}

fn class(said: &Said) -> Result<SchedClass, String> {
    use SchedClass::{Deadline, Ext, Fair, Realtime};
    let text = said.text(Field::SchedClass)?;
    let class = [Ext, Fair, Realtime, Deadline].into_iter().find(|class| class.name() == text);
    class.ok_or_else(|| format!("sched_class={text}: expected ext, fair, rt or deadline"))
}

fn policy(said: &Said) -> Result<Policy, String> {
    let priority = || -> Result<i32, String> {
        let number = said.signed(Field::Priority)?;
        i32::try_from(number).map_err(|_| format!("priority={number}: expected less"))
    };
    let realtime = |round_robin| -> Result<Policy, String> {
        let priority = said.small(Field::Priority)?;
        Ok(Policy::Realtime { round_robin, priority })
    };
    match said.text(Field::Policy)? {
        "SCHED_FIFO" => realtime(false),
        "SCHED_RR" => realtime(true),
        "SCHED_DEADLINE" => Ok(Policy::Deadline {
            runtime_ns: said.number(Field::RuntimeNs)?,
            deadline_ns: said.number(Field::DeadlineNs)?,
            period_ns: said.number(Field::PeriodNs)?,
        }),
        text => {
            let kind = FairKind::ALL.into_iter().find(|kind| kind.name() == text);
            let kind = kind.ok_or_else(|| format!("policy={text}: expected SCHED_OTHER, …"))?;
            let slice_ns = said.optional(Field::SliceNs)?;
            Ok(Policy::Fair { kind, nice: priority()?, slice_ns })
        }
    }
}

fn why(said: &Said) -> Result<OffCpu, String> {
    match said.text(Field::Why)? {
        "runnable" => Ok(OffCpu::Runnable),
        "sleep" => Ok(OffCpu::Sleep),
        "exit" => Ok(OffCpu::Exit),
        text => Err(format!("why={text}: expected runnable, sleep or exit")),
    }
}

fn transfer(pid: u32, puts: bool, said: &Said) -> Result<Transfer, String> {
    let kind = said.text(Field::StreamKind)?;
    Ok(Transfer {
        pid,
        stream: said.number(Field::Stream)?,
        kind: StreamKind::named(kind)
            .ok_or_else(|| format!("stream_kind={kind}: expected pipe, unix or tcp"))?,
        puts,
        bytes: said.number(Field::Bytes)?,
        calls: said.small(Field::Calls)?,
        first_ago_ns: said.number(Field::FirstAgoNs)?,
        last_ago_ns: said.number(Field::LastAgoNs)?,
        buffer: said.number(Field::Buffer)?,
    })
}

fn source(said: &Said) -> Result<WakeSource, String> {
    match said.text(Field::Source)? {
        "timer" => Ok(WakeSource::Timer),
        "device" => Ok(WakeSource::Device),
        text => Err(format!("source={text}: expected timer or device")),
    }
}

/// `0-3,5`
fn cpus(text: &str) -> Result<CpuList, String> {
    /// The kernel's largest `NR_CPUS`.
    const MOST: u32 = 8192;
    let wrong = || format!("cpus={text}: expected a list as 0-3,5, of CPUs below {MOST}");
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu < MOST);
        let (first, last) = (number(first).ok_or_else(wrong)?, number(last).ok_or_else(wrong)?);
        if cpus.len() > MOST as usize {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}
