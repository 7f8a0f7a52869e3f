// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics of a running policy: a block per interval.

use super::table;
use super::units::{percent, time};
use rota_kernel::stats::{CounterChange, Interval};
use std::io::{self, Write};

/// Prints an interval: a row of the policy's counters, a row per callback, a line of what the
/// kernel counted.
pub(crate) fn print(out: &mut dyn Write, interval: &Interval) -> io::Result<()> {
    let length = interval.interval_ns;
    writeln!(out, "{}, {} at {}", interval.policy, time(length), clock(interval.time_ns))?;
    for lines in [counters(interval), callbacks(interval)] {
        lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    }
    let kernel = kernel(interval);
    if !kernel.is_empty() {
        writeln!(out, "  kernel: {kernel}")?;
    }
    writeln!(out)
}

/// Seconds since the machine started, as kernel logs and traces have them.
fn clock(time_ns: u64) -> String {
    format!("{}.{:03}", time_ns / 1_000_000_000, time_ns / 1_000_000 % 1000)
}

fn counters(interval: &Interval) -> Vec<String> {
    if interval.counters.is_empty() {
        return Vec::new();
    }
    let header: Vec<String> = interval.counters.iter().map(title).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let row = interval.counters.iter().map(|c| value(c, interval)).collect();
    table::lines(&header, 0, vec![row])
}

/// `picks/s`; a gauge has no rate.
fn title(counter: &CounterChange) -> String {
    let per = if counter.delta.is_some() { "/s" } else { "" };
    format!("{}{per}", counter.name)
}

fn value(counter: &CounterChange, interval: &Interval) -> String {
    let is_time = counter.unit.as_deref() == Some("ns");
    match (counter.delta, is_time) {
        (Some(delta), true) => time(interval.per_second(delta) as u64),
        (Some(delta), false) => rate(interval.per_second(delta)),
        (None, true) => counter.value.as_u64().map_or(counter.value.to_string(), time),
        (None, false) => counter.value.to_string(),
    }
}

/// Something per second: one digit after the point where that says something.
fn rate(per_second: f64) -> String {
    match per_second {
        r if r > 0.0 && r < 9.95 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

fn callbacks(interval: &Interval) -> Vec<String> {
    if interval.callbacks.is_empty() {
        return Vec::new();
    }
    let of_a_cpu = |time_ns: u64| percent2(time_ns as f64 / interval.interval_ns.max(1) as f64);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for c in &interval.callbacks {
        let mean = time(c.mean_ns.round() as u64);
        rows.push(vec![c.op.clone(), rate(interval.per_second(c.runs)), mean, of_a_cpu(c.time_ns)]);
    }
    let (runs, time_ns) =
        interval.callbacks.iter().fold((0, 0), |(r, t), c| (r + c.runs, t + c.time_ns));
    if rows.len() > 1 {
        let all = rate(interval.per_second(runs));
        rows.push(vec!["all".into(), all, time(time_ns / runs.max(1)), of_a_cpu(time_ns)]);
    }
    table::lines(&["callback", "runs/s", "mean", "of a CPU"], 1, rows)
}

/// Small parts of a CPU matter here: two digits.
fn percent2(part: f64) -> String {
    match part {
        p if p >= 0.1 => percent(p),
        p => format!("{:.2}%", p * 100.0),
    }
}

/// What changed of the kernel's counters.
fn kernel(interval: &Interval) -> String {
    let changed = interval.kernel.iter().filter(|e| e.delta > 0);
    let one = |name: &str, delta: u64| {
        let name = name.strip_prefix("SCX_EV_").unwrap_or(name);
        match name.ends_with("_DURATION") {
            true => format!("{name} {}/s", time(interval.per_second(delta) as u64)),
            false => format!("{name} {}/s", rate(interval.per_second(delta))),
        }
    };
    changed.map(|e| one(&e.name, e.delta)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_kernel::stats::{CallbackCost, EventCount};

    fn counter(name: &str, value: u64, delta: Option<u64>, unit: Option<&str>) -> CounterChange {
        let (unit, help) = (unit.map(str::to_owned), String::new());
        CounterChange { name: name.into(), value: value.into(), delta, unit, help }
    }

    fn callback(op: &str, runs: u64, time_ns: u64) -> CallbackCost {
        CallbackCost { op: op.into(), runs, time_ns, mean_ns: time_ns as f64 / runs as f64 }
    }

    fn event(name: &str, delta: u64) -> EventCount {
        EventCount { name: name.into(), value: 1000 + delta, delta }
    }

    #[test]
    fn block_shows_rates_and_what_callbacks_cost() {
        let interval = Interval {
            schema: "rota.stats/1",
            policy: "wfq".into(),
            time_ns: 12_345_678_901,
            interval_ns: 2_000_000_000,
            counters: vec![
                counter("picks", 9_000, Some(2_500), None),
                counter("scans", 3, Some(3), None),
                counter("depth", 7, None, None),
                counter("wait_ns", 0, Some(3_000_000), Some("ns")),
            ],
            callbacks: vec![
                callback("dispatch", 5_000, 4_000_000),
                callback("enqueue", 2_500, 600_000),
            ],
            kernel: vec![
                event("nr_rejected", 0),
                event("SCX_EV_REFILL_SLICE_DFL", 30),
                event("SCX_EV_BYPASS_DURATION", 5_000_000),
            ],
        };
        let mut out = Vec::new();
        print(&mut out, &interval).expect("written");
        let expected = "\
wfq, 2.00s at 12.345
  picks/s  scans/s  depth  wait_ns/s
     1250      1.5      7     1.50ms
  callback  runs/s   mean  of a CPU
  dispatch    2500  800ns     0.20%
  enqueue     1250  240ns     0.03%
  all         3750  613ns     0.23%
  kernel: REFILL_SLICE_DFL 15/s, BYPASS_DURATION 2.50ms/s

";
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }

    #[test]
    fn policy_that_counts_nothing_has_a_line() {
        let interval = Interval {
            schema: "rota.stats/1",
            policy: "p".into(),
            time_ns: 0,
            interval_ns: 0,
            counters: vec![],
            callbacks: vec![],
            kernel: vec![],
        };
        let mut out = Vec::new();
        print(&mut out, &interval).expect("written");
        assert_eq!(out, b"p, 0ns at 0.000\n\n");
    }
}
