// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::csv_events::tests::of_task;
use crate::event::Sink;
use crate::ParquetSink;
use ::prost::bytes::Bytes;
use proptest::prelude::*;

fn written(events: &[Event]) -> Vec<u8> {
    let mut sink = ParquetSink::new(Vec::new());
    events.iter().for_each(|event| sink.event(event));
    sink.finish().unwrap()
}

fn read(file: Vec<u8>) -> Result<Vec<Event>, ParquetEventsError> {
    ParquetEvents::new(Bytes::from(file))?.collect()
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

        prop_assert_eq!(read(written(&events)).unwrap(), events);
    }
}

#[test]
fn groups_and_batches_of_rows_are_read_in_their_order() {
    // One more than a group has, each of sixteen batches.
    let idle =
        |time_ns| Event { time_ns, cpu: Some(time_ns as u32 % 3), kind: crate::EventKind::Idle };
    let events: Vec<Event> = (0..65_537).map(idle).collect();

    assert_eq!(read(written(&events)).unwrap(), events);
}

#[test]
fn a_file_that_is_cut_or_none_of_rota_is_refused() {
    let whole = written(&[Event { time_ns: 1, cpu: Some(0), kind: crate::EventKind::Idle }]);
    for len in [0, 4, whole.len() / 2, whole.len() - 1] {
        let error = read(whole[..len].to_vec()).unwrap_err();
        assert!(error.what.starts_with("no whole Parquet file: "), "{len}: {error}");
    }
    let at = whole.windows(12).position(|bytes| bytes == b"rota.trace/1").unwrap();
    let mut other = whole.clone();
    other[at + 11] = b'9';
    let error = read(other).unwrap_err();
    assert_eq!(error.what, "schema \"rota.trace/9\": expected \"rota.trace/1\", as Rota writes");
}
