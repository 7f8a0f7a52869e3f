// SPDX-License-Identifier: MIT OR Apache-2.0
//! How events say things: fields with names and values, the same in every format, and their text.

use crate::event::Event;

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

pub(crate) use fields;

impl Event {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Cost, EventKind, Field, SchedClass};
    use crate::request::Request;

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
        assert_eq!(of(SchedClass::Fair), expected("fair"));
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
