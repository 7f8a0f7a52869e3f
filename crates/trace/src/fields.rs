// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an event is called and what it says: the same names and values in every format.

use crate::event::{Cost, Event, EventKind, OffCpu, SchedClass};
use crate::request::Request;

/// How the values of a field look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number or an amount.
    Number,
    /// Bits, or a number whose bits mean something.
    Bits,
    /// A number that may be below 0.
    Signed,
    /// A text.
    Text,
}

/// The value of a field, of its [`Form`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// [`Form::Number`] or [`Form::Bits`].
    Number(u64),
    /// [`Form::Signed`].
    Signed(i64),
    /// [`Form::Text`].
    Text(&'a str),
}

macro_rules! fields {
    ($($variant:ident $name:literal $form:ident,)*) => {
        /// Something that events say besides their time, CPU, name and task.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Field { $($variant,)* }

        impl Field {
            /// All of them.
            pub(crate) const ALL: &'static [Field] = &[$(Field::$variant,)*];

            /// What it is called.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Field::$variant => $name,)* }
            }

            /// How its values look.
            pub(crate) fn form(self) -> Form {
                match self { $(Field::$variant => Form::$form,)* }
            }
        }
    };
}

fields! {
    Weight "weight" Number,
    SchedClass "sched_class" Text,
    Share "share" Number,
    ParentPid "parent_pid" Number,
    WakerPid "waker_pid" Number,
    EnqFlags "enq_flags" Bits,
    DsqId "dsq_id" Bits,
    SliceNs "slice_ns" Number,
    Why "why" Text,
    FromCpu "from_cpu" Number,
    ToCpu "to_cpu" Number,
    Op "op" Text,
    OpInstructions "op_instructions" Number,
    OpNs "op_ns" Number,
    Request "request" Number,
    Class "class" Number,
    Socket "socket" Text,
    DemandNs "demand_ns" Number,
    ThinkNs "think_ns" Number,
    ClassName "class_name" Text,
    ExitKind "exit_kind" Number,
    ExitCode "exit_code" Signed,
    ExitReason "exit_reason" Text,
    Cpus "cpus" Text,
}

impl Event {
    /// Name of the event and the task that it is about. All else that it says goes to `say`,
    /// a text that may hold blanks last.
    pub(crate) fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        let mut number = |field, value: u64| say(field, Value::Number(value));
        match &self.kind {
            EventKind::Task { pid, weight, .. } => {
                number(Field::Weight, u64::from(*weight));
                ("task", Some(*pid))
            }
            EventKind::SchedClass { pid, class } => {
                say(Field::SchedClass, Value::Text(class.name()));
                ("sched_class", Some(*pid))
            }
            EventKind::Share { pid, share } => {
                number(Field::Share, *share);
                ("share", Some(*pid))
            }
            EventKind::Affinity { pid, cpus } => {
                say(Field::Cpus, Value::Text(cpus.as_str()));
                ("affinity", Some(*pid))
            }
            EventKind::Fork { pid, parent } => {
                number(Field::ParentPid, u64::from(*parent));
                ("fork", Some(*pid))
            }
            EventKind::Exit { pid } => ("exit", Some(*pid)),
            EventKind::Wakeup { pid, waker } => {
                number(Field::WakerPid, u64::from(*waker));
                ("wakeup", Some(*pid))
            }
            EventKind::Enqueue { pid, enq_flags } => {
                number(Field::EnqFlags, *enq_flags);
                ("enqueue", Some(*pid))
            }
            EventKind::Dispatch { pid, dsq } => {
                number(Field::DsqId, *dsq);
                ("dispatch", Some(*pid))
            }
            EventKind::Pick { pid, slice_ns } => {
                number(Field::SliceNs, *slice_ns);
                ("pick", Some(*pid))
            }
            EventKind::SwitchIn { pid } => ("switch_in", Some(*pid)),
            EventKind::SwitchOut { pid, why } => {
                say(Field::Why, Value::Text(why.name()));
                ("switch_out", Some(*pid))
            }
            EventKind::Migrate { pid, from, to } => {
                number(Field::FromCpu, u64::from(*from));
                number(Field::ToCpu, u64::from(*to));
                ("migrate", Some(*pid))
            }
            EventKind::OpCall { op, pid, cost } => {
                say(Field::Op, Value::Text(op));
                match cost {
                    Cost::Instructions(count) => say(Field::OpInstructions, Value::Number(*count)),
                    Cost::Nanoseconds(ns) => say(Field::OpNs, Value::Number(*ns)),
                }
                ("op_call", (*pid != 0).then_some(*pid))
            }
            EventKind::Request(request) => request.describe(say),
            EventKind::PolicyExit { kind, code, reason } => {
                number(Field::ExitKind, u64::from(*kind));
                say(Field::ExitCode, Value::Signed(*code));
                say(Field::ExitReason, Value::Text(reason));
                ("policy_exit", None)
            }
        }
    }

    /// The text of `detail`: `name=value` pairs separated by blanks, into a cleared buffer.
    /// Returns what [`Event::describe`] returns.
    pub(crate) fn detail(&self, text: &mut String) -> (&'static str, Option<u32>) {
        use std::fmt::Write as _;
        text.clear();
        self.describe(|field, value| {
            let blank = if text.is_empty() { "" } else { " " };
            let name = field.name();
            // Writing to a string cannot fail.
            let _ = match (value, field.form()) {
                (Value::Number(n), Form::Bits) => write!(text, "{blank}{name}={n:#x}"),
                (Value::Number(n), _) => write!(text, "{blank}{name}={n}"),
                (Value::Signed(n), _) => write!(text, "{blank}{name}={n}"),
                (Value::Text(t), _) => write!(text, "{blank}{name}={t}"),
            };
        })
    }
}

