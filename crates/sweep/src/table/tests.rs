// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use proptest::prelude::*;
use std::io::{Seek, Write as _};

fn bytes(table: &Table) -> Vec<u8> {
    write(table, Vec::new()).expect("written")
}

fn again(bytes: &[u8]) -> Result<Table, DatasetError> {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("rewound");
    read(file)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-20i64..20).prop_map(Value::Int),
        (-20i32..20).prop_map(|n| Value::Float(f64::from(n) / 4.0)),
        prop_oneof![Just("+inf"), Just("5ms"), Just("7"), Just("1.50"), Just("2.5")]
            .prop_map(|text| Value::Text(text.to_owned())),
        any::<bool>().prop_map(Value::Bool),
    ]
}

prop_compose! {
    fn row()(
        run in "[0-9a-f]{32}",
        workload in "[ab].json",
        policy in "pbs|rr",
        axes in prop::collection::btree_map("set\\.[ab]|machine\\.c|workload\\.t\\.r", value(), 0..4),
        seed in any::<u64>(),
        ejected in any::<bool>(),
        metrics in prop::collection::btree_map(
            prop_oneof![Just("jain"), Just("wakeup_p99"), Just("energy"), Just("newer")]
                .prop_map(Cow::Borrowed),
            -1e9f64..1e9, 0..4),
    ) -> Row {
        let (rota, exit) = ("0.1.0".to_owned(), "unregistered".to_owned());
        Row {
            run, rota, workload, policy, axes, cpus: 4, seed, duration_ns: 1_000, end_ns: 900, exit,
            ejected, metrics,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_written_alike(rows in prop::collection::vec(row(), 0..8)) {
        let table = Table::new(rows);
        let written = bytes(&table);
        let read = again(&written).expect("as written");
        prop_assert_eq!(read.rows().len(), table.rows().len());
        for (read, row) in read.rows().iter().zip(table.rows()) {
            // 1 and 1.0 are the same in a column that also has 1.5.
            let texts = |row: &Row| row.axes.values().map(Value::to_string).collect::<Vec<_>>();
            prop_assert_eq!(texts(read), texts(row));
            prop_assert_eq!(&Row { axes: row.axes.clone(), ..read.clone() }, row);
        }
        prop_assert_eq!(bytes(&read), written);
    }

    #[test]
    fn parts_merge_to_the_whole_in_any_order(
        rows in prop::collection::vec(row(), 0..8),
        in_first in prop::collection::vec(any::<bool>(), 8),
    ) {
        let of = |first| {
            let rows = rows.iter().zip(&in_first).filter(|(_, own)| **own == first);
            let part = Table::new(rows.map(|(row, _)| row.clone()).collect());
            again(&bytes(&part)).expect("as written")
        };
        let whole = bytes(&Table::new(rows.clone()));
        prop_assert_eq!(&bytes(&of(true).merge(of(false))), &whole);
        prop_assert_eq!(&bytes(&of(false).merge(of(true))), &whole);
        let twice = of(true).merge(of(false)).merge(of(true));
        prop_assert_eq!(&bytes(&twice), &whole);
    }

    #[test]
    fn damaged_files_are_read_or_refused(at in 0.0f64..1.0, by in 1u8.., cut in any::<bool>()) {
        let rows = (0..3).map(|seed| Row {
            run: format!("{seed:032}"), rota: "0".into(), workload: "w".into(), policy: "p".into(),
            axes: [("set.a".to_owned(), Value::Int(seed))].into(), cpus: 1, seed: seed as u64,
            duration_ns: 1, end_ns: 1, exit: String::new(), ejected: false,
            metrics: [("jain".into(), 0.5)].into(),
        });
        let mut bytes = bytes(&Table::new(rows.collect()));
        let at = (at * bytes.len() as f64) as usize;
        bytes[at] ^= by;
        if cut {
            bytes.truncate(at);
        }
        if let Ok(table) = again(&bytes) {
            prop_assert!(table.rows().len() <= 3);
        }
    }
}

#[test]
fn columns_say_their_unit() {
    assert_eq!(column_of("wakeup_p99"), "wakeup_p99_ns");
    assert_eq!(column_of("bursts_per_s"), "bursts_per_s");
    assert_eq!(column_of("jain"), "jain");
    let mut names: Vec<String> =
        catalogue::measures().iter().map(|measure| column_of(measure.key)).collect();
    assert!(names.iter().zip(catalogue::measures()).all(|(name, of)| key_of(name) == of.key));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), catalogue::measures().len());
}

#[test]
fn another_files_schema_is_refused() {
    let error = again(b"PAR1").expect_err("no file").to_string();
    assert!(error.starts_with("no whole Parquet file: "), "{error}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let sink = rota_trace::ParquetSink::new(file.reopen().expect("open"));
    sink.finish().expect("written");
    let error = read(file.reopen().expect("open")).expect_err("a trace").to_string();
    assert_eq!(
        error,
        "schema \"rota.trace/1\": expected \"rota.sweep.runs/1\", as rota sweep writes"
    );
}
