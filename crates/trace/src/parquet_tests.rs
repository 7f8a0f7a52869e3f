// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Parquet export is read back row by row. Reading it with another implementation is part
//! of the tests of the command line.

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field as Read;
use ::prost::bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::full_disk::Full;
use crate::kind::Cost;

/// A row as the names and values that are there.
type Row = Vec<(String, Read)>;

fn export(events: &[Event]) -> Vec<u8> {
    let mut sink = ParquetSink::new(Vec::new());
    for event in events {
        sink.event(event);
    }
    sink.finish().unwrap()
}

fn rows(file: Vec<u8>) -> Vec<Row> {
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| {
        let row = row.unwrap().into_columns();
        row.into_iter().filter(|(_, value)| *value != Read::Null).collect()
    })
    .collect()
}

fn at(time_ns: u64, cpu: Option<u32>, kind: EventKind) -> Event {
    Event { time_ns, cpu, kind }
}

#[test]
fn a_row_has_what_its_event_says() {
    let reason = "a \"stall\"".to_owned();
    let events = [
        at(0, None, EventKind::Task { pid: 7, name: "a-0".into(), weight: 100, instance_of: None }),
        at(5, Some(2), EventKind::Dispatch { pid: 7, dsq: 0x8000_0000_0000_0001 }),
        at(
            6,
            Some(2),
            EventKind::OpCall { op: "init".into(), pid: 0, cost: Cost::Instructions(9) },
        ),
        at(7, None, EventKind::PolicyExit { kind: 1026, code: -3, reason: reason.clone() }),
    ];
    let text = |name: &str, value: &str| (name.to_owned(), Read::Str(value.into()));
    let long = |name: &str, value| (name.to_owned(), Read::ULong(value));
    let int = |name: &str, value| (name.to_owned(), Read::UInt(value));
    assert_eq!(
        rows(export(&events)),
        [
            vec![
                long("time_ns", 0),
                text("event", "task"),
                int("pid", 7),
                text("task", "a-0"),
                long("weight", 100),
            ],
            vec![
                long("time_ns", 5),
                int("cpu", 2),
                text("event", "dispatch"),
                int("pid", 7),
                text("task", "a-0"),
                long("dsq_id", 0x8000_0000_0000_0001),
            ],
            vec![
                long("time_ns", 6),
                int("cpu", 2),
                text("event", "op_call"),
                text("op", "init"),
                long("op_instructions", 9),
            ],
            vec![
                long("time_ns", 7),
                text("event", "policy_exit"),
                long("exit_kind", 1026),
                ("exit_code".to_owned(), Read::Long(-3)),
                text("exit_reason", &reason),
            ],
        ]
    );
}

#[test]
fn an_empty_run_is_a_valid_file() {
    assert!(rows(export(&[])).is_empty());
}

#[test]
fn groups_follow_each_other_without_a_gap() {
    let events: Vec<Event> = (0..2 * GROUP_ROWS as u64 + 10)
        .map(|time| at(time, Some(time as u32 % 3), EventKind::SwitchIn { pid: 1 }))
        .collect();
    let file = export(&events);
    let reader = SerializedFileReader::new(Bytes::from(file.clone())).unwrap();
    assert_eq!(reader.num_row_groups(), 3);
    for (time, row) in rows(file).iter().enumerate() {
        assert_eq!(row[0].1, Read::ULong(time as u64));
        assert_eq!(row[1].1, Read::UInt(time as u32 % 3));
    }
}

#[test]
fn a_write_error_is_kept_for_the_end() {
    for room in [0, 100, 50_000] {
        let mut sink = ParquetSink::new(Full(room));
        for time in 0..3 * GROUP_ROWS as u64 {
            sink.event(&at(time, Some(0), EventKind::SwitchIn { pid: 1 }));
        }
        assert_eq!(sink.finish().err().unwrap().to_string(), "disk full");
    }
}

proptest! {
    /// Whatever fields the events have in which order, each value is in its own row.
    #[test]
    fn values_stay_in_their_rows(kinds in proptest::collection::vec((0..4u8, 0..9u32), 0..200)) {
        let events: Vec<Event> = kinds
            .iter()
            .zip(0..)
            .map(|((kind, n), time)| {
                at(time, None, match kind {
                    0 => EventKind::Wakeup { pid: 1, waker: *n },
                    1 => EventKind::Pick { pid: 1, slice_ns: u64::from(*n) },
                    2 => EventKind::Migrate { pid: 1, from: *n, to: n + 1 },
                    _ => EventKind::Exit { pid: *n },
                })
            })
            .collect();
        let read = rows(export(&events));
        prop_assert_eq!(read.len(), kinds.len());
        for (row, (kind, n)) in read.iter().zip(kinds) {
            let value = |name: &str| row.iter().find(|(column, _)| column == name).map(|c| c.1.clone());
            let n = u64::from(n);
            let expected = |is: bool, n| is.then_some(Read::ULong(n));
            prop_assert_eq!(value("waker_pid"), expected(kind == 0, n));
            prop_assert_eq!(value("slice_ns"), expected(kind == 1, n));
            prop_assert_eq!(value("from_cpu"), expected(kind == 2, n));
            prop_assert_eq!(value("to_cpu"), expected(kind == 2, n + 1));
            prop_assert_eq!(value("share"), None);
        }
    }
}