impl Request {
    fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        match self {
            Request::Class { class, name, socket } => {
                say(Field::Class, Value::Number(u64::from(*class)));
                say(Field::Socket, Value::Text(socket));
                say(Field::ClassName, Value::Text(name));
                ("request_class", None)
            }
            Request::Begin { request, class, sender, demand_ns, think_ns } => {
                say(Field::Request, Value::Number(*request));
                say(Field::Class, Value::Number(u64::from(*class)));
                say(Field::DemandNs, Value::Number(*demand_ns));
                if let Some(ns) = think_ns {
                    say(Field::ThinkNs, Value::Number(*ns));
                }
                ("request_begin", (*sender != 0).then_some(*sender))
            }
            Request::Drop { class } => {
                say(Field::Class, Value::Number(u64::from(*class)));
                ("request_drop", None)
            }
            Request::Serve { request, pid } => {
                say(Field::Request, Value::Number(*request));
                ("request_serve", Some(*pid))
            }
            Request::End { request, pid } => {
                say(Field::Request, Value::Number(*request));
                ("request_end", Some(*pid))
            }
        }
    }
}

impl SchedClass {
    /// What files and tables call it.
    pub fn name(self) -> &'static str {
        match self {
            SchedClass::Ext => "ext",
            SchedClass::Realtime => "rt",
            SchedClass::Deadline => "deadline",
        }
    }
}

impl OffCpu {
    fn name(self) -> &'static str {
        match self {
            OffCpu::Runnable => "runnable",
            OffCpu::Sleep => "sleep",
            OffCpu::Exit => "exit",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: EventKind) -> (&'static str, Option<u32>, String) {
        let mut detail = "left over".to_owned();
        let (name, pid) = Event { time_ns: 0, cpu: None, kind }.detail(&mut detail);
        (name, pid, detail)
    }

    #[test]
    fn requests_name_their_task_and_say_the_rest() {
        let told = |request| told(EventKind::Request(request));
        let class = Request::Class { class: 1, name: "a user".into(), socket: "http".into() };
        let expected = "class=1 socket=http class_name=a user".to_owned();
        assert_eq!(told(class), ("request_class", None, expected));
        let begin = |sender, think_ns| {
            told(Request::Begin { request: 9, class: 1, sender, demand_ns: 50, think_ns })
        };
        let outside = "request=9 class=1 demand_ns=50 think_ns=7".to_owned();
        assert_eq!(begin(0, Some(7)), ("request_begin", None, outside));
        let inside = "request=9 class=1 demand_ns=50".to_owned();
        assert_eq!(begin(3, None), ("request_begin", Some(3), inside));
        assert_eq!(told(Request::Drop { class: 1 }), ("request_drop", None, "class=1".into()));
        let serve = told(Request::Serve { request: 9, pid: 4 });
        assert_eq!(serve, ("request_serve", Some(4), "request=9".into()));
        let end = told(Request::End { request: 9, pid: 4 });
        assert_eq!(end, ("request_end", Some(4), "request=9".into()));
    }

    #[test]
    fn a_task_names_the_class_that_it_goes_over_to() {
        let of = |class| told(EventKind::SchedClass { pid: 4, class });
        let expected = |class: &str| ("sched_class", Some(4), format!("sched_class={class}"));
        assert_eq!(of(SchedClass::Realtime), expected("rt"));
        assert_eq!(of(SchedClass::Deadline), expected("deadline"));
        assert_eq!(of(SchedClass::Ext), expected("ext"));
    }

    #[test]
    fn a_callback_of_no_task_names_none() {
        let call = |pid| EventKind::OpCall { op: "init".into(), pid, cost: Cost::Nanoseconds(9) };
        assert_eq!(told(call(0)), ("op_call", None, "op=init op_ns=9".into()));
        assert_eq!(told(call(5)).1, Some(5));
    }

    #[test]
    fn no_two_fields_share_a_name() {
        let mut names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Field::ALL.len());
    }
}
