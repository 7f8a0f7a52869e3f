// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted of a task.

use super::raw::{histogram, place, Words, BUCKETS, DOES_BITS};
use std::sync::Arc;

/// A place is read again so often if the task switches meanwhile.
const TRIES: u32 = 4;

/// What a task does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Does {
    /// It sleeps, or nothing is known.
    #[default]
    Sleeps,
    /// It waits for a CPU.
    Waits {
        /// Since when.
        since_ns: u64,
    },
    /// It runs.
    Runs,
}

/// How a task is called, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its number.
    pub pid: u32,
    /// Its name; that of a kernel thread in brackets.
    pub name: String,
    /// Path of its cgroup.
    pub group: Arc<str>,
}

/// What was counted of a task since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Which one it is, among those that there are now.
    pub place: u32,
    /// If that is news.
    pub about: Option<About>,
    /// Time on CPUs.
    pub run_ns: u64,
    /// Time that it waited for one.
    pub delay_ns: u64,
    /// Times that a CPU was given to it.
    pub switches: u64,
    /// Wakeup latencies, and how often there was each. Those of the first 128 wakeups of a half are
    /// exact, and so is the longest; of others it is the lower end of a bucket of 1/128.
    pub latencies: Vec<(u64, u64)>,
    /// What it does now.
    pub does: Does,
    /// It has ended: the place is that of another task from now on.
    pub ended: bool,
}

/// Totals of a task up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    run_ns: u64,
    delay_ns: u64,
    switches: u64,
}

/// A place, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskReader {
    told: Totals,
    /// What it did when nothing more was to be told.
    settled: Option<u64>,
    about: u64,
    /// Counts of its histogram.
    counts: Vec<u32>,
}

impl TaskReader {
    /// Of a place that was cleared when this was known about who had it.
    pub(super) fn after(about: u64) -> Self {
        Self { about, ..Self::default() }
    }

    /// Is there something new about the task?
    pub(super) fn describe(
        &mut self,
        of: Words<'_>,
        path: impl FnOnce(u64) -> Arc<str>,
    ) -> Option<About> {
        let about = of.get(place::ABOUT);
        if about == self.about {
            return None;
        }
        self.about = about;
        let comm = [of.get(place::COMM), of.get(place::COMM + 1)].map(u64::to_ne_bytes).concat();
        let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
        let comm = String::from_utf8_lossy(&comm[..end]);
        let name = match of.get(place::FLAGS) & place::IS_KTHREAD {
            0 => comm.into_owned(),
            _ => format!("[{comm}]"),
        };
        let group = match of.get(place::GROUP) {
            0 => "/".into(),
            id => path(id),
        };
        Some(About { pid: of.get(place::PID) as u32, name, group })
    }

    /// Adds what was counted up to `now_ns`, and says whether that was something.
    pub(super) fn read(&mut self, of: Words<'_>, now_ns: u64, to: &mut TaskCounts) -> bool {
        let does = of.get(place::DOES);
        if self.settled == Some(does) {
            return false;
        }
        let (totals, does) = totals(of, now_ns);
        // A look between two writes may have counted more than there is by now.
        let news = |now: u64, told: &mut u64| {
            let news = now.saturating_sub(*told);
            *told += news;
            news
        };
        to.run_ns = news(totals.run_ns, &mut self.told.run_ns);
        to.delay_ns = news(totals.delay_ns, &mut self.told.delay_ns);
        to.switches = news(totals.switches, &mut self.told.switches);
        to.does = match what(does) {
            What::Sleeps => Does::Sleeps,
            What::Waits => Does::Waits { since_ns: since_ns(does).min(now_ns) },
            What::Runs => Does::Runs,
        };
        // Nothing grows while it sleeps. What was counted in between is told the next time.
        let still = to.run_ns + to.delay_ns + to.switches == 0;
        self.settled = (still && to.does == Does::Sleeps).then_some(does);
        true
    }

