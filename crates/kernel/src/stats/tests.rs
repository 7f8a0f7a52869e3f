// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differences of samples.

use super::*;

fn counter(name: &str, value: u64, bits: u32) -> Counter {
    let (unit, help) = (None, String::new());
    Counter { name: name.into(), value: value.into(), bits, gauge: false, unit, help }
}

fn sample(time_ns: u64, picks: u64, small: u64, runs: u64) -> Sample {
    Sample {
        policy: "p".into(),
        enable_seq: 1,
        time_ns,
        counters: vec![counter("picks", picks, 64), counter("small", small, 8)],
        callbacks: vec![
            Callback { op: "dispatch".into(), runs, time_ns: runs * 250 },
            Callback { op: "init".into(), runs: 1, time_ns: 9 },
        ],
        kernel: vec![Event { name: "nr_rejected".into(), count: picks / 10 }],
    }
}

#[test]
fn interval_is_the_difference_of_two_samples() {
    let interval = Interval::between(&sample(1_000, 100, 0, 4), &sample(2_000_001_000, 160, 3, 24));
    assert_eq!(interval.interval_ns, 2_000_000_000);
    assert_eq!((interval.counters[0].delta, interval.counters[1].delta), (Some(60), Some(3)));
    assert_eq!(interval.counters[0].value, 160.into());
    let [dispatch] = interval.callbacks.as_slice() else { panic!("init did not run in between") };
    assert_eq!((dispatch.runs, dispatch.time_ns, dispatch.mean_ns), (20, 5_000, 250.0));
    assert_eq!((interval.kernel[0].value, interval.kernel[0].delta), (16, 6));
    assert_eq!(interval.per_second(60), 30.0);
}

#[test]
fn count_that_went_over_its_top_has_grown() {
    let interval = Interval::between(&sample(0, u64::MAX, 250, 0), &sample(1, 4, 3, 0));
    assert_eq!((interval.counters[0].delta, interval.counters[1].delta), (Some(5), Some(9)));
}

#[test]
fn gauge_has_no_difference() {
    let mut now = sample(1, 5, 0, 0);
    now.counters[0] = Counter { value: number(-7), gauge: true, ..counter("depth", 0, 64) };
    let interval = Interval::between(&sample(0, 0, 0, 0), &now);
    assert_eq!((interval.counters[0].delta, &interval.counters[0].value), (None, &number(-7)));
}

#[test]
fn policy_that_was_loaded_anew_began_at_zero() {
    let now = Sample { enable_seq: 2, ..sample(3_000, 8, 1, 2) };
    let interval = Interval::between(&sample(1_000, 100, 9, 50), &now);
    assert_eq!((interval.counters[0].delta, interval.interval_ns), (Some(8), 2_000));
    assert_eq!(interval.callbacks[0].runs, 2);
}

#[test]
fn sample_survives_the_wire() {
    let mut sample = sample(5, u64::MAX, 1, 2);
    sample.counters[1].value = number(i128::from(i64::MIN));
    let text = serde_json::to_string(&sample).expect("JSON");
    assert_eq!(serde_json::from_str::<Sample>(&text).expect("a sample"), sample);
}
