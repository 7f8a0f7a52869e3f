// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events as rows of a table: which columns there are, and what an event has in them. Parquet and
//! CSV have the same ones.

use crate::event::Event;
use crate::fields::{Form, Value};
use crate::kind::Field;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers from 0.
    Unsigned,
    /// Numbers that may be below 0.
    Signed,
    /// Texts.
    Text,
}

/// A value in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Of [`Kind::Unsigned`].
    Unsigned(u64),
    /// Of [`Kind::Signed`].
    Signed(i64),
    /// Of [`Kind::Text`].
    Text(&'a str),
}

/// Name and kind of each column besides those that all events have: time, CPU, event and task.
pub fn columns() -> impl ExactSizeIterator<Item = (&'static str, Kind)> {
    Field::ALL.iter().map(|field| {
        let kind = match field.form() {
            Form::Number | Form::Bits => Kind::Unsigned,
            Form::Signed => Kind::Signed,
            Form::Text => Kind::Text,
        };
        (field.name(), kind)
    })
}

impl Event {
    /// Its name and the pid of its task; `put` is given each of its cells, and the place of the
    /// column among [`columns`].
    pub fn row<'a>(&'a self, mut put: impl FnMut(usize, Cell<'a>)) -> (&'static str, Option<u32>) {
        self.describe(|field, value| {
            let cell = match value {
                Value::Number(n) => Cell::Unsigned(n),
                Value::Signed(n) => Cell::Signed(n),
                Value::Text(text) => Cell::Text(text),
            };
            put(field as usize, cell);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Cost, EventKind};

    #[test]
    fn a_callback_has_its_cells_in_the_columns_of_their_names() {
        let kind = EventKind::OpCall { op: "init".into(), pid: 5, cost: Cost::Nanoseconds(9) };
        let event = Event { time_ns: 0, cpu: None, kind };
        let names: Vec<(&str, Kind)> = columns().collect();
        let mut cells = Vec::new();
        let (name, pid) = event.row(|at, cell| cells.push((names[at], cell)));
        assert_eq!((name, pid), ("op_call", Some(5)));
        let expected = [
            (("op", Kind::Text), Cell::Text("init")),
            (("op_ns", Kind::Unsigned), Cell::Unsigned(9)),
        ];
        assert_eq!(cells, expected);
    }
}