    /// Adds what a histogram has got.
    pub(super) fn read_histogram(&mut self, of: Words<'_>, to: &mut Vec<(u64, u64)>) {
        self.counts.resize(BUCKETS, 0);
        let from = BUCKETS - (of.get(histogram::LEAST) as usize).min(BUCKETS);
        let until = (of.get(histogram::MOST) as usize).min(BUCKETS);
        for word in from / 2..until.div_ceil(2) {
            let both = of.get(histogram::COUNTS + word);
            let halves = if cfg!(target_endian = "little") {
                [both as u32, (both >> 32) as u32]
            } else {
                [(both >> 32) as u32, both as u32]
            };
            for (bucket, count) in (word * 2..).zip(halves) {
                let news = count.wrapping_sub(std::mem::replace(&mut self.counts[bucket], count));
                if news > 0 {
                    to.push((lower_end(bucket as u64), news.into()));
                }
            }
        }
    }
}

enum What {
    Sleeps,
    Waits,
    Runs,
}

fn what(does: u64) -> What {
    match does & ((1 << DOES_BITS) - 1) {
        0 => What::Sleeps,
        3 => What::Runs,
        _ => What::Waits,
    }
}

fn since_ns(does: u64) -> u64 {
    does >> DOES_BITS
}

/// Totals with what goes on, up to now.
fn totals(of: Words<'_>, now_ns: u64) -> (Totals, u64) {
    let mut does = of.get(place::DOES);
    for _ in 0..TRIES {
        let mut totals = Totals {
            run_ns: of.get(place::RUN_NS),
            delay_ns: of.get(place::DELAY_NS),
            switches: of.get(place::SWITCHES),
        };
        let again = of.get(place::DOES);
        if again != does {
            does = again;
            continue;
        }
        let lasted_ns = now_ns.saturating_sub(since_ns(does));
        match what(does) {
            What::Sleeps => {}
            What::Waits => totals.delay_ns += lasted_ns,
            What::Runs => totals.run_ns += lasted_ns,
        }
        return (totals, does);
    }
    // It switches all the time: what goes on is nothing.
    let totals = Totals {
        run_ns: of.get(place::RUN_NS),
        delay_ns: of.get(place::DELAY_NS),
        switches: of.get(place::SWITCHES),
    };
    (totals, does)
}

/// The least value of a bucket: `bucket_of()` in `bpf/count_tasks.bpf.h`.
fn lower_end(bucket: u64) -> u64 {
    let shift = (bucket / 128).saturating_sub(1);
    (bucket - shift * 128) << shift
}

#[cfg(test)]
mod tests {
    use super::super::raw::testing::Entry;
    use super::*;

    const MS: u64 = 1_000_000;

    fn set(of: &Entry, word: usize, value: u64) {
        of.words().set(word, value);
    }

    fn does(of: &Entry, since_ms: u64, what: u64) {
        set(of, place::DOES, ((since_ms * MS) << DOES_BITS) | what);
    }

    fn look(reader: &mut TaskReader, of: &Entry, now_ms: u64) -> Option<(u64, u64, u64, Does)> {
        let mut to = TaskCounts::default();
        let some = reader.read(of.words(), now_ms * MS, &mut to);
        some.then_some((to.run_ns / MS, to.delay_ns / MS, to.switches, to.does))
    }

    #[test]
    fn what_goes_on_counts_up_to_now_and_once() {
        let (of, mut reader) = (Entry::new(place::SIZE), TaskReader::default());
        set(&of, place::SWITCHES, 1);
        does(&of, 10, 3);
        assert_eq!(look(&mut reader, &of, 15), Some((5, 0, 1, Does::Runs)));
        assert_eq!(look(&mut reader, &of, 18), Some((3, 0, 0, Does::Runs)));
        // It ran until 20 ms, and waits since then.
        set(&of, place::RUN_NS, 10 * MS);
        does(&of, 20, 1);
        let waits = Does::Waits { since_ns: 20 * MS };
        assert_eq!(look(&mut reader, &of, 27), Some((2, 7, 0, waits)));
        set(&of, place::DELAY_NS, 10 * MS);
        set(&of, place::RUN_NS, 11 * MS);
        set(&of, place::SWITCHES, 2);
        does(&of, 31, 0);
        assert_eq!(look(&mut reader, &of, 40), Some((1, 3, 1, Does::Sleeps)));
    }

