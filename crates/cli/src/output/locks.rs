// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where tasks waited for each other: a row for each lock, and for the tasks that waited longest.

use super::table;
use super::units::{time, time_or_dash};
use rota_measure::{LatencyNumbers, LockNumbers};
use std::io::{self, Write};

const HEADER: [&str; 7] = ["locks", "waits", "blocked", "wait mean", "p99", "max", "holder delay"];
/// Pairs of a waiting task and a holder that are shown of each lock.
const MOST_PAIRS: usize = 3;
/// Locks that are shown.
const MOST_LOCKS: usize = 12;

/// Prints the table and an empty line after it; nothing for a run without waits.
pub(crate) fn print(out: &mut dyn Write, locks: &[LockNumbers]) -> io::Result<()> {
    if locks.is_empty() {
        return Ok(());
    }
    let shown = locks.iter().take(MOST_LOCKS);
    let rows = shown.flat_map(|lock| std::iter::once(row(lock)).chain(pairs(lock))).collect();
    table::lines(&HEADER, 1, rows).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if locks.len() > MOST_LOCKS {
        writeln!(out, "and {} more (--json has all)", locks.len() - MOST_LOCKS)?;
    }
    writeln!(out)
}

fn row(lock: &LockNumbers) -> Vec<String> {
    let LatencyNumbers { count, mean, p99, max, .. } = lock.wait_ns;
    let mut row = vec![format!("{} {}", lock.kind, lock.name), count.to_string()];
    row.push(time(lock.blocked_ns));
    row.extend([mean.map(|ns| ns.round() as u64), p99, max].map(time_or_dash));
    row.push(if lock.kind == "mutex" { time(lock.holder_delay_ns) } else { "-".into() });
    row
}

/// Waits by waiting task and holder, of a lock that tasks hold.
fn pairs(lock: &LockNumbers) -> impl Iterator<Item = Vec<String>> + '_ {
    let held = lock.pairs.iter().filter_map(|pair| Some((pair, pair.holder.as_ref()?)));
    held.take(MOST_PAIRS).map(|(pair, holder)| {
        let name = format!("  {} for {holder}", pair.waiter);
        let mut row = vec![name, String::new(), time(pair.blocked_ns)];
        row.extend([String::new(), String::new(), String::new(), time(pair.holder_delay_ns)]);
        row
    })
}