    #[test]
    fn a_task_that_sleeps_is_not_looked_at_until_it_does_something() {
        let (of, mut reader) = (Entry::new(place::SIZE), TaskReader::default());
        does(&of, 31, 0);
        set(&of, place::SWITCHES, 2);
        assert_eq!(look(&mut reader, &of, 40), Some((0, 0, 2, Does::Sleeps)));
        assert_eq!(look(&mut reader, &of, 41), Some((0, 0, 0, Does::Sleeps)));
        assert_eq!(look(&mut reader, &of, 42), None);
        does(&of, 43, 2);
        let waits = Does::Waits { since_ns: 43 * MS };
        assert_eq!(look(&mut reader, &of, 44), Some((0, 1, 0, waits)));
    }

    #[test]
    fn a_look_between_two_writes_counts_nothing_twice() {
        let (of, mut reader) = (Entry::new(place::SIZE), TaskReader::default());
        does(&of, 0, 3);
        // The task left at 10 ms, which is in `run_ns` already.
        set(&of, place::RUN_NS, 10 * MS);
        assert_eq!(look(&mut reader, &of, 11).map(|of| of.0), Some(21));
        does(&of, 10, 0);
        assert_eq!(look(&mut reader, &of, 12).map(|of| of.0), Some(0));
        // Of the next 15 ms 11 were told before.
        set(&of, place::RUN_NS, 25 * MS);
        does(&of, 40, 0);
        assert_eq!(look(&mut reader, &of, 50).map(|of| of.0), Some(4));
    }

    #[test]
    fn a_task_is_described_when_that_changes() {
        let (of, mut reader) = (Entry::new(place::SIZE), TaskReader::default());
        let path = |id: u64| -> Arc<str> { format!("/cgroup {id}").into() };
        assert_eq!(reader.describe(of.words(), path), None);
        for (word, part) in [b"kworker/", b"0:1\0abcd"].into_iter().enumerate() {
            set(&of, place::COMM + word, u64::from_ne_bytes(*part));
        }
        let (pid, group) = (place::PID, place::GROUP);
        for (word, value) in [(pid, 12), (place::FLAGS, 1), (place::ABOUT, 1)] {
            set(&of, word, value);
        }
        let about = |name: &str, group: &str| {
            Some(About { pid: 12, name: name.into(), group: group.into() })
        };
        assert_eq!(reader.describe(of.words(), path), about("[kworker/0:1]", "/"));
        assert_eq!(reader.describe(of.words(), path), None);
        for (word, value) in [(group, 77), (place::FLAGS, 0), (place::ABOUT, 2)] {
            set(&of, word, value);
        }
        assert_eq!(reader.describe(of.words(), path), about("kworker/0:1", "/cgroup 77"));
    }

    #[test]
    fn buckets_are_those_of_a_histogram_with_two_digits() {
        // As `bucket_of()` has them: exact up to 255, then 128 for each power of two.
        for (bucket, ns) in [(0, 0), (255, 255), (256, 256), (257, 258), (383, 510), (384, 512)] {
            assert_eq!(lower_end(bucket), ns, "{bucket}");
        }
        // The last one: 30 powers above.
        assert_eq!(lower_end(BUCKETS as u64 - 1), 255 << 30);
    }

    #[test]
    fn only_what_a_histogram_has_got_is_told() {
        let (of, mut reader) = (Entry::new(histogram::SIZE), TaskReader::default());
        let mut told = Vec::new();
        reader.read_histogram(of.words(), &mut told);
        assert_eq!(told, []);
        let count = |bucket: usize, count: u64| {
            assert_eq!(bucket % 2, 0);
            let shift = if cfg!(target_endian = "little") { 0 } else { 32 };
            set(&of, histogram::COUNTS + bucket / 2, count << shift);
        };
        count(256, 3);
        count(384, 1);
        set(&of, histogram::LEAST, BUCKETS as u64 - 256);
        set(&of, histogram::MOST, 385);
        reader.read_histogram(of.words(), &mut told);
        assert_eq!(told, [(256, 3), (512, 1)]);
        count(256, 5);
        told.clear();
        reader.read_histogram(of.words(), &mut told);
        assert_eq!(told, [(256, 2)]);
    }
}
